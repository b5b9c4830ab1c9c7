//! Where compiled code is kept when nobody says otherwise.

use std::path::PathBuf;

/// `$XDG_CACHE_HOME/bindery`, else `~/.cache/bindery`; none without a home.
pub(crate) fn default_dir() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|base| base.join("bindery"))
}
