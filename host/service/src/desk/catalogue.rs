//! What there is: the manifest, descriptors, verdicts, admission.

use bindery::{Admission, ErrorType, Refusal, read_component};
use serde_json::{Value, json};

use super::{Caller, Desk, Recording};
use crate::reply::Reply;
use crate::request::Request;
use crate::shelf::Shelved;

impl Desk {
    pub(super) async fn environment(
        &self,
        caller: &Caller,
        session: &str,
    ) -> Result<Value, Refusal> {
        let session = self.session(caller, session).await?;
        value(&session.environment()?)
    }

    pub(super) async fn describe(
        &self,
        caller: &Caller,
        session: &str,
        id: &str,
    ) -> Result<Value, Refusal> {
        let session = self.session(caller, session).await?;
        value(&session.describe(&self.capability(id)?)?)
    }

    pub(super) async fn validate(
        &self,
        caller: &Caller,
        session: &str,
        id: &str,
    ) -> Result<Value, Refusal> {
        let session = self.session(caller, session).await?;
        value(&session.validate(&self.capability(id)?)?)
    }

    pub(super) async fn admit(&self, request: &Request) -> Result<Value, Refusal> {
        let Request::Admit {
            path,
            namespace,
            package,
            contract,
            registration,
        } = request
        else {
            return Err(Refusal::new(ErrorType::Internal, "this is no admission"));
        };
        let path = std::path::Path::new(path);
        let bytes = read_component(path, &self.host.document().limits.budgets)?;
        let origin = path.file_name().map(|name| name.to_string_lossy());
        let admission = Admission {
            package: package.clone(),
            contract: (**contract).clone(),
            registration: *registration,
            ..Admission::by_operator(namespace.clone(), origin.unwrap_or_default())
        };
        // The list of the shelf is read and written whole: one admission at a time.
        let _turn = self.shelving.lock().await;
        let admitted = self.host.admit(bytes.clone(), admission.clone()).await?;
        // Recorded first, kept then: a component that is not kept was not acknowledged.
        if let (Recording::Store, Some(first)) = (self.recording, admitted.first()) {
            let shelved = Shelved::of(first.implementation_digest, &admission);
            self.shelf.put(&bytes, shelved)?;
        }
        Ok(json!({ "admitted": value(&admitted)? }))
    }

    pub(super) async fn explain(&self, caller: &Caller, request: &Request) -> Reply {
        let Request::Explain {
            id,
            arguments,
            principal,
            wish,
            session,
        } = request
        else {
            return Reply::Refused(Refusal::new(
                ErrorType::Internal,
                "this is no question about policy",
            ));
        };
        let explained = async {
            let whose = self.acting(caller, principal.as_ref())?;
            let opened = self.open_session(&whose, session).await?;
            let explained = self.capability(id).and_then(|capability| {
                let wanted = super::session::bind_request(wish)?;
                opened.explain(caller.rights, &capability, &wanted, arguments.as_deref())
            });
            // It was opened for this question alone, whatever the answer is.
            opened.end().await?;
            explained
        };
        match explained.await {
            Ok(explanation) => Reply::Text {
                text: explanation.text,
                json: explanation.json,
            },
            Err(refusal) => Reply::Refused(refusal),
        }
    }
}

/// A serialised value.
pub(super) fn value(of: &impl serde::Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(of).map_err(|error| {
        Refusal::new(ErrorType::Internal, "the answer cannot be written")
            .for_operator(error.to_string())
    })
}
