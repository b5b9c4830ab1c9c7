//! Schemas of small functions, whole, and of a tower that shares its parts.

use std::sync::Arc;

use bindery_types::{
    Case, Enum, Field, Flags, Function, FunctionName, Param, Record, Ty, TyId, TypeTable,
    TypeTableBuilder, Variant,
};
use serde_json::{Value, json};

use crate::{error_schema, input_schema, output_schema};

fn function(params: &[(&str, TyId)], result: Option<TyId>) -> Function {
    Function {
        name: FunctionName::new(None, "go").unwrap(),
        docs: Some("Goes.".to_owned()),
        params: params
            .iter()
            .map(|(name, ty)| Param {
                name: (*name).into(),
                ty: *ty,
            })
            .collect(),
        result,
        uncallable: None,
    }
}

fn record(b: &mut TypeTableBuilder, name: Option<&str>, fields: &[(&str, TyId)]) -> TyId {
    let fields = fields
        .iter()
        .map(|(name, ty)| Field {
            name: (*name).into(),
            ty: *ty,
            docs: Some(format!("The {name}.").into()),
        })
        .collect();
    b.add(Ty::Record(Arc::new(Record {
        name: name.map(Into::into),
        fields,
    })))
}

fn value_schema(build: impl FnOnce(&mut TypeTableBuilder) -> TyId) -> (Value, Value) {
    let mut b = TypeTableBuilder::new();
    let id = build(&mut b);
    let types = b.finish();
    let go = function(&[("v", id)], Some(id));
    let mut input = input_schema(&go, &types);
    let mut output = output_schema(&go, &types);
    assert_eq!(
        output.as_object_mut().unwrap().remove("$schema").unwrap(),
        "https://json-schema.org/draft/2020-12/schema"
    );
    (input["properties"]["v"].take(), output)
}

#[test]
fn each_row_of_the_table_has_its_schema() {
    let same = |ty: Ty, wanted: Value| {
        let (input, output) = value_schema(|b| b.add(ty));
        assert_eq!(input, wanted);
        assert_eq!(output, wanted);
    };
    same(Ty::Bool, json!({ "type": "boolean" }));
    same(
        Ty::U8,
        json!({ "type": "integer", "minimum": 0, "maximum": 255 }),
    );
    same(
        Ty::S32,
        json!({ "type": "integer", "minimum": -2_147_483_648_i64, "maximum": 2_147_483_647 }),
    );
    same(
        Ty::Char,
        json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
    );
    same(Ty::String, json!({ "type": "string" }));
    let labels = vec!["r".into(), "w".into()];
    same(
        Ty::Flags(Arc::new(Flags { name: None, labels })),
        json!({ "type": "array", "items": { "enum": ["r", "w"] }, "uniqueItems": true }),
    );
    let cases = vec!["red".into()];
    same(
        Ty::Enum(Arc::new(Enum { name: None, cases })),
        json!({ "type": "string", "enum": ["red"] }),
    );
    same(
        Ty::Tuple([].into()),
        json!({ "type": "array", "maxItems": 0 }),
    );
}

#[test]
fn a1_input_takes_both_forms_and_output_says_where_each_is_used() {
    let (input, output) = value_schema(|b| b.add(Ty::U64));
    assert_eq!(input["anyOf"][0]["maximum"], u64::MAX);
    assert_eq!(output["anyOf"][0]["maximum"], 9_007_199_254_740_991_u64);
    assert_eq!(input["anyOf"][1], output["anyOf"][1]);
    let (input, output) = value_schema(|b| b.add(Ty::S64));
    assert_eq!(input["anyOf"][0]["minimum"], i64::MIN);
    assert_eq!(output["anyOf"][0]["minimum"], -9_007_199_254_740_991_i64);
}

#[test]
fn a3_input_lets_options_go_and_output_spells_them() {
    let (input, output) = value_schema(|b| {
        let text = b.add(Ty::String);
        let option = b.add(Ty::Option(text));
        let nested = b.add(Ty::Option(option));
        record(b, None, &[("a", option), ("b", nested), ("c", text)])
    });
    assert_eq!(input["required"], json!(["c"]));
    assert_eq!(output["required"], json!(["a", "b", "c"]));
    let plain = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
    assert_eq!(output["properties"]["a"]["anyOf"], plain["anyOf"]);
    assert_eq!(output["properties"]["a"]["description"], "The a.");
    assert_eq!(
        output["properties"]["b"]["anyOf"][0],
        json!({
            "type": "object", "properties": { "some": plain }, "required": ["some"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn a_result_as_the_result_is_a_value_and_an_error() {
    let mut b = TypeTableBuilder::new();
    let text = b.add(Ty::String);
    let both = b.add(Ty::Result {
        ok: Some(text),
        err: None,
    });
    let types = b.finish();
    let go = function(&[], Some(both));
    assert_eq!(output_schema(&go, &types)["type"], "string");
    assert_eq!(error_schema(&go, &types).unwrap()["type"], "null");
    let nothing = function(&[], None);
    assert_eq!(output_schema(&nothing, &types)["type"], "null");
    assert_eq!(error_schema(&nothing, &types), None);
    assert_eq!(
        input_schema(&nothing, &types),
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "description": "Goes.", "type": "object", "properties": {},
            "additionalProperties": false,
        })
    );
}

#[test]
fn declared_types_are_defined_once_under_names_of_their_own() {
    let mut b = TypeTableBuilder::new();
    let text = b.add(Ty::String);
    let number = b.add(Ty::U8);
    let one = record(&mut b, Some("point"), &[("x", text)]);
    let other = record(&mut b, Some("point"), &[("x", number)]);
    let pair = b.add(Ty::Tuple([one, other].into()));
    let case = |name: &str, ty| Case {
        name: name.into(),
        ty,
        docs: Some("A case.".into()),
    };
    let shape = b.add(Ty::Variant(Arc::new(Variant {
        name: Some("shape".into()),
        cases: vec![case("none", None), case("pair", Some(pair))],
    })));
    let types = b.finish();
    let schema = input_schema(
        &function(&[("a", shape), ("b", pair), ("c", one)], None),
        &types,
    );
    let defs: Vec<&String> = schema["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(defs, ["point", "point-2", "shape", "tuple"]);
    assert_eq!(
        schema["properties"]["c"],
        json!({ "$ref": "#/$defs/point" })
    );
    assert_eq!(
        schema["$defs"]["point-2"]["properties"]["x"]["maximum"],
        255
    );
    assert_eq!(
        schema["$defs"]["shape"]["anyOf"][0],
        json!({ "const": "none", "description": "A case." })
    );
    // The same function has the same schema in a component that exports more.
    assert_eq!(
        output_schema(&function(&[], Some(one)), &types)["title"],
        "point"
    );
}

fn tower(height: usize) -> (TypeTable, TyId) {
    let mut b = TypeTableBuilder::new();
    let mut top = b.add(Ty::U32);
    for level in 0..height {
        top = match level % 3 {
            0 => b.add(Ty::Tuple([top, top].into())),
            1 => record(&mut b, None, &[("l", top), ("r", top)]),
            _ => b.add(Ty::Result {
                ok: Some(top),
                err: Some(top),
            }),
        };
    }
    (b.finish(), top)
}

#[test]
fn x17_a_tower_that_shares_its_parts_has_a_schema_as_long_as_the_tower() {
    let length = |height| {
        let (types, top) = tower(height);
        let go = function(&[("v", top)], Some(top));
        input_schema(&go, &types).to_string().len() + output_schema(&go, &types).to_string().len()
    };
    assert!(
        length(120) < 3 * length(60),
        "{} {}",
        length(60),
        length(120)
    );
}

#[test]
fn b7_a_deep_type_has_a_flat_schema() {
    let mut b = TypeTableBuilder::new();
    let mut top = b.add(Ty::U32);
    for _ in 0..100_000 {
        top = b.add(Ty::List(top));
    }
    let types = b.finish();
    let schema = input_schema(&function(&[("v", top)], None), &types);
    crate::check_value_depth(&schema, &bindery_types::Budget::default()).unwrap();
}
