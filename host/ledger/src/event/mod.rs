//! Everything that can happen, as one closed set of events.
//!
//! Rule (C-31): an event holds ids, digests, words and figures. Arguments, outputs and
//! secrets are in none of them; where a person has to see something, whoever writes the
//! event gives a summary that is redacted and bounded.

mod binding;
mod call;
mod capability;
mod environment;
mod proposal;
mod run;
mod session;

pub use binding::{
    BindRefused, BindingMoved, BindingOpened, BindingRefreshed, BindingRenewed, Pins,
};
pub use call::{
    Amounts, CallDecided, CallIntent, CallOutcome, CallReconciled, CallRefused, CallUncertain,
    Decision, HookVetoed, Idempotent, OutputRef, ScreeningWithheld,
};
pub use capability::{
    CapabilityDescribed, CapabilityDiscovered, CapabilityMoved, CapabilityObserved,
    CapabilityRevalidated, CapabilityReviewed, EvidenceRecorded, OperationServed,
};
pub use environment::{
    BudgetSet, CatalogueChanged, EnvironmentAdmitted, GenerationRaised, HostStarted,
    PolicyReplaced, RevocationLifted, Revoked, StageSwitched, Standing, WriteGateAccepted,
};
pub use proposal::{
    ProposalApproved, ProposalDenied, ProposalExpired, ProposalMade, ProposalVoided,
};
pub use run::{AgentRegistered, RunCreated, RunMoved, WorkspaceRegistered};
pub use session::{SessionClosed, SessionOpened};

use bindery_types::Rights;
use serde::{Deserialize, Serialize};

macro_rules! events {
    ($( $(#[$doc:meta])* $name:ident $kind:literal $rights:ident about |$event:ident| $subject:expr; )+) => {
        /// One thing that happened. The large ones are boxed, so that a record is small.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Event { $( $(#[$doc])* $name(Box<$name>), )+ }

        impl Event {
            /// Every kind, in the order of the documentation.
            pub const KINDS: &'static [&'static str] = &[ $( $kind, )+ ];

            /// The word for this kind of event, as it stands in the record.
            pub fn kind(&self) -> &'static str {
                match self { $( Self::$name(_) => $kind, )+ }
            }

            /// The least rights of an actor in whose name it can be written.
            pub fn rights(&self) -> Rights {
                match self { $( Self::$name(_) => Rights::$rights, )+ }
            }

            /// The id that the record is found by.
            pub fn subject(&self) -> String {
                match self { $( Self::$name($event) => $subject, )+ }
            }
        }

        $( impl From<$name> for Event {
            fn from(event: $name) -> Self { Self::$name(Box::new(event)) }
        } )+
    };
}

events! {
    /// A host took over the store.
    HostStarted "host_started" Operator about |_e| "host".to_owned();
    /// An environment was admitted.
    EnvironmentAdmitted "environment_admitted" Operator about |_e| "environment".to_owned();
    /// Its generation rose.
    GenerationRaised "generation_raised" Operator about |_e| "environment".to_owned();
    /// What a session, or the operator, can see changed (C-08).
    CatalogueChanged "catalogue_changed" Operator about |e| e.session.map_or_else(|| "environment".to_owned(), |s| s.to_string());
    /// The rules changed.
    PolicyReplaced "policy_replaced" Operator about |_e| "policy".to_owned();
    /// A stage was switched.
    StageSwitched "stage_switched" Operator about |_e| "stages".to_owned();
    /// Late-bound writes were accepted (C-54).
    WriteGateAccepted "write_gate_accepted" Operator about |_e| "write_gate".to_owned();
    /// An aggregate budget or a rate was set.
    BudgetSet "budget_set" Operator about |_e| "budgets".to_owned();
    /// Authority was withdrawn.
    Revoked "revoked" Operator about |_e| "switches".to_owned();
    /// A switch was lifted; what it ended stays ended.
    RevocationLifted "revocation_lifted" Operator about |_e| "switches".to_owned();
    /// A session began.
    SessionOpened "session_opened" Operator about |e| e.session.to_string();
    /// A session ended.
    SessionClosed "session_closed" Operator about |e| e.session.to_string();
    /// A capability came to be known.
    CapabilityDiscovered "capability_discovered" Operator about |e| e.capability.to_string();
    /// Its descriptor was read.
    CapabilityDescribed "capability_described" Operator about |e| e.capability.to_string();
    /// It was validated, probed, accepted or rejected.
    CapabilityMoved "capability_moved" Operator about |e| e.capability.to_string();
    /// It was looked at again and is as it was.
    CapabilityObserved "capability_observed" Operator about |e| e.capability.to_string();
    /// It goes back to validation, because a binding of it could not be trusted any more.
    CapabilityRevalidated "capability_revalidated" Operator about |e| e.capability.to_string();
    /// A person looked at it.
    CapabilityReviewed "capability_reviewed" Operator about |e| e.capability.to_string();
    /// An observation was stored.
    EvidenceRecorded "evidence_recorded" Operator about |e| e.capability.to_string();
    /// A discovery operation was served or refused (R-769 … ).
    OperationServed "operation_served" Model about |e| e.capability.as_ref().map_or_else(|| "catalogue".to_owned(), ToString::to_string);
    /// A binding was opened.
    BindingOpened "binding_opened" Model about |e| e.binding.to_string();
    /// Its lease was prolonged.
    BindingRenewed "binding_renewed" Operator about |e| e.binding.to_string();
    /// It was pinned anew.
    BindingRefreshed "binding_refreshed" Operator about |e| e.binding.to_string();
    /// It ended.
    BindingMoved "binding_moved" Model about |e| e.binding.to_string();
    /// A binding was refused.
    BindRefused "bind_refused" Model about |e| e.capability.to_string();
    /// A call was refused before policy let it start.
    CallRefused "call_refused" Model about |e| e.call.to_string();
    /// Policy said ask, or deny.
    CallDecided "call_decided" Model about |e| e.call.to_string();
    /// Policy said allow; everything was claimed; the call starts when this is durable.
    CallIntent "call_intent" Model about |e| e.call.to_string();
    /// How it ended.
    CallOutcome "call_outcome" Model about |e| e.call.to_string();
    /// Nobody knows how it ended (I17).
    CallUncertain "call_uncertain" Model about |e| e.call.to_string();
    /// A person found out.
    CallReconciled "call_reconciled" Operator about |e| e.call.to_string();
    /// An embedder's hook said no.
    HookVetoed "hook_vetoed" Operator about |e| e.call.to_string();
    /// A result was withheld, because it could not be screened or must not be seen.
    ScreeningWithheld "screening_withheld" Operator about |e| e.call.to_string();
    /// A question to the operator was made.
    ProposalMade "proposal_made" Model about |e| e.proposal.to_string();
    /// An operator said yes.
    ProposalApproved "proposal_approved" Operator about |e| e.proposal.to_string();
    /// An operator said no.
    ProposalDenied "proposal_denied" Operator about |e| e.proposal.to_string();
    /// Its time ended.
    ProposalExpired "proposal_expired" Operator about |e| e.proposal.to_string();
    /// What it was about changed.
    ProposalVoided "proposal_voided" Operator about |e| e.proposal.to_string();
    /// An agent was registered, or registered anew.
    AgentRegistered "agent_registered" Operator about |e| e.agent.to_string();
    /// A workspace was registered.
    WorkspaceRegistered "workspace_registered" Operator about |e| e.workspace.to_string();
    /// A run was created.
    RunCreated "run_created" Model about |e| e.run.to_string();
    /// A run moved.
    RunMoved "run_moved" Model about |e| e.run.to_string();
}
