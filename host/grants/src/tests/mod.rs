//! What a guest meets that was granted nothing, or exactly one thing, by the very traits
//! its imports are bound to.

mod inert;
mod linked;
mod time;

use bindery_types::{Budget, LimitHit};

use crate::{CallGrants, Grants};

fn call(grants: Grants) -> CallGrants {
    CallGrants::new(grants, &Budget::default()).unwrap()
}

/// The limit that ended a call.
fn limit<T: std::fmt::Debug>(result: wasmtime::Result<T>) -> LimitHit {
    *result
        .unwrap_err()
        .downcast_ref::<LimitHit>()
        .expect("a limit")
}
