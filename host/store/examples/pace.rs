//! How fast a store is, on the disk of its argument: calls with effects against one commit
//! each, calls without, starts over many records. Prints figures; asserts nothing.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a program that measures"
)]

#[path = "../../ledger/tests/ledger/names.rs"]
mod names;
#[path = "../../ledger/tests/ledger/world.rs"]
mod world;

use std::path::{Path, PathBuf};
use std::time::Instant;

use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_store::{Options, Store};
use bindery_types::{Moment, Rights};
use world::*;

fn options() -> Options {
    Options {
        now: Moment::from_unix_ms(START),
        actor: Actor {
            principal: "operator".parse().unwrap(),
            rights: Rights::Operator,
        },
        provider: "host".parse().unwrap(),
        runtime: line("0.1.0"),
        mark: None,
    }
}

fn founded(path: &Path) -> World<Store> {
    let mut world = World::over(Store::open(path, &options()).unwrap());
    world.found();
    world.open_session(0).unwrap();
    world.bind(1, 0, "writer").unwrap();
    world.bind(2, 0, "reader").unwrap();
    world
}

/// One commit with `synchronous=FULL` for each record of each call.
fn baseline(path: &Path, calls: u64, text: &str) -> f64 {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE r (n INTEGER PRIMARY KEY, line TEXT)")
        .unwrap();
    let begun = Instant::now();
    for _ in 0..2 * calls {
        connection
            .execute("INSERT INTO r (line) VALUES (?1)", [text])
            .unwrap();
    }
    rate(calls, begun)
}

fn rate(calls: u64, begun: Instant) -> f64 {
    let calls = f64::from(u32::try_from(calls).unwrap());
    calls / begun.elapsed().as_secs_f64()
}

fn effectful(world: &World<Store>, clients: u64, each: u64, base: u64) -> f64 {
    let begun = Instant::now();
    std::thread::scope(|threads| {
        for client in 0..clients {
            threads.spawn(move || {
                for n in 0..each {
                    let n = base + client * 1_000_000 + n;
                    world.start(n, 0, 1, "writer").unwrap();
                    world.succeed(n, 0).unwrap();
                }
            });
        }
    });
    rate(clients * each, begun)
}

/// Seconds of processor time that this process used: what a busy machine does not stretch.
fn cpu() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    std::time::Duration::new(
        u64::try_from(now.tv_sec).unwrap(),
        u32::try_from(now.tv_nsec).unwrap(),
    )
    .as_secs_f64()
}

fn memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    words[1].parse().unwrap()
}

fn lazy(world: &World<Store>, calls: u64, base: u64) -> f64 {
    let begun = Instant::now();
    for n in base..base + calls {
        let intent = world.model_entry(0, world.intent(n, 0, 2, "reader"));
        while matches!(
            world.journal.append_lazy(vec![intent.clone()]),
            Err(JournalError::Busy { .. })
        ) {
            std::thread::yield_now();
        }
        let outcome = world.model_entry(0, world.outcome(n, CallEnd::Succeeded, None));
        while matches!(
            world.journal.append_lazy(vec![outcome.clone()]),
            Err(JournalError::Busy { .. })
        ) {
            std::thread::yield_now();
        }
    }
    world.journal.flush().unwrap();
    rate(calls, begun)
}

/// Nanoseconds that accepting takes in memory, without the writer.
fn accept(calls: u64) -> f64 {
    let world = World::new();
    world.open_session(0).unwrap();
    world.bind(2, 0, "reader").unwrap();
    let mut state = world.state();
    let entries: Vec<Entry> = (0..calls)
        .flat_map(|n| {
            [
                world.model_entry(0, world.intent(n, 0, 2, "reader")),
                world.model_entry(0, world.outcome(n, CallEnd::Succeeded, None)),
            ]
        })
        .collect();
    let count = f64::from(u32::try_from(entries.len()).unwrap());
    let begun = cpu();
    for entry in entries {
        std::hint::black_box(state.apply_batch(vec![entry]).unwrap());
    }
    (cpu() - begun) * 1e9 / count
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("--start") {
        return start_only(Path::new(&std::env::args().nth(2).unwrap()));
    }
    let folder = PathBuf::from(
        std::env::args()
            .nth(1)
            .unwrap_or_else(|| "target/pace".to_owned()),
    );
    let many: u64 = std::env::args()
        .nth(2)
        .map_or(1_000_000, |n| n.parse().unwrap());
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    println!("accepting a record in memory: {:.0} ns", accept(200_000));
    let world = founded(&folder.join("store"));
    let mut out = Vec::new();
    world.start(1, 0, 1, "writer").unwrap();
    world.succeed(1, 0).unwrap();
    world.journal.export(&mut out).unwrap();
    let lines = String::from_utf8(out).unwrap();
    let text = lines.lines().last().unwrap();
    println!("a line of a record: {} bytes", text.len());
    let base = baseline(&folder.join("baseline.sqlite"), 500, text);
    println!("one commit a record: {base:.0} calls/s");
    for (clients, each) in [(1, 500), (64, 400)] {
        let got = effectful(&world, clients, each, clients * 1_000_000_000);
        println!("{clients} clients: {got:.0} calls/s, {:.1} x", got / base);
    }
    let got = lazy(&world, 100_000, 1 << 50);
    println!("calls without effects, one caller: {got:.0} calls/s");
    let have = world.state().sequence();
    lazy(&world, many.saturating_sub(have) / 2, 1 << 51);
    let records = world.state().sequence();
    world.journal.close().unwrap();
    let size = std::fs::metadata(folder.join("store/ledger.sqlite"))
        .unwrap()
        .len();
    println!("written: {records} records, {} MB", size / 1_000_000);
    start_in_a_process(&folder);
    let _ = std::fs::remove_dir_all(&folder);
}

/// A start and a full check in a process of their own, so that its memory is theirs.
fn start_in_a_process(folder: &Path) {
    let this = std::env::current_exe().unwrap();
    let done = std::process::Command::new(this)
        .args(["--start".as_ref(), folder.as_os_str()])
        .status();
    assert!(done.unwrap().success());
}

fn start_only(folder: &Path) {
    let (before, begun, used) = (memory_kib(), Instant::now(), cpu());
    let store = Store::open(&folder.join("store"), &options()).unwrap();
    println!(
        "a start: {:.2} s, {:.2} s of processor, {} MB more memory",
        begun.elapsed().as_secs_f64(),
        cpu() - used,
        memory_kib().saturating_sub(before) / 1_000
    );
    let (begun, used) = (Instant::now(), cpu());
    store.verify().unwrap();
    println!(
        "verify: {:.2} s, {:.2} s of processor",
        begun.elapsed().as_secs_f64(),
        cpu() - used
    );
}
