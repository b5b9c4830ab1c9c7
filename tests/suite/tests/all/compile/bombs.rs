//! Components made to hurt the compiler (B8, X16, H15).

use bindery_grants::Grants;
use bindery_sandbox::{Cancel, Compiler, Sandbox, SandboxConfig};
use bindery_types::{Budget, ErrorType, LimitName, Outcome, Refusal};

use super::worker::workers;
use super::{ADD, child, limited};
use crate::wasm::{component, heavy, leb, module, section};

fn assert_limit(refusal: &Refusal, name: &str, value: u64) {
    assert_eq!(
        refusal.kind(),
        ErrorType::BudgetExhausted,
        "{refusal}: {:?}",
        refusal.operator()
    );
    assert_eq!(refusal.details()["limit"], name);
    assert_eq!(refusal.details()["value"], value);
    assert!(
        refusal.details()["used"].as_u64().unwrap() >= value,
        "{refusal}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b8_bombs_end_in_typed_errors_or_within_the_limits_while_others_work() {
    let sandbox = Sandbox::new(child()).unwrap();
    let add = sandbox.load(wat::parse_str(ADD).unwrap()).await.unwrap();
    let bombs: [(&str, Vec<u8>); 7] = [
        (
            "two million instructions",
            component(&module(1, &straight(500_000))),
        ),
        (
            "a long function within the bounds",
            component(&module(1, &straight(100_000))),
        ),
        (
            "fifty thousand functions",
            component(&module(50_000, &straight(1))),
        ),
        (
            "a hundred thousand blocks",
            component(&module(1, &nested(100_000))),
        ),
        (
            "four thousand blocks",
            component(&module(1, &nested(4_000))),
        ),
        (
            "fifty thousand locals",
            component(&module(1, &locals(50_000))),
        ),
        ("nearly all custom sections", custom(60 << 20)),
    ];
    for (what, bomb) in bombs {
        let load = tokio::spawn({
            let sandbox = sandbox.clone();
            async move { sandbox.load(bomb).await.map(drop) }
        });
        let budget = Budget::default();
        let run = sandbox
            .run(
                &add,
                "add",
                r#"{"a": 1, "b": 1}"#,
                Grants::default(),
                &budget,
                &Cancel::new(),
            )
            .await;
        assert!(matches!(run.outcome, Outcome::Value(_)), "{what}");
        if let Err(refusal) = load.await.unwrap() {
            let typed = [ErrorType::ComponentInvalid, ErrorType::BudgetExhausted];
            assert!(
                typed.contains(&refusal.kind()),
                "{what}: {refusal} {:?}",
                refusal.operator()
            );
        }
    }
}

fn straight(rounds: usize) -> Vec<u8> {
    // local.get 0, then (i32.const 7, i32.add, local.get 0, i32.xor) over and over.
    let mut body = vec![0x00, 0x20, 0x00];
    for _ in 0..rounds {
        body.extend([0x41, 0x07, 0x6a, 0x20, 0x00, 0x73]);
    }
    body.push(0x0b);
    body
}

fn nested(depth: usize) -> Vec<u8> {
    // block (result i32) … local.get 0 … end
    let mut body = vec![0x00];
    body.extend([0x02, 0x7f].repeat(depth));
    body.extend([0x20, 0x00]);
    body.extend(std::iter::repeat_n(0x0b, depth + 1));
    body
}

fn locals(count: u32) -> Vec<u8> {
    let mut body = vec![0x01];
    leb(&mut body, count);
    body.push(0x7f);
    body.extend([0x20, 0x00, 0x0b]);
    body
}

fn custom(bytes: usize) -> Vec<u8> {
    let mut all = wat::parse_str(ADD).unwrap();
    let name = [&[5][..], b"bulky"].concat();
    section(&mut all, 0, &[name, vec![0; bytes]].concat());
    all
}

#[tokio::test]
async fn h15_a_compile_beyond_its_memory_is_a_limit_error_and_a_small_one_is_not() {
    let bound = 112 << 20;
    let sandbox = Sandbox::new(limited(LimitName::CompileMemory, bound)).unwrap();
    let refusal = sandbox.load(heavy(3, 80_000)).await.unwrap_err();
    assert_limit(&refusal, "compile_memory", bound);
    sandbox.load(wat::parse_str(ADD).unwrap()).await.unwrap();
}

#[tokio::test]
async fn h15_a_compile_beyond_its_time_is_killed_and_reaped() {
    let memory = (1 << 30) - 1;
    let budget = Budget::default()
        .with(LimitName::CompileTime, 300)
        .and_then(|budget| budget.with(LimitName::CompileMemory, memory));
    let config = SandboxConfig {
        budget: budget.unwrap(),
        ..child()
    };
    let sandbox = Sandbox::new(config).unwrap();
    let refusal = sandbox.load(heavy(400, 3_000)).await.unwrap_err();
    assert_limit(&refusal, "compile_time", 300);
    assert_eq!(refusal.details()["clock"], "processor");
    assert_eq!(workers(std::process::id(), memory), [] as [u32; 0]);
}

/// A worker that waits uses no processor time: the wall clock ends it, and says so.
#[tokio::test]
async fn h15_a_compile_that_stands_still_ends_at_its_wall_limit() {
    let scratch = tempfile::TempDir::new().unwrap();
    let program = scratch.path().join("stands-still");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 600\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&program, mode).unwrap();
    let sandbox = Sandbox::new(SandboxConfig {
        compiler: Compiler::Child { program },
        ..limited(LimitName::CompileTime, 40)
    });
    let sandbox = sandbox.unwrap();
    let load = sandbox.load(wat::parse_str(ADD).unwrap()).await;
    let refusal = load.unwrap_err();
    assert_limit(&refusal, "compile_time", 40);
    assert_eq!(refusal.details()["clock"], "wall");
    assert_eq!(refusal.details()["wall_limit"], 5_000);
}

#[tokio::test]
async fn b8_on_a_thread_the_time_limit_holds_and_later_loads_work() {
    let budget = Budget::default().with(LimitName::CompileTime, 40).unwrap();
    let config = SandboxConfig {
        budget,
        ..SandboxConfig::default()
    };
    let sandbox = Sandbox::new(config).unwrap();
    let refusal = sandbox.load(heavy(600, 3_000)).await.unwrap_err();
    assert_limit(&refusal, "compile_time", 40);
    assert_eq!(refusal.details()["wall_limit"], 5_000);
    let again = || sandbox.load(wat::parse_str(ADD).unwrap());
    // The abandoned thread keeps its slot until the compiler is done; then there is room.
    for _ in 0..600 {
        match again().await {
            Ok(_) => return,
            Err(refusal) => {
                let typed = [ErrorType::Busy, ErrorType::BudgetExhausted];
                assert!(typed.contains(&refusal.kind()), "{refusal}");
            }
        }
    }
    panic!("the slot never came back");
}
