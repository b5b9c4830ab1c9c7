//! 64 KiB of bytes there and back.

use std::hint::black_box;

use anyhow::Result;
use bindery_json::{read_arguments, tape::Tape, text};
use bindery_types::Budget;

use super::ROUNDS;
use crate::goal::Goal;
use crate::measure::{fitting, in_turns, time};
use crate::raw::{Raw, Warm};
use crate::rig::{Guest, Rig, explain};
use crate::row::Row;
use crate::stats::Pair;

const INTERFACE: &str = "bench:crossing/crossing@0.1.0";
const BYTES: usize = 64 << 10;
/// What the goal allows on top of its multiple.
const ALLOWANCE_NS: f64 = 1_000.0;

/// The rows.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let raw = Raw::ours(&rig.crossing.bytes)?;
    let data: Vec<u8> = (0..=u8::MAX).cycle().take(BYTES).collect();
    let arguments = arguments(&data)?;
    let (echo, take) = (
        tape(&rig.crossing, "echo", &arguments)?,
        tape(&rig.crossing, "take", &arguments)?,
    );
    let call = |warm: &mut Warm, tape: &Tape, count| rig.runtime.block_on(warm.call(tape, count));
    let one = |count| copies(&data, 1, count);
    let two = |count| copies(&data, 2, count);
    let mut inward = raw.warm(INTERFACE, "take")?;
    let mut both = raw.warm(INTERFACE, "echo")?;
    let mut whole = raw.warm(INTERFACE, "echo")?;
    let rounds = rig.pace.rounds(ROUNDS);
    let decoded = without_encoding(rounds, &data, |count| call(&mut both, &echo, count), two)?;
    let beside = |id: &str, what: &str| Row::new(id, what, "two copies of 64 KiB");
    let from_text = |count: u32| -> Result<()> {
        for _ in 0..count {
            let tape = tape(&rig.crossing, "echo", &arguments)?;
            call(&mut whole, &tape, 1)?;
        }
        Ok(())
    };
    let fresh = |count| rig.call(&rig.crossing, "echo", &arguments, count);
    Ok(vec![
        beside("bytes", "64 KiB there and back, warm, less 1 us")
            .goal(Goal::AtMost(3.0))
            .note("from decoded bytes: writing the result as base64 is measured in the same rounds and taken off")
            .ratio_beyond(&decoded, ALLOWANCE_NS),
        Row::new("bytes-in", "64 KiB in, warm, decoded", "one copy of 64 KiB")
            .ratio(&in_turns(rounds, |count| call(&mut inward, &take, count), one)?),
        beside("bytes-base64", "64 KiB both ways as base64, warm")
            .ratio(&in_turns(rounds, from_text, two)?),
        beside("bytes-fresh", "64 KiB both ways as base64, run")
            .ratio(&in_turns(rounds, fresh, two)?),
    ])
}

/// The call less what encoding its result takes, against the copies.
fn without_encoding(
    rounds: usize,
    data: &[u8],
    mut call: impl FnMut(u32) -> Result<()>,
    mut copies: impl FnMut(u32) -> Result<()>,
) -> Result<Pair> {
    let mut encode = |count: u32| -> Result<()> {
        for _ in 0..count {
            let mut out = Vec::new();
            text::push_bytes(&mut out, black_box(data));
            black_box(out);
        }
        Ok(())
    };
    let count = fitting(&mut call)?;
    fitting(&mut encode)?;
    let copy_count = fitting(&mut copies)?;
    let mut pair = Pair::default();
    for _ in 0..rounds {
        let whole = time(&mut call, count)?;
        pair.ours.push(whole - time(&mut encode, count)?);
        pair.theirs.push(time(&mut copies, copy_count)?);
    }
    Ok(pair)
}

fn copies(data: &[u8], each: u32, count: u32) -> Result<()> {
    let mut target = vec![0; data.len()];
    for _ in 0..count.saturating_mul(each) {
        target.copy_from_slice(black_box(data));
        black_box(&mut target);
    }
    Ok(())
}

fn arguments(data: &[u8]) -> Result<String> {
    let mut json = br#"{"data": "#.to_vec();
    text::push_bytes(&mut json, data);
    json.push(b'}');
    Ok(String::from_utf8(json)?)
}

/// Checked arguments of a function.
pub(super) fn tape(guest: &Guest, function: &str, arguments: &str) -> Result<Tape> {
    let shape = guest.loaded.shape();
    let function = shape.resolve(function)?;
    read_arguments(arguments, function, &shape.types, &Budget::default()).map_err(explain)
}
