//! `validate`: a capability examined in seven layers, each with what was seen.
//!
//! Rule (R-376, C-48): it is examined as it is now, and it changes nothing.

use bindery_catalogue::Verdict;
use bindery_ledger::words::Operation;
use bindery_policy::Stage;
use bindery_types::{CapabilityId, Refusal};

use crate::admit::verdict;
use crate::discover::absent;
use crate::held::Opened;
use crate::session::Session;

impl Session {
    /// Examines `capability` in seven layers, each with what was seen.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// let (_, session, answer) = stand().await?;
    /// let verdict = session.validate(&answer)?;
    /// assert!(verdict.failure().is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Session::describe`].
    pub fn validate(&self, capability: &CapabilityId) -> Result<Verdict, Refusal> {
        let opened = self.opened_for_asking()?;
        let found = opened
            .session
            .stages()
            .require(Stage::Descriptors)
            .and_then(|()| self.examined(&opened, capability));
        self.served(&opened, Operation::Validate, Some(capability), found)
    }

    fn examined(&self, opened: &Opened, capability: &CapabilityId) -> Result<Verdict, Refusal> {
        let row = self.visible(opened, capability)?;
        let current = self.governor.read();
        let digest = row.descriptor.implementation_digest();
        let loaded = current.loaded.get(&digest).ok_or_else(absent)?;
        let powers = current.powers.get(capability).ok_or_else(absent)?;
        let (policy, names) = (&current.policy, current.names());
        let version = current.version();
        Ok(verdict(
            policy,
            &names,
            &row,
            powers,
            loaded.shape(),
            version,
        ))
    }
}
