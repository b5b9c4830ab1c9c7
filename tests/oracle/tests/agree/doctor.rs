//! Rows of the JSON table broken on purpose: each changes the schema as if its row were
//! forgotten, and the property has to notice.

use serde_json::{Map, Value, json};

type Schema = Map<String, Value>;

/// One broken row.
pub(crate) struct Doctor {
    /// What is wrong.
    pub(crate) row: &'static str,
    /// Changes one schema of the input side.
    pub(crate) input: fn(&mut Schema),
    /// Changes one schema of the output side.
    pub(crate) output: fn(&mut Schema),
}

impl Doctor {
    /// Changes nothing.
    pub(crate) const HEALTHY: Doctor = Doctor {
        row: "",
        input: nothing,
        output: nothing,
    };

    pub(crate) fn is_healthy(&self) -> bool {
        self.row.is_empty()
    }

    /// Applies a change to a schema and all schemas inside, inner ones first.
    pub(crate) fn visit(schema: &mut Value, change: fn(&mut Schema)) {
        match schema {
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| Doctor::visit(item, change)),
            Value::Object(members) => {
                members
                    .values_mut()
                    .for_each(|member| Doctor::visit(member, change));
                change(members);
            }
            _ => {}
        }
    }
}

fn nothing(_: &mut Schema) {}

const fn input(row: &'static str, input: fn(&mut Schema)) -> Doctor {
    Doctor {
        row,
        input,
        output: nothing,
    }
}

const fn output(row: &'static str, output: fn(&mut Schema)) -> Doctor {
    Doctor {
        row,
        input: nothing,
        output,
    }
}

fn is(schema: &Schema, kind: &str) -> bool {
    schema.get("type").and_then(Value::as_str) == Some(kind)
}

fn replace(schema: &mut Schema, with: Value) {
    if let Value::Object(with) = with {
        *schema = with;
    }
}

/// Makes the schema accept this too.
fn or(schema: &mut Schema, other: Value) {
    let this = Value::Object(std::mem::take(schema));
    replace(schema, json!({ "anyOf": [this, other] }));
}

fn bound(schema: &mut Schema, key: &str, from: Value, to: Value) {
    if schema.get(key).map(Value::to_string) == Some(from.to_string()) {
        schema.insert(key.to_owned(), to);
    }
}

fn alternatives(schema: &mut Schema) -> Option<&mut Vec<Value>> {
    schema.get_mut("anyOf")?.as_array_mut()
}

/// Whether it is the object form of one case, some or side of a result.
fn is_single(schema: &Schema) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    is(schema, "object") && properties.is_some_and(|members| members.len() == 1)
}

/// Every row of the table, some of them twice.
pub(crate) const BROKEN_ROWS: &[Doctor] = &[
    input("bool: 0 is false", |s| {
        if is(s, "boolean") {
            or(s, json!({ "const": 0 }));
        }
    }),
    input("u8: 256 wraps", |s| {
        bound(s, "maximum", json!(255), json!(256))
    }),
    input("u16: 65536 wraps", |s| {
        bound(s, "maximum", json!(65_535), json!(65_536))
    }),
    input("u8 to u64: -1 wraps", |s| {
        if is(s, "integer") {
            bound(s, "minimum", json!(0), json!(-1));
        }
    }),
    input("s8: the bounds are those of u8", |s| {
        bound(s, "maximum", json!(127), json!(255))
    }),
    input("s32: the least value is left out", |s| {
        bound(
            s,
            "minimum",
            json!(-2_147_483_648_i64),
            json!(-2_147_483_647_i64),
        );
    }),
    input("integers: fractions are taken", |s| {
        if is(s, "integer") {
            s.insert("type".into(), "number".into());
        }
    }),
    input("integers: strings are taken for small ones", |s| {
        if is(s, "integer") && s.get("maximum").and_then(Value::as_u64) < Some(1 << 33) {
            or(s, json!({ "type": "string", "pattern": "^[0-9]$" }));
        }
    }),
    input("u64: numbers stop at the safe range", |s| {
        bound(s, "maximum", json!(u64::MAX), json!((1_u64 << 53) - 1));
    }),
    input("u64, s64: strings need no canonical form", |s| {
        if s.get("pattern")
            .and_then(Value::as_str)
            .is_some_and(|p| p.starts_with("^(?:0|"))
        {
            s.insert("pattern".into(), "^-?[0-9]+$".into());
        }
    }),
    input("s64: no string form", |s| {
        if s.get("pattern")
            .and_then(Value::as_str)
            .is_some_and(|p| p.contains("|-(?:"))
        {
            replace(s, json!({ "not": {} }));
        }
    }),
    output("u64, s64: large values are written as numbers", |s| {
        if let Some(cases) = alternatives(s) {
            cases.retain(|case| !case.to_string().contains("^(?:0|"));
        }
    }),
    output("u64: output numbers go past the type", |s| {
        bound(s, "maximum", json!((1_u64 << 53) - 1), json!(1e20));
    }),
    input("f32: the bound itself is taken", |s| {
        if let Some(bound) = s.remove("exclusiveMaximum") {
            s.insert("maximum".into(), bound);
        }
    }),
    input("f64: overflow is taken", |s| {
        if is(s, "number") && s.contains_key("maximum") {
            s.remove("maximum");
        }
    }),
    input("f32, f64: no infinities", |s| {
        if s.get("enum") == Some(&json!(["nan", "inf", "-inf"])) {
            replace(s, json!({ "enum": ["nan"] }));
        }
    }),
    input("f32, f64: other spellings of NaN", |s| {
        if s.get("enum") == Some(&json!(["nan", "inf", "-inf"])) {
            replace(s, json!({ "enum": ["nan", "NaN", "inf", "-inf"] }));
        }
    }),
    input("char: two are one", |s| {
        bound(s, "maxLength", json!(1), json!(2))
    }),
    input("char: none is one", |s| {
        bound(s, "minLength", json!(1), json!(0))
    }),
    input("string: may not be empty", |s| {
        if is(s, "string") && s.len() == 1 {
            s.insert("minLength".into(), 1.into());
        }
    }),
    input("list<u8>: any string", |s| {
        if s.contains_key("contentEncoding") {
            s.remove("pattern");
        }
    }),
    input("list<u8>: unused bits are ignored", |s| {
        if s.contains_key("contentEncoding") {
            let pattern = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";
            s.insert("pattern".into(), pattern.into());
        }
    }),
    input("list<u8>: an array form", |s| {
        if s.contains_key("contentEncoding") {
            or(s, json!({ "type": "array" }));
        }
    }),
    input("list: items of any type", |s| {
        if is(s, "array") && s.get("uniqueItems").is_none() {
            s.remove("items");
        }
    }),
    input("tuple: more items than it has", |s| {
        if s.contains_key("prefixItems") {
            s.remove("maxItems");
        }
    }),
    input("tuple: fewer items than it has", |s| {
        if s.contains_key("prefixItems") {
            s.remove("minItems");
        }
    }),
    input("record: unknown fields", |s| {
        if !is_single(s) {
            s.remove("additionalProperties");
        }
    }),
    input("record: fields left out", |s| {
        if !is_single(s) {
            s.remove("required");
        }
    }),
    input("record: options have to be there", |s| {
        if let Some(properties) = s.get("properties").and_then(Value::as_object) {
            let names: Vec<&String> = properties.keys().collect();
            let names = json!(names);
            s.insert("required".into(), names);
        }
    }),
    output("record: output leaves options out", |s| {
        if is(s, "object") && !is_single(s) {
            s.insert("maxProperties".into(), 1.into());
        }
    }),
    input("option: no null", |s| {
        if let Some(cases) = alternatives(s) {
            cases.retain(|case| *case != json!({ "type": "null" }));
            if cases.is_empty() {
                s.remove("anyOf");
            }
        }
    }),
    input("option of option: some(v) is v", |s| {
        if is_single(s) && s["properties"].get("some").is_some() {
            let inner = s["properties"]["some"].take();
            replace(s, inner);
        }
    }),
    input("variant: a bare case as an object", |s| {
        if let Some(name) = s.get("const").and_then(Value::as_str) {
            let name = name.to_owned();
            or(s, json!({ "type": "object", "required": [name] }));
        }
    }),
    input("variant: no case is a case", |s| {
        if is_single(s) {
            s.remove("required");
        }
    }),
    input("enum: letter case does not matter", |s| {
        if let (true, Some(names)) = (is(s, "string"), s.get_mut("enum")) {
            names.as_array_mut().unwrap().push("ITEM".into());
        }
    }),
    input("flags: labels twice", |s| drop(s.remove("uniqueItems"))),
    input("flags: any label", |s| {
        if s.contains_key("uniqueItems") {
            s.insert("items".into(), json!({ "type": "string" }));
        }
    }),
    input("result: a missing payload is anything", |s| {
        let properties = s.get_mut("properties").and_then(Value::as_object_mut);
        let side = properties.and_then(|members| members.values_mut().next());
        if let Some(side) = side.filter(|side| **side == json!({ "type": "null" })) {
            *side = json!({});
        }
    }),
    input("result: both sides at once", |s| {
        if is_single(s) {
            s.remove("additionalProperties");
        }
    }),
];
