//! Texts and bytes longer than one piece: whatever a cut meets, the text is the same as in
//! one go (H21, A6, A7).

use super::super::output::PIECE_BYTES;
use super::super::{GuestLie, OutputOverflow};
use super::guest::{Guest, HEAP};
use super::kind::Kind;

const LIMIT: usize = 1 << 20;

/// Memory with a pair of pointer and length before `content`.
fn heap(content: &[u8], len: usize) -> Vec<u8> {
    let pair = [HEAP + 8, u32::try_from(len).unwrap()];
    let pair = pair.iter().flat_map(|word| word.to_le_bytes());
    pair.chain(content.iter().copied()).collect()
}

fn utf16(text: &str) -> (Vec<u8>, usize) {
    let units: Vec<u16> = text.encode_utf16().collect();
    let bytes = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    (bytes, units.len())
}

/// Texts in which a cut between pieces meets characters of two to four bytes and escapes,
/// each at every offset in the character.
fn texts() -> Vec<String> {
    let pads = ["", "a", "ab", "abc"];
    let fills = ["é", "€", "𝄞", "\n", "\u{1}\""];
    let long = |pad: &&str, fill: &str| format!("{pad}{}", fill.repeat(PIECE_BYTES / 2 + 3));
    let of = |fill| pads.iter().map(move |pad| long(pad, fill));
    fills.into_iter().flat_map(of).collect()
}

#[test]
fn a_text_of_several_pieces_is_the_same_text_in_each_encoding() {
    let utf8 = Guest::of(&[Kind::Text], "utf8", 16);
    let wide = Guest::of(&[Kind::Text], "utf16", 16);
    for text in texts() {
        let wanted = serde_json::to_string(&text).unwrap();
        let lifted = utf8.lift(&heap(text.as_bytes(), text.len()), HEAP.into(), LIMIT);
        assert!(
            lifted.unwrap().json == wanted,
            "utf-8, {} bytes",
            text.len()
        );
        let (bytes, units) = utf16(&text);
        let lifted = wide.lift(&heap(&bytes, units), HEAP.into(), LIMIT);
        assert!(lifted.unwrap().json == wanted, "utf-16, {units} units");
    }
}

#[test]
fn a_lie_behind_the_first_piece_is_found_and_one_byte_too_many_is_refused() {
    let guest = Guest::of(&[Kind::Text], "utf8", 16);
    for tail in [&b"\xff"[..], b"\xc3", b"\xed\xa0\x80"] {
        for before in [PIECE_BYTES - 1, PIECE_BYTES, 2 * PIECE_BYTES + 1] {
            let mut text = vec![b'a'; before];
            text.extend_from_slice(tail);
            let error = guest.lift(&heap(&text, text.len()), HEAP.into(), LIMIT);
            let lie = GuestLie::Text { encoding: "utf-8" };
            assert_eq!(error.unwrap_err().downcast_ref(), Some(&lie), "A7");
        }
    }
    // Each newline is two bytes of JSON, which only its piece tells.
    let text = vec![b'\n'; 3 * PIECE_BYTES];
    let exact = 2 * text.len() + 2;
    let lift = |limit| guest.lift(&heap(&text, text.len()), HEAP.into(), limit);
    assert_eq!(lift(exact).unwrap().json.len(), exact);
    let error = lift(exact - 1).unwrap_err();
    let asked = error
        .downcast_ref::<OutputOverflow>()
        .map(|over| over.asked);
    assert_eq!(asked, Some(exact), "B5");
}

#[test]
fn bytes_of_several_pieces_are_one_base64_text() {
    let guest = Guest::of(&[Kind::Bytes], "utf8", 16);
    for extra in 0..4 {
        let bytes: Vec<u8> = (0..=255).cycle().take(2 * PIECE_BYTES + extra).collect();
        let mut wanted = Vec::new();
        bindery_json::text::push_bytes(&mut wanted, &bytes);
        let lifted = guest.lift(&heap(&bytes, bytes.len()), HEAP.into(), LIMIT);
        assert!(lifted.unwrap().json.as_bytes() == wanted, "A6: {extra}");
    }
}
