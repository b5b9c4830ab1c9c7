//! One pass over a component: counted, validated, its names and claims noted.
//!
//! Rule (H13 … H15): nothing is believed before the validator has seen it, and nothing is
//! compiled. What the engine would refuse is refused here, with a reason.

use bindery_types::Refusal;
use wasmparser::types::Types;
use wasmparser::{Chunk, FuncValidatorAllocations, Parser, Payload, ValidPayload, Validator};

use super::bounds;
use super::claims::Claims;
use super::code;
use super::features;
use super::invalid::invalid;
use super::kind::Kind;
use super::tally::Tally;

/// How far a component is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Everything, function bodies too.
    Code,
    /// Everything but function bodies: for bytes whose code was checked before.
    Outline,
}

/// A valid component, read.
pub(super) struct Walked<'a> {
    /// The validator's types.
    pub(super) types: Types,
    /// Names of the component's own imports, in order.
    pub(super) imports: Vec<&'a str>,
    /// Names of the component's own exports, in order.
    pub(super) exports: Vec<&'a str>,
    /// What the component says of itself.
    pub(super) claims: Claims<'a>,
}

/// Reads and validates `bytes`.
pub(super) fn walk(bytes: &[u8], depth: Depth) -> Result<Walked<'_>, Refusal> {
    Walk::new(bytes, depth).run()
}

struct Walk<'a> {
    bytes: &'a [u8],
    offset: usize,
    depth: Depth,
    /// The parser of the innermost module or component; those around it wait in `outer`.
    parser: Parser,
    outer: Vec<Parser>,
    validator: Validator,
    allocations: FuncValidatorAllocations,
    tally: Tally,
    imports: Vec<&'a str>,
    exports: Vec<&'a str>,
    claims: Claims<'a>,
}

impl<'a> Walk<'a> {
    fn new(bytes: &'a [u8], depth: Depth) -> Self {
        let mut parser = Parser::new(0);
        parser.set_features(features::ALLOWED);
        Self {
            bytes,
            offset: 0,
            depth,
            parser,
            outer: Vec::new(),
            validator: Validator::new_with_features(features::ALLOWED),
            allocations: FuncValidatorAllocations::default(),
            tally: Tally::new(),
            imports: Vec::new(),
            exports: Vec::new(),
            claims: Claims::default(),
        }
    }

    fn run(mut self) -> Result<Walked<'a>, Refusal> {
        loop {
            let payload = self.next()?;
            self.tally.add(&payload, self.bytes)?;
            self.note(&payload)?;
            match self.validator.payload(&payload) {
                Err(error) => return Err(invalid(&error, self.bytes)),
                Ok(ValidPayload::Ok) => {}
                Ok(ValidPayload::Parser(inner)) => self.enter(inner)?,
                Ok(ValidPayload::Func(function, body)) if self.depth == Depth::Code => {
                    let allocations = std::mem::take(&mut self.allocations);
                    let mut validator = function.into_validator(allocations);
                    code::check(&mut validator, &body, self.bytes)?;
                    self.allocations = validator.into_allocations();
                }
                Ok(ValidPayload::Func(..)) => {}
                Ok(ValidPayload::End(types)) => match self.outer.pop() {
                    Some(parser) => self.parser = parser,
                    None => return Ok(self.walked(types)),
                },
            }
        }
    }

    fn walked(self, types: Types) -> Walked<'a> {
        Walked {
            types,
            imports: self.imports,
            exports: self.exports,
            claims: self.claims,
        }
    }

    fn enter(&mut self, inner: Parser) -> Result<(), Refusal> {
        self.outer.push(std::mem::replace(&mut self.parser, inner));
        let levels = u64::try_from(self.outer.len()).unwrap_or(u64::MAX);
        bounds::NESTING.check(levels)
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    /// The next payload. What ends in the middle of one is cut off, or followed by bytes
    /// that are no part of it.
    fn next(&mut self) -> Result<Payload<'a>, Refusal> {
        let rest = self.rest();
        match self.parser.parse(rest, rest.is_empty()) {
            Ok(Chunk::Parsed { consumed, payload }) => {
                if matches!(payload, Payload::UnknownSection { .. }) && self.may_have_ended() {
                    return Err(Kind::TrailingBytes.refusal());
                }
                self.offset = self.offset.saturating_add(consumed);
                Ok(payload)
            }
            Ok(Chunk::NeedMoreData(_)) if self.may_have_ended() && !has_section_header(rest) => {
                Err(Kind::TrailingBytes.refusal())
            }
            Ok(Chunk::NeedMoreData(_)) => Err(Kind::Truncated.refusal()),
            Err(_) if rest.is_empty() => Err(Kind::Truncated.refusal()),
            Err(_) if self.may_have_ended() && !begins_section(rest) => {
                Err(Kind::TrailingBytes.refusal())
            }
            Err(error) => Err(invalid(&error, self.bytes)),
        }
    }

    /// Whether the component could end here: nothing is open and something is exported.
    fn may_have_ended(&self) -> bool {
        self.outer.is_empty() && !self.exports.is_empty()
    }

    /// Notes the component's own names, and the claims of all its parts.
    fn note(&mut self, payload: &Payload<'a>) -> Result<(), Refusal> {
        let own = self.outer.is_empty();
        match payload {
            Payload::ComponentImportSection(section) if own => {
                let names = section.clone().into_iter().flatten();
                self.imports.extend(names.map(|import| import.name.name));
            }
            Payload::ComponentExportSection(section) if own => {
                let names = section.clone().into_iter().flatten();
                self.exports.extend(names.map(|export| export.name.name));
            }
            Payload::CustomSection(section) => self.claims.note(section, own)?,
            _ => {}
        }
        Ok(())
    }
}

/// Highest id of a section of a component.
const SECTION_ID_MAX: u8 = 11;

/// Whether `rest` has the whole header of a section: an id and a length.
fn has_section_header(rest: &[u8]) -> bool {
    let length = rest.get(1..).unwrap_or_default();
    rest.first().is_some_and(|id| *id <= SECTION_ID_MAX)
        && length.iter().take(5).any(|byte| byte & 0x80 == 0)
}

/// Whether `rest` begins with something that a broken section of a component would begin
/// with. A malformed custom section is not counted: zeros after the end look like one.
fn begins_section(rest: &[u8]) -> bool {
    rest.first()
        .is_some_and(|id| (1..=SECTION_ID_MAX).contains(id))
}
