//! A guest that has another component do its work: the first of a chain.

/// What the component imports and exports.
#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({ world: "relay", path: "wit", generate_all });
    use super::Relay;
    export!(Relay);
}

use bindings::exports::test::relay::front::Guest;
use bindings::test::relay::steps::{Job, work};

struct Relay;

impl Guest for Relay {
    fn relay(times: u32, bytes: u32, count: u64) -> Result<String, String> {
        let mut said = Vec::new();
        for turn in 0..times {
            let job = Job {
                name: format!("turn {turn}"),
                count,
                data: (0..bytes).map(|byte| byte.to_le_bytes()[0]).collect(),
                tags: vec!["a".to_owned(), "é\"".to_owned()],
                note: (turn % 2 == 0).then(|| "even".to_owned()),
                share: 0.1,
            };
            let done = work(&job).map_err(|trouble| format!("{trouble:?}"))?;
            if done.data != job.data || done.note != job.note || done.share != job.share {
                return Err("it came back as something else".to_owned());
            }
            said.push(format!(
                "{} {} {}",
                done.name,
                done.count,
                done.tags.join(",")
            ));
        }
        Ok(said.join("; "))
    }
}
