//! Every function a component exports, by itself or in an interface, and whether JSON can
//! call it.
//!
//! Rule (A5): a function that JSON cannot call is listed with the reason, never left out.

use bindery_types::{
    ErrorType, Function, FunctionName, Handle, InterfaceName, Param, Refusal, Ty, TyId, TypeTable,
    Uncallable,
};
use wasmparser::component_types::{ComponentEntityType, ComponentFuncTypeId};

use super::bounds;
use super::invalid::printable;
use super::kind::Kind;
use super::types::TypeReader;
use super::walk::Walked;

/// The exported functions of the component, by name.
pub(super) fn functions<'a>(
    walked: &'a Walked<'a>,
    types: &mut TypeReader<'a>,
) -> Result<Vec<Function>, Refusal> {
    let mut exports = Exports {
        walked,
        types,
        functions: Vec::new(),
        only_types: !walked.exports.is_empty() && walked.imports.is_empty(),
    };
    for name in &walked.exports {
        exports.add(name)?;
    }
    if exports.only_types {
        return Err(Kind::WitPackage.refusal());
    }
    let mut functions = exports.functions;
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(functions)
}

struct Exports<'a, 't> {
    walked: &'a Walked<'a>,
    types: &'t mut TypeReader<'a>,
    functions: Vec<Function>,
    /// Whether there were only types of components so far: that is how a WIT package is
    /// encoded.
    only_types: bool,
}

impl<'a> Exports<'a, '_> {
    fn add(&mut self, name: &'a str) -> Result<(), Refusal> {
        let Some(item) = self.walked.types.component_item_for_export(name) else {
            return Ok(());
        };
        self.types.note_names(name, &item.ty);
        let is_component_type = matches!(
            item.ty,
            ComponentEntityType::Type {
                created: wasmparser::component_types::ComponentAnyTypeId::Component(_),
                ..
            }
        );
        self.only_types &= is_component_type;
        match item.ty {
            ComponentEntityType::Func(id) => self.function(None, name, id),
            ComponentEntityType::Instance(id) => {
                let Some(instance) = self.walked.types.as_ref().get(id) else {
                    return Ok(());
                };
                let interface: InterfaceName = name.parse().map_err(|e| bad_name(name, &e))?;
                for (name, item) in &instance.exports {
                    // An instance inside an instance has no name that a function of it
                    // could be called by; WIT cannot describe one.
                    if let ComponentEntityType::Func(id) = item.ty {
                        self.function(Some(&interface), name, id)?;
                    }
                }
                Ok(())
            }
            // Types, values, modules and components are not called.
            _ => Ok(()),
        }
    }

    fn function(
        &mut self,
        interface: Option<&InterfaceName>,
        name: &str,
        id: ComponentFuncTypeId,
    ) -> Result<(), Refusal> {
        let Some(ty) = self.walked.types.as_ref().get(id) else {
            return Ok(());
        };
        let found = u64::try_from(self.functions.len()).unwrap_or(u64::MAX);
        bounds::EXPORTED_FUNCTIONS.check(found.saturating_add(1))?;
        let full = FunctionName::new(interface.cloned(), name).map_err(|e| bad_name(name, &e))?;
        let mut params = Vec::with_capacity(ty.params.len());
        for (name, ty) in &ty.params {
            params.push(Param {
                name: name.as_str().into(),
                ty: self.types.value(ty)?,
            });
        }
        let result = ty.result.as_ref().map(|ty| self.types.value(ty));
        self.functions.push(Function {
            docs: self.walked.claims.function(&full),
            uncallable: of_resource(name),
            name: full,
            params,
            result: result.transpose()?,
        });
        Ok(())
    }
}

/// Methods, constructors and static functions are named after their resource.
fn of_resource(name: &str) -> Option<Uncallable> {
    let (kind, rest) = name.strip_prefix('[')?.split_once(']')?;
    match kind {
        "constructor" | "method" | "static" => {
            let resource = rest.split('.').next().unwrap_or(rest);
            Some(Uncallable::Method(resource.to_owned()))
        }
        _ => None,
    }
}

/// The functions with the reason why JSON cannot call them, where there is one.
pub(super) fn judged(mut functions: Vec<Function>, table: &TypeTable) -> Vec<Function> {
    let reasons = reasons(table);
    let reason = |id: TyId| reasons.get(id.index()).cloned().flatten();
    for function in &mut functions {
        if function.uncallable.is_none() {
            let mut used = function.params.iter().map(|p| p.ty).chain(function.result);
            function.uncallable = used.find_map(reason);
        }
    }
    functions
}

/// Why JSON cannot carry each type: parts come before wholes, so one pass answers for all.
fn reasons(table: &TypeTable) -> Vec<Option<Uncallable>> {
    let mut reasons: Vec<Option<Uncallable>> = Vec::with_capacity(table.len());
    for (_, ty) in table.iter() {
        let reason = match ty {
            Ty::Handle(Handle::Own(name) | Handle::Borrow(name)) => {
                Some(Uncallable::Resource(name.to_string()))
            }
            Ty::Handle(Handle::Future) => Some(Uncallable::Async("future".to_owned())),
            Ty::Handle(Handle::Stream) => Some(Uncallable::Async("stream".to_owned())),
            Ty::Handle(Handle::ErrorContext) => Some(Uncallable::Async("error context".to_owned())),
            _ => ty
                .parts()
                .find_map(|part| reasons.get(part.index()).cloned().flatten()),
        };
        reasons.push(reason);
    }
    reasons
}

/// The refusal of a component with a name that no one could ask for.
pub(super) fn bad_name(name: &str, error: &bindery_types::NameError) -> Refusal {
    let name = printable(name);
    Refusal::new(
        ErrorType::ComponentInvalid,
        format!("this component has the name `{name}`, which this host does not accept: {error}"),
    )
    .with("kind", "name")
    .with("name", name)
}
