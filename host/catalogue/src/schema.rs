//! Whether a JSON Schema is one this host can hold a caller to.
//!
//! Rule (R-380 … R-383, H49): a closed list of keywords, references only into the schema
//! itself, bounded depth and size; what is outside the list is named, nothing is fetched.

use serde_json::Value;

/// Keywords that say something about a value here.
const KEYWORDS: &[&str] = &[
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "anyOf",
    "const",
    "contentEncoding",
    "default",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "oneOf",
    "pattern",
    "prefixItems",
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
];

/// Keywords whose members are schemas by name.
const MAPS: &[&str] = &["$defs", "properties"];
/// Keywords whose members are schemas in a list.
const LISTS: &[&str] = &["anyOf", "oneOf", "prefixItems"];
/// Keywords that are a schema or a boolean.
const SINGLES: &[&str] = &["additionalProperties", "items"];

const DEPTH_MAX: usize = 64;
const NODES_MAX: usize = 20_000;

/// The first thing about `schema` that this host cannot hold a caller to, with where.
///
/// # Errors
///
/// One sentence: the JSON Pointer, what stands there, what is supported.
pub(crate) fn check(schema: &Value) -> Result<(), String> {
    let mut nodes = 0;
    let mut open = vec![(schema, String::new(), 0)];
    while let Some((node, at, depth)) = open.pop() {
        nodes += 1;
        if nodes > NODES_MAX {
            return Err(format!("the schema has more than {NODES_MAX} parts"));
        }
        if depth > DEPTH_MAX {
            return Err(format!("the schema is more than {DEPTH_MAX} deep at {at}"));
        }
        let Value::Object(members) = node else {
            match node {
                Value::Bool(_) => continue,
                _ => return Err(format!("{} is not a schema", place(&at))),
            }
        };
        for (keyword, value) in members {
            if !KEYWORDS.contains(&keyword.as_str()) {
                return Err(format!("{}: `{keyword}` is not supported", place(&at)));
            }
            let here = format!("{at}/{keyword}");
            if keyword == "$ref" {
                reference(schema, value, &here)?;
            }
            if keyword == "oneOf" {
                apart(value, &here)?;
            }
            push(&mut open, keyword, value, here, depth + 1);
        }
    }
    Ok(())
}

fn place(at: &str) -> &str {
    if at.is_empty() { "the schema" } else { at }
}

fn push<'a>(
    open: &mut Vec<(&'a Value, String, usize)>,
    keyword: &str,
    value: &'a Value,
    here: String,
    depth: usize,
) {
    match value {
        Value::Object(members) if MAPS.contains(&keyword) => {
            open.extend(
                members
                    .iter()
                    .map(|(name, part)| (part, format!("{here}/{name}"), depth)),
            );
        }
        Value::Array(parts) if LISTS.contains(&keyword) => {
            let parts = parts.iter().enumerate();
            open.extend(parts.map(|(index, part)| (part, format!("{here}/{index}"), depth)));
        }
        part if SINGLES.contains(&keyword) => open.push((part, here, depth)),
        _ => {}
    }
}

fn reference(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(text) = value.as_str() else {
        return Err(format!("{at} is not a text"));
    };
    let Some(pointer) = text.strip_prefix('#') else {
        return Err(format!(
            "{at}: only references into the schema itself are followed, not `{text}`"
        ));
    };
    match schema.pointer(pointer) {
        Some(_) => Ok(()),
        None => Err(format!("{at}: `{text}` leads nowhere")),
    }
}

/// `oneOf` is unambiguous when its branches are told apart by their type, or by a member
/// that is a different constant in each.
fn apart(branches: &Value, at: &str) -> Result<(), String> {
    let Some(branches) = branches.as_array() else {
        return Err(format!("{at} is not a list"));
    };
    let signs: Vec<Option<String>> = branches.iter().map(sign).collect();
    for (index, sign) in signs.iter().enumerate() {
        let twin = signs.iter().take(index).position(|earlier| earlier == sign);
        if sign.is_none() || twin.is_some() {
            return Err(format!(
                "{at}/{index} can fit what another branch fits: ambiguous"
            ));
        }
    }
    Ok(())
}

fn sign(branch: &Value) -> Option<String> {
    if let Some(constant) = branch.get("const") {
        return Some(format!("const {constant}"));
    }
    if let Some(properties) = branch.get("properties").and_then(Value::as_object) {
        let required = branch.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let tag = properties.iter().find_map(|(name, part)| {
            let constant = part.get("const").filter(|_| is_required(name))?;
            Some(format!("{name} {constant}"))
        });
        let closed = branch.get("additionalProperties") == Some(&Value::Bool(false));
        let only = required.filter(|all| closed && all.len() == properties.len());
        return tag.or_else(|| only.map(|all| format!("members {}", Value::from(all.clone()))));
    }
    branch.get("type").map(|kind| format!("type {kind}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_supported_passes() {
        let schema = json!({
            "type": "object",
            "properties": { "path": { "type": "string" }, "kind": { "$ref": "#/$defs/kind" } },
            "required": ["path"],
            "additionalProperties": false,
            "$defs": { "kind": { "oneOf": [
                { "type": "object", "properties": { "tag": { "const": "a" } }, "required": ["tag"] },
                { "type": "object", "properties": { "tag": { "const": "b" } }, "required": ["tag"] },
            ] } },
        });
        assert_eq!(check(&schema), Ok(()), "R-383");
    }

    #[test]
    fn a_remote_reference_is_named_and_not_fetched() {
        let error = check(&json!({ "$ref": "https://example.test/schema" })).unwrap_err();
        assert!(
            error.contains("https://example.test/schema"),
            "R-383: {error}"
        );
        assert!(
            check(&json!({ "$ref": "#/$defs/gone" }))
                .unwrap_err()
                .contains("nowhere")
        );
    }

    #[test]
    fn branches_that_overlap_are_ambiguous() {
        let error = check(&json!({ "oneOf": [{ "type": "integer" }, { "type": "integer" }] }));
        assert!(error.unwrap_err().contains("/oneOf/1"), "R-382");
        assert!(check(&json!({ "oneOf": [{ "type": "integer" }, { "type": "string" }] })).is_ok());
    }

    ///
    #[test]
    fn an_unsupported_keyword_is_named_with_its_place() {
        let schema = json!({ "properties": { "x": { "if": {} } } });
        assert_eq!(
            check(&schema).unwrap_err(),
            "/properties/x: `if` is not supported"
        );
        assert!(check(&json!(3)).is_err());
    }
}
