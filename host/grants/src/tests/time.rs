//! Virtual and real time, and lists of pollables.

use bindery_types::{EffectKind, LimitName};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::bindings::wasi::io::poll::{Host, HostPollable};
use wasmtime_wasi_io::poll::{Pollable, subscribe};

use super::{call, limit};
use crate::{CallGrants, Clock, Grants};

const DAY_NS: u64 = 86_400_000_000_000;

fn now(call: &mut CallGrants) -> u64 {
    monotonic_clock::Host::now(call).unwrap()
}

fn after(call: &mut CallGrants, duration: u64) -> Resource<DynPollable> {
    monotonic_clock::Host::subscribe_duration(call, duration).unwrap()
}

fn borrow(pollable: &Resource<DynPollable>) -> Resource<DynPollable> {
    Resource::new_borrow(pollable.rep())
}

#[test]
fn virtual_time_starts_at_fixed_values_and_moves_with_each_reading() {
    let readings = || {
        let mut call = call(Grants::default());
        let first = now(&mut call);
        let wall = wall_clock::Host::now(&mut call).unwrap();
        let last = now(&mut call);
        assert!(call.finish().trace.effects().is_empty());
        (first, wall.seconds, wall.nanoseconds, last)
    };
    let (first, seconds, nanoseconds, last) = readings();
    assert_eq!(last - first, 200_000, "C-64: 100 µs a reading");
    assert_eq!(
        (seconds, nanoseconds),
        (1_577_836_800, 100_000),
        "C-64: one time, two clocks"
    );
    assert_eq!(readings(), (first, seconds, nanoseconds, last), "R-010");
}

#[tokio::test]
async fn a_virtual_timer_is_ready_at_once_and_moves_now_to_its_instant() {
    let mut call = call(Grants::default());
    let start = now(&mut call);
    let timer = after(&mut call, DAY_NS);
    HostPollable::block(&mut call, borrow(&timer))
        .await
        .unwrap();
    assert_eq!(now(&mut call) - start, DAY_NS + 100_000, "C-64");
    let past = monotonic_clock::Host::subscribe_instant(&mut call, 0).unwrap();
    let before = now(&mut call);
    assert!(HostPollable::ready(&mut call, past).await.unwrap());
    assert_eq!(now(&mut call) - before, 100_000, "time never goes back");
    let never = after(&mut call, u64::MAX);
    HostPollable::block(&mut call, never).await.unwrap();
    now(&mut call);
}

#[tokio::test]
async fn of_several_virtual_timers_the_earliest_comes_first() {
    let mut call = call(Grants::default());
    let (late, early) = (after(&mut call, 2 * DAY_NS), after(&mut call, DAY_NS));
    let list = vec![borrow(&late), borrow(&early), borrow(&early)];
    assert_eq!(Host::poll(&mut call, list).await.unwrap(), [1, 2], "C-64");
    HostPollable::drop(&mut call, early).unwrap();
    assert_eq!(
        Host::poll(&mut call, vec![borrow(&late)]).await.unwrap(),
        [0]
    );
}

/// Ready after so many looks.
struct Countdown(u32);

#[async_trait]
impl Pollable for Countdown {
    async fn ready(&mut self) {
        while self.0 > 0 {
            self.0 -= 1;
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn what_is_on_its_way_takes_no_virtual_time() {
    let mut call = call(Grants::default());
    let timer = after(&mut call, DAY_NS);
    let answer = call.table.push(Countdown(3)).unwrap();
    let answer = subscribe(&mut call.table, answer).unwrap();
    let start = now(&mut call);
    let list = vec![borrow(&timer), borrow(&answer)];
    assert_eq!(
        Host::poll(&mut call, list).await.unwrap(),
        [1],
        "the answer, not the time-out"
    );
    assert_eq!(now(&mut call) - start, 100_000);
    // A timer whose instant has come does not wait for what is on its way.
    HostPollable::block(&mut call, borrow(&timer))
        .await
        .unwrap();
    let slow = call.table.push(Countdown(u32::MAX)).unwrap();
    let slow = subscribe(&mut call.table, slow).unwrap();
    let list = vec![borrow(&slow), borrow(&timer)];
    assert_eq!(Host::poll(&mut call, list).await.unwrap(), [1]);
}

#[tokio::test]
async fn real_time_passes_in_steps_and_is_one_effect() {
    let mut call = call(Grants {
        clock: Clock::Real,
        ..Grants::default()
    });
    let start = now(&mut call);
    let timer = after(&mut call, 5_000_000);
    HostPollable::block(&mut call, borrow(&timer))
        .await
        .unwrap();
    let end = now(&mut call);
    assert!(end - start >= 4_000_000, "a timer waits: {}", end - start);
    assert_eq!(
        (start % 1_000_000, end % 1_000_000),
        (0, 0),
        "H28: steps of a millisecond"
    );
    assert!(wall_clock::Host::now(&mut call).unwrap().seconds > 1_700_000_000);
    let trace = call.finish().trace;
    let effects: Vec<_> = trace
        .effects()
        .iter()
        .map(|e| (e.kind, e.resource.as_str()))
        .collect();
    assert_eq!(
        effects,
        [
            (EffectKind::Clock, "monotonic"),
            (EffectKind::Clock, "wall")
        ],
        "R-010"
    );
}

#[tokio::test]
async fn a_real_timer_beyond_all_time_waits_and_can_be_given_up() {
    let mut call = call(Grants {
        clock: Clock::Real,
        ..Grants::default()
    });
    for duration in [u64::MAX, 1 << 63] {
        let timer = after(&mut call, duration);
        let wait = HostPollable::block(&mut call, timer);
        let bound = std::time::Duration::from_millis(5);
        assert!(tokio::time::timeout(bound, wait).await.is_err(), "B1, X13");
    }
}

#[tokio::test]
async fn a_list_of_pollables_is_bounded_and_never_empty() {
    let mut call = call(Grants::default());
    let timer = after(&mut call, 0);
    let list = |length: usize| (0..length).map(|_| borrow(&timer)).collect::<Vec<_>>();
    assert_eq!(
        Host::poll(&mut call, list(1_024)).await.unwrap().len(),
        1_024
    );
    let hit = limit(Host::poll(&mut call, list(1_025)).await);
    assert_eq!(hit.name, LimitName::Handles, "X13");
    assert!(Host::poll(&mut call, Vec::new()).await.is_err(), "X13");
}

#[test]
fn pollables_that_are_never_dropped_end_the_call_at_the_limit() {
    let mut call = call(Grants::default());
    let hit = (0..2_000)
        .find_map(|_| monotonic_clock::Host::subscribe_duration(&mut call, 1).err())
        .unwrap();
    assert_eq!(limit::<()>(Err(hit)).name, LimitName::Handles, "B5");
}
