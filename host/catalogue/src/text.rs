//! Text of strangers, made fit to be shown: what could hide, reorder or forge is taken out.

use bindery_types::hides;

/// `text` without control, bidirectional, zero-width and tag characters, white space
/// folded, at most `chars_max` characters (the last is then an ellipsis).
pub(crate) fn clean(text: &str, chars_max: usize) -> String {
    let mut out = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        let visible: Vec<char> = word.chars().filter(|c| !hides(*c)).collect();
        if visible.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
            chars += 1;
        }
        if chars + visible.len() > chars_max {
            let room = chars_max.saturating_sub(chars + 1);
            out.extend(visible.iter().take(room));
            out.push('…');
            return out;
        }
        chars += visible.len();
        out.extend(visible);
    }
    out
}

/// The first sentence of `docs`, cleaned.
pub(crate) fn first_sentence(docs: &str, chars_max: usize) -> String {
    let paragraph = docs.split("\n\n").next().unwrap_or_default();
    let text = clean(paragraph, chars_max);
    match text.find(". ") {
        Some(end) => text.get(..=end).unwrap_or(&text).to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_or_reorders_is_taken_out() {
        let evil = "read\u{202E} me\u{200B}\n\u{1B}[31m now\u{E0041}";
        assert_eq!(clean(evil, 100), "read me [31m now");
        assert_eq!(clean("  a \t\n b ", 100), "a b");
    }

    #[test]
    fn long_text_is_cut_and_says_so() {
        assert_eq!(clean("abcdef", 4), "abc…");
        assert_eq!(clean("ab cd ef", 6), "ab cd …");
        assert_eq!(clean("abcd", 4), "abcd");
    }

    #[test]
    fn a_summary_is_the_first_sentence() {
        assert_eq!(
            first_sentence("Reads a file. Then more.\n\nEven more", 100),
            "Reads a file."
        );
        assert_eq!(
            first_sentence("Version 1.2 of it", 100),
            "Version 1.2 of it"
        );
    }
}
