//! Binding a component that calls others: each of them is bound, too, or none is.
//!
//! Rule (R-655, R-663, R-674, I42): a grant of kind `binding` names a capability; it answers
//! the import that it exports, at exactly that version and with equal types. What it may do
//! is decided like any binding of the session, by its own rules; the caller lends it nothing.
//! No capability is reached twice on one way, so no chain comes back to where it was.

use std::sync::Arc;

use bindery_grants::Signature;
use bindery_ledger::event::BindingOpened;
use bindery_policy::document::grants::Resource;
use bindery_policy::{Grant, Ruling, Slice, Stage};
use bindery_sandbox::LoadedComponent;
use bindery_types::{
    BindingHandle, CapabilityId, ErrorType, GrantName, InterfaceName, Moment, Refusal, Risk,
    Satisfier,
};

use crate::bind::{BindRequest, Found};
use crate::clock::random;
use crate::governor::Current;
use crate::held::{Callee, Callees, Held};
use crate::session::Session;

/// Bindings that one binding may bring with it.
const BINDINGS_MAX: usize = 64;

/// A binding that is to be opened.
pub(crate) struct Planned {
    pub(crate) handle: BindingHandle,
    pub(crate) capability: CapabilityId,
    pub(crate) event: BindingOpened,
    pub(crate) held: Held,
}

/// An import of a component with the capability that a grant names for it.
struct Wanted {
    interface: InterfaceName,
    function: String,
    capability: CapabilityId,
    /// That names it.
    grant: GrantName,
    signature: Arc<Signature>,
}

impl Session {
    /// The bindings that `grant` comes to: those of what it calls, then its own.
    ///
    /// # Errors
    ///
    /// `dependency_missing` for a callee that does not fit or may not be bound, with the
    /// reason for the operator; `stage_disabled` where composition is off.
    pub(crate) fn planned(&self, found: &Found, grant: &Grant) -> Result<Vec<Planned>, Refusal> {
        let mut plan = Plan {
            session: self,
            way: Vec::new(),
            made: Vec::new(),
        };
        plan.add(found, grant)?;
        Ok(plan.made)
    }

    /// A binding and all those that were opened for it. What was narrowed has those of the
    /// binding that it was narrowed from, and gives back none of them.
    pub(crate) fn with_callees(&self, handle: BindingHandle) -> Vec<BindingHandle> {
        let parent = self.governor.look(|state| state.binding(handle)?.parent);
        if parent.flatten().is_some() {
            return vec![handle];
        }
        let current = self.governor.read();
        let mut all = vec![handle];
        let mut next = 0;
        while let Some(handle) = all.get(next) {
            let held = current.bindings.get(handle);
            let below: Vec<_> = held
                .into_iter()
                .flat_map(|held| held.callees.values().map(|callee| callee.handle))
                .collect();
            all.extend(below);
            next += 1;
        }
        // One that has ended already cannot be given back.
        let live = self.governor.look(|state| {
            let bound =
                |handle: &BindingHandle| state.binding(*handle).is_some_and(|b| b.ended.is_none());
            all.iter().copied().filter(bound).collect::<Vec<_>>()
        });
        live.unwrap_or_default()
    }

    /// what a component calls is still there, or it does not start.
    ///
    /// # Errors
    ///
    /// The word for what became of the first that is not.
    pub(crate) fn callees_stand(&self, held: &Held, now: Moment) -> Result<(), Refusal> {
        for ((interface, function), callee) in &held.callees {
            let bound = self
                .governor
                .look(|state| state.bound(callee.handle, self.id, now).map(|_| ()));
            if let Some(Err(rejection)) = bound {
                let name = format!("{interface}#{function}");
                return Err(rejection.refusal().with("nested", name));
            }
        }
        Ok(())
    }
}

/// Bindings under way, and the capabilities between the first one and here.
struct Plan<'a> {
    session: &'a Session,
    way: Vec<CapabilityId>,
    made: Vec<Planned>,
}

impl Plan<'_> {
    fn add(&mut self, found: &Found, grant: &Grant) -> Result<(BindingHandle, Risk), Refusal> {
        let capability = grant.capability().clone();
        if self.way.contains(&capability) {
            let way: Vec<&str> = self.way.iter().map(CapabilityId::as_str).collect();
            let way = way.join(" → ");
            return Err(missing(format!(
                "`{capability}` would call itself: {way} → {capability}"
            )));
        }
        self.way.push(capability.clone());
        let (mut callees, mut risk) = (Callees::new(), grant.risk());
        for wanted in self.wanted(grant)? {
            let (handle, of_callee) = self.callee(&wanted)?;
            // what it calls is part of what it can do.
            risk = risk.max(of_callee);
            let callee = Callee {
                handle,
                grant: wanted.grant,
                signature: wanted.signature,
            };
            let import = (wanted.interface.as_str().to_owned(), wanted.function);
            callees.insert(import, callee);
        }
        self.way.pop();
        if self.made.len() >= BINDINGS_MAX {
            return Err(missing(format!(
                "it would take more than {BINDINGS_MAX} bindings"
            )));
        }
        let handle = BindingHandle::from_random(random()?);
        let (event, held) = self.session.open(handle, (grant, found), (callees, risk))?;
        self.made.push(Planned {
            handle,
            capability,
            event,
            held,
        });
        Ok((handle, risk))
    }

    fn callee(&mut self, wanted: &Wanted) -> Result<(BindingHandle, Risk), Refusal> {
        let governor = &self.session.governor;
        let request = {
            let current = governor.read();
            let row = current.catalogue.get(&wanted.capability);
            BindRequest {
                descriptor: row.map(|row| row.descriptor.digest()),
                implementation: row.map(|row| row.descriptor.implementation_digest()),
                ..BindRequest::default()
            }
        };
        let found = self.session.decide_bind(&wanted.capability, &request)?;
        let Ruling::Allow(grant) = &found.decision.ruling else {
            let why = found.decision.refusal();
            let why = why.map(|why| format!("{}: {:?}", why.kind(), why.operator()));
            return Err(missing(format!(
                "`{}` may not be bound here: {}",
                wanted.capability,
                why.unwrap_or_default()
            )));
        };
        self.add(&found, grant)
    }

    /// The imports that a grant names a capability for. What no grant names is left to the
    /// call, which tells all that is missing together (U3).
    fn wanted(&self, grant: &Grant) -> Result<Vec<Wanted>, Refusal> {
        let current = self.session.governor.read();
        let Some(caller) = current.loaded.get(&grant.implementation()) else {
            return Err(missing("its code is not loaded".to_owned()));
        };
        let mut wanted = Vec::new();
        for import in &caller.shape().imports {
            if !matches!(import.satisfier, Satisfier::Unknown { .. }) {
                continue;
            }
            let mut slices = grant.scope().slices();
            let lends = slices.any(|(_, slice)| matches!(slice, Slice::Binding));
            if lends && caller.imports_resource(&import.name) {
                let why = format!(
                    "`{}` has a resource, and resources do not pass between components",
                    import.name
                );
                return Err(missing(why.clone()).with("reason", why));
            }
            for function in &import.functions {
                let import = (&import.name, function.as_str());
                wanted.extend(named(&current, grant, caller, import)?);
            }
        }
        if !wanted.is_empty() {
            let opened = self.session.opened()?;
            opened.session.stages().require(Stage::Composition)?;
        }
        Ok(wanted)
    }
}

/// The capability that a grant of the scope names for one import, if one does.
fn named(
    current: &Current,
    grant: &Grant,
    caller: &LoadedComponent,
    (interface, function): (&InterfaceName, &str),
) -> Result<Option<Wanted>, Refusal> {
    let grants = &current.policy.document().grants;
    for (name, slice) in grant.scope().slices() {
        let resource = grants.get(name).map(|entry| &entry.resource);
        let (Slice::Binding, Some(Resource::Binding { capability })) = (slice, resource) else {
            continue;
        };
        let Some(row) = current.catalogue.get(capability) else {
            continue;
        };
        let callee = current.loaded.get(&row.descriptor.implementation_digest());
        let callee = callee.ok_or_else(|| missing(format!("`{capability}` is not loaded")))?;
        let shape = callee.shape();
        let mut functions = shape.functions.iter();
        let found = functions.find(|known| {
            let there = known.name.interface();
            known.name.is(row.descriptor.function())
                && there.is_some_and(|there| there.path() == interface.path())
                && known.name.function() == function
        });
        let Some(found) = found else { continue };
        caller
            .fits((interface, function), callee, &found.name)
            .map_err(|misfit| missing(misfit.to_string()).with("reason", misfit.to_string()))?;
        return Ok(Some(Wanted {
            interface: interface.clone(),
            function: function.to_owned(),
            capability: capability.clone(),
            grant: name.clone(),
            signature: Arc::new(Signature {
                function: found.clone(),
                types: Arc::clone(&shape.types),
            }),
        }));
    }
    Ok(None)
}

fn missing(why: String) -> Refusal {
    let text = "a component that it calls cannot be bound for it";
    Refusal::new(ErrorType::DependencyMissing, text).for_operator(why)
}
