//! Components made from WIT alone: every function is there with its real type and traps
//! when it is called. For tests that look at a component and never run it.

use anyhow::{Context, Result};
use wit_component::{ComponentEncoder, StringEncoding};
use wit_parser::{ManglingAndAbi, Resolve};

/// The component of the only world in the WIT text `wit`.
///
/// # Errors
///
/// When the text is not WIT, has no world or several, or what it describes cannot be
/// encoded.
pub fn dummy(wit: &str) -> Result<Vec<u8>> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("world.wit", wit)?;
    let world = resolve.select_world(&[package], None)?;
    let mut module = wit_component::dummy_module(&resolve, world, ManglingAndAbi::Standard32);
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default()
        .module(&module)?
        .validate(true)
        .encode()
        .context("the world cannot be encoded")
}
