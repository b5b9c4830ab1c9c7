//! The tape: checked argument text, flat, in the order in which it is lowered.
//!
//! Nodes stand in pre-order of the *types*; members of a record may come in any order in
//! the text, so a record node points at where each of its fields begins. A tape is only
//! made by a reader that checked the text against the types, so whoever walks type and
//! tape together never meets a node that does not fit; it must still answer such a
//! meeting with an error, not a panic.

/// One value, or the head of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    /// `bool`
    Bool(bool),
    /// `u8` … `u64`, in range of the type
    Unsigned(u64),
    /// `s8` … `s64`, in range of the type
    Signed(i64),
    /// `f32`
    F32(f32),
    /// `f64`
    F64(f64),
    /// `char`
    Char(char),
    /// `string`: a span of the tape's bytes, valid UTF-8
    Text(Span),
    /// `list<u8>`: a span of the tape's bytes
    Bytes(Span),
    /// `list<T>`: the items follow, one subtree each
    List {
        /// number of items
        len: u32,
    },
    /// `tuple`: the items follow, one subtree each
    Tuple,
    /// `record`, and the parameters of a call
    Record {
        /// index into `Tape::fields` of the first field's entry; one entry per field in
        /// declaration order
        fields: u32,
        /// index of the first node after the record
        end: u32,
    },
    /// `variant`, `enum`, `option` (0 none, 1 some), `result` (0 ok, 1 err): the payload
    /// follows if that case has one
    Case {
        /// index of the case
        index: u32,
    },
    /// `flags`: bit n is label n
    Flags(u32),
}

/// A run of the tape's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// first byte
    pub start: u32,
    /// number of bytes
    pub len: u32,
}

/// Where a field begins, or that it was left out (only `option` fields may be).
pub const ABSENT: u32 = u32::MAX;

/// Checked arguments. The node at 0 is the [`Node::Record`] of the parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tape {
    pub(crate) nodes: Vec<Node>,
    pub(crate) fields: Vec<u32>,
    pub(crate) bytes: Vec<u8>,
}

impl Tape {
    /// The node at `index`.
    pub fn node(&self, index: u32) -> Option<Node> {
        self.nodes.get(index as usize).copied()
    }

    /// Where field number `field` of a record begins: `None` when the tape has no such
    /// entry, `Some(ABSENT)` when the field was left out.
    pub fn field(&self, fields: u32, field: usize) -> Option<u32> {
        self.fields
            .get((fields as usize).checked_add(field)?)
            .copied()
    }

    /// The bytes of a span.
    pub fn bytes(&self, span: Span) -> Option<&[u8]> {
        let start = span.start as usize;
        self.bytes.get(start..start.checked_add(span.len as usize)?)
    }
}
