//! extism with a plug-in that does what the guest `answer` does, written without a kit so
//! that it carries nothing else.

use anyhow::Result;
use extism::{CompiledPlugin, Manifest, Plugin, PluginBuilder, Wasm};

/// Puts the words before the input and gives both out.
const PLUGIN: &str = r#"
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "input_length" (func $input-length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input (param i64) (result i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "you asked: ")
  (func (export "answer") (result i32)
    (local $length i64) (local $target i64) (local $at i64)
    (local.set $length (call $input-length))
    (local.set $target (call $alloc (i64.add (local.get $length) (i64.const 11))))
    (loop $words
      (call $store
        (i64.add (local.get $target) (local.get $at))
        (i32.load8_u (i32.wrap_i64 (local.get $at))))
      (local.set $at (i64.add (local.get $at) (i64.const 1)))
      (br_if $words (i64.lt_u (local.get $at) (i64.const 11))))
    (local.set $at (i64.const 0))
    (loop $question
      (call $store
        (i64.add (i64.add (local.get $target) (local.get $at)) (i64.const 11))
        (call $input (local.get $at)))
      (local.set $at (i64.add (local.get $at) (i64.const 1)))
      (br_if $question (i64.lt_u (local.get $at) (local.get $length))))
    (call $output (local.get $target) (i64.add (local.get $length) (i64.const 11)))
    (i32.const 0)))
"#;

/// The plug-in, compiled.
pub(crate) struct Extism {
    compiled: CompiledPlugin,
}

impl Extism {
    /// Compiles it; neither fuel nor time is bounded, as by default.
    pub(crate) fn new() -> Result<Self> {
        let manifest = Manifest::new([Wasm::data(wat::parse_str(PLUGIN)?)]);
        let builder = PluginBuilder::new(manifest).with_cache_disabled();
        Ok(Self {
            compiled: CompiledPlugin::new(builder)?,
        })
    }

    /// A fresh plug-in, one call, dropped.
    pub(crate) fn answer(&self, question: &str) -> Result<String> {
        let mut plugin = Plugin::new_from_compiled(&self.compiled)?;
        plugin.call("answer", question)
    }
}
