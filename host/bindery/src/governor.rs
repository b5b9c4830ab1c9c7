//! What every verb works on: one catalogue, one policy, one ledger, one sandbox.
//!
//! Rule: policy decides, the ledger remembers, the sandbox runs; this only carries values
//! between them. What a verb looked at is looked at again by the ledger when it claims, so
//! nothing has to be held while something else is waited for (I8, I11).

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bindery_catalogue::{Catalogue, Entry as Row, Seen, public_names};
use bindery_ledger::event::Event;
use bindery_ledger::words::{Basis, Operation};
use bindery_ledger::{Actor, Entry, Journal, JournalError, Kept, Line, Lost, State};
use bindery_policy::{Document, KnownNames, Missing, Policy};
use bindery_sandbox::{LoadedComponent, Sandbox};
use bindery_types::{
    BindingHandle, CapabilityId, Digest, ErrorType, Principal, Provider, Refusal, Rights, SessionId,
};

use crate::clock::HostClock;
use crate::held::{Held, Opened, Powers};
use crate::hooks::Hooks;
use crate::resources::Resources;
use crate::running::Running;
use crate::screening::Screening;

/// Everything the verbs share.
pub(crate) struct Governor {
    pub(crate) sandbox: Sandbox,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) clock: HostClock,
    pub(crate) lost: Arc<Lost>,
    /// In whose name the host itself writes.
    pub(crate) host: Actor,
    /// The provider of what is the host's own.
    pub(crate) own: Provider,
    /// Calls that run, and how each is ended.
    pub(crate) running: Running,
    /// What every call passes beside policy.
    pub(crate) guards: Guards,
    /// One change of catalogue or policy at a time.
    turn: tokio::sync::Mutex<()>,
    /// Guards what is current; never held over an await.
    current: RwLock<Current>,
}

/// What an embedder puts around calls.
#[derive(Clone, Default)]
pub(crate) struct Guards {
    pub(crate) hooks: Hooks,
    pub(crate) screening: Option<Arc<dyn Screening>>,
}

/// What is current. Parts are behind `Arc`, so that a verb takes them and lets go.
pub(crate) struct Current {
    /// As it was given; the policy is made of it again when names change.
    pub(crate) document: Document,
    pub(crate) policy: Arc<Policy>,
    /// What stands behind the document's grants.
    pub(crate) resources: Arc<Resources>,
    pub(crate) catalogue: Catalogue,
    /// What each entry needs and could do, worked out at admission.
    pub(crate) powers: HashMap<CapabilityId, Arc<Powers>>,
    pub(crate) loaded: HashMap<Digest, LoadedComponent>,
    pub(crate) sessions: HashMap<SessionId, Arc<Opened>>,
    pub(crate) bindings: HashMap<BindingHandle, Arc<Held>>,
    /// The host's own bindings of the static registry, which nobody else sees (C-51).
    pub(crate) registered: HashMap<(SessionId, CapabilityId), BindingHandle>,
}

/// What a record says beside its event.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) actor: &'a Actor,
    pub(crate) session: Option<SessionId>,
    pub(crate) operation: Operation,
    pub(crate) basis: Basis,
    pub(crate) provider: &'a Provider,
    pub(crate) reason: &'a str,
}

impl Governor {
    pub(crate) fn new(
        sandbox: Sandbox,
        journal: Arc<dyn Journal>,
        resources: Resources,
        clock: HostClock,
        document: Document,
    ) -> Result<Self, Refusal> {
        let policy = compiled(&document, &KnownNames::default())?;
        let name = |text: &str| {
            let broken = |_| Refusal::new(ErrorType::Internal, "the host's own name is no name");
            text.parse::<Principal>().map_err(broken)
        };
        let own = "bindery".parse::<Provider>();
        Ok(Self {
            sandbox,
            journal,
            clock,
            lost: Arc::default(),
            host: Actor {
                principal: name("host")?,
                rights: Rights::Operator,
            },
            own: own
                .map_err(|_| Refusal::new(ErrorType::Internal, "the host's own name is no name"))?,
            running: Running::default(),
            guards: Guards::default(),
            turn: tokio::sync::Mutex::default(),
            current: RwLock::new(Current {
                document,
                policy: Arc::new(policy),
                resources: Arc::new(resources),
                catalogue: Catalogue::default(),
                powers: HashMap::new(),
                loaded: HashMap::new(),
                sessions: HashMap::new(),
                bindings: HashMap::new(),
                registered: HashMap::new(),
            }),
        })
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Current> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Current> {
        self.current.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What stands behind the grants now.
    pub(crate) fn resources(&self) -> Arc<Resources> {
        Arc::clone(&self.read().resources)
    }

    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// A record of `event`.
    pub(crate) fn entry(&self, told: &Told<'_>, event: impl Into<Event>) -> Entry {
        Entry {
            actor: told.actor.clone(),
            basis: told.basis,
            event: event.into(),
            follows: None,
            moment: self.clock.now(),
            operation: told.operation,
            provider: told.provider.clone(),
            reason: Line::cut(told.reason),
            session: told.session,
        }
    }

    /// What the host itself says about itself.
    pub(crate) fn own<'a>(&'a self, operation: Operation, reason: &'a str) -> Told<'a> {
        Told {
            actor: &self.host,
            session: None,
            operation,
            basis: Basis::Policy,
            provider: &self.own,
            reason,
        }
    }

    /// Records a batch, durably.
    ///
    /// # Errors
    ///
    /// When the ledger rejects it or cannot be written.
    pub(crate) async fn record(&self, batch: Vec<Entry>) -> Result<u64, JournalError> {
        self.record_with(batch, Vec::new()).await
    }

    /// The same, with results to be kept beside it.
    ///
    /// # Errors
    ///
    /// As [`Governor::record`].
    pub(crate) async fn record_with(
        &self,
        batch: Vec<Entry>,
        kept: Vec<Kept>,
    ) -> Result<u64, JournalError> {
        let journal = Arc::clone(&self.journal);
        // An append waits for the disk: on a thread that may.
        let append = tokio::task::spawn_blocking(move || journal.append(batch, kept));
        append.await.unwrap_or_else(|_| {
            Err(JournalError::Poisoned(
                "the writer was interrupted".to_owned(),
            ))
        })
    }

    /// What the ledger's state says.
    pub(crate) fn look<R>(&self, see: impl FnOnce(&State) -> R) -> Option<R> {
        let mut see = Some(see);
        let mut seen = None;
        self.journal.look(&mut |state| {
            if let Some(see) = see.take() {
                seen = Some(see(state));
            }
        });
        seen
    }
}

/// A policy out of `document`. Names that stand for nothing yet permit nothing yet: they
/// are looked up again at each admission, and are an error where a session begins.
pub(crate) fn compiled(document: &Document, names: &KnownNames) -> Result<Policy, Refusal> {
    let mut lenient = document.clone();
    lenient.names.missing = Missing::Warning;
    Ok(Policy::compile(lenient, names)?)
}

impl Current {
    /// Public names of everything there is, for lists in documents (C-49).
    pub(crate) fn names(&self) -> BTreeMap<CapabilityId, String> {
        names_of(&self.catalogue, &self.policy)
    }

    /// The registry-wide version: the operator's (architecture § 11).
    pub(crate) fn version(&self) -> Digest {
        version_of(&self.catalogue, &self.policy)
    }
}

pub(crate) fn names_of(catalogue: &Catalogue, policy: &Policy) -> BTreeMap<CapabilityId, String> {
    let ids = catalogue.entries().map(|row| row.descriptor.id());
    public_names(ids, policy.document().names.max_chars)
}

pub(crate) fn known_names(names: &BTreeMap<CapabilityId, String>) -> KnownNames {
    names.iter().map(|(id, name)| (name.as_str(), id)).collect()
}

/// Every entry counts, and the rules as a whole: an operator sees all of it.
pub(crate) fn version_of(catalogue: &Catalogue, policy: &Policy) -> Digest {
    catalogue.version(|_: &Row| {
        Some(Seen {
            invokable: true,
            policy: policy.version(),
        })
    })
}
