//! Objects with known members: records, and the parameters of a call.

use bindery_types::{Param, Record, Ty, TyId};

use super::Reader;
use crate::fault::Fault;
use crate::place::Place;
use crate::scan::{Head, Stop};
use crate::tape::{ABSENT, Node};
use crate::words;

/// Whose members an object has.
#[derive(Clone, Copy)]
enum Owner<'a> {
    Parameters(&'a [Param]),
    Record(TyId, &'a Record),
}

impl<'a> Owner<'a> {
    fn id(self) -> Option<TyId> {
        match self {
            Owner::Parameters(_) => None,
            Owner::Record(id, _) => Some(id),
        }
    }

    fn count(self) -> usize {
        match self {
            Owner::Parameters(params) => params.len(),
            Owner::Record(_, record) => record.fields.len(),
        }
    }

    fn member(self, at: usize) -> Option<(&'a str, TyId)> {
        match self {
            Owner::Parameters(params) => params.get(at).map(|param| (&*param.name, param.ty)),
            Owner::Record(_, record) => record.fields.get(at).map(|field| (&*field.name, field.ty)),
        }
    }

    fn names(self) -> impl Iterator<Item = &'a str> {
        (0..self.count()).filter_map(move |at| Some(self.member(at)?.0))
    }

    /// What a member is called.
    fn noun(self) -> &'static str {
        match self {
            Owner::Parameters(_) => "argument",
            Owner::Record(..) => "field",
        }
    }

    /// All members, for a name that is none of them.
    fn listing(self) -> String {
        match self.count() {
            0 => format!("no {}", self.noun()),
            _ => format!("one of {}", words::listing(self.names().map(words::quoted))),
        }
    }
}

impl<'a> Reader<'a> {
    /// Takes the object of all arguments.
    pub(super) fn parameters(&mut self, params: &'a [Param]) -> Result<(), Stop> {
        let owner = Owner::Parameters(params);
        match self.scan.head()? {
            Head::Object => self.members(owner, &Place::ROOT),
            _ => {
                let expected = || match params.is_empty() {
                    true => "an empty object, since the function takes no arguments".to_owned(),
                    false => format!(
                        "an object with the arguments {}",
                        words::listing(owner.names().map(words::quoted))
                    ),
                };
                self.unexpected(&Place::ROOT, expected, true)
            }
        }
    }

    /// Takes an object for a record.
    pub(super) fn record(
        &mut self,
        id: TyId,
        record: &'a Record,
        at: &Place<'_>,
    ) -> Result<(), Stop> {
        self.members(Owner::Record(id, record), at)
    }

    fn members(&mut self, owner: Owner<'a>, at: &Place<'_>) -> Result<(), Stop> {
        let count = owner.count();
        // Fields left out are values too: a record of a thousand options costs the same
        // whether its text is short or long.
        self.scan.charge(count)?;
        self.scan.open()?;
        let node = self.tape.nodes.len();
        let fields = self.tape.fields.len();
        self.push(Node::Record { fields: 0, end: 0 });
        self.tape
            .fields
            .resize(fields.saturating_add(count), ABSENT);
        let mut likely = 0;
        let mut first = true;
        while let Some(key) = self.scan.member(first)? {
            first = false;
            let key = key.text();
            let name_at = |at: usize| Some(owner.member(at)?.0);
            let found = self.names.find(owner.id(), count, name_at, &key, likely);
            let Some((position, (name, ty))) = found.and_then(|at| Some((at, owner.member(at)?)))
            else {
                self.unknown_member(owner, &key, at)?;
                continue;
            };
            likely = position + 1;
            let next = self.next_node();
            match self.tape.fields.get_mut(fields + position) {
                Some(slot) if *slot == ABSENT => {
                    *slot = next;
                    self.value(ty, &at.key(name))?;
                }
                _ => self.repeated_member(owner, name, at)?,
            }
        }
        self.check_absent(owner, fields, at);
        let end = self.next_node();
        if let Some(record) = self.tape.nodes.get_mut(node) {
            // An index that does not fit would meet no entry, which lowering refuses.
            let fields = u32::try_from(fields).unwrap_or(u32::MAX);
            *record = Node::Record { fields, end };
        }
        Ok(())
    }

    /// Notes every member that is missing and has to be there.
    fn check_absent(&mut self, owner: Owner<'a>, fields: usize, at: &Place<'_>) {
        let entries = self.tape.fields.get(fields..).unwrap_or_default();
        for (position, entry) in entries.iter().take(owner.count()).enumerate() {
            let Some((name, ty)) = owner.member(position) else {
                continue;
            };
            if *entry != ABSENT || matches!(self.types.get(ty), Ty::Option(_)) {
                continue;
            }
            let types = self.types;
            self.faults.add(&at.key(name), || {
                let expected = words::expectation(ty, types);
                let (noun, name) = (owner.noun(), words::shown(name));
                let sentence = format!("{noun} `{name}` is missing: expected {expected}");
                Fault::new(expected, "nothing").saying(sentence)
            });
        }
    }

    #[cold]
    fn unknown_member(&mut self, owner: Owner<'a>, key: &str, at: &Place<'_>) -> Result<(), Stop> {
        self.faults.add(&at.key(key), || {
            let (noun, shown) = (owner.noun(), words::excerpt(key));
            let likely = words::suggestion(key, owner.names());
            let expected = owner.listing();
            let sentence = format!("unknown {noun} `{shown}`{likely}; expected {expected}");
            Fault::new(expected, format!("the {noun} `{shown}`")).saying(sentence)
        });
        self.scan.charge(1)?;
        self.scan.skip()
    }

    #[cold]
    fn repeated_member(
        &mut self,
        owner: Owner<'a>,
        name: &str,
        at: &Place<'_>,
    ) -> Result<(), Stop> {
        self.faults.add(&at.key(name), || {
            let (noun, name) = (owner.noun(), words::shown(name));
            Fault::new(format!("one {noun} `{name}`"), "it again")
                .saying(format!("{noun} `{name}` is given more than once"))
        });
        self.scan.charge(1)?;
        self.scan.skip()
    }
}
