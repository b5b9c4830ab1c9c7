//! Component types as the validator knows them, into the table that everything else reads.
//!
//! Rule (R-022, X17): one node a type, however often it is shared; aliases are resolved,
//! names are those of the first declaration. The tools' own reader of WIT is the oracle of
//! this one in the tests; it is not used here because it asserts what only well-made
//! components keep, and an assertion that a file can break ends the process.

use std::collections::HashMap;
use std::sync::Arc;

use bindery_types::{
    Case, Enum, ErrorType, Field, Flags, Handle, Record, Refusal, Ty, TyId, TypeTable,
    TypeTableBuilder, Variant,
};
use wasmparser::PrimitiveValType;
use wasmparser::component_types::{
    AliasableResourceId, ComponentAnyTypeId, ComponentDefinedType, ComponentDefinedTypeId,
    ComponentEntityType, ComponentInstanceTypeId, ComponentValType,
};
use wasmparser::types::Types;

use super::bounds;
use super::claims::Claims;

/// Where a type was given its name.
#[derive(Clone, Debug)]
struct Named<'a> {
    interface: Option<&'a str>,
    name: &'a str,
}

/// Builds the table of one component.
pub(super) struct TypeReader<'a> {
    types: &'a Types,
    claims: &'a Claims<'a>,
    names: HashMap<ComponentAnyTypeId, Named<'a>>,
    known: HashMap<ComponentDefinedTypeId, TyId>,
    table: TypeTableBuilder,
}

impl<'a> TypeReader<'a> {
    /// A reader of `types`, with an empty table.
    pub(super) fn new(types: &'a Types, claims: &'a Claims<'a>) -> Self {
        Self {
            types,
            claims,
            names: HashMap::new(),
            known: HashMap::new(),
            table: TypeTableBuilder::new(),
        }
    }

    /// Notes the names that an import or export of the component gives to types.
    pub(super) fn note_names(&mut self, name: &'a str, ty: &ComponentEntityType) {
        match ty {
            ComponentEntityType::Type { created, .. } => self.name(*created, None, name),
            ComponentEntityType::Instance(id) => self.note_instance(name, *id),
            _ => {}
        }
    }

    fn note_instance(&mut self, interface: &'a str, id: ComponentInstanceTypeId) {
        let Some(instance) = self.types.as_ref().get(id) else {
            return;
        };
        for (name, item) in &instance.exports {
            if let ComponentEntityType::Type { created, .. } = item.ty {
                self.name(created, Some(interface), name);
            }
        }
    }

    fn name(&mut self, id: ComponentAnyTypeId, interface: Option<&'a str>, name: &'a str) {
        self.names.entry(id).or_insert(Named { interface, name });
    }

    /// The name under which the type was first declared: the last one on the way from
    /// alias to alias.
    fn first_name(&self, id: ComponentAnyTypeId) -> Option<Named<'a>> {
        let mut name = self.names.get(&id);
        let mut at = id;
        while let Some(next) = self.types.peel_alias(at) {
            name = self.names.get(&next).or(name);
            at = next;
        }
        name.cloned()
    }

    /// The id of `ty` in the table.
    pub(super) fn value(&mut self, ty: &ComponentValType) -> Result<TyId, Refusal> {
        match ty {
            ComponentValType::Primitive(primitive) => Ok(self.primitive(*primitive)),
            ComponentValType::Type(id) => self.defined(*id),
        }
    }

    fn primitive(&mut self, ty: PrimitiveValType) -> TyId {
        self.table.add(match ty {
            PrimitiveValType::Bool => Ty::Bool,
            PrimitiveValType::U8 => Ty::U8,
            PrimitiveValType::U16 => Ty::U16,
            PrimitiveValType::U32 => Ty::U32,
            PrimitiveValType::U64 => Ty::U64,
            PrimitiveValType::S8 => Ty::S8,
            PrimitiveValType::S16 => Ty::S16,
            PrimitiveValType::S32 => Ty::S32,
            PrimitiveValType::S64 => Ty::S64,
            PrimitiveValType::F32 => Ty::F32,
            PrimitiveValType::F64 => Ty::F64,
            PrimitiveValType::Char => Ty::Char,
            PrimitiveValType::String => Ty::String,
            PrimitiveValType::ErrorContext => Ty::Handle(Handle::ErrorContext),
        })
    }

    /// Recursion is as deep as the type, which the validator bounds at 100.
    fn defined(&mut self, id: ComponentDefinedTypeId) -> Result<TyId, Refusal> {
        if let Some(known) = self.known.get(&id) {
            return Ok(*known);
        }
        let types = self.types;
        let ty = match types.as_ref().get(id) {
            Some(ComponentDefinedType::Primitive(primitive)) => {
                let id_in_table = self.primitive(*primitive);
                self.known.insert(id, id_in_table);
                return Ok(id_in_table);
            }
            Some(ComponentDefinedType::List { element, .. }) => self.list(element)?,
            Some(ComponentDefinedType::Tuple(tuple)) => {
                let items: Result<Vec<TyId>, Refusal> =
                    tuple.types.iter().map(|item| self.value(item)).collect();
                Ty::Tuple(items?.into())
            }
            Some(ComponentDefinedType::Option { ty, .. }) => Ty::Option(self.value(ty)?),
            Some(ComponentDefinedType::Result { ok, err, .. }) => Ty::Result {
                ok: self.payload(ok.as_ref())?,
                err: self.payload(err.as_ref())?,
            },
            Some(ComponentDefinedType::Own(resource)) => {
                Ty::Handle(Handle::Own(self.resource(*resource)))
            }
            Some(ComponentDefinedType::Borrow(resource)) => {
                Ty::Handle(Handle::Borrow(self.resource(*resource)))
            }
            Some(ComponentDefinedType::Future { .. }) => Ty::Handle(Handle::Future),
            Some(ComponentDefinedType::Stream { .. }) => Ty::Handle(Handle::Stream),
            Some(labelled) => self.labelled(id, labelled)?,
            None => return Err(unknown_type()),
        };
        let id_in_table = self.table.add(ty);
        self.known.insert(id, id_in_table);
        Ok(id_in_table)
    }

    /// Bytes have a form of their own in JSON and move in bulk.
    fn list(&mut self, element: &ComponentValType) -> Result<Ty, Refusal> {
        let element = self.value(element)?;
        Ok(match self.table.get(element) {
            Some(Ty::U8) => Ty::Bytes,
            _ => Ty::List(element),
        })
    }

    fn payload(&mut self, ty: Option<&ComponentValType>) -> Result<Option<TyId>, Refusal> {
        ty.map(|ty| self.value(ty)).transpose()
    }

    /// The types whose parts have names.
    fn labelled(
        &mut self,
        id: ComponentDefinedTypeId,
        ty: &'a ComponentDefinedType,
    ) -> Result<Ty, Refusal> {
        let named = self.first_name(ComponentAnyTypeId::Defined(id));
        let name: Option<Arc<str>> = named.as_ref().map(|named| named.name.into());
        let docs = |claims: &Claims<'_>, item: &str| -> Option<Arc<str>> {
            let named = named.as_ref()?;
            Some(claims.item(named.interface, named.name, item)?.into())
        };
        Ok(match ty {
            ComponentDefinedType::Record(record) => {
                let mut fields = Vec::with_capacity(record.fields.len());
                for (field, ty) in &record.fields {
                    fields.push(Field {
                        name: field.as_str().into(),
                        ty: self.value(ty)?,
                        docs: docs(self.claims, field),
                    });
                }
                Ty::Record(Arc::new(Record { name, fields }))
            }
            ComponentDefinedType::Variant(variant) => {
                let mut cases = Vec::with_capacity(variant.cases.len());
                for (case, payload) in &variant.cases {
                    cases.push(Case {
                        name: case.as_str().into(),
                        ty: self.payload(payload.ty.as_ref())?,
                        docs: docs(self.claims, case),
                    });
                }
                Ty::Variant(Arc::new(Variant { name, cases }))
            }
            ComponentDefinedType::Enum(cases) => {
                let cases = cases.iter().map(|case| case.as_str().into()).collect();
                Ty::Enum(Arc::new(Enum { name, cases }))
            }
            ComponentDefinedType::Flags(labels) => {
                let labels = labels.iter().map(|label| label.as_str().into()).collect();
                Ty::Flags(Arc::new(Flags { name, labels }))
            }
            // Maps and fixed-length lists are features that are off.
            _ => return Err(unknown_type()),
        })
    }

    fn resource(&self, id: AliasableResourceId) -> Arc<str> {
        let named = self.first_name(ComponentAnyTypeId::Resource(id));
        named.map_or("resource", |named| named.name).into()
    }

    /// The table, when no type of it is nested deeper than [`bounds::TYPE_DEPTH`].
    pub(super) fn finish(self) -> Result<TypeTable, Refusal> {
        let table = self.table.finish();
        let deepest = table.depths().into_iter().max().unwrap_or(0);
        match u64::from(deepest) <= bounds::TYPE_DEPTH.max {
            true => Ok(table),
            false => Err(super::invalid::too_deep(Some(deepest))),
        }
    }
}

fn unknown_type() -> Refusal {
    Refusal::new(
        ErrorType::ComponentInvalid,
        "this component uses a kind of type that this host does not know; build it with tools of the 0.2 line of WASI",
    )
    .with("kind", "feature")
}
