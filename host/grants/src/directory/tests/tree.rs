//! A tree to be granted, what surrounds it, and a guest's hands.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use bindery_types::Budget;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};
use wasmtime_wasi_io::bindings::wasi::io::streams::HostOutputStream;

use crate::directory::Fd;
use crate::{Access, CallGrants, DirectoryGrant, Grants};

/// `inside` is granted; `outside`, `inside-evil` and the links to them are bait.
pub(super) struct Tree(pub(super) tempfile::TempDir);

impl Tree {
    pub(super) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for directory in ["inside/d", "inside-evil", "outside/d"] {
            std::fs::create_dir_all(at(directory)).unwrap();
        }
        for file in [
            "inside/a",
            "inside/d/f",
            "inside-evil/x",
            "outside/secret",
            "outside/d/f",
        ] {
            std::fs::write(at(file), file).unwrap();
        }
        for (link, target) in [
            ("inside/in", "a"),
            ("inside/in_d", "d"),
            ("inside/out", "../outside"),
            ("inside/out_file", "../outside/secret"),
            ("inside/out_new", "../outside/new"),
            ("inside/nowhere", "gone"),
            ("inside/loop", "loop"),
            ("inside/d/up", "../../outside/secret"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        symlink(at("outside/secret"), at("inside/out_absolute")).unwrap();
        Self(root)
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(super) fn grant(
        &self,
        directory: &str,
        guest_path: &str,
        access: Access,
    ) -> DirectoryGrant {
        let file = std::fs::File::open(self.path(directory)).unwrap();
        let dir = cap_std::fs::Dir::from_std_file(file);
        DirectoryGrant::new(dir, guest_path, access).unwrap()
    }

    /// A guest that was granted `inside`.
    pub(super) fn guest(&self, access: Access) -> Guest {
        self.guest_under(access, &Budget::default())
    }

    pub(super) fn guest_under(&self, access: Access, budget: &Budget) -> Guest {
        Guest::new(vec![self.grant("inside", "/data", access)], budget)
    }

    /// Everything below the root but what is below `except`: kind, mode, contents, times.
    pub(super) fn snapshot(&self, except: Option<&str>) -> BTreeMap<PathBuf, String> {
        let mut seen = BTreeMap::new();
        let except = except.map(|path| self.path(path));
        walk(self.0.path(), except.as_deref(), &mut seen);
        seen
    }
}

fn walk(at: &Path, except: Option<&Path>, seen: &mut BTreeMap<PathBuf, String>) {
    for entry in std::fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        if Some(path.as_path()) == except {
            continue;
        }
        let meta = path.symlink_metadata().unwrap();
        let content = match meta.file_type() {
            kind if kind.is_dir() => {
                walk(&path, except, seen);
                String::new()
            }
            kind if kind.is_symlink() => format!("{:?}", std::fs::read_link(&path).unwrap()),
            kind if kind.is_file() => format!("{:?}", std::fs::read(&path).unwrap()),
            _ => String::new(),
        };
        let facts = format!(
            "{:o} {:?} {} {content}",
            meta.mode(),
            meta.modified(),
            meta.nlink()
        );
        seen.insert(path, facts);
    }
}

/// The state of a call, driven as its imports would.
pub(super) struct Guest {
    pub(super) call: CallGrants,
    pub(super) roots: Vec<u32>,
}

impl Guest {
    pub(super) fn new(directories: Vec<DirectoryGrant>, budget: &Budget) -> Self {
        let grants = Grants {
            directories,
            ..Grants::default()
        };
        let mut call = CallGrants::new(grants, budget).unwrap();
        let preopens = preopens::Host::get_directories(&mut call).unwrap();
        Self {
            roots: preopens.iter().map(|(fd, _)| fd.rep()).collect(),
            call,
        }
    }

    pub(super) fn root(&self) -> Fd {
        Resource::new_borrow(self.roots[0])
    }

    pub(super) async fn open(
        &mut self,
        path: &str,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        let root = self.root();
        let path = path.to_owned();
        self.call
            .open_at(root, PathFlags::SYMLINK_FOLLOW, path, open, flags)
            .await
    }

    pub(super) async fn read(&mut self, path: &str) -> Result<Vec<u8>, ErrorCode> {
        let fd = code(
            self.open(path, OpenFlags::empty(), DescriptorFlags::READ)
                .await,
        )?;
        Ok(code(self.call.read(fd, 1 << 20, 0).await)?.0)
    }

    /// Creates or overwrites a file and writes to it.
    pub(super) async fn write(&mut self, path: &str, bytes: &[u8]) -> Result<u64, ErrorCode> {
        let fd = code(
            self.open(path, OpenFlags::CREATE, DescriptorFlags::WRITE)
                .await,
        )?;
        code(HostDescriptor::write(&mut self.call, fd, bytes.to_vec(), 0).await)
    }

    /// The same through a stream.
    pub(super) async fn append(&mut self, path: &str, bytes: &[u8]) -> Result<(), ErrorCode> {
        let fd = code(
            self.open(path, OpenFlags::CREATE, DescriptorFlags::WRITE)
                .await,
        )?;
        let stream = code(self.call.append_via_stream(fd))?;
        let place = || Resource::new_borrow(stream.rep());
        let written = self
            .call
            .blocking_write_and_flush(place(), bytes.to_vec())
            .await;
        HostOutputStream::drop(&mut self.call, stream)
            .await
            .unwrap();
        written.map_err(|error| match error {
            wasmtime_wasi::p2::StreamError::LastOperationFailed(error) => {
                let place = self.call.table.push(error).unwrap();
                let host = &mut self.call;
                let code =
                    wasmtime_wasi::p2::bindings::filesystem::types::Host::filesystem_error_code(
                        host, place,
                    );
                code.unwrap().unwrap()
            }
            other => panic!("{other}"),
        })
    }
}

/// The error value of an operation; a trap fails the test.
pub(super) fn code<T>(result: FsResult<T>) -> Result<T, ErrorCode> {
    result.map_err(|error| error.downcast().expect("an error value, not a trap"))
}
