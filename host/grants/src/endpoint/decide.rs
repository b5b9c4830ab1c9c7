//! Whether a request may leave: the one place that compares it with the grants.
//!
//! Rule (H27): order host, scheme, port, path, method; the first grant that fits in all of
//! them carries the request. A refusal names the nearest miss and the grant to add, for
//! the operator; the guest gets the plain WASI error (case U1).

use super::grant::{EndpointGrant, Misfit};
use super::target::Target;

/// A request that was refused, for the operator: never shown to the guest or its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// What was asked: `POST https://api.test/v2/x`, without the query.
    pub asked: String,
    /// The rule that refused it.
    pub rule: String,
    /// What to add so that it is allowed, when that can be written: an option of the
    /// command line with its value.
    pub allow: Option<String>,
}

/// The grant that covers `target`, or why none does.
pub(super) fn decide<'a>(
    grants: &'a [EndpointGrant],
    target: &Target,
) -> Result<&'a EndpointGrant, Denial> {
    let mut nearest: Option<(Misfit, &EndpointGrant)> = None;
    for grant in grants {
        match grant.misfit(target) {
            None => return Ok(grant),
            Some(misfit) if nearest.is_none_or(|(known, _)| misfit > known) => {
                nearest = Some((misfit, grant));
            }
            Some(_) => {}
        }
    }
    Err(Denial {
        asked: asked(target),
        rule: rule(nearest),
        allow: writable(asked(target)),
    })
}

fn rule(nearest: Option<(Misfit, &EndpointGrant)>) -> String {
    match nearest {
        None => "no endpoint is granted".to_owned(),
        Some((Misfit::Host, _)) => "no endpoint grant names this host".to_owned(),
        Some((Misfit::Scheme, grant)) => format!("`{grant}` grants another scheme"),
        Some((Misfit::Port, grant)) => format!("`{grant}` grants another port"),
        Some((Misfit::Path, grant)) => format!("`{grant}` grants another path"),
        Some((Misfit::Method, grant)) => format!("`{grant}` grants other methods"),
    }
}

/// The option for `grant`, when it can be granted at all: there is no grant for `CONNECT`.
pub(super) fn writable(grant: String) -> Option<String> {
    let parsed = EndpointGrant::parse(&grant);
    parsed.is_ok().then(|| format!("--endpoint '{grant}'"))
}

/// `METHOD URL`, as a grant for exactly this request is written.
pub(super) fn asked(target: &Target) -> String {
    format!("{} {}{}", target.method, target.origin(), target.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(grant: &str, method: &str, url: &str) -> Result<(), Denial> {
        let grants = [EndpointGrant::parse(grant).unwrap()];
        let target = Target::read(method, &url.parse().unwrap()).unwrap();
        decide(&grants, &target).map(|_| ())
    }

    #[test]
    fn a_wildcard_covers_whole_labels_below_the_name_only() {
        let grant = "https://*.example.com";
        let table = [
            ("https://a.example.com/", true),
            ("https://a.b.example.com/", true),
            ("https://A.EXAMPLE.COM/", true),
            ("https://a.example.com:443/", true),
            ("https://a.example.com:8443/", false),
            ("http://a.example.com/", false),
            ("https://example.com/", false),
            ("https://evilexample.com/", false),
            ("https://example.com.evil.net/", false),
            ("https://evil.net/?a.example.com", false),
            ("https://xn--exmple-cua.com/", false),
        ];
        for (url, allowed) in table {
            assert_eq!(verdict(grant, "GET", url).is_ok(), allowed, "C2 {url}");
        }
    }

    #[test]
    fn a_grant_of_localhost_is_a_grant_of_its_two_addresses() {
        let grant = "http://localhost:8080";
        for url in [
            "http://localhost:8080",
            "http://127.0.0.1:8080",
            "http://[::1]:8080",
        ] {
            assert_eq!(verdict(grant, "GET", url), Ok(()), "{url}");
        }
        for url in [
            "http://127.0.0.2:8080",
            "http://localhost",
            "http://a.localhost:8080",
        ] {
            assert!(verdict(grant, "GET", url).is_err(), "{url}");
        }
        assert!(verdict("http://127.0.0.1", "GET", "http://localhost").is_err());
    }

    #[test]
    fn a_denial_names_the_rule_and_the_grant_that_would_allow_it() {
        let denial = verdict(
            "GET https://api.test/v1/",
            "POST",
            "https://api.test/v1/x?key=1",
        );
        let denial = denial.unwrap_err();
        assert_eq!(
            denial.rule, "`GET https://api.test/v1/` grants other methods",
            "U1"
        );
        let allow = denial.allow.unwrap();
        let allow = allow.strip_prefix("--endpoint '").unwrap();
        let allow = allow.strip_suffix('\'').unwrap();
        assert_eq!(allow, "POST https://api.test/v1/x", "U1, and no query");
        assert_eq!(
            verdict(allow, "POST", "https://api.test/v1/x?key=1"),
            Ok(())
        );
        let other = verdict("https://api.test", "GET", "https://other.test/").unwrap_err();
        assert_eq!(other.rule, "no endpoint grant names this host");
    }

    #[test]
    fn what_no_grant_can_allow_is_denied_without_a_suggestion() {
        let denial = verdict("https://api.test", "CONNECT", "https://api.test/").unwrap_err();
        assert_eq!(denial.allow, None, "U1");
    }

    #[test]
    fn methods_are_compared_letter_by_letter() {
        assert!(
            verdict("https://api.test", "get", "https://api.test/").is_err(),
            "C3"
        );
        assert!(
            verdict("https://api.test", "HEAD", "https://api.test/").is_ok(),
            "C3"
        );
    }
}
