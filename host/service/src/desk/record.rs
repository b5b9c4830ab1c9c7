//! What was recorded: capabilities, bindings, calls, actions, proposals.
//!
//! Rule (C-31): read from the ledger alone; nothing here is remembered by the desk.

use bindery::ledger::view::{Activity, actions, explain_binding, explain_call};
use bindery::ledger::{CapabilityKey, Query, Record, State};
use bindery::{BindingHandle, CallId, CapabilityId, ErrorType, ProposalId, Refusal, SessionId};
use serde_json::{Value, json};

use super::Desk;
use super::catalogue::value;
use crate::request::HANDLE;

/// How many records one look at the journal takes.
const PAGE: usize = 1_000;
/// How much of the activity is shown when nothing is said.
const RECENT: usize = 50;

impl Desk {
    /// What the ledger's state says.
    pub(super) fn look<R>(&self, see: impl FnOnce(&State) -> R) -> Option<R> {
        let mut see = Some(see);
        let mut seen = None;
        self.journal.look(&mut |state| {
            if let Some(see) = see.take() {
                seen = Some(see(state));
            }
        });
        seen
    }

    fn records(&self, query: &Query) -> Result<Vec<Record>, Refusal> {
        self.journal.records(query).map_err(|error| error.refusal())
    }

    /// A capability's record (R-320 … R-339), or the records about anything else; without
    /// an id every capability in short, and the records themselves.
    pub(super) fn ledger(
        &self,
        id: Option<&str>,
        from: u64,
        count: usize,
    ) -> Result<Value, Refusal> {
        let Some(id) = id else {
            let records = self.records(&Query::From {
                sequence: from,
                count,
            })?;
            let next = records
                .last()
                .filter(|_| records.len() == count)
                .map(|last| last.sequence.saturating_add(1));
            let capabilities =
                self.look(|state| state.capabilities().map(short).collect::<Vec<_>>());
            return Ok(json!({
                "capabilities": capabilities.unwrap_or_default(),
                "records": value(&records)?,
                "next": next,
            }));
        };
        if let Some(found) = self.capability_records(id)? {
            return Ok(found);
        }
        let records = self.records(&Query::Subject(id.to_owned()))?;
        if records.is_empty() {
            return Err(unknown("record", id));
        }
        Ok(json!({ "id": id, "records": value(&records)? }))
    }

    fn capability_records(&self, id: &str) -> Result<Option<Value>, Refusal> {
        let Ok(id) = self.key_of(id) else {
            return Ok(None);
        };
        let found = self.look(|state| {
            let builds = state.capabilities().filter(|(key, _)| {
                key.id == id.id
                    && (id.implementation.is_none() || id.implementation == key.implementation)
            });
            builds
                .map(|(key, capability)| full(state, key, capability))
                .collect::<Result<Vec<_>, _>>()
        });
        let builds = found.unwrap_or_else(|| Ok(Vec::new()))?;
        Ok((!builds.is_empty()).then(|| json!({ "capability_id": id.id, "builds": builds })))
    }

    fn key_of(&self, text: &str) -> Result<CapabilityKey, Refusal> {
        match text.parse() {
            Ok(key) => Ok(key),
            Err(_) => Ok(CapabilityKey {
                id: self.capability(text)?,
                implementation: None,
            }),
        }
    }

    /// A binding as it stands, and how it came to that.
    pub(super) fn binding(&self, handle: &str) -> Result<Value, Refusal> {
        let parsed: BindingHandle = handle.parse().map_err(|_| unknown("binding", handle))?;
        let stands = self
            .look(|state| {
                let found = state.binding(parsed)?;
                Some(json!({
                    "status": found.status(),
                    "lifecycle": found.lifecycle(),
                    "session": found.session,
                }))
            })
            .flatten();
        let trace = explain_binding(&*self.journal, parsed).map_err(|error| missing(&error))?;
        Ok(json!({ "handle": handle, "now": stands, "trace": value(&trace)? }))
    }

    /// A call or a binding explained by the records that prove it (R-781 … R-787).
    pub(super) fn trace(&self, id: Option<&str>) -> Result<Value, Refusal> {
        match id {
            None => self.recent(),
            Some(handle) if handle.starts_with(HANDLE) => self.binding(handle),
            Some(call) => {
                let parsed: CallId = call.parse().map_err(|_| unknown("call", call))?;
                match explain_call(&*self.journal, parsed) {
                    Ok(trace) => value(&trace),
                    Err(error) => self.never_started(parsed, &error),
                }
            }
        }
    }

    /// A call that was refused has no start: what refused it is its trace.
    fn never_started(
        &self,
        call: CallId,
        error: &bindery::ledger::view::MissingLink,
    ) -> Result<Value, Refusal> {
        let records = self.records(&Query::Subject(call.to_string()))?;
        if records.is_empty() {
            return Err(missing(error));
        }
        Ok(json!({ "call": call, "started": false, "records": value(&records)? }))
    }

    fn recent(&self) -> Result<Value, Refusal> {
        let last = self.look(State::sequence).unwrap_or_default();
        let first = last.saturating_sub(RECENT as u64 - 1).max(1);
        let records = self.records(&Query::From {
            sequence: first,
            count: RECENT,
        })?;
        let activity: Vec<Activity> = records.iter().map(Activity::from).collect();
        Ok(json!({ "activity": value(&activity)? }))
    }

    /// Action records, of everything or of one session or run (R-565 … R-576).
    pub(super) fn actions(&self, of: Option<&str>) -> Result<Value, Refusal> {
        let session: Option<SessionId> = of.and_then(|text| text.parse().ok());
        let records = match session {
            Some(session) => self.records(&Query::Session(session))?,
            None => self.all_records()?,
        };
        let mut found = actions(&records);
        if session.is_none()
            && let Some(run) = of
        {
            found.retain(|action| action.run.is_some_and(|own| own.to_string() == run));
            if found.is_empty() {
                return Err(unknown("session or run", run));
            }
        }
        Ok(json!({ "actions": value(&found)? }))
    }

    fn all_records(&self) -> Result<Vec<Record>, Refusal> {
        let (mut all, mut sequence) = (Vec::new(), 1);
        loop {
            let page = self.records(&Query::From {
                sequence,
                count: PAGE,
            })?;
            let Some(last) = page.last() else { break };
            sequence = last.sequence.saturating_add(1);
            let full = page.len() == PAGE;
            all.extend(page);
            if !full {
                break;
            }
        }
        Ok(all)
    }

    /// Proposals with everything that an answer is bound to.
    pub(super) fn proposals(&self, id: Option<ProposalId>) -> Result<Value, Refusal> {
        let found = self.look(|state| {
            let all = state.proposals();
            let wanted = all.filter(|(own, _)| id.is_none_or(|id| id == **own));
            wanted
                .map(|(own, proposal)| (*own, proposal.clone()))
                .collect::<Vec<_>>()
        });
        let found = found.unwrap_or_default();
        if let Some(id) = id.filter(|_| found.is_empty()) {
            return Err(unknown("proposal", &id.to_string()));
        }
        let row = |(id, proposal)| Ok(json!({ "id": id, "proposal": value(&proposal)? }));
        let rows: Result<Vec<_>, Refusal> = found.into_iter().map(row).collect();
        let rows = rows?;
        Ok(json!({ "proposals": rows }))
    }
}

fn short((key, capability): (&CapabilityKey, &bindery::ledger::Capability)) -> Value {
    json!({
        "capability_id": key.id,
        "implementation_digest": key.implementation,
        "validation_status": capability.validation_status(),
        "trust_status": capability.trust_status,
    })
}

/// Every field of one build, with how many bindings stand where (C-60).
fn full(
    state: &State,
    key: &CapabilityKey,
    capability: &bindery::ledger::Capability,
) -> Result<Value, Refusal> {
    let mut counts = std::collections::BTreeMap::new();
    let own = state
        .bindings()
        .filter(|(_, binding)| binding.pins.capability == *key);
    for (_, binding) in own {
        let count: &mut u64 = counts.entry(binding.status().as_str()).or_default();
        *count += 1;
    }
    let mut fields = value(capability)?;
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("capability".to_owned(), json!(key));
        fields.insert(
            "validation_status".to_owned(),
            json!(capability.validation_status()),
        );
        fields.insert("binding_status".to_owned(), json!(counts));
    }
    Ok(fields)
}

fn unknown(what: &str, id: &str) -> Refusal {
    Refusal::new(
        ErrorType::HandleInvalid,
        format!("the ledger has no such {what}"),
    )
    .with("id", id)
}

fn missing(error: &bindery::ledger::view::MissingLink) -> Refusal {
    Refusal::new(ErrorType::HandleInvalid, error.to_string())
}

/// Parses an id of a capability, for those that take nothing else.
pub(super) fn capability_id(text: &str) -> Option<CapabilityId> {
    text.parse().ok()
}
