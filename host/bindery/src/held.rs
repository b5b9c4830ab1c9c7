//! What the host holds beside the ledger: values that no record could give back.
//!
//! Rule: none of this is authority. A scope here counts only while the ledger says
//! that its binding is bound; after a restart there is none.

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery_grants::Signature;
use bindery_ledger::Actor;
use bindery_policy::{GrantKind, Need, Registration, Scope, Session, SessionSpec};
use bindery_types::{
    BindingHandle, Budget, Digest, GrantName, Import, Moment, Risk, Satisfier, Shape,
    SideEffectClass,
};

use crate::drawn::AllDrawn;
use crate::runs::Planned;

/// An open session.
pub(crate) struct Opened {
    /// What it was opened with: its lists are resolved again when the catalogue changes.
    pub(crate) spec: SessionSpec,
    pub(crate) session: Session,
    pub(crate) actor: Actor,
    pub(crate) expires_at: Moment,
    /// What it draws from, by the keys of the ledger.
    pub(crate) drawn: Arc<AllDrawn>,
    /// The run that its calls are actions of.
    pub(crate) run: Planned,
}

/// A binding's scope and limits.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) scope: Arc<Scope>,
    /// As the ledger has it: approvals are bound to it.
    pub(crate) scope_digest: Digest,
    pub(crate) budget: Arc<Budget>,
    pub(crate) risk: Risk,
    pub(crate) side_effect: SideEffectClass,
    pub(crate) lease_until: Moment,
    /// What answers the imports of it that are interfaces of other components.
    pub(crate) callees: Callees,
}

/// Bindings of other components, by the interface and the function that is imported.
pub(crate) type Callees = BTreeMap<(String, String), Callee>;

/// A binding through which a component calls another.
#[derive(Clone, Debug)]
pub(crate) struct Callee {
    pub(crate) handle: BindingHandle,
    /// The grant that lends it.
    pub(crate) grant: GrantName,
    pub(crate) signature: Arc<Signature>,
}

/// What a component needs to be granted, and the worst that its imports make possible.
pub(crate) struct Powers {
    pub(crate) needs: Vec<Need>,
    pub(crate) possible: SideEffectClass,
    /// How it came to be callable: the operator's word at its admission (C-51).
    pub(crate) registration: Registration,
}

impl Powers {
    /// Of a component that the operator registered for one command: what it may reach was
    /// said with it, so nothing else is needed of policy; an import that nobody granted is
    /// the sandbox's to refuse, by its name.
    pub(crate) fn registered(shape: &Shape) -> Self {
        let mut powers = Self::of(shape, Registration::Static);
        for need in &mut powers.needs {
            need.required = false;
        }
        powers
    }

    /// Read off the imports (C-57): what the binary lists, granted or not.
    pub(crate) fn of(shape: &Shape, registration: Registration) -> Self {
        let mut needs: Vec<Need> = Vec::new();
        for import in &shape.imports {
            let Some(need) = need(import) else { continue };
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        let possible = needs.iter().map(|need| worst(need.kind));
        let possible = possible.fold(SideEffectClass::None, bindery_policy::graver);
        Self {
            needs,
            possible,
            registration,
        }
    }
}

/// What an import needs. WASI's own interfaces are inert without a grant (C-46), so they
/// are not required; whether they need to write is the grant's to say.
fn need(import: &Import) -> Option<Need> {
    if matches!(import.satisfier, Satisfier::Unknown { .. }) {
        // Without one, the call names every import that is missing (U3).
        return Some(Need {
            kind: GrantKind::Binding,
            required: false,
            write: false,
        });
    }
    let (kind, required) = match import.name.path() {
        "wasi:filesystem/types" | "wasi:filesystem/preopens" => (GrantKind::Directory, false),
        "wasi:http/outgoing-handler" => (GrantKind::Endpoint, false),
        "wasi:keyvalue/store" | "wasi:keyvalue/atomics" | "wasi:keyvalue/batch" => {
            (GrantKind::Store, true)
        }
        "wasi:config/store" => (GrantKind::Config, true),
        _ => return None,
    };
    Some(Need {
        kind,
        required,
        write: false,
    })
}

/// The gravest class that a grant of this kind can have (C-62).
fn worst(kind: GrantKind) -> SideEffectClass {
    match kind {
        GrantKind::Directory => SideEffectClass::UserContent,
        GrantKind::Endpoint => SideEffectClass::ExternalSend,
        GrantKind::Store => SideEffectClass::LocalState,
        GrantKind::Config
        | GrantKind::Secret
        | GrantKind::Clock
        | GrantKind::Random
        | GrantKind::Log
        | GrantKind::Binding => SideEffectClass::None,
    }
}
