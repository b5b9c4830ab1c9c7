//! A shape as one JSON document: what `bindery inspect -o json` prints.
//!
//! The schemas come from the same table of types that arguments are checked against.

use bindery_types::{Function, Import, Satisfier, Shape};
use serde_json::{Value, json};

use super::missing::flag;
use super::notation;

/// Everything known of a component: digest, size, producers, documentation, functions with
/// their schemas, imports with what satisfies them.
pub fn shape_document(shape: &Shape) -> Value {
    let functions = shape.functions.iter().map(|f| function(f, shape));
    let functions: Vec<Value> = functions.collect();
    let imports: Vec<Value> = shape.imports.iter().map(import).collect();
    json!({
        "digest": shape.digest,
        "size_bytes": shape.size_bytes,
        "docs": shape.docs,
        "producers": shape.producers,
        "functions": functions,
        "imports": imports,
    })
}

/// A function that JSON cannot call has a reason in place of schemas.
fn function(function: &Function, shape: &Shape) -> Value {
    let types = &shape.types;
    let params: Vec<Value> = function
        .params
        .iter()
        .map(|param| json!({ "name": &*param.name, "type": notation::of(param.ty, types) }))
        .collect();
    let reason = function.uncallable.as_ref().map(ToString::to_string);
    let schema = |of: &dyn Fn() -> Option<Value>| match reason {
        None => of(),
        Some(_) => None,
    };
    json!({
        "name": function.name,
        "docs": function.docs,
        "params": params,
        "result": function.result.map(|result| notation::of(result, types)),
        "callable": reason.is_none(),
        "reason": reason,
        "input_schema": schema(&|| Some(bindery_json::input_schema(function, types))),
        "output_schema": schema(&|| Some(bindery_json::output_schema(function, types))),
        "error_schema": schema(&|| bindery_json::error_schema(function, types)),
    })
}

fn import(import: &Import) -> Value {
    let mut document = json!({ "name": import.name, "functions": import.functions });
    let satisfied = match &import.satisfier {
        Satisfier::Linked { grant } => json!({
            "satisfied_by": "linked",
            "grant": grant,
            "flag": grant.and_then(flag),
        }),
        Satisfier::Grant { grant } => json!({
            "satisfied_by": "grant",
            "grant": grant,
            "flag": flag(grant),
        }),
        Satisfier::Version { offered } => json!({
            "satisfied_by": "nothing",
            "cause": "version",
            "offered": offered,
        }),
        Satisfier::Functions { missing } => json!({
            "satisfied_by": "nothing",
            "cause": "functions",
            "missing": missing,
        }),
        Satisfier::Unknown { nearest } => json!({
            "satisfied_by": "nothing",
            "cause": "unknown",
            "nearest": nearest,
        }),
    };
    if let (Value::Object(document), Value::Object(satisfied)) = (&mut document, satisfied) {
        document.extend(satisfied);
    }
    document
}
