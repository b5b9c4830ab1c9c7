//! The host's trace: which generation and descriptor led to a binding, which scope
//! governed a call, why a binding changed or ended (R-781 … R-787).
//!
//! Rule: every answer names the record that proves it, and a link that is not in the log
//! is an error, not a blank.

use bindery_types::{BindingHandle, CallId, Digest, Moment};
use serde::Serialize;

use crate::event::{BindingOpened, CallIntent, CallOutcome, Decision, Event, Pins};
use crate::journal::{Journal, JournalError, Query};
use crate::key::{CapabilityKey, Target};
use crate::record::Record;
use crate::text::Line;
use crate::words::{Lifecycle, Trigger};

/// Why something cannot be explained.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum MissingLink {
    /// The log does not say it.
    #[error("the log has no record of {what}")]
    NotRecorded {
        /// what is missing
        what: String,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A statement with the record that proves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link<T> {
    /// What is so.
    pub value: T,
    /// The record.
    pub record: u64,
    /// When it was written.
    pub moment: Moment,
    /// Why, in the host's words.
    pub reason: Line,
}

impl<T> Link<T> {
    fn new(record: &Record, value: T) -> Self {
        Self {
            value,
            record: record.sequence,
            moment: record.entry.moment,
            reason: record.entry.reason.clone(),
        }
    }
}

/// How a binding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BindingEnd {
    /// Stale, revoked, unavailable or released.
    pub to: Lifecycle,
    /// Why.
    pub trigger: Trigger,
}

/// Everything that explains a binding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BindingTrace {
    /// Which.
    pub binding: BindingHandle,
    /// the record that made the generation current.
    pub generation: Link<u64>,
    /// the record that holds the descriptor's digest.
    pub descriptor: Link<Digest>,
    /// What was pinned when it was opened, and what policy said.
    pub opened: Link<Pins>,
    /// The decision that opened it.
    pub decision: Decision,
    /// every later pin, with what made the host look.
    pub refreshed: Vec<Link<(Trigger, Pins)>>,
    /// how it ended, if it has.
    pub ended: Option<Link<BindingEnd>>,
}

/// Everything that explains a call that was started.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallTrace {
    /// Which.
    pub call: CallId,
    /// What was claimed before it started; with the decision.
    pub intent: Link<CallIntent>,
    /// the pins that were in force then, and the record that made them so.
    pub governed_by: Link<Pins>,
    /// How it ended, once that is known.
    pub outcome: Option<Link<CallOutcome>>,
    /// Since which record nobody knows how it ended, if that is so.
    pub uncertain_since: Option<u64>,
    /// The binding it ran under.
    pub binding: BindingTrace,
}

fn missing(what: impl Into<String>) -> MissingLink {
    MissingLink::NotRecorded { what: what.into() }
}

fn about(journal: &dyn Journal, subject: impl ToString) -> Result<Vec<Record>, MissingLink> {
    Ok(journal.records(&Query::Subject(subject.to_string()))?)
}

/// Explains a binding from the log alone.
///
/// # Errors
///
/// When a link is missing, or the log cannot be read.
pub fn explain_binding(
    journal: &dyn Journal,
    binding: BindingHandle,
) -> Result<BindingTrace, MissingLink> {
    let own = about(journal, binding)?;
    let opening = own.iter().find_map(|record| match &record.entry.event {
        Event::BindingOpened(event) => Some((record, event.as_ref())),
        _ => None,
    });
    let (record, opened) = opening.ok_or_else(|| missing(format!("the opening of {binding}")))?;
    let refreshed = own.iter().filter_map(|record| match &record.entry.event {
        Event::BindingRefreshed(e) => Some(Link::new(record, (e.trigger, e.after.clone()))),
        _ => None,
    });
    Ok(BindingTrace {
        binding,
        generation: generation(journal, record.sequence, &opened.pins)?,
        descriptor: descriptor(journal, record.sequence, &opened.pins)?,
        opened: Link::new(record, opened.pins.clone()),
        decision: opened.decision.clone(),
        refreshed: refreshed.collect(),
        ended: end_of(journal, &own, record.sequence, opened)?,
    })
}

/// Explains a call from the log alone.
///
/// # Errors
///
/// When a link is missing, or the log cannot be read.
pub fn explain_call(journal: &dyn Journal, call: CallId) -> Result<CallTrace, MissingLink> {
    let own = about(journal, call)?;
    let intent = own.iter().find_map(|record| match &record.entry.event {
        Event::CallIntent(event) => Some(Link::new(record, event.as_ref().clone())),
        _ => None,
    });
    let intent = intent.ok_or_else(|| missing(format!("the start of {call}")))?;
    let binding = explain_binding(journal, intent.value.binding)?;
    let outcome = own.iter().find_map(|record| match &record.entry.event {
        Event::CallOutcome(event) => Some(Link::new(record, event.as_ref().clone())),
        _ => None,
    });
    let uncertain = own
        .iter()
        .rfind(|record| matches!(&record.entry.event, Event::CallUncertain(_)));
    let later = own
        .iter()
        .any(|record| matches!(&record.entry.event, Event::CallReconciled(_)));
    Ok(CallTrace {
        call,
        governed_by: governed(journal, &binding, intent.record)?,
        intent,
        outcome,
        uncertain_since: uncertain.filter(|_| !later).map(|record| record.sequence),
        binding,
    })
}

/// The pins in force at a record: the last that were written before it.
fn governed(
    journal: &dyn Journal,
    binding: &BindingTrace,
    at: u64,
) -> Result<Link<Pins>, MissingLink> {
    let mut pins = binding.opened.clone();
    for record in about(journal, binding.binding)? {
        if record.sequence >= at {
            break;
        }
        match &record.entry.event {
            Event::BindingRefreshed(event) => pins = Link::new(&record, event.after.clone()),
            Event::BindingRenewed(event) => {
                let mut renewed = pins.value.clone();
                renewed.lease_until = event.lease_until;
                pins = Link::new(&record, renewed);
            }
            _ => {}
        }
    }
    Ok(pins)
}

fn generation(journal: &dyn Journal, before: u64, pins: &Pins) -> Result<Link<u64>, MissingLink> {
    let wanted = pins.environment_generation;
    let records = about(journal, "environment")?;
    let mut made = records.iter().filter(|record| record.sequence < before);
    let found = made.rfind(|record| match &record.entry.event {
        Event::EnvironmentAdmitted(e) => e.generation == wanted,
        Event::GenerationRaised(e) => e.to == wanted,
        _ => false,
    });
    found
        .map(|record| Link::new(record, wanted))
        .ok_or_else(|| missing(format!("generation {wanted}")))
}

fn descriptor(
    journal: &dyn Journal,
    before: u64,
    pins: &Pins,
) -> Result<Link<Digest>, MissingLink> {
    let wanted = pins.descriptor_digest;
    let records = about(journal, &pins.capability)?;
    let mut made = records.iter().filter(|record| record.sequence < before);
    let found = made.rfind(|record| match &record.entry.event {
        Event::CapabilityDescribed(e) => e.descriptor_digest == wanted,
        Event::CapabilityRevalidated(e) => e
            .described
            .as_ref()
            .is_some_and(|d| d.descriptor_digest == wanted),
        _ => false,
    });
    found
        .map(|record| Link::new(record, wanted))
        .ok_or_else(|| missing(format!("descriptor {wanted} of {}", pins.capability)))
}

/// The first record after the opening that ended the binding: its own, a switch, its
/// parent's end, or its session's.
fn end_of(
    journal: &dyn Journal,
    own: &[Record],
    opened_by: u64,
    opened: &BindingOpened,
) -> Result<Option<Link<BindingEnd>>, MissingLink> {
    let mut ends: Vec<Link<BindingEnd>> = Vec::new();
    ends.extend(own.iter().find_map(|record| match &record.entry.event {
        Event::BindingMoved(e) => Some(Link::new(
            record,
            BindingEnd {
                to: e.to,
                trigger: e.trigger,
            },
        )),
        _ => None,
    }));
    let switches = about(journal, "switches")?;
    let thrown = switches.iter().filter(|r| r.sequence > opened_by);
    let revoked = BindingEnd {
        to: Lifecycle::Revoked,
        trigger: Trigger::AuthorizationRevoked,
    };
    ends.extend(
        thrown
            .into_iter()
            .find_map(|record| match &record.entry.event {
                Event::Revoked(e) if hits(&e.target, opened) => Some(Link::new(record, revoked)),
                _ => None,
            }),
    );
    let session = about(journal, opened.session)?;
    ends.extend(session.iter().find_map(|record| match &record.entry.event {
        Event::SessionClosed(event) => Some(Link::new(
            record,
            BindingEnd {
                to: Lifecycle::Stale,
                trigger: event.end.trigger(),
            },
        )),
        _ => None,
    }));
    if let Some(parent) = opened.parent
        && let Some(end) = explain_binding(journal, parent)?.ended
    {
        ends.push(Link {
            value: BindingEnd {
                trigger: Trigger::ParentEnded,
                ..end.value
            },
            ..end
        });
    }
    ends.retain(|end| end.record > opened_by);
    Ok(ends.into_iter().min_by_key(|end| end.record))
}

fn hits(target: &Target, opened: &BindingOpened) -> bool {
    let capability: &CapabilityKey = &opened.pins.capability;
    match target {
        Target::Binding(binding) => *binding == opened.binding,
        Target::Capability(id) => *id == capability.id,
        Target::Digest(digest) => capability.implementation == Some(*digest),
        Target::Namespace(namespace) => namespace.as_str() == capability.id.namespace(),
        Target::Principal(principal) => *principal == opened.pins.principal,
        Target::All => true,
    }
}
