//! Paths a guest gives: what is refused unseen, and how they are shown.
//!
//! Rule (C4, H37, X10): a path is resolved by the engine beneath the granted handle,
//! never by text; text only refuses what no path may be, and links that point out.

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::text::one_line;

/// Bytes of a path at most, as the operating system has it.
const PATH_BYTES_MAX: usize = 4_095;
/// Bytes of a path that the trace keeps.
const SHOWN_BYTES_MAX: usize = 512;

/// Refuses what is no path anywhere.
pub(super) fn check(path: &str) -> Result<(), ErrorCode> {
    if path.len() > PATH_BYTES_MAX {
        return Err(ErrorCode::NameTooLong);
    }
    if path.contains('\0') {
        return Err(ErrorCode::Invalid);
    }
    Ok(())
}

/// `path` below `base`, as the trace and the operator read it.
pub(super) fn shown(base: &str, path: &str) -> String {
    let path = path.trim_start_matches("./");
    if path.is_empty() || path == "." {
        return base.to_owned();
    }
    let mut whole = base.trim_end_matches('/').to_owned();
    whole.push('/');
    whole.push_str(path);
    one_line(&whole, SHOWN_BYTES_MAX)
}

/// Whether a link at `link` with the text `target` would point above the directory that
/// `link` is relative to. Such a link leads a guest nowhere, but it would lead a program
/// of the host out when it comes by later.
pub(super) fn points_out(link: &str, target: &str) -> bool {
    if target.starts_with('/') {
        return true;
    }
    let mut depth = 0_i64;
    let parent = link.trim_end_matches('/').rsplit_once('/');
    for part in parent
        .map_or("", |(parent, _)| parent)
        .split('/')
        .chain(target.split('/'))
    {
        match part {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_path_may_be_is_refused_before_the_host_sees_it() {
        assert_eq!(check(&"a".repeat(5_000)), Err(ErrorCode::NameTooLong), "C4");
        assert_eq!(check("a\0b"), Err(ErrorCode::Invalid), "C4, H37");
        assert_eq!(check(&"a/".repeat(2_000)), Ok(()));
    }

    #[test]
    fn a_shown_path_starts_with_the_guest_s_name_for_the_directory() {
        assert_eq!(shown("/data", "a/b"), "/data/a/b");
        assert_eq!(shown("/", "a"), "/a");
        assert_eq!(shown("/data", "."), "/data");
        assert_eq!(shown("/data", "./a"), "/data/a");
        assert_eq!(shown("/data", "a\nb\u{1b}"), "/data/a\\nb\\x1b", "H29");
    }

    #[test]
    fn a_link_that_points_out_is_told_from_one_that_stays() {
        for (link, target) in [
            ("s", "../../etc"),
            ("s", "/etc"),
            ("a/s", "../../x"),
            ("a/s", "b/../../../x"),
            ("a/../s", "../x"),
            ("s/", ".."),
        ] {
            assert!(points_out(link, target), "C4: {link} -> {target}");
        }
        for (link, target) in [
            ("s", "a"),
            ("a/s", "../x"),
            ("a/b/s", "../../x"),
            ("s", "./a/.."),
        ] {
            assert!(!points_out(link, target), "C4: {link} -> {target}");
        }
    }
}
