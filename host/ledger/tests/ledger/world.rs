//! A small world for tests: one environment, two principals, capabilities that write and
//! that read, and a word for each thing that can be done in it.
#![allow(dead_code, reason = "each test binary uses its part of the words")]

use std::collections::BTreeMap;

use bindery_ledger::event::*;
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_types::*;
use serde_json::json;

pub(crate) use crate::names::*;

pub(crate) struct World<J: Journal> {
    pub(crate) journal: J,
    pub(crate) now: u64,
    pub(crate) generation: u64,
    pub(crate) policy: Digest,
    pub(crate) catalogue: Digest,
}

pub(crate) type Done = Result<u64, JournalError>;

impl World<Memory> {
    pub(crate) fn new() -> Self {
        let mut world = Self::over(Memory::default());
        world.found();
        world
    }
}

impl<J: Journal> World<J> {
    pub(crate) fn over(journal: J) -> Self {
        Self {
            journal,
            now: START,
            generation: 1,
            policy: digest("policy 1"),
            catalogue: digest("catalogue 1"),
        }
    }

    /// Admits the environment and makes both capabilities bindable, in one batch.
    pub(crate) fn found(&mut self) {
        let founding = self.founding();
        self.journal.append(founding, Vec::new()).unwrap();
    }

    pub(crate) fn founding(&self) -> Vec<Entry> {
        let gate = WriteGateAccepted {
            evidence: line("the operator says so"),
        };
        let mut entries = vec![
            self.operator_entry(None, self.admitted(1)),
            self.operator_entry(None, gate),
        ];
        let valid = Lifecycle::StructurallyValid;
        for (n, name) in [(1, "writer"), (2, "reader")] {
            let proof = self.evidence_about(n, name, EvidenceKind::Reflected);
            entries.extend([
                self.operator_entry(None, self.discovered(name)),
                self.operator_entry(None, self.described(name)),
                self.operator_entry(None, proof),
                self.operator_entry(None, self.moved(name, n, Lifecycle::Described, valid)),
                self.operator_entry(None, self.moved(name, n, valid, Lifecycle::Bindable)),
            ]);
        }
        entries
    }

    pub(crate) fn moment(&self) -> Moment {
        Moment::from_unix_ms(self.now)
    }

    pub(crate) fn in_ms(&self, ms: u64) -> Moment {
        self.moment().after_ms(ms)
    }

    pub(crate) fn entry(
        &self,
        actor: (&Principal, Rights),
        session: Option<SessionId>,
        event: impl Into<Event>,
    ) -> Entry {
        Entry {
            actor: Actor {
                principal: actor.0.clone(),
                rights: actor.1,
            },
            basis: Basis::Observed,
            event: event.into(),
            follows: None,
            moment: self.moment(),
            operation: Operation::Call,
            provider: "native".parse().unwrap(),
            reason: line("a test"),
            session,
        }
    }

    pub(crate) fn operator_entry(&self, session: Option<u64>, event: impl Into<Event>) -> Entry {
        let operator = "operator".parse().unwrap();
        self.entry(
            (&operator, Rights::Operator),
            session.map(self::session),
            event,
        )
    }

    pub(crate) fn model_entry(&self, session: u64, event: impl Into<Event>) -> Entry {
        let who = principal_of(session);
        self.entry((&who, Rights::Model), Some(self::session(session)), event)
    }

    pub(crate) fn write(&self, entry: Entry) -> Done {
        self.journal.append(vec![entry], Vec::new())
    }

    pub(crate) fn operator(&self, event: impl Into<Event>) -> Done {
        self.write(self.operator_entry(None, event))
    }

    pub(crate) fn operator_in(&self, session: u64, event: impl Into<Event>) -> Done {
        self.write(self.operator_entry(Some(session), event))
    }

    pub(crate) fn model(&self, session: u64, event: impl Into<Event>) -> Done {
        self.write(self.model_entry(session, event))
    }

    pub(crate) fn state(&self) -> State {
        let mut state = State::default();
        self.journal.look(&mut |current| state = current.clone());
        state
    }

    pub(crate) fn admitted(&self, generation: u64) -> EnvironmentAdmitted {
        EnvironmentAdmitted {
            environment: "test".parse().unwrap(),
            tenant: "acme".parse().unwrap(),
            generation,
            catalog_version: self.catalogue,
            policy_version: self.policy,
            providers: vec!["native".parse().unwrap()],
            expires_at: self.in_ms(100_000 * MINUTE),
        }
    }

    pub(crate) fn admit(&mut self, generation: u64) -> Done {
        self.generation = generation;
        self.operator(self.admitted(generation))
    }

    pub(crate) fn raise(&mut self) -> Done {
        let done = self.operator(GenerationRaised {
            from: self.generation,
            to: self.generation + 1,
            raised_by: RaisedBy::ProviderSet,
            tenant: "acme".parse().unwrap(),
            providers: vec!["native".parse().unwrap(), "other".parse().unwrap()],
            expires_at: self.in_ms(100_000 * MINUTE),
        })?;
        self.generation += 1;
        Ok(done)
    }

    pub(crate) fn replace_policy(&mut self, name: &str) -> Done {
        let done = self.operator(PolicyReplaced {
            from: self.policy,
            to: digest(name),
        })?;
        self.policy = digest(name);
        Ok(done)
    }

    pub(crate) fn discovered(&self, name: &str) -> CapabilityDiscovered {
        CapabilityDiscovered {
            capability: capability(name),
            environment: "test".parse().unwrap(),
            environment_generation: self.generation,
            catalog_version: self.catalogue,
            source: SourceKind::HostRegistry,
            origin_ref: line("registry"),
            provider: "native".parse().unwrap(),
            family: ProviderFamily::Native,
            last_observed_at: self.moment(),
            expires_at: self.in_ms(10_000 * MINUTE),
        }
    }

    pub(crate) fn discover(&self, name: &str) -> Done {
        self.operator(self.discovered(name))
    }

    pub(crate) fn described(&self, name: &str) -> CapabilityDescribed {
        let reads = name == "reader";
        CapabilityDescribed {
            capability: capability(name),
            descriptor_digest: digest(&format!("descriptor of {name}")),
            implementation_version: line("1.0.0"),
            input_schema_ref: digest("input"),
            output_schema_ref: digest("output"),
            dependencies: Vec::new(),
            execution_state: ExecutionState::Available,
            risk_class: if reads { Risk::ReadOnly } else { Risk::Write },
            risk_possible: Risk::Write,
            side_effect_class: if reads {
                SideEffectClass::None
            } else {
                SideEffectClass::LocalState
            },
            resource_scope: summary(json!({"store": "notes"})),
            authentication_requirements: Vec::new(),
            trust_status: TrustStatus::HostVerified,
        }
    }

    pub(crate) fn describe(&self, name: &str) -> Done {
        self.operator(self.described(name))
    }

    pub(crate) fn record_evidence(&self, n: u64, name: &str) -> Done {
        self.operator(self.evidence_about(n, name, EvidenceKind::Reflected))
    }

    pub(crate) fn evidence_about(
        &self,
        n: u64,
        name: &str,
        kind: EvidenceKind,
    ) -> EvidenceRecorded {
        EvidenceRecorded {
            evidence: evidence(n),
            capability: capability(name),
            kind,
            digest: digest("an observation"),
            verdict: summary(json!("holds")),
            confidence_permille: None,
            fresh_until: self.in_ms(10_000 * MINUTE),
        }
    }

    pub(crate) fn moved(
        &self,
        name: &str,
        proof: u64,
        from: Lifecycle,
        to: Lifecycle,
    ) -> CapabilityMoved {
        CapabilityMoved {
            capability: capability(name),
            from,
            to,
            evidence: vec![evidence(proof)],
            catalog_version: self.catalogue,
            policy_version: self.policy,
        }
    }

    pub(crate) fn move_to(&self, name: &str, proof: u64, from: Lifecycle, to: Lifecycle) -> Done {
        self.operator(self.moved(name, proof, from, to))
    }

    pub(crate) fn opened_session(&self, n: u64) -> SessionOpened {
        SessionOpened {
            session: session(n),
            environment: "test".parse().unwrap(),
            generation: self.generation,
            principal: principal_of(n),
            rights: Rights::Model,
            tenant: "acme".parse().unwrap(),
            agent: "helper".parse().unwrap(),
            archetype: "default".parse().unwrap(),
            mode: PermissionMode::SafeEdit,
            configuration: digest("configuration"),
            catalog_version: digest("seen 1"),
            policy_version: self.policy,
            stages: vec![1, 2, 3, 4, 6, 7],
            expires_at: self.in_ms(1_000 * MINUTE),
        }
    }

    pub(crate) fn open_session(&self, n: u64) -> Done {
        self.operator_in(n, self.opened_session(n))
    }

    pub(crate) fn close_session(&self, n: u64) -> Done {
        self.operator_in(
            n,
            SessionClosed {
                session: session(n),
                end: SessionEnd::Completed,
            },
        )
    }

    pub(crate) fn decision(&self, verdict: Verdict, requirement: ApprovalRequirement) -> Decision {
        Decision {
            verdict,
            axis: line("mode"),
            rule: Some(digest("rule")),
            policy_version: self.policy,
            requirement,
            risk: Risk::Write,
            trace: summary(json!([{"axis": "mode", "verdict": verdict.as_str()}])),
        }
    }

    pub(crate) fn allow(&self) -> Decision {
        self.decision(Verdict::Allow, ApprovalRequirement::NoApproval)
    }

    pub(crate) fn pins(&self, session: u64, name: &str, lease_ms: u64) -> Pins {
        let described = self.described(name);
        Pins {
            environment: "test".parse().unwrap(),
            environment_generation: self.generation,
            catalog_version: digest("seen 1"),
            capability: capability(name),
            descriptor_digest: described.descriptor_digest,
            input_schema_ref: described.input_schema_ref,
            output_schema_ref: described.output_schema_ref,
            dependencies: Vec::new(),
            principal: principal_of(session),
            tenant: "acme".parse().unwrap(),
            resource_scope: described.resource_scope,
            authentication_mode: line("none"),
            operation_scope: summary(json!(["go"])),
            data_scope: summary(json!({"rows": 10})),
            risk: described.risk_class,
            side_effect_class: described.side_effect_class,
            policy_version: self.policy,
            approval: None,
            lease_until: self.in_ms(lease_ms),
        }
    }

    pub(crate) fn opened(&self, n: u64, session: u64, name: &str, lease_ms: u64) -> BindingOpened {
        BindingOpened {
            binding: binding(n),
            session: self::session(session),
            parent: None,
            route: Route::LateBound,
            pins: self.pins(session, name, lease_ms),
            decision: self.allow(),
        }
    }

    pub(crate) fn bind(&self, n: u64, session: u64, name: &str) -> Done {
        self.model(session, self.opened(n, session, name, 10 * MINUTE))
    }

    pub(crate) fn release(&self, n: u64, session: u64) -> Done {
        self.model(
            session,
            BindingMoved {
                binding: binding(n),
                to: Lifecycle::Released,
                trigger: Trigger::ReleaseRequested,
            },
        )
    }

    pub(crate) fn end_binding(
        &self,
        n: u64,
        session: u64,
        to: Lifecycle,
        trigger: Trigger,
    ) -> Done {
        let binding = binding(n);
        self.operator_in(
            session,
            BindingMoved {
                binding,
                to,
                trigger,
            },
        )
    }

    pub(crate) fn revoke(&self, target: Target) -> Done {
        self.operator(Revoked { target })
    }

    pub(crate) fn intent(&self, n: u64, session: u64, under: u64, name: &str) -> CallIntent {
        CallIntent {
            call: call(n),
            session: self::session(session),
            binding: binding(under),
            parent: None,
            run: None,
            step: 0,
            capability: capability(name),
            effectful: if name == "reader" {
                Effectful::ReadOnly
            } else {
                Effectful::Effects
            },
            arguments: digest("arguments"),
            input: summary(json!({"note": "…"})),
            decision: self.allow(),
            reserve: BTreeMap::from([(Meter::Calls, 1)]),
            approval: None,
            idempotency: None,
            asked_at: self.moment(),
            decided_at: self.moment(),
        }
    }

    pub(crate) fn start(&self, n: u64, session: u64, under: u64, name: &str) -> Done {
        self.model(session, self.intent(n, session, under, name))
    }

    pub(crate) fn keyed(&self, intent: CallIntent, key: &str, ttl_ms: u64) -> CallIntent {
        CallIntent {
            idempotency: Some(Idempotent {
                key: key.parse().unwrap(),
                expires_at: self.in_ms(ttl_ms),
            }),
            ..intent
        }
    }

    pub(crate) fn outcome(&self, n: u64, end: CallEnd, error: Option<ErrorType>) -> CallOutcome {
        CallOutcome {
            call: call(n),
            end,
            error,
            message: None,
            spent: BTreeMap::from([(Meter::Calls, 1)]),
            output: Some(OutputRef {
                digest: digest("\"done\""),
                bytes: 6,
            }),
            receipt: Some(digest("receipt")),
            effects: vec![Effect {
                kind: EffectKind::StoreWrite,
                resource: "notes/1".to_owned(),
                bytes: 3,
                at_fuel: 7,
            }],
            effects_dropped: 0,
        }
    }

    pub(crate) fn succeed(&self, n: u64, session: u64) -> Done {
        self.model(session, self.outcome(n, CallEnd::Succeeded, None))
    }

    pub(crate) fn lose(&self, n: u64, session: u64, doubt: Doubt) -> Done {
        self.operator_in(
            session,
            CallUncertain {
                call: call(n),
                doubt,
                effects: Vec::new(),
                effects_dropped: 0,
            },
        )
    }

    pub(crate) fn reconcile(&self, n: u64, finding: Finding) -> Done {
        self.operator(CallReconciled {
            call: call(n),
            finding,
            evidence: line("the other side's log"),
        })
    }

    pub(crate) fn asked(
        &self,
        n: u64,
        session: u64,
        under: u64,
        name: &str,
        requirement: ApprovalRequirement,
    ) -> ProposalMade {
        let pins = self.pins(session, name, MINUTE);
        ProposalMade {
            proposal: proposal(n),
            call: Some(call(1_000 + n)),
            binding: Some(binding(under)),
            session: self::session(session),
            principal: principal_of(session),
            tenant: "acme".parse().unwrap(),
            run: None,
            archetype: "default".parse().unwrap(),
            capability: capability(name),
            descriptor_digest: pins.descriptor_digest,
            arguments: digest("arguments"),
            scope_digest: pins.scope_digest(),
            environment_generation: self.generation,
            policy_version: self.policy,
            requirement,
            risk: Risk::Write,
            side_effect_class: SideEffectClass::LocalState,
            summary: summary(json!({"expected": "one note is written"})),
            evidence: vec![evidence(if name == "writer" { 1 } else { 2 })],
            expires_at: self.in_ms(5 * MINUTE),
        }
    }

    pub(crate) fn approve(&self, n: u64) -> Done {
        self.operator(ProposalApproved {
            proposal: proposal(n),
        })
    }

    /// An intent that uses an approval.
    pub(crate) fn approved(
        &self,
        intent: CallIntent,
        n: u64,
        requirement: ApprovalRequirement,
    ) -> CallIntent {
        CallIntent {
            approval: Some(proposal(n)),
            decision: self.decision(Verdict::Allow, requirement),
            ..intent
        }
    }

    pub(crate) fn budget(
        &self,
        scope: BudgetScope,
        meter: Meter,
        window_ms: Option<u64>,
        limit: u64,
    ) -> Done {
        self.operator(BudgetSet {
            bucket: BucketKey {
                scope,
                meter,
                window_ms,
            },
            limit: Some(limit),
        })
    }
}

/// The rejection behind an answer.
pub(crate) fn rejected(done: Done) -> Rejection {
    match done {
        Err(JournalError::Rejected(rejection)) => rejection,
        other => panic!("not rejected: {other:?}"),
    }
}
