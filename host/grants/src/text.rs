//! Guest text made safe to show: on a terminal, in a log, to a model.
//!
//! Rule (H29, B4, X18): control, direction and tag characters never pass as themselves,
//! bytes that are not UTF-8 are shown as `\xNN`, and nothing is cut inside a character.

use bindery_types::hides;

/// How one character is shown; line feeds and tabs pass.
pub(crate) fn push_shown(out: &mut String, c: char) {
    match c {
        '\n' | '\t' => out.push(c),
        '\0'..='\u{1f}' | '\u{7f}' => push_byte(out, u32::from(c)),
        _ if hides(c) => out.extend(c.escape_unicode()),
        _ => out.push(c),
    }
}

/// `\xNN`, two digits always.
pub(crate) fn push_byte(out: &mut String, byte: u32) {
    out.push_str("\\x");
    out.extend(char::from_digit(byte >> 4 & 0xf, 16));
    out.extend(char::from_digit(byte & 0xf, 16));
}

/// At most `bytes_max` of a text, on one line.
pub(crate) fn one_line(text: &str, bytes_max: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let mark = out.len();
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ => push_shown(&mut out, c),
        }
        if out.len() > bytes_max {
            out.truncate(mark);
            out.push('…');
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_control_direction_or_tag_character_of_its_own() {
        let nasty = "a\u{1b}[2J\u{202e}b\r\n\u{e0041}\u{9b}\u{7f}é😀";
        let line = one_line(nasty, 256);
        assert_eq!(
            line, "a\\x1b[2J\\u{202e}b\\x0d\\n\\u{e0041}\\u{9b}\\x7fé😀",
            "H29"
        );
    }

    #[test]
    fn a_cut_falls_between_characters_and_shows() {
        assert_eq!(one_line("abcd😀", 7), "abcd…", "B4");
        assert_eq!(one_line("abcd😀", 8), "abcd😀", "B4");
        assert_eq!(one_line("\n\n", 3), "\\n…", "an escape is not cut either");
    }
}
