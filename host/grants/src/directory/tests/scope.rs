//! What a grant covers: paths, links, kinds of file, combinations of flags.

use bindery_types::{Budget, EffectKind};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, ErrorCode, HostDescriptor, NewTimestamp, OpenFlags, PathFlags,
};

use super::tree::{Guest, Tree, code};
use crate::{Access, CallGrants, Grants};

#[tokio::test]
async fn a_granted_directory_is_read_and_no_path_leads_out_of_it() {
    let tree = Tree::new();
    let before = tree.snapshot(None);
    let mut guest = tree.guest(Access::ReadWrite);
    assert_eq!(guest.read("a").await, Ok(b"inside/a".to_vec()), "R-020");
    assert_eq!(
        guest.read("in").await,
        Ok(b"inside/a".to_vec()),
        "a link that stays inside"
    );
    assert_eq!(guest.read("d/../a").await, Ok(b"inside/a".to_vec()));
    for path in [
        "../outside/secret",
        "/etc/passwd",
        "/",
        "..",
        "d/../../outside/secret",
        "out/secret",
        "out_file",
        "out_absolute",
        "d/up",
        "../inside-evil/x",
        "out/../inside/a",
        "out/",
    ] {
        let refused = guest.read(path).await;
        assert_eq!(refused, Err(ErrorCode::NotPermitted), "C4, X10: {path}");
        assert!(guest.write(path, b"x").await.is_err(), "C4: {path}");
    }
    assert_eq!(guest.read("a\0b").await, Err(ErrorCode::Invalid), "C4");
    assert_eq!(
        guest.read(&"x".repeat(5_000)).await,
        Err(ErrorCode::NameTooLong),
        "C4"
    );
    assert_eq!(guest.read("loop").await, Err(ErrorCode::Loop), "X10");
    assert_eq!(guest.read("a/").await, Err(ErrorCode::NotDirectory), "X10");
    assert_eq!(tree.snapshot(None), before, "C4");
}

#[tokio::test]
async fn the_error_does_not_tell_whether_an_outside_file_exists() {
    let tree = Tree::new();
    let mut guest = tree.guest(Access::ReadWrite);
    for (there, not_there) in [
        ("../outside/secret", "../outside/nothing"),
        ("out/secret", "out/nothing"),
        ("/etc/passwd", "/etc/nothing-of-that-name"),
    ] {
        assert_eq!(guest.read(there).await, guest.read(not_there).await, "C4");
        assert_eq!(
            guest.write(there, b"").await,
            guest.write(not_there, b"").await,
            "C4"
        );
    }
}

#[tokio::test]
async fn links_that_point_out_are_not_made_and_links_that_stay_are() {
    let tree = Tree::new();
    let outside = tree.snapshot(Some("inside"));
    let mut guest = tree.guest(Access::ReadWrite);
    for (target, path) in [("../../etc", "s"), ("/etc", "s"), ("../../outside", "d/s")] {
        let root = guest.root();
        let made = guest
            .call
            .symlink_at(root, target.into(), path.into())
            .await;
        assert_eq!(code(made), Err(ErrorCode::NotPermitted), "C4: {target}");
    }
    let root = guest.root();
    code(
        guest
            .call
            .symlink_at(root, "../a".into(), "d/s".into())
            .await,
    )
    .unwrap();
    assert_eq!(guest.read("d/s").await, Ok(b"inside/a".to_vec()));
    for (old, new) in [
        ("../outside/secret", "h"),
        ("out/secret", "h"),
        ("a", "../outside/h"),
    ] {
        let (from, to) = (guest.root(), guest.root());
        let linked = guest
            .call
            .link_at(from, PathFlags::empty(), old.into(), to, new.into())
            .await;
        assert!(code(linked).is_err(), "C4: {old} -> {new}");
        let (from, to) = (guest.root(), guest.root());
        let renamed = guest.call.rename_at(from, old.into(), to, new.into()).await;
        assert!(code(renamed).is_err(), "C4: {old} -> {new}");
    }
    assert_eq!(tree.snapshot(Some("inside")), outside, "C4");
}

#[tokio::test]
async fn what_is_neither_file_nor_directory_is_refused_and_holds_no_thread() {
    let tree = Tree::new();
    let directory = std::fs::File::open(tree.path("inside")).unwrap();
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(&directory, "fifo", fifo, mode, 0).unwrap();
    std::os::unix::net::UnixListener::bind(tree.path("inside/socket")).unwrap();
    std::os::unix::fs::symlink("fifo", tree.path("inside/to_fifo")).unwrap();
    let mut guest = tree.guest(Access::ReadWrite);
    for path in ["fifo", "socket", "to_fifo"] {
        for flags in [DescriptorFlags::READ, DescriptorFlags::WRITE] {
            let opened = guest.open(path, OpenFlags::empty(), flags).await;
            assert_eq!(
                code(opened).err(),
                Some(ErrorCode::NotPermitted),
                "H25: {path}"
            );
        }
    }
    let denials = guest.call.finish().denials;
    assert_eq!(denials[0].asked, "open /data/fifo", "U1");
}

/// GHSA-2r75, GHSA-4ch3: permission checks were passed by combinations of flags.
#[tokio::test]
async fn no_combination_of_flags_changes_a_read_only_directory() {
    let tree = Tree::new();
    let before = tree.snapshot(None);
    let mut refused = 0;
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let outside = tree.snapshot(Some("inside"));
        for (path, path_flags, open, flags) in flags_of_everything() {
            let mut guest = tree.guest(access);
            let root = guest.root();
            let opened = guest
                .call
                .open_at(root, path_flags, path.into(), open, flags)
                .await;
            let Ok(fd) = code(opened) else {
                refused += 1;
                continue;
            };
            let place = || Resource::new_borrow(fd.rep());
            // Whatever was opened, everything that changes is tried on it.
            code(guest.call.write(place(), b"x".to_vec(), 0).await).ok();
            code(guest.call.set_size(place(), 1).await).ok();
            let (read, write) = (NewTimestamp::Now, NewTimestamp::Now);
            code(guest.call.set_times(place(), read, write).await).ok();
            code(guest.call.write_via_stream(place(), 0)).ok();
            code(guest.call.append_via_stream(place())).ok();
        }
        match access {
            Access::ReadOnly => assert_eq!(tree.snapshot(None), before, "H25"),
            Access::ReadWrite => {
                assert_eq!(tree.snapshot(Some("inside")), outside, "C4");
                assert_ne!(
                    tree.snapshot(None),
                    before,
                    "the product does change things"
                );
            }
        }
    }
    assert!(refused > 0);
}

fn flags_of_everything() -> Vec<(&'static str, PathFlags, OpenFlags, DescriptorFlags)> {
    let paths = [
        "a",
        "d",
        "d/",
        "new",
        "new/",
        "in",
        "in_d",
        "out",
        "out/new",
        "out_file",
        "out_new",
        "nowhere",
        "out_absolute",
        ".",
        "",
        "..",
        "d/../new",
    ];
    let mut all = Vec::new();
    for path in paths {
        for bits in 0_u32..(1 << 8) {
            let bit = |n: u32| bits & (1 << n) != 0;
            let mut open = OpenFlags::empty();
            for (n, flag) in [
                OpenFlags::CREATE,
                OpenFlags::DIRECTORY,
                OpenFlags::EXCLUSIVE,
                OpenFlags::TRUNCATE,
            ]
            .into_iter()
            .enumerate()
            {
                if bit(u32::try_from(n).unwrap()) {
                    open |= flag;
                }
            }
            let mut flags = DescriptorFlags::empty();
            for (n, flag) in [
                DescriptorFlags::READ,
                DescriptorFlags::WRITE,
                DescriptorFlags::MUTATE_DIRECTORY,
            ]
            .into_iter()
            .enumerate()
            {
                if bit(4 + u32::try_from(n).unwrap()) {
                    flags |= flag;
                }
            }
            let follow = if bit(7) {
                PathFlags::SYMLINK_FOLLOW
            } else {
                PathFlags::empty()
            };
            all.push((path, follow, open, flags));
        }
    }
    all
}

#[tokio::test]
async fn a_write_in_a_read_only_directory_tells_the_operator_which_grant_it_takes() {
    let tree = Tree::new();
    let mut guest = tree.guest(Access::ReadOnly);
    assert_eq!(
        guest.write("a", b"x").await,
        Err(ErrorCode::ReadOnly),
        "U1: the guest"
    );
    let captures = guest.call.finish();
    let [denial] = captures.denials.as_slice() else {
        panic!("{:?}", captures.denials)
    };
    assert_eq!(denial.asked, "write /data/a", "U1");
    assert_eq!(
        denial.allow.as_deref(),
        Some("--dir 'HOST::/data:rw'"),
        "U1: what to grant"
    );
    let text = format!("{denial:?}");
    assert!(
        !text.contains(&*tree.0.path().to_string_lossy()),
        "U1: no host path"
    );
    assert!(
        captures.trace.effects().is_empty(),
        "I37: nothing was touched"
    );
}

#[tokio::test]
async fn between_two_grants_nothing_is_moved_or_linked() {
    let tree = Tree::new();
    let before = tree.snapshot(None);
    let grants = vec![
        tree.grant("inside", "/one", Access::ReadWrite),
        tree.grant("outside", "/two", Access::ReadWrite),
        tree.grant("inside-evil", "/fixed", Access::ReadOnly),
    ];
    let mut guest = Guest::new(grants, &Budget::default());
    let place = |guest: &Guest, grant: usize| Resource::new_borrow(guest.roots[grant]);
    for (from, to, expected) in [
        (0, 1, ErrorCode::CrossDevice),
        (0, 2, ErrorCode::ReadOnly),
        (2, 0, ErrorCode::ReadOnly),
        (2, 2, ErrorCode::ReadOnly),
    ] {
        let old = if from == 0 { "a" } else { "x" };
        let (a, b) = (place(&guest, from), place(&guest, to));
        let moved = guest.call.rename_at(a, old.into(), b, "n".into()).await;
        assert_eq!(
            code(moved),
            Err(expected),
            "GHSA-4ch3: rename {from} to {to}"
        );
        let (a, b) = (place(&guest, from), place(&guest, to));
        let linked = guest
            .call
            .link_at(a, PathFlags::empty(), old.into(), b, "n".into())
            .await;
        assert_eq!(
            code(linked),
            Err(expected),
            "GHSA-4ch3: link {from} to {to}"
        );
    }
    assert_eq!(tree.snapshot(None), before);
    let (a, b) = (place(&guest, 0), place(&guest, 0));
    code(guest.call.rename_at(a, "a".into(), b, "d/a".into()).await).unwrap();
    assert!(
        tree.path("inside/d/a").exists(),
        "within one grant it is a move"
    );
}

#[test]
fn one_directory_under_two_modes_or_two_under_one_name_is_refused() {
    let tree = Tree::new();
    let clash = |second_directory: &str, name: &str, access: Access| {
        let directories = vec![
            tree.grant("inside", "/data", Access::ReadOnly),
            tree.grant(second_directory, name, access),
        ];
        let grants = Grants {
            directories,
            ..Grants::default()
        };
        CallGrants::new(grants, &Budget::default())
            .err()
            .map(|refusal| refusal.message().to_owned())
    };
    assert!(
        clash("inside", "/rw", Access::ReadWrite)
            .unwrap()
            .contains("`/rw`"),
        "GHSA-4ch3"
    );
    assert!(
        clash("outside", "/data", Access::ReadOnly)
            .unwrap()
            .contains("one name")
    );
    assert!(
        clash("inside/d", "/rw", Access::ReadWrite).is_some(),
        "a part of it, too"
    );
    assert!(
        clash(".", "/rw", Access::ReadWrite).is_some(),
        "or what it is a part of"
    );
    assert_eq!(clash("inside", "/again", Access::ReadOnly), None);
    assert_eq!(clash("outside", "/rw", Access::ReadWrite), None);
}

#[tokio::test]
async fn times_that_no_host_can_name_are_error_values() {
    let tree = Tree::new();
    let mut guest = tree.guest(Access::ReadWrite);
    let datetime = |seconds, nanoseconds| {
        NewTimestamp::Timestamp(wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime {
            seconds,
            nanoseconds,
        })
    };
    for (seconds, nanoseconds) in [
        (u64::MAX, 0),
        (0, u32::MAX),
        (u64::MAX, u32::MAX),
        (1 << 62, 999_999_999),
    ] {
        let fd = code(
            guest
                .open("a", OpenFlags::empty(), DescriptorFlags::WRITE)
                .await,
        )
        .unwrap();
        let times = (datetime(seconds, nanoseconds), NewTimestamp::NoChange);
        code(guest.call.set_times(fd, times.0, times.1).await).ok();
        let root = guest.root();
        let times = (
            datetime(seconds, nanoseconds),
            datetime(seconds, nanoseconds),
        );
        let set = guest
            .call
            .set_times_at(root, PathFlags::empty(), "a".into(), times.0, times.1);
        code(set.await).ok();
    }
    assert_eq!(
        guest.read("a").await,
        Ok(b"inside/a".to_vec()),
        "X15: the host goes on"
    );
}

#[tokio::test]
async fn effects_name_each_file_once_with_the_bytes_that_moved() {
    let tree = Tree::new();
    let mut guest = tree.guest(Access::ReadWrite);
    let root = guest.root();
    code(
        guest
            .call
            .stat_at(root, PathFlags::empty(), "a".into())
            .await,
    )
    .unwrap();
    guest.read("a").await.unwrap();
    guest.write("new", b"12345").await.unwrap();
    guest.append("new", b"678").await.unwrap();
    assert_eq!(guest.read("gone").await, Err(ErrorCode::NoEntry));
    let root = guest.root();
    assert!(code(guest.call.unlink_file_at(root, "gone".into()).await).is_err());
    let root = guest.root();
    code(guest.call.unlink_file_at(root, "new".into()).await).unwrap();
    let trace = guest.call.finish().trace;
    let effects: Vec<_> = trace
        .effects()
        .iter()
        .map(|e| (e.kind, e.resource.as_str(), e.bytes))
        .collect();
    assert_eq!(
        effects,
        [
            (EffectKind::Read, "/data/a", 8),
            (EffectKind::Write, "/data/new", 5),
            (EffectKind::Write, "/data/new", 3),
            (EffectKind::Write, "/data/new", 0),
        ],
        "I37: what failed touched nothing"
    );
}

#[tokio::test]
async fn a_file_opened_for_reading_takes_no_bytes_and_reports_none() {
    let tree = Tree::new();
    let mut guest = tree.guest(Access::ReadWrite);
    let fd = code(
        guest
            .open("a", OpenFlags::empty(), DescriptorFlags::READ)
            .await,
    )
    .unwrap();
    let place = || Resource::new_borrow(fd.rep());
    assert_eq!(
        code(guest.call.write(place(), vec![1], 0).await),
        Err(ErrorCode::BadDescriptor)
    );
    assert!(code(guest.call.write_via_stream(place(), 0)).is_err());
    assert!(code(guest.call.append_via_stream(place())).is_err());
    assert!(code(guest.call.set_size(place(), 1).await).is_err());
    let trace = guest.call.finish().trace;
    let kinds: Vec<_> = trace.effects().iter().map(|effect| effect.kind).collect();
    assert_eq!(kinds, [EffectKind::Read], "I37");
}
