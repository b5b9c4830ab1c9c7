//! Limits of a directory grant, each at its last unit and at the first beyond.

use bindery_types::{Budget, LimitHit, LimitName};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, ErrorCode, HostDescriptor, HostDirectoryEntryStream, OpenFlags,
};
use wasmtime_wasi_io::bindings::wasi::io::streams::{HostInputStream, HostOutputStream};

use super::tree::{Guest, Tree, code};
use crate::Access;

fn met(guest: &mut Guest) -> Vec<(LimitName, u64)> {
    let hits = guest.call.finish().limit_hits;
    hits.iter()
        .map(|hit: &LimitHit| (hit.name, hit.used))
        .collect()
}

fn guest(tree: &Tree, name: LimitName, limit: u64) -> Guest {
    let budget = Budget::default().with(name, limit).unwrap();
    tree.guest_under(Access::ReadWrite, &budget)
}

#[tokio::test]
async fn written_bytes_end_at_the_limit_whichever_way_they_are_written() {
    let tree = Tree::new();
    let mut guest = guest(&tree, LimitName::WrittenBytes, 10);
    assert_eq!(guest.write("n", b"1234").await, Ok(4));
    assert_eq!(guest.append("n", b"567").await, Ok(()));
    assert_eq!(
        guest.write("m", b"89ABC").await,
        Ok(3),
        "what is left is written"
    );
    assert_eq!(guest.write("m", b"D").await, Err(ErrorCode::Quota), "X11");
    assert_eq!(guest.append("m", b"D").await, Err(ErrorCode::Quota), "X11");
    assert_eq!(guest.write("m", b"").await, Ok(0), "the guest goes on");
    assert_eq!(std::fs::read(tree.path("inside/n")).unwrap(), b"1234567");
    assert_eq!(std::fs::read(tree.path("inside/m")).unwrap(), b"89A");
    assert_eq!(met(&mut guest), [(LimitName::WrittenBytes, 11)], "U5");
}

#[tokio::test]
async fn a_limit_that_is_reached_and_not_passed_is_not_met() {
    let tree = Tree::new();
    let mut guest = guest(&tree, LimitName::WrittenBytes, 10);
    assert_eq!(
        guest.append("n", b"0123456789").await,
        Ok(()),
        "one unit below"
    );
    assert_eq!(met(&mut guest), []);
}

#[tokio::test]
async fn a_file_is_not_grown_past_the_limit_by_its_size_or_by_a_gap() {
    let tree = Tree::new();
    let mut guest = guest(&tree, LimitName::WrittenBytes, 10);
    let opened = guest
        .open("n", OpenFlags::CREATE, DescriptorFlags::WRITE)
        .await;
    let fd = code(opened).unwrap();
    let place = || Resource::new_borrow(fd.rep());
    assert_eq!(
        code(guest.call.set_size(place(), 11).await),
        Err(ErrorCode::Quota)
    );
    assert_eq!(
        code(HostDescriptor::write(&mut guest.call, place(), vec![1], 1 << 40).await),
        Err(ErrorCode::Quota)
    );
    let stream = code(guest.call.write_via_stream(place(), 1 << 40)).unwrap();
    assert!(
        guest
            .call
            .blocking_write_and_flush(stream, vec![1])
            .await
            .is_err()
    );
    assert_eq!(code(guest.call.set_size(place(), 6).await), Ok(()));
    assert_eq!(
        code(guest.call.set_size(place(), 0).await),
        Ok(()),
        "shrinking is free"
    );
    assert_eq!(
        code(HostDescriptor::write(&mut guest.call, place(), vec![1, 2], 2).await),
        Ok(2),
        "a gap of 2"
    );
    assert_eq!(std::fs::read(tree.path("inside/n")).unwrap(), [0, 0, 1, 2]);
}

#[tokio::test]
async fn new_entries_of_every_kind_count_together_and_old_ones_do_not() {
    let tree = Tree::new();
    let mut guest = guest(&tree, LimitName::NewEntries, 3);
    guest.write("a", b"x").await.unwrap();
    guest.write("n1", b"").await.unwrap();
    let root = guest.root();
    code(guest.call.create_directory_at(root, "n2".into()).await).unwrap();
    let root = guest.root();
    let again = guest.call.create_directory_at(root, "n2".into()).await;
    assert_eq!(
        code(again),
        Err(ErrorCode::Exist),
        "what fails is given back"
    );
    let root = guest.root();
    code(guest.call.symlink_at(root, "a".into(), "n3".into()).await).unwrap();
    assert_eq!(guest.write("n4", b"").await, Err(ErrorCode::Quota), "X11");
    let root = guest.root();
    let made = guest.call.symlink_at(root, "a".into(), "n5".into()).await;
    assert_eq!(code(made), Err(ErrorCode::Quota), "X11");
    assert!(!tree.path("inside/n4").exists());
    assert_eq!(met(&mut guest), [(LimitName::NewEntries, 4)], "U5");
}

async fn names(guest: &mut Guest) -> (usize, Option<ErrorCode>) {
    let root = guest.root();
    let listing = code(guest.call.read_directory(root).await).unwrap();
    let mut count = 0;
    loop {
        let place = Resource::new_borrow(listing.rep());
        match code(guest.call.read_directory_entry(place).await) {
            Ok(Some(_)) => count += 1,
            Ok(None) => return (count, None),
            Err(code) => return (count, Some(code)),
        }
    }
}

#[tokio::test]
async fn a_listing_ends_at_the_limit_and_one_entry_fewer_is_whole() {
    let tree = Tree::new();
    let there = std::fs::read_dir(tree.path("inside")).unwrap().count();
    for more in there..300 {
        std::fs::write(tree.path(&format!("inside/f{more}")), "").unwrap();
    }
    let mut whole = guest(&tree, LimitName::Listing, 300);
    assert_eq!(names(&mut whole).await, (300, None));
    assert_eq!(met(&mut whole), []);
    let mut cut = guest(&tree, LimitName::Listing, 299);
    assert_eq!(names(&mut cut).await, (299, Some(ErrorCode::Quota)), "X11");
    assert_eq!(met(&mut cut), [(LimitName::Listing, 300)], "U5");
}

/// A name that no guest can be given hides none of its neighbours, and the operator is told.
#[tokio::test]
async fn a_name_that_is_not_utf_8_is_left_out_counted_and_told() {
    use std::os::unix::ffi::OsStrExt as _;
    let tree = Tree::new();
    let there = std::fs::read_dir(tree.path("inside")).unwrap().count();
    // More than one batch of them, and one beside its readable twin.
    for number in 0..200 {
        let name = [b"odd-\xff-".as_slice(), number.to_string().as_bytes()].concat();
        let name = std::ffi::OsStr::from_bytes(&name);
        std::fs::write(tree.path("inside").join(name), "").unwrap();
    }
    std::fs::write(tree.path("inside/odd-\u{fffd}-0"), "").unwrap();
    let mut whole = guest(&tree, LimitName::Listing, 1_000);
    assert_eq!(names(&mut whole).await, (there + 1, None));
    let [denial] = &whole.call.finish().denials[..] else {
        panic!("one notice for one directory");
    };
    assert_eq!(denial.asked, "list /data", "U1");
    assert!(denial.rule.starts_with("200 names"), "{}", denial.rule);
    let entries = u64::try_from(there + 1 + 200).unwrap();
    let mut exact = guest(&tree, LimitName::Listing, entries);
    assert_eq!(names(&mut exact).await, (there + 1, None));
    let mut cut = guest(&tree, LimitName::Listing, entries - 1);
    let (_, end) = names(&mut cut).await;
    assert_eq!(
        end,
        Some(ErrorCode::Quota),
        "X11: they are read all the same"
    );
    let mut plain = Tree::new().guest(Access::ReadOnly);
    assert_eq!(names(&mut plain).await.1, None);
    assert!(plain.call.finish().denials.is_empty());
}

#[tokio::test]
async fn handles_end_the_call_at_the_limit() {
    let tree = Tree::new();
    let mut guest = guest(&tree, LimitName::Handles, 4);
    for _ in 0..3 {
        let opened = guest
            .open("a", OpenFlags::empty(), DescriptorFlags::READ)
            .await;
        code(opened).unwrap();
    }
    let opened = guest
        .open("a", OpenFlags::empty(), DescriptorFlags::READ)
        .await;
    let trap = opened.unwrap_err().downcast().unwrap_err();
    let hit = trap.downcast_ref::<LimitHit>().unwrap();
    assert_eq!((hit.name, hit.used), (LimitName::Handles, 5), "X12");
}

#[tokio::test]
async fn a_closed_handle_makes_room_for_another() {
    let tree = Tree::new();
    let mut guest = guest(&tree, LimitName::Handles, 2);
    for _ in 0..1_000 {
        let opened = guest
            .open("a", OpenFlags::empty(), DescriptorFlags::READ)
            .await;
        let fd = code(opened).unwrap();
        HostDescriptor::drop(&mut guest.call, fd).unwrap();
    }
}

#[tokio::test]
async fn a_stream_gives_a_file_in_pieces_and_loses_nothing_that_was_given() {
    let tree = Tree::new();
    let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
    std::fs::write(tree.path("inside/big"), &bytes).unwrap();
    let mut guest = tree.guest(Access::ReadWrite);
    let opened = guest
        .open("big", OpenFlags::empty(), DescriptorFlags::READ)
        .await;
    let from = code(guest.call.read_via_stream(code(opened).unwrap(), 1)).unwrap();
    let opened = guest
        .open("copy", OpenFlags::CREATE, DescriptorFlags::WRITE)
        .await;
    let to = code(guest.call.write_via_stream(code(opened).unwrap(), 0)).unwrap();
    let mut read = Vec::new();
    while let Ok(piece) = guest
        .call
        .blocking_read(Resource::new_borrow(from.rep()), u64::MAX)
        .await
    {
        assert!(!piece.is_empty() && piece.len() <= 64 << 10, "H29");
        read.extend_from_slice(&piece);
        for part in piece.chunks(4_096) {
            let place = Resource::new_borrow(to.rep());
            guest
                .call
                .blocking_write_and_flush(place, part.to_vec())
                .await
                .unwrap();
        }
    }
    assert_eq!(read, bytes[1..]);
    // Given and never flushed: the drop waits for it.
    let permit = guest
        .call
        .check_write(Resource::new_borrow(to.rep()))
        .unwrap();
    assert!(permit > 0);
    HostOutputStream::write(
        &mut guest.call,
        Resource::new_borrow(to.rep()),
        b"end".to_vec(),
    )
    .unwrap();
    HostOutputStream::drop(&mut guest.call, to).await.unwrap();
    HostInputStream::drop(&mut guest.call, from).await.unwrap();
    let copied = std::fs::read(tree.path("inside/copy")).unwrap();
    assert_eq!(copied.strip_suffix(b"end"), Some(&bytes[1..]));
    assert_eq!(guest.call.unfinished_writes(), 0);
}
