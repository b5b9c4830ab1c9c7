//! One function body: validated operator by operator under the bounds of its own.
//!
//! Rule (X16, B8): what makes compiling slow is refused before it is compiled.

use bindery_types::Refusal;
use wasmparser::{FuncValidator, FunctionBody, WasmModuleResources};

use super::bounds;
use super::features;
use super::invalid::invalid;

/// Passes a body that is valid and within [`bounds::LOCALS`] and [`bounds::BLOCK_DEPTH`].
pub(super) fn check<R: WasmModuleResources>(
    validator: &mut FuncValidator<R>,
    body: &FunctionBody<'_>,
    bytes: &[u8],
) -> Result<(), Refusal> {
    let refuse = |error: wasmparser::Error| invalid(&error, bytes);
    let mut reader = body.get_binary_reader();
    validator.read_locals(&mut reader).map_err(refuse)?;
    bounds::LOCALS.check(validator.len_locals().into())?;
    reader.set_features(features::ALLOWED);
    while !reader.eof() {
        let offset = reader.original_position();
        reader
            .visit_operator(&mut validator.visitor(offset))
            .and_then(|validated| validated)
            .map_err(refuse)?;
        bounds::BLOCK_DEPTH.check(validator.control_stack_height().into())?;
    }
    let end = reader.original_position();
    reader
        .finish_expression(&validator.visitor(end))
        .map_err(refuse)
}
