//! `bindery:runtime`: generated from our own contract, served empty.
//!
//! Rule (C-46, I3): a component holds the bindings it was given and can make none. A run
//! that was given none sees no names, and no handle can exist to call through.

#![allow(
    missing_docs,
    unreachable_pub,
    reason = "generated from the contract, which has the words and makes all of it public"
)]

use wasmtime::component::Resource;

use crate::call::CallGrants;

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "bindery:runtime/capability",
    imports: { default: trappable },
    with: { "bindery:runtime/bindings.binding": NoBinding },
});

use bindery::runtime::bindings::{Descriptor, Failure, Host, HostBinding, Scope};
use bindery::runtime::types;

/// A binding that cannot exist: the type has no value.
pub enum NoBinding {}

fn unknown(name: &str) -> Failure {
    let kind = bindery_types::ErrorType::HandleInvalid;
    let next = kind.next_actions().iter();
    Failure {
        kind: kind.as_str().to_owned(),
        category: wire_name(&kind.category()),
        message: format!(
            "no binding is named `{}` here",
            crate::text::one_line(name, 64)
        ),
        blame: types::Blame::Caller,
        details_json: "{}".to_owned(),
        next: next.map(wire_name).collect(),
    }
}

/// A unit variant as the wire spells it.
fn wire_name(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

impl types::Host for CallGrants {}

impl Host for CallGrants {
    fn names(&mut self) -> wasmtime::Result<Vec<String>> {
        self.enter()?;
        Ok(Vec::new())
    }

    fn get(&mut self, name: String) -> wasmtime::Result<Result<Resource<NoBinding>, Failure>> {
        self.enter()?;
        Ok(Err(unknown(&name)))
    }
}

/// Every method needs a handle, and `get` never gives one: the table answers.
impl HostBinding for CallGrants {
    fn describe(&mut self, this: Resource<NoBinding>) -> wasmtime::Result<Descriptor> {
        match *self.table.get(&this)? {}
    }

    fn call(
        &mut self,
        this: Resource<NoBinding>,
        _arguments: String,
        _key: Option<String>,
    ) -> wasmtime::Result<Result<String, Failure>> {
        match *self.table.get(&this)? {}
    }

    fn narrow(
        &mut self,
        this: Resource<NoBinding>,
        _scope: Scope,
    ) -> wasmtime::Result<Result<Resource<NoBinding>, Failure>> {
        match *self.table.get(&this)? {}
    }

    fn drop(&mut self, this: Resource<NoBinding>) -> wasmtime::Result<()> {
        match self.table.delete(this)? {}
    }
}
