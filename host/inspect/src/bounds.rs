//! Bounds on what a component may hold, checked while it is read and before any of it is
//! compiled.
//!
//! Rule (H15): far below the validator's own, far above what toolchains make. Each bound
//! names the attack it answers; going over one is a refusal that names it.

use bindery_types::{ErrorType, Refusal};

/// Bytes that one linear memory may hold: the ceiling of limit `memory`, and what a slot
/// of the engine's pool is made for.
pub const MEMORY_MAX_BYTES: usize = 1 << 30;
/// Elements that one table may hold, and what a slot of the engine's pool is made for.
pub const TABLE_MAX_ELEMENTS: usize = 1 << 17;

/// One bound: what it counts, how many there may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) name: &'static str,
    pub(super) max: u64,
}

/// Functions of all core modules together (B8: a flood of tiny functions).
pub(super) const FUNCTIONS: Bound = bound("core functions", 100_000);
/// Bytes of one function's body (X16: one function of 7 MB).
pub(super) const BODY_BYTES: Bound = bound("bytes of one function body", 1 << 20);
/// Locals of one function (X16: 50,000 locals make register allocation quadratic).
pub(super) const LOCALS: Bound = bound("locals of one function", 20_000);
/// Blocks inside blocks of one function (X16).
pub(super) const BLOCK_DEPTH: Bound = bound("nested blocks of one function", 4_096);
/// Core modules of all components together (B8).
pub(super) const MODULES: Bound = bound("core modules", 256);
/// Components inside the component, all levels together (B8).
pub(super) const COMPONENTS: Bound = bound("nested components", 256);
/// Components inside components, and types declared inside types: the engine reads the
/// latter by recursion, and a stack that overflows ends the process (B7).
pub(super) const NESTING: Bound = bound("levels of nested components or types", 32);
/// Memories of all modules together (H16).
pub(super) const MEMORIES: Bound = bound("memories", 64);
/// Tables of all modules together (H16).
pub(super) const TABLES: Bound = bound("tables", 256);
/// Elements a table starts with: what a slot of the pool holds (H16).
pub(super) const TABLE_ELEMENTS: Bound = bound("elements of one table", TABLE_MAX_ELEMENTS as u64);
/// Bytes a memory starts with: what a slot of the pool holds (H16).
pub(super) const MEMORY_BYTES: Bound = bound("bytes of one memory", MEMORY_MAX_BYTES as u64);
/// Types of all modules and components together (X17).
pub(super) const TYPES: Bound = bound("types", 100_000);
/// Imports and exports of all modules and components together (B8).
pub(super) const NAMES: Bound = bound("imports and exports", 100_000);
/// Globals of all modules together (B8).
pub(super) const GLOBALS: Bound = bound("globals", 100_000);
/// Data and element segments of all modules together (B8).
pub(super) const SEGMENTS: Bound = bound("data and element segments", 100_000);
/// Instances, aliases and adapted functions of all components together: each becomes code
/// or a slot (B8).
pub(super) const GLUE: Bound = bound("instances, aliases and adapted functions", 100_000);
/// Custom sections of all modules and components together.
pub(super) const CUSTOM_SECTIONS: Bound = bound("custom sections", 10_000);
/// Bytes of a section that this host reads as text: documentation, producers.
pub(super) const TEXT_BYTES: Bound =
    bound("bytes of one documentation or producers section", 1 << 20);
/// Sections of documentation, each looked through for every function.
pub(super) const DOCS_SECTIONS: Bound = bound("documentation sections", 16);
/// Tools that the producers sections name.
pub(super) const PRODUCERS: Bound = bound("producers", 1_000);
/// Imports of the component itself.
pub(super) const COMPONENT_IMPORTS: Bound = bound("imports of the component", 4_096);
/// Functions the component exports, all interfaces together.
pub(super) const EXPORTED_FUNCTIONS: Bound = bound("exported functions", 10_000);
/// Text of the types of exported functions, counted for each function: every function has
/// schemas of its own (X17).
pub(super) const SIGNATURE_BYTES: Bound = bound(
    "bytes of types, counted for each exported function",
    16 << 20,
);
/// Nesting of a type that crosses the component's edge (B7; `json_depth` has the same
/// ceiling).
pub(super) const TYPE_DEPTH: Bound = bound("levels of a nested type", 64);

const fn bound(name: &'static str, max: u64) -> Bound {
    Bound { name, max }
}

impl Bound {
    /// Passes `found`, or refuses the component.
    pub(super) fn check(&self, found: u64) -> Result<(), Refusal> {
        match found <= self.max {
            true => Ok(()),
            false => Err(self.refusal(found)),
        }
    }

    /// The refusal of a component that has `found` of what this bound counts.
    pub(super) fn refusal(&self, found: u64) -> Refusal {
        let Self { name, max } = self;
        Refusal::new(
            ErrorType::ComponentInvalid,
            format!("this component has {found} {name}, at most {max} are accepted; split it or build it smaller"),
        )
        .with("kind", "bound")
        .with("bound", *name)
        .with("limit", *max)
        .with("found", found)
    }
}

/// A running count under a bound.
#[derive(Debug)]
pub(super) struct Count {
    bound: Bound,
    found: u64,
}

impl Count {
    pub(super) fn of(bound: Bound) -> Self {
        Self { bound, found: 0 }
    }

    /// Adds `more`, or refuses the component.
    pub(super) fn add(&mut self, more: impl Into<u64>) -> Result<(), Refusal> {
        self.found = self.found.saturating_add(more.into());
        self.bound.check(self.found)
    }
}
