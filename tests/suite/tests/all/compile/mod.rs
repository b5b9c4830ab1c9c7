//! Loading in company: the store, many loads at once, processes that die (D1, D4, U2).

mod bombs;
mod worker;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bindery_grants::Grants;
use bindery_sandbox::{
    ArtefactStore, Cancel, CompilePhase, CompileProgress, Compiler, Sandbox, SandboxConfig,
    StoreOptions,
};
use bindery_types::{Budget, LimitName, Outcome};
use tempfile::TempDir;

use crate::wasm::heavy;

/// The program that is worker and loader of these tests.
fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_loads").into()
}

fn child() -> SandboxConfig {
    SandboxConfig {
        compiler: Compiler::Child { program: program() },
        ..SandboxConfig::default()
    }
}

fn limited(name: LimitName, value: u64) -> SandboxConfig {
    SandboxConfig {
        budget: Budget::default().with(name, value).unwrap(),
        ..child()
    }
}

fn stored(path: &Path) -> SandboxConfig {
    SandboxConfig {
        store: Some(ArtefactStore::open(path, StoreOptions::default()).unwrap()),
        ..child()
    }
}

const ADD: &str = r#"(component
    (core module $m (func (export "add") (param i32 i32) (result i32)
        local.get 0 local.get 1 i32.add))
    (core instance $i (instantiate $m))
    (func (export "add") (param "a" u32) (param "b" u32) (result u32)
        (canon lift (core func $i "add"))))"#;

#[tokio::test]
async fn code_is_compiled_once_and_then_comes_from_the_store() {
    let scratch = TempDir::new().unwrap();
    let bytes = wat::parse_str(ADD).unwrap();
    for expected in [1, 0] {
        let sandbox = Sandbox::new(stored(&scratch.path().join("store"))).unwrap();
        let loaded = sandbox.load(bytes.clone()).await.unwrap();
        assert_eq!(sandbox.compiles(), expected);
        let budget = Budget::default();
        let arguments = r#"{"a": 40, "b": 2}"#;
        let run = sandbox
            .run(
                &loaded,
                "add",
                arguments,
                Grants::default(),
                &budget,
                &Cancel::new(),
            )
            .await;
        assert!(matches!(&run.outcome, Outcome::Value(value) if value == "42"));
        assert_eq!(run.receipt.unwrap().compiles, expected);
    }
}

#[tokio::test]
async fn h15_a_whole_interpreter_compiles_within_the_memory_bound_and_is_loaded_from_the_store() {
    let Some(path) = bindery_artefacts::python("echo").unwrap() else {
        return;
    };
    let scratch = TempDir::new().unwrap();
    let bytes = std::fs::read(path).unwrap();
    for expected in [1, 0] {
        // The memory bound is the default; the time of a build without optimisation is not
        // what is tested.
        let sandbox = Sandbox::new(SandboxConfig {
            budget: Budget::default()
                .with(LimitName::CompileTime, 600_000)
                .unwrap(),
            ..stored(&scratch.path().join("store"))
        });
        let sandbox = sandbox.unwrap();
        sandbox.load(bytes.clone()).await.unwrap();
        assert_eq!(sandbox.compiles(), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d4_twenty_loads_of_one_component_compile_once_and_two_components_twice() {
    let sandbox = Sandbox::new(child()).unwrap();
    let (one, other) = (heavy(40, 200), heavy(41, 200));
    let loads = (0..20).map(|n| {
        let sandbox = sandbox.clone();
        let bytes = if n % 10 == 0 {
            other.clone()
        } else {
            one.clone()
        };
        tokio::spawn(async move { sandbox.load(bytes).await.map(drop) })
    });
    for load in loads.collect::<Vec<_>>() {
        load.await.unwrap().unwrap();
    }
    assert_eq!(sandbox.compiles(), 2);
    sandbox.load(one).await.unwrap();
    assert_eq!(sandbox.compiles(), 2, "loaded ones are kept in memory");
}

/// One round here; `BINDERY_SOAK_ROUNDS` asks for more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d4_twenty_processes_fill_one_store_while_five_of_them_are_killed() {
    let rounds = std::env::var("BINDERY_SOAK_ROUNDS").ok();
    let rounds: u64 = rounds.map_or(1, |text| text.parse().unwrap());
    for round in 0..rounds {
        let scratch = TempDir::new().unwrap();
        let store = scratch.path().join("store");
        let file = scratch.path().join("component.wasm");
        std::fs::write(&file, heavy(60, 300)).unwrap();
        let mut processes = Vec::new();
        for _ in 0..20 {
            let process = tokio::process::Command::new(program())
                .arg("load")
                .args([&store, &file])
                .env("TMPDIR", "/nonexistent")
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            processes.push(process);
        }
        for victim in 0..5_u64 {
            let pause = (round.wrapping_mul(7_919) + victim * 613) % 400;
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let mut process = processes.remove(usize::try_from(victim * 3).unwrap());
            // It may be done already: then nothing is left to kill.
            let _killed = process.start_kill();
            process.wait().await.unwrap();
        }
        for process in processes {
            let output = process.wait_with_output().await.unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{error}");
            assert!(
                matches!(said.trim(), "0" | "1"),
                "at most one compile a process: {said}"
            );
        }
        let store = ArtefactStore::open(&store, StoreOptions::default()).unwrap();
        let verified = store.verify().unwrap();
        assert_eq!(
            verified.bad,
            [],
            "leftovers are cleaned and every file is whole"
        );
        assert_eq!(verified.sound, 2, "the key and one entry");
    }
}

#[tokio::test]
async fn u2_a_long_compile_tells_its_size_and_that_it_is_done() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let record = seen.clone();
    // Far more time than it takes: not the limit is tested here.
    let sandbox = Sandbox::new(SandboxConfig {
        progress: Some(Arc::new(move |progress: CompileProgress| {
            record.lock().unwrap().push(progress);
        })),
        ..limited(LimitName::CompileTime, 600_000)
    })
    .unwrap();
    let bytes = heavy(40, 3_000);
    let size = u64::try_from(bytes.len()).unwrap();
    sandbox.load(bytes).await.unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.len() >= 2 && seen.iter().all(|progress| progress.bytes == size));
    assert_eq!(seen.first().unwrap().phase, CompilePhase::Compiling);
    assert_eq!(seen.last().unwrap().phase, CompilePhase::Compiled);
}
