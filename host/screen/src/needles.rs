//! Finding known secrets in bytes that come piece by piece.
//!
//! Rule (C9): one automaton for all forms of all secrets, stepped byte by byte, so the cost
//! is linear however the pieces are cut. What may still become a secret is held back and
//! nothing else is: the automaton's depth says how much that is.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};

use crate::encodings::{Needle, forms};
use crate::secret::{Secret, SecretFault};

/// Most secrets that one set holds.
pub(crate) const SECRETS_MAX: usize = 64;

/// Every form of a set of secrets, ready to be searched for.
pub struct Needles {
    automaton: NFA,
    start: StateID,
    facts: Vec<Fact>,
    /// How long the beginning of a form is that leads to a state.
    depths: HashMap<StateID, usize>,
}

/// What a form that was found covers beside itself.
#[derive(Clone, Copy)]
struct Fact {
    lead: bool,
    tail: bool,
}

impl fmt::Debug for Needles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Needles(…)")
    }
}

impl Needles {
    /// All forms of `secrets`; of no secret, nothing is ever found.
    ///
    /// # Errors
    ///
    /// [`SecretFault::TooMany`] when there are more secrets than one search can hold.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Result<Self, SecretFault> {
        let mut all: Vec<Needle> = Vec::new();
        for (count, secret) in secrets.into_iter().enumerate() {
            if count >= SECRETS_MAX {
                return Err(SecretFault::TooMany);
            }
            all.extend(forms(secret.expose()));
        }
        let bytes = all.iter().map(|needle| needle.bytes.as_slice());
        // Overlapping matches are all wanted: a form may begin inside another.
        let automaton = NFA::builder()
            .match_kind(MatchKind::Standard)
            .build(bytes)
            .map_err(|_| SecretFault::TooMany)?;
        let start = automaton
            .start_state(Anchored::No)
            .map_err(|_| SecretFault::TooMany)?;
        let mut depths = HashMap::new();
        for needle in &all {
            let mut state = start;
            for (read, byte) in needle.bytes.iter().enumerate() {
                state = automaton.next_state(Anchored::No, state, *byte);
                depths.insert(state, read + 1);
            }
        }
        let facts = all.iter().map(|needle| Fact {
            lead: needle.lead,
            tail: needle.tail,
        });
        Ok(Self {
            start,
            facts: facts.collect(),
            depths,
            automaton,
        })
    }

    /// The parts of `bytes` that are a secret in some form, in order, apart.
    pub(crate) fn spans(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut scan = Scan::new(self.start);
        scan.read(self, bytes);
        scan.spans
    }

    /// Whether a secret stands in `bytes` in some form.
    pub fn finds_in(&self, bytes: &[u8]) -> bool {
        !self.spans(bytes).is_empty()
    }

    /// `bytes` with every secret masked by `*`, its length kept; none when there is none.
    pub fn masked(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let spans = self.spans(bytes);
        if spans.is_empty() {
            return None;
        }
        let mut masked = bytes.to_vec();
        for span in spans {
            masked.get_mut(span).unwrap_or_default().fill(STAR);
        }
        Some(masked)
    }
}

const STAR: u8 = b'*';

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

/// One pass over bytes: where the automaton is, and what it has found.
struct Scan {
    state: StateID,
    /// Bytes read so far.
    at: usize,
    /// The byte before the ones read now.
    last: u8,
    /// The form that ended with the last byte holds bits in the next one.
    tail: bool,
    /// What was found, in order, apart.
    spans: Vec<Range<usize>>,
}

impl Scan {
    fn new(state: StateID) -> Self {
        Self {
            state,
            at: 0,
            last: 0,
            tail: false,
            spans: Vec::new(),
        }
    }

    fn read(&mut self, needles: &Needles, bytes: &[u8]) {
        let automaton = &needles.automaton;
        for byte in bytes {
            self.state = automaton.next_state(Anchored::No, self.state, *byte);
            let tail = std::mem::take(&mut self.tail);
            self.at += 1;
            if tail && is_base64(*byte) {
                self.found(self.at - 1);
            }
            if automaton.is_special(self.state) && automaton.is_match(self.state) {
                self.ended(needles);
            }
            self.last = *byte;
        }
    }

    /// One or more forms end with the byte just read.
    fn ended(&mut self, needles: &Needles) {
        let automaton = &needles.automaton;
        for index in 0..automaton.match_len(self.state) {
            let pattern = automaton.match_pattern(self.state, index);
            let fact = needles.facts.get(pattern.as_usize());
            let start = self.at.saturating_sub(automaton.pattern_len(pattern));
            let lead = usize::from(fact.is_some_and(|fact| fact.lead));
            self.tail |= fact.is_some_and(|fact| fact.tail);
            self.found(start.saturating_sub(lead));
        }
    }

    /// Everything from `start` to here is secret. Ends only grow, so joining what touches
    /// costs no more than what was found.
    fn found(&mut self, mut start: usize) {
        while let Some(last) = self.spans.pop_if(|last| last.end >= start) {
            start = start.min(last.start);
        }
        self.spans.push(start..self.at);
    }

    /// How many of the bytes read last may be the beginning of a form.
    fn depth(&self, needles: &Needles) -> usize {
        needles.depths.get(&self.state).copied().unwrap_or(0)
    }
}

/// How a stream of bytes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As whoever sent it meant: what is there is all of it.
    Whole,
    /// Short of that: what may be the beginning of a secret is masked, or the place of the
    /// cut, moved byte by byte, would spell it out.
    Cut,
}

/// Masks secrets in bytes that stream by; every byte stays one byte.
pub struct Masker {
    needles: Arc<Needles>,
    scan: Scan,
    /// Bytes read and not yet passed on; the first one is at `from`.
    held: Vec<u8>,
    from: usize,
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Masker(…)")
    }
}

impl Masker {
    /// A stream that has not begun.
    pub fn new(needles: Arc<Needles>) -> Self {
        Self {
            scan: Scan::new(needles.start),
            needles,
            held: Vec::new(),
            from: 0,
        }
    }

    /// Takes the next bytes and gives those that can pass, which may be none: what may
    /// become a secret waits for what follows.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.scan.read(&self.needles, bytes);
        self.held.extend_from_slice(bytes);
        // One byte more than the automaton's depth: the base64 character before a form.
        let depth = self.scan.depth(&self.needles);
        let waiting = if depth > 0 { depth + 1 } else { 0 };
        // A form may begin in base64 characters: the next byte decides about the last one.
        let waiting = waiting.max(usize::from(is_base64(self.scan.last)));
        self.pass(self.held.len().saturating_sub(waiting))
    }

    /// The stream ends; gives what waited.
    pub fn finish(&mut self, ending: Ending) -> Vec<u8> {
        if ending == Ending::Cut {
            let depth = self.scan.depth(&self.needles);
            if depth > 0 {
                self.scan.found(self.scan.at.saturating_sub(depth + 1));
            }
        }
        self.scan.state = self.needles.start;
        self.scan.tail = false;
        self.pass(self.held.len())
    }

    /// Passes on the first `count` bytes that are held.
    fn pass(&mut self, count: usize) -> Vec<u8> {
        let mut passed: Vec<u8> = self.held.drain(..count).collect();
        let (begin, end) = (self.from, self.from + count);
        for span in &self.scan.spans {
            let within = span.start.max(begin) - begin..span.end.min(end).max(begin) - begin;
            passed.get_mut(within).unwrap_or_default().fill(STAR);
        }
        self.scan.spans.retain(|span| span.end > end);
        self.from = end;
        passed
    }
}

#[cfg(test)]
#[allow(clippy::string_slice, reason = "the texts of these tests are ASCII")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn needles(secrets: &[&str]) -> Arc<Needles> {
        let secrets: Vec<Secret> = secrets
            .iter()
            .map(|secret| Secret::new((*secret).to_owned()).unwrap())
            .collect();
        Arc::new(Needles::new(&secrets).unwrap())
    }

    fn whole(needles: &Arc<Needles>, text: &[u8]) -> Vec<u8> {
        needles.masked(text).unwrap_or_else(|| text.to_vec())
    }

    fn pieces(needles: &Arc<Needles>, text: &[u8], size: usize) -> Vec<u8> {
        let mut masker = Masker::new(Arc::clone(needles));
        let mut out = Vec::new();
        for piece in text.chunks(size) {
            out.extend(masker.push(piece));
        }
        out.extend(masker.finish(Ending::Whole));
        out
    }

    #[test]
    fn a_secret_is_masked_wherever_the_pieces_are_cut() {
        let needles = needles(&["CANARY-1", "sesame-open-sesame"]);
        let encoded = base64_simd::STANDARD.encode_to_string("Bearer CANARY-1 ");
        let text = format!("x CANARY-1, 1-YRANAC {encoded} CANARY-CANARY-1 sesame-open-sesame!");
        let masked = whole(&needles, text.as_bytes());
        assert_eq!(masked.len(), text.len());
        assert!(
            !String::from_utf8(masked.clone())
                .unwrap()
                .contains("CANARY-1"),
            "C9"
        );
        for size in 1..text.len() {
            let streamed = pieces(&needles, text.as_bytes(), size);
            assert_eq!(streamed, masked, "C9: in pieces of {size}");
        }
    }

    fn part(text: &str, range: Range<usize>) -> &str {
        text.get(range).unwrap()
    }

    #[test]
    fn the_bits_of_a_secret_beside_whole_base64_characters_are_masked_too() {
        let needles = needles(&["CANARY-1"]);
        for before in ["", "x", "xy"] {
            for after in ["", "z", "zz"] {
                let text = format!(
                    "\"{}\"",
                    base64_simd::STANDARD.encode_to_string(format!("{before}CANARY-1{after}"))
                );
                let masked = String::from_utf8(whole(&needles, text.as_bytes())).unwrap();
                let first = 1 + before.len() * 8 / 6;
                let last = 1 + ((before.len() + 8) * 8).div_ceil(6);
                assert!(
                    part(&masked, first..last).bytes().all(|b| b == b'*'),
                    "C9: {text} {masked}"
                );
                assert_eq!(part(&masked, 0..first), part(&text, 0..first), "only that");
                let rest = last..text.len();
                assert_eq!(part(&masked, rest.clone()), part(&text, rest), "only that");
                for size in 1..text.len() {
                    assert_eq!(
                        pieces(&needles, text.as_bytes(), size),
                        masked.as_bytes(),
                        "C9"
                    );
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_part_of_a_secret_passes_at_once() {
        let needles = needles(&["CANARY-1"]);
        let mut masker = Masker::new(needles);
        assert_eq!(masker.push(b"data: {}\n\n"), b"data: {}\n\n");
        assert_eq!(
            masker.push(b"x: CAN"),
            b"x:",
            "and the base64 character before waits"
        );
        assert_eq!(masker.push(b"DLE\n"), b" CANDLE\n");
    }

    #[test]
    fn a_cut_hides_the_beginning_of_a_secret_and_a_true_end_does_not() {
        let needles = needles(&["CANARY-1"]);
        let ended = |ending| {
            let mut masker = Masker::new(Arc::clone(&needles));
            let mut out = masker.push(b"a CANARY");
            out.extend(masker.finish(ending));
            out
        };
        assert_eq!(ended(Ending::Whole), b"a CANARY");
        assert_eq!(
            ended(Ending::Cut),
            b"a*******",
            "C9: a limit cannot spell a secret"
        );
    }

    #[test]
    fn of_no_secret_nothing_is_found_and_of_too_many_nothing_is_made() {
        let none = needles(&[]);
        assert_eq!(none.masked(b"CANARY-1"), None);
        let secret = Secret::new("CANARY-1".to_owned()).unwrap();
        let many = |count| Needles::new(std::iter::repeat_n(&secret, count));
        assert!(many(SECRETS_MAX).is_ok());
        assert_eq!(many(SECRETS_MAX + 1).unwrap_err(), SecretFault::TooMany);
    }

    proptest! {
        #[test]
        fn streamed_and_whole_agree_and_no_secret_is_left(
            text in "[ABN1/=%]{0,12}(ABANBABN|QUJBTkJBQk4=|NBABNABA)?[ABN1/=%]{0,12}(ABANBABN)?[ABN]{0,9}",
            size in 1_usize..9,
        ) {
            let needles = needles(&["ABANBABN"]);
            let masked = whole(&needles, text.as_bytes());
            prop_assert_eq!(masked.len(), text.len());
            prop_assert_eq!(&pieces(&needles, text.as_bytes(), size), &masked);
            prop_assert!(!needles.finds_in(&masked));
        }
    }
}
