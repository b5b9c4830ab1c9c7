//! Scalars, strings and bytes.

use bindery_types::{Ty, TyId};

use super::Reader;
use crate::fault::Fault;
use crate::number::{Whole, bounds, canonical, float32, float64, whole};
use crate::place::Place;
use crate::scan::Stop;
use crate::tape::Node;
use crate::{base64, words};

impl Reader<'_> {
    /// Takes a number for an integer type.
    pub(super) fn integer(&mut self, id: TyId, ty: &Ty, at: &Place<'_>) -> Result<(), Stop> {
        let token = self.scan.number()?;
        match whole(token) {
            Whole::Integer(value) if self.push_integer(ty, value) => {}
            _ => self.bad_scalar(id, at, token),
        }
        Ok(())
    }

    /// Takes a string for a 64-bit integer type: canonical decimal.
    pub(super) fn integer_string(&mut self, id: TyId, ty: &Ty, at: &Place<'_>) -> Result<(), Stop> {
        let start = self.scan.at();
        let text = self.scan.string()?.text();
        match canonical(&text) {
            Some(value) if self.push_integer(ty, value) => {}
            _ => self.bad_scalar(id, at, self.scan.since(start)),
        }
        Ok(())
    }

    /// Adds an integer if it is within the bounds of its type.
    fn push_integer(&mut self, ty: &Ty, value: i128) -> bool {
        let Some((least, greatest)) = bounds(ty) else {
            return false;
        };
        if value < least || value > greatest {
            return false;
        }
        let node = match least {
            0 => u64::try_from(value).map(Node::Unsigned),
            _ => i64::try_from(value).map(Node::Signed),
        };
        node.map(|node| self.push(node)).is_ok()
    }

    /// Takes a number for an `f64`.
    pub(super) fn float64(&mut self, id: TyId, at: &Place<'_>) -> Result<(), Stop> {
        let token = self.scan.number()?;
        match float64(token) {
            Some(value) => self.push(Node::F64(value)),
            None => self.bad_scalar(id, at, token),
        }
        Ok(())
    }

    /// Takes a number for an `f32`.
    pub(super) fn float32(&mut self, id: TyId, at: &Place<'_>) -> Result<(), Stop> {
        let token = self.scan.number()?;
        match float32(token) {
            Some(value) => self.push(Node::F32(value)),
            None => self.bad_scalar(id, at, token),
        }
        Ok(())
    }

    /// Takes a string for a float: one of the three values that no number says.
    pub(super) fn float_string(&mut self, id: TyId, ty: &Ty, at: &Place<'_>) -> Result<(), Stop> {
        let start = self.scan.at();
        let value = match &*self.scan.string()?.text() {
            "nan" => f32::NAN,
            "inf" => f32::INFINITY,
            "-inf" => f32::NEG_INFINITY,
            _ => {
                self.bad_scalar(id, at, self.scan.since(start));
                return Ok(());
            }
        };
        self.push(match ty {
            Ty::F32 => Node::F32(value),
            _ if value.is_nan() => Node::F64(f64::NAN),
            _ => Node::F64(f64::from(value)),
        });
        Ok(())
    }

    /// Takes a string for a `char`: exactly one scalar.
    pub(super) fn char(&mut self, id: TyId, at: &Place<'_>) -> Result<(), Stop> {
        let start = self.scan.at();
        let text = self.scan.string()?.text();
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(only), None) => self.push(Node::Char(only)),
            _ => self.bad_scalar(id, at, self.scan.since(start)),
        }
        Ok(())
    }

    /// Takes a string.
    pub(super) fn text(&mut self) -> Result<(), Stop> {
        let raw = self.scan.string()?;
        let start = self.tape.bytes.len();
        match raw.escaped {
            true => raw.unescape(&mut self.tape.bytes),
            false => self.tape.bytes.extend_from_slice(raw.inner.as_bytes()),
        }
        self.push(Node::Text(self.span_from(start)));
        Ok(())
    }

    /// Takes a string for a `list<u8>`.
    pub(super) fn bytes(&mut self, at: &Place<'_>) -> Result<(), Stop> {
        let token = self.scan.at();
        let text = self.scan.string()?.text();
        let start = self.tape.bytes.len();
        if let Err(what) = base64::decode(text.as_bytes(), &mut self.tape.bytes) {
            let found = self.scan.since(token);
            self.faults.add(at, || {
                Fault::new("a base64 string", words::found(found))
                    .saying(format!("expected a base64 string: {what}"))
            });
        }
        self.push(Node::Bytes(self.span_from(start)));
        Ok(())
    }

    #[cold]
    fn bad_scalar(&mut self, id: TyId, at: &Place<'_>, found: &str) {
        let types = self.types;
        self.faults.add(at, || {
            Fault::new(words::expectation(id, types), words::found(found))
        });
    }
}
