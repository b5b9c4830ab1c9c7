//! The WebAssembly features that a component may use, as the validator counts them.
//!
//! Rule (H3): never more than the engine compiles. A component that needs another one is
//! refused before anything of it is compiled, with the feature's name.

use bindery_types::{ErrorType, Refusal};
use wasmparser::WasmFeatures;

/// What may be used: WebAssembly 3.0 without what the engine has switched off. A test
/// keeps both lists equal.
pub(super) const ALLOWED: WasmFeatures = WasmFeatures::WASM3
    .union(WasmFeatures::COMPONENT_MODEL)
    .difference(OFF);

const OFF: WasmFeatures = WasmFeatures::THREADS
    .union(WasmFeatures::MEMORY64)
    .union(WasmFeatures::GC)
    .union(WasmFeatures::GC_TYPES)
    .union(WasmFeatures::FUNCTION_REFERENCES)
    .union(WasmFeatures::EXCEPTIONS)
    .union(WasmFeatures::LEGACY_EXCEPTIONS)
    .union(WasmFeatures::TAIL_CALL)
    .union(WasmFeatures::RELAXED_SIMD)
    .union(WasmFeatures::CM_ASYNC);

/// How people call the features that components are seen to use.
const NAMES: &[(WasmFeatures, &str)] = &[
    (
        WasmFeatures::SHARED_EVERYTHING_THREADS,
        "shared-everything threads",
    ),
    (WasmFeatures::THREADS, "threads"),
    (WasmFeatures::MEMORY64, "64-bit memory"),
    (WasmFeatures::GC, "garbage-collected types"),
    (WasmFeatures::GC_TYPES, "garbage-collected types"),
    (
        WasmFeatures::FUNCTION_REFERENCES,
        "typed function references",
    ),
    (WasmFeatures::EXCEPTIONS, "exception handling"),
    (WasmFeatures::LEGACY_EXCEPTIONS, "exception handling"),
    (WasmFeatures::TAIL_CALL, "tail calls"),
    (WasmFeatures::RELAXED_SIMD, "relaxed SIMD"),
    (WasmFeatures::WIDE_ARITHMETIC, "wide arithmetic"),
    (WasmFeatures::CUSTOM_PAGE_SIZES, "custom page sizes"),
    (WasmFeatures::STACK_SWITCHING, "stack switching"),
    (
        WasmFeatures::CM_ASYNC,
        "asynchronous component functions (WASI 0.3)",
    ),
    (
        WasmFeatures::CM_ASYNC_STACKFUL,
        "asynchronous component functions (WASI 0.3)",
    ),
    (
        WasmFeatures::CM_MORE_ASYNC_BUILTINS,
        "asynchronous component functions (WASI 0.3)",
    ),
    (WasmFeatures::CM_THREADING, "component threads"),
    (WasmFeatures::CM_ERROR_CONTEXT, "error contexts"),
    (WasmFeatures::CM_FIXED_LENGTH_LISTS, "fixed-length lists"),
    (WasmFeatures::CM_GC, "garbage-collected component types"),
    (WasmFeatures::CM_MAP, "component maps"),
    (WasmFeatures::CM_VALUES, "component values"),
    (WasmFeatures::CM_NESTED_NAMES, "nested package names"),
    (WasmFeatures::CM64, "64-bit component functions"),
    (WasmFeatures::CM_IMPLEMENTS, "`implements` clauses"),
];

/// The name of the feature that `error` asks for, if it asks for one.
fn missing(error: &wasmparser::Error) -> Option<&'static str> {
    let wanted = error.missing_wasm_feature()?;
    let named = NAMES.iter().find(|(feature, _)| wanted.contains(*feature));
    Some(named.map_or("a WebAssembly feature of a later draft", |(_, name)| name))
}

/// The refusal of a component that needs a feature which is off, if that is what `error`
/// says.
pub(super) fn refusal(error: &wasmparser::Error) -> Option<Refusal> {
    let feature = missing(error)?;
    let message = format!(
        "this component needs {feature}, which this host has switched off; build it without that feature"
    );
    let refusal = Refusal::new(ErrorType::ComponentInvalid, message)
        .with("kind", "feature")
        .with("feature", feature)
        .for_operator(error.to_string());
    Some(refusal)
}
