//! The guest that the cost of the border is measured with: it hardly looks at what it gets.

/// What the component exports.
#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({ world: "crossing-guest", path: "wit" });
    use super::Crossing;
    export!(Crossing);
}

use bindings::exports::bench::crossing::crossing::{Guest, Line};

struct Crossing;

impl Guest for Crossing {
    fn echo(data: Vec<u8>) -> Vec<u8> {
        data
    }

    fn take(data: Vec<u8>) -> u32 {
        u32::try_from(data.len()).unwrap_or(u32::MAX)
    }

    fn order(lines: Vec<Line>) -> u32 {
        u32::try_from(lines.len()).unwrap_or(u32::MAX)
    }
}
