//! The governed side of the bench: a host, a session, a binding, and what is done with them.
//!
//! Rule: everything goes the way of every caller; no door is opened for the bench.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use bindery::ledger::Journal;
use bindery::policy::{Document, SessionSpec, Who};
use bindery::{
    Admission, ApprovalRequirement, BindRequest, CallOptions, CapabilityId, Host, Outcome, Rights,
    Risk, Session, SessionId,
};

use crate::rig::{ASK, explain};

/// How long a thread works for one rate.
const ROUND: Duration = Duration::from_millis(200);

const FRAME: &str = r#"
[mode]
default = "full_access"
ceiling = "full_access"
[stages]
preset = "late_bound"
[agents.bench]
implementation_status = "active"
[aggregates.session]
calls = "unlimited"
fuel = "unlimited"
time = "unlimited"
binds = "unlimited"
[[policy.rule]]
decision = "allow"
why = "the bench calls its own guest"
namespaces = ["bench"]
"#;

/// What the one capability does, as its operator declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It reads: its records wait for nobody.
    Reading,
    /// It writes: intent and outcome of each call are durable.
    Writing,
}

/// A host with one session and one binding.
pub struct Stand {
    /// The session.
    pub session: Session,
    capability: CapabilityId,
    /// The handle of the binding.
    pub handle: String,
}

impl Stand {
    /// A host under 200 rules that records in `journal`, or in memory.
    ///
    /// # Errors
    ///
    /// When the guest is not admitted or not bound.
    pub async fn new(bytes: &[u8], kind: Kind, journal: Option<Arc<dyn Journal>>) -> Result<Self> {
        let document = document()?;
        let mut builder = Host::builder().policy(document);
        if let Some(journal) = journal {
            builder = builder.journal(journal);
        }
        let host = builder.build().map_err(explain)?;
        let mut admission = Admission::by_operator("bench".parse()?, "answer.wasm");
        admission.contract.approval = Some(ApprovalRequirement::NoApproval);
        if kind == Kind::Writing {
            admission.contract.risk = Some(Risk::Write);
            host.accept_writes("the bench").await.map_err(explain)?;
        }
        let admitted = host
            .admit(bytes.to_vec(), admission)
            .await
            .map_err(explain)?;
        let capability = admitted.iter().map(|entry| &entry.id);
        let mut capability = capability.filter(|id| id.function() == "answer");
        let capability = capability.next().context("the guest has no `answer`")?;
        let session = host.session(spec()?).await.map_err(explain)?;
        let mut stand = Self {
            session,
            capability: capability.clone(),
            handle: String::new(),
        };
        stand.handle = stand.bind().await?;
        Ok(stand)
    }

    /// One more binding.
    ///
    /// # Errors
    ///
    /// When policy refuses it.
    pub async fn bind(&self) -> Result<String> {
        let request = BindRequest::default();
        let bound = self.session.bind(&self.capability, &request).await;
        Ok(bound.map_err(explain)?.handle.to_string())
    }

    /// Calls `count` times, one after the other; each must give a value.
    ///
    /// # Errors
    ///
    /// The first outcome that is none.
    pub async fn call(&self, count: u32) -> Result<()> {
        let options = CallOptions::default();
        for _ in 0..count {
            let reply = self.session.call(&self.handle, ASK, &options).await;
            match reply.run.outcome {
                Outcome::Value(text) => drop(black_box(text)),
                Outcome::CapabilityError(text) => return Err(anyhow!("{text}")),
                Outcome::Refused(refusal) => return Err(explain(refusal)),
            }
        }
        Ok(())
    }

    /// One call that has to be refused.
    ///
    /// # Errors
    ///
    /// When it is not.
    pub async fn refused(&self, handle: &str, arguments: &str) -> Result<()> {
        let options = CallOptions::default();
        let reply = self.session.call(handle, arguments, &options).await;
        match reply.run.outcome {
            Outcome::Refused(_) => Ok(()),
            other => Err(anyhow!("it was not refused: {other:?}")),
        }
    }

    /// Calls a second of one thread with an executor of its own.
    ///
    /// # Errors
    ///
    /// As [`Stand::call`].
    pub fn rate(&self) -> Result<f64> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let (started, mut calls) = (Instant::now(), 0_u32);
            while started.elapsed() < ROUND {
                self.call(32).await?;
                calls = calls.saturating_add(32);
            }
            Ok(f64::from(calls) / started.elapsed().as_secs_f64())
        })
    }

    /// Describes the capability, which leaves a small record, `count` times.
    ///
    /// # Errors
    ///
    /// When it is not shown.
    pub fn describe(&self, count: u32) -> Result<()> {
        for _ in 0..count {
            black_box(self.session.describe(&self.capability).map_err(explain)?);
        }
        Ok(())
    }

    /// Explains a bind `count` times.
    ///
    /// # Errors
    ///
    /// When it cannot be explained.
    pub fn explain(&self, count: u32) -> Result<()> {
        let request = BindRequest::default();
        for _ in 0..count {
            let explained =
                self.session
                    .explain(Rights::Operator, &self.capability, &request, None);
            black_box(explained.map_err(explain)?);
        }
        Ok(())
    }
}

/// The frame, and rules to 200 of which one is about the guest.
///
/// # Errors
///
/// When it is malformed.
pub fn document() -> Result<Document> {
    let others = (1..200).map(|n| {
        format!(
            "[[policy.rule]]\ndecision = \"allow\"\nwhy = \"rule {n}\"\nnamespaces = [\"other-{n}\"]\n"
        )
    });
    let text = others.fold(FRAME.to_owned(), |text, rule| text + &rule);
    Document::parse("bench.toml", &text).map_err(|error| anyhow!("{error}"))
}

/// The session of the bench.
///
/// # Errors
///
/// When a name in it is none.
pub fn spec() -> Result<SessionSpec> {
    Ok(SessionSpec {
        who: Who {
            session: SessionId::from_random([7; 16]),
            run: None,
            principal: "local:bench".parse()?,
            rights: Rights::Operator,
            tenant: "local".parse()?,
            agent: "bench".parse()?,
            archetype: "default".parse()?,
        },
        mode: None,
        allow: None,
        deny: Vec::new(),
        project: None,
        stages: None,
    })
}
