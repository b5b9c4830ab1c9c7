//! what changes the version of a policy, and what does not.

use bindery_policy::{Document, KnownNames, Policy};
use bindery_types::{CapabilityId, Digest};

use crate::rig::DOCUMENT;

fn version(text: &str) -> Digest {
    let ids: Vec<CapabilityId> = ["acme:p#go", "acme:p#stop"]
        .map(|text| text.parse().unwrap())
        .into();
    let names: KnownNames = ["go", "stop"].into_iter().zip(&ids).collect();
    let document = Document::parse("p", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Policy::compile(document, &names).unwrap().version()
}

const DENY: &str = "[[policy.rule]]\ndecision = 'deny'\nwhy = 'x'\nnames = ['stop']\n";

#[test]
fn r_544_an_edit_that_changes_no_meaning_changes_no_version() {
    let before = version(DOCUMENT);
    let same = [
        format!("# a comment\n{DOCUMENT}\n\n# another\n"),
        DOCUMENT.replace(" = ", "="),
        DOCUMENT.replace("the secret reason", "put in other words"),
        DOCUMENT.replace("capabilities = ['acme:p#go']", "names = ['go']"),
        DOCUMENT.replace("['src', 'api']", "['api', 'src', 'src']"),
        DOCUMENT.replace(
            "[agents.stub]",
            "[agents.stub]\nimplementation_status = 'stub'",
        ),
        format!("{DOCUMENT}[leases]\nttl = '10m'\n"),
        DOCUMENT.replace('\'', "\""),
    ];
    for text in same {
        assert_eq!(version(&text), before, "{text}");
    }
    let (first, last) = (
        DOCUMENT.replacen("[[policy.rule]]", &format!("{DENY}[[policy.rule]]"), 1),
        format!("{DOCUMENT}{DENY}"),
    );
    assert_eq!(version(&first), version(&last), "rules have no order");
}

#[test]
fn r_315_an_edit_that_changes_the_meaning_changes_the_version() {
    let mut seen = std::collections::BTreeSet::from([version(DOCUMENT)]);
    for text in [
        format!("{DOCUMENT}{DENY}"),
        format!("{DOCUMENT}{}", DENY.replace("stop", "go")),
        DOCUMENT.replace("grants = ['src', 'api']", "grants = ['src']"),
        DOCUMENT.replace("read_write", "read_only"),
        DOCUMENT.replace("/v1/", "/v2/"),
        DOCUMENT.replace("env = 'TOKEN'", "env = 'OTHER'"),
        DOCUMENT.replace("agents = ['cli']", "agents = []"),
        DOCUMENT.replace(
            "[agents.stub]",
            "[agents.stub]\nimplementation_status = 'active'",
        ),
        format!("{DOCUMENT}[leases]\nttl = '9m'\n"),
        format!("{DOCUMENT}[budgets]\nfuel = 5\n"),
        format!("{DOCUMENT}[approvals.risk]\nwrite = 'confirm_once'\n"),
        format!("{DOCUMENT}[visibility]\nhidden = ['stop']\n"),
        format!("{DOCUMENT}[trust]\nminimum = 'authenticated'\n"),
        format!("{DOCUMENT}[rates.session]\ncalls = '1/1s'\n"),
    ] {
        assert!(
            seen.insert(version(&text)),
            "the version of another document: {text}"
        );
    }
}
