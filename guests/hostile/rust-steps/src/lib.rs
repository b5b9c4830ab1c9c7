//! A guest in the middle of a chain: it is called by one component and calls another.

/// What the component imports and exports.
#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({ world: "steps-world", path: "wit", generate_all });
    use super::Steps;
    export!(Steps);
}

use bindings::exports::test::relay::steps::{Guest, Job, Trouble};
use bindings::test::echo::values::{
    self, Colour, Item, Marks, Shape, echo_bytes, echo_item, echo_option,
};

struct Steps;

impl Guest for Steps {
    fn work(job: Job) -> Result<Job, Trouble> {
        let dividend = i64::try_from(job.count).unwrap_or(i64::MAX);
        let half = values::divide(dividend, if dividend == 0 { 0 } else { 2 });
        let half = half.map_err(|trouble| match trouble {
            values::Trouble::ByZero => Trouble::ByZero,
            values::Trouble::TooLarge(number) => Trouble::TooLarge(number),
        })?;
        let item = echo_item(&Item {
            name: job.name.clone(),
            count: job.count,
            tags: job.tags.clone(),
            note: job.note.clone(),
            colour: Colour::Green,
            marks: Marks::BOLD | Marks::UNDERLINED,
            shape: Shape::Circle(job.share),
            pair: (-7, true),
        });
        let Shape::Circle(share) = item.shape else {
            return Err(Trouble::TooLarge(0));
        };
        let same = item.marks == (Marks::BOLD | Marks::UNDERLINED)
            && item.pair == (-7, true)
            && matches!(item.colour, Colour::Green)
            && echo_option(None).is_none()
            && echo_option(Some(7)) == Some(7);
        Ok(Job {
            name: item.name,
            count: if same { half.unsigned_abs() } else { 0 },
            data: echo_bytes(&job.data),
            tags: item.tags,
            note: item.note,
            share,
        })
    }
}
