//! File tools: reading, listing, finding and searching under directory grants, all bounded.
//!
//! The component asks for nothing but `wasi:filesystem`; it has no way to change a file.

mod fault;
mod glob;
mod grep;
mod list;
mod place;
mod problems;
mod read;
mod rules;
mod sink;
mod source;
mod walk;

/// What the component exports.
#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({ world: "file-tools", path: "wit" });
    use super::FileTools;
    export!(FileTools);
}

use bindings::exports::bindery::file_tools::files as wit;

struct FileTools;

impl wit::Guest for FileTools {
    fn read_file(
        path: String,
        options: Option<wit::ReadOptions>,
    ) -> Result<wit::Content, wit::Error> {
        read::read(&path, options.as_ref())
    }

    fn list_dir(
        path: String,
        options: Option<wit::ListOptions>,
    ) -> Result<wit::Listing, wit::Error> {
        list::list(&path, options.as_ref())
    }

    fn glob_files(
        pattern: String,
        options: Option<wit::GlobOptions>,
    ) -> Result<wit::Found, wit::Error> {
        glob::glob(&pattern, options.as_ref())
    }

    fn grep_files(
        pattern: String,
        options: Option<wit::GrepOptions>,
    ) -> Result<wit::Matches, wit::Error> {
        grep::grep(&pattern, options.as_ref())
    }
}
