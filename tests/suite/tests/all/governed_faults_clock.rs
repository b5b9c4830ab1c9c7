//! A clock that jumps, forwards and back, over a whole host: what was over stays over, and
//! nothing lasts longer for it (I10).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery::ledger::{Journal, Memory};
use bindery::policy::Document;
use bindery::{Bound, CallOptions, ErrorType, Host, Moment, Outcome, Reply, Session};
use bindery_types::ApprovalRequirement;
use serde_json::json;

use crate::governed_model::{MINUTE, START};
use crate::governed_scene::{FRAME, bind, echo, spec};
use crate::governed_store::{open_store, place};

const HOUR: u64 = 60 * MINUTE;
const RULE: &str = "[[policy.rule]]\ndecision = \"allow\"\nwhy = \"the scenario\"\n\
                    capabilities = [\"acme:echo/echo#say\"]\n";
const ECHO: &str = "acme:echo/echo#say";

/// A clock of its own for each test; a host takes a plain function.
static CLOCKS: [AtomicU64; 5] = [const { AtomicU64::new(START) }; 5];

fn clock<const N: usize>() -> Moment {
    Moment::from_unix_ms(CLOCKS[N].load(Ordering::SeqCst))
}

struct Scene<const N: usize> {
    host: Host,
    session: Session,
}

impl<const N: usize> Scene<N> {
    async fn over(journal: Arc<dyn Journal>, approval: ApprovalRequirement, number: u8) -> Self {
        let document = Document::parse("bindery.toml", &format!("{FRAME}{RULE}")).unwrap();
        let host = Host::builder()
            .policy(document)
            .journal(journal)
            .clock(clock::<N>)
            .build()
            .unwrap();
        let mut admission = bindery::Admission::by_operator("acme".parse().unwrap(), "echo.wasm");
        admission.contract.approval = Some(approval);
        host.admit(echo(), admission).await.unwrap();
        let session = host.session(spec(number, "tester")).await.unwrap();
        Self { host, session }
    }

    async fn new(approval: ApprovalRequirement) -> Self {
        Self::over(Arc::new(Memory::default()), approval, 1).await
    }

    fn at(ms: u64) {
        CLOCKS[N].store(ms, Ordering::SeqCst);
    }

    async fn bound(&self, ttl: u64) -> Bound {
        let scope = json!({ "ttl_ms": ttl });
        bind(&self.host, &self.session, ECHO, Some(scope))
            .await
            .unwrap()
    }

    async fn call(&self, bound: &Bound) -> Reply {
        let handle = bound.handle.to_string();
        let options = CallOptions::default();
        self.session
            .call(&handle, r#"{"text": "x"}"#, &options)
            .await
    }
}

fn word(reply: &Reply) -> Option<ErrorType> {
    match &reply.run.outcome {
        Outcome::Refused(refusal) => Some(refusal.kind()),
        Outcome::Value(_) => None,
        Outcome::CapabilityError(error) => panic!("{error}"),
    }
}

const FREE: ApprovalRequirement = ApprovalRequirement::NoApproval;

/// I10, R-537.
#[tokio::test]
async fn a_lease_that_was_over_once_is_over_whatever_the_clock_says_then() {
    type S = Scene<0>;
    let scene = S::new(FREE).await;
    let (short, long) = (scene.bound(MINUTE).await, scene.bound(HOUR).await);
    assert_eq!(word(&scene.call(&short).await), None, "the twin: it lives");
    S::at(START + MINUTE + 1);
    assert_eq!(
        word(&scene.call(&short).await),
        Some(ErrorType::BindingStale)
    );
    for back in [START + MINUTE - 1, START, START - 24 * HOUR, 0] {
        S::at(back);
        let stale = Some(ErrorType::BindingStale);
        assert_eq!(word(&scene.call(&short).await), stale, "I10: {back}");
        assert_eq!(word(&scene.call(&long).await), None, "the longer one lives");
    }
    let scope = serde_json::from_value(json!({})).unwrap();
    let narrowed = scene
        .session
        .narrow(&short.handle.to_string(), &scope)
        .await;
    assert_eq!(narrowed.unwrap_err().kind(), ErrorType::BindingStale);
}

/// I10: a jump back neither ends a lease nor lets it last longer than it was given for.
#[tokio::test]
async fn a_clock_that_goes_back_makes_no_lease_last_longer() {
    type S = Scene<1>;
    let scene = S::new(FREE).await;
    let bound = scene.bound(10 * MINUTE).await;
    S::at(START + 5 * MINUTE);
    assert_eq!(word(&scene.call(&bound).await), None);
    S::at(START - HOUR);
    assert_eq!(word(&scene.call(&bound).await), None, "it is not over yet");
    let second = scene.bound(10 * MINUTE).await;
    let most = Moment::from_unix_ms(START + 15 * MINUTE);
    assert_eq!(
        second.expires_at, most,
        "from the latest time that was seen"
    );
    S::at(START + 10 * MINUTE);
    assert_eq!(
        word(&scene.call(&bound).await),
        Some(ErrorType::BindingStale)
    );
    assert_eq!(word(&scene.call(&second).await), None);
}

/// I10, I14, I15, C-19: an answer that came too late, or was not used in time, is none, and
/// no jump back makes it one.
#[tokio::test]
async fn an_approval_that_was_over_once_starts_nothing_after_a_jump_back() {
    type S = Scene<2>;
    let scene = S::new(ApprovalRequirement::ConfirmEveryTime).await;
    let bound = scene.bound(HOUR).await;
    let asked = scene.call(&bound).await;
    assert_eq!(word(&asked), Some(ErrorType::ApprovalRequired));
    let first = asked.proposal.unwrap();
    scene.host.approve(first, "in time").await.unwrap();
    S::at(START + 11 * MINUTE);
    let late = scene.call(&bound).await;
    assert_eq!(word(&late), Some(ErrorType::ApprovalRequired), "I10");
    let second = late.proposal.unwrap();
    assert_ne!(second, first, "it is asked anew");
    S::at(START);
    let again = scene.call(&bound).await;
    assert_eq!(word(&again), Some(ErrorType::ApprovalRequired), "I10");
    S::at(START + 22 * MINUTE);
    let refused = scene.host.approve(second, "too late").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorType::ApprovalRequired);
    S::at(START + 12 * MINUTE);
    let refused = scene
        .host
        .approve(second, "still too late")
        .await
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorType::ApprovalRequired, "I10");
    // The twin: answered and used in time, it runs once.
    let third = scene.call(&bound).await.proposal.unwrap();
    scene.host.approve(third, "in time").await.unwrap();
    assert_eq!(word(&scene.call(&bound).await), None);
    let used = scene.call(&bound).await;
    assert_eq!(word(&used), Some(ErrorType::ApprovalRequired), "I15");
}

/// I10, R-538: a session that expired has expired.
#[tokio::test]
async fn a_session_that_was_over_once_opens_nothing_after_a_jump_back() {
    type S = Scene<3>;
    let scene = S::new(FREE).await;
    let bound = scene.bound(HOUR).await;
    assert!(scene.session.is_open());
    S::at(START + 25 * HOUR);
    assert!(!scene.session.is_open(), "R-538");
    S::at(START);
    assert!(!scene.session.is_open(), "I10");
    let called = scene.call(&bound).await;
    assert_eq!(word(&called), Some(ErrorType::HandleInvalid));
    let refused = bind(&scene.host, &scene.session, ECHO, None).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorType::HandleInvalid);
}

/// I10, R-708: a host that starts with a clock behind its record goes on from the record.
#[tokio::test]
async fn a_restart_with_an_earlier_clock_goes_on_from_the_latest_recorded_time() {
    type S = Scene<4>;
    let place = place();
    let journal = |ms| Arc::new(open_store(&place.path, Moment::from_unix_ms(ms)).unwrap());
    let scene = S::over(journal(START), FREE, 1).await;
    S::at(START + 2 * HOUR);
    let first = scene.bound(MINUTE).await;
    assert_eq!(word(&scene.call(&first).await), None);
    drop(scene);
    S::at(START - 24 * HOUR);
    let scene = S::over(journal(START - 24 * HOUR), FREE, 2).await;
    let second = scene.bound(MINUTE).await;
    let least = Moment::from_unix_ms(START + 2 * HOUR + MINUTE);
    assert_eq!(second.expires_at, least, "I10");
    assert_eq!(
        word(&scene.call(&first).await),
        Some(ErrorType::HandleInvalid),
        "R-708"
    );
    S::at(START + 2 * HOUR + MINUTE + 1);
    assert_eq!(
        word(&scene.call(&second).await),
        Some(ErrorType::BindingStale)
    );
}
