//! Every trap, every row of the tables and the unknown, provoked (H38).

use bindery_grants::{CallGrants, Grants};
use bindery_types::Blame;
use wasmtime::Store;
use wasmtime::component::{Component, Linker};

use super::*;
use crate::cancel::Cancel;
use crate::pool;
use crate::state::CallState;

#[test]
fn every_trap_of_the_pinned_engine_has_a_cause_of_its_own() {
    let traps: Vec<Trap> = (0..=u8::MAX).filter_map(Trap::from_u8).collect();
    assert_eq!(traps.len(), 50, "H38: a new trap needs a row");
    for trap in traps {
        assert!(trap_cause(trap).is_some(), "H38: {trap:?}");
    }
}

/// The engine's own words for what goes wrong when `function` of the hostile guest
/// runs with one of every countable thing less than it needs.
async fn words(name: &str, function: &str, argument: u32, limit: (LimitName, u64)) -> String {
    let bytes = bindery_artefacts::wat(&format!("hostile/{name}")).unwrap();
    words_of(&bytes, function, argument, limit).await
}

/// The same for two components in one, the giver's texts in `encoding`.
async fn words_between(encoding: &str, raw: u32) -> String {
    let path = "guests/hostile/composed/strings.wat";
    let text = std::fs::read_to_string(bindery_artefacts::repository().join(path)).unwrap();
    let text = text
        .replace("REALLOC", "(local.get $at)")
        .replace(
            "string-encoding=FROM",
            &format!("string-encoding={encoding}"),
        )
        .replace("string-encoding=TO", "string-encoding=utf8");
    let bytes = wat::parse_str(text).unwrap();
    words_of(&bytes, "give", raw, (LimitName::Output, 1)).await
}

async fn words_of(bytes: &[u8], function: &str, argument: u32, limit: (LimitName, u64)) -> String {
    let budget = Budget::default().with(limit.0, limit.1).unwrap();
    let (engine, _report) = pool::build(&Budget::default(), None).unwrap();
    let imports = bindery_inspect::inspect(bytes, &budget).unwrap().imports;
    let component = Component::from_binary(&engine, bytes).unwrap();
    let mut linker = Linker::new(&engine);
    bindery_grants::link(&mut linker, &imports).unwrap();
    let grants = CallGrants::new(Grants::default(), &budget).unwrap();
    let state = CallState::new(Box::new(grants), &budget, None, Cancel::new());
    let mut store = state.into_store(&engine, &budget).unwrap();
    let error = provoke(&linker, &component, &mut store, function, argument).await;
    format!("{:#}", error.unwrap_err())
}

/// The same for what a component gives host functions.
async fn given(function: &str, raw: u32) -> String {
    let bytes = wat::parse_str(GIVES).unwrap();
    words_of(&bytes, function, raw, (LimitName::Output, 1)).await
}

/// Gives a list of entries anywhere, a level of any number and an allocator's answer.
const GIVES: &str = r#"(component
    (import "wasi:http/types@0.2.0" (instance $http
        (export "fields" (type $fields (sub resource)))
        (type $error' (variant (case "invalid-syntax") (case "forbidden") (case "immutable")))
        (export "header-error" (type $error (eq $error')))
        (export "[static]fields.from-list" (func
            (param "entries" (list (tuple string (list u8))))
            (result (result (own $fields) (error $error)))))))
    (import "bindery:runtime/log@0.1.0" (instance $log
        (type $level' (enum "trace" "debug" "info" "warn" "error"))
        (export "level" (type $level (eq $level')))
        (export "write" (func (param "level" $level) (param "message" string)))))
    (import "wasi:random/random@0.2.0" (instance $random
        (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
    (core module $memory
        (memory (export "memory") 1)
        (global $answer (export "answer") (mut i32) (i32.const 0))
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (global.get $answer)))
    (core instance $memory (instantiate $memory))
    (core func $list (canon lower (func $http "[static]fields.from-list")
        (memory $memory "memory") (realloc (func $memory "realloc"))))
    (core func $write (canon lower (func $log "write") (memory $memory "memory")))
    (core func $draw (canon lower (func $random "get-random-bytes")
        (memory $memory "memory") (realloc (func $memory "realloc"))))
    (core module $m
        (import "" "answer" (global $answer (mut i32)))
        (import "" "list" (func $list (param i32 i32 i32)))
        (import "" "write" (func $write (param i32 i32 i32)))
        (import "" "draw" (func $draw (param i64 i32)))
        (func (export "list") (param i32) (call $list (local.get 0) (i32.const 1) (i32.const 16)))
        (func (export "level") (param i32) (call $write (local.get 0) (i32.const 0) (i32.const 0)))
        (func (export "draw") (param i32)
            (global.set $answer (local.get 0))
            (call $draw (i64.const 64) (i32.const 16))))
    (core instance $i (instantiate $m (with "" (instance
        (export "answer" (global $memory "answer"))
        (export "list" (func $list))
        (export "write" (func $write))
        (export "draw" (func $draw))))))
    (func (export "list") (param "raw" u32) (canon lift (core func $i "list")))
    (func (export "level") (param "raw" u32) (canon lift (core func $i "level")))
    (func (export "draw") (param "raw" u32) (canon lift (core func $i "draw"))))"#;

#[test]
fn what_nobody_knows_is_blamed_on_the_host_and_a_trap_on_the_component() {
    let (budget, circumstances) = (Budget::default(), |budget| Circumstances {
        budget,
        elapsed_ms: 0,
        cancelled: false,
        fuel_used: 0,
        refused_growth: None,
    });
    let kind = |error: Error| match explain(&error, &circumstances(&budget)) {
        Ended::Refused(refusal) => (refusal.kind(), refusal.kind().blame()),
        Ended::Exit(code) => panic!("exit {code}"),
    };
    let unknown = kind(Error::msg("a text that no table has"));
    assert_eq!(unknown, (ErrorType::Internal, Blame::Host), "H38");
    let trap = kind(Trap::UnreachableCodeReached.into());
    assert_eq!(trap, (ErrorType::GuestFault, Blame::Guest), "H38");
    let text = kind(
        String::from_utf8(vec![0xff])
            .map_err(|error| error.utf8_error())
            .unwrap_err()
            .into(),
    );
    assert_eq!(text, (ErrorType::GuestFault, Blame::Guest), "H38");
}

async fn provoke(
    linker: &Linker<CallState>,
    component: &Component,
    store: &mut Store<CallState>,
    function: &str,
    argument: u32,
) -> wasmtime::Result<()> {
    let instance = linker.instantiate_async(&mut *store, component).await?;
    if let Ok(give) = instance.get_typed_func::<(u32, u32, u32), (u32,)>(&mut *store, function) {
        return give
            .call_async(&mut *store, (argument, 16, 2))
            .await
            .map(drop);
    }
    match instance.get_typed_func::<(u32,), ()>(&mut *store, function) {
        Ok(function) => function.call_async(&mut *store, (argument,)).await,
        Err(_) => {
            let function = instance.get_typed_func::<(), ()>(&mut *store, function)?;
            function.call_async(&mut *store, ()).await
        }
    }
}

#[tokio::test]
async fn every_row_of_the_table_of_texts_is_what_the_pinned_engine_says() {
    let none = (LimitName::Output, 1);
    let provoked = [
        words("crowd/three", "go", 0, (LimitName::Instances, 2)).await,
        words("crowd/three", "go", 0, (LimitName::Memories, 2)).await,
        words("crowd/three", "go", 0, (LimitName::Tables, 2)).await,
        words("handles/hoard", "hoard", 3, (LimitName::Handles, 2)).await,
        words("host-calls/log", "say", 9, (LimitName::Lift, 8)).await,
        words("handles/guess", "drop", 9, none).await,
        words("handles/guess", "drop-as-other", 0, none).await,
        words("handles/keep-borrow", "go", 0, none).await,
        given("list", 0xffff_fff8).await,
        given("list", 1).await,
        given("level", 9).await,
        given("draw", 0xffff_fff0).await,
        words_between("utf8", 0xfeff).await,
        words_between("utf16", 0xd800).await,
    ];
    assert_eq!(provoked.len(), TEXTS.len(), "H38");
    for (text, (part, _)) in provoked.iter().zip(TEXTS) {
        assert!(text.contains(part), "H38: `{part}` in: {text}");
    }
}

#[test]
fn what_no_slot_can_hold_is_refused_by_the_name_of_its_limit() {
    let (engine, _report) = pool::build(&Budget::default(), None).unwrap();
    let many = |count: usize, module: &str| {
        let instances = "(core instance (instantiate $m))".repeat(count);
        format!("(component (core module $m {module}) {instances})")
    };
    let rows = [
        (many(65, ""), LimitName::Instances, 64),
        (many(17, "(memory 1)"), LimitName::Memories, 16),
        (many(1, &"(memory 1)".repeat(17)), LimitName::Memories, 16),
        (
            many(33, "(table 1 funcref) (table 1 funcref)"),
            LimitName::Tables,
            64,
        ),
        (
            many(1, &"(table 1 funcref)".repeat(65)),
            LimitName::Tables,
            64,
        ),
        (many(1, "(memory 16385)"), LimitName::Memory, 1 << 30),
        (
            many(1, "(table 131073 funcref)"),
            LimitName::TableElements,
            1 << 17,
        ),
    ];
    for (text, name, limit) in rows {
        let bytes = wat::parse_str(text).unwrap();
        let error = Component::from_binary(&engine, &bytes).err().unwrap();
        let refusal = unloadable(&error, &engine);
        assert_eq!(refusal.kind(), ErrorType::BudgetExhausted, "H32: {error:#}");
        let details = refusal.details();
        assert_eq!(
            (&details["limit"], &details["value"]),
            (&name.as_str().into(), &limit.into())
        );
    }
}
