//! What inspect says against what others say of the same bytes: the engine's reflection,
//! the WIT tools' reader, the engine's compiler.

use std::collections::BTreeMap;

use bindery_artefacts::dummy;
use bindery_types::{Budget, Shape, Ty, TyId};
use proptest::prelude::*;
use wasmtime::Engine;
use wasmtime::component::types::{self as engine_types, ComponentItem};
use wasmtime::component::{Component, Type};

use bindery_inspect::{inspect, outline};

fn engine() -> Engine {
    Engine::new(&crate::engine::compile_config()).unwrap()
}

/// A type in one notation, from our table.
fn ours(shape: &Shape, id: TyId) -> String {
    let part = |id: TyId| ours(shape, id);
    let payload = |id: Option<TyId>| id.map_or_else(|| "_".to_owned(), part);
    match shape.types.get(id) {
        Ty::Bytes => "list<u8>".to_owned(),
        Ty::List(item) => format!("list<{}>", part(*item)),
        Ty::Tuple(items) => {
            let items: Vec<String> = items.iter().copied().map(part).collect();
            format!("tuple<{}>", items.join(","))
        }
        Ty::Record(record) => {
            let fields = record.fields.iter();
            let fields: Vec<String> = fields
                .map(|f| format!("{}:{}", f.name, part(f.ty)))
                .collect();
            format!("record{{{}}}", fields.join(","))
        }
        Ty::Variant(variant) => {
            let cases = variant.cases.iter();
            let cases: Vec<String> = cases
                .map(|c| format!("{}:{}", c.name, payload(c.ty)))
                .collect();
            format!("variant{{{}}}", cases.join(","))
        }
        Ty::Enum(of) => format!("enum{{{}}}", of.cases.join(",")),
        Ty::Flags(of) => format!("flags{{{}}}", of.labels.join(",")),
        Ty::Option(some) => format!("option<{}>", part(*some)),
        Ty::Result { ok, err } => format!("result<{},{}>", payload(*ok), payload(*err)),
        Ty::Handle(handle) => handle_kind(&format!("{handle:?}")),
        leaf => format!("{leaf:?}").to_lowercase(),
    }
}

/// `own`, `borrow`, …: the engine's reflection has no names of resources.
fn handle_kind(debug: &str) -> String {
    debug.split('(').next().unwrap_or(debug).to_lowercase()
}

/// The same from the engine's reflection.
fn theirs(ty: &Type) -> String {
    let payload = |ty: Option<Type>| ty.map_or_else(|| "_".to_owned(), |ty| theirs(&ty));
    match ty {
        Type::List(list) => format!("list<{}>", theirs(&list.ty())),
        Type::Tuple(tuple) => {
            let items: Vec<String> = tuple.types().map(|ty| theirs(&ty)).collect();
            format!("tuple<{}>", items.join(","))
        }
        Type::Record(record) => {
            let fields: Vec<String> = record
                .fields()
                .map(|f| format!("{}:{}", f.name, theirs(&f.ty)))
                .collect();
            format!("record{{{}}}", fields.join(","))
        }
        Type::Variant(variant) => {
            let cases: Vec<String> = variant
                .cases()
                .map(|c| format!("{}:{}", c.name, payload(c.ty)))
                .collect();
            format!("variant{{{}}}", cases.join(","))
        }
        Type::Enum(of) => format!("enum{{{}}}", of.names().collect::<Vec<_>>().join(",")),
        Type::Flags(of) => format!("flags{{{}}}", of.names().collect::<Vec<_>>().join(",")),
        Type::Option(of) => format!("option<{}>", theirs(&of.ty())),
        Type::Result(of) => format!("result<{},{}>", payload(of.ok()), payload(of.err())),
        Type::Own(_) | Type::Borrow(_) => handle_kind(&format!("{ty:?}")),
        Type::Float32 => "f32".to_owned(),
        Type::Float64 => "f64".to_owned(),
        leaf => format!("{leaf:?}").to_lowercase(),
    }
}

fn signature(params: Vec<String>, result: Option<String>) -> String {
    format!("({}) -> {}", params.join(", "), result.unwrap_or_default())
}

fn our_signatures(shape: &Shape) -> BTreeMap<String, String> {
    let of = |function: &bindery_types::Function| {
        let params = function.params.iter();
        let params = params
            .map(|p| format!("{}: {}", p.name, ours(shape, p.ty)))
            .collect();
        signature(params, function.result.map(|id| ours(shape, id)))
    };
    let functions = shape.functions.iter();
    functions.map(|f| (f.name.to_string(), of(f))).collect()
}

fn their_signatures(engine: &Engine, bytes: &[u8]) -> BTreeMap<String, String> {
    let of = |function: &engine_types::ComponentFunc| {
        let params = function
            .params()
            .map(|(name, ty)| format!("{name}: {}", theirs(&ty)));
        signature(
            params.collect(),
            function.results().next().map(|ty| theirs(&ty)),
        )
    };
    let component = Component::from_binary(engine, bytes).unwrap();
    let mut signatures = BTreeMap::new();
    for (name, export) in component.component_type().exports(engine) {
        match export.ty {
            ComponentItem::ComponentFunc(function) => {
                signatures.insert(format!("#{name}"), of(&function));
            }
            ComponentItem::ComponentInstance(instance) => {
                for (function, export) in instance.exports(engine) {
                    if let ComponentItem::ComponentFunc(ty) = export.ty {
                        signatures.insert(format!("{name}#{function}"), of(&ty));
                    }
                }
            }
            _ => {}
        }
    }
    signatures
}

const EVERYTHING: &str = "
package ex:all@1.2.3;
interface shapes {
  record point { x: s32, y: f64, label: option<string> }
  variant item { sku(string), bulk(list<u8>), free }
  enum size { small, large }
  flags perms { r, w, x }
  type points = list<point>;
  type nested = option<option<result<points, item>>>;
  resource cursor { constructor(s: string); next: func() -> option<string>; make: static func() -> cursor; }
}
interface api {
  use shapes.{point as place, item, size, perms, nested, cursor};
  type id = u64;
  scalars: func(a: bool, b: u8, c: u16, d: u32, e: id, f: s8, g: s16, h: s32, i: s64, j: f32, k: f64, l: char, m: string);
  shapes: func(p: place, i: item, s: size, f: perms, n: nested) -> tuple<place, list<u8>, list<list<u8>>>;
  empty: func() -> result;
  half: func() -> result<_, string>;
  open: func(s: string) -> cursor;
  peek: func(c: borrow<cursor>) -> string;
}
world everything {
  import shapes;
  use shapes.{point};
  export api;
  export go: func(at: point) -> point;
}";

#[test]
fn types_are_those_of_the_engines_reflection() {
    let bytes = dummy(EVERYTHING).unwrap();
    let shape = inspect(&bytes, &Budget::default()).unwrap();
    let theirs = their_signatures(&engine(), &bytes);
    assert_eq!(our_signatures(&shape), theirs);
    assert_eq!(theirs.len(), 7);
}

#[test]
fn an_outline_is_the_same_shape() {
    let bytes = dummy(EVERYTHING).unwrap();
    let whole = inspect(&bytes, &Budget::default()).unwrap();
    let outline = outline(&bytes, &Budget::default()).unwrap();
    assert_eq!(our_signatures(&whole), our_signatures(&outline));
    assert_eq!(whole.imports, outline.imports);
    assert_eq!(whole.digest, outline.digest);
}

#[test]
fn names_and_functions_are_those_that_the_wit_tools_read() {
    let bytes = dummy(EVERYTHING).unwrap();
    let shape = inspect(&bytes, &Budget::default()).unwrap();
    let read = wit_component::decode(&bytes).unwrap();
    let resolve = read.resolve();
    let (_, world) = resolve
        .worlds
        .iter()
        .find(|(_, world)| world.name == "root")
        .unwrap();
    let mut theirs = Vec::new();
    for (key, item) in &world.exports {
        match item {
            wit_parser::WorldItem::Function(function) => {
                theirs.push(format!("#{}", function.name));
            }
            wit_parser::WorldItem::Interface { id, .. } => {
                let name = resolve.name_world_key(key);
                let functions = resolve.interfaces[*id].functions.keys();
                theirs.extend(functions.map(|function| format!("{name}#{function}")));
            }
            wit_parser::WorldItem::Type { .. } => {}
        }
    }
    theirs.sort();
    let mut ours: Vec<String> = shape.functions.iter().map(|f| f.name.to_string()).collect();
    ours.sort();
    assert_eq!(ours, theirs);
    // A record under another name in another interface is all that the binary keeps of an
    // alias; `nested`, which has no labels of its own, is what it stands for.
    let declared: Vec<&str> = ["place", "point", "item", "size", "perms"].into();
    let named: Vec<String> = shape
        .types
        .iter()
        .filter_map(|(_, ty)| match ty {
            Ty::Record(of) => of.name.clone(),
            Ty::Variant(of) => of.name.clone(),
            Ty::Enum(of) => of.name.clone(),
            Ty::Flags(of) => of.name.clone(),
            _ => None,
        })
        .map(|name| name.to_string())
        .collect();
    assert_eq!(named.len(), declared.len(), "{named:?}");
    for name in declared {
        assert!(named.contains(&name.to_owned()), "{name}");
    }
}

/// A proposal and a component that needs it.
const PROPOSALS: &[(&str, &str)] = &[
    ("threads", "(core module (memory 1 1 shared))"),
    ("64-bit memory", "(core module (memory i64 1))"),
    ("garbage-collected types", "(core module (type (struct)))"),
    (
        "garbage-collected types",
        "(core module (func (param externref)))",
    ),
    ("exception handling", "(core module (tag))"),
    ("tail calls", "(core module (func $f return_call $f))"),
    (
        "relaxed SIMD",
        "(core module (func (param v128 v128) (result v128) local.get 0 local.get 1 i8x16.relaxed_swizzle))",
    ),
    (
        "wide arithmetic",
        "(core module (func (param i64 i64) (result i64 i64) local.get 0 local.get 1 i64.mul_wide_u))",
    ),
    ("custom page sizes", "(core module (memory 1 (pagesize 1)))"),
    (
        "stack switching",
        "(core module (type $f (func)) (type (cont $f)))",
    ),
    (
        "typed function references",
        "(core module (type $f (func)) (func (param (ref null $f))))",
    ),
    (
        "asynchronous component functions (WASI 0.3)",
        "(type (func async))",
    ),
    (
        "asynchronous component functions (WASI 0.3)",
        "(type (future u8))",
    ),
    ("error contexts", "(type (list error-context))"),
    ("fixed-length lists", "(type (list u8 4))"),
    ("component maps", "(type (map string u32))"),
    ("component values", "(import \"a\" (value string))"),
];

#[test]
fn a_proposal_that_is_off_is_refused_by_name_and_by_the_engine_as_well() {
    let engine = engine();
    for (name, body) in PROPOSALS {
        let bytes = wat::parse_str(format!("(component {body})")).unwrap();
        let refusal = inspect(&bytes, &Budget::default()).unwrap_err();
        assert_eq!(
            refusal.details().get("feature"),
            Some(&(*name).into()),
            "{refusal}"
        );
        assert!(refusal.message().contains(name), "{refusal}");
        let refused = engine.precompile_component(&bytes).is_err();
        assert!(refused, "H3: {body}");
    }
}

#[test]
fn what_is_on_here_is_on_in_the_engine() {
    let engine = engine();
    for body in [
        "(func (param v128) (result v128) local.get 0 i8x16.popcnt)",
        "(memory 1) (memory 1)",
        "(memory 1) (func i32.const 0 i32.const 0 i32.const 0 memory.fill)",
        "(global i32 (i32.add (i32.const 1) (i32.const 2)))",
        "(func (result i32 i32) i32.const 0 i32.const 1)",
        "(table 1 funcref) (func ref.null func drop)",
        "(func (param i32) (result i32) local.get 0 i32.extend8_s)",
        "(func (param f32) (result i32) local.get 0 i32.trunc_sat_f32_s)",
    ] {
        let bytes = wat::parse_str(format!("(component (core module {body}))")).unwrap();
        inspect(&bytes, &Budget::default()).unwrap();
        engine.precompile_component(&bytes).unwrap();
    }
}

#[test]
fn code_compiled_by_the_engine_itself_is_taken_from_nobody() {
    let bytes = engine()
        .precompile_component(&dummy(EVERYTHING).unwrap())
        .unwrap();
    let refusal = inspect(&bytes, &Budget::default()).unwrap_err();
    assert_eq!(
        refusal.details().get("kind"),
        Some(&"precompiled".into()),
        "R-026"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Types of any shape a WIT text can give.
    #[test]
    fn random_types_are_those_of_the_engines_reflection(types in prop::collection::vec(wit_type(), 1..4)) {
        let params: Vec<String> =
            types.iter().enumerate().map(|(index, ty)| format!("p{index}: {ty}")).collect();
        let wit = format!(
            "package ex:r; interface i {{ record rec {{ a: u8, b: list<u8> }} enum en {{ a, b }} f: func({}) -> {}; }} world w {{ export i; }}",
            params.join(", "),
            types[0]
        );
        let bytes = dummy(&wit).unwrap();
        let shape = inspect(&bytes, &Budget::default()).unwrap();
        prop_assert_eq!(our_signatures(&shape), their_signatures(&engine(), &bytes));
    }
}

fn wit_type() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "bool", "u8", "s16", "u32", "s64", "f32", "f64", "char", "string", "list<u8>", "rec", "en",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|t| format!("list<{t}>")),
            inner.clone().prop_map(|t| format!("option<{t}>")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("result<{a}, {b}>")),
            prop::collection::vec(inner, 1..4).prop_map(|t| format!("tuple<{}>", t.join(", "))),
        ]
    })
}
