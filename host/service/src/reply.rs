//! What a request comes to; how it is printed is the front's to say.

use bindery::Refusal;
use serde_json::Value;

/// An answer.
#[derive(Debug)]
pub enum Reply {
    /// A JSON object.
    Value(Value),
    /// A text for people, with the same as an object.
    Text {
        /// For people.
        text: String,
        /// The same.
        json: Value,
    },
    /// A call: outcome, receipt, proposal.
    Call(Box<bindery::Reply>),
    /// No, and why.
    Refused(Refusal),
}

impl From<Result<Value, Refusal>> for Reply {
    fn from(result: Result<Value, Refusal>) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(refusal) => Self::Refused(refusal),
        }
    }
}

impl Reply {
    /// The same without what is the operator's to read.
    #[must_use]
    pub(crate) fn for_model(self) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(refusal.for_caller()),
            Self::Call(mut reply) => {
                if let bindery::Outcome::Refused(refusal) = reply.run.outcome {
                    reply.run.outcome = bindery::Outcome::Refused(refusal.for_caller());
                }
                reply.run.denials.clear();
                Self::Call(reply)
            }
            other @ (Self::Value(_) | Self::Text { .. }) => other,
        }
    }
}
