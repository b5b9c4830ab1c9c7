//! The store of a host that is full, may only be read, was changed or was cut: every command
//! says what is wrong, where and what may be done, by a code of its own, and nothing happens.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery_artefacts::rust_guest;
use serde_json::{Value, json};

use crate::cases::path_of;
use crate::governed::Site;

/// A site whose one capability sends, and the count of what was sent.
struct Scene {
    site: Site,
    sent: Arc<AtomicU64>,
    port: u16,
}

impl Scene {
    /// Before anything was recorded.
    fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let sent = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&sent);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
                let mut seen = Vec::new();
                let mut buffer = [0; 4_096];
                // Head and body of these requests come to less than that.
                while !seen.ends_with(b"\"x\"") {
                    match stream.read(&mut buffer) {
                        Ok(0) | Err(_) => break,
                        Ok(read) => seen.extend_from_slice(&buffer[..read]),
                    }
                }
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue");
            }
        });
        let site = Site::new(&format!(
            "[grants.api]\nkind = \"endpoint\"\nmethods = [\"POST\"]\nurl = \"http://127.0.0.1:{port}/v1/\"\n\
             [[policy.rule]]\ndecision = \"allow\"\nwhy = \"the test's own server\"\n\
             namespaces = [\"web\"]\ngrants = [\"api\"]\n"
        ));
        Self { site, sent, port }
    }

    fn furnish(&self) {
        let component = path_of(&rust_guest("http-json").unwrap());
        let approval = "no_approval";
        let admit = ["admit", &component, "--namespace", "web", "--approval"];
        self.site.ok(&[&admit[..], &[approval]].concat());
        let accept = ["config", "accept-writes", "--evidence", "a test"];
        self.site.ok(&accept);
    }

    /// One call with an effect: its code and its answer.
    fn send(&self) -> (i32, Value) {
        let arguments = json!({
            "url": format!("http://127.0.0.1:{}/v1/x", self.port), "body-json": "\"x\"",
        });
        let arguments = arguments.to_string();
        let words = ["call", "web:http-json/http#post-json", &arguments];
        let scope = ["--scope", r#"{"api": {}}"#];
        self.site.json(&[&words[..], &scope].concat())
    }

    fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    fn store(&self) -> PathBuf {
        self.site.path(".bindery/store")
    }

    /// What a damage comes to: told of, with nothing sent; or, where no record stands on it,
    /// nothing at all, and then every call is still there. Gives whether it was told of.
    fn damaged(&self, calls: usize, of: &str) -> bool {
        let before = self.sent();
        if self.send().0 == 0 {
            assert_eq!(self.sent(), before + 1);
            self.is_whole(calls + 1, of);
            return false;
        }
        assert_eq!(self.sent(), before, "{of}: I12");
        self.is_refused(of, &["integrity_failed", "store_unavailable"]);
        true
    }

    /// So many calls are on record, and all of the chain is as it was written.
    fn is_whole(&self, calls: usize, of: &str) {
        let actions = self.site.ok(&["actions"]);
        let actions = actions["actions"].as_array().unwrap().iter();
        let known = actions.filter(|action| action["status"] == "succeeded");
        assert_eq!(known.count(), calls, "{of}: I19, none is missing");
    }

    /// Every command that needs the store says so, and has no effect.
    fn is_refused(&self, of: &str, kinds: &[&str]) {
        let before = self.sent();
        for (words, answer) in [
            ("call", self.send()),
            ("host start", self.site.json(&["host", "start"])),
            (
                "revoke",
                self.site
                    .json(&["revoke", "--all", "--reason", "an incident"]),
            ),
        ] {
            let (code, answer) = answer;
            let error = &answer["error"];
            let kind = error["type"].as_str().unwrap_or("none");
            // In the background it is the process that failed; its log says why.
            let failed = words == "host start" && kind == "environment_unavailable";
            assert!(
                (failed || kinds.contains(&kind)) && code != 0,
                "{of}, {words}: {code} {answer}"
            );
            told(&answer, &self.store(), &format!("{of}, {words}"));
        }
        assert_eq!(self.sent(), before, "{of}: I12, nothing was sent");
    }
}

/// What is wrong, where, and what may be done about it.
fn told(answer: &Value, store: &Path, of: &str) {
    let error = &answer["error"];
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{of}"
    );
    let text = answer.to_string();
    assert!(!text.contains("panicked"), "{of}: {text}");
    let told = error["details"]["operator"].as_str().unwrap_or_default();
    // The place as the command was given it: here, relative to where it stands.
    let store = Path::new(".bindery").join(store.file_name().unwrap());
    assert!(
        told.contains(&store.display().to_string()),
        "{of}, where: {text}"
    );
    assert!(told.contains("then"), "{of}, what next: {text}");
}

/// What was mounted, until the test is over.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn mount(arguments: &[&str], at: &Path) -> Option<Mounted> {
    let done = Command::new("mount").args(arguments).arg(at).output();
    done.is_ok_and(|output| output.status.success())
        .then(|| Mounted(at.to_owned()))
}

fn make(folder: &Path) {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder).unwrap();
}

/// R-691, I12, H52, X70.
#[test]
fn a_full_disk_under_a_host_stops_effects_with_a_clear_word_and_loses_nothing() {
    let mut scene = Scene::new();
    let store = scene.store();
    make(&store);
    let small = ["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"];
    let Some(_mounted) = mount(&small, &store) else {
        println!("SKIPPED: this user may not mount anything, so this says nothing");
        return;
    };
    scene.furnish();
    scene.site.start();
    let refused = loop {
        assert!(scene.sent() < 3_000, "never full");
        let (code, answer) = scene.send();
        if code != 0 {
            break answer;
        }
    };
    let kind = refused["error"]["type"].as_str().unwrap();
    assert!(
        ["store_unavailable", "uncertain_side_effect"].contains(&kind),
        "{refused}"
    );
    let sent = scene.sent();
    for _ in 0..3 {
        let (code, answer) = scene.send();
        assert_eq!(
            (code, &answer["error"]["type"]),
            (9, &json!("store_unavailable")),
            "H52: {answer}"
        );
        let told = answer["error"]["details"]["operator"].as_str().unwrap();
        assert!(told.contains("full"), "{told}");
    }
    assert_eq!(scene.sent(), sent, "I12: nothing is sent any more");
    let (code, status) = scene.site.json(&["host", "status"]);
    assert_eq!(code, 0, "the host is there and says how it is: {status}");
    scene.site.kill();
    let grown = Command::new("mount")
        .args(["-o", "remount,size=64m"])
        .arg(&store)
        .status();
    assert!(grown.unwrap().success());
    scene.site.start();
    let actions = scene.site.ok(&["actions"]);
    let actions = actions["actions"].as_array().unwrap();
    let of = |status: &str| actions.iter().filter(|a| a["status"] == status).count() as u64;
    let (known, unknown) = (of("succeeded"), of("uncertain"));
    assert!(
        (known..=known + unknown).contains(&sent) && unknown <= 1,
        "I17, I37: {sent} were sent, {known} are known, {unknown} unknown"
    );
    assert_eq!(scene.send().0, 0, "with room again it goes on");
}

/// I12.
#[test]
fn a_store_that_may_only_be_read_is_told_of_by_every_command_and_nothing_is_sent() {
    let scene = Scene::new();
    scene.furnish();
    assert_eq!(scene.send().0, 0, "the twin");
    let store = scene.store();
    let source = store.display().to_string();
    let Some(_mounted) = mount(&["--bind", &source], &store) else {
        println!("SKIPPED: this user may not mount anything, so this says nothing");
        return;
    };
    let locked = Command::new("mount")
        .args(["-o", "remount,bind,ro"])
        .arg(&store)
        .status();
    assert!(locked.unwrap().success());
    scene.is_refused("a read-only folder", &["store_unavailable"]);
    // Reading it needs a file beside it, which cannot be made there: that is told, too.
    let (code, answer) = scene.site.json(&["actions"]);
    assert_eq!(
        (code, &answer["error"]["type"]),
        (9, &json!("store_unavailable"))
    );
    told(&answer, &store, "actions");
}

/// A copy of the files of a store that nobody owns, and back.
struct Kept(Vec<(PathBuf, Vec<u8>)>);

impl Kept {
    fn of(store: &Path) -> Self {
        let files = std::fs::read_dir(store).unwrap();
        let files = files.map(|entry| entry.unwrap().path());
        Self(
            files
                .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
                .collect(),
        )
    }

    fn back(&self, store: &Path) {
        for entry in std::fs::read_dir(store).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        for (path, bytes) in &self.0 {
            std::fs::write(path, bytes).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(path, mode).unwrap();
        }
    }

    /// The files that are the record: the database, its mark, its key.
    fn names(&self) -> Vec<(PathBuf, u64)> {
        let whole = self.0.iter().filter(|(_, bytes)| !bytes.is_empty());
        whole
            .map(|(path, bytes)| (path.clone(), bytes.len() as u64))
            .collect()
    }
}

/// I12, I19, I20: a byte anywhere, of any file of the store.
#[test]
fn a_changed_byte_anywhere_in_the_store_is_told_of_and_nothing_is_sent() {
    let scene = Scene::new();
    scene.furnish();
    for _ in 0..3 {
        assert_eq!(scene.send().0, 0, "the twin");
    }
    let store = scene.store();
    let kept = Kept::of(&store);
    let (mut refused, mut unharmed) = (0, 0);
    for (file, length) in kept.names() {
        let parts = if length > 4_096 { 12 } else { 3 };
        for part in 0..parts {
            let at = (length - 1) * part / (parts - 1).max(1);
            let of = format!("{} at {at} of {length}", file.display());
            let changed = std::fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open(&file)
                .unwrap();
            let mut byte = [0];
            changed.read_exact_at(&mut byte, at).unwrap();
            changed.write_all_at(&[byte[0] ^ 0x41], at).unwrap();
            drop(changed);
            match scene.damaged(3, &of) {
                true => refused += 1,
                false => unharmed += 1,
            }
            kept.back(&store);
        }
    }
    println!("{refused} changes were told of, {unharmed} were of no record");
    assert!(refused >= 10, "{refused}, {unharmed}");
    assert_eq!(scene.send().0, 0, "as it was, it goes on");
}

/// I12, I19, I39: a file of the store cut, emptied or gone.
#[test]
fn a_cut_or_missing_file_of_the_store_is_told_of_and_nothing_is_sent() {
    let scene = Scene::new();
    scene.furnish();
    assert_eq!(scene.send().0, 0, "the twin");
    let store = scene.store();
    let kept = Kept::of(&store);
    for (file, length) in kept.names() {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if name.contains("lock") || name.contains("owner") {
            continue;
        }
        for left in [0, 1, length / 2, length.saturating_sub(4_096), length - 1] {
            std::fs::OpenOptions::new()
                .write(true)
                .open(&file)
                .unwrap()
                .set_len(left)
                .unwrap();
            let of = format!("{name} cut to {left} of {length}");
            let refused = scene.damaged(1, &of);
            // The mark stands there twice, so that a torn write leaves one; and a database may
            // end in room that nothing was written to.
            let spare = name == "mark" && left > 0 || left + 4_096 >= length && left > 4_096;
            assert!(refused || spare, "{of}");
            kept.back(&store);
        }
        std::fs::remove_file(&file).unwrap();
        let of = format!("{name} gone");
        scene.is_refused(&of, &["integrity_failed", "store_unavailable"]);
        kept.back(&store);
    }
    assert_eq!(scene.send().0, 0, "as it was, it goes on");
}
