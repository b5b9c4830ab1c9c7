//! `describe`: the candidate descriptor of a capability, as far as a session may know of it.
//!
//! Rule (R-097, C-48): what is hidden answers like what is absent.

use bindery_ledger::words::Operation;
use bindery_policy::Stage;
use bindery_types::{
    CapabilityId, Digest, ExecutionState, Moment, Refusal, TrustStatus, ValidationStatus,
};
use serde::Serialize;
use serde_json::Value;

use crate::discover::absent;
use crate::held::Opened;
use crate::session::Session;

/// A candidate descriptor with where it stands (R-097).
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// The capability.
    pub capability_id: CapabilityId,
    /// SHA-256 of the canonical descriptor.
    pub descriptor_digest: Digest,
    /// Who vouches for it.
    pub trust_status: TrustStatus,
    /// How far it was examined.
    pub validation_status: ValidationStatus,
    /// Whether it runs.
    pub execution_state: ExecutionState,
    /// The version it was described under.
    pub catalog_version: Digest,
    /// When it was last looked at.
    pub last_observed_at: Moment,
    /// When it has to be looked at again.
    pub expires_at: Option<Moment>,
    /// The descriptor itself.
    pub descriptor: Value,
}

impl Session {
    /// The candidate descriptor of `capability`: schemas, provenance, digest.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// let (_, session, answer) = stand().await?;
    /// let candidate = session.describe(&answer)?;
    /// assert_eq!(candidate.capability_id, answer);
    /// assert!(session.describe(&"acme:deep/thought#none".parse().expect("an id")).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `stage_disabled` while stage 4 is off, `capability_unavailable` for what is absent
    /// or hidden, alike.
    pub fn describe(&self, capability: &CapabilityId) -> Result<Candidate, Refusal> {
        let opened = self.opened_for_asking()?;
        let found = opened
            .session
            .stages()
            .require(Stage::Descriptors)
            .and_then(|()| self.candidate(&opened, capability));
        self.served(&opened, Operation::Describe, Some(capability), found)
    }

    fn candidate(&self, opened: &Opened, capability: &CapabilityId) -> Result<Candidate, Refusal> {
        let row = self.visible(opened, capability)?;
        let version = self
            .governor
            .look(|state| state.session(self.id).map(|open| open.catalog_version));
        Ok(Candidate {
            capability_id: capability.clone(),
            descriptor_digest: row.descriptor.digest(),
            trust_status: row.trust,
            validation_status: row.validation,
            execution_state: row.execution_state,
            catalog_version: version.flatten().ok_or_else(absent)?,
            last_observed_at: row.last_observed_at,
            expires_at: row.expires_at,
            descriptor: row.descriptor.to_json().clone(),
        })
    }
}
