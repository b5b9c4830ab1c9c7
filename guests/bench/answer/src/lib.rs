//! The guest that call overhead is measured with: a text for a text, and computation of a
//! given length that touches no memory.

/// What the component exports.
#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({ world: "answer", path: "wit" });
    use super::Answer;
    export!(Answer);
}

struct Answer;

impl bindings::Guest for Answer {
    fn answer(question: String) -> Result<String, String> {
        match question.is_empty() {
            true => Err("there is no question".to_owned()),
            false => Ok(["you asked: ", &question].concat()),
        }
    }

    fn compute(rounds: u32) -> u64 {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..rounds {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        state
    }
}
