//! Component types as data: one hash-consed table that schema, checker, lowering and
//! lifting all read, so they cannot disagree.
//!
//! Equal types of one table have equal ids. A node costs the same however often it is
//! shared, so a tower of records that shares its parts stays as small as its text.

use std::collections::HashMap;
use std::sync::Arc;

/// A type of a [`TypeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TyId(u32);

/// A component type; its parts are ids of the same table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// `bool`
    Bool,
    /// `u8`
    U8,
    /// `u16`
    U16,
    /// `u32`
    U32,
    /// `u64`
    U64,
    /// `s8`
    S8,
    /// `s16`
    S16,
    /// `s32`
    S32,
    /// `s64`
    S64,
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// `char`
    Char,
    /// `string`
    String,
    /// `list<u8>`: bytes, base64 in JSON and moved in bulk.
    Bytes,
    /// `list<T>` for any other `T`
    List(TyId),
    /// `tuple<…>`
    Tuple(Arc<[TyId]>),
    /// `record`
    Record(Arc<Record>),
    /// `variant`
    Variant(Arc<Variant>),
    /// `enum`
    Enum(Arc<Enum>),
    /// `flags`, at most 32 labels
    Flags(Arc<Flags>),
    /// `option<T>`
    Option(TyId),
    /// `result<T, E>` inside a value, either payload may be missing
    Result {
        /// payload of `ok`
        ok: Option<TyId>,
        /// payload of `err`
        err: Option<TyId>,
    },
    /// A resource, future, stream or error context: no JSON form.
    Handle(Handle),
}

/// A type that JSON cannot carry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Handle {
    /// `own<R>` with the resource's name
    Own(Arc<str>),
    /// `borrow<R>` with the resource's name
    Borrow(Arc<str>),
    /// `future<…>`
    Future,
    /// `stream<…>`
    Stream,
    /// `error-context`
    ErrorContext,
}

/// Fields in declaration order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Name as declared, if the type has one: titles and `$defs`, never identity alone.
    pub name: Option<Arc<str>>,
    /// The fields.
    pub fields: Vec<Field>,
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// WIT name, spelled exactly.
    pub name: Arc<str>,
    /// Its type.
    pub ty: TyId,
    /// Its documentation, if any.
    pub docs: Option<Arc<str>>,
}

/// Cases in declaration order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Name as declared, if any.
    pub name: Option<Arc<str>>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// One case of a variant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// WIT name, spelled exactly.
    pub name: Arc<str>,
    /// Its payload, if any.
    pub ty: Option<TyId>,
    /// Its documentation, if any.
    pub docs: Option<Arc<str>>,
}

/// Case names in declaration order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Enum {
    /// Name as declared, if any.
    pub name: Option<Arc<str>>,
    /// The case names.
    pub cases: Vec<Arc<str>>,
}

/// Labels in declaration order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flags {
    /// Name as declared, if any.
    pub name: Option<Arc<str>>,
    /// The labels, at most 32.
    pub labels: Vec<Arc<str>>,
}

/// The types of one component, frozen.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    nodes: Vec<Ty>,
}

impl TypeTable {
    /// The type behind `id`. An id of another table is a mistake of the host; it is
    /// answered with a type that nothing can carry.
    pub fn get(&self, id: TyId) -> &Ty {
        const NOTHING: &Ty = &Ty::Handle(Handle::ErrorContext);
        self.nodes.get(id.0 as usize).unwrap_or(NOTHING)
    }

    /// Number of distinct types.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Every type with its id, parts before wholes.
    pub fn iter(&self) -> impl Iterator<Item = (TyId, &Ty)> {
        (0..).map(TyId).zip(&self.nodes)
    }

    /// Whether there is no type at all.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Nesting depth of `id`: 1 for a leaf. Parts come before wholes in the table, so
    /// one pass over it answers for all types, whatever is shared.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let deepest = parts(node)
                .filter_map(|part| depths.get(part.0 as usize).copied())
                .max()
                .unwrap_or(0);
            depths.push(deepest.saturating_add(1));
        }
        depths
    }

    /// Nesting depth of one type: 1 for a leaf.
    pub fn depth(&self, id: TyId) -> u32 {
        self.depths().get(id.0 as usize).copied().unwrap_or(1)
    }
}

impl TyId {
    /// Position in its table, for side tables indexed alike.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The types that `ty` is made of, in declaration order.
pub(crate) fn parts(ty: &Ty) -> Box<dyn Iterator<Item = TyId> + '_> {
    match ty {
        Ty::Bool | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64 => {
            Box::new(std::iter::empty())
        }
        Ty::F32 | Ty::F64 | Ty::Char | Ty::String | Ty::Bytes | Ty::Handle(_) => {
            Box::new(std::iter::empty())
        }
        Ty::Enum(_) | Ty::Flags(_) => Box::new(std::iter::empty()),
        Ty::List(item) | Ty::Option(item) => Box::new(std::iter::once(*item)),
        Ty::Tuple(items) => Box::new(items.iter().copied()),
        Ty::Record(record) => Box::new(record.fields.iter().map(|field| field.ty)),
        Ty::Variant(variant) => Box::new(variant.cases.iter().filter_map(|case| case.ty)),
        Ty::Result { ok, err } => Box::new(ok.iter().chain(err).copied()),
    }
}

impl Ty {
    /// The types this one is made of, in declaration order.
    pub fn parts(&self) -> impl Iterator<Item = TyId> + '_ {
        parts(self)
    }
}

/// Builds a [`TypeTable`] bottom up; equal types get equal ids.
#[derive(Debug, Default)]
pub struct TypeTableBuilder {
    nodes: Vec<Ty>,
    ids: HashMap<Ty, TyId>,
}

impl TypeTableBuilder {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `ty`, whose parts must have been added before, or finds it.
    pub fn add(&mut self, ty: Ty) -> TyId {
        if let Some(id) = self.ids.get(&ty) {
            return *id;
        }
        // A table of 2^32 types does not fit in a component of any admissible size.
        let id = TyId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(ty.clone());
        self.ids.insert(ty, id);
        id
    }

    /// The type behind an id given by [`TypeTableBuilder::add`].
    pub fn get(&self, id: TyId) -> Option<&Ty> {
        self.nodes.get(id.0 as usize)
    }

    /// Number of types so far.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Freezes the table.
    pub fn finish(self) -> TypeTable {
        TypeTable { nodes: self.nodes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_types_have_equal_ids_and_a_shared_tower_stays_small() {
        let mut builder = TypeTableBuilder::new();
        let mut top = builder.add(Ty::U32);
        assert_eq!(top, builder.add(Ty::U32));
        for _ in 0..50 {
            top = builder.add(Ty::Tuple([top, top].into()));
        }
        let table = builder.finish();
        assert_eq!(table.len(), 51);
        assert_eq!(table.depth(top), 51);
    }
}
