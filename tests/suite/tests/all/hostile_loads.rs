//! Loading under fire: writers of one store killed at any moment, calls beside a compiler
//! that is busy (D4, B8).

use std::process::Stdio;
use std::time::Duration;

use bindery_sandbox::{ArtefactStore, Compiler, Sandbox, SandboxConfig, StoreOptions};
use bindery_types::{Budget, LimitName};

use crate::rig::{budget, call, hostile, value};
use crate::wasm::heavy;

/// Rounds of a soak are a multiple of those of a test.
fn rounds(few: u64) -> u64 {
    let asked = std::env::var("BINDERY_SOAK_ROUNDS").ok();
    few * asked.map_or(1, |text| text.parse().unwrap())
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// D4: four writers of one entry, every one of them killed at some moment between its
/// start and its end, round after round; what the store then has is whole, and what it has
/// not is made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_that_are_killed_at_any_moment_leave_a_store_that_is_whole() {
    const WRITERS: u64 = 4;
    let scratch = tempfile::TempDir::new().unwrap();
    let place = scratch.path().join("store with a space, ü");
    let rounds = rounds(6);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let component = |round: u64| heavy(8 + u32::try_from(round % 1_000).unwrap(), 60);
    for round in 0..rounds {
        let file = scratch.path().join("component.wasm");
        std::fs::write(&file, component(round)).unwrap();
        let mut writers = Vec::new();
        for _ in 0..WRITERS {
            let mut writer = tokio::process::Command::new(env!("CARGO_BIN_EXE_loads"));
            writer.arg("load").args([&place, &file]);
            writers.push(
                writer
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap(),
            );
        }
        for mut writer in writers {
            tokio::time::sleep(Duration::from_millis(dice.below(60))).await;
            // It may be done already: then nothing is left to kill.
            let _killed = writer.start_kill();
            writer.wait().await.unwrap();
        }
    }
    let open = || ArtefactStore::open(&place, StoreOptions::default()).unwrap();
    assert_eq!(open().verify().unwrap().bad, [], "D4: every file is whole");
    let sandbox = Sandbox::new(SandboxConfig {
        store: Some(open()),
        ..SandboxConfig::default()
    })
    .unwrap();
    for round in 0..rounds {
        sandbox.load(component(round)).await.unwrap();
    }
    let verified = open().verify().unwrap();
    assert_eq!(verified.bad, [], "D4");
    assert_eq!(
        verified.sound,
        rounds + 1,
        "D4: the key and one entry a component, nothing beside them"
    );
}

/// B8: a component that keeps the compiler busy for long takes nothing from the calls of
/// another; no clock is read, the calls that end before the compiler are counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_on_in_number_while_a_component_compiles() {
    const CALLS_MIN: u32 = 200;
    let sandbox = Sandbox::new(SandboxConfig {
        budget: budget(&[(LimitName::CompileTime, 600_000)]),
        compiler: Compiler::Child {
            program: env!("CARGO_BIN_EXE_loads").into(),
        },
        ..SandboxConfig::default()
    })
    .unwrap();
    let component = hostile(&sandbox, "spin/call").await;
    let slow = {
        let sandbox = sandbox.clone();
        tokio::spawn(async move { sandbox.load(heavy(40, 3_000)).await.map(drop) })
    };
    let mut calls = 0;
    while !slow.is_finished() {
        let turns = r#"{"turns": 10}"#;
        let run = call(&sandbox, &component, "turns", turns, &Budget::default()).await;
        assert_eq!(value(&run), 10, "B8");
        calls += 1;
        if calls % 50 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    slow.await.unwrap().unwrap();
    assert!(
        calls >= CALLS_MIN,
        "B8: {calls} calls beside one compilation"
    );
}
