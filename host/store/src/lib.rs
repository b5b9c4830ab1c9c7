//! The ledger's durable form: one folder, one owner, one SQLite file, one writer.
//!
//! Rule (H51 … H53, I18 … I21, I39): what was acknowledged is on the disk; what is on the
//! disk is the chain that was written, up to the mark that was set; after the first error
//! of a write nothing is acknowledged any more. Reading order: error, folder, mark,
//! database, check, writer, store, inspect.

mod check;
mod database;
mod error;
mod folder;
mod inspect;
mod mark;
mod queue;
mod store;
mod writer;

pub use check::Verified;
pub use error::StoreError;
pub use folder::is_owned;
pub use inspect::Inspection;
pub use store::{Options, Store};
