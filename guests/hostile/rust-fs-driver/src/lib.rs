//! A guest that does to `wasi:filesystem` whatever its caller lists (C4, H25): the tests
//! and the property tests of directory grants hold the pen.

mod convert;
mod deep;
mod many;
mod operate;
mod stream;

/// What the component exports.
#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({ world: "fs-driver", path: "wit" });
    use super::Driver;
    export!(Driver);
}

use bindings::exports::hostile::fs_driver::driver::{Answer, Guest, Operation};
use operate::Slots;

struct Driver;

impl Guest for Driver {
    fn drive(operations: Vec<Operation>) -> Vec<Result<Answer, String>> {
        let mut slots = Slots::preopened();
        operations
            .into_iter()
            .map(|operation| slots.operate(operation))
            .collect()
    }

    fn drive_deep(levels: u32, operations: Vec<Operation>) -> Vec<Result<Answer, String>> {
        deep::at_the_bottom(levels, operations)
    }
}
