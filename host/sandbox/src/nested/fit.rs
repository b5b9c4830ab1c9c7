//! Whether what a component imports is what another exports: name, version, every type.
//!
//! Rule (architecture § 5): equal, not similar. Field names, case names and parameter names
//! count, and a version that differs in a digit is another interface.

use bindery_types::{FunctionName, InterfaceName};
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::{ComponentFunc, ComponentItem};

use crate::loaded::LoadedComponent;

/// Why an export cannot answer an import.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// The import is not there, or is no function of an interface.
    #[error("the component does not import `{0}`")]
    NotImported(String),
    /// The export has another name.
    #[error("`{export}` is not `{import}`")]
    Name {
        /// what is imported
        import: String,
        /// what was bound to it
        export: String,
    },
    /// The export is of another version.
    #[error("`{import}` is imported, and `{export}` is exported: versions have to be equal")]
    Version {
        /// what is imported
        import: String,
        /// what was bound to it
        export: String,
    },
    /// The function passes something that has no value.
    #[error("`{0}` cannot pass between components: {1}")]
    Uncallable(String, String),
    /// A parameter or a result differs.
    #[error("`{0}` has other types in the component that exports it")]
    Types(String),
}

/// Whether `export` of `callee` can answer `function` of `interface` that `caller` imports.
pub(crate) fn fits(
    (caller, component): (&LoadedComponent, &Component),
    (interface, function): (&InterfaceName, &str),
    (callee, exporting): (&LoadedComponent, &Component),
    export: &FunctionName,
) -> Result<(), Misfit> {
    let import = format!("{interface}#{function}");
    let mut imports = caller.shape().imports.iter();
    let named = imports.any(|known| {
        known.name == *interface && known.functions.iter().any(|name| name == function)
    });
    if !named {
        return Err(Misfit::NotImported(import));
    }
    let there = export
        .interface()
        .filter(|there| there.path() == interface.path());
    let same_name = there.is_some() && export.function() == function;
    let (Some(there), true) = (there, same_name) else {
        let export = export.to_string();
        return Err(Misfit::Name { import, export });
    };
    if there.as_str() != interface.as_str() {
        let export = export.to_string();
        return Err(Misfit::Version { import, export });
    }
    let mut exports = callee.shape().functions.iter();
    let exported = exports.find(|known| known.name == *export);
    if let Some(reason) = exported.and_then(|known| known.uncallable.as_ref()) {
        return Err(Misfit::Uncallable(import, reason.to_string()));
    }
    let engine = component.engine();
    let wanted = imported(component, engine, interface, function);
    let given = exported_type(exporting, engine, interface, function);
    match (wanted, given) {
        (Some(wanted), Some(given)) if equal(&wanted, &given) => Ok(()),
        _ => Err(Misfit::Types(import)),
    }
}

/// Whether the import defines a resource.
pub(crate) fn has_resource(component: &Component, interface: &InterfaceName) -> bool {
    let (ty, engine) = (component.component_type(), component.engine());
    let Some(item) = ty.get_import(engine, interface.as_str()) else {
        return false;
    };
    let ComponentItem::ComponentInstance(instance) = item.ty else {
        return false;
    };
    let mut items = instance.exports(engine);
    items.any(|(_, item)| matches!(item.ty, ComponentItem::Resource(_)))
}

fn imported(
    component: &Component,
    engine: &Engine,
    interface: &InterfaceName,
    function: &str,
) -> Option<ComponentFunc> {
    let ty = component.component_type();
    let item = ty.get_import(engine, interface.as_str())?;
    of_instance(item.ty, engine, function)
}

fn exported_type(
    component: &Component,
    engine: &Engine,
    interface: &InterfaceName,
    function: &str,
) -> Option<ComponentFunc> {
    let ty = component.component_type();
    let item = ty.get_export(engine, interface.as_str())?;
    of_instance(item.ty, engine, function)
}

fn of_instance(item: ComponentItem, engine: &Engine, function: &str) -> Option<ComponentFunc> {
    let ComponentItem::ComponentInstance(instance) = item else {
        return None;
    };
    match instance.get_export(engine, function)?.ty {
        ComponentItem::ComponentFunc(found) => Some(found),
        _ => None,
    }
}

fn equal(left: &ComponentFunc, right: &ComponentFunc) -> bool {
    left.async_() == right.async_()
        && left.params().eq(right.params())
        && left.results().eq(right.results())
}
