//! Errors of the disk, injected at system calls: the store stops acknowledging, for good,
//! and what it had acknowledged is there (I12, I21, H52, X70).

use crate::child::Orders;
use crate::kills::{check_record, under};
use crate::rig::*;

/// Each error at each of the first calls of a kind, once or from then on.
fn inject(syscall: &str, error: &str, times: &[u32], lasting: bool) -> (usize, usize) {
    let (mut failed, mut unharmed) = (0, 0);
    for at in times {
        let place = place();
        let orders = Orders {
            folder: &place.path,
            calls: 3,
            stop: None,
        };
        let lasts = if lasting { "+" } else { "" };
        let heard = under(
            &format!("{syscall}:error={error}:when={at}{lasts}"),
            &orders,
        );
        assert!(
            !heard.said("revived"),
            "I21: {syscall} {error} {at}: {:?}",
            heard.rest
        );
        assert!(!heard.said("repeated"), "{:?}", heard.rest);
        if heard.said("failed") || heard.said("refused") || heard.said("not closed") {
            failed += 1;
        } else {
            unharmed += 1;
        }
        // The next start finds everything that was acknowledged, and goes on.
        let again = orders.start().wait_with_output().unwrap();
        let mut later = crate::kills::Heard::default();
        later.hear(&String::from_utf8_lossy(&again.stdout));
        assert!(
            later.said("closed"),
            "{syscall} {error} {at}: {:?}",
            later.rest
        );
        check_record(&place.path, &[heard, later]);
    }
    (failed, unharmed)
}

const TIMES: [u32; 9] = [1, 2, 3, 4, 5, 7, 9, 12, 16];

/// H52.
#[test]
fn a_sync_that_fails_once_is_never_forgotten_i21() {
    for syscall in ["fdatasync", "fsync"] {
        let (failed, _) = inject(syscall, "EIO", &TIMES, false);
        assert!(failed >= 1, "{syscall}");
    }
}

/// H52.
#[test]
fn a_write_that_fails_ends_the_acknowledgements_x70() {
    for error in ["ENOSPC", "EIO", "EDQUOT"] {
        let (failed, _) = inject("pwrite64", error, &TIMES, true);
        assert!(failed >= TIMES.len() - 1, "{error}: {failed}");
    }
}

#[test]
fn a_write_that_was_interrupted_is_made_again_x70() {
    let (failed, unharmed) = inject("pwrite64", "EINTR", &TIMES, false);
    assert!(
        unharmed >= TIMES.len() - 1 && failed <= 1,
        "{failed} of {}",
        TIMES.len()
    );
}
