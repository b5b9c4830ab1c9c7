//! The crate an embedder depends on: run any component's function from JSON, under limits.
//!
//! Rule: a façade. It carries values between the crates below and adds none of its own;
//! nothing is granted that the caller does not put into [`Grants`].
//!
//! ```no_run
//! # async fn example() -> Result<(), bindery::Refusal> {
//! use bindery::{Budget, Cancel, Grants, Host, Outcome};
//!
//! let host = Host::builder().build()?;
//! let budget = Budget::default();
//! let component = host.load(bindery::read_component("weather.wasm".as_ref(), &budget)?).await?;
//! let arguments = r#"{"city": "Oslo"}"#;
//! let run = host.run(&component, "lookup", arguments, Grants::default(), &budget, &Cancel::new()).await;
//! match run.outcome {
//!     Outcome::Value(json) => println!("{json}"),
//!     Outcome::CapabilityError(json) => eprintln!("the capability said no: {json}"),
//!     Outcome::Refused(refusal) => eprintln!("{refusal}"),
//! }
//! # Ok(())
//! # }
//! ```

mod admit;
mod bind;
mod builder;
mod call;
mod clock;
mod compose;
mod configure;
mod decision;
mod describe;
mod direct;
mod discover;
mod drawn;
mod environment;
mod expire;
mod explain;
mod facts;
mod governor;
mod held;
mod hooks;
mod host;
mod invalidate;
mod known;
mod narrow;
mod nested;
mod offer;
mod operate;
mod passage;
mod propose;
mod redact;
mod refresh;
mod release;
mod renew;
mod resources;
mod review;
mod running;
mod runs;
mod screening;
mod session;
mod settlement;
mod start;
mod statics;
mod validate;
mod withdraw;

pub use admit::{Admission, Admitted};
pub use bind::{BindRequest, Bound};
pub use bindery_catalogue::{Contract, Entry, EntryKind, Example, Verdict};
pub use bindery_grants::{
    Access, Change, Clock, Credential, CredentialFault, DirectoryGrant, EndpointGrant, GrantError,
    Grants, KeyValueStore, Keys, MemoryStore, Randomness, Room, Secret, SecretFault, SecretFile,
    SecretHelper, SecretProvider, SecretUnavailable, SecretVariable, SecretWatch, StoreFault,
    StoreGrant, StoreGrantError, Swap,
};
pub use bindery_inspect::{inspect, read_arguments, read_component, shape_document, shape_text};
pub use bindery_ledger as ledger;
pub use bindery_policy as policy;
pub use bindery_sandbox::{
    ArtefactStore, BadFile, Cancel, Check, Cleared, CompilePhase, CompileProgress, Compiler,
    EngineId, LoadedComponent, ProgressSink, Reset, StartReport, StoreOptions, Verified,
    compile_worker_main, stdout_was_closed,
};
pub use bindery_types::*;
pub use builder::HostBuilder;
pub use call::{CallOptions, Reply};
pub use describe::Candidate;
pub use direct::Direct;
pub use environment::Manifest;
pub use hooks::{Hook, HookAnswer, HookCall, HookRoute, Veto};
pub use host::Host;
pub use invalidate::{Finding, Subject};
pub use resources::Resources;
pub use runs::RunWish;
pub use screening::{Screening, ScreeningFailed};
pub use session::Session;
