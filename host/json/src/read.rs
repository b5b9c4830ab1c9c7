//! Reads argument text against a function's types: one pass, text to tape.
//!
//! Rule (I41, cases A1–A3, A8, B7, E7, X45): what the input schema accepts becomes a tape,
//! anything else becomes one refusal with all its faults; nothing is repaired, nothing
//! wraps, and no text is deep or long enough to hurt. The recursion here follows brackets
//! of the text, and the scanner opens at most 64 of them.

mod choice;
mod items;
mod members;
mod names;
mod scalar;

use bindery_types::{Budget, Function, Limit, LimitHit, LimitName, Refusal, Ty, TyId, TypeTable};

use crate::fault::{Fault, Faults, stopped};
use crate::place::Place;
use crate::scan::{Head, Scanner, Stop};
use crate::tape::{Node, Span, Tape};
use crate::words;
use names::Names;

/// Longest text that a tape can number: its indexes have 32 bits, and the last value
/// means that a field is absent.
const TEXT_MAX: u64 = (u32::MAX - 1) as u64;

/// Reads the arguments of a call of `function`: one JSON object keyed by parameter name.
///
/// # Errors
///
/// `arguments_invalid` with `details.faults` (each `{pointer, expected, got}`, at most
/// ten, and `details.more`), also for a text that is not JSON or is nested too deep;
/// `budget_exhausted` for more text than `arguments` or more values than `json_nodes`.
pub fn read_arguments(
    text: &str,
    function: &Function,
    types: &TypeTable,
    budget: &Budget,
) -> Result<Tape, Refusal> {
    check_length(text, budget.get(LimitName::Arguments))?;
    let mut reader = Reader::new(text, types, budget);
    match reader.arguments(function) {
        Err(Stop) => Err(stopped(reader.scan.why(), text)),
        Ok(()) if reader.faults.is_empty() => Ok(reader.tape),
        Ok(()) => Err(reader.faults.refusal(function)),
    }
}

fn check_length(text: &str, limit: Limit) -> Result<(), LimitHit> {
    let used = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let limit = limit.min(Limit::Finite(TEXT_MAX));
    match limit.allows(used) {
        true => Ok(()),
        false => Err(LimitHit {
            name: LimitName::Arguments,
            limit,
            used,
        }),
    }
}

/// The state of one reading.
struct Reader<'a> {
    scan: Scanner<'a>,
    types: &'a TypeTable,
    tape: Tape,
    faults: Faults,
    names: Names<'a>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, types: &'a TypeTable, budget: &Budget) -> Self {
        Self {
            scan: Scanner::new(text, budget),
            types,
            // A guess that spares most growing: a value takes about eight characters, and
            // text is never longer than what it was read from.
            tape: Tape {
                nodes: Vec::with_capacity(text.len() / 8 + 4),
                fields: Vec::new(),
                bytes: Vec::with_capacity(text.len()),
            },
            faults: Faults::default(),
            names: Names::default(),
        }
    }

    fn arguments(&mut self, function: &'a Function) -> Result<(), Stop> {
        self.scan.charge(1)?;
        self.parameters(&function.params)?;
        self.scan.end()
    }

    /// Takes one value and adds it to the tape, or notes why it does not fit. What the
    /// tape holds after a fault is never handed out.
    fn value(&mut self, id: TyId, at: &Place<'_>) -> Result<(), Stop> {
        let head = self.scan.head()?;
        match (self.types.get(id), head) {
            (Ty::String, Head::String) => self.text(),
            (Ty::Bool, Head::True | Head::False) => {
                self.push(Node::Bool(head == Head::True));
                self.scan.literal(head)
            }
            (
                ty @ (Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64),
                Head::Number,
            ) => self.integer(id, ty, at),
            (ty @ (Ty::U64 | Ty::S64), Head::String) => self.integer_string(id, ty, at),
            (Ty::F64, Head::Number) => self.float64(id, at),
            (Ty::F32, Head::Number) => self.float32(id, at),
            (ty @ (Ty::F32 | Ty::F64), Head::String) => self.float_string(id, ty, at),
            (Ty::Char, Head::String) => self.char(id, at),
            (Ty::Bytes, Head::String) => self.bytes(at),
            (Ty::Record(record), Head::Object) => self.record(id, record, at),
            (Ty::List(item), Head::Array) => self.list(*item, at),
            (Ty::Tuple(items), Head::Array) => self.tuple(items, at),
            (Ty::Flags(flags), Head::Array) => self.flags(id, flags, at),
            (Ty::Option(inner), _) => self.option(*inner, head, at),
            (Ty::Enum(cases), Head::String) => self.enumeration(id, cases, at),
            (Ty::Variant(variant), Head::String) => self.bare_case(id, variant, at),
            (Ty::Variant(variant), Head::Object) => self.variant(id, variant, at),
            (Ty::Result { ok, err }, Head::Object) => self.result(*ok, *err, at),
            _ => self.misfit(id, at),
        }
    }

    fn push(&mut self, node: Node) {
        self.tape.nodes.push(node);
    }

    /// Index of the next node. The text is shorter than 2^32 and no value makes more
    /// nodes than it has characters, a `null` (two nodes, four characters) included.
    fn next_node(&self) -> u32 {
        u32::try_from(self.tape.nodes.len()).unwrap_or(u32::MAX)
    }

    /// The span of the tape's bytes from `start` to their end.
    fn span_from(&self, start: usize) -> Span {
        let narrow = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        Span {
            start: narrow(start),
            len: narrow(self.tape.bytes.len().saturating_sub(start)),
        }
    }

    /// Takes a value that is not of type `id` at all.
    #[cold]
    fn misfit(&mut self, id: TyId, at: &Place<'_>) -> Result<(), Stop> {
        let types = self.types;
        let nested = matches!(
            types.get(id),
            Ty::Record(_) | Ty::List(_) | Ty::Tuple(_) | Ty::Flags(_) | Ty::Result { .. }
        );
        self.unexpected(at, || words::expectation(id, types), nested)
    }

    /// Takes any value and notes that it is not what was expected. Where an object or
    /// array belongs (`nested`), its JSON text in a string gets an explanation (E7).
    #[cold]
    fn unexpected(
        &mut self,
        at: &Place<'_>,
        expected: impl FnOnce() -> String,
        nested: bool,
    ) -> Result<(), Stop> {
        let start = self.scan.at();
        self.scan.skip()?;
        let found = self.scan.since(start);
        self.faults.add(at, || match nested && holds_json(found) {
            true => json_in_a_string(expected(), found),
            false => Fault::new(expected(), words::found(found)),
        });
        Ok(())
    }
}

/// Case E7: the text of a value stands where the value itself belongs.
fn json_in_a_string(expected: String, found: &str) -> Fault {
    let got = format!("a string holding JSON text ({})", words::found(found));
    let sentence = format!(
        "expected {expected}, got a string holding JSON text: pass the value itself, not its text"
    );
    Fault::new(expected, got).saying(sentence)
}

/// Whether a JSON string holds what looks like an object, an array or a string in JSON.
fn holds_json(found: &str) -> bool {
    let inner = found.strip_prefix('"').unwrap_or_default().trim_start();
    inner.starts_with(['{', '[']) || inner.starts_with("\\\"")
}

#[cfg(test)]
mod tests;
