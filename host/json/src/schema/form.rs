//! The schema of each kind of type: the table of the JSON form, row by row.

use std::sync::Arc;

use bindery_types::{Record, Ty, TyId, TypeTable, Variant};
use serde_json::{Map, Value, json};

use super::definitions::Definitions;
use super::pattern;
use crate::number::{F32_OVERFLOW, bounds};
use crate::text::SAFE_INTEGER_MAX;

/// Which way a value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Into the component: what callers may write.
    Input,
    /// Out of it: what we write.
    Output,
}

/// The schema of one type; the schemas of its parts are known to `definitions`.
pub(super) fn schema_of(definitions: &mut Definitions<'_>, types: &TypeTable, id: TyId) -> Value {
    let ty = types.get(id);
    match ty {
        Ty::Bool => json!({ "type": "boolean" }),
        Ty::U8 | Ty::U16 | Ty::U32 | Ty::S8 | Ty::S16 | Ty::S32 => integer(ty),
        Ty::U64 | Ty::S64 => wide_integer(ty, definitions.direction()),
        Ty::F32 => float(json!({
            "type": "number", "exclusiveMinimum": -F32_OVERFLOW, "exclusiveMaximum": F32_OVERFLOW,
        })),
        Ty::F64 => float(json!({ "type": "number", "minimum": f64::MIN, "maximum": f64::MAX })),
        Ty::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        Ty::String => json!({ "type": "string" }),
        Ty::Bytes => json!({
            "type": "string", "contentEncoding": "base64", "pattern": pattern::BASE64,
        }),
        Ty::List(item) => json!({ "type": "array", "items": definitions.form(*item) }),
        Ty::Tuple(items) => tuple(definitions, items),
        Ty::Record(record) => self::record(definitions, record),
        Ty::Variant(variant) => self::variant(definitions, variant),
        Ty::Enum(cases) => titled(
            json!({ "type": "string", "enum": names(&cases.cases) }),
            cases.name.as_deref(),
        ),
        Ty::Flags(flags) => titled(labels(&flags.labels), flags.name.as_deref()),
        Ty::Option(inner) => {
            let some = match definitions.is_option(*inner) {
                true => single("some", definitions.form(*inner)),
                false => definitions.form(*inner),
            };
            json!({ "anyOf": [some, { "type": "null" }] })
        }
        Ty::Result { ok, err } => {
            let mut side = |name, payload: &Option<TyId>| match payload {
                Some(payload) => single(name, definitions.form(*payload)),
                None => single(name, json!({ "type": "null" })),
            };
            json!({ "anyOf": [side("ok", ok), side("err", err)] })
        }
        // Functions that mention one are not callable; nothing fits here.
        Ty::Handle(_) => json!({ "not": {} }),
    }
}

fn integer(ty: &Ty) -> Value {
    let (least, greatest) = bounds(ty).unwrap_or_default();
    json!({ "type": "integer", "minimum": number(least), "maximum": number(greatest) })
}

/// A bound as JSON: every bound of an integer type fits in 64 bits.
fn number(bound: i128) -> Value {
    match (u64::try_from(bound), i64::try_from(bound)) {
        (Ok(unsigned), _) => unsigned.into(),
        (_, Ok(signed)) => signed.into(),
        _ => Value::Null,
    }
}

/// Case A1: a number or a decimal string; output writes numbers only where a reader that
/// stores doubles keeps them apart.
fn wide_integer(ty: &Ty, direction: Direction) -> Value {
    let (least, greatest) = bounds(ty).unwrap_or_default();
    let safe = i128::from(SAFE_INTEGER_MAX);
    let (low, high) = match direction {
        Direction::Input => (least, greatest),
        Direction::Output => (least.max(-safe), greatest.min(safe)),
    };
    json!({ "anyOf": [
        { "type": "integer", "minimum": number(low), "maximum": number(high) },
        { "type": "string", "pattern": pattern::decimal(least, greatest) },
    ] })
}

fn float(finite: Value) -> Value {
    json!({ "anyOf": [finite, { "enum": ["nan", "inf", "-inf"] }] })
}

fn tuple(definitions: &mut Definitions<'_>, items: &[TyId]) -> Value {
    let schemas: Vec<Value> = items.iter().map(|item| definitions.form(*item)).collect();
    match schemas.len() {
        // An empty `prefixItems` is no schema.
        0 => json!({ "type": "array", "maxItems": 0 }),
        count => json!({
            "type": "array", "prefixItems": schemas, "minItems": count, "maxItems": count,
        }),
    }
}

fn names(names: &[Arc<str>]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}

fn labels(labels: &[Arc<str>]) -> Value {
    match labels.is_empty() {
        // An empty `enum` is no schema.
        true => json!({ "type": "array", "maxItems": 0 }),
        false => json!({
            "type": "array", "items": { "enum": names(labels) }, "uniqueItems": true,
        }),
    }
}

fn record(definitions: &mut Definitions<'_>, record: &Record) -> Value {
    let fields = record
        .fields
        .iter()
        .map(|field| (&*field.name, field.ty, field.docs.as_deref()));
    titled(members(definitions, fields), record.name.as_deref())
}

/// An object with exactly these members; on input those of `option` type may be left out.
pub(super) fn members<'m>(
    definitions: &mut Definitions<'_>,
    members: impl Iterator<Item = (&'m str, TyId, Option<&'m str>)>,
) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, ty, docs) in members {
        if definitions.direction() == Direction::Output || !definitions.is_option(ty) {
            required.push(name);
        }
        properties.insert(name.to_owned(), described(definitions.form(ty), docs));
    }
    let mut schema = json!({
        "type": "object", "properties": properties, "additionalProperties": false,
    });
    if let (Some(schema), false) = (schema.as_object_mut(), required.is_empty()) {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

fn variant(definitions: &mut Definitions<'_>, variant: &Variant) -> Value {
    let cases: Vec<Value> = variant
        .cases
        .iter()
        .map(|case| {
            let schema = match case.ty {
                Some(payload) => single(&case.name, definitions.form(payload)),
                None => json!({ "const": &*case.name }),
            };
            described(schema, case.docs.as_deref())
        })
        .collect();
    titled(json!({ "anyOf": cases }), variant.name.as_deref())
}

/// An object of exactly this member.
fn single(name: &str, payload: Value) -> Value {
    json!({
        "type": "object",
        "properties": { name: payload },
        "required": [name],
        "additionalProperties": false,
    })
}

fn described(schema: Value, docs: Option<&str>) -> Value {
    with(schema, "description", docs)
}

fn titled(schema: Value, name: Option<&str>) -> Value {
    with(schema, "title", name)
}

fn with(mut schema: Value, key: &str, text: Option<&str>) -> Value {
    if let (Some(schema), Some(text)) = (schema.as_object_mut(), text) {
        schema.insert(key.to_owned(), text.into());
    }
    schema
}
