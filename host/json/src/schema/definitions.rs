//! Which types get a definition of their own, under which name.
//!
//! Rule (case X17): a schema is as long as its types, however often they are shared, and
//! nested only so deep that no reader of it overflows. Names are the declared ones, made
//! unique in the order in which the function mentions them, so that the same function has
//! the same schema whatever else its component exports.

use std::collections::HashMap;

use bindery_types::{Ty, TyId, TypeTable};
use serde_json::{Map, Value, json};

use super::form::{Direction, schema_of};

/// Types written inside one another before the next one gets a definition.
const INLINE_DEPTH_MAX: u32 = 16;

/// The types of one schema, and what is known of them so far.
pub(super) struct Definitions<'a> {
    types: &'a TypeTable,
    direction: Direction,
    /// Mentions of each type.
    mentions: HashMap<TyId, u32>,
    /// Names of the types that have a definition.
    names: HashMap<TyId, String>,
    /// Finished schemas of the others, until they are used.
    inline: HashMap<TyId, Value>,
    defs: Map<String, Value>,
}

impl<'a> Definitions<'a> {
    /// Prepares everything that `roots` are made of. A single root without a second
    /// mention is left to the caller, who writes it at the top.
    pub(super) fn new(
        types: &'a TypeTable,
        direction: Direction,
        roots: impl IntoIterator<Item = TyId>,
    ) -> Self {
        let roots: Vec<TyId> = roots.into_iter().collect();
        let (order, mentions) = walk(types, &roots);
        let mut definitions = Self {
            types,
            direction,
            mentions,
            names: HashMap::new(),
            inline: HashMap::new(),
            defs: Map::new(),
        };
        definitions.choose_names(&order, &roots);
        for id in order {
            let schema = schema_of(&mut definitions, types, id);
            match definitions.names.get(&id) {
                Some(name) => drop(definitions.defs.insert(name.clone(), schema)),
                None => drop(definitions.inline.insert(id, schema)),
            }
        }
        definitions
    }

    pub(super) fn direction(&self) -> Direction {
        self.direction
    }

    pub(super) fn is_option(&self, id: TyId) -> bool {
        matches!(self.types.get(id), Ty::Option(_))
    }

    /// The schema of a type where it is mentioned: a reference, or the schema itself.
    pub(super) fn form(&mut self, id: TyId) -> Value {
        if let Some(name) = self.names.get(&id) {
            return json!({ "$ref": format!("#/$defs/{name}") });
        }
        // What is mentioned once is moved to its place, so that nothing is copied twice.
        let schema = match self.mentions.get(&id) {
            Some(1) => self.inline.remove(&id),
            _ => self.inline.get(&id).cloned(),
        };
        schema.unwrap_or_else(|| json!({ "not": {} }))
    }

    pub(super) fn finish(self) -> Map<String, Value> {
        self.defs
    }

    fn choose_names(&mut self, order: &[TyId], roots: &[TyId]) {
        let mut taken = HashMap::new();
        let mut depths: HashMap<TyId, u32> = HashMap::new();
        for id in order {
            let ty = self.types.get(*id);
            let inside = ty.parts().filter_map(|part| depths.get(&part)).max();
            let depth = inside.map_or(0, |depth| depth + 1);
            let mentions = self.mentions.get(id).copied().unwrap_or(0);
            let top = roots.len() == 1 && mentions == 1 && roots.first() == Some(id);
            let shared = mentions > 1 && !self.is_small(*id);
            let deep = depth > INLINE_DEPTH_MAX;
            if !top && (declared_name(ty).is_some() || shared || deep) {
                self.names.insert(*id, unique_name(ty, &mut taken));
                continue;
            }
            depths.insert(*id, depth);
        }
    }

    /// Whether writing the type twice costs no more than referring to it: a leaf, or a
    /// list or option of a leaf or of something that has a definition anyway.
    fn is_small(&self, id: TyId) -> bool {
        let is_leaf = |ty: &Ty| {
            let composite = matches!(ty, Ty::Enum(_) | Ty::Flags(_) | Ty::Result { .. });
            !composite
                && ty.parts().next().is_none()
                && !matches!(ty, Ty::Record(_) | Ty::Variant(_))
        };
        match self.types.get(id) {
            Ty::List(item) | Ty::Option(item) => {
                is_leaf(self.types.get(*item)) || self.names.contains_key(item)
            }
            ty => is_leaf(ty),
        }
    }
}

/// Every type that `roots` are made of, parts before wholes, in the order of mention; and
/// how often each is mentioned. Without recursion: types may be nested deeper than
/// anything that is called.
fn walk(types: &TypeTable, roots: &[TyId]) -> (Vec<TyId>, HashMap<TyId, u32>) {
    let mut order = Vec::new();
    let mut mentions: HashMap<TyId, u32> = HashMap::new();
    let mut open: Vec<(TyId, bool)> = roots.iter().rev().map(|id| (*id, false)).collect();
    while let Some((id, parts_done)) = open.pop() {
        if parts_done {
            order.push(id);
            continue;
        }
        let count = mentions.entry(id).or_insert(0);
        *count = count.saturating_add(1);
        if *count > 1 {
            continue;
        }
        open.push((id, true));
        let parts: Vec<TyId> = types.get(id).parts().collect();
        open.extend(parts.into_iter().rev().map(|part| (part, false)));
    }
    (order, mentions)
}

fn declared_name(ty: &Ty) -> Option<&str> {
    match ty {
        Ty::Record(record) => record.name.as_deref(),
        Ty::Variant(variant) => variant.name.as_deref(),
        Ty::Enum(cases) => cases.name.as_deref(),
        Ty::Flags(flags) => flags.name.as_deref(),
        _ => None,
    }
}

/// The declared name or the kind, with a number when it is taken. `taken` holds for each
/// name the number to try next, so that a thousand namesakes cost a thousand steps.
fn unique_name(ty: &Ty, taken: &mut HashMap<String, u32>) -> String {
    let kind = match ty {
        Ty::Record(_) => "record",
        Ty::Variant(_) => "variant",
        Ty::Enum(_) => "enum",
        Ty::Flags(_) => "flags",
        Ty::Tuple(_) => "tuple",
        Ty::List(_) => "list",
        Ty::Option(_) => "option",
        Ty::Result { .. } => "result",
        _ => "type",
    };
    // A name is part of a URI reference: whatever is not plain there becomes a dash.
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => c,
        _ => '-',
    };
    let base: String = declared_name(ty)
        .unwrap_or(kind)
        .chars()
        .map(plain)
        .collect();
    let mut name = base.clone();
    while taken.contains_key(&name) {
        let number = taken.entry(base.clone()).or_insert(1);
        *number = number.saturating_add(1);
        name = format!("{base}-{number}");
    }
    taken.insert(name.clone(), 1);
    name
}
