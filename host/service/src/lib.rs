//! A host as a process: its folder, its operator's requests, its socket.
//!
//! Rule (C-50): one process owns a store. Whoever else wants something of it asks over a
//! socket that only the owner's user can open; a request is data, what may be asked is
//! decided by who asks, and a principal with a model's rights has no operator's verb here
//! or anywhere. Reading order: place, shelf, request, reply, desk (each verb in its own
//! file), frame, server, client.

mod client;
mod desk;
mod frame;
mod place;
mod private;
mod reply;
mod request;
mod resources;
mod server;
mod shelf;

pub use client::ask;
pub use desk::{Caller, Desk, Recording, store};
pub use place::Place;
pub use reply::Reply;
pub use request::{BindWish, Envelope, Reach, Request, RevokeTarget, SessionWish};
pub use server::{Rendered, serve};

/// The number of the user of this process, as the system has it.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}
