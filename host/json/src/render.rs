//! Checked arguments as the output form spells them: every field, every payload, one text.
//!
//! What an echoing component would answer, and what an approval shows.

use bindery_types::{Flags, Function, Record, Ty, TyId, TypeTable};

use crate::tape::{ABSENT, Node, Tape};
use crate::text;

/// Renders the tape as one object keyed by parameter name; `None` when the tape was not
/// read for this function.
pub fn render(tape: &Tape, function: &Function, types: &TypeTable) -> Option<String> {
    let mut writer = Writer {
        tape,
        types,
        at: 0,
        out: Vec::new(),
    };
    let members: Vec<(&str, TyId)> = function
        .params
        .iter()
        .map(|param| (&*param.name, param.ty))
        .collect();
    writer.members(&members)?;
    String::from_utf8(writer.out).ok()
}

/// Walks type and tape together. It recurses as deep as the reader did for this tape.
struct Writer<'a> {
    tape: &'a Tape,
    types: &'a TypeTable,
    at: u32,
    out: Vec<u8>,
}

impl Writer<'_> {
    fn take(&mut self) -> Option<Node> {
        let node = self.tape.node(self.at)?;
        self.at += 1;
        Some(node)
    }

    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn value(&mut self, id: TyId) -> Option<()> {
        let types = self.types;
        match types.get(id) {
            Ty::Record(record) => self.record(record),
            Ty::Option(inner) => self.option(*inner),
            Ty::List(item) => match self.take()? {
                Node::List { len } => self.items((0..len).map(|_| *item)),
                _ => None,
            },
            Ty::Tuple(items) => match self.take()? {
                Node::Tuple => self.items(items.iter().copied()),
                _ => None,
            },
            Ty::Variant(variant) => {
                let case = variant.cases.get(self.case()?)?;
                match case.ty {
                    None => text::push_str(&mut self.out, &case.name),
                    Some(payload) => self.single(&case.name, Some(payload))?,
                }
                Some(())
            }
            Ty::Enum(cases) => {
                let name = cases.cases.get(self.case()?)?;
                text::push_str(&mut self.out, name);
                Some(())
            }
            Ty::Result { ok, err } => match self.case()? {
                0 => self.single("ok", *ok),
                1 => self.single("err", *err),
                _ => None,
            },
            Ty::Flags(flags) => self.flags(flags),
            leaf => self.leaf(leaf),
        }
    }

    fn leaf(&mut self, ty: &Ty) -> Option<()> {
        let node = self.take()?;
        let out = &mut self.out;
        match (ty, node) {
            (Ty::Bool, Node::Bool(value)) => text::push_bool(out, value),
            (Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64, Node::Unsigned(value)) => {
                text::push_u64(out, value);
            }
            (Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64, Node::Signed(value)) => {
                text::push_s64(out, value);
            }
            (Ty::F32, Node::F32(value)) => text::push_f32(out, value),
            (Ty::F64, Node::F64(value)) => text::push_f64(out, value),
            (Ty::Char, Node::Char(value)) => text::push_char(out, value),
            (Ty::String, Node::Text(span)) => {
                text::push_str(out, std::str::from_utf8(self.tape.bytes(span)?).ok()?);
            }
            (Ty::Bytes, Node::Bytes(span)) => text::push_bytes(out, self.tape.bytes(span)?),
            _ => return None,
        }
        Some(())
    }

    fn case(&mut self) -> Option<usize> {
        match self.take()? {
            Node::Case { index } => usize::try_from(index).ok(),
            _ => None,
        }
    }

    fn option(&mut self, inner: TyId) -> Option<()> {
        match (self.case()?, self.types.get(inner)) {
            (0, _) => self.put("null"),
            (1, Ty::Option(_)) => self.single("some", Some(inner))?,
            (1, _) => self.value(inner)?,
            _ => return None,
        }
        Some(())
    }

    fn single(&mut self, name: &str, payload: Option<TyId>) -> Option<()> {
        self.put("{");
        text::push_str(&mut self.out, name);
        self.put(":");
        match payload {
            Some(payload) => self.value(payload)?,
            None => self.put("null"),
        }
        self.put("}");
        Some(())
    }

    fn items(&mut self, types: impl Iterator<Item = TyId>) -> Option<()> {
        self.put("[");
        for (count, item) in types.enumerate() {
            if count > 0 {
                self.put(",");
            }
            self.value(item)?;
        }
        self.put("]");
        Some(())
    }

    fn flags(&mut self, flags: &Flags) -> Option<()> {
        let Node::Flags(bits) = self.take()? else {
            return None;
        };
        self.put("[");
        let mut first = true;
        for (bit, label) in (0..32).zip(&flags.labels) {
            if bits >> bit & 1 == 0 {
                continue;
            }
            if !first {
                self.put(",");
            }
            first = false;
            text::push_str(&mut self.out, label);
        }
        self.put("]");
        Some(())
    }

    fn record(&mut self, record: &Record) -> Option<()> {
        let fields: Vec<(&str, TyId)> = record
            .fields
            .iter()
            .map(|field| (&*field.name, field.ty))
            .collect();
        self.members(&fields)
    }

    /// Members in declaration order, wherever the text had them.
    fn members(&mut self, members: &[(&str, TyId)]) -> Option<()> {
        let Node::Record { fields, end } = self.take()? else {
            return None;
        };
        self.put("{");
        for (position, (name, ty)) in members.iter().enumerate() {
            if position > 0 {
                self.put(",");
            }
            text::push_str(&mut self.out, name);
            self.put(":");
            match self.tape.field(fields, position)? {
                ABSENT => self.put("null"),
                start => {
                    self.at = start;
                    self.value(*ty)?;
                }
            }
        }
        self.put("}");
        self.at = end;
        Some(())
    }
}
