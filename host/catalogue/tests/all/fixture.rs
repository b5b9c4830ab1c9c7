//! A capability without bytes: `acme:files/api#read-file(path: string) -> string`.

use std::sync::Arc;

use bindery_catalogue::{Classification, Contract, Descriptor, Entry, EntryKind, Origin};
use bindery_types::{
    Digest, ExecutionState, Function, FunctionName, Moment, Param, ProviderFamily, Risk, Shape,
    SideEffectClass, SourceKind, TrustStatus, Ty, TypeTableBuilder, ValidationStatus,
};

pub(crate) fn shape(function: &str) -> Shape {
    let mut types = TypeTableBuilder::new();
    let text = types.add(Ty::String);
    let interface = "demo:files/api@1.2.0".parse().unwrap();
    Shape {
        digest: Digest::of(b"the component"),
        size_bytes: 13,
        docs: None,
        producers: Vec::new(),
        functions: vec![Function {
            name: FunctionName::new(Some(interface), function).unwrap(),
            docs: Some("Gives a file. And more.".to_owned()),
            params: vec![Param {
                name: "path".into(),
                ty: text,
            }],
            result: Some(text),
            uncallable: None,
        }],
        imports: Vec::new(),
        types: Arc::new(types.finish()),
    }
}

pub(crate) fn origin() -> Origin {
    Origin {
        kind: SourceKind::HostRegistry,
        family: ProviderFamily::Extension,
        provider: "acme".parse().unwrap(),
        descriptor_ref: "files.wasm".to_owned(),
        implementation_ref: "files.wasm".to_owned(),
    }
}

pub(crate) fn descriptor(function: &str, contract: Contract, origin: Origin) -> Descriptor {
    let shape = shape(function);
    let namespace = "acme".parse().unwrap();
    Descriptor::of(
        (&namespace, "files"),
        &shape,
        &shape.functions[0],
        contract,
        origin,
    )
    .unwrap()
}

pub(crate) fn entry(descriptor: Descriptor) -> Entry {
    Entry {
        descriptor: Arc::new(descriptor),
        kind: EntryKind::Capability,
        execution_state: ExecutionState::Available,
        trust: TrustStatus::HostVerified,
        validation: ValidationStatus::Candidate,
        last_observed_at: Moment::from_unix_ms(1),
        expires_at: None,
    }
}

pub(crate) fn plain() -> Entry {
    entry(descriptor("read-file", Contract::default(), origin()))
}

pub(crate) fn harmless() -> Classification {
    Classification {
        risk_possible: Risk::WritesUserContent,
        risk: Risk::ReadOnly,
        side_effects: SideEffectClass::None,
        resources: vec!["source".to_owned()],
        authentication: Vec::new(),
        approval: "no_approval".to_owned(),
    }
}
