//! wasmtime as its default build and its default settings have it.

use std::path::Path;

use anyhow::{Context, Result};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, Store};

/// The component in an engine of its own.
pub(crate) struct Defaults {
    engine: Engine,
    instance: InstancePre<()>,
    export: ComponentExportIndex,
}

impl Defaults {
    /// With instances in a pool.
    pub(crate) fn pooled(path: &Path) -> Result<Self> {
        let mut config = Config::new();
        config.allocation_strategy(InstanceAllocationStrategy::pooling());
        Self::new(&config, path)
    }

    /// With instances mapped one by one.
    pub(crate) fn on_demand(path: &Path) -> Result<Self> {
        Self::new(&Config::new(), path)
    }

    fn new(config: &Config, path: &Path) -> Result<Self> {
        let engine = Engine::new(config)?;
        let component = Component::from_binary(&engine, &std::fs::read(path)?)?;
        let instance = Linker::new(&engine).instantiate_pre(&component)?;
        let export = component.get_export_index(None, "answer");
        Ok(Self {
            engine,
            instance,
            export: export.context("the component answers nothing")?,
        })
    }

    /// A fresh store, one call, dropped.
    pub(crate) fn answer(&self, question: &str) -> Result<String> {
        let mut store = Store::new(&self.engine, ());
        let instance = self.instance.instantiate(&mut store)?;
        let function = instance
            .get_typed_func::<(&str,), (Result<String, String>,)>(&mut store, &self.export)?;
        let (answer,) = function.call(&mut store, (question,))?;
        answer.map_err(anyhow::Error::msg)
    }
}
