//! The same operations where little of the stack is left: a function that calls itself,
//! with nothing on the stack that lies in linear memory, so that the engine's stack ends
//! first.

use std::cell::RefCell;

use crate::Driver;
use crate::bindings::exports::hostile::fs_driver::driver::{Answer, Guest, Operation};

type Answers = Vec<Result<Answer, String>>;

thread_local! {
    /// What the bottom does, then what it found: carried here, not through the frames.
    static CARRIED: RefCell<(Vec<Operation>, Answers)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// Drives `operations` below `levels` calls.
pub(crate) fn at_the_bottom(levels: u32, operations: Vec<Operation>) -> Answers {
    CARRIED.with_borrow_mut(|carried| carried.0 = operations);
    descend(levels);
    CARRIED.with_borrow_mut(|carried| std::mem::take(&mut carried.1))
}

/// Calls itself; what follows the call keeps it from becoming a loop.
#[inline(never)]
fn descend(levels: u32) -> u32 {
    match levels {
        0 => drive(),
        _ => descend(levels - 1).rotate_left(levels & 7) ^ levels,
    }
}

#[inline(never)]
fn drive() -> u32 {
    let operations = CARRIED.with_borrow_mut(|carried| std::mem::take(&mut carried.0));
    let answers = Driver::drive(operations);
    CARRIED.with_borrow_mut(|carried| carried.1 = answers);
    1
}
