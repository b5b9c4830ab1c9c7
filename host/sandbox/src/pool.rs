//! The run engine: the pool of slots that instances live in, its sizes, its reset.
//!
//! Rule (H9, H31, H32): every size is set, the reset of a slot is chosen by what the host
//! allows, and what was set is read back before the first guest runs. A pool that the
//! address space cannot hold gives way to allocation on demand, said in the start report.

use bindery_types::{Budget, ErrorType, LimitName, Refusal};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, WasmFeatures,
};

use crate::engine::{
    ASYNC_STACK_BYTES, MEMORY_SLOT_BYTES, TABLE_SLOT_ELEMENTS, WASM_STACK_BYTES, code_config,
};
use crate::start::{Allocation, Reset, StartReport};

/// Host code runs on the guest's stack and finds at least this much of it (H8).
const HOST_STACK_BYTES: usize = ASYNC_STACK_BYTES - WASM_STACK_BYTES;
/// Bytes of a stack that stay in memory and are zeroed by hand between calls.
const STACK_KEPT_BYTES: usize = 32 << 10;
/// Bytes of a linear memory reset by copying when dirty pages can be listed.
const MEMORY_KEPT_BY_SCAN_BYTES: usize = 1 << 20;
/// The same when they cannot: every kept byte is then copied, dirty or not.
const MEMORY_KEPT_BLINDLY_BYTES: usize = 64 << 10;
/// Bytes of a table reset by writing.
const TABLE_KEPT_BYTES: usize = 64 << 10;
/// Bookkeeping of one core instance.
const CORE_INSTANCE_BYTES: usize = 1 << 20;
/// Bookkeeping of one component with all its core instances.
const COMPONENT_INSTANCE_BYTES: usize = 4 << 20;
/// Slots of memory beyond which the address space (47 bits, 4 GiB a slot) gets short.
const MEMORY_SLOTS_MAX: u32 = 8_192;
/// The largest initial image that is mapped rather than copied.
const DENSE_IMAGE_BYTES: u64 = 64 << 20;

/// What one component, and all of them, may take from the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolSizes {
    concurrent: u32,
    instances: u32,
    memories: u32,
    tables: u32,
}

impl PoolSizes {
    /// The sizes for the limits of a host: its `concurrent` calls, each with what the
    /// host's own budget gives a call.
    pub(crate) fn new(budget: &Budget) -> Self {
        let count = |name: LimitName, at_most: u32| {
            let asked = u32::try_from(budget.get(name).or_max()).unwrap_or(u32::MAX);
            asked.max(saturate(name.default_value())).min(at_most)
        };
        Self {
            concurrent: saturate(budget.get(LimitName::Concurrent).or_max()).clamp(1, 1_024),
            instances: count(LimitName::Instances, 1_024),
            memories: count(LimitName::Memories, 256),
            tables: count(LimitName::Tables, 1_024),
        }
    }

    fn total_memories(self) -> u32 {
        self.concurrent
            .saturating_mul(self.memories)
            .min(MEMORY_SLOTS_MAX)
    }

    fn total_tables(self) -> u32 {
        self.concurrent
            .saturating_mul(self.tables)
            .min(4 * MEMORY_SLOTS_MAX)
    }
}

fn saturate(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn pooling(sizes: PoolSizes, reset: Reset) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(sizes.concurrent)
        .total_core_instances(sizes.concurrent.saturating_mul(sizes.instances))
        .total_memories(sizes.total_memories())
        .total_tables(sizes.total_tables())
        // A call has one stack; the second is for one whose store is still being dropped.
        .total_stacks(sizes.concurrent.saturating_mul(2))
        .max_core_instances_per_component(sizes.instances)
        .max_memories_per_component(sizes.memories)
        .max_tables_per_component(sizes.tables)
        .max_memories_per_module(sizes.memories)
        .max_tables_per_module(sizes.tables)
        .max_core_instance_size(CORE_INSTANCE_BYTES)
        .max_component_instance_size(COMPONENT_INSTANCE_BYTES)
        .max_memory_size(MEMORY_SLOT_BYTES)
        .table_elements(TABLE_SLOT_ELEMENTS)
        .max_unused_warm_slots(sizes.concurrent.saturating_mul(4))
        .decommit_batch_size(1)
        .async_stack_keep_resident(STACK_KEPT_BYTES)
        .linear_memory_keep_resident(memory_kept(reset))
        .table_keep_resident(TABLE_KEPT_BYTES)
        .pagemap_scan(scan(reset));
    pool
}

fn memory_kept(reset: Reset) -> usize {
    match reset {
        Reset::PagemapScan => MEMORY_KEPT_BY_SCAN_BYTES,
        Reset::Madvise => MEMORY_KEPT_BLINDLY_BYTES,
    }
}

fn scan(reset: Reset) -> Enabled {
    match reset {
        Reset::PagemapScan => Enabled::Yes,
        Reset::Madvise => Enabled::No,
    }
}

/// What changes how code runs, but not the code: it may differ from the configuration of
/// the compiling process.
fn run_config(strategy: InstanceAllocationStrategy) -> Config {
    let mut config = code_config();
    config
        .async_stack_size(ASYNC_STACK_BYTES)
        .async_stack_zeroing(true)
        .memory_guaranteed_dense_image_size(DENSE_IMAGE_BYTES)
        .allocation_strategy(strategy);
    config
}

/// Which reset of a slot this host allows (H31): listing dirty pages misses those that
/// were swapped out, so it needs a host that has no swap.
pub(crate) fn reset_for(swaps: Option<&str>) -> Reset {
    let entries = swaps.map(|text| text.lines().skip(1).filter(|line| !line.is_empty()).count());
    match entries {
        Some(0) => Reset::PagemapScan,
        Some(_) | None => Reset::Madvise,
    }
}

/// Builds the engine that runs guests; the first configuration that this host can hold:
/// pooled with the wanted reset, pooled with the other, on demand.
///
/// # Errors
///
/// [`Refusal`] when not even allocation on demand works, or when a limit reads back
/// differently from what was set (H9).
pub(crate) fn build(
    budget: &Budget,
    forced: Option<Reset>,
) -> Result<(Engine, StartReport), Refusal> {
    let sizes = PoolSizes::new(budget);
    let swaps = std::fs::read_to_string("/proc/swaps").ok();
    let wanted = forced.unwrap_or_else(|| reset_for(swaps.as_deref()));
    let mut resets = vec![wanted];
    if forced.is_none() && wanted == Reset::PagemapScan {
        resets.push(Reset::Madvise);
    }
    let mut causes = Vec::new();
    for reset in resets {
        let strategy = InstanceAllocationStrategy::Pooling(pooling(sizes, reset));
        match Engine::new(&run_config(strategy)) {
            Ok(engine) => {
                let allocation = Allocation::Pooled { reset };
                check(&engine, Some((sizes, reset)))?;
                return Ok((engine, StartReport::new(allocation, budget, causes)));
            }
            Err(error) => causes.push(format!("no pool with reset by {reset}: {error:#}")),
        }
    }
    let engine = Engine::new(&run_config(InstanceAllocationStrategy::OnDemand))
        .map_err(|error| unusable(format!("{error:#}")))?;
    check(&engine, None)?;
    Ok((
        engine,
        StartReport::new(Allocation::OnDemand, budget, causes),
    ))
}

fn unusable(cause: String) -> Refusal {
    Refusal::new(
        ErrorType::EnvironmentUnavailable,
        "the engine does not start on this host",
    )
    .for_operator(cause)
}

/// H9: no advisory of the past began with a limit that somebody read back.
fn check(engine: &Engine, pool: Option<(PoolSizes, Reset)>) -> Result<(), Refusal> {
    let mut wrong = wrong_switches(engine);
    if let Some((sizes, reset)) = pool {
        match engine.get_pooling_config() {
            Some(config) => wrong.extend(wrong_sizes(config, sizes, reset)),
            None => wrong.push("allocation_strategy"),
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(unusable(format!(
            "these settings read back differently from what was set: {}",
            wrong.join(", ")
        ))),
    }
}

/// Features of the language that no guest may use here (H3).
fn forbidden_features() -> WasmFeatures {
    WasmFeatures::THREADS
        | WasmFeatures::SHARED_EVERYTHING_THREADS
        | WasmFeatures::MEMORY64
        | WasmFeatures::GC
        | WasmFeatures::FUNCTION_REFERENCES
        | WasmFeatures::EXCEPTIONS
        | WasmFeatures::LEGACY_EXCEPTIONS
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::RELAXED_SIMD
        | WasmFeatures::WIDE_ARITHMETIC
        | WasmFeatures::STACK_SWITCHING
        | WasmFeatures::CUSTOM_PAGE_SIZES
        | WasmFeatures::CM_ASYNC
        | WasmFeatures::CM_ERROR_CONTEXT
        | WasmFeatures::CM_GC
        | WasmFeatures::CM_THREADING
        | WasmFeatures::CM_MAP
        | WasmFeatures::CM64
}

fn wrong_switches(engine: &Engine) -> Vec<&'static str> {
    let rows = [
        ("consume_fuel", engine.get_consume_fuel()),
        ("epoch_interruption", engine.get_epoch_interruption()),
        ("concurrency_support", !engine.get_concurrency_support()),
        ("shared_memory", !engine.get_shared_memory()),
        ("signals_based_traps", engine.get_signals_based_traps()),
        (
            "guard_before_linear_memory",
            engine.get_guard_before_linear_memory(),
        ),
        (
            "memory_guard_size",
            engine.get_memory_guard_size() >= 32 << 20,
        ),
        (
            "memory_reservation",
            engine.get_memory_reservation() >= 4 << 30,
        ),
        ("memory_init_cow", engine.get_memory_init_cow()),
        (
            "nan_canonicalization",
            engine.get_cranelift_nan_canonicalization() == Some(true),
        ),
        (
            "max_wasm_stack",
            engine.get_max_wasm_stack() == WASM_STACK_BYTES,
        ),
        (
            "async_stack_size",
            engine.get_async_stack_size() >= WASM_STACK_BYTES + HOST_STACK_BYTES,
        ),
        ("async_stack_zeroing", engine.get_async_stack_zeroing()),
        ("debug_info", !engine.get_debug_info()),
        ("guest_debug", !engine.get_guest_debug()),
        ("generate_address_map", !engine.get_generate_address_map()),
        (
            "wasm_backtrace_max_frames",
            engine.get_wasm_backtrace_max_frames() == 0,
        ),
        (
            "wasm_features",
            !engine.get_wasm_features().intersects(forbidden_features()),
        ),
    ];
    failed(&rows)
}

fn wrong_sizes(
    pool: &PoolingAllocationConfig,
    sizes: PoolSizes,
    reset: Reset,
) -> Vec<&'static str> {
    let rows = [
        (
            "total_component_instances",
            pool.get_total_component_instances() == sizes.concurrent,
        ),
        (
            "total_memories",
            pool.get_total_memories() == sizes.total_memories(),
        ),
        (
            "total_tables",
            pool.get_total_tables() == sizes.total_tables(),
        ),
        ("total_stacks", pool.get_total_stacks() >= sizes.concurrent),
        (
            "max_core_instances_per_component",
            pool.get_max_core_instances_per_component() == sizes.instances,
        ),
        (
            "max_memories_per_component",
            pool.get_max_memories_per_component() == sizes.memories,
        ),
        (
            "max_tables_per_component",
            pool.get_max_tables_per_component() == sizes.tables,
        ),
        (
            "max_memory_size",
            pool.get_max_memory_size() == MEMORY_SLOT_BYTES,
        ),
        (
            "table_elements",
            pool.get_table_elements() == TABLE_SLOT_ELEMENTS,
        ),
        (
            "memory_keep_resident",
            pool.get_memory_keep_resident() == memory_kept(reset),
        ),
        (
            "table_keep_resident",
            pool.get_table_keep_resident() == TABLE_KEPT_BYTES,
        ),
        (
            "async_stack_keep_resident",
            pool.get_async_stack_keep_resident() == STACK_KEPT_BYTES,
        ),
        ("decommit_batch_size", pool.get_decommit_batch_size() == 1),
        ("pagemap_scan", pool.get_pagemap_scan() == scan(reset)),
    ];
    failed(&rows)
}

fn failed(rows: &[(&'static str, bool)]) -> Vec<&'static str> {
    rows.iter()
        .filter(|(_, holds)| !holds)
        .map(|(name, _)| *name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

    #[test]
    fn a_host_with_swap_or_of_unknown_swap_resets_without_listing_pages() {
        let with_swap = format!("{HEADER}/dev/sda2 partition 8388604 0 -2\n");
        assert_eq!(reset_for(Some(HEADER)), Reset::PagemapScan, "H31");
        assert_eq!(reset_for(Some(&with_swap)), Reset::Madvise, "H31");
        assert_eq!(reset_for(None), Reset::Madvise, "H31");
    }

    #[test]
    fn every_setting_reads_back_in_both_resets_and_on_demand() {
        let budget = Budget::default();
        for reset in [Reset::Madvise, Reset::PagemapScan] {
            let (engine, report) = build(&budget, Some(reset)).unwrap();
            assert_eq!(report.allocation, Allocation::Pooled { reset }, "H9, H31");
            let config = engine.get_pooling_config().unwrap();
            assert_eq!(wrong_sizes(config, PoolSizes::new(&budget), reset), [""; 0]);
        }
        let engine = Engine::new(&run_config(InstanceAllocationStrategy::OnDemand)).unwrap();
        assert!(check(&engine, None).is_ok());
    }

    #[test]
    fn a_setting_that_reads_back_differently_keeps_the_engine_from_starting() {
        let mut config = run_config(InstanceAllocationStrategy::OnDemand);
        config.memory_guard_size(0).wasm_tail_call(true);
        let engine = Engine::new(&config).unwrap();
        assert_eq!(
            wrong_switches(&engine),
            ["memory_guard_size", "wasm_features"],
            "H9, H3"
        );
        assert!(check(&engine, None).is_err());
        let sizes = PoolSizes::new(&Budget::default());
        let other = PoolSizes::new(&Budget::default().with(LimitName::Concurrent, 3).unwrap());
        let pool = pooling(other, Reset::Madvise);
        assert!(wrong_sizes(&pool, sizes, Reset::PagemapScan).contains(&"pagemap_scan"));
        assert!(wrong_sizes(&pool, sizes, Reset::Madvise).contains(&"total_memories"));
    }

    #[test]
    fn an_engine_for_more_calls_has_more_slots_but_a_bounded_address_space() {
        let sizes = |calls| {
            PoolSizes::new(
                &Budget::default()
                    .with(LimitName::Concurrent, calls)
                    .unwrap(),
            )
        };
        assert_eq!(sizes(32).total_memories(), 32 * 16);
        assert_eq!(sizes(u64::MAX).total_memories(), MEMORY_SLOTS_MAX);
    }

    /// Set where the test has a process of its own, whose address space it may shrink.
    const ALONE: &str = "BINDERY_TEST_ALONE";

    #[test]
    fn an_address_space_too_small_for_a_pool_gets_instances_on_demand() {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "pool::tests::the_engine_starts_in_any_address_space",
            ])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&child.stdout);
        assert!(
            child.status.success() && printed.contains("1 passed"),
            "{printed}"
        );
    }

    #[test]
    fn the_engine_starts_in_any_address_space() {
        let small = std::env::var_os(ALONE).is_some();
        if small {
            let bytes = Some(256 << 30);
            let limit = rustix::process::Rlimit {
                current: bytes,
                maximum: bytes,
            };
            rustix::process::setrlimit(rustix::process::Resource::As, limit).unwrap();
        }
        let (engine, report) = build(&Budget::default(), None).unwrap();
        assert_eq!(report.allocation == Allocation::OnDemand, small, "{report}");
        assert_eq!(report.fallbacks.is_empty(), !small, "the operator is told");
        let text = r#"(component
            (core module $m (memory 1) (func (export "f") (result i32) (i32.const 7)))
            (core instance $i (instantiate $m))
            (func (export "f") (result u32) (canon lift (core func $i "f"))))"#;
        let bytes = wat::parse_str(text).unwrap();
        let component = wasmtime::component::Component::from_binary(&engine, &bytes).unwrap();
        assert_eq!(component.resources_required().unwrap().num_memories, 1);
    }
}
