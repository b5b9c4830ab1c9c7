//! `Val` ⇄ JSON, written from the table of the JSON form and from nothing else here.

use wasmtime::component::Val;

use super::kind::Kind;

/// How records are spelled.
pub(super) enum Spelling<'r> {
    /// As results are: every field, in order.
    Output,
    /// As a caller may: any order, `none` left out at will.
    Input(&'r mut dyn FnMut() -> bool),
}

/// The JSON text of a value.
pub(super) fn json(val: &Val, kind: &Kind, spelling: &mut Spelling<'_>) -> String {
    match (val, kind) {
        (Val::Bool(value), Kind::Bool) => value.to_string(),
        (Val::U8(value), _) => value.to_string(),
        (Val::U16(value), _) => value.to_string(),
        (Val::U32(value), _) => value.to_string(),
        (Val::S8(value), _) => value.to_string(),
        (Val::S16(value), _) => value.to_string(),
        (Val::S32(value), _) => value.to_string(),
        (Val::U64(value), _) => whole((*value).into()),
        (Val::S64(value), _) => whole((*value).into()),
        (Val::Float32(value), _) => float(f64::from(*value), |out| {
            bindery_json::text::push_f32(out, *value);
        }),
        (Val::Float64(value), _) => float(*value, |out| {
            bindery_json::text::push_f64(out, *value);
        }),
        (Val::Char(value), _) => quote(&value.to_string()),
        (Val::String(value), _) => quote(value),
        (Val::List(items), Kind::Bytes) => {
            let mut out = Vec::new();
            bindery_json::text::push_bytes(&mut out, &bytes(items));
            String::from_utf8(out).unwrap()
        }
        (Val::List(items), Kind::List(kind)) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| json(item, kind, spelling))
                .collect();
            format!("[{}]", items.join(","))
        }
        (Val::Tuple(items), Kind::Tuple(kinds)) => {
            let pairs = items.iter().zip(kinds);
            let items: Vec<String> = pairs
                .map(|(item, kind)| json(item, kind, spelling))
                .collect();
            format!("[{}]", items.join(","))
        }
        (Val::Record(fields), Kind::Record(kinds)) => object(fields, kinds, spelling),
        (Val::Variant(name, None), Kind::Variant(_)) | (Val::Enum(name), Kind::Enum(_)) => {
            quote(name)
        }
        (Val::Variant(name, Some(payload)), Kind::Variant(kinds)) => {
            let number: String = name.chars().filter(char::is_ascii_digit).collect();
            let kind = kinds[number.parse::<usize>().unwrap()].as_ref().unwrap();
            format!("{{{}:{}}}", quote(name), json(payload, kind, spelling))
        }
        (Val::Flags(labels), Kind::Flags(_)) => {
            let labels: Vec<String> = labels.iter().map(|label| quote(label)).collect();
            format!("[{}]", labels.join(","))
        }
        (Val::Option(None), Kind::Option(_)) => "null".into(),
        (Val::Option(Some(some)), Kind::Option(kind)) => {
            let text = json(some, kind, spelling);
            match **kind {
                Kind::Option(_) => format!("{{\"some\":{text}}}"),
                _ => text,
            }
        }
        (Val::Result(result), Kind::Result(..)) => {
            let side = if result.is_ok() { "ok" } else { "err" };
            format!("{{\"{side}\":{}}}", side_json(result, kind, spelling))
        }
        _ => panic!("{val:?} is no {kind:?}"),
    }
}

/// The payload of a `result`, `null` for none.
pub(super) fn side_json(
    result: &Result<Option<Box<Val>>, Option<Box<Val>>>,
    kind: &Kind,
    spelling: &mut Spelling<'_>,
) -> String {
    let Kind::Result(ok, err) = kind else {
        panic!("{kind:?} is no result");
    };
    let (payload, kind) = match result {
        Ok(payload) => (payload, ok),
        Err(payload) => (payload, err),
    };
    match (payload, kind) {
        (Some(payload), Some(kind)) => json(payload, kind, spelling),
        (None, None) => "null".into(),
        _ => panic!("{payload:?} is no payload of {kind:?}"),
    }
}

/// An object of these members.
pub(super) fn object(
    fields: &[(String, Val)],
    kinds: &[Kind],
    spelling: &mut Spelling<'_>,
) -> String {
    let mut members = Vec::new();
    for ((name, val), kind) in fields.iter().zip(kinds) {
        let absent = matches!((val, kind), (Val::Option(None), Kind::Option(_)));
        if let Spelling::Input(chance) = spelling
            && absent
            && chance()
        {
            continue;
        }
        members.push(format!("{}:{}", quote(name), json(val, kind, spelling)));
    }
    if let Spelling::Input(chance) = spelling
        && chance()
    {
        members.reverse();
    }
    format!("{{{}}}", members.join(","))
}

/// The bytes of a `list<u8>`.
pub(super) fn bytes(items: &[Val]) -> Vec<u8> {
    let byte = |item: &Val| match item {
        Val::U8(byte) => *byte,
        other => panic!("{other:?} is no byte"),
    };
    items.iter().map(byte).collect()
}

fn whole(value: i128) -> String {
    let safe = (1 << 53) - 1;
    match (-safe..=safe).contains(&value) {
        true => value.to_string(),
        false => format!("\"{value}\""),
    }
}

fn float(value: f64, write: impl FnOnce(&mut Vec<u8>)) -> String {
    if value.is_nan() {
        return "\"nan\"".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "\"inf\"" } else { "\"-inf\"" }.into();
    }
    // The digits are the writer's business and tested there.
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

fn quote(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}
