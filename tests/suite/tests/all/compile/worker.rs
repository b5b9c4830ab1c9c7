//! The compile worker seen from outside: what it has, and when it ends (H15).

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use bindery_sandbox::{Compiler, Sandbox, SandboxConfig};
use bindery_types::{ErrorType, LimitName};
use tempfile::TempDir;

use super::{ADD, limited, program};
use crate::wasm::heavy;

/// Processes that `parent` started and that are not reaped.
fn children(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{parent}/task")) else {
        return found;
    };
    for task in tasks.flatten() {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(
            text.split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
    }
    found
}

/// The compile workers among the children of `parent` whose memory bound is `memory`, a
/// number by which each test knows its own.
pub(super) fn workers(parent: u32, memory: u64) -> Vec<u32> {
    let mut found = children(parent);
    found.retain(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        words.get(1) == Some(&b"compile-worker".as_slice())
            && words.get(2) == Some(&memory.to_string().as_bytes())
    });
    found
}

/// Waits for `what`, giving up after a minute: a bound on liveness, not on speed.
async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..12_000 {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited for {what}");
}

fn gone(pid: u32) -> Option<()> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(Some(()), |stat| stat.contains(") Z ").then_some(()))
}

#[tokio::test]
async fn h15_a_worker_has_nothing_but_its_pipes_and_its_bounds() {
    // A descriptor that every child inherits, as careless hosts have them.
    let open = std::fs::File::open("/etc/hostname").unwrap();
    let _inherited = rustix::io::dup(&open).unwrap();
    let memory = (1 << 30) - 2;
    let sandbox = Sandbox::new(limited(LimitName::CompileMemory, memory)).unwrap();
    let load = tokio::spawn(async move { sandbox.load(heavy(400, 3_000)).await.map(drop) });
    let pid = until("a confined worker", || {
        let found = workers(std::process::id(), memory);
        let pid = found.first()?;
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
        let line = limits
            .lines()
            .find(|line| line.starts_with("Max open files"))?;
        (line.split_whitespace().nth(3) == Some("3")).then_some(*pid)
    })
    .await;
    let read = |what: &str| std::fs::read_to_string(format!("/proc/{pid}/{what}")).unwrap();
    let limits = read("limits");
    let limit = |name: &str| {
        let line = limits
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(limit("Max address space"), memory.to_string());
    assert_eq!(limit("Max cpu time"), "60");
    assert_eq!(limit("Max core file size"), "0");
    assert_eq!(limit("Max file size"), "0");
    let environment = read("environ");
    let names = environment
        .split_terminator('\0')
        .map(|variable| variable.split('=').next());
    let names: Vec<&str> = names.flatten().collect();
    assert_eq!(names, ["RAYON_NUM_THREADS", "RUST_MIN_STACK"]);
    let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
    assert_eq!(cwd, Path::new("/"));
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let mut open: Vec<_> = open.map(|entry| entry.unwrap().file_name()).collect();
    open.sort();
    assert_eq!(open, ["0", "1", "2"]);
    // A load that is given up takes its worker with it.
    load.abort();
    until("the worker's end", || gone(pid)).await;
}

#[tokio::test]
async fn h15_a_worker_does_not_outlive_a_parent_that_is_killed() {
    let scratch = TempDir::new().unwrap();
    let file = scratch.path().join("component.wasm");
    std::fs::write(&file, heavy(400, 3_000)).unwrap();
    let mut process = tokio::process::Command::new(program())
        .arg("load")
        .args([&scratch.path().join("store"), &file])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let parent = process.id().unwrap();
    let worker = until("its worker", || workers(parent, 1 << 30).first().copied()).await;
    process.start_kill().unwrap();
    process.wait().await.unwrap();
    until("the worker's end", || gone(worker)).await;
}

#[tokio::test]
async fn a_program_that_is_no_worker_is_an_error_of_the_host() {
    for program in ["/bin/true", "/bin/cat", "/bin/echo", "/nonexistent"] {
        let sandbox = Sandbox::new(SandboxConfig {
            compiler: Compiler::Child {
                program: program.into(),
            },
            ..SandboxConfig::default()
        });
        let refusal = sandbox
            .unwrap()
            .load(wat::parse_str(ADD).unwrap())
            .await
            .unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::Internal, "{program}");
        assert!(
            !refusal.to_json().to_string().contains(program),
            "no path for the caller"
        );
    }
}
