//! Whether standard output was open when this process began.
//!
//! Rule: an answer that nobody can read is no success. The standard library puts
//! `/dev/null` in the place of a closed stream before `main`, where every write succeeds;
//! so the question is asked before that, by the loader of the program.
#![allow(
    unsafe_code,
    reason = "a place in the table of initialisers is the only way to run before the standard library does"
)]

use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: the section holds pointers to functions of the C convention that the loader
// calls once each, on the first thread, after the C library is ready; arguments they do
// not declare are ignored by that convention. `look` asks the kernel about one descriptor
// and sets a flag; it neither unwinds nor needs anything of the standard library's start.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

#[cfg(target_os = "linux")]
extern "C" fn look() {
    let copied = std::io::stdout().as_fd().try_clone_to_owned();
    CLOSED.store(copied.is_err(), Ordering::Relaxed);
}

/// Whether standard output was closed when this process began: what is written to it is
/// lost, although writing succeeds. Where the system offers no way to tell, `false`.
pub fn stdout_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}
