//! The name of a flags type that has too many labels.
//!
//! Rule (A9): the refusal names the type. The validator stops at its definition; its name
//! comes later, as the first export of that type in the same list of declarations.

use bindery_types::{ErrorType, Refusal};
use wasmparser::{
    ComponentDefinedType, ComponentExternalKind, ComponentType, ComponentTypeDeclaration,
    ComponentTypeRef, InstanceTypeDeclaration, Parser, Payload, TypeBounds,
};

use super::invalid::printable;
use super::nesting;

const LABELS_MAX: usize = 32;

/// The refusal of the component `bytes`, whose flags type at `offset` is too long.
pub(super) fn refusal(bytes: &[u8], offset: usize) -> Refusal {
    let found = find(bytes).unwrap_or_default();
    let named = match &found.name {
        Some(name) => format!("the flags type `{}`", printable(name)),
        None => "a flags type without a name".to_owned(),
    };
    let labels = found.labels;
    Refusal::new(
        ErrorType::ComponentInvalid,
        format!("{named} has {labels} labels, at most {LABELS_MAX} are possible; split it into two types"),
    )
    .with("kind", "flags")
    .with("type", found.name)
    .with("limit", LABELS_MAX)
    .with("found", labels)
    .for_operator(format!("flags type at offset {offset:#x}"))
}

#[derive(Default)]
struct TooLong {
    name: Option<String>,
    labels: usize,
}

/// One item of a list of declarations, as far as types are concerned.
enum Item<'a> {
    /// A type that is fine.
    Type,
    /// Flags with too many labels.
    Flags(usize),
    /// A name for the type of that index, which is a type of its own.
    Named(&'a str, u32),
}

/// The first flags type with too many labels, in any list of declarations.
fn find(bytes: &[u8]) -> Option<TooLong> {
    // One list of items for each open component; types declared inside types have lists
    // of their own and are looked through on the spot.
    let mut open: Vec<Vec<Item<'_>>> = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let Ok(payload) = payload else { break };
        match &payload {
            Payload::Version { .. } => open.push(Vec::new()),
            Payload::End(_) => {
                if let Some(found) = open.pop().and_then(|items| in_list(&items)) {
                    return Some(found);
                }
            }
            Payload::ComponentTypeSection(section) => {
                // Sections behind the faulty one have not been measured yet (B7).
                nesting::count(section, bytes).ok()?;
                for ty in section.clone().into_iter().flatten() {
                    match declared(&ty, open.last_mut()?) {
                        None => {}
                        found => return found,
                    }
                }
            }
            _ => add_names(&payload, open.last_mut()?),
        }
    }
    open.iter().find_map(|items| in_list(items))
}

/// Adds `ty` to `items`, or finds what is looked for inside it.
fn declared<'a>(ty: &ComponentType<'a>, items: &mut Vec<Item<'a>>) -> Option<TooLong> {
    let mut inner = Vec::new();
    match ty {
        ComponentType::Instance(declarations) => {
            for declaration in declarations {
                match declaration {
                    InstanceTypeDeclaration::Type(ty) => {
                        if let Some(found) = declared(ty, &mut inner) {
                            return Some(found);
                        }
                    }
                    InstanceTypeDeclaration::Alias(alias) => inner.extend(aliased(alias)),
                    InstanceTypeDeclaration::Export { name, ty } => {
                        inner.extend(named(name.name, *ty));
                    }
                    InstanceTypeDeclaration::CoreType(_) => {}
                }
            }
        }
        ComponentType::Component(declarations) => {
            for declaration in declarations {
                match declaration {
                    ComponentTypeDeclaration::Type(ty) => {
                        if let Some(found) = declared(ty, &mut inner) {
                            return Some(found);
                        }
                    }
                    ComponentTypeDeclaration::Alias(alias) => inner.extend(aliased(alias)),
                    ComponentTypeDeclaration::Export { name, ty } => {
                        inner.extend(named(name.name, *ty));
                    }
                    ComponentTypeDeclaration::Import(import) => {
                        inner.extend(named(import.name.name, import.ty));
                    }
                    ComponentTypeDeclaration::CoreType(_) => {}
                }
            }
        }
        ComponentType::Defined(ComponentDefinedType::Flags(labels))
            if labels.len() > LABELS_MAX =>
        {
            items.push(Item::Flags(labels.len()));
            return None;
        }
        ComponentType::Defined(_) | ComponentType::Func(_) | ComponentType::Resource { .. } => {}
    }
    items.push(Item::Type);
    in_list(&inner)
}

/// Adds the types that a section of imports, exports or aliases brings.
fn add_names<'a>(payload: &Payload<'a>, items: &mut Vec<Item<'a>>) {
    match payload {
        Payload::ComponentImportSection(section) => {
            for import in section.clone().into_iter().flatten() {
                items.extend(named(import.name.name, import.ty));
            }
        }
        Payload::ComponentAliasSection(section) => {
            for alias in section.clone().into_iter().flatten() {
                items.extend(aliased(&alias));
            }
        }
        Payload::ComponentExportSection(section) => {
            for export in section.clone().into_iter().flatten() {
                if export.kind == ComponentExternalKind::Type {
                    items.push(Item::Named(export.name.name, export.index));
                }
            }
        }
        _ => {}
    }
}

fn named<'a>(name: &'a str, ty: ComponentTypeRef) -> Option<Item<'a>> {
    match ty {
        ComponentTypeRef::Type(TypeBounds::Eq(index)) => Some(Item::Named(name, index)),
        ComponentTypeRef::Type(TypeBounds::SubResource) => Some(Item::Type),
        _ => None,
    }
}

fn aliased<'a>(alias: &wasmparser::ComponentAlias<'a>) -> Option<Item<'a>> {
    use wasmparser::{ComponentAlias, ComponentOuterAliasKind};
    match alias {
        ComponentAlias::InstanceExport {
            kind: ComponentExternalKind::Type,
            ..
        }
        | ComponentAlias::Outer {
            kind: ComponentOuterAliasKind::Type,
            ..
        } => Some(Item::Type),
        _ => None,
    }
}

fn in_list(items: &[Item<'_>]) -> Option<TooLong> {
    let at = items
        .iter()
        .position(|item| matches!(item, Item::Flags(_)))?;
    let Some(Item::Flags(labels)) = items.get(at) else {
        return None;
    };
    let name = items.iter().find_map(|item| match item {
        Item::Named(name, index) if usize::try_from(*index) == Ok(at) => Some((*name).to_owned()),
        _ => None,
    });
    Some(TooLong {
        name,
        labels: *labels,
    })
}
