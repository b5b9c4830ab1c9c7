//! The governed way: words become a request; a host that runs answers it, else this process
//! does, if it may (C-50).

pub(crate) mod args;
mod config;
mod dispatch;
mod host;
mod policy;
mod render;
mod request;
mod waiting;

pub(crate) use config::{config, init};
pub(crate) use dispatch::run;
pub(crate) use host::host;
pub(crate) use policy::policy;
