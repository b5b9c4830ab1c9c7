//! What `environment`, `describe` and `validate` have in common.
//!
//! Rule (C-48, I27): what is hidden answers like what is absent, in bytes and in time. Each
//! request leaves a record, refused ones too.

use bindery_catalogue::Entry as Row;
use bindery_ledger::event::OperationServed;
use bindery_ledger::words::Operation;
use bindery_types::{CapabilityId, ErrorType, Refusal};

use crate::facts::{hidden, key_of};
use crate::held::Opened;
use crate::session::Session;

impl Session {
    /// The entry, when this session may know of it.
    pub(crate) fn visible(
        &self,
        opened: &Opened,
        capability: &CapabilityId,
    ) -> Result<Row, Refusal> {
        let current = self.governor.read();
        let found = current.catalogue.get(capability);
        // What is absent takes the time of what is hidden (I27): another entry is looked at
        // in its place, and nothing is said of it.
        let looked_at = found.or_else(|| current.catalogue.entries().next());
        let looked_at = looked_at.and_then(|row| {
            let powers = current.powers.get(row.descriptor.id())?;
            Some((row, &**powers))
        });
        let (row, powers) = looked_at.ok_or_else(absent)?;
        let hidden = self
            .governor
            .look(|state| hidden(state, &current.policy, opened, (row, powers)));
        let why = match found {
            None => Some("there is no such entry"),
            Some(_) => hidden.flatten(),
        };
        match why {
            None => Ok(row.clone()),
            Some(why) => Err(absent().for_operator(why)),
        }
    }

    /// Records that something was asked and how it came out.
    pub(crate) fn served<T>(
        &self,
        opened: &Opened,
        operation: Operation,
        capability: Option<&CapabilityId>,
        found: Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let key = capability.and_then(|id| {
            let current = self.governor.read();
            // What is not shown is not named: the record speaks of entries that were.
            current
                .catalogue
                .get(id)
                .filter(|_| found.is_ok())
                .map(key_of)
        });
        let event = OperationServed {
            operation,
            capability: key,
            shown: u64::from(found.is_ok()),
            refused: found.as_ref().err().map(Refusal::kind),
        };
        let told = self.told(opened, operation, "a discovery request was answered");
        let entry = self.governor.entry(&told, event);
        self.governor
            .journal
            .append_lazy(vec![entry])
            .map_err(|error| error.refusal())?;
        found.map_err(|refusal| self.offered(refusal, capability))
    }
}

/// What both answer.
pub(crate) fn absent() -> Refusal {
    let text = "no such capability can be called here";
    Refusal::new(ErrorType::CapabilityUnavailable, text)
}
