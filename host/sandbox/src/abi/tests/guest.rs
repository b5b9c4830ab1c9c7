//! A component made for given types: it shows what it was given, and returns whatever
//! memory it is told to.
//!
//! `flat` and `boxed` answer with their core parameters (as 64-bit words) and with every
//! byte that was allocated for them; `boxed` has sixteen more parameters, so its own come
//! through memory. `lift` puts `heap` where those bytes were and returns what is at `slot`
//! (or `slot` itself) as the first type.

use bindery_json::read_arguments;
use bindery_json::tape::Tape;
use bindery_types::{
    Budget, Function, FunctionName, Limit, LimitName, Param, TypeTable, TypeTableBuilder,
};
use wasmtime::component::{Component, Func, Linker, Val};
use wasmtime::{Engine, Store};

use super::super::{Lifted, call};
use super::kind::{Core, Kind};
use crate::cancel::Cancel;
use crate::engine::{ASYNC_STACK_BYTES, code_config};
use crate::leash::Leash;

/// Where the guest's allocator begins.
pub(super) const HEAP: u32 = 4096;

/// Size of a page of linear memory.
pub(super) const PAGE: u32 = 65536;

/// String encodings of the canonical ABI.
pub(super) const ENCODINGS: [&str; 3] = ["utf8", "utf16", "latin1+utf16"];

/// A function of the component, with its types as we see them.
pub(super) struct Probe {
    pub(super) function: Function,
    pub(super) types: TypeTable,
}

impl Probe {
    pub(super) fn new(name: &str, params: &[(String, Kind)]) -> Self {
        let mut table = TypeTableBuilder::new();
        let param = |(name, kind): &(String, Kind)| Param {
            name: name.as_str().into(),
            ty: kind.ty(&mut table),
        };
        let params = params.iter().map(param).collect();
        let function = Function {
            name: FunctionName::new(None, name).unwrap(),
            docs: None,
            params,
            result: None,
            uncallable: None,
        };
        Probe {
            function,
            types: table.finish(),
        }
    }

    pub(super) fn read(&self, text: &str) -> Tape {
        let mut budget = Budget::default();
        budget.set(LimitName::Arguments, Limit::Unlimited).unwrap();
        read_arguments(text, &self.function, &self.types, &budget)
            .unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"))
    }
}

/// A component and the engine it was compiled for.
pub(super) struct Guest {
    engine: Engine,
    component: Component,
}

/// The parameters of `flat`.
pub(super) fn flat_params(kinds: &[Kind]) -> Vec<(String, Kind)> {
    let numbered = kinds.iter().cloned().enumerate();
    numbered.map(|(n, kind)| (format!("p{n}"), kind)).collect()
}

/// The parameters of `boxed`.
pub(super) fn boxed_params(kinds: &[Kind]) -> Vec<(String, Kind)> {
    let zeros = (0..16).map(|n| (format!("z{n}"), Kind::U64));
    flat_params(kinds).into_iter().chain(zeros).collect()
}

/// The parameters of `lift`.
pub(super) fn lift_params() -> Vec<(String, Kind)> {
    vec![("heap".into(), Kind::Bytes), ("slot".into(), Kind::U64)]
}

impl Guest {
    /// The probing component for these types.
    pub(super) fn of(kinds: &[Kind], encoding: &str, pages: u32) -> Self {
        Self::new(&component(kinds, encoding, pages))
    }

    pub(super) fn new(wat: &str) -> Self {
        let mut config = code_config();
        config.async_stack_size(ASYNC_STACK_BYTES);
        let engine = Engine::new(&config).unwrap();
        let bytes = wat::parse_str(wat).unwrap_or_else(|error| panic!("{error}\n{wat}"));
        let component = Component::from_binary(&engine, &bytes);
        let component = component.unwrap_or_else(|error| panic!("{error:?}\n{wat}"));
        Guest { engine, component }
    }

    /// A fresh instance, with `fuel` bytes of output allowed.
    pub(super) fn instance(&self, name: &str, fuel: usize) -> (Store<()>, Func) {
        let mut store = Store::new(&self.engine, ());
        store.set_fuel(u64::MAX).unwrap();
        store.set_epoch_deadline(1);
        store.set_hostcall_fuel(fuel);
        let linker = Linker::new(&self.engine);
        let instance = block_on(linker.instantiate_async(&mut store, &self.component)).unwrap();
        let func = instance.get_func(&mut store, name).unwrap();
        (store, func)
    }

    /// Calls by our path.
    pub(super) fn call(&self, name: &str, tape: &Tape, fuel: usize) -> wasmtime::Result<Lifted> {
        let (mut store, func) = self.instance(name, fuel);
        let leash = Leash::new(&Budget::default(), None, Cancel::new());
        block_on(call(&func, &mut store, tape, &leash))
    }

    /// Calls by the engine's dynamic path.
    pub(super) fn call_val(
        &self,
        name: &str,
        params: &[Val],
        fuel: usize,
    ) -> wasmtime::Result<Val> {
        let (mut store, func) = self.instance(name, fuel);
        let mut results = [Val::Bool(false)];
        block_on(func.call_async(&mut store, params, &mut results))?;
        let [result] = results;
        Ok(result)
    }

    /// Lifts the first type from a heap of these bytes.
    pub(super) fn lift(&self, heap: &[u8], slot: u64, fuel: usize) -> wasmtime::Result<Lifted> {
        let mut text = b"{\"heap\":".to_vec();
        bindery_json::text::push_bytes(&mut text, heap);
        text.extend_from_slice(b",\"slot\":");
        bindery_json::text::push_u64(&mut text, slot);
        text.push(b'}');
        let probe = Probe::new("lift", &lift_params());
        self.call("lift", &probe.read(str::from_utf8(&text).unwrap()), fuel)
    }
}

pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(future)
}

fn component(kinds: &[Kind], encoding: &str, pages: u32) -> String {
    let flat: Vec<Core> = kinds.iter().flat_map(Kind::flat).collect();
    let flat = if flat.len() > 16 {
        vec![Core::I32]
    } else {
        flat
    };
    let first = kinds.first().unwrap();
    let mut definitions = Vec::new();
    let params: Vec<String> = flat_params(kinds)
        .iter()
        .map(|(name, kind)| format!("(param \"{name}\" {})", kind.wat(&mut definitions)))
        .collect();
    let params = params.join(" ");
    let zeros: Vec<String> = (0..16).map(|n| format!("(param \"z{n}\" u64)")).collect();
    let zeros = zeros.join(" ");
    let result = first.wat(&mut definitions);
    let seen = "(result (tuple (list u64) (list u8)))";
    let lift = |name: &str, sort: &str| {
        format!(
            "(func ${name} {sort} (canon lift (core func $i \"{name}\") (memory $i \"memory\")
               (realloc (func $i \"realloc\")) string-encoding={encoding}))
             (export \"{name}\" (func ${name}))"
        )
    };
    format!(
        "(component
          (core module $m
            (memory (export \"memory\") {pages})
            (global $top (mut i32) (i32.const {HEAP}))
            {REALLOC}
            {show_flat} {show_boxed} {give})
          (core instance $i (instantiate $m))
          {definitions}
          {flat} {boxed} {lift})",
        show_flat = show("flat", &flat),
        show_boxed = show("boxed", &[Core::I32]),
        give = give(&first.flat()),
        definitions = definitions.join("\n"),
        flat = lift("flat", &format!("{params} {seen}")),
        boxed = lift("boxed", &format!("{params} {zeros} {seen}")),
        lift = lift(
            "lift",
            &format!("(param \"heap\" (list u8)) (param \"slot\" u64) (result {result})")
        ),
    )
}

/// An allocator that only goes up: it shrinks in place and moves what grows.
pub(super) const REALLOC: &str = "
    (func (export \"realloc\") (param $old i32) (param $had i32) (param $align i32)
      (param $size i32) (result i32) (local $new i32)
      (if (i32.and (i32.ne (local.get $old) (i32.const 0))
                   (i32.le_u (local.get $size) (local.get $had)))
        (then (return (local.get $old))))
      (local.set $new (i32.and
        (i32.add (global.get $top) (i32.sub (local.get $align) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $align))))
      (global.set $top (i32.add (local.get $new) (local.get $size)))
      (memory.copy (local.get $new) (local.get $old) (local.get $had))
      (local.get $new))";

/// A core function that answers with its parameters and all that was allocated.
fn show(name: &str, params: &[Core]) -> String {
    let types: Vec<&str> = params.iter().map(|core| core.wat()).collect();
    let store = |(n, core): (usize, &Core)| {
        let word = match core {
            Core::I32 => format!("(i64.extend_i32_u (local.get {n}))"),
            Core::I64 => format!("(local.get {n})"),
            Core::F32 => format!("(i64.extend_i32_u (i32.reinterpret_f32 (local.get {n})))"),
            Core::F64 => format!("(i64.reinterpret_f64 (local.get {n}))"),
        };
        format!("(i64.store (i32.const {}) {word})", 1024 + 8 * n)
    };
    let stores: Vec<String> = params.iter().enumerate().map(store).collect();
    format!(
        "(func (export \"{name}\") (param {types}) (result i32)
           {stores}
           (i32.store (i32.const 512) (i32.const 1024))
           (i32.store (i32.const 516) (i32.const {count}))
           (i32.store (i32.const 520) (i32.const {HEAP}))
           (i32.store (i32.const 524) (i32.sub (global.get $top) (i32.const {HEAP})))
           (i32.const 512))",
        types = types.join(" "),
        stores = stores.join("\n"),
        count = params.len(),
    )
}

/// A core function that returns its slot as the core result of a type.
fn give(flat: &[Core]) -> String {
    let (ty, word) = match flat {
        [Core::I64] => ("i64", "(local.get 2)"),
        [Core::F32] => ("f32", "(f32.reinterpret_i32 (i32.wrap_i64 (local.get 2)))"),
        [Core::F64] => ("f64", "(f64.reinterpret_i64 (local.get 2))"),
        _ => ("i32", "(i32.wrap_i64 (local.get 2))"),
    };
    format!("(func (export \"lift\") (param i32 i32 i64) (result {ty}) {word})")
}
