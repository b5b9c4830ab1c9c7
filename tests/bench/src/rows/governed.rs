//! The governed call: decided by a policy of 200 rules and recorded, against the engine
//! alone; the decision alone; what a live binding costs.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use bindery::policy::{Document, SessionSpec, Who};
use bindery::{
    Admission, ApprovalRequirement, BindRequest, CallOptions, CapabilityId, Host, Outcome, Rights,
    Session, SessionId,
};

use super::{FEW_ROUNDS, ROUNDS};
use crate::goal::Goal;
use crate::measure::in_turns;
use crate::raw::Raw;
use crate::rig::{ASK, Rig, explain};
use crate::row::{Row, Unit};

/// Bindings that live at once in the last row.
const BINDINGS: usize = 10_000;

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

/// The rows.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let raw = Raw::ours(&rig.answer.bytes)?;
    let stand = rig.runtime.block_on(Stand::new(&rig.answer.bytes))?;
    let governed = |count| rig.runtime.block_on(stand.call(count));
    let f2 = |count| raw.answer(count);
    let direct = |count| rig.call(&rig.answer, "answer", ASK, count);
    let rounds = rig.pace.rounds(ROUNDS);
    let against_f2 = in_turns(rounds, governed, f2)?;
    let decided = in_turns(rounds, |count| stand.explain(count), f2)?;
    let mut rows = vec![
        Row::new("governed", "a governed read-only call, 200 rules", "F2")
            .goal(Goal::AtMost(1.6))
            .ratio(&against_f2),
        Row::new("governed-run", "the same", "run, JSON to JSON")
            .ratio(&in_turns(rounds, governed, direct)?),
        Row::new("decided", "a bind decided and explained, 200 rules", "F2").ratio(&decided),
    ];
    rows.extend(live(rig)?);
    Ok(rows)
}

/// Resident memory of a live binding, and a call beside 10,000 of them.
fn live(rig: &Rig) -> Result<Vec<Row>> {
    let (few, many) = rig.runtime.block_on(async {
        let few = Stand::new(&rig.answer.bytes).await?;
        let many = Stand::new(&rig.answer.bytes).await?;
        Ok::<_, anyhow::Error>((few, many))
    })?;
    let before = resident_bytes()?;
    let begun = Instant::now();
    rig.runtime.block_on(async {
        for _ in 0..BINDINGS {
            many.bind().await?;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    let count = crate::stats::as_f64(BINDINGS);
    let each = (resident_bytes()? - before) / count;
    let note = format!(
        "{each:.0} bytes of resident memory and {:.1} us of time for each",
        begun.elapsed().as_secs_f64() * 1e6 / count
    );
    let beside = in_turns(
        rig.pace.rounds(FEW_ROUNDS),
        |count| rig.runtime.block_on(many.call(count)),
        |count| rig.runtime.block_on(few.call(count)),
    )?;
    let sizes = [each];
    Ok(vec![
        Row::new(
            "bindings",
            "a call beside 10,000 live bindings",
            "beside one",
        )
        .ratio(&beside)
        .note(note),
        Row::new("binding-size", "bytes of a live binding", "").samples(Unit::Count, &sizes),
    ])
}

/// A host in memory with one session and one binding.
struct Stand {
    session: Session,
    capability: CapabilityId,
    handle: String,
}

impl Stand {
    async fn new(bytes: &[u8]) -> Result<Self> {
        let others = (1..200).map(|n| {
            format!(
                "[[policy.rule]]\ndecision = \"allow\"\nwhy = \"rule {n}\"\nnamespaces = [\"other-{n}\"]\n"
            )
        });
        let text = others.fold(FRAME.to_owned(), |text, rule| text + &rule);
        let document = Document::parse("bench.toml", &text).map_err(|error| anyhow!("{error}"))?;
        let host = Host::builder().policy(document).build().map_err(explain)?;
        let mut admission = Admission::by_operator("bench".parse()?, "answer.wasm");
        admission.contract.approval = Some(ApprovalRequirement::NoApproval);
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

    async fn bind(&self) -> Result<String> {
        let request = BindRequest::default();
        let bound = self.session.bind(&self.capability, &request).await;
        Ok(bound.map_err(explain)?.handle.to_string())
    }

    async fn call(&self, count: u32) -> Result<()> {
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

    fn explain(&self, count: u32) -> Result<()> {
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

fn spec() -> Result<SessionSpec> {
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

fn resident_bytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    let kib: f64 = kib.context("the system does not tell")?.parse()?;
    Ok(kib * 1024.0)
}
