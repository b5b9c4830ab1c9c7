//! Random guests: a read-only tree stays as it is, and nothing outside ever changes.

use bindery_types::Budget;
use proptest::prelude::*;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, HostDescriptor, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi_io::bindings::wasi::io::streams::HostOutputStream;

use super::tree::{Guest, Tree, code};
use crate::Access;
use crate::directory::Fd;

const PATHS: &[&str] = &[
    "",
    ".",
    "..",
    "/",
    "//",
    "a",
    "a/",
    "d",
    "d/",
    "d/f",
    "d/up",
    "d/..",
    "d/../..",
    "in",
    "in/",
    "in_d",
    "in_d/f",
    "in_d/..",
    "out",
    "out/",
    "out/d",
    "out/d/f",
    "out/secret",
    "out/..",
    "out_file",
    "out_file/",
    "out_new",
    "out_absolute",
    "nowhere",
    "nowhere/",
    "loop",
    "new",
    "new/",
    "new/x",
    "d/new",
    "../outside",
    "../outside/new",
    "../inside/a",
    "../inside-evil/x",
    "/etc/passwd",
    "s",
    "s/secret",
    "s/..",
    "d/s",
    "d/s/x",
];

#[derive(Clone, Debug)]
enum Step {
    Open {
        path: usize,
        follow: bool,
        open: u8,
        flags: u8,
    },
    Write {
        offset: u64,
    },
    Stream {
        append: bool,
    },
    SetSize(u64),
    SetTimes,
    SetTimesAt {
        path: usize,
        follow: bool,
    },
    MakeDirectory(usize),
    RemoveDirectory(usize),
    Unlink(usize),
    Symlink {
        target: usize,
        path: usize,
    },
    Link {
        old: usize,
        new: usize,
        follow: bool,
    },
    Rename {
        old: usize,
        new: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let path = || 0..PATHS.len();
    prop_oneof![
        4 => (path(), any::<bool>(), 0_u8..16, 0_u8..8)
            .prop_map(|(path, follow, open, flags)| Step::Open { path, follow, open, flags }),
        2 => (0_u64..64).prop_map(|offset| Step::Write { offset }),
        2 => any::<bool>().prop_map(|append| Step::Stream { append }),
        1 => (0_u64..64).prop_map(Step::SetSize),
        1 => Just(Step::SetTimes),
        1 => (path(), any::<bool>()).prop_map(|(path, follow)| Step::SetTimesAt { path, follow }),
        1 => path().prop_map(Step::MakeDirectory),
        1 => path().prop_map(Step::RemoveDirectory),
        1 => path().prop_map(Step::Unlink),
        2 => (path(), path()).prop_map(|(target, path)| Step::Symlink { target, path }),
        1 => (path(), path(), any::<bool>())
            .prop_map(|(old, new, follow)| Step::Link { old, new, follow }),
        2 => (path(), path()).prop_map(|(old, new)| Step::Rename { old, new }),
    ]
}

fn path(index: usize) -> String {
    PATHS[index].to_owned()
}

fn followed(follow: bool) -> PathFlags {
    if follow {
        PathFlags::SYMLINK_FOLLOW
    } else {
        PathFlags::empty()
    }
}

fn open_flags(bits: u8) -> OpenFlags {
    let all = [
        OpenFlags::CREATE,
        OpenFlags::DIRECTORY,
        OpenFlags::EXCLUSIVE,
        OpenFlags::TRUNCATE,
    ];
    let chosen = all
        .into_iter()
        .enumerate()
        .filter(|(n, _)| bits & (1 << n) != 0);
    chosen.fold(OpenFlags::empty(), |flags, (_, flag)| flags | flag)
}

fn descriptor_flags(bits: u8) -> DescriptorFlags {
    let all = [
        DescriptorFlags::READ,
        DescriptorFlags::WRITE,
        DescriptorFlags::MUTATE_DIRECTORY,
    ];
    let chosen = all
        .into_iter()
        .enumerate()
        .filter(|(n, _)| bits & (1 << n) != 0);
    chosen.fold(DescriptorFlags::empty(), |flags, (_, flag)| flags | flag)
}

/// Runs a guest; every answer is a value, whatever it asks.
async fn run(guest: &mut Guest, steps: &[Step]) {
    let mut last: Option<u32> = None;
    for step in steps {
        let dir: Fd = Resource::new_borrow(guest.roots[0]);
        let open: Fd = Resource::new_borrow(last.unwrap_or(guest.roots[0]));
        let call = &mut guest.call;
        let done = match step.clone() {
            Step::Open {
                path: p,
                follow,
                open,
                flags,
            } => {
                let (open, flags) = (open_flags(open), descriptor_flags(flags));
                let opened = call
                    .open_at(dir, followed(follow), path(p), open, flags)
                    .await;
                code(opened).map(|fd| last = Some(fd.rep()))
            }
            Step::Write { offset } => {
                code(HostDescriptor::write(call, open, b"guest".to_vec(), offset).await).map(drop)
            }
            Step::Stream { append } => {
                let stream = match append {
                    true => call.append_via_stream(open),
                    false => call.write_via_stream(open, 1),
                };
                match code(stream) {
                    Ok(stream) => {
                        let place = Resource::new_borrow(stream.rep());
                        call.blocking_write_and_flush(place, b"guest".to_vec())
                            .await
                            .ok();
                        HostOutputStream::drop(call, stream).await.unwrap();
                        Ok(())
                    }
                    Err(code) => Err(code),
                }
            }
            Step::SetSize(size) => code(call.set_size(open, size).await),
            Step::SetTimes => code(
                call.set_times(open, NewTimestamp::Now, NewTimestamp::Now)
                    .await,
            ),
            Step::SetTimesAt { path: p, follow } => {
                let now = NewTimestamp::Now;
                code(
                    call.set_times_at(dir, followed(follow), path(p), now, now)
                        .await,
                )
            }
            Step::MakeDirectory(p) => code(call.create_directory_at(dir, path(p)).await),
            Step::RemoveDirectory(p) => code(call.remove_directory_at(dir, path(p)).await),
            Step::Unlink(p) => code(call.unlink_file_at(dir, path(p)).await),
            Step::Symlink { target, path: p } => {
                code(call.symlink_at(dir, path(target), path(p)).await)
            }
            Step::Link { old, new, follow } => {
                let to = Resource::new_borrow(guest.roots[0]);
                code(
                    call.link_at(dir, followed(follow), path(old), to, path(new))
                        .await,
                )
            }
            Step::Rename { old, new } => {
                let to = Resource::new_borrow(guest.roots[0]);
                code(call.rename_at(dir, path(old), to, path(new)).await)
            }
        };
        // Refusals are what most of these steps are about.
        done.ok();
    }
}

fn check(access: Access, steps: &[Step]) -> Result<(), TestCaseError> {
    let tree = Tree::new();
    let except = match access {
        Access::ReadOnly => None,
        Access::ReadWrite => Some("inside"),
    };
    let before = tree.snapshot(except);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut guest = tree.guest_under(access, &Budget::default());
        run(&mut guest, steps).await;
    });
    prop_assert_eq!(tree.snapshot(except), before);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_read_only_grant_leaves_every_byte_as_it_is(steps in prop::collection::vec(step(), 1..40)) {
        check(Access::ReadOnly, &steps)?;
    }

    #[test]
    fn a_read_write_grant_changes_nothing_outside(steps in prop::collection::vec(step(), 1..40)) {
        check(Access::ReadWrite, &steps)?;
    }
}

/// The oracle can fail: it sees a change that does not come through a grant.
#[test]
fn the_snapshot_sees_what_a_guest_must_not_do() {
    let tree = Tree::new();
    let before = tree.snapshot(None);
    std::fs::write(tree.path("outside/new"), "").unwrap();
    assert_ne!(tree.snapshot(None), before);
}
