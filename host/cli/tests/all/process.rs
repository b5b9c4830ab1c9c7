//! Runs the real binary in a folder of its own and holds the small guests it is fed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// What one process printed and how it ended.
pub(crate) struct Printed {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Printed {
    /// The one JSON object on standard output, and nothing beside it.
    pub(crate) fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!(
                "not one JSON object ({error}): {:?}\n{}",
                self.stdout, self.stderr
            )
        });
        assert!(value.is_object(), "{}", self.stdout);
        value
    }
}

/// The command, with an environment of its own and a store of compiled code that all
/// tests of this binary share.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bindery"));
    command
        .args(words)
        .env_clear()
        .env("BINDERY_CACHE", folder().join("cache"))
        .current_dir(folder());
    command
}

/// Lets a run spin, sends it `signal`, and gives its exit code and its JSON.
pub(crate) fn signalled(signal: rustix::process::Signal) -> (Option<i32>, Value) {
    let calc = calc();
    let words = [
        "run",
        &calc,
        "spin",
        "--deadline",
        "60s",
        "--fuel",
        "unlimited",
        "-o",
        "json",
    ];
    let child = command(&words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    // The handler stands once the guest spins; an earlier signal would end the process.
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    rustix::process::kill_process(pid, signal).unwrap();
    let output = child.wait_with_output().unwrap();
    let value = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.code(), value)
}

/// Runs the command with nothing on standard input.
pub(crate) fn bindery(words: &[&str]) -> Printed {
    finish(command(words).stdin(Stdio::null()))
}

/// Runs the command with `input` on standard input.
pub(crate) fn bindery_fed(words: &[&str], input: &[u8]) -> Printed {
    let mut child = command(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A process that refuses early closes its end; that is not this test's failure.
    let _ = child.stdin.take().unwrap().write_all(input);
    printed(&child.wait_with_output().unwrap())
}

/// Runs a prepared command.
pub(crate) fn finish(command: &mut Command) -> Printed {
    printed(&command.output().unwrap())
}

fn printed(output: &std::process::Output) -> Printed {
    Printed {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout.clone()).unwrap(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A folder for this run of the tests, removed with the build folder.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    })
}

/// Path of a guest written in component text, compiled once by name.
pub(crate) fn guest(name: &str, text: &str) -> String {
    let path = folder().join(format!("{name}.wasm"));
    let bytes = wat::parse_str(text).unwrap();
    let unique = folder().join(format!("{name}.{:?}.part", std::thread::current().id()));
    std::fs::write(&unique, bytes).unwrap();
    std::fs::rename(unique, &path).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Arithmetic, loops, traps and errors: no imports.
pub(crate) fn calc() -> String {
    guest(
        "calc",
        r#"(component
            (core module $m
                (memory (export "memory") 1)
                (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add)
                (func (export "spin") (loop (br 0)))
                (func (export "trap") unreachable)
                (func $deep (export "deep") call $deep)
                (func (export "fail") (param i32) (result i32)
                    (i32.store8 (i32.const 16) (i32.const 1))
                    (i32.store (i32.const 20) (local.get 0))
                    (i32.const 16))
                (func (export "grow") (result i32)
                    (loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable)
                (func (export "wide") (result i32)
                    (i32.store (i32.const 8) (i32.const 64))
                    (i32.store (i32.const 12) (i32.const 60000))
                    (memory.fill (i32.const 64) (i32.const 97) (i32.const 60000))
                    (i32.const 8)))
            (core instance $i (instantiate $m))
            (func (export "add") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add")))
            (func (export "spin") (canon lift (core func $i "spin")))
            (func (export "trap") (canon lift (core func $i "trap")))
            (func (export "deep") (canon lift (core func $i "deep")))
            (func (export "fail") (param "why" u32) (result (result u32 (error u32)))
                (canon lift (core func $i "fail") (memory $i "memory")))
            (func (export "grow") (result u32) (canon lift (core func $i "grow")))
            (func (export "wide") (result string) (canon lift (core func $i "wide") (memory $i "memory"))))"#,
    )
}
