//! Text that looks like a secret, whoever's it is.
//!
//! Rule (R-517, C9, G6): one pass finds the words that secrets begin with, a small scanner
//! reads on from each; no scanner goes back, none reads what another has covered, so the
//! whole is linear. What is masked is the value, never the word before it.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// What begins a secret, and how the rest is read.
#[derive(Clone, Copy)]
enum Kind {
    /// `Bearer `, `Basic `: a token follows.
    Scheme,
    /// A key that names its issuer: so many characters of its alphabet follow.
    Key(usize, fn(u8) -> bool),
    /// Three parts of base64 with dots between.
    Jwt,
    /// `-----BEGIN … PRIVATE KEY-----`.
    Block,
    /// `://`: user name and password may follow.
    Url,
    /// `name=`: a value follows; in a query only, or anywhere.
    Query,
    Anywhere,
}

fn letters_and_digits(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn words(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_".contains(&byte)
}

fn capitals(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

const BEGINNINGS: &[(&str, Kind)] = &[
    ("bearer", Kind::Scheme),
    ("basic", Kind::Scheme),
    ("sk-", Kind::Key(16, words)),
    ("sk_live_", Kind::Key(16, words)),
    ("sk_test_", Kind::Key(16, words)),
    ("rk_live_", Kind::Key(16, words)),
    ("rk_test_", Kind::Key(16, words)),
    ("whsec_", Kind::Key(16, words)),
    ("ghp_", Kind::Key(20, letters_and_digits)),
    ("gho_", Kind::Key(20, letters_and_digits)),
    ("ghu_", Kind::Key(20, letters_and_digits)),
    ("ghs_", Kind::Key(20, letters_and_digits)),
    ("ghr_", Kind::Key(20, letters_and_digits)),
    ("github_pat_", Kind::Key(20, words)),
    ("glpat-", Kind::Key(16, words)),
    ("AKIA", Kind::Key(16, capitals)),
    ("ASIA", Kind::Key(16, capitals)),
    ("AIza", Kind::Key(30, words)),
    ("xoxa-", Kind::Key(10, words)),
    ("xoxb-", Kind::Key(10, words)),
    ("xoxp-", Kind::Key(10, words)),
    ("xoxr-", Kind::Key(10, words)),
    ("xoxs-", Kind::Key(10, words)),
    ("npm_", Kind::Key(30, letters_and_digits)),
    ("hf_", Kind::Key(30, letters_and_digits)),
    ("pypi-", Kind::Key(30, words)),
    ("eyJ", Kind::Jwt),
    ("-----BEGIN ", Kind::Block),
    ("://", Kind::Url),
    ("key=", Kind::Query),
    ("sig=", Kind::Query),
    ("auth=", Kind::Query),
    ("code=", Kind::Query),
    ("signature=", Kind::Query),
    ("api_key=", Kind::Anywhere),
    ("apikey=", Kind::Anywhere),
    ("api-key=", Kind::Anywhere),
    ("access_key=", Kind::Anywhere),
    ("token=", Kind::Anywhere),
    ("secret=", Kind::Anywhere),
    ("password=", Kind::Anywhere),
    ("passwd=", Kind::Anywhere),
    ("pwd=", Kind::Anywhere),
];

/// Fewest characters of a token after the name of its scheme.
const TOKEN_BYTES_MIN: usize = 8;
/// From here on a token needs no digit to be taken for one.
const TOKEN_BYTES_SURE: usize = 20;
/// Fewest characters of a value outside a query.
const VALUE_BYTES_MIN: usize = 6;
/// Fewest characters of a signed token.
const JWT_BYTES_MIN: usize = 30;
/// Most characters between `BEGIN` and the end of that line.
const LABEL_BYTES_MAX: usize = 64;

/// The parts of `text` that look like a secret, in order, apart.
pub(crate) fn secret_like(text: &str) -> Vec<Range<usize>> {
    static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(BEGINNINGS.iter().map(|(word, _)| word))
            .ok()
    });
    let mut spans: Vec<Range<usize>> = Vec::new();
    // The table is small and fixed; that it builds is tested.
    let Some(words) = WORDS.as_ref() else {
        return spans;
    };
    let text = Text(text.as_bytes());
    for word in words.find_iter(text.0) {
        let covered = spans.last().is_some_and(|last| word.start() < last.end);
        let known = BEGINNINGS.get(word.pattern().as_usize());
        let (false, Some((spelling, kind))) = (covered, known) else {
            continue;
        };
        let found = text.read(word.range(), spelling, *kind);
        spans.extend(found.filter(|span| !span.is_empty()));
    }
    spans
}

struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn read(&self, word: Range<usize>, spelling: &str, kind: Kind) -> Option<Range<usize>> {
        match kind {
            Kind::Scheme => self.token(word),
            Kind::Key(least, of) => self.key(word, spelling, least, of),
            Kind::Jwt => self.signed(word, spelling),
            Kind::Block => self.block(word),
            Kind::Url => self.userinfo(word.end),
            Kind::Query => self.value(word, usize::MAX),
            Kind::Anywhere => self.value(word, VALUE_BYTES_MIN),
        }
    }

    fn before(&self, at: usize) -> u8 {
        at.checked_sub(1)
            .and_then(|at| self.0.get(at))
            .copied()
            .unwrap_or(b' ')
    }

    /// Where the run of bytes that `of` accepts ends, from `at` on.
    fn run(&self, at: usize, of: impl Fn(u8) -> bool) -> usize {
        let rest = self.0.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|byte| of(**byte)).count()
    }

    fn part(&self, range: &Range<usize>) -> &[u8] {
        self.0.get(range.clone()).unwrap_or_default()
    }

    fn token(&self, word: Range<usize>) -> Option<Range<usize>> {
        let spaces = self.run(word.end, |byte| byte == b' ');
        if self.before(word.start).is_ascii_alphanumeric() || spaces == word.end {
            return None;
        }
        let end = self.run(spaces, |byte| {
            byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
        });
        let token = spaces..end;
        let sure = token.len() >= TOKEN_BYTES_SURE
            || token.len() >= TOKEN_BYTES_MIN && self.part(&token).iter().any(u8::is_ascii_digit);
        sure.then_some(token)
    }

    /// A key whose beginning is spelled exactly and stands at the beginning of a word.
    fn key(
        &self,
        word: Range<usize>,
        spelling: &str,
        least: usize,
        of: fn(u8) -> bool,
    ) -> Option<Range<usize>> {
        if words(self.before(word.start)) || self.part(&word) != spelling.as_bytes() {
            return None;
        }
        let end = self.run(word.end, of);
        let digit = self.part(&(word.end..end)).iter().any(u8::is_ascii_digit);
        (end - word.end >= least && digit).then_some(word.start..end)
    }

    fn signed(&self, word: Range<usize>, spelling: &str) -> Option<Range<usize>> {
        if words(self.before(word.start)) || self.part(&word) != spelling.as_bytes() {
            return None;
        }
        let token = word.start..self.run(word.start, |byte| words(byte) || byte == b'.');
        let dots = self.part(&token).iter().filter(|byte| **byte == b'.');
        (dots.count() >= 2 && token.len() >= JWT_BYTES_MIN).then_some(token)
    }

    /// A private key up to the end of its last line, or of the text: a key that was cut is
    /// a key too.
    fn block(&self, word: Range<usize>) -> Option<Range<usize>> {
        let label_end = self.run(word.end, |byte| byte.is_ascii_uppercase() || byte == b' ');
        let label = self.part(&(word.end..label_end.min(word.end + LABEL_BYTES_MAX)));
        if !label.ends_with(b"PRIVATE KEY") {
            return None;
        }
        const LAST: &[u8] = b"-----END ";
        let rest = self.0.get(label_end..).unwrap_or_default();
        let end = rest
            .windows(LAST.len())
            .position(|window| window == LAST)
            .map_or(self.0.len(), |at| {
                let label = label_end + at + LAST.len();
                let dashes = self.run(label, |byte| byte.is_ascii_uppercase() || byte == b' ');
                self.run(dashes, |byte| byte == b'-')
            });
        Some(word.start..end)
    }

    /// What stands before the last `@` of an authority.
    fn userinfo(&self, start: usize) -> Option<Range<usize>> {
        let end = self.run(start, |byte| {
            byte.is_ascii_graphic() && !b"/?#\"'<>\\`".contains(&byte) || !byte.is_ascii()
        });
        let authority = self.part(&(start..end));
        let at = authority.iter().rposition(|byte| *byte == b'@')?;
        Some(start..start + at)
    }

    /// The value after `name=`: in a query any, elsewhere one of `least` characters.
    fn value(&self, word: Range<usize>, least: usize) -> Option<Range<usize>> {
        let before = self.before(word.start);
        let least = if b"?&;".contains(&before) { 1 } else { least };
        let end = self.run(word.end, |byte| {
            byte.is_ascii_graphic() && !b"&#;,\"'<>\\`)]}".contains(&byte) || !byte.is_ascii()
        });
        let value = word.end..end;
        (!before.is_ascii_alphanumeric() && value.len() >= least).then_some(value)
    }
}

#[cfg(test)]
#[allow(clippy::string_slice, reason = "the texts of these tests are ASCII")]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        secret_like(text)
            .into_iter()
            .map(|span| text.get(span).unwrap())
            .collect()
    }

    #[test]
    fn what_looks_like_a_secret_is_found_to_its_last_character() {
        let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----";
        let cut = "-----BEGIN PRIVATE KEY-----\nMIIB";
        let table = [
            ("authorization: Bearer CANARY-1, x", "CANARY-1"),
            ("BASIC  dXNlcjpwYXNzd29yZA== ", "dXNlcjpwYXNzd29yZA=="),
            (
                "(sk-proj-abcdefghij0123456789)",
                "sk-proj-abcdefghij0123456789",
            ),
            (
                "ghp_0123456789abcdefghij0123456789abcdef.",
                "ghp_0123456789abcdefghij0123456789abcdef",
            ),
            ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
            (
                "id=eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl!",
                "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
            ),
            ("https://user:pass@host/x", "user:pass"),
            ("https://u:p@ss@host", "u:p@ss"),
            ("GET https://a.test/x?key=CANARY&b=1", "CANARY"),
            ("https://a.test/?a=1&sig=C HTTP", "C"),
            ("--token=CANARY", "CANARY"),
            ("my_password=hunter2x\n", "hunter2x"),
            (block, block),
            (cut, cut),
        ];
        for (text, secret) in table {
            assert_eq!(found(text), [secret], "C9 G6 {text}");
        }
    }

    #[test]
    fn what_only_resembles_one_is_left() {
        for text in [
            "bearer of good news",
            "the Basic certificates",
            "task-force-of-the-year-2024-and-more",
            "sk-learn-contrib-packages",
            "sk-short1",
            "akiaiosfodnn7example",
            "eyJust a word",
            "https://host/path@x",
            "ftp://",
            "monkey=banana-split",
            "the key=value form",
            "token=5",
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
            "?key=",
            "",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn many_beginnings_are_read_once() {
        for part in [
            "Bearer ",
            "sk-",
            "eyJ",
            "://",
            "?key=",
            "-----BEGIN PRIVATE KEY-----",
        ] {
            let text = part.repeat(200_000 / part.len());
            // That it ends is the point; what a run of beginnings means is nobody's secret.
            assert!(secret_like(&text).len() <= text.len());
        }
    }
}
