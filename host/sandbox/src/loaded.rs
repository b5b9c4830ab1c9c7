//! A loaded component: its shape, its code, and what a call needs looked up once.
//!
//! Rule: nothing here differs from call to call (grants are data of a store, never part of
//! a linker), no export is looked up by name per call, and what the component demands at
//! its start is known before it starts (H38).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bindery_types::{
    Budget, Digest, ErrorType, Function, FunctionName, InterfaceName, LimitHit, LimitName, Refusal,
    Shape,
};
use wasmtime::Engine;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker};

use crate::nested::Misfit;
use crate::state::CallState;

/// A component that can be run: inspected, compiled, loaded. Clones are the same one.
#[derive(Clone)]
pub struct LoadedComponent {
    inner: Arc<Inner>,
}

struct Inner {
    shape: Shape,
    component: Component,
    demand: Option<Demand>,
    /// Compilations that the next call reports as waited for.
    compiles: AtomicU64,
    /// Made at the first call that may start: linking fails while an import is unknown.
    prepared: OnceLock<Result<Prepared, Refusal>>,
}

/// What instantiating takes before any code runs.
#[derive(Clone, Copy, Debug)]
struct Demand {
    memories: u64,
    memory_bytes: u64,
    tables: u64,
    table_elements: u64,
}

/// What a call needs, looked up once.
pub(crate) struct Prepared {
    pub(crate) instance: InstancePre<CallState>,
    /// One per function of the shape, in its order.
    exports: Vec<Option<ComponentExportIndex>>,
}

const PAGE_BYTES: u64 = 64 << 10;

impl std::fmt::Debug for LoadedComponent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedComponent")
            .field("digest", &self.inner.shape.digest)
            .finish_non_exhaustive()
    }
}

impl LoadedComponent {
    pub(crate) fn new(shape: Shape, component: Component, compiles: u64) -> Self {
        let demand = component.resources_required().map(|needs| Demand {
            memories: needs.num_memories.into(),
            memory_bytes: needs
                .max_initial_memory_size
                .unwrap_or(0)
                .saturating_mul(PAGE_BYTES),
            tables: needs.num_tables.into(),
            table_elements: needs.max_initial_table_size.unwrap_or(0),
        });
        Self {
            inner: Arc::new(Inner {
                shape,
                component,
                demand,
                compiles: AtomicU64::new(compiles),
                prepared: OnceLock::new(),
            }),
        }
    }

    /// What is known of it without running it.
    pub fn shape(&self) -> &Shape {
        &self.inner.shape
    }

    /// SHA-256 of its bytes.
    pub fn digest(&self) -> Digest {
        self.inner.shape.digest
    }

    /// Whether `export` of `callee` can answer `function` of the imported `interface`: the
    /// same name, the same version, equal types.
    ///
    /// # Errors
    ///
    /// [`Misfit`] says what differs.
    pub fn fits(
        &self,
        (interface, function): (&InterfaceName, &str),
        callee: &LoadedComponent,
        export: &FunctionName,
    ) -> Result<(), Misfit> {
        let import = (interface, function);
        let (caller, called) = (&self.inner.component, &callee.inner.component);
        crate::nested::fits((self, caller), import, (callee, called), export)
    }

    /// Whether the imported `interface` defines a resource, which no other component's
    /// values can hold.
    pub fn imports_resource(&self, interface: &InterfaceName) -> bool {
        crate::nested::has_resource(&self.inner.component, interface)
    }

    /// Compilations that loading it took; the first call reports and resets them.
    pub(crate) fn take_compiles(&self) -> u64 {
        self.inner.compiles.swap(0, Ordering::Relaxed)
    }

    /// H11: whether `engine` is the one it was loaded for.
    pub(crate) fn belongs_to(&self, engine: &Engine) -> bool {
        Engine::same(self.inner.component.engine(), engine)
    }

    /// Whether `budget` covers what it takes to start it.
    ///
    /// # Errors
    ///
    /// The first limit that does not.
    pub(crate) fn check_demand(&self, budget: &Budget) -> Result<(), LimitHit> {
        let Some(demand) = self.inner.demand else {
            return Ok(());
        };
        let rows = [
            (LimitName::Memories, demand.memories),
            (LimitName::Memory, demand.memory_bytes),
            (LimitName::Tables, demand.tables),
            (LimitName::TableElements, demand.table_elements),
        ];
        let over = rows
            .iter()
            .find(|(name, used)| !budget.get(*name).allows(*used));
        match over {
            Some((name, used)) => Err(LimitHit {
                name: *name,
                limit: budget.get(*name),
                used: *used,
            }),
            None => Ok(()),
        }
    }

    /// The linked component and its exports; made at the first call.
    ///
    /// # Errors
    ///
    /// [`Refusal`] when an import cannot be linked although it was said to be covered.
    pub(crate) fn prepared(&self) -> Result<&Prepared, Refusal> {
        let prepared = self.inner.prepared.get_or_init(|| self.prepare());
        prepared.as_ref().map_err(Clone::clone)
    }

    fn prepare(&self) -> Result<Prepared, Refusal> {
        let component = &self.inner.component;
        let mut linker = Linker::new(component.engine());
        bindery_grants::link(&mut linker, &self.inner.shape.imports)
            .map_err(|error| unlinked(&error))?;
        crate::nested::link(&mut linker, &self.inner.shape.imports)
            .map_err(|error| unlinked(&error))?;
        let instance = linker
            .instantiate_pre(component)
            .map_err(|error| unlinked(&error))?;
        let functions = self.inner.shape.functions.iter();
        Ok(Prepared {
            instance,
            exports: functions
                .map(|function| export(component, function))
                .collect(),
        })
    }
}

impl Prepared {
    /// Where the export of the function at `place` of the shape is.
    pub(crate) fn export(&self, place: usize) -> Option<&ComponentExportIndex> {
        self.exports.get(place)?.as_ref()
    }
}

fn export(component: &Component, function: &Function) -> Option<ComponentExportIndex> {
    let interface = match function.name.interface() {
        Some(name) => Some(component.get_export_index(None, name.as_str())?),
        None => None,
    };
    component.get_export_index(interface.as_ref(), function.name.function())
}

fn unlinked(error: &wasmtime::Error) -> Refusal {
    Refusal::new(
        ErrorType::DependencyMissing,
        "an import of the component does not fit what this host links",
    )
    .for_operator(format!("{error:#}"))
}
