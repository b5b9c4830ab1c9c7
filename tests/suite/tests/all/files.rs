//! Directory grants through a real guest: what it may, what it may not, what is reported.

use bindery_artefacts::rust_guest;
use bindery_grants::{Access, DirectoryGrant, Grants};
use bindery_sandbox::{Cancel, LoadedComponent, Sandbox};
use bindery_types::{EffectKind, LimitName, Run};
use serde_json::{Value, json};

use crate::rig::{assert_limit, budget, receipt, sandbox, value};

struct Rig {
    sandbox: Sandbox,
    guest: LoadedComponent,
    root: tempfile::TempDir,
}

impl Rig {
    async fn new() -> Self {
        let sandbox = sandbox();
        let bytes = std::fs::read(rust_guest("fs-driver").unwrap()).unwrap();
        let guest = sandbox.load(bytes).await.unwrap();
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("g/notes.txt", "notes"),
            ("g/d/f", "f"),
            ("g-evil/x", "x"),
            ("secret", "s"),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("/etc/hosts", root.path().join("g/leaf")).unwrap();
        std::os::unix::fs::symlink("../secret", root.path().join("g/link")).unwrap();
        Self {
            sandbox,
            guest,
            root,
        }
    }

    async fn drive(&self, access: Access, operations: Value, limits: &[(LimitName, u64)]) -> Run {
        let open = std::fs::File::open(self.root.path().join("g")).unwrap();
        let dir = cap_std::fs::Dir::from_std_file(open);
        let grants = Grants {
            directories: vec![DirectoryGrant::new(dir, "/g", access).unwrap()],
            ..Grants::default()
        };
        let (arguments, budget) = (
            json!({"operations": operations}).to_string(),
            budget(limits),
        );
        let (sandbox, guest) = (&self.sandbox, &self.guest);
        sandbox
            .run(guest, "drive", &arguments, grants, &budget, &Cancel::new())
            .await
    }
}

fn open(path: &str, open_flags: &[&str], flags: &[&str]) -> Value {
    json!({"open-at": {
        "slot": 0, "path-flags": ["symlink-follow"], "path": path,
        "open-flags": open_flags, "flags": flags,
    }})
}

#[tokio::test]
async fn a_guest_reads_its_directory_and_no_path_leads_out() {
    let rig = Rig::new().await;
    let inside = json!([
        open("notes.txt", &[], &["read"]),
        {"stream-read": {"slot": 1, "offset": 1, "length": 100}},
    ]);
    let run = rig.drive(Access::ReadOnly, inside, &[]).await;
    assert_eq!(
        value(&run),
        json!([{"ok": {"slot": 1}}, {"ok": {"data": "b3Rlcw=="}}]),
        "R-020"
    );
    let effects: Vec<_> = receipt(&run)
        .effects
        .iter()
        .map(|effect| (effect.kind, effect.resource.as_str(), effect.bytes))
        .collect();
    assert_eq!(effects, [(EffectKind::Read, "/g/notes.txt", 4)], "I37");
    for path in [
        "../secret",
        "/etc/passwd",
        "d/../../secret",
        "../g-evil/x",
        "leaf",
        "link",
        "link/",
    ] {
        for flags in [&["read"][..], &["write"][..]] {
            let run = rig
                .drive(Access::ReadWrite, json!([open(path, &[], flags)]), &[])
                .await;
            assert_eq!(value(&run), json!([{"err": "not-permitted"}]), "C4: {path}");
            assert!(receipt(&run).effects.is_empty(), "C4, I37: {path}");
        }
    }
}

#[tokio::test]
async fn a_read_only_directory_takes_no_write_and_a_writable_one_does() {
    let rig = Rig::new().await;
    let write = || {
        json!([
            open("notes.txt", &["truncate"], &["write"]),
            {"write": {"slot": 1, "offset": 0, "data": "YWI="}},
        ])
    };
    let run = rig.drive(Access::ReadOnly, write(), &[]).await;
    assert_eq!(
        value(&run)[0],
        json!({"err": "read-only"}),
        "U1: WASI's own error"
    );
    let notes = || std::fs::read_to_string(rig.root.path().join("g/notes.txt")).unwrap();
    assert_eq!(notes(), "notes", "GHSA-2r75");
    let run = rig.drive(Access::ReadWrite, write(), &[]).await;
    assert_eq!(value(&run)[1], json!({"ok": {"count": 2}}));
    assert_eq!(notes(), "ab");
    let effects = &receipt(&run).effects;
    assert_eq!((effects[0].kind, effects[0].bytes), (EffectKind::Write, 2));
}

#[tokio::test]
async fn a_guest_that_opens_and_never_closes_ends_at_the_limit() {
    let rig = Rig::new().await;
    let opens: Vec<Value> = (0..100)
        .map(|_| open("notes.txt", &[], &["read"]))
        .collect();
    let limits = [(LimitName::Handles, 50)];
    let run = rig.drive(Access::ReadOnly, json!(opens), &limits).await;
    assert_limit(&run, LimitName::Handles, 50);
    let run = rig
        .drive(
            Access::ReadOnly,
            json!([open("notes.txt", &[], &["read"])]),
            &limits,
        )
        .await;
    value(&run);
}

#[tokio::test]
async fn quotas_are_error_values_that_the_guest_may_go_on_from() {
    let rig = Rig::new().await;
    let operations = json!([
        open("new", &["create"], &["read", "write"]),
        {"stream-write": {"slot": 1, "offset": 0, "data": "MTIzNDU2Nzg="}},
        {"stream-append": {"slot": 1, "data": "OQ=="}},
        {"stream-append": {"slot": 1, "data": "YWI="}},
        open("newer", &["create"], &["write"]),
        {"read": {"slot": 1, "offset": 0, "length": 100}},
    ]);
    let limits = [(LimitName::WrittenBytes, 9), (LimitName::NewEntries, 1)];
    let run = rig.drive(Access::ReadWrite, operations, &limits).await;
    let answers = value(&run);
    assert!(
        answers[2].get("ok").is_some(),
        "the last byte passes: {answers}"
    );
    assert!(answers[3].get("err").is_some(), "X11: {answers}");
    assert_eq!(answers[4], json!({"err": "quota"}), "X11");
    assert_eq!(answers[5], json!({"ok": {"data": "MTIzNDU2Nzg5"}}));
    assert!(!rig.root.path().join("g/newer").exists());
}
