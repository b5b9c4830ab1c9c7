//! Changes to a text that may or may not make it wrong: a generator that makes only valid
//! texts proves nothing.

use crate::json::Json;
use crate::types::NAMES;
use crate::values::Choices;

/// Numbers at and around every edge of the table.
const NUMBERS: [&str; 60] = [
    "0",
    "-0",
    "-0.0",
    "0.0",
    "1",
    "-1",
    "1.5",
    "0.1",
    "1e0",
    "1e3",
    "1E-3",
    "10e-1",
    "12.50e1",
    "127",
    "128",
    "-128",
    "-129",
    "255",
    "256",
    "255.0",
    "2.55e2",
    "32767",
    "32768",
    "-32768",
    "-32769",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "4294967295",
    "4294967296",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740991",
    "-9007199254740992",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "1.8446744073709551615e19",
    "18446744073709551615.5",
    "1e20",
    "1e400",
    "-1e400",
    "1e-400",
    "0e400",
    "3.4028234663852886e38",
    "3.4028235677973365e38",
    "3.4028235677973366e38",
    "-3.4028235677973366e38",
    "340282356779733661637539395458142568448",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "-1.79769313486231571e308",
    "1e309",
];

const TEXTS: [&str; 46] = [
    "",
    "a",
    "ab",
    "é",
    "😀",
    "😀😀",
    "\0",
    "Item",
    "item",
    "some",
    "none",
    "ok",
    "v",
    "0",
    "-0",
    "00",
    "01",
    "+1",
    "1",
    "-1",
    "1.0",
    "1e3",
    " 1",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "+inf",
    "Infinity",
    "Zg==",
    "Zh==",
    "Zg",
    "Zg=",
    "Zm9=",
    "Zm8=",
    "Zm9v",
    "-_-_",
    "Zm9v\n",
    "{}",
];

/// Changes one piece of the text.
pub(crate) fn mutate(json: &mut Json, choices: &mut Choices) {
    let at = choices.below(json.count());
    let Some(piece) = json.piece(at) else {
        return;
    };
    match choices.below(8) {
        0 => *piece = Json::Token(choices.pick(&["null", "true", "false"]).to_owned()),
        1 => *piece = Json::Token(choices.pick(&NUMBERS).to_owned()),
        2 => *piece = Json::Text(choices.pick(&TEXTS).to_owned()),
        3 => *piece = Json::Text(piece.write()),
        4 => wrap(piece, choices),
        5 => unwrap(piece),
        _ => inside(piece, choices),
    }
}

fn wrap(piece: &mut Json, choices: &mut Choices) {
    let inner = piece.clone();
    *piece = match choices.below(3) {
        0 => Json::Array(vec![inner]),
        _ => Json::object(choices.pick(&NAMES), inner),
    };
}

/// The only member or item instead of the whole, or its name.
fn unwrap(piece: &mut Json) {
    *piece = match piece {
        Json::Object(members) => match members.first() {
            Some((_, value)) if members.len() == 1 => value.clone(),
            Some((name, _)) => Json::Text(name.clone()),
            None => Json::null(),
        },
        Json::Array(items) => items.first().cloned().unwrap_or(Json::null()),
        Json::Text(name) => Json::object(name, Json::null()),
        Json::Token(_) => return,
    };
}

fn inside(piece: &mut Json, choices: &mut Choices) {
    match piece {
        Json::Array(items) => array(items, choices),
        Json::Object(members) => object(members, choices),
        Json::Text(text) => letters(text, choices),
        Json::Token(token) => token.push_str(choices.pick(&["0", ".0", ".5", "e1", "e-1", "E+0"])),
    }
}

fn array(items: &mut Vec<Json>, choices: &mut Choices) {
    let at = choices.below(items.len() + 1);
    match (choices.below(3), items.get(at).cloned()) {
        (0, Some(_)) => drop(items.remove(at)),
        (1, Some(item)) => items.push(item),
        _ => items.insert(at, Json::Token(choices.pick(&NUMBERS).to_owned())),
    }
}

fn object(members: &mut Vec<(String, Json)>, choices: &mut Choices) {
    let at = choices.below(members.len() + 1);
    match (choices.below(4), members.get_mut(at)) {
        (0, Some(_)) => drop(members.remove(at)),
        (1, Some((name, _))) => choices.pick(&NAMES).clone_into(name),
        (2, Some((name, _))) => *name = name.to_uppercase(),
        _ => members.insert(at, (choices.pick(&NAMES).to_owned(), Json::null())),
    }
}

fn letters(text: &mut String, choices: &mut Choices) {
    match choices.below(4) {
        0 => drop(text.pop()),
        1 => text.push_str(choices.pick(&["a", "=", "0", " ", "é"])),
        2 => *text = text.to_uppercase(),
        _ => text.insert(0, choices.pick(&['-', '0', '1', '+'])),
    }
}

/// Cuts or doubles a few characters of the text: mostly no JSON any more.
pub(crate) fn damage(text: &mut String, choices: &mut Choices) {
    let chars: Vec<char> = text.chars().collect();
    let start = choices.below(chars.len());
    let end = (start + 1 + choices.below(3)).min(chars.len());
    let again: &[char] = if choices.one_in(2) {
        &chars[start..end]
    } else {
        &[]
    };
    *text = chars[..start]
        .iter()
        .chain(again)
        .chain(again)
        .chain(&chars[end..])
        .collect();
}
