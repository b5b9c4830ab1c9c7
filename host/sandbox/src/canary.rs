//! The canary of freshness: ten thousand instances look for what the one before left.
//!
//! Guards, H31, I24 in both ways of resetting a slot. The switch that turns
//! isolation off exists in this file only: it keeps one store for all cycles, and the
//! canary must then die at once.

use bindery_grants::{CallGrants, Grants};
use bindery_types::{Budget, LimitName};
use wasmtime::component::{Component, InstancePre, Linker, TypedFunc};
use wasmtime::{Engine, Store};

use crate::cancel::Cancel;
use crate::pool;
use crate::start::Reset;
use crate::state::CallState;

const CYCLES: usize = 10_000;
/// More modules than slots stay warm, so slots pass from one to another, too.
const TENANTS: usize = 8;

/// Whether each cycle has a store of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Isolation {
    On,
    Off,
}

/// One store with the canary in it.
struct Cage {
    store: Store<CallState>,
    scan: TypedFunc<(u32,), (u32,)>,
}

impl Cage {
    async fn new(engine: &Engine, canary: &InstancePre<CallState>) -> Self {
        let budget = Budget::default();
        let grants = Box::new(CallGrants::new(Grants::default(), &budget).unwrap());
        let state = CallState::new(grants, &budget, None, Cancel::new());
        let mut store = state.into_store(engine, &budget).unwrap();
        let instance = canary.instantiate_async(&mut store).await.unwrap();
        let scan = instance.get_typed_func(&mut store, "scan").unwrap();
        Self { store, scan }
    }

    /// Words that are not as a fresh instance has them; dirties everything after.
    async fn scan(&mut self, pages: u32) -> u32 {
        let (found,) = self
            .scan
            .call_async(&mut self.store, (pages,))
            .await
            .unwrap();
        found
    }
}

/// The first cycle that saw something of an earlier one.
async fn first_leak(reset: Reset, isolation: Isolation) -> Option<usize> {
    let budget = Budget::default().with(LimitName::Concurrent, 1).unwrap();
    let (engine, _report) = pool::build(&budget, Some(reset)).unwrap();
    let bytes = bindery_artefacts::wat("hostile/canary/scan").unwrap();
    let tenants = (0..TENANTS).map(|_| {
        let component = Component::from_binary(&engine, &bytes).unwrap();
        Linker::new(&engine).instantiate_pre(&component).unwrap()
    });
    let tenants: Vec<InstancePre<CallState>> = tenants.collect();
    let mut kept = None;
    for cycle in 0..CYCLES {
        // Twice each: a slot passes to the same module and to another.
        let tenant = &tenants[(cycle / 2) % TENANTS];
        // Beyond what is kept resident now and then, within it mostly.
        let pages = if cycle % 64 == 0 { 24 } else { 3 };
        let found = match isolation {
            Isolation::On => Cage::new(&engine, tenant).await.scan(pages).await,
            Isolation::Off => {
                if kept.is_none() {
                    kept = Some(Cage::new(&engine, tenant).await);
                }
                kept.as_mut().unwrap().scan(pages).await
            }
        };
        if found > 0 {
            return Some(cycle);
        }
    }
    None
}

/// I24: in this way of resetting a slot.
#[tokio::test]
async fn no_instance_sees_an_earlier_one_when_pages_are_given_back() {
    assert_eq!(
        first_leak(Reset::Madvise, Isolation::On).await,
        None,
        "R-019, H31"
    );
}

/// I24: and in that one.
#[tokio::test]
async fn no_instance_sees_an_earlier_one_when_dirty_pages_are_rewritten() {
    assert_eq!(
        first_leak(Reset::PagemapScan, Isolation::On).await,
        None,
        "R-019, H31"
    );
}

#[tokio::test]
async fn the_canary_dies_at_once_when_isolation_is_off() {
    for reset in [Reset::Madvise, Reset::PagemapScan] {
        assert_eq!(first_leak(reset, Isolation::Off).await, Some(1), "H31");
    }
}
