//! `bindery inspect`: what a component is and wants, without running it.

use bindery::{Refusal, Shape};

use crate::answer::{Answer, Format};
use crate::args::InspectArgs;
use crate::{ending, operands};

/// Reads, checks and describes one component.
pub(crate) fn run(args: InspectArgs) -> Answer {
    let format = args.format.format;
    let shape = ending::drive(async move |cancel| {
        ending::unless_ended(&cancel, move || shape(&args)).await
    });
    match shape {
        Ok(shape) if format == Format::Json => Answer::json(&bindery::shape_document(&shape)),
        Ok(shape) => Answer::text(bindery::shape_text(&shape)),
        Err(refusal) => Answer::refusal(format, &refusal, None),
    }
}

fn shape(args: &InspectArgs) -> Result<Shape, Refusal> {
    let budget = operands::budget_of_limits(&args.limits)?;
    let bytes = bindery::read_component(&args.component, &budget)?;
    bindery::inspect(&bytes, &budget)
}
