//! Generated types: as our table, as component text, as core parameters.

use bindery_types::{Case, Enum, Field, Flags, Record, Ty, TyId, TypeTableBuilder, Variant};

/// A component type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F32,
    F64,
    Char,
    Text,
    Bytes,
    List(Box<Kind>),
    Tuple(Vec<Kind>),
    Record(Vec<Kind>),
    Variant(Vec<Option<Kind>>),
    Enum(usize),
    Flags(usize),
    Option(Box<Kind>),
    Result(Option<Box<Kind>>, Option<Box<Kind>>),
}

/// A core parameter's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Core {
    I32,
    I64,
    F32,
    F64,
}

impl Core {
    pub(super) fn wat(self) -> &'static str {
        match self {
            Core::I32 => "i32",
            Core::I64 => "i64",
            Core::F32 => "f32",
            Core::F64 => "f64",
        }
    }

    /// The one slot that can carry either.
    fn join(self, other: Core) -> Core {
        match (self, other) {
            (a, b) if a == b => a,
            (Core::I32, Core::F32) | (Core::F32, Core::I32) => Core::I32,
            _ => Core::I64,
        }
    }
}

/// Field, case or label number `n`.
pub(super) fn name(prefix: &str, n: usize) -> String {
    format!("{prefix}{n}-x")
}

impl Kind {
    /// Adds the type to our table.
    pub(super) fn ty(&self, table: &mut TypeTableBuilder) -> TyId {
        let ty = match self {
            Kind::Bool => Ty::Bool,
            Kind::U8 => Ty::U8,
            Kind::U16 => Ty::U16,
            Kind::U32 => Ty::U32,
            Kind::U64 => Ty::U64,
            Kind::S8 => Ty::S8,
            Kind::S16 => Ty::S16,
            Kind::S32 => Ty::S32,
            Kind::S64 => Ty::S64,
            Kind::F32 => Ty::F32,
            Kind::F64 => Ty::F64,
            Kind::Char => Ty::Char,
            Kind::Text => Ty::String,
            Kind::Bytes => Ty::Bytes,
            Kind::List(item) => Ty::List(item.ty(table)),
            Kind::Tuple(items) => Ty::Tuple(items.iter().map(|item| item.ty(table)).collect()),
            Kind::Record(fields) => {
                let field = |(n, kind): (usize, &Kind)| Field {
                    name: name("f", n).into(),
                    ty: kind.ty(table),
                    docs: None,
                };
                let fields = fields.iter().enumerate().map(field).collect();
                Ty::Record(Record { name: None, fields }.into())
            }
            Kind::Variant(cases) => {
                let case = |(n, kind): (usize, &Option<Kind>)| Case {
                    name: name("c", n).into(),
                    ty: kind.as_ref().map(|kind| kind.ty(table)),
                    docs: None,
                };
                let cases = cases.iter().enumerate().map(case).collect();
                Ty::Variant(Variant { name: None, cases }.into())
            }
            Kind::Enum(count) => {
                let cases = (0..*count).map(|n| name("e", n).into()).collect();
                Ty::Enum(Enum { name: None, cases }.into())
            }
            Kind::Flags(count) => {
                let labels = (0..*count).map(|n| name("l", n).into()).collect();
                Ty::Flags(Flags { name: None, labels }.into())
            }
            Kind::Option(some) => Ty::Option(some.ty(table)),
            Kind::Result(ok, err) => Ty::Result {
                ok: ok.as_ref().map(|kind| kind.ty(table)),
                err: err.as_ref().map(|kind| kind.ty(table)),
            },
        };
        table.add(ty)
    }

    /// The type as component text; types that must be named are defined in `definitions`.
    pub(super) fn wat(&self, definitions: &mut Vec<String>) -> String {
        let body = match self {
            Kind::Bool => return "bool".into(),
            Kind::U8 => return "u8".into(),
            Kind::U16 => return "u16".into(),
            Kind::U32 => return "u32".into(),
            Kind::U64 => return "u64".into(),
            Kind::S8 => return "s8".into(),
            Kind::S16 => return "s16".into(),
            Kind::S32 => return "s32".into(),
            Kind::S64 => return "s64".into(),
            Kind::F32 => return "f32".into(),
            Kind::F64 => return "f64".into(),
            Kind::Char => return "char".into(),
            Kind::Text => return "string".into(),
            Kind::Bytes => return "(list u8)".into(),
            Kind::List(item) => return format!("(list {})", item.wat(definitions)),
            Kind::Option(some) => return format!("(option {})", some.wat(definitions)),
            Kind::Tuple(items) => {
                let items: Vec<String> = items.iter().map(|item| item.wat(definitions)).collect();
                return format!("(tuple {})", items.join(" "));
            }
            Kind::Result(ok, err) => {
                let ok = ok.as_ref().map(|kind| kind.wat(definitions));
                let err = err.as_ref().map(|kind| kind.wat(definitions));
                let err = err.map(|err| format!("(error {err})"));
                let (ok, err) = (ok.unwrap_or_default(), err.unwrap_or_default());
                return format!("(result {ok} {err})");
            }
            Kind::Record(fields) => {
                let field = |(n, kind): (usize, &Kind)| {
                    format!("(field \"{}\" {})", name("f", n), kind.wat(definitions))
                };
                let fields: Vec<String> = fields.iter().enumerate().map(field).collect();
                format!("(record {})", fields.join(" "))
            }
            Kind::Variant(cases) => {
                let case = |(n, kind): (usize, &Option<Kind>)| {
                    let payload = kind.as_ref().map(|kind| kind.wat(definitions));
                    format!(
                        "(case \"{}\" {})",
                        name("c", n),
                        payload.unwrap_or_default()
                    )
                };
                let cases: Vec<String> = cases.iter().enumerate().map(case).collect();
                format!("(variant {})", cases.join(" "))
            }
            Kind::Enum(count) => format!("(enum {})", quoted("e", *count)),
            Kind::Flags(count) => format!("(flags {})", quoted("l", *count)),
        };
        let n = definitions.len();
        definitions.push(format!(
            "(type $d{n} {body}) (export $t{n} \"t{n}\" (type $d{n}))"
        ));
        format!("$t{n}")
    }

    /// The core parameters that carry it.
    pub(super) fn flat(&self) -> Vec<Core> {
        match self {
            Kind::S64 | Kind::U64 => vec![Core::I64],
            Kind::F32 => vec![Core::F32],
            Kind::F64 => vec![Core::F64],
            Kind::Text | Kind::Bytes | Kind::List(_) => vec![Core::I32, Core::I32],
            Kind::Tuple(kinds) | Kind::Record(kinds) => kinds.iter().flat_map(Kind::flat).collect(),
            Kind::Variant(cases) => joined(cases.iter().flatten()),
            Kind::Option(some) => joined([&**some]),
            Kind::Result(ok, err) => joined(ok.iter().chain(err).map(|kind| &**kind)),
            _ => vec![Core::I32],
        }
    }
}

fn quoted(prefix: &str, count: usize) -> String {
    let names: Vec<String> = (0..count)
        .map(|n| format!("\"{}\"", name(prefix, n)))
        .collect();
    names.join(" ")
}

fn joined<'k>(payloads: impl IntoIterator<Item = &'k Kind>) -> Vec<Core> {
    let mut slots: Vec<Core> = Vec::new();
    for payload in payloads {
        for (n, core) in payload.flat().into_iter().enumerate() {
            match slots.get_mut(n) {
                Some(slot) => *slot = slot.join(core),
                None => slots.push(core),
            }
        }
    }
    slots.insert(0, Core::I32);
    slots
}
