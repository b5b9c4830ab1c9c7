//! The depth of a value that somebody else has parsed already.
//!
//! Rule (case B7): the library's own entrance for parsed values is as safe as the text
//! one; the walk keeps its own stack, so depth is an answer and never a crash.

use bindery_types::{Budget, ErrorType, LimitName, Refusal};
use serde_json::{Value, json};

/// Checks that arrays and objects are nested at most `json_depth` deep.
///
/// Dropping a value recurses too: whoever holds one that is refused here and was built
/// without a limit has to take it apart level by level.
///
/// # Errors
///
/// `arguments_invalid` that names the limit.
pub fn check_value_depth(value: &Value, budget: &Budget) -> Result<(), Refusal> {
    let limit = budget.get(LimitName::JsonDepth).or_max();
    let mut open: Vec<(&Value, u64)> = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        let inside: Box<dyn Iterator<Item = &Value>> = match value {
            Value::Array(items) => Box::new(items.iter()),
            Value::Object(members) => Box::new(members.values()),
            _ => continue,
        };
        if depth > limit {
            let message =
                format!("the arguments are nested deeper than {limit} (limit `json_depth`)");
            let fault = json!({
                "pointer": "",
                "expected": format!("brackets nested at most {limit} deep"),
                "got": "one more",
            });
            return Err(Refusal::new(ErrorType::ArgumentsInvalid, message)
                .with("faults", vec![fault])
                .with("more", 0));
        }
        open.extend(
            inside
                .filter(|v| v.is_array() || v.is_object())
                .map(|v| (v, depth + 1)),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> Value {
        (1..depth).fold(json!([]), |inner, _| Value::Array(vec![inner]))
    }

    /// Takes a deep value apart without recursion.
    fn dismantle(mut value: Value) {
        while let Some(inner) = value.as_array_mut().and_then(Vec::pop) {
            value = inner;
        }
    }

    #[test]
    fn b7_a_parsed_value_is_refused_by_depth_without_recursion() {
        let budget = Budget::default();
        assert!(check_value_depth(&nested(64), &budget).is_ok());
        for depth in [65, 100_000] {
            let value = nested(depth);
            let refusal = check_value_depth(&value, &budget).unwrap_err();
            assert_eq!(refusal.kind(), ErrorType::ArgumentsInvalid);
            assert!(refusal.message().contains("deeper than 64"), "{refusal}");
            dismantle(value);
        }
        assert!(check_value_depth(&json!(1), &budget).is_ok());
    }
}
