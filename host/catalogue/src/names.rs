//! Public names: what a function-calling front end shows (C-49).
//!
//! Rule: a name depends on the set of ids that can be seen and on nothing else, neither
//! order nor history; it is never a key of anything. Ids are.

use std::collections::BTreeMap;

use bindery_types::{CapabilityId, Digest};

/// Names no capability ever gets (architecture § 11).
pub const RESERVED: &[&str] = &[
    "tool_search",
    "tool_list",
    "tool_inspect",
    "call_bound_capability",
    "run_tool_code",
    "run_tool_script",
    "run_helper",
    "probe_capability",
    "bind_capability",
    "release_binding",
    "bash",
];

/// Longest name unless configured.
pub const NAME_CHARS_DEFAULT: usize = 48;
/// Least value of `names.max_chars`.
pub const NAME_CHARS_MIN: usize = 16;
/// Greatest value of `names.max_chars`.
pub const NAME_CHARS_MAX: usize = 64;

const SUFFIX_DIGITS: usize = 8;

/// The public name of every id in `visible`, at most `chars_max` characters each
/// (held between [`NAME_CHARS_MIN`] and [`NAME_CHARS_MAX`]).
pub fn public_names<'a>(
    visible: impl IntoIterator<Item = &'a CapabilityId>,
    chars_max: usize,
) -> BTreeMap<CapabilityId, String> {
    let chars_max = chars_max.clamp(NAME_CHARS_MIN, NAME_CHARS_MAX);
    let mut by_name: BTreeMap<String, Vec<&CapabilityId>> = BTreeMap::new();
    for id in visible {
        let ids = by_name.entry(snake(id.function())).or_default();
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let mut names = BTreeMap::new();
    for (name, ids) in by_name {
        let taken = RESERVED.contains(&name.as_str()) || name.len() > chars_max || name.is_empty();
        let alone = ids.len() == 1 && !taken;
        for id in ids {
            let given = if alone {
                name.clone()
            } else {
                suffixed(&name, id, chars_max)
            };
            names.insert(id.clone(), given);
        }
    }
    names
}

/// `name_` and eight digits of the id's digest, shortened before the suffix.
fn suffixed(name: &str, id: &CapabilityId, chars_max: usize) -> String {
    let digest = Digest::of(id.as_str().as_bytes()).to_string();
    let suffix = digest.get(..SUFFIX_DIGITS).unwrap_or_default();
    let room = chars_max.saturating_sub(SUFFIX_DIGITS + 1);
    let kept: String = name.chars().take(room).collect();
    format!("{}_{suffix}", kept.trim_end_matches('_'))
}

/// Snake case of a WIT name: `[a-z0-9_]` only.
fn snake(function: &str) -> String {
    let mut out = String::new();
    for c in function.chars() {
        match c {
            'a'..='z' | '0'..='9' => out.push(c),
            'A'..='Z' => out.push(c.to_ascii_lowercase()),
            _ if out.ends_with('_') || out.is_empty() => {}
            _ => out.push('_'),
        }
    }
    out.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(text: &str) -> CapabilityId {
        text.parse().unwrap()
    }

    fn names(ids: &[&str]) -> Vec<String> {
        let ids: Vec<CapabilityId> = ids.iter().map(|text| id(text)).collect();
        public_names(&ids, NAME_CHARS_DEFAULT)
            .into_values()
            .collect()
    }

    #[test]
    fn a_name_that_only_one_wants_is_the_functions_own() {
        assert_eq!(names(&["acme:files#read-file"]), ["read_file"]);
    }

    #[test]
    fn every_one_of_clashing_names_carries_a_suffix_of_its_id() {
        let both = names(&["acme:files#read-file", "beta:files#read-file"]);
        assert_eq!(both.len(), 2);
        assert_ne!(both[0], both[1]);
        assert!(
            both.iter().all(|name| name.len() == "read_file_".len() + 8),
            "{both:?}"
        );
        assert_eq!(
            names(&["a:x#read-file", "a:x#readFile"]).len(),
            2,
            "no clash: read_file, readfile"
        );
    }

    #[test]
    fn a_reserved_name_is_never_given() {
        for reserved in RESERVED {
            let given = names(&[&format!("acme:evil#{}", reserved.replace('_', "-"))]);
            assert!(!RESERVED.contains(&given[0].as_str()), "case C8: {given:?}");
        }
    }

    #[test]
    fn a_long_name_is_cut_to_the_limit_and_told_apart() {
        let long = "x".repeat(80);
        let given = names(&[&format!("acme:a#{long}"), &format!("beta:a#{long}")]);
        assert!(
            given.iter().all(|name| name.chars().count() == 48),
            "C-49: {given:?}"
        );
        assert_ne!(given[0], given[1]);
    }

    proptest! {
        /// I29.
        #[test]
        fn names_do_not_depend_on_order_and_never_collide(
            functions in proptest::collection::vec("[a-zA-Z][a-z-]{0,60}", 1..12),
            seed in any::<u64>(),
        ) {
            let mut ids: Vec<CapabilityId> = functions
                .iter()
                .enumerate()
                .map(|(index, function)| id(&format!("n{index}:p#{}", function.trim_end_matches('-'))))
                .collect();
            let forward = public_names(&ids, 16);
            let turn = usize::try_from(seed % ids.len() as u64).unwrap();
            ids.rotate_left(turn);
            ids.reverse();
            prop_assert_eq!(&forward, &public_names(&ids, 16));
            let distinct: std::collections::BTreeSet<&String> = forward.values().collect();
            prop_assert_eq!(distinct.len(), forward.len());
            prop_assert!(forward.values().all(|name| name.len() <= 16));
        }
    }
}
