//! An open file or directory in a guest's hands, and what is known of it.
//!
//! Rule (H34): every open descriptor holds a permit of the process, until the last stream
//! over it is gone too; a process that has none left answers `busy`.

use std::sync::{Arc, OnceLock};

use bindery_types::{Budget, LimitName};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;

use super::grant::{Access, DirectoryGrant};
use super::quota::Quota;

/// One grant as a call uses it.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) guest_path: String,
    pub(super) access: Access,
    pub(super) bytes: Quota,
    pub(super) entries: Quota,
}

impl Granted {
    pub(super) fn new(grant: &DirectoryGrant, budget: &Budget) -> Self {
        Self {
            guest_path: grant.guest_path().to_owned(),
            access: grant.access(),
            bytes: Quota::new(LimitName::WrittenBytes, budget),
            entries: Quota::new(LimitName::NewEntries, budget),
        }
    }
}

/// One open descriptor.
pub(super) struct Opened {
    pub(super) descriptor: Descriptor,
    pub(super) granted: Arc<Granted>,
    /// The path as the trace has it.
    pub(super) path: String,
    pub(super) lease: Option<Lease>,
    /// The effects that its bytes belong to, once there are any.
    pub(super) read: Option<Option<usize>>,
    pub(super) written: Option<Option<usize>>,
}

impl Opened {
    /// The same place of the table, as the interface has it.
    pub(super) fn fd(place: Resource<Opened>) -> Resource<Descriptor> {
        Resource::new_own(place.rep())
    }
}

/// A permit of the process to have a descriptor open, shared by all that use it.
pub(super) type Lease = Arc<OwnedSemaphorePermit>;

/// Takes a permit, if one is left. Half of what the operating system allows the process:
/// the other half is the host's.
pub(super) fn lease() -> Option<Lease> {
    static PERMITS: OnceLock<Arc<Semaphore>> = OnceLock::new();
    const PERMITS_MAX: u64 = 1 << 16;
    let make = || {
        let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let half = (allowed.unwrap_or(PERMITS_MAX) / 2).min(PERMITS_MAX);
        Arc::new(Semaphore::new(usize::try_from(half).unwrap_or(0)))
    };
    let permits = Arc::clone(PERMITS.get_or_init(make));
    permits.try_acquire_owned().ok().map(Arc::new)
}
