//! Text that others had a hand in, made safe to show: nothing in it hides, turns or forges
//! what stands around it.
//!
//! Rule (H29, X49): one table of such characters for all who show or keep text.

/// Whether `c` cannot be seen, or changes how its neighbours look or where a line ends:
/// controls, line and paragraph separators, direction marks, zero-width and filling
/// characters, variation selectors and tags.
pub fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
            | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}

/// `text` on one line, with what hides shown as an escape (`\n`, `\u{202e}`), and cut with
/// an ellipsis after `chars_max` characters of it.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let mut shown = String::with_capacity(text.len());
    for (index, c) in text.chars().enumerate() {
        match c {
            _ if index == chars_max => {
                shown.push('…');
                break;
            }
            '\n' | '\r' | '\t' => shown.extend(c.escape_default()),
            c if hides(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_or_forges_is_shown_as_what_it_is_x49() {
        let nasty = "a\u{1b}]0;x\u{7}\u{202e}b\r\nstatus: approved\u{200b}\u{e0041}\u{9b}é😀";
        assert_eq!(
            one_line(nasty, 100),
            "a\\u{1b}]0;x\\u{7}\\u{202e}b\\r\\nstatus: approved\\u{200b}\\u{e0041}\\u{9b}é😀"
        );
    }

    #[test]
    fn a_cut_falls_between_characters_and_shows() {
        assert_eq!(one_line("ab😀d", 3), "ab😀…");
        assert_eq!(one_line("ab😀", 3), "ab😀");
    }
}
