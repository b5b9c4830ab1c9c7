//! No oracle for what is hidden: I27, R-748, C-48, H55. Equal in bytes, and equal in time as
//! far as a test of ranks can tell.
//!
//! Rule: samples are taken in turns, so that whatever else the machine does falls on both
//! sides alike, and the statistic that finds no difference is shown a seeded one, which it
//! has to find.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bindery::ledger::event::Event;
use bindery::policy::{Registration, ScopeRequest, Stage, Stages};
use bindery::{
    BindRequest, CallOptions, CapabilityId, ErrorType, Manifest, Outcome, Refusal, Resources,
};
use serde_json::json;

use crate::governed_scene::{Stand, bind, call, echo, echo_as, spec, value};

const HIDDEN: &str = "acme:late/late#say";
const ABSENT: &str = "acme:gone/gone#say";
const DOCUMENT: &str = r#"
[visibility]
hidden = ["acme:late/late#say"]
[[policy.rule]]
decision = "allow"
why = "the scenario"
namespaces = ["acme"]
"#;
const FORGED: &str = "bindh_0123456789abcdef0123456789abcdef";

/// Samples of each side.
const SAMPLES: usize = 2_000;
/// How far from one half the share of pairs may be in which one side is the slower one. Of
/// two equal sides of this many samples it strays by 0.01 (one standard deviation).
const APART: f64 = 0.1;

struct Scene {
    stand: Stand,
    /// A live handle of another session.
    foreign: String,
}

impl Scene {
    async fn new(registration: Registration) -> Self {
        let mut stand = Stand::new(DOCUMENT, Resources::default(), |builder| builder).await;
        stand.admit("echo.wasm", echo()).await;
        let late = echo_as("test:late/late@1.0.0", "text");
        stand.admit_as(registration, "late.wasm", late).await;
        let other = stand.host.session(spec(2, "tester")).await.unwrap();
        let foreign = bind(&stand.host, &other, "acme:echo/echo#say", None).await;
        let foreign = foreign.unwrap().handle.to_string();
        Self { stand, foreign }
    }

    /// What the operation `verb` answers about a capability.
    async fn about(&self, verb: &str, capability: &CapabilityId) -> Refusal {
        let session = &self.stand.session;
        let request = BindRequest {
            implementation: Some(bindery::Digest::of(b"guessed")),
            ..BindRequest::default()
        };
        let options = CallOptions::default();
        match verb {
            "bind" => session.bind(capability, &request).await.unwrap_err(),
            "describe" => session.describe(capability).unwrap_err(),
            "validate" => session.validate(capability).unwrap_err(),
            "call_registered" => {
                let reply = session.call_registered(capability, "{}", &options).await;
                refused(reply.run.outcome)
            }
            other => panic!("no operation takes a capability and is called {other}"),
        }
    }

    /// What the operation `verb` answers about a handle.
    async fn through(&self, verb: &str, handle: &str) -> Refusal {
        let session = &self.stand.session;
        match verb {
            "call" => {
                let (arguments, options) = (r#"{"text": "hello"}"#, CallOptions::default());
                let reply = session.call(handle, arguments, &options).await;
                refused(reply.run.outcome)
            }
            "narrow" => {
                let request = ScopeRequest::default();
                session.narrow(handle, &request).await.unwrap_err()
            }
            "release" => session.release(handle, "done").await.unwrap_err(),
            other => panic!("no operation takes a handle and is called {other}"),
        }
    }
}

const ABOUT: [&str; 4] = ["bind", "describe", "validate", "call_registered"];
const THROUGH: [&str; 3] = ["call", "narrow", "release"];

fn refused(outcome: Outcome) -> Refusal {
    match outcome {
        Outcome::Refused(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// C-48, I27, R-748: every operation that takes an id or a handle.
#[tokio::test(flavor = "multi_thread")]
async fn hidden_and_absent_and_foreign_and_forged_answer_in_the_same_bytes() {
    for registration in [Registration::LateBound, Registration::Static] {
        let scene = Scene::new(registration).await;
        let (hidden, absent) = (HIDDEN.parse().unwrap(), ABSENT.parse().unwrap());
        for verb in ABOUT {
            let there = scene.about(verb, &hidden).await;
            let gone = scene.about(verb, &absent).await;
            assert_eq!(there.kind(), ErrorType::CapabilityUnavailable, "{verb}");
            let (there, gone) = (there.to_json(), gone.to_json());
            assert_eq!(there.to_string(), gone.to_string(), "{verb}");
        }
        for verb in THROUGH {
            let mut answers = Vec::new();
            for handle in [scene.foreign.as_str(), FORGED, "", "read_file", "bindh_7"] {
                let said = scene.through(verb, handle).await;
                assert_eq!(said.kind(), ErrorType::HandleInvalid, "{verb} {handle}");
                answers.push(said.to_json().to_string());
            }
            answers.dedup();
            assert_eq!(answers.len(), 1, "{verb}: {answers:?}");
        }
        let own = scene.stand.bind("acme:echo/echo#say", None).await.unwrap();
        let handle = own.handle.to_string();
        scene.stand.session.release(&handle, "done").await.unwrap();
        let own = scene.through("call", &handle).await;
        assert_eq!(
            own.kind(),
            ErrorType::BindingStale,
            "C-48: its own is named"
        );
    }
}

/// I27, R-748, C-48.
#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_capability_takes_the_time_of_an_absent_one() {
    let scene = Scene::new(Registration::LateBound).await;
    let (hidden, absent) = (HIDDEN.parse().unwrap(), ABSENT.parse().unwrap());
    for verb in ABOUT {
        let apart = apart(
            async || drop(black_box(scene.about(verb, &hidden).await)),
            async || drop(black_box(scene.about(verb, &absent).await)),
        );
        let apart = apart.await;
        assert!(apart < APART, "{verb}: {apart}");
    }
}

/// I27, C-48, H55.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_handle_takes_the_time_of_a_forged_one() {
    let scene = Scene::new(Registration::LateBound).await;
    for verb in THROUGH {
        let apart = apart(
            async || drop(black_box(scene.through(verb, &scene.foreign).await)),
            async || drop(black_box(scene.through(verb, FORGED).await)),
        );
        let apart = apart.await;
        assert!(apart < APART, "{verb}: {apart}");
    }
}

/// I27: the same statistic over an answer that takes a little longer on one side.
#[tokio::test(flavor = "multi_thread")]
async fn a_slower_answer_is_found_by_the_same_statistic() {
    let scene = Scene::new(Registration::LateBound).await;
    let absent = ABSENT.parse().unwrap();
    for verb in ABOUT {
        let mut usual = Vec::new();
        for _ in 0..101 {
            let begun = Instant::now();
            drop(black_box(scene.about(verb, &absent).await));
            usual.push(begun.elapsed());
        }
        usual.sort();
        let more = usual[50] / 3;
        let apart = apart(
            async || {
                let begun = Instant::now();
                drop(black_box(scene.about(verb, &absent).await));
                let until = begun.elapsed() + more;
                while begun.elapsed() < until {
                    std::hint::spin_loop();
                }
            },
            async || drop(black_box(scene.about(verb, &absent).await)),
        );
        let apart = apart.await;
        assert!(apart > APART, "{verb}: a third more is {apart}");
    }
}

/// R-104, R-106 … R-110, R-113 … R-115: what the manifest says is so, for this session.
#[tokio::test(flavor = "multi_thread")]
async fn the_manifest_says_what_the_session_may_do_and_has_left() {
    let document = format!("{DOCUMENT}[aggregates.session]\ncalls = 2\n");
    let mut stand = Stand::new(&document, Resources::default(), |builder| builder).await;
    let before = stand.session.environment().unwrap();
    stand.admit("echo.wasm", echo()).await;
    let manifest = stand.session.environment().unwrap();
    assert_ne!(manifest.catalog_version, before.catalog_version, "R-106");
    assert_eq!(manifest.environment_id, before.environment_id, "R-103");
    assert_eq!(manifest.policy_snapshot, stand.host.policy_version());
    assert_eq!(manifest.discovery_modes, ["static", "describe"], "R-108");
    assert!(
        manifest.probe_modes.is_empty(),
        "R-109: no operation probes"
    );
    let left = |manifest: &Manifest| manifest.budgets["execution"]["session.calls"].clone();
    assert_eq!(left(&manifest), json!({ "limit": 2, "remaining": 2 }));
    let arguments = json!({ "text": "x" });
    value(&stand.call("acme:echo/echo#say", &arguments).await);
    let after = stand.session.environment().unwrap();
    assert_eq!(left(&after), json!({ "limit": 2, "remaining": 1 }), "R-113");
    assert_eq!(after.discovery_modes, manifest.discovery_modes, "R-115");

    let mut blind = spec(3, "tester");
    blind.stages = Some(Stages::of([Stage::Registry, Stage::Manifest]));
    let blind = stand.host.session(blind).await.unwrap();
    let manifest = blind.environment().unwrap();
    assert_eq!(manifest.discovery_modes, ["static"], "R-108");
    let refused = blind.describe(&"acme:echo/echo#say".parse().unwrap());
    assert_eq!(refused.unwrap_err().kind(), ErrorType::StageDisabled);
    assert_eq!(left(&manifest), json!({ "limit": 2, "remaining": 2 }));
}

/// A trace that is shared by records that decided alike is nobody else's (R-781).
#[tokio::test(flavor = "multi_thread")]
async fn each_record_of_a_call_has_the_trace_of_its_own_decision() {
    let document = r#"
[[policy.rule]]
decision = "allow"
why = "the one"
capabilities = ["acme:echo/echo#say"]
[[policy.rule]]
decision = "allow"
why = "the other"
capabilities = ["acme:late/late#say"]
"#;
    let mut stand = Stand::new(document, Resources::default(), |builder| builder).await;
    stand.admit("echo.wasm", echo()).await;
    let late = echo_as("test:late/late@1.0.0", "text");
    stand.admit("late.wasm", late).await;
    let mut bound = Vec::new();
    for id in ["acme:echo/echo#say", HIDDEN] {
        bound.push(stand.bind(id, None).await.unwrap());
    }
    for turn in 0..6 {
        let arguments = json!({ "text": "x" });
        value(&call(&stand.session, &bound[turn % 2], &arguments).await);
    }
    let traces = stand.records().into_iter();
    let traces: Vec<String> = traces
        .filter_map(|record| match record.entry.event {
            Event::CallIntent(intent) => Some(intent.decision.trace.value().to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(traces.len(), 6);
    for (turn, trace) in traces.iter().enumerate() {
        let (own, other) = match turn % 2 {
            0 => ("the one", "the other"),
            _ => ("the other", "the one"),
        };
        assert!(trace.contains(own), "{turn}: {trace}");
        assert!(!trace.contains(other), "{turn}: {trace}");
    }
}

/// Of series that are compared, the least apart counts: what is true of two answers is true
/// of every series, what the machine did meanwhile is not.
const SERIES: usize = 3;

/// What nobody at the other end of a call can tell: a tenth of what a system call costs
/// that brings the question.
const GRAIN: Duration = Duration::from_nanos(500);

/// One comparison at a time: they would be each other's noise.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// How far the slower of two answers is from the other, in the series in which it is least.
async fn apart(first: impl AsyncFn(), second: impl AsyncFn()) -> f64 {
    let _alone = ALONE.lock().await;
    let mut least = f64::INFINITY;
    for _ in 0..SERIES {
        least = least.min(series(&first, &second).await);
        if least < APART {
            break;
        }
    }
    least
}

/// How much more often one of them is slower by more than [`GRAIN`] than not: the statistic
/// of Mann and Whitney as a share, less one half; 0.5 for sides that never meet.
async fn series(first: &impl AsyncFn(), second: &impl AsyncFn()) -> f64 {
    let mut samples: Vec<(Duration, bool)> = Vec::with_capacity(2 * SAMPLES);
    let time = async |of_first: bool| {
        let begun = Instant::now();
        match of_first {
            true => first().await,
            false => second().await,
        }
        (begun.elapsed(), of_first)
    };
    for turn in 0..SAMPLES {
        // Each goes first as often as the other.
        let order = turn % 2 == 0;
        samples.push(time(order).await);
        samples.push(time(!order).await);
    }
    let of_first = beyond(&samples, true);
    of_first.max(beyond(&samples, false)) - 0.5
}

/// The share of pairs in which `side` is slower by more than the grain.
fn beyond(samples: &[(Duration, bool)], side: bool) -> f64 {
    let all = samples.iter().map(|(time, of)| match *of == side {
        true => (time.saturating_sub(GRAIN), true),
        false => (*time, false),
    });
    let mut all: Vec<(Duration, bool)> = all.collect();
    all.sort();
    share(&all)
}

/// The share of pairs in which the first side is the slower one; a tie counts for half.
fn share(sorted: &[(Duration, bool)]) -> f64 {
    let (mut below, mut pairs, mut first, mut second) = (0.0, 0.0, 0.0, 0.0);
    for group in sorted.chunk_by(|a, b| a.0 == b.0) {
        let of_first = f64::from(u32::try_from(group.iter().filter(|s| s.1).count()).unwrap());
        let of_second = f64::from(u32::try_from(group.len()).unwrap()) - of_first;
        pairs += of_first * (below + of_second / 2.0);
        below += of_second;
        first += of_first;
        second += of_second;
    }
    pairs / (first * second)
}

#[test]
fn the_share_of_pairs_is_what_counting_them_says() {
    let ms = Duration::from_millis;
    let apart = |first: &[u64], second: &[u64]| {
        let first = first.iter().map(|value| (ms(*value), true));
        let mut all: Vec<_> = first
            .chain(second.iter().map(|v| (ms(*v), false)))
            .collect();
        all.sort();
        share(&all)
    };
    assert_eq!(apart(&[3, 4], &[1, 2]), 1.0);
    assert_eq!(apart(&[1, 2], &[3, 4]), 0.0);
    assert_eq!(apart(&[1, 3], &[2, 3]), 0.375);
    assert_eq!(apart(&[5, 5], &[5, 5]), 0.5);
    let grain = |nanoseconds: u64| {
        let slower = (Duration::from_nanos(10_000 + nanoseconds), true);
        beyond(&[slower, (Duration::from_nanos(10_000), false)], true)
    };
    assert_eq!((grain(400), grain(500), grain(600)), (0.0, 0.5, 1.0));
}
