//! The only place in the product that says yes.
//!
//! Rule: one pure function, [`decide()`], over a document, a question and what the host knows
//! at that moment; no clock, no file, no input or output. Everything denies by default, a
//! denial wins at every scope, and what was decided travels as a [`Grant`], which nothing
//! else can make. The order of evaluation is the documentation of the module `decide`.
//!
//! ```
//! use bindery_policy::{Document, KnownNames, Policy};
//!
//! let document = Document::parse("bindery.toml", "")?;
//! let policy = Policy::compile(document, &KnownNames::default())?;
//! assert!(policy.document().policy.rules.is_empty(), "an empty document allows nothing");
//! # Ok::<(), bindery_policy::Malformed>(())
//! ```

mod argument;
mod ask;
pub mod decide;
mod decision;
pub mod document;
mod explain;
mod fault;
mod names;
mod policy;
mod project;
mod risk;
mod scope;
#[cfg(feature = "seeded-bugs")]
pub mod seeded;
mod session;
mod stages;
mod suite;
mod switches;
mod trace;
mod url;
mod words;

pub use argument::{Condition, Pointer, PointerError, Scalar, Test};
pub use ask::{
    ApprovalFacts, Ask, BindingFacts, Covers, EntryFacts, EnvironmentFacts, Facts, Need,
    Registration, Switch, Used, Verb, Window,
};
pub use decide::decide;
pub use decision::{Decision, Denial, Grant, Question, Ruling};
pub use document::{Document, STARTER, Setting};
pub use explain::Explanation;
pub use fault::{Fault, Malformed};
pub use names::KnownNames;
pub use policy::{Policy, RuleRef};
pub use project::{ALIAS as PROJECT_ALIAS, FILE as PROJECT_FILE, ProjectPolicy};
pub use risk::{Classification, Declared, class_of, classify, graver, least_mode};
pub use scope::{Keys, NarrowError, Scope, ScopeRequest, Slice, SubPath, SubPathError, Wish};
pub use session::{Session, SessionSpec, Who};
pub use stages::{MissingStage, Preset, Stage, StageSettings, Stages};
pub use suite::{PolicyTest, TestResult, read_tests};
pub use trace::{Axis, AxisVerdict, Line, Reason, Trace};
pub use url::{UrlError, UrlPrefix};
pub use words::{
    Access, Counter, GrantKind, ImplementationStatus, Missing, Screening, Subject, Verdict,
};
