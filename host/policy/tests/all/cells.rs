//! Every cell of execution state × permission mode × risk × approval requirement.

use std::collections::BTreeSet;

use bindery_policy::{AxisVerdict, Verb};
use bindery_types::{ApprovalRequirement, ExecutionState, PermissionMode, Risk};

use crate::rig::Rig;

const TABLE: &str = include_str!("../data/decisions.tsv");

/// R-242 … ….
#[test]
fn r_269_every_cell_of_the_four_axes_is_decided_as_its_row_demands() {
    let mut seen = BTreeSet::new();
    let base = Rig::new(Verb::Call);
    let policy = base.policy();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [state, mode, risk, approval, verdict, axis, row] = cells.as_slice() else {
            panic!("seven columns: {line}");
        };
        let rig = Rig::new(Verb::Call).with(|rig| {
            rig.mode = mode.parse().unwrap();
            rig.entry().execution = Some(state.parse().unwrap());
            rig.entry().declared.risk = Some(risk.parse().unwrap());
            rig.entry().approval = Some(approval.parse().unwrap());
        });
        let session = rig.open(&policy).unwrap();
        let decision = rig.decide_under(&policy, &session);
        let first = decision
            .trace
            .lines()
            .find(|(_, line)| matches!(line.verdict, AxisVerdict::Block | AxisVerdict::Ask));
        // An ask counts only when nothing blocks.
        let first = decision.trace.first_block().or(first);
        let first = first.map_or("-", |(axis, _)| axis.as_str());
        assert_eq!(
            (decision.verdict().as_str(), first),
            (*verdict, *axis),
            "{row}: {line}"
        );
        assert!(row.starts_with("R-"), "{line}");
        seen.insert((*state, *mode, *risk, *approval));
    }
    let all = ExecutionState::ALL.len()
        * PermissionMode::ALL.len()
        * Risk::ALL.len()
        * ApprovalRequirement::ALL.len();
    assert_eq!((seen.len(), all), (288, 288));
}
