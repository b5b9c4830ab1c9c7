//! The running counts of one component under their bounds.
//!
//! Rule (H15): every section is counted before the validator reads its items, so what is
//! refused for its size costs nothing more than its header.

use bindery_types::Refusal;
use wasmparser::Payload;

use super::bounds::{self, Count};
use super::nesting;
use super::read::size_of;

/// What was found so far.
#[derive(Debug)]
pub(super) struct Tally {
    functions: Count,
    modules: Count,
    components: Count,
    memories: Count,
    tables: Count,
    types: Count,
    names: Count,
    globals: Count,
    segments: Count,
    glue: Count,
    custom_sections: Count,
}

impl Tally {
    /// Nothing found yet.
    pub(super) fn new() -> Self {
        Self {
            functions: Count::of(bounds::FUNCTIONS),
            modules: Count::of(bounds::MODULES),
            components: Count::of(bounds::COMPONENTS),
            memories: Count::of(bounds::MEMORIES),
            tables: Count::of(bounds::TABLES),
            types: Count::of(bounds::TYPES),
            names: Count::of(bounds::NAMES),
            globals: Count::of(bounds::GLOBALS),
            segments: Count::of(bounds::SEGMENTS),
            glue: Count::of(bounds::GLUE),
            custom_sections: Count::of(bounds::CUSTOM_SECTIONS),
        }
    }

    /// Counts one payload of the component whose bytes are `bytes`.
    pub(super) fn add(&mut self, payload: &Payload<'_>, bytes: &[u8]) -> Result<(), Refusal> {
        match payload {
            Payload::TypeSection(section) => self.types.add(section.count()),
            Payload::CoreTypeSection(section) => self.types.add(section.count()),
            Payload::ComponentTypeSection(section) => {
                self.types.add(nesting::count(section, bytes)?)
            }
            Payload::ImportSection(section) => self.names.add(section.count()),
            Payload::ExportSection(section) => self.names.add(section.count()),
            Payload::ComponentImportSection(section) => self.names.add(section.count()),
            Payload::ComponentExportSection(section) => self.names.add(section.count()),
            Payload::FunctionSection(section) => self.functions.add(section.count()),
            Payload::CodeSectionEntry(body) => bounds::BODY_BYTES.check(size_of(body.as_bytes())),
            Payload::MemorySection(section) => self.memories(section),
            Payload::TableSection(section) => self.tables(section),
            Payload::GlobalSection(section) => self.globals.add(section.count()),
            Payload::DataSection(section) => self.segments.add(section.count()),
            Payload::ElementSection(section) => self.segments.add(section.count()),
            Payload::ModuleSection { .. } => self.modules.add(1_u64),
            Payload::ComponentSection { .. } => self.components.add(1_u64),
            Payload::InstanceSection(section) => self.glue.add(section.count()),
            Payload::ComponentInstanceSection(section) => self.glue.add(section.count()),
            Payload::ComponentAliasSection(section) => self.glue.add(section.count()),
            Payload::ComponentCanonicalSection(section) => self.glue.add(section.count()),
            Payload::CustomSection(_) => self.custom_sections.add(1_u64),
            // The rest has one item at most, or is refused by the validator.
            _ => Ok(()),
        }
    }

    /// Memories, and what each starts with: a memory no slot can hold is refused here
    /// instead of by the engine.
    fn memories(&mut self, section: &wasmparser::MemorySectionReader<'_>) -> Result<(), Refusal> {
        const PAGE_BYTES: u64 = 1 << 16;
        self.memories.add(section.count())?;
        for memory in section.clone().into_iter().flatten() {
            let bytes = memory.initial.saturating_mul(PAGE_BYTES);
            bounds::MEMORY_BYTES.check(bytes)?;
        }
        Ok(())
    }

    /// Tables, and what each starts with.
    fn tables(&mut self, section: &wasmparser::TableSectionReader<'_>) -> Result<(), Refusal> {
        self.tables.add(section.count())?;
        for table in section.clone().into_iter().flatten() {
            bounds::TABLE_ELEMENTS.check(table.ty.initial)?;
        }
        Ok(())
    }
}
