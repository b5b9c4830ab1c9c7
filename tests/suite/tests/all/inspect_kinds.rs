//! Cases D2 and R-026: every kind of file that is not a component is told by its kind, in
//! one sentence with a next step, and nothing hangs on it.

use std::path::Path;

use bindery_artefacts::dummy;
use bindery_inspect::{inspect, read_component};
use bindery_types::{Budget, ErrorType, LimitName, Refusal};

const WIT: &str =
    "package ex:k; interface api { go: func(s: string) -> string; } world w { export api; }";

fn refused(bytes: &[u8]) -> Refusal {
    inspect(bytes, &Budget::default()).unwrap_err()
}

#[track_caller]
fn check(bytes: &[u8], kind: &str) {
    let refusal = refused(bytes);
    assert_eq!(refusal.kind(), ErrorType::ComponentInvalid, "{refusal}");
    assert_eq!(refusal.details()["kind"], kind, "{refusal}");
    let message = refusal.message();
    assert!(message.starts_with(|c: char| c.is_lowercase()), "{message}");
    assert!(
        !message.ends_with('.') && !message.contains('\n'),
        "{message}"
    );
    // What it is, and behind the last `;` or `:` what to do.
    assert!(message.contains(';') || message.contains(": "), "{message}");
}

/// D2, H14, H34, R-026: by its kind, in one sentence, with the next step.
#[test]
fn files_that_are_no_webassembly_are_told_by_their_kind() {
    check(b"", "empty");
    check(b"\0asm", "too_short");
    check(b"\0as", "too_short");
    check(b"abcd", "too_short");
    check(b"<!DOCTYPE html><html><body>Sign in</body></html>", "html");
    check(b"\xef\xbb\xbf \n<html><head>", "html");
    check(b"(component (export \"a\" (func 0)))", "wat_text");
    check(b";; a comment\n(module)", "wat_text");
    check(b"package ex:k;\nworld w {}", "wit_text");
    check(b"\x1f\x8b\x08\0\0\0\0\0\0\0\0\0", "gzip");
    check(b"PK\x03\x04\x14\0\0\0\x08\0\0\0", "zip");
    check(b"\x28\xb5\x2f\xfd\x04\0\0\0\0\0\0\0", "zstd");
    check(b"{\"not\": \"a component\"}", "unknown");
    check(&std::fs::read("/proc/self/exe").unwrap()[..4096], "elf");
}

/// D2, H14, H34, R-026: by its kind, in one sentence, with the next step.
#[test]
fn webassembly_that_is_no_component_is_told_by_its_kind() {
    check(&wat::parse_str("(module (func))").unwrap(), "core_module");
    let preview1 = "(module (import \"wasi_snapshot_preview1\" \"fd_write\" (func (param i32 i32 i32 i32) (result i32))))";
    check(&wat::parse_str(preview1).unwrap(), "preview1_module");
    assert!(
        refused(&wat::parse_str(preview1).unwrap())
            .message()
            .contains("--adapt")
    );
    let typed = "(module (@custom \"component-type:x\" \"\"))";
    check(&wat::parse_str(typed).unwrap(), "typed_module");
    check(b"\0asm\x0a\0\x01\0", "old_component");
    check(b"\0asm\x0e\0\x01\0", "new_component");
    check(b"\0asm\x02\0\0\0", "unknown_wasm");
}

#[test]
fn a_wit_package_in_binary_form_is_told_from_a_component() {
    let package = "(component (type (;0;) (component (type (component (type (instance)) (export \"ex:k/api\" (instance (type 0))))) (export \"ex:k/w\" (component (type 0))))) (export \"w\" (type 0)))";
    check(&wat::parse_str(package).unwrap(), "wit_package");
}

#[test]
fn a_component_cut_anywhere_is_never_taken_for_one() {
    let whole = dummy(WIT).unwrap();
    let functions = inspect(&whole, &Budget::default()).unwrap().functions;
    check(&whole[..whole.len() / 2], "truncated");
    check(&whole[..whole.len() - 1], "truncated");
    let mut between_sections = 0;
    for cut in 0..whole.len() {
        // Between two sections a component may end: what it exports it exports in one.
        if let Ok(shape) = inspect(&whole[..cut], &Budget::default()) {
            between_sections += 1;
            assert!(
                [0, functions.len()].contains(&shape.functions.len()),
                "cut at {cut}"
            );
        }
    }
    assert!(
        between_sections < 32,
        "{between_sections} cuts of {} are taken",
        whole.len()
    );
}

#[test]
fn bytes_behind_a_component_are_told_from_a_cut() {
    for tail in [
        b"\n".as_slice(),
        b"\0",
        b"\0\0\0\0",
        b"trailing bytes",
        b"\0asm\x0d\0\x01\0",
        b"\xff\xff",
    ] {
        let mut bytes = dummy(WIT).unwrap();
        bytes.extend_from_slice(tail);
        check(&bytes, "trailing_bytes");
    }
}

/// D2: a pipe is never opened for reading.
#[test]
fn a_pipe_or_a_directory_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, kind) in [
        (pipe.as_path(), "fifo"),
        (folder.path(), "directory"),
        (Path::new("/dev/zero"), "device"),
        (socket.as_path(), "socket"),
        (&folder.path().join("absent"), "missing"),
    ] {
        let refusal = read_component(path, &Budget::default()).unwrap_err();
        assert_eq!(refusal.details()["kind"], kind, "{refusal}");
        let path = path.to_str().unwrap();
        assert!(
            !refusal.to_json().to_string().contains(path),
            "no host path for the caller"
        );
        assert!(
            refusal.operator().unwrap().contains(path),
            "the operator is told which"
        );
    }
}

#[test]
fn a_file_over_the_limit_is_refused_before_it_is_read_and_one_at_the_limit_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.wasm");
    let file = std::fs::File::create(&path).unwrap();
    // Sparse: reading it would take the memory that the limit is there to save.
    file.set_len(1 << 40).unwrap();
    let refusal = read_component(&path, &Budget::default()).unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::BudgetExhausted, "B8, U5");
    assert_eq!(refusal.details()["limit"], "component");
    assert_eq!(refusal.details()["value"], 64 << 20);
    assert_eq!(refusal.details()["used"], 1_u64 << 40);
    let budget = Budget::default().with(LimitName::Component, 10).unwrap();
    file.set_len(10).unwrap();
    assert_eq!(read_component(&path, &budget).unwrap().len(), 10);
    file.set_len(11).unwrap();
    read_component(&path, &budget).unwrap_err();
}
