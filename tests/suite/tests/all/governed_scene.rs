//! What scenarios of the governed way stand on: a host with a document, what it opens, and
//! components that an operator admitted.

use std::sync::Arc;

use bindery::ledger::{Query, Record};
use bindery::policy::{Document, Registration, ScopeRequest, SessionSpec, Who};
use bindery::{
    Admission, BindRequest, Bound, CallOptions, CapabilityId, Host, HostBuilder, Outcome,
    PermissionMode, Refusal, Reply, Resources, Rights, Session, SessionId,
};
use bindery_types::ApprovalRequirement;
use serde_json::Value;

/// What every document of these scenarios begins with.
pub(crate) const FRAME: &str = r#"
[environment]
id = "scenario"
[mode]
default = "full_access"
ceiling = "full_access"
[stages]
preset = "full"
[agents.tester]
implementation_status = "active"
[agents.other]
implementation_status = "active"
"#;

/// A host with one open session of the agent `tester`.
pub(crate) struct Stand {
    pub(crate) host: Host,
    pub(crate) session: Session,
}

impl Stand {
    /// A host under the frame and `document`, with `resources` and what `build` adds.
    pub(crate) async fn new(
        document: &str,
        resources: Resources,
        build: impl FnOnce(HostBuilder) -> HostBuilder,
    ) -> Self {
        let document = Document::parse("bindery.toml", &format!("{FRAME}{document}"));
        let builder = Host::builder()
            .policy(document.unwrap_or_else(|faults| panic!("{faults}")))
            .resources(resources);
        let host = build(builder).build().unwrap();
        let session = host.session(spec(1, "tester")).await.unwrap();
        Self { host, session }
    }

    /// Admits `bytes` into the namespace `acme`, and opens a new session that sees it.
    pub(crate) async fn admit(&mut self, name: &str, bytes: impl Into<Arc<[u8]>>) {
        self.admit_as(Registration::LateBound, name, bytes).await;
    }

    /// The same, for sessions to find or to have from their beginning.
    pub(crate) async fn admit_as(
        &mut self,
        registration: Registration,
        name: &str,
        bytes: impl Into<Arc<[u8]>>,
    ) {
        let mut admission = Admission::by_operator("acme".parse().unwrap(), name);
        admission.contract.approval = Some(ApprovalRequirement::NoApproval);
        admission.registration = registration;
        let admitted = self.host.admit(bytes, admission).await;
        let admitted = admitted.unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
        for entry in admitted {
            assert!(entry.verdict.failure().is_none(), "{:?}", entry.verdict);
        }
    }

    /// The binding that the session gets, for `scope`.
    pub(crate) async fn bind(&self, id: &str, scope: Option<Value>) -> Result<Bound, Refusal> {
        bind(&self.host, &self.session, id, scope).await
    }

    /// Binds with the least scope and calls once.
    pub(crate) async fn call(&self, id: &str, arguments: &Value) -> Reply {
        let bound = self.bind(id, None).await.unwrap_or_else(|refusal| {
            panic!("{id}: {refusal:?}");
        });
        call(&self.session, &bound, arguments).await
    }

    /// Every record so far.
    pub(crate) fn records(&self) -> Vec<Record> {
        let all = Query::From {
            sequence: 1,
            count: 10_000,
        };
        self.host.records(&all).unwrap()
    }

    /// How many records there are of this kind.
    pub(crate) fn count(&self, kind: &str) -> usize {
        let records = self.records();
        let of = records.iter();
        of.filter(|record| record.entry.event.kind() == kind)
            .count()
    }

    /// The reasons of all records of this kind.
    pub(crate) fn reasons(&self, kind: &str) -> Vec<String> {
        let records = self.records();
        let of = records
            .iter()
            .filter(|record| record.entry.event.kind() == kind);
        of.map(|record| record.entry.reason.to_string()).collect()
    }
}

/// A session's six fields, for `agent`.
pub(crate) fn spec(number: u8, agent: &str) -> SessionSpec {
    SessionSpec {
        who: Who {
            session: SessionId::from_random([number; 16]),
            run: None,
            principal: "token:model".parse().unwrap(),
            rights: Rights::Model,
            tenant: "local".parse().unwrap(),
            agent: agent.parse().unwrap(),
            archetype: "default".parse().unwrap(),
        },
        mode: Some(PermissionMode::FullAccess),
        allow: None,
        deny: Vec::new(),
        project: None,
        stages: None,
    }
}

/// Binds `id` in `session`, by the digests of the catalogue.
pub(crate) async fn bind(
    host: &Host,
    session: &Session,
    id: &str,
    scope: Option<Value>,
) -> Result<Bound, Refusal> {
    let id: CapabilityId = id.parse().unwrap();
    let rows = host.catalogue();
    let row = rows.iter().find(|row| *row.descriptor.id() == id);
    let row = row.unwrap_or_else(|| {
        let there: Vec<String> = rows.iter().map(|r| r.descriptor.id().to_string()).collect();
        panic!("{id} is not among {there:?}")
    });
    let scope: Option<ScopeRequest> = scope.map(|scope| serde_json::from_value(scope).unwrap());
    let request = BindRequest {
        implementation: Some(row.descriptor.implementation_digest()),
        descriptor: Some(row.descriptor.digest()),
        scope,
        ..BindRequest::default()
    };
    session.bind(&id, &request).await
}

/// Calls through a binding.
pub(crate) async fn call(session: &Session, bound: &Bound, arguments: &Value) -> Reply {
    let handle = bound.handle.to_string();
    let options = CallOptions::default();
    session
        .call(&handle, &arguments.to_string(), &options)
        .await
}

/// The value of a call that has one.
pub(crate) fn value(reply: &Reply) -> Value {
    match &reply.run.outcome {
        Outcome::Value(json) => serde_json::from_str(json).unwrap(),
        other => panic!("no value: {other:?} {:?}", reply.run.denials),
    }
}

/// The refusal of a call that has one.
pub(crate) fn refusal(reply: &Reply) -> &Refusal {
    match &reply.run.outcome {
        Outcome::Refused(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// What the text of small components has in common: memory and an allocator.
const MEMORY: &str = r#"
    (core module $memory
        (memory (export "memory") 16)
        (global $next (mut i32) (i32.const 64))
        (func (export "realloc") (param i32 i32 i32) (param $bytes i32) (result i32)
            (local $at i32)
            (local.set $at (global.get $next))
            (global.set $next (i32.add (local.get $at)
                (i32.and (i32.add (local.get $bytes) (i32.const 7)) (i32.const -8))))
            (local.get $at)))
    (core instance $memory (instantiate $memory))"#;

/// A component that exports `say` of `interface`, from text to text, with this core code.
fn saying(interface: &str, parameter: &str, imports: &str, code: &str, with: &str) -> Vec<u8> {
    let text = format!(
        r#"(component {imports} {MEMORY}
            {with}
            (core instance $i (instantiate $m (with "memory" (instance $memory)) $also))
            (func $say (param "{parameter}" string) (result string)
                (canon lift (core func $i "say") (memory $memory "memory")
                    (realloc (func $memory "realloc"))))
            (instance $out (export "say" (func $say)))
            (export "{interface}" (instance $out)))"#
    );
    let also = match imports.is_empty() {
        true => "",
        false => r#"(with "other" (instance (export "say" (func $lowered))))"#,
    };
    let text = text.replace("$also", also).replace("$code", code);
    wat::parse_str(text).unwrap()
}

/// The core module of such a component.
const CORE: &str = r#"(core module $m
    (import "memory" "memory" (memory 1))
    (func (export "say") (param i32 i32) (result i32) $code))"#;

/// A component that gives back the text it is given, as `interface`#say.
pub(crate) fn echo_as(interface: &str, parameter: &str) -> Vec<u8> {
    let code = "(i32.store (i32.const 0) (local.get 0))
        (i32.store (i32.const 4) (local.get 1)) (i32.const 0)";
    saying(interface, parameter, "", code, CORE)
}

/// The same as `test:echo/echo@1.0.0#say`.
pub(crate) fn echo() -> Vec<u8> {
    echo_as("test:echo/echo@1.0.0", "text")
}

/// A component whose `say` never ends.
pub(crate) fn endless(interface: &str) -> Vec<u8> {
    saying(
        interface,
        "text",
        "",
        "(loop $on (br $on)) (unreachable)",
        CORE,
    )
}

/// A component whose `say` asks `say` of `other`, `times` times, and gives its last answer.
pub(crate) fn asking(interface: &str, other: &str, times: u32) -> Vec<u8> {
    let imports = format!(
        r#"(import "{other}" (instance $other
            (export "say" (func (param "text" string) (result string)))))
        (alias export $other "say" (func $other_say))"#
    );
    let core = r#"
        (core func $lowered (canon lower (func $other_say) (memory $memory "memory")
            (realloc (func $memory "realloc"))))
        (core module $m
            (import "memory" "memory" (memory 1))
            (import "other" "say" (func $other (param i32 i32 i32)))
            (func (export "say") (param i32 i32) (result i32) (local $left i32) $code))"#;
    let code = format!(
        "(local.set $left (i32.const {times}))
        (loop $again
            (call $other (local.get 0) (local.get 1) (i32.const 0))
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br_if $again (local.get $left)))
        (i32.const 0)"
    );
    saying(interface, "text", &imports, &code, core)
}
