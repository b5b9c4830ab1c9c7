//! Types and signatures in the notation of WIT, for people.
//!
//! Named types are written by name, so a signature is as long as its text was.

use bindery_types::{Function, Handle, Ty, TyId, TypeTable};

use super::invalid::printable;

/// `name(param: type, …) -> type`.
pub(super) fn signature(function: &Function, types: &TypeTable) -> String {
    let params: Vec<String> = function
        .params
        .iter()
        .map(|param| format!("{}: {}", printable(&param.name), of(param.ty, types)))
        .collect();
    let result = function
        .result
        .map_or_else(String::new, |result| format!(" -> {}", of(result, types)));
    let name = printable(&function.name.to_string());
    format!("{name}({}){result}", params.join(", "))
}

/// A type: by its name if it has one. Only types without names nest here, and those at
/// most as deep as types may be.
pub(super) fn of(id: TyId, types: &TypeTable) -> String {
    let part = |id: TyId| of(id, types);
    let named = |name: &Option<std::sync::Arc<str>>, kind: &str| {
        name.as_ref()
            .map_or_else(|| kind.to_owned(), |name| printable(name))
    };
    match types.get(id) {
        Ty::Bool => "bool".to_owned(),
        Ty::U8 => "u8".to_owned(),
        Ty::U16 => "u16".to_owned(),
        Ty::U32 => "u32".to_owned(),
        Ty::U64 => "u64".to_owned(),
        Ty::S8 => "s8".to_owned(),
        Ty::S16 => "s16".to_owned(),
        Ty::S32 => "s32".to_owned(),
        Ty::S64 => "s64".to_owned(),
        Ty::F32 => "f32".to_owned(),
        Ty::F64 => "f64".to_owned(),
        Ty::Char => "char".to_owned(),
        Ty::String => "string".to_owned(),
        Ty::Bytes => "list<u8>".to_owned(),
        Ty::List(item) => format!("list<{}>", part(*item)),
        Ty::Tuple(items) => {
            let items: Vec<String> = items.iter().copied().map(part).collect();
            format!("tuple<{}>", items.join(", "))
        }
        Ty::Option(some) => format!("option<{}>", part(*some)),
        Ty::Result { ok, err } => result(ok.map(part), err.map(part)),
        Ty::Record(record) => named(&record.name, "record"),
        Ty::Variant(variant) => named(&variant.name, "variant"),
        Ty::Enum(of) => named(&of.name, "enum"),
        Ty::Flags(of) => named(&of.name, "flags"),
        Ty::Handle(Handle::Own(resource)) => printable(resource),
        Ty::Handle(Handle::Borrow(resource)) => format!("borrow<{}>", printable(resource)),
        Ty::Handle(Handle::Future) => "future".to_owned(),
        Ty::Handle(Handle::Stream) => "stream".to_owned(),
        Ty::Handle(Handle::ErrorContext) => "error-context".to_owned(),
    }
}

fn result(ok: Option<String>, err: Option<String>) -> String {
    match (ok, err) {
        (None, None) => "result".to_owned(),
        (Some(ok), None) => format!("result<{ok}>"),
        (ok, Some(err)) => format!("result<{}, {err}>", ok.as_deref().unwrap_or("_")),
    }
}

/// The definition of a type that has a name, on one line; none for any other type.
pub(super) fn definition(ty: &Ty, types: &TypeTable) -> Option<String> {
    let payload =
        |ty: Option<TyId>| ty.map_or_else(String::new, |ty| format!("({})", of(ty, types)));
    let (kind, name, parts): (_, _, Vec<String>) = match ty {
        Ty::Record(record) => {
            let fields = record.fields.iter();
            let fields = fields.map(|f| format!("{}: {}", printable(&f.name), of(f.ty, types)));
            ("record", record.name.as_ref()?, fields.collect())
        }
        Ty::Variant(variant) => {
            let cases = variant.cases.iter();
            let cases = cases.map(|c| format!("{}{}", printable(&c.name), payload(c.ty)));
            ("variant", variant.name.as_ref()?, cases.collect())
        }
        Ty::Enum(of) => {
            let cases = of.cases.iter().map(|case| printable(case));
            ("enum", of.name.as_ref()?, cases.collect())
        }
        Ty::Flags(of) => {
            let labels = of.labels.iter().map(|label| printable(label));
            ("flags", of.name.as_ref()?, labels.collect())
        }
        _ => return None,
    };
    Some(format!(
        "{kind} {} {{ {} }}",
        printable(name),
        parts.join(", ")
    ))
}
