//! What every other crate talks about: names, types, limits, effects, refusals, receipts.
//!
//! Rule: data and total functions over it; no input or output, no clock, no engine. An
//! id is a newtype with one fallible constructor, a failure is a value with exactly one
//! row in one table, and the default of everything that grants is to grant nothing.

mod budget;
mod canonical;
mod digest;
mod effect;
mod governance;
mod id;
mod moment;
mod name;
mod outcome;
mod receipt;
mod refusal;
mod shape;
mod shown;
mod ty;
mod word;

pub use budget::{Budget, Limit, LimitHit, LimitName, LimitScope, LimitValueError, Unit};
pub use canonical::{canonical, canonical_digest};
pub use digest::{Digest, DigestError};
pub use effect::{Effect, EffectKind, EffectTrace};
pub use governance::{
    ApprovalRequirement, BindingStatus, ExecutionState, PermissionMode, ProviderFamily, Rights,
    Risk, SideEffectClass, SourceKind, TrustStatus, ValidationStatus,
};
pub use id::{
    Agent, Archetype, BindingHandle, CallId, CapabilityId, CredentialName, EnvironmentId,
    EvidenceId, GrantName, IdError, IdempotencyKey, Namespace, Principal, ProposalId, Provider,
    RunId, SessionId, Tenant, ToolHandle, Workspace,
};
pub use moment::Moment;
pub use name::{FunctionName, InterfaceName, NameError};
pub use outcome::{Outcome, Run};
pub use receipt::{Captured, LimitsInForce, NestedUse, Receipt};
pub use refusal::{Blame, Category, ErrorType, NextAction, Refusal};
pub use shape::{Function, Import, Param, Producer, ResolveError, Satisfier, Shape, Uncallable};
pub use shown::{hides, one_line};
pub use ty::{
    Case, Enum, Field, Flags, Handle, Record, Ty, TyId, TypeTable, TypeTableBuilder, Variant,
};
pub use word::UnknownWord;
