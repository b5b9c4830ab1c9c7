//! Choices: enums, variants, options, results.
//!
//! Rule (case A3): every value has its own text. A case with a payload is an object of
//! one member, a case without one is a string, and an option inside an option is spelled
//! out as `{"some": …}`.

use bindery_types::{Enum, Ty, TyId, TypeTable, Variant};

use super::Reader;
use crate::fault::Fault;
use crate::place::Place;
use crate::scan::{Head, Stop};
use crate::tape::Node;
use crate::words;

/// What an object of one member may hold.
#[derive(Clone, Copy)]
enum Cases<'a> {
    Variant(TyId, &'a Variant),
    Result(Option<TyId>, Option<TyId>),
    /// The value inside an option of an option.
    Some(TyId),
}

/// What stands after the name of a case.
#[derive(Clone, Copy)]
enum Payload {
    Value(TyId),
    /// `null`, since this side of a result has no payload.
    Null,
    /// The object form is wrong: the case of a variant has no payload.
    None,
}

impl<'a> Cases<'a> {
    fn names(self) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        match self {
            Cases::Variant(_, variant) => Box::new(variant.cases.iter().map(|case| &*case.name)),
            Cases::Result(..) => Box::new(["ok", "err"].into_iter()),
            Cases::Some(_) => Box::new(std::iter::once("some")),
        }
    }

    fn expectation(self, types: &TypeTable) -> String {
        match self {
            Cases::Variant(id, _) => words::expectation(id, types),
            Cases::Result(..) => "{\"ok\": …} or {\"err\": …}".to_owned(),
            Cases::Some(_) => "`null` or {\"some\": …}".to_owned(),
        }
    }
}

impl<'a> Reader<'a> {
    /// Takes a string for an enum.
    pub(super) fn enumeration(
        &mut self,
        id: TyId,
        cases: &'a Enum,
        at: &Place<'_>,
    ) -> Result<(), Stop> {
        let name = self.scan.string()?.text();
        let name_at = |at: usize| cases.cases.get(at).map(|case| &**case);
        match self
            .names
            .find(Some(id), cases.cases.len(), name_at, &name, 0)
        {
            Some(index) => self.push_case(index),
            None => {
                let names = cases.cases.iter().map(|case| &**case);
                let expected = words::expectation(id, self.types);
                self.unknown_case(at, &name, names, expected);
            }
        }
        Ok(())
    }

    /// Takes a string for a variant: a case without payload.
    pub(super) fn bare_case(
        &mut self,
        id: TyId,
        variant: &'a Variant,
        at: &Place<'_>,
    ) -> Result<(), Stop> {
        let start = self.scan.at();
        let name = self.scan.string()?.text();
        match self.find_case(id, variant, &name) {
            Some((index, _, None)) => self.push_case(index),
            Some((_, name, Some(payload))) => {
                let types = self.types;
                self.faults.add(at, || {
                    let needs = words::brief(payload, types);
                    let name = words::shown(name);
                    Fault::new(
                        format!("{{\"{name}\": {needs}}}"),
                        format!("the string `{name}`"),
                    )
                    .saying(format!(
                        "case `{name}` needs {needs}: write {{\"{name}\": …}}"
                    ))
                });
            }
            None => {
                let found = self.scan.since(start);
                let expected = words::expectation(id, self.types);
                match super::holds_json(found) {
                    true => self
                        .faults
                        .add(at, || super::json_in_a_string(expected, found)),
                    false => {
                        let names = variant.cases.iter().map(|case| &*case.name);
                        self.unknown_case(at, &name, names, expected);
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes an object for a variant: a case with its payload.
    pub(super) fn variant(
        &mut self,
        id: TyId,
        variant: &'a Variant,
        at: &Place<'_>,
    ) -> Result<(), Stop> {
        self.single(Cases::Variant(id, variant), at)
    }

    /// Takes an object for a result inside a value.
    pub(super) fn result(
        &mut self,
        ok: Option<TyId>,
        err: Option<TyId>,
        at: &Place<'_>,
    ) -> Result<(), Stop> {
        self.single(Cases::Result(ok, err), at)
    }

    /// Takes `null` or the value of an option.
    pub(super) fn option(&mut self, inner: TyId, head: Head, at: &Place<'_>) -> Result<(), Stop> {
        match (head, self.types.get(inner)) {
            (Head::Null, _) => {
                self.push_case(0);
                self.scan.literal(head)
            }
            (Head::Object, Ty::Option(_)) => self.single(Cases::Some(inner), at),
            (_, Ty::Option(_)) => {
                let types = self.types;
                self.unexpected(at, || Cases::Some(inner).expectation(types), true)
            }
            _ => {
                self.push_case(1);
                self.value(inner, at)
            }
        }
    }

    /// Takes an object of exactly one member.
    fn single(&mut self, cases: Cases<'a>, at: &Place<'_>) -> Result<(), Stop> {
        self.scan.open()?;
        let mut count = 0;
        while let Some(key) = self.scan.member(count == 0)? {
            self.scan.charge(1)?;
            match count {
                0 => self.case(cases, &key.text(), at)?,
                _ => self.scan.skip()?,
            }
            count += 1;
        }
        if count != 1 {
            let types = self.types;
            self.faults.add(at, || {
                let given = words::counted(count, "member");
                let expected = cases.expectation(types);
                let sentence = format!("exactly one member expected, {given} given: {expected}");
                Fault::new(expected, format!("an object of {given}")).saying(sentence)
            });
        }
        Ok(())
    }

    /// Takes what stands after the name of a case.
    fn case(&mut self, cases: Cases<'a>, key: &str, at: &Place<'_>) -> Result<(), Stop> {
        let Some((index, name, payload)) = self.find_member(cases, key) else {
            let expected = cases.expectation(self.types);
            self.unknown_case(at, key, cases.names(), expected);
            return self.scan.skip();
        };
        self.push_case(index);
        let inside = at.key(name);
        match payload {
            Payload::Value(id) => self.value(id, &inside),
            Payload::Null => match self.scan.head()? {
                Head::Null => self.scan.literal(Head::Null),
                _ => self.unexpected(
                    &inside,
                    || "`null`, since there is no payload".into(),
                    false,
                ),
            },
            Payload::None => {
                self.faults.add(at, || {
                    let name = words::shown(name);
                    Fault::new(format!("the string \"{name}\""), "an object")
                        .saying(format!("case `{name}` has no payload: write \"{name}\""))
                });
                self.scan.skip()
            }
        }
    }

    fn find_member(&mut self, cases: Cases<'a>, key: &str) -> Option<(usize, &'a str, Payload)> {
        let optional = |payload: Option<TyId>| payload.map_or(Payload::Null, Payload::Value);
        match (cases, key) {
            (Cases::Variant(id, variant), _) => {
                let (index, name, payload) = self.find_case(id, variant, key)?;
                Some((index, name, payload.map_or(Payload::None, Payload::Value)))
            }
            (Cases::Result(ok, _), "ok") => Some((0, "ok", optional(ok))),
            (Cases::Result(_, err), "err") => Some((1, "err", optional(err))),
            (Cases::Some(id), "some") => Some((1, "some", Payload::Value(id))),
            (Cases::Result(..) | Cases::Some(_), _) => None,
        }
    }

    fn find_case(
        &mut self,
        id: TyId,
        variant: &'a Variant,
        name: &str,
    ) -> Option<(usize, &'a str, Option<TyId>)> {
        let name_at = |at: usize| variant.cases.get(at).map(|case| &*case.name);
        let index = self
            .names
            .find(Some(id), variant.cases.len(), name_at, name, 0)?;
        let case = variant.cases.get(index)?;
        Some((index, &*case.name, case.ty))
    }

    fn push_case(&mut self, index: usize) {
        // A component has far fewer cases than 2^32.
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        self.push(Node::Case { index });
    }

    #[cold]
    fn unknown_case<'n>(
        &mut self,
        at: &Place<'_>,
        key: &str,
        names: impl Iterator<Item = &'n str>,
        expected: String,
    ) {
        self.faults.add(at, || {
            let shown = words::excerpt(key);
            let likely = words::suggestion(key, names);
            let sentence = format!("no case `{shown}`{likely}; expected {expected}");
            Fault::new(expected, format!("the case `{shown}`")).saying(sentence)
        });
    }
}
