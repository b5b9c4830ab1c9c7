//! Guests that fill a disk, list a mountain, hold every descriptor, or are cut off while
//! the host writes for them (X10, X11, X12, X15, H25, H34).

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bindery_artefacts::rust_guest;
use bindery_grants::{Access, DirectoryGrant, Grants};
use bindery_sandbox::{Cancel, LoadedComponent, Sandbox};
use bindery_types::{ErrorType, LimitName, Outcome, Run};
use serde_json::{Value, json};

use crate::hostile::{alone, peak_kib, roomy};
use crate::rig::{assert_limit, fault_cause, receipt, refusal, sandbox, value};

struct Disk {
    sandbox: Sandbox,
    guest: LoadedComponent,
    root: tempfile::TempDir,
}

impl Disk {
    async fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap()).await
    }

    async fn at(root: tempfile::TempDir) -> Self {
        let sandbox = sandbox();
        let bytes = std::fs::read(rust_guest("fs-driver").unwrap()).unwrap();
        let guest = sandbox.load(bytes).await.unwrap();
        std::fs::create_dir(root.path().join("g")).unwrap();
        std::fs::write(root.path().join("g/notes.txt"), "notes").unwrap();
        Self {
            sandbox,
            guest,
            root,
        }
    }

    fn granted(&self) -> std::path::PathBuf {
        self.root.path().join("g")
    }

    async fn drive(&self, operations: Value, limits: &[(LimitName, u64)]) -> Run {
        let arguments = json!({"operations": operations});
        self.call("drive", &arguments, limits).await
    }

    async fn call(&self, function: &str, arguments: &Value, limits: &[(LimitName, u64)]) -> Run {
        let open = std::fs::File::open(self.granted()).unwrap();
        let dir = cap_std::fs::Dir::from_std_file(open);
        let grants = Grants {
            directories: vec![DirectoryGrant::new(dir, "/g", Access::ReadWrite).unwrap()],
            ..Grants::default()
        };
        let arguments = arguments.to_string();
        let (sandbox, guest, cancel) = (&self.sandbox, &self.guest, Cancel::new());
        sandbox
            .run(guest, function, &arguments, grants, &roomy(limits), &cancel)
            .await
    }

    /// Descriptors of this process that lead into the tree.
    fn held(&self) -> usize {
        let listing = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let targets = listing.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        targets
            .filter(|target| target.starts_with(self.root.path()))
            .count()
    }
}

fn open(path: &str, open_flags: &[&str], flags: &[&str]) -> Value {
    json!({"open-at": {
        "slot": 0, "path-flags": ["symlink-follow"], "path": path,
        "open-flags": open_flags, "flags": flags,
    }})
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// X11: a million files are asked for; the quota's number is made, the guest is told, and
/// the host has no more than that.
#[tokio::test]
async fn a_million_new_files_stop_at_exactly_the_quota() {
    let disk = Disk::new().await;
    let make = |times: u64| json!([{"create-many": {"slot": 0, "name": "f", "times": times}}]);
    let run = disk.drive(make(1_000_000), &[]).await;
    assert_eq!(value(&run), json!([{"err": "quota after 1000"}]), "X11");
    assert_eq!(receipt(&run).limits_hit, ["new_entries"], "X11, U5");
    assert_eq!(entries(&disk.granted()), 1_001);
    let run = disk.drive(
        json!([{"create-many": {"slot": 0, "name": "g", "times": 7}}]),
        &[(LimitName::NewEntries, 7)],
    );
    assert_eq!(value(&run.await), json!([{"ok": {"count": 7}}]));
}

/// X11: ten gibibytes are asked for; the disk takes the quota's bytes and not one more.
#[tokio::test]
async fn ten_gibibytes_stop_at_exactly_the_quota() {
    let disk = Disk::new().await;
    let limit = [(LimitName::WrittenBytes, 1 << 20)];
    let write = |length: u64| {
        json!([
            open("big", &["create"], &["write"]),
            {"stream-zeroes": {"slot": 1, "offset": 0, "length": length}},
        ])
    };
    let run = disk.drive(write(10 << 30), &limit).await;
    assert_eq!(value(&run)[1], json!({"err": "quota"}), "X11");
    assert_eq!(receipt(&run).limits_hit, ["written_bytes"], "X11, U5");
    let size = |name: &str| disk.granted().join(name).metadata().unwrap().len();
    assert_eq!(size("big"), 1 << 20);
    let run = disk.drive(write(1 << 20), &limit).await;
    assert_eq!(value(&run)[1], json!({"ok": {"count": 1 << 20}}));
}

/// X11, H25: a directory of a million entries is listed to its limit, or to its end, and
/// is never on the host as a whole.
#[tokio::test]
async fn a_directory_of_a_million_entries_is_never_collected() {
    const ENTRIES: u64 = 1_000_000;
    if !alone("hostile_files::a_directory_of_a_million_entries_is_never_collected") {
        return;
    }
    // A link is cheaper than a file; some file systems allow 65,000 of one file.
    let memory = Path::new("/dev/shm");
    let root = match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    };
    let disk = Disk::at(root).await;
    let mut first = disk.granted().join("notes.txt");
    for number in 1..ENTRIES {
        let path = disk.granted().join(number.to_string());
        if number % 60_000 == 0 {
            std::fs::write(&path, "").unwrap();
            first = path;
        } else {
            std::fs::hard_link(&first, path).unwrap();
        }
    }
    let count = || json!([{"count-entries": 0}]);
    let little = disk.drive(json!(["preopens"]), &[]).await;
    assert_eq!(value(&little), json!([{"ok": {"names": ["/g"]}}]));
    let before = peak_kib();
    let calls = (LimitName::HostCalls, 2 * ENTRIES);
    let run = disk.drive(count(), &[calls]).await;
    assert_eq!(value(&run), json!([{"err": "quota"}]), "X11");
    assert_eq!(receipt(&run).limits_hit, ["listing"], "X11, U5");
    let run = disk
        .drive(count(), &[calls, (LimitName::Listing, ENTRIES)])
        .await;
    assert_eq!(value(&run), json!([{"ok": {"count": ENTRIES}}]), "X11");
    let grown = peak_kib() - before;
    assert!(grown < 32 << 10, "X11: the host grew by {grown} KiB");
}

/// X12, H34: ten thousand opens end at the limit of handles, every descriptor comes back,
/// and another call opens files meanwhile.
#[tokio::test]
async fn ten_thousand_opens_end_at_the_limit_and_others_still_open() {
    let disk = Disk::new().await;
    let hoard = json!([{"open-many": {"slot": 0, "name": "notes.txt", "times": 10_000}}]);
    let modest = json!([{"open-many": {"slot": 0, "name": "notes.txt", "times": 100}}]);
    let (hoarder, other) = tokio::join!(disk.drive(hoard, &[]), disk.drive(modest, &[]));
    assert_limit(&hoarder, LimitName::Handles, 1_024);
    assert_eq!(value(&other), json!([{"ok": {"count": 100}}]), "X12");
    assert_eq!(disk.held(), 0, "X12, H34");
}

/// X10: paths that mean something else, through a real guest: each is refused and touches
/// nothing, and the plain one is opened.
#[tokio::test]
async fn paths_that_mean_something_else_are_refused() {
    let disk = Disk::new().await;
    let granted = disk.granted();
    std::fs::create_dir(granted.join("d")).unwrap();
    std::os::unix::fs::symlink("..", granted.join("up")).unwrap();
    std::os::unix::fs::symlink("notes.txt", granted.join("link")).unwrap();
    std::fs::write(disk.root.path().join("secret"), "s").unwrap();
    let deep = "d/".repeat(2_000) + "x";
    let paths = [
        "/",
        "//",
        "..",
        "../secret",
        "up/secret",
        "up/..",
        "link/",
        "notes.txt/",
        "link/..",
        "/etc/passwd",
        "a\0b",
        deep.as_str(),
        "COM\u{b9}/../../secret",
    ];
    for path in paths {
        for flags in [&["read"][..], &["write"][..]] {
            let run = disk.drive(json!([open(path, &[], flags)]), &[]).await;
            let answer = value(&run);
            assert!(answer[0]["err"].is_string(), "X10: {path:?}: {answer}");
            assert!(receipt(&run).effects.is_empty(), "X10: {path:?}");
        }
    }
    let run = disk.drive(json!([open("link", &[], &["read"])]), &[]).await;
    assert_eq!(value(&run), json!([{"ok": {"slot": 1}}]));
    assert_eq!(disk.held(), 0);
}

/// X15: times that no file system has are error values to the guest.
#[tokio::test]
async fn times_beyond_all_time_are_error_values() {
    let disk = Disk::new().await;
    let set = |seconds: u64, nanoseconds: u32| {
        let time = json!({"timestamp": {"seconds": seconds, "nanoseconds": nanoseconds}});
        json!([
            open("notes.txt", &[], &["read", "write"]),
            {"set-times": {"slot": 1, "access": time, "modification": time}},
        ])
    };
    for (seconds, nanoseconds) in [(u64::MAX, 0), (u64::MAX, u32::MAX), (1 << 63, 0)] {
        let run = disk.drive(set(seconds, nanoseconds), &[]).await;
        let answer = value(&run);
        assert!(
            answer[1]["err"].is_string(),
            "X15: {seconds} {nanoseconds}: {answer}"
        );
    }
    let run = disk.drive(set(1_700_000_000, 5), &[]).await;
    assert_eq!(value(&run)[1], json!({"ok": "done"}));
}

/// H8: with the guest's stack used up to its last frame the host still has room for what
/// it does, whatever it is asked; a frame more is a stack overflow of the guest, and no
/// more than that.
#[tokio::test]
async fn the_host_has_room_where_the_guest_has_none_left() {
    let disk = Disk::new().await;
    let operations = json!([
        "preopens",
        open("new", &["create", "truncate"], &["read", "write"]),
        {"stream-write": {"slot": 1, "offset": 0, "data": "MTIz"}},
        {"write": {"slot": 1, "offset": 3, "data": "NDU2"}},
        {"stream-read": {"slot": 1, "offset": 0, "length": 100}},
        {"sync": 1},
        {"read-directory": {"slot": 0, "entries-max": 10}},
        {"symlink-at": {"slot": 0, "target": "new", "path": "link"}},
        {"rename-at": {"slot": 0, "path": "link", "new-slot": 0, "new-path": "other"}},
        {"unlink-file-at": {"slot": 0, "path": "other"}},
        {"open-at": {
            "slot": 0, "path-flags": [], "path": "no-such", "open-flags": [], "flags": ["read"],
        }},
    ]);
    let at = async |levels: u32| {
        let arguments = json!({"levels": levels, "operations": operations});
        disk.call("drive-deep", &arguments, &[]).await
    };
    let expected = value(&at(0).await);
    assert_eq!(expected[4], json!({"ok": {"data": "MTIzNDU2"}}));
    // The deepest at which everything is done, and the next, at which nothing is.
    let (mut reached, mut beyond) = (0_u32, 1_u32 << 20);
    while beyond - reached > 1 {
        let levels = reached.midpoint(beyond);
        let run = at(levels).await;
        match &run.outcome {
            Outcome::Value(_) => {
                assert_eq!(value(&run), expected, "H8: at {levels}");
                reached = levels;
            }
            _ => {
                assert_eq!(fault_cause(&run), "stack_overflow", "H8: at {levels}");
                // It may have ended half way.
                for left in ["link", "other"] {
                    let _ = std::fs::remove_file(disk.granted().join(left));
                }
                beyond = levels;
            }
        }
    }
    assert!(reached > 1_000, "H8: the stack is deep: {reached}");
    assert_eq!(value(&at(reached).await), expected, "H8");
    assert_eq!(value(&at(0).await), expected, "H8: the next call works");
}

/// A process that holds a lease on a file: whoever opens the file for writing waits until
/// it is given back, inside the kernel, where nobody can call the opener away.
struct Leased(Child);

impl Leased {
    fn hold(path: &Path) -> Self {
        const HOLD: &str = "import fcntl, os, signal, sys\n\
            signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
            held = os.open(sys.argv[1], os.O_RDONLY)\n\
            fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_RDLCK)\n\
            print('held', flush=True)\n\
            sys.stdin.read()\n";
        let mut child = Command::new("python3")
            .args(["-c", HOLD])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        Self(child)
    }

    fn give_back(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// H25, R-881: a change under way when the deadline passes cannot be called back, so the
/// outcome says that nobody knows, and the only next step is to find out. It does happen.
///
///
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_hangs_beyond_the_deadline_is_uncertain_and_may_still_happen() {
    let disk = Disk::new().await;
    let notes = disk.granted().join("notes.txt");
    let empty = || json!([open("notes.txt", &["truncate"], &["write"])]);
    let limits = [(LimitName::Deadline, 300)];
    let leased = Leased::hold(&notes);
    let run = disk.drive(empty(), &limits).await;
    let refused = refusal(&run);
    assert_eq!(
        refused.kind(),
        ErrorType::UncertainSideEffect,
        "H25: {refused}"
    );
    assert_eq!(refused.details()["unfinished_writes"], 1);
    assert_eq!(refused.details()["ended_by"], "timeout");
    let next = &refused.to_json()["next"];
    assert_eq!(next, &json!(["reconcile_an_uncertain_call"]), "R-881");
    assert_eq!(receipt(&run).exit_code, 10);
    let effects: Vec<&str> = receipt(&run)
        .effects
        .iter()
        .map(|effect| effect.resource.as_str())
        .collect();
    assert_eq!(effects, ["/g/notes.txt"], "what may have happened is named");
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "notes");
    leased.give_back();
    for _ in 0..6_000 {
        if std::fs::read(&notes).unwrap().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(std::fs::read(&notes).unwrap().is_empty(), "it did happen");
    let run = disk.drive(empty(), &limits).await;
    assert_eq!(
        value(&run),
        json!([{"ok": {"slot": 1}}]),
        "H25: the next call works"
    );
}

/// H25: a look that hangs changes nothing, so its deadline is a deadline and no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_beside_a_lease_does_not_hang() {
    let disk = Disk::new().await;
    let leased = Leased::hold(&disk.granted().join("notes.txt"));
    let run = disk
        .drive(json!([open("notes.txt", &[], &["read"])]), &[])
        .await;
    assert_eq!(value(&run), json!([{"ok": {"slot": 1}}]));
    leased.give_back();
}
