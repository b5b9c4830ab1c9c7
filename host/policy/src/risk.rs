//! Risk and side-effect class, as the host sets them.
//!
//! Rule (R-052, C-26, C-57): the greatest of what is declared, what the grants of this
//! entry or binding make possible, and what the policy says. A label never lowers it, and
//! an import that no grant feeds is inert.

use bindery_types::{PermissionMode, Risk, SideEffectClass};
use serde::Serialize;

use crate::scope::Slice;
use crate::words::Access;

const QUIET_METHODS: [&str; 2] = ["GET", "HEAD"];

/// What a capability declares of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// Its risk.
    pub risk: Option<Risk>,
    /// Whether it changes nothing.
    pub read_only: Option<bool>,
    /// Its kind of effect.
    pub side_effect: Option<SideEffectClass>,
}

/// The host's own classification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Classification {
    /// The kind of effect.
    pub side_effect: SideEffectClass,
    /// The risk that decisions use.
    pub risk: Risk,
    /// The fields that contradict each other, when they do.
    pub disagreement: Option<&'static str>,
}

/// The graver of two classes: by their least risk, then by their order.
pub fn graver(a: SideEffectClass, b: SideEffectClass) -> SideEffectClass {
    if (b.least_risk(), b) > (a.least_risk(), a) {
        b
    } else {
        a
    }
}

/// What one slice makes possible (C-62), or what the operator raised it to.
pub fn class_of(slice: &Slice, raised: Option<SideEffectClass>) -> SideEffectClass {
    let own = match slice {
        Slice::Directory {
            access: Access::ReadWrite,
            ..
        } => SideEffectClass::UserContent,
        Slice::Store {
            access: Access::ReadWrite,
            ..
        } => SideEffectClass::LocalState,
        Slice::Endpoint { methods, .. } => {
            if methods
                .iter()
                .all(|method| QUIET_METHODS.contains(&&**method))
            {
                SideEffectClass::None
            } else {
                SideEffectClass::ExternalSend
            }
        }
        // A nested capability is decided by itself when it is called.
        Slice::Directory {
            access: Access::ReadOnly,
            ..
        }
        | Slice::Store {
            access: Access::ReadOnly,
            ..
        }
        | Slice::Config { .. }
        | Slice::Secret
        | Slice::Clock
        | Slice::Random
        | Slice::Log
        | Slice::Binding => SideEffectClass::None,
    };
    graver(own, raised.unwrap_or(SideEffectClass::None))
}

/// The table of modes and risks; a mode is a ceiling and lifts nothing else.
pub(crate) fn covers(mode: PermissionMode, risk: Risk) -> bool {
    match mode {
        PermissionMode::PlanOnly => false,
        PermissionMode::ReadOnly => risk == Risk::ReadOnly,
        PermissionMode::SafeEdit => risk <= Risk::WritesUserContent,
        PermissionMode::FullAccess => true,
    }
}

/// The least mode in which an operation of this risk may run.
pub fn least_mode(risk: Risk) -> PermissionMode {
    let mut modes = PermissionMode::ALL.iter().copied();
    modes
        .find(|mode| covers(*mode, risk))
        .unwrap_or(PermissionMode::FullAccess)
}

/// Classifies by what is declared, what the grants make possible, and what policy adds.
/// Before there are grants, `granted` is what the imports make possible (`risk_possible`).
pub fn classify(
    declared: Declared,
    granted: SideEffectClass,
    policy: Option<Risk>,
) -> Classification {
    let side_effect = graver(
        granted,
        declared.side_effect.unwrap_or(SideEffectClass::None),
    );
    let of_contract = side_effect
        .least_risk()
        .max(declared.risk.unwrap_or(Risk::ReadOnly));
    Classification {
        side_effect,
        risk: of_contract.max(policy.unwrap_or(Risk::ReadOnly)),
        disagreement: disagreement(declared, granted, of_contract),
    }
}

/// What the policy adds is no contradiction: it is the host's own word.
fn disagreement(declared: Declared, granted: SideEffectClass, all: Risk) -> Option<&'static str> {
    let Declared {
        risk,
        read_only,
        side_effect,
    } = declared;
    if read_only == Some(true) && all > Risk::ReadOnly {
        return Some("read_only is true, and a grant, the risk or the side effect is not");
    }
    if read_only == Some(false) && risk == Some(Risk::ReadOnly) {
        return Some("read_only is false, and risk is read_only");
    }
    if risk == Some(Risk::ReadOnly) && granted.least_risk() > Risk::ReadOnly {
        return Some("risk is read_only, and a grant of it writes or sends");
    }
    let effect = side_effect.map(SideEffectClass::least_risk);
    if risk.zip(effect).is_some_and(|(risk, least)| least > risk) {
        return Some("risk is below the least risk of side_effect");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_that_no_grant_feeds_is_no_contradiction_and_one_that_is_fed_is() {
        let reader = Declared {
            risk: Some(Risk::ReadOnly),
            read_only: Some(true),
            side_effect: None,
        };
        let inert = classify(reader, SideEffectClass::None, None);
        assert_eq!(
            (inert.risk, inert.disagreement),
            (Risk::ReadOnly, None),
            "C-57"
        );
        let fed = classify(reader, SideEffectClass::UserContent, None);
        assert_eq!(fed.risk, Risk::WritesUserContent, "R-052");
        assert!(fed.disagreement.is_some(), "R-241");
    }

    #[test]
    fn a_label_raises_the_risk_and_never_lowers_it() {
        let mild = Declared {
            risk: Some(Risk::Write),
            ..Declared::default()
        };
        assert_eq!(
            classify(mild, SideEffectClass::ExternalSend, None).risk,
            Risk::ExternalSideEffect,
            "C-26"
        );
        let grave = Declared {
            risk: Some(Risk::Destructive),
            ..Declared::default()
        };
        assert_eq!(
            classify(grave, SideEffectClass::None, None).risk,
            Risk::Destructive,
            "C-26"
        );
        let raised = classify(
            Declared::default(),
            SideEffectClass::None,
            Some(Risk::Privileged),
        );
        assert_eq!(
            (raised.risk, raised.disagreement),
            (Risk::Privileged, None),
            "the host's own word"
        );
        let unknown = Declared {
            side_effect: Some(SideEffectClass::Unknown),
            ..Declared::default()
        };
        assert_eq!(
            classify(unknown, SideEffectClass::None, None).risk,
            Risk::Privileged,
            "C-15"
        );
    }

    #[test]
    fn fields_that_disagree_are_named() {
        let cases = [
            (Some(Risk::Write), Some(true), None, "read_only is true"),
            (
                Some(Risk::ReadOnly),
                Some(false),
                None,
                "read_only is false",
            ),
            (
                Some(Risk::Write),
                None,
                Some(SideEffectClass::Financial),
                "risk is below",
            ),
        ];
        for (risk, read_only, side_effect, text) in cases {
            let declared = Declared {
                risk,
                read_only,
                side_effect,
            };
            let named = classify(declared, SideEffectClass::None, None)
                .disagreement
                .unwrap();
            assert!(named.starts_with(text), "R-233, R-241: {named}");
        }
    }
}
