//! What a file is when it is not a component: one sentence a kind.
//!
//! Rule (D2): every sentence says what the bytes are, what was expected and what to do
//! next. The kind stands in `details.kind` for programs.

use bindery_types::{ErrorType, Refusal};
use wasmparser::{Parser, Payload};

/// Bytes that are no component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Empty,
    TooShort,
    CoreModule,
    TypedModule,
    Preview1Module,
    WitPackage,
    Truncated,
    TrailingBytes,
    Html,
    Elf,
    Precompiled,
    WatText,
    WitText,
    Gzip,
    Zip,
    Zstd,
    OldComponent,
    NewComponent,
    UnknownWasm,
    Unknown,
}

impl Kind {
    /// The name in `details.kind`.
    fn name(self) -> &'static str {
        match self {
            Kind::Empty => "empty",
            Kind::TooShort => "too_short",
            Kind::CoreModule => "core_module",
            Kind::TypedModule => "typed_module",
            Kind::Preview1Module => "preview1_module",
            Kind::WitPackage => "wit_package",
            Kind::Truncated => "truncated",
            Kind::TrailingBytes => "trailing_bytes",
            Kind::Html => "html",
            Kind::Elf => "elf",
            Kind::Precompiled => "precompiled",
            Kind::WatText => "wat_text",
            Kind::WitText => "wit_text",
            Kind::Gzip => "gzip",
            Kind::Zip => "zip",
            Kind::Zstd => "zstd",
            Kind::OldComponent => "old_component",
            Kind::NewComponent => "new_component",
            Kind::UnknownWasm => "unknown_wasm",
            Kind::Unknown => "unknown",
        }
    }

    /// What it is, what was expected, what to do next.
    fn sentence(self) -> &'static str {
        match self {
            Kind::Empty => {
                "the file is empty, a component was expected; check that the build or the download finished"
            }
            Kind::TooShort => {
                "the file is shorter than the header of a component; check that the build or the download finished"
            }
            Kind::CoreModule => {
                "this is a core WebAssembly module, a component was expected; build it for `wasm32-wasip2`, or describe its functions in WIT and run `wasm-tools component embed` and `wasm-tools component new`"
            }
            Kind::TypedModule => {
                "this is a core WebAssembly module that carries its WIT, a component was expected; run `wasm-tools component new MODULE -o COMPONENT`"
            }
            Kind::Preview1Module => {
                "this is a core WebAssembly module for WASI preview 1, a component was expected; build it for `wasm32-wasip2`, or run `wasm-tools component new MODULE --adapt wasi_snapshot_preview1=ADAPTER -o COMPONENT` with the reactor or command adapter of wasmtime"
            }
            Kind::WitPackage => {
                "this is a WIT package in binary form, which has types and no code, a component was expected; name the component that was built from it"
            }
            Kind::Truncated => "the component ends in the middle; build or download it again",
            Kind::TrailingBytes => {
                "there are bytes after the end of the component; remove them, or build or download it again"
            }
            Kind::Html => {
                "this is an HTML page, a component was expected; the download probably gave a login or error page: open its address in a browser"
            }
            Kind::Elf => {
                "this is a native program or library (ELF), a component was expected; build it for `wasm32-wasip2`"
            }
            Kind::Precompiled => {
                "this is machine code compiled from WebAssembly (`.cwasm`), which this host takes from nobody; name the component that it was compiled from"
            }
            Kind::WatText => {
                "this is WebAssembly text, a binary component was expected; run `wasm-tools parse TEXT -o COMPONENT`"
            }
            Kind::WitText => {
                "this is WIT text, which has types and no code, a component was expected; name the component that was built from it"
            }
            Kind::Gzip => "this is gzip data, a component was expected; run `gunzip` first",
            Kind::Zip => "this is a zip archive, a component was expected; unpack it first",
            Kind::Zstd => "this is zstd data, a component was expected; run `unzstd` first",
            Kind::OldComponent => {
                "this component has an encoding older than this host reads; build it again with current tools"
            }
            Kind::NewComponent => {
                "this component has an encoding newer than this host reads; build it with tools of the 0.2 line of WASI, or update this host"
            }
            Kind::UnknownWasm => {
                "this is WebAssembly of a version nobody has agreed on, a component was expected; build it again with current tools"
            }
            Kind::Unknown => {
                "this is not WebAssembly, a component was expected; name the `.wasm` file that the build made"
            }
        }
    }

    /// The refusal that says so.
    pub(super) fn refusal(self) -> Refusal {
        Refusal::new(ErrorType::ComponentInvalid, self.sentence()).with("kind", self.name())
    }
}

const MAGIC: &[u8] = b"\0asm";
/// Version and layer of a component, behind the magic number.
const COMPONENT: [u8; 4] = [0x0d, 0, 1, 0];
const COMPONENT_VERSION: u16 = 0x0d;

/// Passes bytes that begin as a component does, or says what they are.
pub(super) fn check(bytes: &[u8]) -> Result<(), Kind> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(other(bytes));
    };
    match rest.first_chunk::<4>() {
        None => Err(Kind::TooShort),
        Some(header) if *header == COMPONENT => Ok(()),
        Some([1, 0, 0, 0]) => Err(module(bytes)),
        Some([low, high, 1, 0]) => Err(match u16::from_le_bytes([*low, *high]) {
            // Before the first release the version counted up to the present one.
            1..COMPONENT_VERSION => Kind::OldComponent,
            _ => Kind::NewComponent,
        }),
        Some(_) => Err(Kind::UnknownWasm),
    }
}

/// What kind of core module: by what it imports and what it carries. A module that breaks
/// off is still the kind that it has shown until there.
fn module(bytes: &[u8]) -> Kind {
    let mut kind = Kind::CoreModule;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(Payload::ImportSection(imports)) => {
                let preview1 =
                    |module: &str| module == "wasi_snapshot_preview1" || module == "wasi_unstable";
                let mut all = imports.into_imports();
                if all.any(|import| import.is_ok_and(|import| preview1(import.module))) {
                    return Kind::Preview1Module;
                }
            }
            Ok(Payload::CustomSection(section)) if section.name().starts_with("component-type") => {
                kind = Kind::TypedModule;
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    kind
}

/// What bytes without the magic number of WebAssembly are.
fn other(bytes: &[u8]) -> Kind {
    const SIGNATURES: &[(&[u8], Kind)] = &[
        (b"\x1f\x8b", Kind::Gzip),
        (b"PK\x03\x04", Kind::Zip),
        (b"\x28\xb5\x2f\xfd", Kind::Zstd),
    ];
    if bytes.is_empty() {
        return Kind::Empty;
    }
    if MAGIC.starts_with(bytes) {
        return Kind::TooShort;
    }
    if bytes.starts_with(b"\x7fELF") {
        return match wasmtime::Engine::detect_precompiled(bytes) {
            Some(_) => Kind::Precompiled,
            None => Kind::Elf,
        };
    }
    let signed = SIGNATURES
        .iter()
        .find(|(signature, _)| bytes.starts_with(signature));
    match signed {
        Some((_, kind)) => *kind,
        None => text(bytes),
    }
}

/// What a text is, by its first words.
fn text(bytes: &[u8]) -> Kind {
    let start = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let start = start.trim_ascii_start();
    let word: Vec<u8> = start.iter().take(16).map(u8::to_ascii_lowercase).collect();
    let begins = |with: &[&str]| with.iter().any(|text| word.starts_with(text.as_bytes()));
    if begins(&["<!doctype", "<html", "<?xml", "<head", "<body"]) {
        Kind::Html
    } else if begins(&["(component", "(module", ";;", "(;"]) {
        Kind::WatText
    } else if begins(&["package ", "interface ", "world ", "///"]) {
        Kind::WitText
    } else if bytes.len() < MAGIC.len() + COMPONENT.len() {
        Kind::TooShort
    } else {
        Kind::Unknown
    }
}
