//! What a component says of itself: who made it, and its documentation.
//!
//! Rule (X29, X30): claims are shown and never acted on. Documentation that cannot be
//! read is no documentation; the component itself is not refused for it.
//!
//! Two custom sections hold documentation, both in the encoding of `package-docs`: a
//! version byte, then JSON. `package-docs` itself speaks of the world `root`, as the WIT
//! tools read it back; `bindery:docs:NS:PACKAGE` is the `package-docs` of the WIT package
//! `NS:PACKAGE` that the component was built from, which those tools would not accept
//! under its own name in a component.

use std::collections::BTreeSet;

use bindery_types::{FunctionName, Producer, Refusal};
use serde_json::Value;
use wasmparser::CustomSectionReader;

use super::bounds;
use super::read::size_of;

const PACKAGE_DOCS: &str = "package-docs";
const OWN_DOCS_PREFIX: &str = "bindery:docs:";
/// Highest version of the encoding that is understood.
const DOCS_VERSION_MAX: u8 = 1;

/// The claims of a component and of the modules inside it.
#[derive(Debug, Default)]
pub(super) struct Claims<'a> {
    producers: BTreeSet<(String, String, String)>,
    docs: Vec<DocsSection<'a>>,
    description: Option<&'a str>,
}

#[derive(Debug)]
struct DocsSection<'a> {
    /// The WIT package it speaks of; none when it speaks of the component's own world.
    package: Option<&'a str>,
    root: Value,
}

impl<'a> Claims<'a> {
    /// Notes one custom section; `own` when it is the component's, not a part's.
    pub(super) fn note(
        &mut self,
        section: &CustomSectionReader<'a>,
        own: bool,
    ) -> Result<(), Refusal> {
        let name = section.name();
        let package = name.strip_prefix(OWN_DOCS_PREFIX);
        let is_docs = name == PACKAGE_DOCS || package.is_some();
        if name == "producers" {
            bounds::TEXT_BYTES.check(size_of(section.data()))?;
            self.note_producers(section)
        } else if own && is_docs {
            bounds::TEXT_BYTES.check(size_of(section.data()))?;
            self.docs.extend(read_docs(package, section.data()));
            bounds::DOCS_SECTIONS.check(u64::try_from(self.docs.len()).unwrap_or(u64::MAX))
        } else if own && name == "description" {
            bounds::TEXT_BYTES.check(size_of(section.data()))?;
            self.description = std::str::from_utf8(section.data()).ok();
            Ok(())
        } else {
            Ok(())
        }
    }

    fn note_producers(&mut self, section: &CustomSectionReader<'_>) -> Result<(), Refusal> {
        let read = wasm_metadata::Producers::from_bytes(section.data(), section.data_offset());
        let Ok(read) = read else {
            return Ok(());
        };
        for (field, tools) in read.iter() {
            for (name, version) in tools.iter() {
                let tool = (field.clone(), name.clone(), version.clone());
                self.producers.insert(tool);
            }
        }
        bounds::PRODUCERS.check(u64::try_from(self.producers.len()).unwrap_or(u64::MAX))
    }

    /// The tools named, sorted.
    pub(super) fn producers(&self) -> Vec<Producer> {
        let tools = self.producers.iter().cloned();
        tools
            .map(|(field, name, version)| Producer {
                field,
                name,
                version,
            })
            .collect()
    }

    /// What the component says of itself as a whole: its package, its world, and the
    /// interfaces it exports.
    pub(super) fn component(&self, exports: &[&str]) -> Option<String> {
        let mut pieces: Vec<String> = Vec::new();
        for section in &self.docs {
            pieces.extend(text(&section.root));
            pieces.extend(worlds(&section.root).filter_map(text));
            let interfaces = exports.iter().copied().map(Some);
            pieces.extend(interfaces.flat_map(|name| section.places(name).filter_map(text)));
        }
        pieces.extend(self.description.map(str::to_owned));
        (!pieces.is_empty()).then(|| pieces.join("\n\n"))
    }

    /// What it says of one exported function.
    pub(super) fn function(&self, name: &FunctionName) -> Option<String> {
        self.docs.iter().find_map(|section| {
            section
                .places(name.interface().map(|interface| interface.as_str()))
                .find_map(|place| text(place.get("funcs")?.get(name.function())?))
        })
    }

    /// What it says of one field, case or label of a type of `interface` (of the world
    /// itself when there is none).
    pub(super) fn item(&self, interface: Option<&str>, ty: &str, item: &str) -> Option<String> {
        self.docs.iter().find_map(|section| {
            section
                .places(interface)
                .find_map(|place| text(place.get("types")?.get(ty)?.get("items")?.get(item)?))
        })
    }
}

impl DocsSection<'_> {
    /// The objects of this section that may speak of `interface`, or of the world.
    fn places(&self, interface: Option<&str>) -> Box<dyn Iterator<Item = &Value> + '_> {
        let Some(interface) = interface else {
            return Box::new(worlds(&self.root));
        };
        let interface = interface.to_owned();
        let whole = interface.clone();
        let inline = worlds(&self.root).filter_map(move |world| {
            let exported = world.get("interface_exports").and_then(|i| i.get(&whole));
            exported.or_else(|| world.get("interfaces")?.get(&whole))
        });
        let of_package = interface
            .split('@')
            .next()
            .and_then(|path| path.rsplit_once('/'))
            .filter(|(package, _)| self.package == Some(*package))
            .and_then(|(_, short)| self.root.get("interfaces")?.get(short));
        Box::new(inline.chain(of_package))
    }
}

fn worlds(root: &Value) -> impl Iterator<Item = &Value> {
    let worlds = root.get("worlds").and_then(Value::as_object);
    worlds.into_iter().flat_map(|worlds| worlds.values())
}

/// Documentation is a text, or an object that holds it under `docs`.
fn text(value: &Value) -> Option<String> {
    let text = value.as_str().or_else(|| value.get("docs")?.as_str())?;
    (!text.trim().is_empty()).then(|| text.trim_end().to_owned())
}

fn read_docs<'a>(package: Option<&'a str>, data: &[u8]) -> Option<DocsSection<'a>> {
    let (version, json) = data.split_first()?;
    if *version > DOCS_VERSION_MAX {
        return None;
    }
    let root = serde_json::from_slice(json).ok()?;
    Some(DocsSection { package, root })
}
