//! Values of a type: one of the texts that mean it, and what must come out again.

use bindery_types::Ty;
use serde_json::Value;

use crate::json::Json;
use crate::types::{Kind, NAMES};

/// A stream of choices, the same for the same seed.
pub(crate) struct Choices(u64);

impl Choices {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(count.max(1)).unwrap()).unwrap()
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Splitmix64.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// What the output form of a value must be, told apart from how we write it.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    Null,
    Bool(bool),
    Integer(i128),
    /// Bits, and whether they are an `f32`'s.
    F64(f64),
    F32(f32),
    Text(String),
    Array(Vec<Expected>),
    Object(Vec<(String, Expected)>),
}

impl Expected {
    fn object(name: &str, value: Expected) -> Self {
        Expected::Object(vec![(name.to_owned(), value)])
    }

    /// Whether `value` is this.
    pub(crate) fn is(&self, value: &Value) -> bool {
        let number = |text: &str| match value {
            Value::Number(number) => number.to_string() == text,
            _ => false,
        };
        match (self, value) {
            (Expected::Null, value) => value.is_null(),
            (Expected::Bool(wanted), value) => value.as_bool() == Some(*wanted),
            (Expected::Integer(wanted), _) if wanted.unsigned_abs() < 1 << 53 => {
                number(&wanted.to_string())
            }
            (Expected::Integer(wanted), value) => value.as_str() == Some(&*wanted.to_string()),
            (Expected::F64(wanted), Value::Number(number)) => {
                number.to_string().parse::<f64>().unwrap().to_bits() == wanted.to_bits()
            }
            (Expected::F32(wanted), Value::Number(number)) => {
                number.to_string().parse::<f32>().unwrap().to_bits() == wanted.to_bits()
            }
            (Expected::F64(_) | Expected::F32(_), _) => false,
            (Expected::Text(wanted), value) => value.as_str() == Some(wanted),
            (Expected::Array(wanted), Value::Array(items)) => {
                wanted.len() == items.len() && wanted.iter().zip(items).all(|(w, v)| w.is(v))
            }
            (Expected::Object(wanted), Value::Object(members)) => {
                let same = |(name, wanted): &(String, Expected)| {
                    members.get(name).is_some_and(|value| wanted.is(value))
                };
                wanted.len() == members.len() && wanted.iter().all(same)
            }
            (Expected::Array(_) | Expected::Object(_), _) => false,
        }
    }
}

/// A text of type `kind`, and what it means.
pub(crate) fn value(kind: &Kind, choices: &mut Choices) -> (Json, Expected) {
    match kind {
        Kind::Leaf(ty) => leaf(ty, choices),
        Kind::List(item) => {
            let count = choices.below(4);
            items((0..count).map(|_| &**item), choices)
        }
        Kind::Tuple(kinds) => items(kinds.iter(), choices),
        Kind::Record(_, fields) => members(
            fields
                .iter()
                .enumerate()
                .map(|(at, kind)| (NAMES[at], kind)),
            choices,
        ),
        Kind::Variant(_, cases) => {
            let at = choices.below(cases.len());
            match &cases[at] {
                None => text(NAMES[at]),
                Some(payload) => single(NAMES[at], payload, choices),
            }
        }
        Kind::Enum(count) => text(NAMES[choices.below(*count)]),
        Kind::Flags(count) => flags(*count, choices),
        Kind::Option(_) if choices.one_in(3) => (Json::null(), Expected::Null),
        Kind::Option(inner) => match **inner {
            Kind::Option(_) => single("some", inner, choices),
            _ => value(inner, choices),
        },
        Kind::Result(ok, err) => {
            let (name, payload) = match choices.one_in(2) {
                true => ("ok", ok),
                false => ("err", err),
            };
            match payload {
                Some(payload) => single(name, payload, choices),
                None => (
                    Json::object(name, Json::null()),
                    Expected::object(name, Expected::Null),
                ),
            }
        }
    }
}

fn text(name: &str) -> (Json, Expected) {
    (Json::Text(name.to_owned()), Expected::Text(name.to_owned()))
}

fn single(name: &str, payload: &Kind, choices: &mut Choices) -> (Json, Expected) {
    let (json, expected) = value(payload, choices);
    (Json::object(name, json), Expected::object(name, expected))
}

fn items<'k>(kinds: impl Iterator<Item = &'k Kind>, choices: &mut Choices) -> (Json, Expected) {
    let (json, expected) = kinds.map(|kind| value(kind, choices)).unzip();
    (Json::Array(json), Expected::Array(expected))
}

/// Members in any order, empty options now and then left out.
pub(crate) fn members<'k>(
    kinds: impl Iterator<Item = (&'static str, &'k Kind)>,
    choices: &mut Choices,
) -> (Json, Expected) {
    let mut written = Vec::new();
    let mut expected = Vec::new();
    for (name, kind) in kinds {
        let (json, meaning) = value(kind, choices);
        let absent = matches!((kind, &meaning), (Kind::Option(_), Expected::Null));
        expected.push((name.to_owned(), meaning));
        if !(absent && choices.one_in(2)) {
            let at = choices.below(written.len() + 1);
            written.insert(at, (name.to_owned(), json));
        }
    }
    (Json::Object(written), Expected::Object(expected))
}

fn flags(count: usize, choices: &mut Choices) -> (Json, Expected) {
    let mut written = Vec::new();
    let mut expected = Vec::new();
    for name in NAMES.iter().take(count) {
        if choices.one_in(3) {
            continue;
        }
        let (json, meaning) = text(name);
        expected.push(meaning);
        let at = choices.below(written.len() + 1);
        written.insert(at, json);
    }
    (Json::Array(written), Expected::Array(expected))
}

fn leaf(ty: &Ty, choices: &mut Choices) -> (Json, Expected) {
    match ty {
        Ty::Bool => {
            let value = choices.one_in(2);
            (Json::Token(value.to_string()), Expected::Bool(value))
        }
        Ty::U8 => integer(0, 0xff, false, choices),
        Ty::U16 => integer(0, 0xffff, false, choices),
        Ty::U32 => integer(0, 0xffff_ffff, false, choices),
        Ty::U64 => integer(0, u64::MAX.into(), true, choices),
        Ty::S8 => integer(i8::MIN.into(), i8::MAX.into(), false, choices),
        Ty::S16 => integer(i16::MIN.into(), i16::MAX.into(), false, choices),
        Ty::S32 => integer(i32::MIN.into(), i32::MAX.into(), false, choices),
        Ty::S64 => integer(i64::MIN.into(), i64::MAX.into(), true, choices),
        Ty::F32 | Ty::F64 => float(ty, choices),
        Ty::Char => text(choices.pick(&["a", "é", "😀", "\0", "\"", "\u{7f}", "\u{ffff}"])),
        Ty::Bytes => {
            let count = choices.below(8);
            let bytes: Vec<u8> = (0..count)
                .map(|_| choices.next().to_le_bytes()[0])
                .collect();
            text(&base64(&bytes))
        }
        _ => text(choices.pick(&["", "a", "é\\\"\n", "12", "{\"n\":1}", "null", "a\0😀b"])),
    }
}

/// An integer in one of its spellings.
fn integer(least: i128, greatest: i128, wide: bool, choices: &mut Choices) -> (Json, Expected) {
    let safe = (1 << 53) - 1;
    let edges = [
        least,
        greatest,
        least + 1,
        greatest - 1,
        0,
        1,
        10,
        30,
        safe,
        safe + 1,
        safe + 2,
    ];
    let value = match choices.one_in(3) {
        true => i128::from(choices.next()) % (greatest - least + 1) + least,
        false => choices.pick(&edges).clamp(least, greatest),
    };
    let json = match choices.below(6) {
        0 => Json::Token(format!("{value}.0")),
        1 => Json::Token(format!("{value}e0")),
        2 => Json::Token(format!("{value}00e-2")),
        3 if value == 0 => Json::Token("-0.0".to_owned()),
        3 | 4 if wide => Json::Text(value.to_string()),
        _ => Json::Token(value.to_string()),
    };
    (json, Expected::Integer(value))
}

fn float(ty: &Ty, choices: &mut Choices) -> (Json, Expected) {
    if choices.one_in(4) {
        return text(choices.pick(&["nan", "inf", "-inf"]));
    }
    if *ty == Ty::F32 {
        let edges = [
            0.0,
            -0.0,
            0.1,
            f32::MAX,
            f32::MIN,
            f32::MIN_POSITIVE,
            1e-45,
            16_777_216.0,
        ];
        let any = f32::from_bits(u32::try_from(choices.next() >> 32).unwrap());
        let value = match choices.one_in(2) && any.is_finite() {
            true => any,
            false => choices.pick(&edges),
        };
        let token = match choices.one_in(2) {
            true => format!("{value:?}"),
            false => format!("{value:e}"),
        };
        return (Json::Token(token), Expected::F32(value));
    }
    let edges = [
        0.0,
        -0.0,
        0.1,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        5e-324,
        1e21,
    ];
    let any = f64::from_bits(choices.next());
    let value = match choices.one_in(2) && any.is_finite() {
        true => any,
        false => choices.pick(&edges),
    };
    let token = match choices.one_in(2) {
        true => format!("{value:?}"),
        false => format!("{value:E}"),
    };
    (Json::Token(token), Expected::F64(value))
}

/// Base64, the slow way.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |at: usize| {
        bytes
            .get(at / 8)
            .map_or(0, |byte| usize::from(byte >> (7 - at % 8) & 1))
    };
    let characters = (bytes.len() * 8).div_ceil(6);
    let mut text: String = (0..characters)
        .map(|at| (0..6).fold(0, |six, offset| six << 1 | bit(at * 6 + offset)))
        .map(|six| char::from(ALPHABET[six]))
        .collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}
