//! How deep types are declared inside types, found without recursion.
//!
//! Rule (B7): the reader of component types calls itself for every instance or component
//! type declared inside another; three bytes a level are enough to overflow any stack and
//! end the process. So a section of types is walked here first, level by level in a list.

use bindery_types::Refusal;
use wasmparser::{
    BinaryReader, ComponentAlias, ComponentExternName, ComponentImport, ComponentType,
    ComponentTypeRef, CoreType, SectionLimited,
};

use super::bounds;

const COMPONENT_TYPE: u8 = 0x41;
const INSTANCE_TYPE: u8 = 0x42;

/// Why a walk ended early.
enum Stop {
    /// Deeper than the bound.
    Deep(Refusal),
    /// Not readable: the validator will say what is wrong.
    Unreadable,
}

impl From<wasmparser::Error> for Stop {
    fn from(_: wasmparser::Error) -> Self {
        Stop::Unreadable
    }
}

/// Counts what a section of types declares, on all levels, when it nests no deeper than
/// [`bounds::NESTING`]. Bytes that cannot be read count as nothing: the validator refuses
/// them before it gets to what they would have held.
pub(super) fn count(
    section: &SectionLimited<'_, ComponentType<'_>>,
    bytes: &[u8],
) -> Result<u64, Refusal> {
    let range = section.range();
    let Some(body) = bytes.get(range.clone()) else {
        return Ok(0);
    };
    match walk(&mut BinaryReader::new(body, range.start)) {
        Ok(items) => Ok(items),
        Err(Stop::Deep(refusal)) => Err(refusal),
        Err(Stop::Unreadable) => Ok(0),
    }
}

fn walk(reader: &mut BinaryReader<'_>) -> Result<u64, Stop> {
    let mut items = 0_u64;
    // How many declarations are left to read on each open level; the first level is the
    // section itself, whose items are types without a leading byte.
    let mut open = vec![reader.read_var_u32()?];
    while let Some(left) = open.last_mut() {
        let Some(less) = left.checked_sub(1) else {
            open.pop();
            continue;
        };
        *left = less;
        items = items.saturating_add(1);
        let in_section = open.len() == 1;
        if let Some(declarations) = item(reader, in_section)? {
            open.push(declarations);
            let depth = u64::try_from(open.len()).unwrap_or(u64::MAX);
            bounds::NESTING.check(depth - 1).map_err(Stop::Deep)?;
        }
    }
    Ok(items)
}

/// Reads one item; gives the number of its declarations when it opens a level.
fn item(reader: &mut BinaryReader<'_>, in_section: bool) -> Result<Option<u32>, Stop> {
    let declares = if in_section { 0x01 } else { reader.read_u8()? };
    match declares {
        0x00 => {
            reader.read::<CoreType<'_>>()?;
        }
        0x01 => return a_type(reader),
        0x02 => {
            reader.read::<ComponentAlias<'_>>()?;
        }
        0x03 => {
            reader.read::<ComponentImport<'_>>()?;
        }
        0x04 => {
            reader.read::<ComponentExternName<'_>>()?;
            reader.read::<ComponentTypeRef>()?;
        }
        _ => return Err(Stop::Unreadable),
    }
    Ok(None)
}

fn a_type(reader: &mut BinaryReader<'_>) -> Result<Option<u32>, Stop> {
    let mut ahead = reader.clone();
    match ahead.read_u8()? {
        COMPONENT_TYPE | INSTANCE_TYPE => {
            let declarations = ahead.read_var_u32()?;
            *reader = ahead;
            Ok(Some(declarations))
        }
        _ => {
            reader.read::<ComponentType<'_>>()?;
            Ok(None)
        }
    }
}
