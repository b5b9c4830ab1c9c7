//! What a component may reach, as values: one grant a kind, closed unless given.
//!
//! Rule: a grant is opened by whoever holds the authority (a directory handle, an
//! endpoint), moves into the store of one call and dies with it. Every use is counted,
//! bounded and reported as an effect. Interfaces are linked one by one.

mod bindings;
mod blocking;
mod call;
mod capture;
mod cli;
mod clock;
mod config;
mod credential;
mod directory;
pub mod endpoint;
mod grants;
mod imports;
mod io;
mod log;
mod meter;
mod nested;
mod random;
mod shared;
mod sockets;
mod store;
mod table;
mod text;

#[cfg(test)]
mod tests;

pub use bindery_screen::{Secret, SecretFault};
pub use call::{CallGrants, Captures, Exit, GrantView};
pub use credential::{
    Credential, CredentialFault, SecretFile, SecretHelper, SecretProvider, SecretUnavailable,
    SecretVariable, SecretWatch,
};
pub use directory::{Access, DirectoryGrant};
pub use endpoint::{Denial, EndpointGrant, EndpointGrantError};
pub use grants::{Clock, GrantError, Grants, Randomness};
pub use imports::{link, satisfier};
pub use meter::{CALL_FUEL, KIB_FUEL, Meter, fuel_of};
pub use nested::{Nested, NestedAnswer, NestedCall, NestedPlace, Signature};
pub use store::{
    Change, KeyValueStore, Keys, MemoryStore, Room, StoreFault, StoreGrant, StoreGrantError, Swap,
};
