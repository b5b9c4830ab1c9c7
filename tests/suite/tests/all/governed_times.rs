//! What time ends: questions, leases, sessions, evidence; and what prolongs a lease.

use std::sync::atomic::{AtomicU64, Ordering};

use bindery::ledger::words::{ProposalStatus, Trigger};
use bindery::{ErrorType, Moment, Outcome, Resources};
use serde_json::json;

use crate::governed_scene::{Stand, bind, call, echo, echo_as, refusal, spec};
use crate::governed_triggers::{
    ALLOW, ECHO, OTHER, asking, assert_callable, assert_ended, document as with_rules, hello,
    status,
};

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// A clock of one test.
macro_rules! clock {
    ($name:ident) => {
        static $name: AtomicU64 = AtomicU64::new(1_000_000_000_000);
    };
}

fn go(clock: &AtomicU64, ms: u64) {
    clock.fetch_add(ms, Ordering::SeqCst);
}

fn at(clock: &AtomicU64) -> Moment {
    Moment::from_unix_ms(clock.load(Ordering::SeqCst))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_nobody_answered_in_time_is_on_record_as_expired() {
    clock!(NOW);
    let document = format!(
        "{ALLOW}{}[approvals]\nttl = \"5m\"\n",
        asking("confirm_every_time")
    );
    let mut stand = Stand::new(&document, Resources::default(), |builder| {
        builder.clock(|| at(&NOW))
    })
    .await;
    stand.admit("echo.wasm", echo()).await;
    let bound = stand.bind(ECHO, None).await.unwrap();
    let first = call(&stand.session, &bound, &hello())
        .await
        .proposal
        .unwrap();
    stand.host.expire().await.unwrap();
    assert_eq!(status(&stand, first), ProposalStatus::Pending);
    go(&NOW, 5 * 60_000);
    let late = stand.host.approve(first, "too late").await.unwrap_err();
    assert_eq!(late.kind(), ErrorType::ApprovalRequired);
    assert_eq!(status(&stand, first), ProposalStatus::Expired);
    assert_eq!(stand.count("proposal_expired"), 1);
    let second = call(&stand.session, &bound, &hello())
        .await
        .proposal
        .unwrap();
    assert_ne!(first, second, "the same question is another one by now");
}

///
#[tokio::test(flavor = "multi_thread")]
async fn a_time_that_is_over_is_on_record_where_it_is_met() {
    clock!(NOW);
    let mut stand = Stand::new(ALLOW, Resources::default(), |builder| {
        builder.clock(|| at(&NOW))
    })
    .await;
    stand.admit("echo.wasm", echo()).await;
    let short = json!({ "ttl_ms": 60_000 });
    let hit = stand.bind(ECHO, Some(short)).await.unwrap();
    let spared = stand.bind(ECHO, None).await.unwrap();
    assert_callable(&stand, &hit).await;
    go(&NOW, 60_000);
    let trigger = Trigger::LeaseExpired;
    assert_ended(&stand, &hit, ErrorType::BindingStale, trigger).await;
    assert_callable(&stand, &spared).await;
    go(&NOW, DAY_MS);
    stand.host.session(spec(2, "tester")).await.unwrap();
    let closed = stand.reasons("session_closed");
    assert_eq!(closed, ["expired"], "the other session's opening met it");
    let reply = call(&stand.session, &spared, &hello()).await;
    assert_eq!(refusal(&reply).kind(), ErrorType::HandleInvalid);
}

///
#[tokio::test(flavor = "multi_thread")]
async fn evidence_that_is_too_old_ends_the_binding_until_somebody_looks_again() {
    clock!(NOW);
    let document = format!("{ALLOW}[leases]\nttl = \"20h\"\nttl_max = \"20h\"\n");
    let mut stand = Stand::new(&document, Resources::default(), |builder| {
        builder.clock(|| at(&NOW))
    })
    .await;
    stand.admit("echo.wasm", echo()).await;
    for _ in 0..29 {
        // A host that lives on is asked for something now and then.
        go(&NOW, DAY_MS);
        stand.host.expire().await.unwrap();
    }
    go(&NOW, DAY_MS - HOUR_MS);
    let other = echo_as("test:other/other@1.0.0", "text");
    stand.admit("other.wasm", other).await;
    stand.session = stand.host.session(spec(2, "tester")).await.unwrap();
    let hit = stand.bind(ECHO, None).await.unwrap();
    let spared = stand.bind(OTHER, None).await.unwrap();
    assert_callable(&stand, &hit).await;
    go(&NOW, 2 * HOUR_MS);
    let trigger = Trigger::EvidenceStale;
    assert_ended(&stand, &hit, ErrorType::BindingStale, trigger).await;
    assert_callable(&stand, &spared).await;
    stand.admit("echo.wasm", echo()).await;
    let fresh = stand.bind(ECHO, None).await.unwrap();
    assert_callable(&stand, &fresh).await;
}

///
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_prolonged_within_the_hosts_ceiling_and_its_parents_i10() {
    clock!(NOW);
    let document = format!("{ALLOW}[leases]\nttl = \"10m\"\nttl_max = \"30m\"\n");
    let mut stand = Stand::new(&document, Resources::default(), |builder| {
        builder.clock(|| at(&NOW))
    })
    .await;
    stand.admit("echo.wasm", echo()).await;
    let bound = stand.bind(ECHO, None).await.unwrap();
    let handle = bound.handle.to_string();
    let narrow = serde_json::from_value(json!({ "ttl_ms": 60_000 })).unwrap();
    let narrower = stand.session.narrow(&handle, &narrow).await.unwrap();
    let child = narrower.handle.to_string();
    let until = stand.session.renew(&child, HOUR_MS).await.unwrap();
    assert_eq!(until, bound.expires_at, "I10: never more than its parent");
    go(&NOW, 5 * 60_000);
    let until = stand.session.renew(&handle, 24 * HOUR_MS).await.unwrap();
    assert_eq!(until, at(&NOW).after_ms(30 * 60_000), "R-494: the ceiling");
    let shorter = stand.session.renew(&handle, 1_000).await.unwrap();
    assert_eq!(shorter, until, "a lease is not shortened");
    go(&NOW, 20 * 60_000);
    assert_callable(&stand, &bound).await;
    let foreign = stand.host.session(spec(2, "tester")).await.unwrap();
    let refused = foreign.renew(&handle, HOUR_MS).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorType::HandleInvalid, "C-48");
    go(&NOW, 10 * 60_000);
    let over = stand.session.renew(&handle, HOUR_MS).await.unwrap_err();
    assert_eq!(
        over.kind(),
        ErrorType::BindingStale,
        "what is over is not revived"
    );
    let own = bind(&stand.host, &stand.session, ECHO, None).await.unwrap();
    let none = with_rules(&stand, "");
    stand.host.reload(none, Resources::default()).await.unwrap();
    let handle = own.handle.to_string();
    let denied = stand.session.renew(&handle, HOUR_MS).await;
    assert_eq!(denied.unwrap_err().kind(), ErrorType::BindingStale);
    let reply = call(&stand.session, &own, &hello()).await;
    assert!(matches!(reply.run.outcome, Outcome::Refused(_)));
}

/// C-09, R-339: a host that lives for months is no less a host.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_lives_on_looks_at_its_catalogue_again_by_itself() {
    clock!(NOW);
    let mut stand = Stand::new(ALLOW, Resources::default(), |builder| {
        builder.clock(|| at(&NOW))
    })
    .await;
    stand.admit("echo.wasm", echo()).await;
    for month in 0..3 {
        for _ in 0..31 {
            go(&NOW, DAY_MS);
            stand.host.expire().await.unwrap();
        }
        let session = stand.host.session(spec(10 + month, "tester")).await;
        stand.session = session.unwrap();
        let bound = stand.bind(ECHO, None).await.unwrap();
        assert_callable(&stand, &bound).await;
    }
}

/// C-09.
#[tokio::test(flavor = "multi_thread")]
async fn a_reload_cannot_move_a_host_into_another_environment() {
    let mut stand = Stand::new(ALLOW, Resources::default(), |builder| builder).await;
    stand.admit("echo.wasm", echo()).await;
    let bound = stand.bind(ECHO, None).await.unwrap();
    let mut other = stand.host.document();
    other.people.environment = "elsewhere".parse().unwrap();
    let refused = stand.host.reload(other, Resources::default()).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorType::PolicyMalformed);
    assert_callable(&stand, &bound).await;
    let same = stand.host.document();
    stand.host.reload(same, Resources::default()).await.unwrap();
    assert_callable(&stand, &bound).await;
}
