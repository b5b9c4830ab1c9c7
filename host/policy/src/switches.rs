//! The two switches of the environment, which are aliases of stages (R-300, R-301, C-29).
//!
//! Rule: `true` or `false`, nothing else; both names of one switch have to agree; a stage
//! is not turned on without what it needs. The values are given, none is read here.

use bindery_types::{ErrorType, Refusal};

use crate::stages::{Stage, Stages};

const SWITCHES: [(Stage, [&str; 2]); 2] = [
    (
        Stage::Search,
        [
            "BINDERY_DYNAMIC_TOOL_DISCOVERY",
            "HOLARYN_DYNAMIC_TOOL_DISCOVERY",
        ],
    ),
    (
        Stage::Composition,
        ["BINDERY_BOUNDED_CODE_MODE", "HOLARYN_BOUNDED_CODE_MODE"],
    ),
];

impl Stages {
    /// These stages with what the environment variables say; `variable` gives the value of
    /// one, if it is set.
    ///
    /// # Errors
    ///
    /// `policy_malformed` that names the variable, or the stage that is missing.
    pub fn with_switches(self, variable: impl Fn(&str) -> Option<String>) -> Result<Self, Refusal> {
        let mut stages = self;
        for (stage, names) in SWITCHES {
            let mut said = None;
            for name in names {
                let Some(text) = variable(name) else { continue };
                let on = text
                    .parse::<bool>()
                    .map_err(|_| wrong(format!("{name} is `true` or `false`, got `{text}`")))?;
                if said.is_some_and(|other| other != on) {
                    return Err(wrong(format!("{} disagree", names.join(" and "))));
                }
                said = Some(on);
            }
            if let Some(on) = said {
                stages = stages
                    .with(stage, on)
                    .map_err(|missing| wrong(missing.to_string()))?;
            }
        }
        Ok(stages)
    }
}

fn wrong(text: String) -> Refusal {
    Refusal::new(
        ErrorType::PolicyMalformed,
        "the switches of this host cannot be read",
    )
    .for_operator(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)], stages: Stages) -> Result<Stages, String> {
        let find = |name: &str| {
            pairs
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        stages
            .with_switches(find)
            .map_err(|refusal| refusal.operator().unwrap().to_owned())
    }

    #[test]
    fn unset_switches_leave_both_off_and_set_ones_turn_their_stage() {
        assert_eq!(with(&[], Stages::default()), Ok(Stages::default()), "R-302");
        let on = with(
            &[("BINDERY_DYNAMIC_TOOL_DISCOVERY", "true")],
            Stages::default(),
        )
        .unwrap();
        assert!(on.is_on(Stage::Search), "R-300");
        let alias = with(&[("HOLARYN_DYNAMIC_TOOL_DISCOVERY", "false")], on).unwrap();
        assert!(!alias.is_on(Stage::Search), "R-304, C-35");
    }

    #[test]
    fn a_malformed_or_contradicting_switch_names_its_variable() {
        for value in ["TRUE", "1", "yes", "", "true "] {
            let error =
                with(&[("BINDERY_BOUNDED_CODE_MODE", value)], Stages::default()).unwrap_err();
            assert!(
                error.contains("BINDERY_BOUNDED_CODE_MODE"),
                "R-300: {error}"
            );
        }
        let both = [
            ("BINDERY_DYNAMIC_TOOL_DISCOVERY", "true"),
            ("HOLARYN_DYNAMIC_TOOL_DISCOVERY", "false"),
        ];
        assert!(
            with(&both, Stages::default())
                .unwrap_err()
                .contains("disagree"),
            "C-35"
        );
        let same = [
            ("BINDERY_DYNAMIC_TOOL_DISCOVERY", "true"),
            ("HOLARYN_DYNAMIC_TOOL_DISCOVERY", "true"),
        ];
        assert!(with(&same, Stages::default()).is_ok(), "C-35");
    }

    #[test]
    fn code_mode_alone_is_refused_with_the_missing_stage_named() {
        let error = with(&[("BINDERY_BOUNDED_CODE_MODE", "true")], Stages::default()).unwrap_err();
        assert!(error.contains("needs stage 6 (bindings)"), "C-30: {error}");
        let late = Stages::of(
            Stage::ALL
                .iter()
                .copied()
                .filter(|stage| stage.number() <= 7),
        );
        assert!(
            with(&[("BINDERY_BOUNDED_CODE_MODE", "true")], late).is_ok(),
            "R-301"
        );
    }
}
