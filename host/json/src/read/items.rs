//! Arrays: lists, tuples, flags.

use bindery_types::{Flags, TyId};

use super::Reader;
use crate::fault::Fault;
use crate::place::Place;
use crate::scan::{Head, Stop};
use crate::tape::Node;
use crate::words::{self, counted};

impl<'a> Reader<'a> {
    /// Takes an array for a list.
    pub(super) fn list(&mut self, item: TyId, at: &Place<'_>) -> Result<(), Stop> {
        self.scan.open()?;
        let node = self.tape.nodes.len();
        self.push(Node::List { len: 0 });
        let mut count = 0;
        while self.scan.item(count == 0)? {
            self.scan.charge(1)?;
            self.value(item, &at.index(count))?;
            count += 1;
        }
        if let Some(list) = self.tape.nodes.get_mut(node) {
            // Every item takes a character of a text shorter than 2^32.
            let len = u32::try_from(count).unwrap_or(u32::MAX);
            *list = Node::List { len };
        }
        Ok(())
    }

    /// Takes an array for a tuple: exactly its items.
    pub(super) fn tuple(&mut self, items: &'a [TyId], at: &Place<'_>) -> Result<(), Stop> {
        self.scan.open()?;
        self.push(Node::Tuple);
        let mut count = 0;
        while self.scan.item(count == 0)? {
            self.scan.charge(1)?;
            match items.get(count) {
                Some(item) => self.value(*item, &at.index(count))?,
                None => self.scan.skip()?,
            }
            count += 1;
        }
        if count != items.len() {
            self.faults.add(at, || {
                let expected = counted(items.len(), "item");
                let sentence = format!("{expected} expected, {count} given");
                Fault::new(expected, counted(count, "item")).saying(sentence)
            });
        }
        Ok(())
    }

    /// Takes an array of labels, each at most once, in any order.
    pub(super) fn flags(&mut self, id: TyId, flags: &'a Flags, at: &Place<'_>) -> Result<(), Stop> {
        self.scan.open()?;
        let mut bits: u32 = 0;
        let mut count = 0;
        while self.scan.item(count == 0)? {
            self.scan.charge(1)?;
            bits = self.label(id, flags, bits, &at.index(count))?;
            count += 1;
        }
        self.push(Node::Flags(bits));
        Ok(())
    }

    /// Takes one label and gives the bits with it.
    fn label(
        &mut self,
        id: TyId,
        flags: &'a Flags,
        bits: u32,
        at: &Place<'_>,
    ) -> Result<u32, Stop> {
        let listing = || words::listing(flags.labels.iter().map(|label| words::quoted(label)));
        if self.scan.head()? != Head::String {
            self.unexpected(at, || format!("one of the labels {}", listing()), false)?;
            return Ok(bits);
        }
        let label = self.scan.string()?.text();
        let name_at = |at: usize| flags.labels.get(at).map(|label| &**label);
        let found = self
            .names
            .find(Some(id), flags.labels.len(), name_at, &label, 0);
        let Some(bit) = found.and_then(|at| 1_u32.checked_shl(u32::try_from(at).ok()?)) else {
            self.faults.add(at, || {
                let expected = format!("one of the labels {}", listing());
                let shown = words::excerpt(&label);
                let likely = words::suggestion(&label, flags.labels.iter().map(|label| &**label));
                let sentence = format!("no label `{shown}`{likely}; the labels are {}", listing());
                Fault::new(expected, format!("the string `{shown}`")).saying(sentence)
            });
            return Ok(bits);
        };
        if bits & bit != 0 {
            self.faults.add(at, || {
                Fault::new("every label at most once", format!("`{label}` again"))
                    .saying(format!("label `{label}` is given more than once"))
            });
        }
        Ok(bits | bit)
    }
}
