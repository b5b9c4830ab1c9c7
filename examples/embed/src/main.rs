//! Runs one function of a component inside a service: `embed COMPONENT FUNCTION [JSON]`.
//!
//! Nothing is granted, so the component computes and touches nothing; the budget bounds
//! it, and the receipt says what it used.

use anyhow::{Context, bail};
use bindery::{Budget, Cancel, Grants, Host, LimitName, Outcome};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [component, function, rest @ ..] = words.as_slice() else {
        bail!("usage: embed COMPONENT FUNCTION [JSON]");
    };
    let arguments = rest.first().map_or("{}", String::as_str);

    let budget = Budget::default().with(LimitName::Deadline, 1_000)?;
    let host = Host::builder().build()?;
    let component = host
        .load(bindery::read_component(component.as_ref(), &budget)?)
        .await?;
    let run = host
        .run(
            &component,
            function,
            arguments,
            Grants::default(),
            &budget,
            &Cancel::new(),
        )
        .await;

    let receipt = run.receipt.context("nothing was started")?;
    match run.outcome {
        Outcome::Value(json) => println!("{json}"),
        Outcome::CapabilityError(json) => println!("the capability said no: {json}"),
        Outcome::Refused(refusal) => bail!("{refusal}"),
    }
    println!(
        "{} fuel, {} µs, {} effects",
        receipt.fuel_used,
        receipt.wall_us,
        receipt.effects.len()
    );
    Ok(())
}
