//! The ten stages, each with its own switch (R-796 … R-806, C-52).
//!
//! Rule: everything above stage 1 is off unless it is turned on, a stage whose
//! prerequisite is off cannot be turned on, and no preset holds stages 9 and 10.

use bindery_types::{ErrorType, Refusal, words};
use serde::{Serialize, Serializer};

use crate::document::reader::Section;

words! {
    /// A stage.
    Stage, "a stage" {
        /// 1: a fixed registry with strict schemas and permissions.
        Registry = "registry",
        /// 2: deferred search over it.
        Search = "search",
        /// 3: the environment manifest and the ledger.
        Manifest = "manifest",
        /// 4: descriptors on demand.
        Descriptors = "descriptors",
        /// 5: probes.
        Probes = "probes",
        /// 6: scoped bindings.
        Bindings = "bindings",
        /// 7: invalidation.
        Invalidation = "invalidation",
        /// 8: programs over bound capabilities.
        Composition = "composition",
        /// 9: provisional schemas.
        Inference = "inference",
        /// 10: reviewed installation.
        Promotion = "promotion",
    }
}

words! {
    /// A named set of stages.
    Preset, "a preset" {
        /// Stage 1.
        Static = "static",
        /// Stages 1 and 2.
        Deferred = "deferred",
        /// Stages 1 to 4, 6 and 7.
        LateBound = "late_bound",
        /// Stages 1 to 8.
        Full = "full",
    }
}

impl Stage {
    /// Its number, from 1.
    pub fn number(self) -> u8 {
        match self {
            Self::Registry => 1,
            Self::Search => 2,
            Self::Manifest => 3,
            Self::Descriptors => 4,
            Self::Probes => 5,
            Self::Bindings => 6,
            Self::Invalidation => 7,
            Self::Composition => 8,
            Self::Inference => 9,
            Self::Promotion => 10,
        }
    }

    /// The stages it needs (C-52).
    pub fn prerequisites(self) -> &'static [Stage] {
        match self {
            Self::Registry => &[],
            Self::Search | Self::Manifest => &[Self::Registry],
            Self::Descriptors => &[Self::Manifest],
            Self::Probes | Self::Bindings => &[Self::Descriptors],
            Self::Invalidation => &[Self::Bindings],
            Self::Composition => &[Self::Bindings, Self::Invalidation],
            Self::Inference => &[Self::Descriptors, Self::Probes],
            Self::Promotion => &[Self::Descriptors, Self::Bindings],
        }
    }

    /// Whether turning it on has to be justified (R-808 … R-811).
    pub fn needs_evidence(self) -> bool {
        matches!(self, Self::Composition | Self::Inference | Self::Promotion)
    }

    fn bit(self) -> u16 {
        1 << self.number()
    }
}

impl Preset {
    fn stages(self) -> Stages {
        let last = |number: u8| {
            Stage::ALL
                .iter()
                .filter(move |stage| stage.number() <= number)
        };
        let stages: Vec<Stage> = match self {
            Self::Static => last(1).copied().collect(),
            Self::Deferred => last(2).copied().collect(),
            Self::LateBound => last(7)
                .copied()
                .filter(|stage| *stage != Stage::Probes)
                .collect(),
            Self::Full => last(8).copied().collect(),
        };
        Stages::of(stages)
    }
}

/// Which stages are on; by default the first alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages(u16);

impl Default for Stages {
    fn default() -> Self {
        Self(Stage::Registry.bit())
    }
}

/// A stage that is on without one that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stage {} ({stage}) needs stage {} ({missing}), which is off", stage.number(), missing.number())]
pub struct MissingStage {
    /// What is on.
    pub stage: Stage,
    /// What it needs.
    pub missing: Stage,
}

impl Stages {
    /// Exactly these.
    pub fn of(stages: impl IntoIterator<Item = Stage>) -> Self {
        Self(stages.into_iter().fold(0, |bits, stage| bits | stage.bit()))
    }

    /// Whether `stage` is on.
    pub fn is_on(self, stage: Stage) -> bool {
        self.0 & stage.bit() != 0
    }

    /// Those that are on, in order.
    pub fn on(self) -> impl Iterator<Item = Stage> {
        Stage::ALL
            .iter()
            .copied()
            .filter(move |stage| self.is_on(*stage))
    }

    /// The same with `stage` switched.
    ///
    /// # Errors
    ///
    /// [`MissingStage`] when a stage would be on without one that it needs.
    pub fn with(self, stage: Stage, on: bool) -> Result<Self, MissingStage> {
        let bits = if on {
            self.0 | stage.bit()
        } else {
            self.0 & !stage.bit()
        };
        Self(bits).check()
    }

    fn check(self) -> Result<Self, MissingStage> {
        for stage in self.on() {
            let mut needed = stage.prerequisites().iter();
            if let Some(missing) = needed.find(|needed| !self.is_on(**needed)) {
                return Err(MissingStage {
                    stage,
                    missing: *missing,
                });
            }
        }
        Ok(self)
    }

    /// Refuses an operation of `stage` when it is off.
    ///
    /// # Errors
    ///
    /// `stage_disabled`.
    pub fn require(self, stage: Stage) -> Result<(), Refusal> {
        if self.is_on(stage) {
            return Ok(());
        }
        let lines: Vec<String> = self
            .off_below(stage)
            .map(|stage| format!("{stage} = true"))
            .collect();
        Err(
            Refusal::new(ErrorType::StageDisabled, "this is switched off here")
                .for_operator(format!(
                    "stage {} is off; under `[stages]` of the configuration, `{}` turns it on for sessions that are opened afterwards (`bindery session end` ends this one)",
                    stage.number(),
                    lines.join("`, `")
                ))
                .with("stage", stage.number()),
        )
    }

    /// `stage` and what it needs, as far as they are off, in order.
    fn off_below(self, stage: Stage) -> impl Iterator<Item = Stage> {
        let mut needed = vec![stage];
        let mut next = 0;
        while let Some(stage) = needed.get(next) {
            needed.extend(stage.prerequisites());
            next += 1;
        }
        let all = Stage::ALL.iter().copied();
        all.filter(move |one| needed.contains(one) && !self.is_on(*one))
    }
}

impl Serialize for Stages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.on())
    }
}

/// The stages with what justifies those that need it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StageSettings {
    /// Which are on.
    pub on: Stages,
    /// Those that are on without a stated reason although they need one.
    pub unjustified: Vec<Stage>,
}

pub(crate) fn read(mut section: Section<'_>) -> StageSettings {
    let preset = section.word_or("preset", Preset::Static);
    let mut bits = preset.stages().0;
    for stage in Stage::ALL {
        if let Some(on) = section.truth(stage.as_str()) {
            bits = if on {
                bits | stage.bit()
            } else {
                bits & !stage.bit()
            };
        } else {
            section.left_out(stage.as_str(), &(bits & stage.bit() != 0).to_string());
        }
    }
    let on = Stages(bits);
    if let Err(missing) = on.check() {
        section.wrong(missing.stage.as_str(), missing.to_string());
    }
    let mut evidence = section.section("evidence");
    let mut stated = |stage: &Stage| {
        evidence
            .text(stage.as_str())
            .is_some_and(|text| !text.value.trim().is_empty())
    };
    let needy = Stage::ALL
        .iter()
        .copied()
        .filter(|stage| stage.needs_evidence());
    let unjustified = needy
        .filter(|stage| !stated(stage) && on.is_on(*stage))
        .collect();
    evidence.finish();
    section.finish();
    StageSettings { on, unjustified }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_not_turned_on_without_what_it_needs_nor_its_need_off_under_it() {
        let missing = Stages::default().with(Stage::Bindings, true).unwrap_err();
        assert_eq!(
            (missing.stage, missing.missing),
            (Stage::Bindings, Stage::Descriptors),
            "R-806, C-52"
        );
        let late = Preset::LateBound.stages();
        assert!(late.with(Stage::Bindings, false).is_err(), "7 needs 6");
        assert!(late.with(Stage::Probes, true).is_ok());
        assert!(
            late.with(Stage::Search, false).is_ok(),
            "C-29: stage 2 can always go"
        );
    }

    #[test]
    fn presets_are_those_of_the_table_and_never_hold_the_last_two() {
        let numbers = |preset: Preset| preset.stages().on().map(Stage::number).collect::<Vec<_>>();
        assert_eq!(numbers(Preset::Static), [1], "R-302, R-813");
        assert_eq!(numbers(Preset::Deferred), [1, 2]);
        assert_eq!(numbers(Preset::LateBound), [1, 2, 3, 4, 6, 7]);
        assert_eq!(numbers(Preset::Full), [1, 2, 3, 4, 5, 6, 7, 8]);
        for preset in Preset::ALL {
            assert!(preset.stages().check().is_ok(), "{preset}");
        }
        assert_eq!(Stages::default(), Preset::Static.stages());
    }

    #[test]
    fn an_operation_of_a_stage_that_is_off_is_refused_as_disabled() {
        let refusal = Stages::default().require(Stage::Probes).unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::StageDisabled, "R-800");
        let said = refusal.operator().unwrap();
        let lines = "`manifest = true`, `descriptors = true`, `probes = true` turns it on";
        assert!(said.contains(lines), "what it needs, too: {said}");
        assert_eq!(Stages::default().require(Stage::Registry), Ok(()), "R-796");
    }
}
