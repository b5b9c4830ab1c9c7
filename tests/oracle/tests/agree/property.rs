//! What has to hold for every type and every text.

use bindery_json::{input_schema, output_schema, read_arguments, render};
use bindery_types::{Budget, Function, Ty, TypeTable};
use jsonschema::Validator;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::Value;

use crate::doctor::Doctor;
use crate::exact;
use crate::json::Json;
use crate::mutate::{damage, mutate};
use crate::types::{Kind, function};
use crate::values::{Choices, Expected, members};

/// Texts asked of each pair of types.
const TEXTS: usize = 32;

/// One function with both validators.
struct Subject {
    function: Function,
    types: TypeTable,
    input: Validator,
    output: Validator,
}

impl Subject {
    fn new(v: &Kind, w: &Kind, doctor: &Doctor) -> Self {
        let (function, types) = function(v, w);
        let compile = |mut schema: Value, change| {
            Doctor::visit(&mut schema, change);
            // The dialect is named in the schema; the validator reads it from there.
            jsonschema::validator_for(&schema).unwrap()
        };
        Self {
            input: compile(input_schema(&function, &types), doctor.input),
            output: compile(output_schema(&function, &types), doctor.output),
            function,
            types,
        }
    }

    /// Reads and renders.
    fn read(&self, text: &str) -> Result<String, String> {
        let tape = read_arguments(text, &self.function, &self.types, &Budget::default())
            .map_err(|refusal| refusal.to_string())?;
        Ok(render(&tape, &self.function, &self.types).unwrap())
    }

    /// Reader and validators against each other on one text.
    fn check(&self, text: &str, expected: Option<&Expected>) -> Result<(), TestCaseError> {
        let read = self.read(text);
        let Some(value) = exact::parse(text) else {
            prop_assert!(read.is_err(), "no JSON, but read: {}", text);
            return Ok(());
        };
        let valid = self.input.is_valid(&value);
        prop_assert_eq!(valid, read.is_ok(), "input schema on {}: {:?}", text, read);
        // The output form is one of the input forms.
        let as_output = self.output.is_valid(&value);
        prop_assert!(
            !as_output || read.is_ok(),
            "output schema on {}: {:?}",
            text,
            read
        );
        if let Some(expected) = expected {
            let rendered = read.as_deref().unwrap_or_default();
            let same = serde_json::from_str(rendered).is_ok_and(|value| expected.is(&value));
            prop_assert!(same, "{} was read as {:?}", text, read);
        }
        let Ok(rendered) = read else {
            return Ok(());
        };
        let value: Value = serde_json::from_str(&rendered).unwrap();
        prop_assert!(
            self.output.is_valid(&value),
            "output {} of {}",
            rendered,
            text
        );
        prop_assert_eq!(self.read(&rendered), Ok(rendered));
        Ok(())
    }
}

/// The property: for both types together, over valid, changed and damaged texts.
pub(crate) fn reader_and_validator_agree(
    v: &Kind,
    w: &Kind,
    seed: u64,
    doctor: &Doctor,
) -> Result<(), TestCaseError> {
    let subject = Subject::new(v, w, doctor);
    let mut choices = Choices::new(seed);
    for round in 0..TEXTS {
        let (mut json, expected) = members([("v", v), ("w", w)].into_iter(), &mut choices);
        if round % 4 == 0 {
            subject.check(&json.write(), Some(&expected))?;
            continue;
        }
        for _ in 0..=choices.below(2) {
            mutate(&mut json, &mut choices);
        }
        let mut text = json.write();
        if json.repeats() {
            prop_assert!(subject.read(&text).is_err(), "repeated member: {}", text);
            continue;
        }
        if round % 16 == 1 {
            damage(&mut text, &mut choices);
            // Damage may repeat a member; a DOM does not tell.
            if serde_json::from_str::<Value>(&text).is_ok() {
                continue;
            }
        }
        subject.check(&text, None)?;
    }
    Ok(())
}

/// The stated exception: a DOM keeps the last of repeated members.
pub(crate) fn repeated_members_are_refused() {
    let option = Kind::Option(Box::new(Kind::Leaf(Ty::Bool)));
    let record = Kind::Record(false, vec![option.clone(), option]);
    let subject = Subject::new(&record, &Kind::Leaf(Ty::U8), &Doctor::HEALTHY);
    for text in [
        r#"{"v":{"item":true,"item":true},"w":1}"#,
        r#"{"v":{"item":true,"it\u0065m":null},"w":1}"#,
        r#"{"v":{},"w":1,"w":1}"#,
    ] {
        assert!(
            subject.input.is_valid(&serde_json::from_str(text).unwrap()),
            "{text}"
        );
        let refusal = subject.read(text).unwrap_err();
        assert!(refusal.contains("given more than once"), "{refusal}");
    }
    assert!(subject.read(&Json::Object(Vec::new()).write()).is_err());
}
