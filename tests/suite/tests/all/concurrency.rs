//! Many calls at once: nobody waits for a spinner, every slot comes back, queues end.
//!
//! Guards B2, B6, B9, H6, H21, H44, R-023, I36, X20: on a runtime with one worker, with
//! more callers than slots, with calls dropped wherever they happen to be.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use bindery_grants::{Clock, Grants};
use bindery_sandbox::{Cancel, LoadedComponent, Sandbox};
use bindery_types::{Budget, ErrorType, LimitName, Outcome, Run};
use tokio::task::JoinSet;

use crate::rig::{assert_limit, budget, call, hostile, refusal, sandbox_with, value};

/// Loops of a soak are a multiple of those of a test.
fn soak() -> usize {
    let asked = std::env::var("BINDERY_SOAK").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn spawn_spinners(
    sandbox: &Sandbox,
    component: &LoadedComponent,
    count: usize,
    deadline_ms: u64,
) -> JoinSet<Run> {
    let mut spinners = JoinSet::new();
    for _ in 0..count {
        let (sandbox, component) = (sandbox.clone(), component.clone());
        spinners.spawn(async move {
            let budget = budget(&[(LimitName::Deadline, deadline_ms)]);
            call(&sandbox, &component, "forever", "{}", &budget).await
        });
    }
    spinners
}

/// B2 asks for less than 200 ms; ten times that is asserted.
const ANSWER: Duration = Duration::from_secs(2);

async fn others_go_on_beside(spinners: usize) {
    let sandbox = sandbox_with(&[(LimitName::Concurrent, 80)]);
    let component = hostile(&sandbox, "spin/call").await;
    let mut spinning = spawn_spinners(&sandbox, &component, spinners, 3_000);
    while sandbox.running() < spinners {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let began = Instant::now();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(began.elapsed() < ANSWER, "H6: a timer beside {spinners}");
    let began = Instant::now();
    let run = call(
        &sandbox,
        &component,
        "turns",
        r#"{"turns": 10}"#,
        &Budget::default(),
    )
    .await;
    assert_eq!(value(&run), 10);
    assert!(
        began.elapsed() < ANSWER,
        "B2, R-023: a call beside {spinners}"
    );
    let began = Instant::now();
    while let Some(run) = spinning.join_next().await {
        assert_limit(&run.unwrap(), LimitName::Deadline, 3_000);
    }
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "spins end by their deadline"
    );
    assert_eq!(sandbox.running(), 0);
}

/// B2, R-015, R-023: the timer, another call, and the end of the spinner.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_spinner_stops_nobody_on_one_worker() {
    others_go_on_beside(1).await;
}

/// I23.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn sixty_four_spinners_stop_nobody_on_one_worker() {
    others_go_on_beside(64).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_spin_in_any_place_stops_nobody() {
    let sandbox = sandbox_with(&[(LimitName::Concurrent, 8)]);
    let fine = hostile(&sandbox, "spin/call").await;
    let rows = [
        ("spin/start", "{}"),
        ("spin/realloc", r#"{"text": "x"}"#),
        ("spin/post-return", "{}"),
    ];
    let mut spinning = JoinSet::new();
    for (name, arguments) in rows {
        let component = hostile(&sandbox, name).await;
        let sandbox = sandbox.clone();
        spinning.spawn(async move {
            let budget = budget(&[(LimitName::Deadline, 500)]);
            call(&sandbox, &component, "go", arguments, &budget).await
        });
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    let began = Instant::now();
    let run = call(
        &sandbox,
        &fine,
        "turns",
        r#"{"turns": 10}"#,
        &Budget::default(),
    )
    .await;
    assert_eq!(value(&run), 10);
    assert!(began.elapsed() < ANSWER, "X7, H6");
    while let Some(run) = spinning.join_next().await {
        assert_limit(&run.unwrap(), LimitName::Deadline, 500);
    }
}

#[tokio::test]
async fn cancelling_one_call_leaves_the_others_untouched() {
    let sandbox = sandbox_with(&[(LimitName::Concurrent, 4)]);
    let component = hostile(&sandbox, "spin/call").await;
    let cancel = Cancel::new();
    let long = budget(&[(LimitName::Deadline, 60_000)]);
    let turns = r#"{"turns": 3000000}"#;
    let (cancelled, a, b, ()) = tokio::join!(
        sandbox.run(
            &component,
            "forever",
            "{}",
            Grants::default(),
            &long,
            &cancel
        ),
        call(&sandbox, &component, "turns", turns, &long),
        call(&sandbox, &component, "turns", turns, &long),
        async { cancel.cancel() },
    );
    assert_eq!(refusal(&cancelled).kind(), ErrorType::Cancelled);
    assert_eq!(
        (value(&a), value(&b)),
        (3_000_000.into(), 3_000_000.into()),
        "R-023"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traps_beside_good_calls_do_not_touch_them() {
    let sandbox = sandbox_with(&[(LimitName::Concurrent, 8)]);
    let component = hostile(&sandbox, "trap/each").await;
    let mut calls = JoinSet::new();
    for index in 0..8 {
        let (sandbox, component) = (sandbox.clone(), component.clone());
        calls.spawn(async move {
            let function = if index % 4 == 0 {
                "unreachable"
            } else {
                "fine"
            };
            call(&sandbox, &component, function, "{}", &Budget::default()).await
        });
    }
    let mut good = 0;
    while let Some(run) = calls.join_next().await {
        good += usize::from(matches!(run.unwrap().outcome, Outcome::Value(json) if json == "7"));
    }
    assert_eq!(good, 6, "B6");
}

#[tokio::test]
async fn one_call_beyond_the_slots_waits_and_one_beyond_the_queue_is_busy() {
    let sandbox = sandbox_with(&[(LimitName::Concurrent, 2), (LimitName::Waiting, 1)]);
    let component = hostile(&sandbox, "spin/call").await;
    let mut spinning = spawn_spinners(&sandbox, &component, 2, 1_500);
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert_eq!(
        (sandbox.running(), sandbox.waiting()),
        (2, 0),
        "exactly the limit"
    );
    let long = budget(&[(LimitName::Deadline, 60_000)]);
    let patient = call(&sandbox, &component, "turns", r#"{"turns": 1}"#, &long);
    let (waited, refused) = tokio::join!(patient, async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert_eq!(sandbox.waiting(), 1, "exactly the limit");
        call(
            &sandbox,
            &component,
            "turns",
            r#"{"turns": 1}"#,
            &Budget::default(),
        )
        .await
    });
    assert_eq!(value(&waited), 1);
    let refused = refusal(&refused);
    assert_eq!(refused.kind(), ErrorType::Busy);
    assert_eq!(
        (&refused.details()["limit"], &refused.details()["value"]),
        (&"waiting".into(), &1.into())
    );
    assert_eq!(refused.kind().exit_code(), 75);
    while let Some(run) = spinning.join_next().await {
        assert_limit(&run.unwrap(), LimitName::Deadline, 1_500);
    }
    assert_eq!((sandbox.running(), sandbox.waiting()), (0, 0));
}

#[tokio::test]
async fn a_call_waits_no_longer_than_its_deadline_and_none_waits_for_no_slots() {
    let sandbox = sandbox_with(&[(LimitName::Concurrent, 1)]);
    let component = hostile(&sandbox, "spin/call").await;
    let mut spinning = spawn_spinners(&sandbox, &component, 1, 4_000);
    tokio::time::sleep(Duration::from_millis(30)).await;
    let began = Instant::now();
    let run = call(
        &sandbox,
        &component,
        "turns",
        r#"{"turns": 1}"#,
        &budget(&[(LimitName::Deadline, 50)]),
    )
    .await;
    assert_eq!(refusal(&run).kind(), ErrorType::Busy);
    assert!(run.receipt.is_none() && began.elapsed() < Duration::from_secs(3));
    spinning.join_next().await;
    let none = sandbox_with(&[(LimitName::Concurrent, 0)]);
    let component = hostile(&none, "spin/call").await;
    let run = call(
        &none,
        &component,
        "turns",
        r#"{"turns": 1}"#,
        &Budget::default(),
    )
    .await;
    assert_eq!(
        refusal(&run).details()["limit"],
        "concurrent",
        "X62: 0 means none"
    );
    sandbox.shut_down();
}

/// Threads, open files and resident KiB of this process.
fn footprint() -> (usize, usize, u64) {
    let count = |path| std::fs::read_dir(path).unwrap().count();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let rss = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    let rss = rss.trim().trim_end_matches(" kB").parse().unwrap();
    (count("/proc/self/task"), count("/proc/self/fd"), rss)
}

/// Set where the test has a process of its own and may judge its footprint.
const ALONE: &str = "BINDERY_TEST_ALONE";

/// B9, H44, I36: five hundred at once, then ten thousand.
#[test]
fn more_callers_than_instances_leave_nothing_behind() {
    // A process of its own: what other tests open and start is no leak of ours.
    const CHILD: &str = "concurrency::five_hundred_callers_then_ten_thousand_calls";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&child.stdout);
    let complained = String::from_utf8_lossy(&child.stderr);
    assert!(
        child.status.success() && printed.contains("1 passed"),
        "{printed}{complained}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_callers_then_ten_thousand_calls() {
    let sandbox = sandbox_with(&[]);
    let good = hostile(&sandbox, "spin/call").await;
    let bad = hostile(&sandbox, "trap/start").await;
    let mut calls = JoinSet::new();
    for index in 0..500 {
        let (sandbox, good, bad) = (sandbox.clone(), good.clone(), bad.clone());
        calls.spawn(async move {
            let budget = budget(&[(LimitName::Deadline, 60_000)]);
            match index % 2 {
                0 => call(&sandbox, &good, "turns", r#"{"turns": 1000}"#, &budget).await,
                _ => call(&sandbox, &bad, "go", "{}", &budget).await,
            }
        });
    }
    let mut values = 0;
    while let Some(run) = calls.join_next().await {
        values += usize::from(matches!(run.unwrap().outcome, Outcome::Value(_)));
    }
    assert_eq!(values, 250, "B9");
    assert_eq!((sandbox.running(), sandbox.waiting()), (0, 0), "B9");
    let mut early = None;
    for index in 0..10_000 * soak() {
        let (component, function, arguments) = match index % 10 {
            0 => (&bad, "go", "{}"),
            _ => (&good, "turns", r#"{"turns": 10}"#),
        };
        call(&sandbox, component, function, arguments, &Budget::default()).await;
        if index == 100 {
            early = Some(footprint());
        }
    }
    assert_eq!(sandbox.running(), 0);
    if std::env::var_os(ALONE).is_some() {
        let (early, late) = (early.unwrap(), footprint());
        assert!(
            late.0 <= early.0 && late.1 <= early.1,
            "I36: {early:?} {late:?}"
        );
        assert!(
            late.2 <= early.2 + early.2 / 5,
            "I36: resident {early:?} {late:?}"
        );
    }
}

/// Polls `call` at most `polls` times, then drops it where it is.
async fn poll_then_drop(call: impl Future<Output = Run>, polls: usize) -> Option<Run> {
    let mut call = pin!(call);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match call.as_mut().poll(context) {
            Poll::Ready(run) => Poll::Ready(Some(run)),
            Poll::Pending => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_call_dropped_at_any_await_leaves_nothing_behind() {
    let sandbox = sandbox_with(&[(LimitName::Concurrent, 2)]);
    let rows = [
        ("spin/call", "forever", "{}"),
        ("spin/start", "go", "{}"),
        ("spin/realloc", "go", r#"{"text": "x"}"#),
        ("spin/post-return", "go", "{}"),
        ("wait/sleep", "sleep", r#"{"ns": 60000000000}"#),
        ("host-calls/draw", "draw", r#"{"times": 100}"#),
    ];
    let fine = hostile(&sandbox, "trap/each").await;
    for (name, function, arguments) in rows {
        let component = hostile(&sandbox, name).await;
        for polls in 0..20 * soak() {
            let grants = Grants {
                clock: Clock::Real,
                ..Grants::default()
            };
            let (cancel, budget) = (Cancel::new(), budget(&[(LimitName::Deadline, 60_000)]));
            let call = sandbox.run(&component, function, arguments, grants, &budget, &cancel);
            poll_then_drop(call, polls).await;
            assert_eq!(
                (sandbox.running(), sandbox.waiting()),
                (0, 0),
                "H21: {name} {polls}"
            );
        }
        let run = call(&sandbox, &fine, "fine", "{}", &Budget::default()).await;
        assert_eq!(value(&run), 7, "H21: {name}");
    }
}

#[tokio::test]
async fn a_deadline_a_cancel_and_an_end_at_one_instant_are_one_outcome() {
    let sandbox = sandbox_with(&[(LimitName::Concurrent, 2)]);
    let component = hostile(&sandbox, "wait/sleep").await;
    for round in 0..30 * soak() {
        let grants = Grants {
            clock: Clock::Real,
            ..Grants::default()
        };
        let (cancel, budget) = (Cancel::new(), budget(&[(LimitName::Deadline, 10)]));
        let sleep = sandbox.run(
            &component,
            "sleep",
            r#"{"ns": 10000000}"#,
            grants,
            &budget,
            &cancel,
        );
        let (run, ()) = tokio::join!(sleep, async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            cancel.cancel();
        });
        match &run.outcome {
            Outcome::Value(json) => assert_eq!(json, "null", "X20: {round}"),
            Outcome::Refused(refusal) => {
                let kind = refusal.kind();
                assert!(
                    matches!(kind, ErrorType::Timeout | ErrorType::Cancelled),
                    "X20: {kind}"
                );
            }
            Outcome::CapabilityError(json) => panic!("X20: {json}"),
        }
        assert_eq!(sandbox.running(), 0, "X20");
    }
}
