//! Values between components: the engine's to JSON text, and JSON text to the engine's.
//!
//! Rule: one mapping (design of the JSON form), read and written by the same code as that of
//! a call from outside; only the last step, from tape to value, is here. Types come from the
//! function that answers, which were found equal to those that are imported.

use bindery_grants::Signature;
use bindery_json::tape::{ABSENT, Node, Tape};
use bindery_json::text;
use bindery_types::{Budget, Function, Limit, LimitName, Param, Ty, TyId, TypeTable};
use wasmtime::component::Val;

/// Why there is no value.
#[derive(Debug)]
pub(super) enum Unmade {
    /// More parts than may pass, so many.
    Large(u64),
    /// The text does not fit the type.
    Unfit,
}

/// The arguments as one JSON object; none when they are not the function's.
pub(super) fn arguments(values: &[Val], signature: &Signature) -> Option<String> {
    let params = &signature.function.params;
    if params.len() != values.len() {
        return None;
    }
    let mut writer = Writer {
        types: &signature.types,
        out: Vec::new(),
    };
    let members = params.iter().zip(values);
    writer.members(members.map(|(param, value)| (&*param.name, param.ty, value)))?;
    String::from_utf8(writer.out).ok()
}

struct Writer<'a> {
    types: &'a TypeTable,
    out: Vec<u8>,
}

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn members<'v>(
        &mut self,
        members: impl Iterator<Item = (&'v str, TyId, &'v Val)>,
    ) -> Option<()> {
        self.put("{");
        for (place, (name, ty, value)) in members.enumerate() {
            if place > 0 {
                self.put(",");
            }
            text::push_str(&mut self.out, name);
            self.put(":");
            self.value(ty, value)?;
        }
        self.put("}");
        Some(())
    }

    fn value(&mut self, id: TyId, value: &Val) -> Option<()> {
        let types = self.types;
        match (types.get(id), value) {
            (Ty::Record(record), Val::Record(fields)) if record.fields.len() == fields.len() => {
                let both = record.fields.iter().zip(fields);
                self.members(both.map(|(field, (_, value))| (&*field.name, field.ty, value)))
            }
            (Ty::Bytes, Val::List(items)) => {
                let byte = |item: &Val| match item {
                    Val::U8(byte) => Some(*byte),
                    _ => None,
                };
                let bytes = items.iter().map(byte).collect::<Option<Vec<u8>>>()?;
                text::push_bytes(&mut self.out, &bytes);
                Some(())
            }
            (Ty::List(item), Val::List(items)) => {
                self.items(items.iter().map(|value| (*item, value)))
            }
            (Ty::Tuple(tys), Val::Tuple(items)) if tys.len() == items.len() => {
                self.items(tys.iter().copied().zip(items))
            }
            (Ty::Option(_), Val::Option(None)) => {
                self.put("null");
                Some(())
            }
            (Ty::Option(inner), Val::Option(Some(value))) => match types.get(*inner) {
                Ty::Option(_) => self.single("some", Some((*inner, value))),
                _ => self.value(*inner, value),
            },
            (Ty::Variant(variant), Val::Variant(name, payload)) => {
                let case = variant.cases.iter().find(|case| *case.name == **name)?;
                match (case.ty, payload) {
                    (Some(ty), Some(value)) => self.single(name, Some((ty, value))),
                    _ => {
                        text::push_str(&mut self.out, name);
                        Some(())
                    }
                }
            }
            (Ty::Result { ok, err }, Val::Result(result)) => {
                let (side, ty, payload) = match result {
                    Ok(payload) => ("ok", ok, payload),
                    Err(payload) => ("err", err, payload),
                };
                self.single(side, ty.zip(payload.as_deref()))
            }
            (leaf, value) => self.leaf(leaf, value),
        }
    }

    fn leaf(&mut self, ty: &Ty, value: &Val) -> Option<()> {
        let out = &mut self.out;
        match value {
            Val::Bool(value) => text::push_bool(out, *value),
            Val::U8(value) => text::push_u64(out, (*value).into()),
            Val::U16(value) => text::push_u64(out, (*value).into()),
            Val::U32(value) => text::push_u64(out, (*value).into()),
            Val::U64(value) => text::push_u64(out, *value),
            Val::S8(value) => text::push_s64(out, (*value).into()),
            Val::S16(value) => text::push_s64(out, (*value).into()),
            Val::S32(value) => text::push_s64(out, (*value).into()),
            Val::S64(value) => text::push_s64(out, *value),
            Val::Float32(value) => text::push_f32(out, *value),
            Val::Float64(value) => text::push_f64(out, *value),
            Val::Char(value) => text::push_char(out, *value),
            Val::String(value) | Val::Enum(value) => text::push_str(out, value),
            Val::Flags(labels) => {
                let Ty::Flags(_) = ty else { return None };
                out.push(b'[');
                for (place, label) in labels.iter().enumerate() {
                    if place > 0 {
                        out.push(b',');
                    }
                    text::push_str(out, label);
                }
                out.push(b']');
            }
            _ => return None,
        }
        Some(())
    }

    fn items<'v>(&mut self, items: impl Iterator<Item = (TyId, &'v Val)>) -> Option<()> {
        self.put("[");
        for (place, (ty, value)) in items.enumerate() {
            if place > 0 {
                self.put(",");
            }
            self.value(ty, value)?;
        }
        self.put("]");
        Some(())
    }

    fn single(&mut self, name: &str, payload: Option<(TyId, &Val)>) -> Option<()> {
        self.put("{");
        text::push_str(&mut self.out, name);
        self.put(":");
        match payload {
            Some((ty, value)) => self.value(ty, value)?,
            None => self.put("null"),
        }
        self.put("}");
        Some(())
    }
}

/// The value that `json` is of the type `ty`, of at most `most` parts.
///
/// # Errors
///
/// [`Unmade`].
pub(super) fn value(json: &str, ty: TyId, signature: &Signature, most: u64) -> Result<Val, Unmade> {
    // Read as the one argument of a function: the same reader, the same rules.
    let alone = Function {
        params: vec![Param {
            name: "value".into(),
            ty,
        }],
        ..signature.function.clone()
    };
    let text = format!("{{\"value\":{json}}}");
    let tape = bindery_json::read_arguments(&text, &alone, &signature.types, &unbounded());
    let tape = tape.map_err(|_| Unmade::Unfit)?;
    let mut reader = Reader {
        tape: &tape,
        types: &signature.types,
        at: 0,
        parts: 0,
        most,
    };
    match reader.next() {
        Some(Node::Record { fields, .. }) => match tape.field(fields, 0) {
            Some(ABSENT) if matches!(signature.types.get(ty), Ty::Option(_)) => {
                Ok(Val::Option(None))
            }
            Some(ABSENT) | None => Err(Unmade::Unfit),
            Some(start) => {
                reader.at = start;
                reader.value(ty)
            }
        },
        _ => Err(Unmade::Unfit),
    }
}

/// The result was bounded where it was made; here only the parts are counted.
fn unbounded() -> Budget {
    let mut budget = Budget::default();
    for name in [LimitName::Arguments, LimitName::JsonNodes] {
        let _set = budget.set(name, Limit::Unlimited);
    }
    budget
}

struct Reader<'a> {
    tape: &'a Tape,
    types: &'a TypeTable,
    at: u32,
    parts: u64,
    most: u64,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<Node> {
        let node = self.tape.node(self.at)?;
        self.at = self.at.checked_add(1)?;
        Some(node)
    }

    fn take(&mut self) -> Result<Node, Unmade> {
        self.next().ok_or(Unmade::Unfit)
    }

    fn count(&mut self, parts: u64) -> Result<(), Unmade> {
        self.parts = self.parts.saturating_add(parts);
        match self.parts <= self.most {
            true => Ok(()),
            false => Err(Unmade::Large(self.parts)),
        }
    }

    fn value(&mut self, id: TyId) -> Result<Val, Unmade> {
        let types = self.types;
        self.count(1)?;
        match types.get(id) {
            Ty::Record(record) => self.record(record),
            Ty::List(item) => match self.take()? {
                Node::List { len } => {
                    let items = (0..len).map(|_| self.value(*item));
                    Ok(Val::List(items.collect::<Result<_, _>>()?))
                }
                _ => Err(Unmade::Unfit),
            },
            Ty::Tuple(items) => match self.take()? {
                Node::Tuple => {
                    let items = items.iter().map(|item| self.value(*item));
                    Ok(Val::Tuple(items.collect::<Result<_, _>>()?))
                }
                _ => Err(Unmade::Unfit),
            },
            Ty::Option(inner) => match self.case()? {
                0 => Ok(Val::Option(None)),
                _ => Ok(Val::Option(Some(Box::new(self.value(*inner)?)))),
            },
            Ty::Variant(variant) => {
                let case = variant.cases.get(self.case()?).ok_or(Unmade::Unfit)?;
                let payload = self.payload(case.ty)?;
                Ok(Val::Variant(case.name.to_string(), payload))
            }
            Ty::Enum(cases) => {
                let name = cases.cases.get(self.case()?).ok_or(Unmade::Unfit)?;
                Ok(Val::Enum(name.to_string()))
            }
            Ty::Result { ok, err } => Ok(Val::Result(match self.case()? {
                0 => Ok(self.payload(*ok)?),
                _ => Err(self.payload(*err)?),
            })),
            Ty::Flags(flags) => match self.take()? {
                Node::Flags(bits) => {
                    let set = (0..32).zip(&flags.labels);
                    let set = set.filter(|(bit, _)| bits >> bit & 1 == 1);
                    Ok(Val::Flags(
                        set.map(|(_, label)| label.to_string()).collect(),
                    ))
                }
                _ => Err(Unmade::Unfit),
            },
            leaf => self.leaf(leaf),
        }
    }

    fn leaf(&mut self, ty: &Ty) -> Result<Val, Unmade> {
        fn narrow<T, U: TryFrom<T>>(value: T) -> Result<U, Unmade> {
            U::try_from(value).map_err(|_| Unmade::Unfit)
        }
        Ok(match (ty, self.take()?) {
            (Ty::Bool, Node::Bool(value)) => Val::Bool(value),
            (Ty::U8, Node::Unsigned(value)) => Val::U8(narrow(value)?),
            (Ty::U16, Node::Unsigned(value)) => Val::U16(narrow(value)?),
            (Ty::U32, Node::Unsigned(value)) => Val::U32(narrow(value)?),
            (Ty::U64, Node::Unsigned(value)) => Val::U64(value),
            (Ty::S8, Node::Signed(value)) => Val::S8(narrow(value)?),
            (Ty::S16, Node::Signed(value)) => Val::S16(narrow(value)?),
            (Ty::S32, Node::Signed(value)) => Val::S32(narrow(value)?),
            (Ty::S64, Node::Signed(value)) => Val::S64(value),
            (Ty::F32, Node::F32(value)) => Val::Float32(value),
            (Ty::F64, Node::F64(value)) => Val::Float64(value),
            (Ty::Char, Node::Char(value)) => Val::Char(value),
            (Ty::String, Node::Text(span)) => {
                let bytes = self.tape.bytes(span).ok_or(Unmade::Unfit)?;
                let text = std::str::from_utf8(bytes).map_err(|_| Unmade::Unfit)?;
                Val::String(text.to_owned())
            }
            (Ty::Bytes, Node::Bytes(span)) => {
                self.count(span.len.into())?;
                let bytes = self.tape.bytes(span).ok_or(Unmade::Unfit)?;
                Val::List(bytes.iter().map(|byte| Val::U8(*byte)).collect())
            }
            _ => return Err(Unmade::Unfit),
        })
    }

    fn case(&mut self) -> Result<usize, Unmade> {
        match self.take()? {
            Node::Case { index } => usize::try_from(index).map_err(|_| Unmade::Unfit),
            _ => Err(Unmade::Unfit),
        }
    }

    fn payload(&mut self, ty: Option<TyId>) -> Result<Option<Box<Val>>, Unmade> {
        ty.map(|ty| self.value(ty).map(Box::new)).transpose()
    }

    fn record(&mut self, record: &bindery_types::Record) -> Result<Val, Unmade> {
        let Node::Record { fields, end } = self.take()? else {
            return Err(Unmade::Unfit);
        };
        let mut made = Vec::with_capacity(record.fields.len());
        for (place, field) in record.fields.iter().enumerate() {
            let value = match self.tape.field(fields, place).ok_or(Unmade::Unfit)? {
                ABSENT => Val::Option(None),
                start => {
                    self.at = start;
                    self.value(field.ty)?
                }
            };
            made.push((field.name.to_string(), value));
        }
        self.at = end;
        Ok(Val::Record(made))
    }
}
