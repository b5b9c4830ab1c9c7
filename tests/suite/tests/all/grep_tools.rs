//! What the tests of searching share: ripgrep, the file tools, and a tree that is hard to search.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use bindery_artefacts::rust_guest;
use bindery_grants::{Access, DirectoryGrant, Grants};
use bindery_sandbox::{Cancel, LoadedComponent, Sandbox};
use bindery_types::{LimitName, Outcome};
use serde_json::Value;

use crate::{rig, shelf};

/// Path, number and text of a line.
pub(crate) type Found = BTreeSet<(String, u64, String)>;

/// The installed ripgrep.
pub(crate) struct Ripgrep;

impl Ripgrep {
    /// None, with a printed reason, where it is not installed; never in CI.
    pub(crate) fn new() -> Option<Self> {
        if Command::new("rg").arg("--version").output().is_ok() {
            return Some(Self);
        }
        assert!(std::env::var_os("CI").is_none(), "ripgrep is not installed");
        #[allow(
            clippy::print_stderr,
            reason = "whoever runs the tests reads why one was left out"
        )]
        {
            eprintln!("skipped: ripgrep is not installed (Debian package ripgrep)");
        }
        None
    }

    fn command(root: &Path) -> Command {
        let mut command = Command::new("rg");
        command.current_dir(root).args([
            "--no-config",
            "--no-ignore-global",
            "--no-messages",
            "--sort",
            "path",
        ]);
        command
    }

    pub(crate) fn lines(&self, root: &Path, pattern: &str, flags: &[&str]) -> Found {
        let output = Self::command(root)
            .args(flags)
            .args(["--json", "-e", pattern, "./"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let events = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_lines =
            events.filter(|event| event["type"] == "match" || event["type"] == "context");
        of_lines
            .map(|event| {
                let data = &event["data"];
                let path = said(&data["path"]).trim_start_matches("./").to_owned();
                let text = said(&data["lines"]);
                let text = text.strip_suffix('\n').unwrap_or(&text);
                let text = text.strip_suffix('\r').unwrap_or(text);
                (path, data["line_number"].as_u64().unwrap(), text.to_owned())
            })
            .collect()
    }

    pub(crate) fn files(&self, root: &Path, glob: &str) -> BTreeSet<String> {
        let output = Self::command(root)
            .args(["--files", "-g", glob])
            .output()
            .unwrap();
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// Text of ripgrep's JSON: as text, or as base64 where it is not UTF-8.
fn said(value: &Value) -> String {
    match value["text"].as_str() {
        Some(text) => text.to_owned(),
        None => String::from_utf8_lossy(&base64(value["bytes"].as_str().unwrap())).into_owned(),
    }
}

fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut held, mut bits) = (0_u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let value = ALPHABET.iter().position(|known| *known == byte).unwrap();
        held = held << 6 | u32::try_from(value).unwrap();
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xFF).try_into().unwrap());
        }
    }
    bytes
}

/// The file tools, compiled once for all tests of this file.
struct Compiled {
    runtime: tokio::runtime::Runtime,
    sandbox: Sandbox,
    component: LoadedComponent,
}

static COMPILED: LazyLock<Compiled> = LazyLock::new(|| {
    let (runtime, sandbox) = (shelf::runtime(), shelf::sandbox());
    let bytes = std::fs::read(rust_guest("file-tools").unwrap()).unwrap();
    let component = runtime.block_on(sandbox.load(bytes)).unwrap();
    Compiled {
        runtime,
        sandbox,
        component,
    }
});

/// The file tools over one directory, read-only, as `/tree`.
pub(crate) struct Tools {
    root: std::path::PathBuf,
}

impl Tools {
    pub(crate) fn over(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    fn run(&self, function: &str, arguments: &Value) -> Outcome {
        let budget = rig::budget(&[
            (LimitName::Deadline, 60_000),
            (LimitName::HostCalls, 10_000_000),
            (LimitName::Output, 64 << 20),
        ]);
        let ambient = cap_std::fs::Dir::from_std_file(std::fs::File::open(&self.root).unwrap());
        let grant = DirectoryGrant::new(ambient, "/tree", Access::ReadOnly).unwrap();
        let grants = Grants {
            directories: vec![grant],
            ..Grants::default()
        };
        let text = arguments.to_string();
        let cancel = Cancel::new();
        let Compiled {
            runtime,
            sandbox,
            component,
        } = &*COMPILED;
        runtime
            .block_on(sandbox.run(component, function, &text, grants, &budget, &cancel))
            .outcome
    }

    pub(crate) fn call(&self, function: &str, arguments: &Value) -> Value {
        match self.run(function, arguments) {
            Outcome::Value(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{function}({arguments}): {other:?}"),
        }
    }

    pub(crate) fn error(&self, function: &str, arguments: &Value) -> Value {
        match self.run(function, arguments) {
            Outcome::CapabilityError(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{function}({arguments}): {other:?}"),
        }
    }
}

/// A tree with everything that makes searching hard.
pub(crate) fn odd_tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = tree.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    let lines = |count: usize, line: &str| line.repeat(count).into_bytes();
    write(
        "plain.txt",
        b"hay\nneedle\nhay needle hay\nNeedle\nneedles\nhay\n",
    );
    write(
        "numbers.txt",
        (1..=100)
            .map(|n| format!("{n}\n"))
            .collect::<String>()
            .as_bytes(),
    );
    write("code.rs", b"fn needle() {}\n// hay\n");
    write("no-newline.txt", b"hay\nneedle");
    write("empty.txt", b"");
    write("crlf.txt", b"hay\r\nneedle\r\nhay needle\r\n");
    write("latin1.txt", b"caf\xE9 needle\nneedle caf\xC3\xA9\n");
    write("bom.txt", b"\xEF\xBB\xBFneedle\nhay\n");
    let utf16: Vec<u8> = "\u{FEFF}needle caf\u{e9}\nhay\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    write("utf16.txt", &utf16);
    write(
        "long.txt",
        format!(
            "{} needle {}\nneedle\n",
            "x".repeat(300_000),
            "y".repeat(10)
        )
        .as_bytes(),
    );
    // Binary at once, after several buffers, in the last buffer, and after a match.
    write("early.bin", b"\0needle\nneedle\n");
    write(
        "late.bin",
        &[
            lines(20_000, "hay needle hay\n"),
            b"\0".to_vec(),
            lines(20_000, "needle\n"),
        ]
        .concat(),
    );
    write(
        "last.bin",
        &[lines(9_000, "hay needle\n"), b"needle\0\n".to_vec()].concat(),
    );
    write("small.bin", b"needle\nhay\0\n");
    write("with space/n\u{e4}me.txt", b"needle\n");
    write(".hidden.txt", b"needle hidden\n");
    write(".hidden/inside.txt", b"needle\n");
    write(".shown.txt", b"needle shown\n");
    // Ignore files: kinds, anchors, negation, directories, depth, odd lines.
    write(".git/config", b"needle\n");
    write(".git/info/exclude", b"excluded.txt\n");
    write(".gitignore", b"# needle\n*.log\r\n!keep.log\n/anchored.txt\nbuild/\nsub/**/deep.txt\n\\!bang.txt\ntrail.txt   \nkeep-ignored.txt\n[invalid\n");
    write(
        ".ignore",
        b"\xEF\xBB\xBF# hay\nby-ignore.txt\n!rescued.log\n!.shown.txt\n",
    );
    write(".rgignore", b"by-rgignore.txt\n!keep-ignored.txt\n");
    for name in [
        "a.log",
        "keep.log",
        "rescued.log",
        "anchored.txt",
        "build/x.txt",
        "excluded.txt",
        "trail.txt",
    ] {
        write(name, b"needle\n");
    }
    for name in [
        "!bang.txt",
        "keep-ignored.txt",
        "by-ignore.txt",
        "by-rgignore.txt",
        "sub/anchored.txt",
        "sub/b.log",
    ] {
        write(name, b"needle\n");
    }
    for name in [
        "sub/one/two/deep.txt",
        "sub/deep/file.txt",
        "sub/local.txt",
        "sub/c.log",
        "sub/build",
        "sub/by-ignore.txt",
    ] {
        write(name, b"needle\n");
    }
    write("sub/.gitignore", b"local.txt\n!c.log\n*/\n!one/\n");
    write("sub/one/kept.txt", b"needle\n");
    // A repository inside the repository: git's rules from above end at its top.
    write("nested/.git/HEAD", b"ref\n");
    for name in [
        "nested/a.log",
        "nested/by-ignore.txt",
        "nested/excluded.txt",
        "nested/x.txt",
    ] {
        write(name, b"needle\n");
    }
    for (target, link) in [
        ("plain.txt", "link.txt"),
        ("sub", "link-dir"),
        ("nowhere", "dangling"),
        ("/etc", "outside"),
    ] {
        std::os::unix::fs::symlink(target, tree.path().join(link)).unwrap();
    }
    tree
}
