//! Every import of a component: its name, the functions really named, what satisfies it.
//!
//! Rule (H13, X30): read from the binary, never from a declaration beside it. A component
//! inside the component can import only what this one hands it, so the outermost imports
//! are all there are; instances inside an imported instance are counted with it.

use std::collections::BTreeSet;

use bindery_types::{Import, InterfaceName, Refusal};
use wasmparser::component_types::{
    ComponentAnyTypeId, ComponentEntityType, ComponentInstanceTypeId,
};

use super::bounds;
use super::exports::bad_name;
use super::types::TypeReader;
use super::walk::Walked;

/// The imports of the component, by name.
pub(super) fn imports<'a>(
    walked: &'a Walked<'a>,
    types: &mut TypeReader<'a>,
) -> Result<Vec<Import>, Refusal> {
    let count = u64::try_from(walked.imports.len()).unwrap_or(u64::MAX);
    bounds::COMPONENT_IMPORTS.check(count)?;
    let mut imports = Vec::new();
    for name in &walked.imports {
        let Some(item) = walked.types.component_item_for_import(name) else {
            continue;
        };
        types.note_names(name, &item.ty);
        let functions = match &item.ty {
            ComponentEntityType::Instance(id) => functions_of(walked, *id),
            ComponentEntityType::Func(_) => BTreeSet::from([(*name).to_owned()]),
            // A type that is spelled out is a definition, nothing has to bring it.
            ComponentEntityType::Type {
                created: ComponentAnyTypeId::Resource(_),
                ..
            } => BTreeSet::new(),
            ComponentEntityType::Type { .. } => continue,
            // Modules, components and values: the table knows none, so they are unknown.
            _ => BTreeSet::new(),
        };
        let name: InterfaceName = name.parse().map_err(|e| bad_name(name, &e))?;
        let functions: Vec<String> = functions.into_iter().collect();
        let satisfier = bindery_grants::satisfier(&name, &functions);
        imports.push(Import {
            name,
            functions,
            satisfier,
        });
    }
    imports.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(imports)
}

/// Names of the functions of an instance and of the instances inside it, which are
/// bounded by the nesting of types.
fn functions_of(walked: &Walked<'_>, id: ComponentInstanceTypeId) -> BTreeSet<String> {
    let mut functions = BTreeSet::new();
    let mut open = vec![(String::new(), id)];
    while let Some((path, id)) = open.pop() {
        let Some(instance) = walked.types.as_ref().get(id) else {
            continue;
        };
        for (name, item) in &instance.exports {
            match item.ty {
                ComponentEntityType::Func(_) => {
                    functions.insert(format!("{path}{name}"));
                }
                ComponentEntityType::Instance(inner) => {
                    open.push((format!("{path}{name}/"), inner));
                }
                _ => {}
            }
        }
    }
    functions
}
