//! Endpoint grants: HTTP to the hosts, methods and paths that were granted, and no other
//! way out.
//!
//! Rule (H27, cases C1–C3, C7): a request is read from the bytes that would be sent,
//! judged against the grants, its name resolved once, every address checked, and the
//! connection made to a checked address. No redirect is followed, no proxy is used. A
//! credential goes on the wire last of all, to its own origin, and is searched for in
//! every answer. Reading order: grant, host, path, target, decide; then
//! network, address, exchange and what it is made of; then the interfaces.

mod grant;
mod host;
mod path;
mod target;

mod decide;

mod network;

mod address;
mod exchange;

mod body;
mod fault;
mod ledger;
mod scrub;
mod tls;
mod wire;

mod state;
mod view;

pub use decide::Denial;
pub use grant::{EndpointFault, EndpointGrant, EndpointGrantError};
pub use host::HostFault;
pub use ledger::EndpointReport;
pub use network::Network;
pub use path::PathFault;
pub use state::EndpointState;
pub use view::{EndpointView, link_handler, link_types};
