//! The engine: one configuration for compiling and for running, every switch said.
//!
//! Rule (H2 … H11, H31, H32): what is not needed is off, what bounds a guest is set and
//! read back. Code compiled under this configuration runs only under it: the artefact
//! store's key is made from the same engine.

use wasmtime::{
    Config, InstanceAllocationStrategy, OperatorCost, OptLevel, ProfilingStrategy, Strategy,
    WasmBacktraceDetails, WasmFeatures,
};

/// Stack of guest code (script engines inside components need this much).
pub(crate) const WASM_STACK_BYTES: usize = 2 << 20;
/// Stack of a call, guest and host together: 1 MiB is left for host functions (H8).
pub(crate) const ASYNC_STACK_BYTES: usize = 3 << 20;
/// Largest linear memory a slot of the pool can hold; the ceiling of limit `memory`.
pub(crate) const MEMORY_SLOT_BYTES: usize = bindery_inspect::MEMORY_MAX_BYTES;
/// Largest table a slot of the pool can hold.
pub(crate) const TABLE_SLOT_ELEMENTS: usize = bindery_inspect::TABLE_MAX_ELEMENTS;

/// Everything that changes generated code or its meaning, shared by the process that
/// compiles and the one that runs.
pub(crate) fn code_config() -> Config {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .cranelift_opt_level(OptLevel::Speed)
        // H4: a NaN has one bit pattern, so equal runs have equal results.
        .cranelift_nan_canonicalization(true)
        .wasm_simd(true)
        .wasm_relaxed_simd(false)
        .wasm_tail_call(false)
        .wasm_custom_page_sizes(false)
        .wasm_shared_everything_threads(false)
        .wasm_wide_arithmetic(false)
        .wasm_memory64(false)
        .wasm_stack_switching(false)
        .wasm_gc(false)
        // A composed component may move strings between two memories (H3); their sum is
        // bounded by the limiter.
        .wasm_multi_memory(true)
        .wasm_component_model(true)
        .wasm_component_model_error_context(false)
        .wasm_component_model_gc(false)
        .wasm_component_model_map(false)
        .wasm_component_model_memory64(false)
        .wasm_component_model_fixed_length_lists(false)
        .wasm_component_model_implements(false)
        .gc_support(false)
        // Its switch comes with the collector, which is not compiled in; it is on by itself.
        .wasm_features(WasmFeatures::FUNCTION_REFERENCES, false)
        .shared_memory(false)
        .concurrency_support(false)
        .consume_fuel(true)
        .operator_cost(operator_cost())
        .epoch_interruption(true)
        .signals_based_traps(true)
        .max_wasm_stack(WASM_STACK_BYTES)
        .debug_info(false)
        .wasm_backtrace_max_frames(None)
        // H10: whatever the environment says.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .generate_address_map(false)
        .native_unwind_info(false)
        .profiler(ProfilingStrategy::None)
        .memory_init_cow(true)
        .table_lazy_init(true);
    config
}

/// H5: growing memory costs fuel, too.
fn operator_cost() -> OperatorCost {
    let mut cost = OperatorCost::new();
    cost.variable.memory_grow_per_page = 64;
    cost
}

/// The configuration of a process that compiles and never runs.
pub(crate) fn compile_config() -> Config {
    let mut config = code_config();
    config
        .allocation_strategy(InstanceAllocationStrategy::OnDemand)
        .parallel_compilation(false);
    config
}

#[cfg(test)]
mod tests {
    use wasmtime::Engine;
    use wasmtime::component::Component;

    use super::*;

    /// One core module for each proposal that is off.
    const OFF: &[(&str, &str)] = &[
        ("threads", "(memory 1 1 shared)"),
        (
            "atomics",
            "(memory 1) (func (drop (i32.atomic.load (i32.const 0))))",
        ),
        ("memory64", "(memory i64 1)"),
        ("gc", "(type (struct (field i32)))"),
        (
            "function references",
            "(type $t (func)) (func (param (ref $t)))",
        ),
        ("exceptions", "(tag $e) (func (throw $e))"),
        ("tail call", "(func $f (return_call $f))"),
        (
            "relaxed simd",
            "(func (param v128) (result v128)
                (i32x4.relaxed_trunc_f32x4_s (local.get 0)))",
        ),
        (
            "wide arithmetic",
            "(func (result i64 i64)
                (i64.add128 (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1)))",
        ),
        ("stack switching", "(type $f (func)) (type (cont $f))"),
        ("custom page sizes", "(memory 1 (pagesize 1))"),
    ];

    fn accepts(module: &str) -> bool {
        let text = format!("(component (core module {module}))");
        let engine = Engine::new(&compile_config()).unwrap();
        Component::from_binary(&engine, &wat::parse_str(text).unwrap()).is_ok()
    }

    #[test]
    fn a_module_of_each_proposal_that_is_off_is_refused() {
        assert!(accepts("(memory 1) (func (drop (i32.load (i32.const 0))))"));
        for (proposal, module) in OFF {
            assert!(!accepts(module), "H3: {proposal}");
        }
    }
}
