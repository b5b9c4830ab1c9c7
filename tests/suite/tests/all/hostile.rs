//! What tests with hostile guests share: a process of their own, fault and recovery.
//!
//! Rule: a test that judges the footprint of the process runs alone in one, since what
//! other tests open and allocate is no leak of ours.

use bindery_sandbox::{LoadedComponent, Sandbox};
use bindery_types::{Budget, LimitName};
use serde_json::Value;

use crate::rig::{budget, call, fault_cause, value};

/// Set in the process that one test has for itself.
const ALONE: &str = "BINDERY_TEST_ALONE";

/// True in a process of the test's own. Elsewhere it starts one for the test `name`, waits
/// for it and says false; that process must pass.
pub(crate) fn alone(name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&child.stdout);
    let complained = String::from_utf8_lossy(&child.stderr);
    assert!(
        child.status.success() && printed.contains("1 passed"),
        "{printed}{complained}"
    );
    false
}

/// The most memory that this process ever had resident, in KiB.
pub(crate) fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.unwrap().trim().trim_end_matches(" kB");
    number.parse().unwrap()
}

/// A budget in which only what a test sets can end the call.
pub(crate) fn roomy(limits: &[(LimitName, u64)]) -> Budget {
    let mut budget = budget(&[(LimitName::Deadline, 300_000)]);
    for (name, value) in limits {
        budget = budget.with(*name, *value).unwrap();
    }
    budget
}

/// One function of one guest, called without grants.
pub(crate) struct Victim<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) component: &'a LoadedComponent,
    pub(crate) function: &'a str,
}

impl Victim<'_> {
    /// The call gives `expected`.
    pub(crate) async fn gives(&self, arguments: &str, expected: &Value) {
        let run = self.call(arguments).await;
        assert_eq!(&value(&run), expected, "{} {arguments}", self.function);
    }

    /// The call is a fault of the guest with this cause, and leaves nothing running.
    pub(crate) async fn faults(&self, arguments: &str, cause: &str) {
        let run = self.call(arguments).await;
        let found = fault_cause(&run);
        assert_eq!(found, cause, "{} {arguments}", self.function);
        assert_eq!(self.sandbox.running(), 0, "{} {arguments}", self.function);
    }

    async fn call(&self, arguments: &str) -> bindery_types::Run {
        let (sandbox, component) = (self.sandbox, self.component);
        let budget = Budget::default();
        call(sandbox, component, self.function, arguments, &budget).await
    }
}
