//! JSON Schema 2020-12 of a function: what its arguments may be, what its result will be.
//!
//! Rule (I41): the input schema accepts exactly the texts that
//! [`crate::read_arguments`] accepts, save for what a schema cannot see: repeated keys,
//! depth, and the size limits. Input and output of one type are two schemas: output
//! spells every field, and 64-bit numbers only within the safe range.

mod definitions;
mod form;
mod pattern;

use bindery_types::{Function, Ty, TyId, TypeTable};
use serde_json::{Map, Value, json};

use definitions::Definitions;
use form::{Direction, members};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of a function's arguments: one object keyed by parameter name.
pub fn input_schema(function: &Function, types: &TypeTable) -> Value {
    let roots = function.params.iter().map(|param| param.ty);
    let mut definitions = Definitions::new(types, Direction::Input, roots);
    let params = function
        .params
        .iter()
        .map(|param| (&*param.name, param.ty, None));
    let schema = members(&mut definitions, params);
    document(schema, definitions, function.docs.as_deref())
}

/// The schema of a function's value: its result, or the `ok` side of it.
pub fn output_schema(function: &Function, types: &TypeTable) -> Value {
    let value = function.result.and_then(|result| match types.get(result) {
        Ty::Result { ok, .. } => *ok,
        _ => Some(result),
    });
    side(value, types)
}

/// The schema of a function's own error: the `err` side of its result, if it has one.
pub fn error_schema(function: &Function, types: &TypeTable) -> Option<Value> {
    match types.get(function.result?) {
        Ty::Result { err, .. } => Some(side(*err, types)),
        _ => None,
    }
}

/// One side of a result; nothing is `null`.
fn side(value: Option<TyId>, types: &TypeTable) -> Value {
    let mut definitions = Definitions::new(types, Direction::Output, value);
    let schema = match value {
        Some(id) => definitions.form(id),
        None => json!({ "type": "null" }),
    };
    document(schema, definitions, None)
}

fn document(schema: Value, definitions: Definitions<'_>, docs: Option<&str>) -> Value {
    let mut root = Map::new();
    root.insert("$schema".to_owned(), DIALECT.into());
    if let Some(docs) = docs {
        root.insert("description".to_owned(), docs.into());
    }
    let defs = definitions.finish();
    if !defs.is_empty() {
        root.insert("$defs".to_owned(), Value::Object(defs));
    }
    if let Value::Object(members) = schema {
        root.extend(members);
    }
    Value::Object(root)
}

#[cfg(test)]
mod tests;
