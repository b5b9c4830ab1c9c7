//! What a sandbox says when it starts: how instances are allocated and reset, its limits.
//!
//! Rule (H9, H31, X62): nothing about the isolation of guests is a silent choice; the
//! front that starts a sandbox prints this.

use std::fmt;

use bindery_types::{Budget, Limit, LimitName, LimitScope};

/// How a slot of the pool is made pristine between two instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// The kernel lists the dirty pages and those are rewritten (fast; needs a host
    /// without swap).
    PagemapScan,
    /// The pages are given back and come anew.
    Madvise,
}

impl fmt::Display for Reset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reset::PagemapScan => "pagemap-scan",
            Reset::Madvise => "madvise",
        })
    }
}

/// Where instances live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// In slots reserved at the start.
    Pooled {
        /// How a slot is reset.
        reset: Reset,
    },
    /// In memory mapped for each call: the address space did not hold a pool.
    OnDemand,
}

/// What a sandbox decided at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartReport {
    /// Where instances live and how their memory is reset.
    pub allocation: Allocation,
    /// Why a faster allocation was not taken, for the operator.
    pub fallbacks: Vec<String>,
    /// Where components are compiled, in words.
    pub compiling: String,
    /// The limits of the host.
    pub limits: Vec<(LimitName, Limit)>,
    /// Every limit, of the host and of calls by default, that is lifted.
    pub unlimited: Vec<LimitName>,
}

impl StartReport {
    pub(crate) fn new(allocation: Allocation, budget: &Budget, fallbacks: Vec<String>) -> Self {
        let lifted = |name: &LimitName| budget.get(*name) == Limit::Unlimited;
        Self {
            allocation,
            fallbacks,
            compiling: String::new(),
            limits: budget.values(LimitScope::Host).collect(),
            unlimited: LimitName::ALL.iter().copied().filter(lifted).collect(),
        }
    }
}

impl fmt::Display for StartReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.allocation {
            Allocation::Pooled { reset } => write!(f, "instances: pooled, reset by {reset}")?,
            Allocation::OnDemand => write!(f, "instances: on demand")?,
        }
        write!(f, "\ncompiling: {}\nlimits:", self.compiling)?;
        for (name, limit) in &self.limits {
            write!(f, " {}={limit}", name.as_str())?;
        }
        for name in &self.unlimited {
            write!(f, "\nlimit `{}` is lifted", name.as_str())?;
        }
        for cause in &self.fallbacks {
            write!(f, "\nnote: {cause}")?;
        }
        Ok(())
    }
}
