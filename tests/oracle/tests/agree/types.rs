//! Types to generate: a plain tree, turned into a type table.

use std::sync::Arc;

use bindery_types::{
    Case, Enum, Field, Flags, Function, FunctionName, Param, Record, Ty, TyId, TypeTable,
    TypeTableBuilder, Variant,
};
use proptest::prelude::*;

/// A type as a tree.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Leaf(Ty),
    List(Box<Kind>),
    Tuple(Vec<Kind>),
    Record(bool, Vec<Kind>),
    Variant(bool, Vec<Option<Kind>>),
    Enum(usize),
    Flags(usize),
    Option(Box<Kind>),
    Result(Option<Box<Kind>>, Option<Box<Kind>>),
}

/// Names by position; some of them have a meaning elsewhere in the table.
pub(crate) const NAMES: [&str; 8] = ["item", "some", "ok", "b-c", "err", "x1", "null", "v"];

/// Any type, nested a few levels.
pub(crate) fn kind() -> impl Strategy<Value = Kind> {
    let leaf = prop::sample::select(vec![
        Ty::Bool,
        Ty::U8,
        Ty::U16,
        Ty::U32,
        Ty::U64,
        Ty::S8,
        Ty::S16,
        Ty::S32,
        Ty::S64,
        Ty::F32,
        Ty::F64,
        Ty::Char,
        Ty::String,
        Ty::Bytes,
    ]);
    let flat = prop_oneof![
        8 => leaf.prop_map(Kind::Leaf),
        1 => (1..6_usize).prop_map(Kind::Enum),
        1 => (0..6_usize).prop_map(Kind::Flags),
    ];
    flat.prop_recursive(3, 12, 4, |inner| {
        let optional = prop::option::of(inner.clone());
        prop_oneof![
            // A list of `u8` is bytes, so its item is never that.
            2 => inner.clone().prop_filter_map("bytes", |item| match item {
                Kind::Leaf(Ty::U8) => None,
                item => Some(Kind::List(Box::new(item))),
            }),
            2 => prop::collection::vec(inner.clone(), 0..4).prop_map(Kind::Tuple),
            3 => (any::<bool>(), prop::collection::vec(inner.clone(), 0..5))
                .prop_map(|(named, fields)| Kind::Record(named, fields)),
            3 => (any::<bool>(), prop::collection::vec(optional.clone(), 1..5))
                .prop_map(|(named, cases)| Kind::Variant(named, cases)),
            3 => inner.clone().prop_map(|inner| Kind::Option(Box::new(inner))),
            1 => inner.prop_map(|inner| {
                Kind::Option(Box::new(Kind::Option(Box::new(inner))))
            }),
            2 => (optional.clone(), optional)
                .prop_map(|(ok, err)| Kind::Result(ok.map(Box::new), err.map(Box::new))),
        ]
    })
}

fn name(position: usize) -> Arc<str> {
    NAMES[position % NAMES.len()].into()
}

fn declared(named: bool, name: &str) -> Option<Arc<str>> {
    named.then(|| name.into())
}

fn add(builder: &mut TypeTableBuilder, kind: &Kind) -> TyId {
    let ty = match kind {
        Kind::Leaf(ty) => ty.clone(),
        Kind::List(item) => Ty::List(add(builder, item)),
        Kind::Tuple(items) => Ty::Tuple(items.iter().map(|item| add(builder, item)).collect()),
        Kind::Record(named, fields) => {
            let fields = fields.iter().enumerate().map(|(at, field)| Field {
                name: name(at),
                ty: add(builder, field),
                docs: None,
            });
            let fields = fields.collect();
            Ty::Record(Arc::new(Record {
                name: declared(*named, "thing"),
                fields,
            }))
        }
        Kind::Variant(named, cases) => {
            let cases = cases.iter().enumerate().map(|(at, case)| Case {
                name: name(at),
                ty: case.as_ref().map(|payload| add(builder, payload)),
                docs: None,
            });
            let cases = cases.collect();
            Ty::Variant(Arc::new(Variant {
                name: declared(*named, "thing"),
                cases,
            }))
        }
        Kind::Enum(count) => Ty::Enum(Arc::new(Enum {
            name: None,
            cases: (0..*count).map(name).collect(),
        })),
        Kind::Flags(count) => Ty::Flags(Arc::new(Flags {
            name: None,
            labels: (0..*count).map(name).collect(),
        })),
        Kind::Option(inner) => Ty::Option(add(builder, inner)),
        Kind::Result(ok, err) => {
            let ok = ok.as_ref().map(|ok| add(builder, ok));
            let err = err.as_ref().map(|err| add(builder, err));
            Ty::Result { ok, err }
        }
    };
    builder.add(ty)
}

/// A function of two parameters whose result is the record of both, so that its rendered
/// arguments are a value of its result.
pub(crate) fn function(v: &Kind, w: &Kind) -> (Function, TypeTable) {
    let mut builder = TypeTableBuilder::new();
    let members = [("v", v), ("w", w)].map(|(name, kind)| (name, add(&mut builder, kind)));
    let fields = members
        .map(|(name, ty)| Field {
            name: name.into(),
            ty,
            docs: None,
        })
        .into();
    let result = builder.add(Ty::Record(Arc::new(Record { name: None, fields })));
    let function = Function {
        name: FunctionName::new(None, "echo").unwrap(),
        docs: None,
        params: members
            .map(|(name, ty)| Param {
                name: name.into(),
                ty,
            })
            .into(),
        result: Some(result),
        uncallable: None,
    };
    (function, builder.finish())
}
