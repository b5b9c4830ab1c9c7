//! The log of the call: `bindery:runtime/log` and `wasi:logging/logging`, one sink.
//!
//! Rule (X22, H39, B3): one line a message with its level in front, bounded together,
//! paid for in fuel; a guest cannot start a line of its own making.

use bindery_types::{Captured, EffectKind, InterfaceName, Limit};
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Lift, Linker};

use crate::bindings::bindery::runtime::log::{Host, Level};
use crate::call::{CallGrants, GrantView};
use crate::capture::Capture;
use crate::text::one_line;

/// The lines kept, and the one effect that stands for all of them.
pub(crate) struct Log {
    lines: Capture,
    effect: Option<Option<usize>>,
}

impl Log {
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            lines: Capture::new(limit),
            effect: None,
        }
    }

    pub(crate) fn shown(&self) -> Captured {
        self.lines.shown()
    }
}

impl CallGrants {
    fn add_line(&mut self, level: &str, context: &str, message: &str) -> wasmtime::Result<()> {
        self.enter()?;
        let given = context.len().saturating_add(message.len());
        self.work(given)?;
        let meter = &mut self.meter;
        let effect = self
            .log
            .effect
            .get_or_insert_with(|| meter.note(EffectKind::Log, "log", 0));
        meter.moved(*effect, u64::try_from(given).unwrap_or(u64::MAX));
        let mut line = format!("{level}: ");
        if !context.is_empty() {
            line.push_str(&one_line(context, CONTEXT_BYTES_MAX));
            line.push_str(": ");
        }
        line.push_str(&one_line(message, usize::MAX));
        line.push('\n');
        self.log.lines.push(line.as_bytes());
        Ok(())
    }
}

/// Bytes of a context that stand in front of its message.
const CONTEXT_BYTES_MAX: usize = 128;

impl Host for CallGrants {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            Level::Trace => "trace",
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        self.add_line(level, "", &message)
    }
}

/// The levels of `wasi:logging`.
#[derive(Clone, Copy, Debug, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
#[allow(
    dead_code,
    reason = "made from a guest's number by the derived lifting"
)]
enum ForeignLevel {
    #[component(name = "trace")]
    Trace,
    #[component(name = "debug")]
    Debug,
    #[component(name = "info")]
    Info,
    #[component(name = "warn")]
    Warn,
    #[component(name = "error")]
    Error,
    #[component(name = "critical")]
    Critical,
}

/// Links `wasi:logging/logging` under the very name that is imported: it has no release.
pub(crate) fn link_logging<T: GrantView>(
    linker: &mut Linker<T>,
    name: &InterfaceName,
) -> wasmtime::Result<()> {
    linker.instance(name.as_str())?.func_wrap(
        "log",
        |mut store: StoreContextMut<'_, T>,
         (level, context, message): (ForeignLevel, String, String)| {
            let level = match level {
                ForeignLevel::Trace => "trace",
                ForeignLevel::Debug => "debug",
                ForeignLevel::Info => "info",
                ForeignLevel::Warn => "warn",
                ForeignLevel::Error => "error",
                ForeignLevel::Critical => "critical",
            };
            store
                .data_mut()
                .grants()
                .add_line(level, &context, &message)
        },
    )
}
