//! The documentation of a guest's WIT, carried by its component.
//!
//! The WIT tools drop comments when a module becomes a component. They are put back as a
//! custom section `bindery:docs:NS:PACKAGE` in the encoding that those tools use for
//! packages, which is what `bindery inspect` reads.

use std::path::Path;

use anyhow::{Context, Result};
use wit_parser::{PackageMetadata, Resolve};

/// Appends the documentation of the package in `folder` to a component.
pub(crate) fn append(component: &mut Vec<u8>, folder: &Path) -> Result<()> {
    let mut resolve = Resolve::default();
    let parsed = resolve.push_dir(folder);
    let (id, _) =
        parsed.with_context(|| format!("cannot parse the WIT in {}", folder.display()))?;
    let package = resolve
        .packages
        .get(id)
        .context("the package that was just parsed")?;
    let name = format!(
        "bindery:docs:{}:{}",
        package.name.namespace, package.name.name
    );
    let docs = PackageMetadata::extract(&resolve, id).encode()?;
    section(component, &name, &docs)
}

/// A custom section: its id, its length, its name with a length, its bytes.
fn section(component: &mut Vec<u8>, name: &str, bytes: &[u8]) -> Result<()> {
    let mut content = length(name.len())?;
    content.extend_from_slice(name.as_bytes());
    content.extend_from_slice(bytes);
    component.push(0);
    component.extend(length(content.len())?);
    component.extend(content);
    Ok(())
}

/// A length as the binary format writes it: seven bits a byte, the last one without the top bit.
fn length(length: usize) -> Result<Vec<u8>> {
    let mut left = u32::try_from(length).context("a section longer than 4 GiB")?;
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(left & 0x7F)?;
        left >>= 7;
        if left == 0 {
            bytes.push(low);
            return Ok(bytes);
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::length;

    #[test]
    fn lengths_are_written_as_the_binary_format_wants_them() {
        assert_eq!(length(0).expect("fits"), [0]);
        assert_eq!(length(127).expect("fits"), [127]);
        assert_eq!(length(128).expect("fits"), [0x80, 1]);
        assert_eq!(length(624_485).expect("fits"), [0xE5, 0x8E, 0x26]);
    }
}
