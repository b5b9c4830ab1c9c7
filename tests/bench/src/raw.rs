//! The floor: the engine by itself, a fresh store for every call, nothing governed.

use std::hint::black_box;

use anyhow::Result;
use bindery_json::tape::Tape;
use bindery_types::Budget;
use wasmtime::component::{Component, ComponentExportIndex as Export, Func, InstancePre, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, Store};

use crate::cancel::Cancel;
use crate::leash::Leash;
use crate::rig::{QUESTION, explain};
use crate::{abi, pool};

/// More fuel than any row uses, and more ticks than it lasts.
const ENOUGH: u64 = 1 << 60;

/// A component in an engine of its own.
pub struct Raw {
    engine: Engine,
    component: Component,
    instance: InstancePre<()>,
}

impl Raw {
    /// Under the sandbox's configuration: F2.
    ///
    /// # Errors
    ///
    /// When the engine does not start or the component is refused.
    pub fn ours(bytes: &[u8]) -> Result<Self> {
        let (engine, _report) = pool::build(&Budget::default(), None).map_err(explain)?;
        Self::new(&engine, bytes).map_err(told)
    }

    /// Under the engine's defaults, instances mapped one by one.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn on_demand(bytes: &[u8]) -> Result<Self> {
        Self::configured(&Config::new(), bytes).map_err(told)
    }

    /// Under the engine's defaults, with its pool.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn pooled(bytes: &[u8]) -> Result<Self> {
        let mut config = Config::new();
        config.allocation_strategy(InstanceAllocationStrategy::pooling());
        Self::configured(&config, bytes).map_err(told)
    }

    fn configured(config: &Config, bytes: &[u8]) -> wasmtime::Result<Self> {
        Self::new(&Engine::new(config)?, bytes)
    }

    fn new(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<Self> {
        let component = Component::from_binary(engine, bytes)?;
        let instance = Linker::new(engine).instantiate_pre(&component)?;
        Ok(Self {
            engine: engine.clone(),
            component,
            instance,
        })
    }

    /// Where an export is: of the component itself, or of one of its interfaces.
    fn export(&self, interface: Option<&str>, function: &str) -> wasmtime::Result<Export> {
        let outer = match interface {
            Some(name) => Some(self.find(None, name)?),
            None => None,
        };
        self.find(outer.as_ref(), function)
    }

    fn find(&self, outer: Option<&Export>, name: &str) -> wasmtime::Result<Export> {
        let found = self.component.get_export_index(outer, name);
        found.ok_or_else(|| wasmtime::Error::msg(format!("the component exports no {name}")))
    }

    fn store(&self) -> wasmtime::Result<Store<()>> {
        let mut store = Store::new(&self.engine, ());
        if self.engine.get_consume_fuel() {
            store.set_fuel(ENOUGH)?;
            store.set_epoch_deadline(ENOUGH);
        }
        Ok(store)
    }

    /// Asks the question `count` times, each time in a fresh store.
    ///
    /// # Errors
    ///
    /// What the engine reports, or the guest's own error.
    pub fn answer(&self, count: u32) -> Result<()> {
        let export = self.export(None, "answer").map_err(told)?;
        (0..count).try_for_each(|_| self.answer_once(&export).map_err(told))
    }

    fn answer_once(&self, export: &Export) -> wasmtime::Result<()> {
        let mut store = self.store()?;
        let instance = self.instance.instantiate(&mut store)?;
        let function = instance.get_typed_func::<Question, Answer>(&mut store, export)?;
        let (answer,) = function.call(&mut store, (QUESTION,))?;
        black_box(answer.map_err(wasmtime::Error::msg)?);
        Ok(())
    }

    /// The same on a stack of the pool, as the sandbox calls.
    ///
    /// # Errors
    ///
    /// As above.
    pub async fn answer_on_a_stack(&self, count: u32) -> Result<()> {
        let export = self.export(None, "answer").map_err(told)?;
        for _ in 0..count {
            self.answer_on_a_stack_once(&export).await.map_err(told)?;
        }
        Ok(())
    }

    async fn answer_on_a_stack_once(&self, export: &Export) -> wasmtime::Result<()> {
        let mut store = self.store()?;
        let instance = self.instance.instantiate_async(&mut store).await?;
        let function = instance.get_typed_func::<Question, Answer>(&mut store, export)?;
        let (answer,) = function.call_async(&mut store, (QUESTION,)).await?;
        black_box(answer.map_err(wasmtime::Error::msg)?);
        Ok(())
    }

    /// Computes for `rounds` rounds, `count` times, each time in a fresh store.
    ///
    /// # Errors
    ///
    /// What the engine reports.
    pub fn compute(&self, rounds: u32, count: u32) -> Result<()> {
        let export = self.export(None, "compute").map_err(told)?;
        (0..count).try_for_each(|_| self.compute_once(&export, rounds).map_err(told))
    }

    fn compute_once(&self, export: &Export, rounds: u32) -> wasmtime::Result<()> {
        let mut store = self.store()?;
        let instance = self.instance.instantiate(&mut store)?;
        let function = instance.get_typed_func::<(u32,), (u64,)>(&mut store, export)?;
        black_box(function.call(&mut store, (rounds,))?);
        Ok(())
    }

    /// A function in one instance that stays.
    ///
    /// # Errors
    ///
    /// When the component does not export it.
    pub fn warm(&self, interface: &str, function: &str) -> Result<Warm> {
        self.warmed(interface, function).map_err(told)
    }

    fn warmed(&self, interface: &str, function: &str) -> wasmtime::Result<Warm> {
        let mut store = self.store()?;
        let instance = self.instance.instantiate(&mut store)?;
        let export = self.export(Some(interface), function)?;
        let function = instance.get_func(&mut store, export);
        let function = function.ok_or_else(|| wasmtime::Error::msg("it is no function"))?;
        Ok(Warm { store, function })
    }
}

type Question = (&'static str,);
type Answer = (std::result::Result<String, String>,);

/// An error of the engine, with its causes.
#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
fn told(error: wasmtime::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:#}")
}

/// A function of a warm instance, called as the sandbox calls: tape in, JSON out.
pub struct Warm {
    store: Store<()>,
    function: Func,
}

impl Warm {
    /// Calls it `count` times.
    ///
    /// # Errors
    ///
    /// What the call ends in.
    pub async fn call(&mut self, tape: &Tape, count: u32) -> Result<()> {
        let leash = Leash::new(&Budget::default(), None, Cancel::new());
        for _ in 0..count {
            self.store.set_hostcall_fuel(1 << 30);
            let called = abi::call(&self.function, &mut self.store, tape, &leash).await;
            black_box(called.map_err(told)?);
        }
        Ok(())
    }
}
