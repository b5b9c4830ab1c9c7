//! `wasi:config/store`: the values of a config grant, read-only.
//!
//! Rule (C-63): the only way a value of the host reaches a guest by name. What is not in
//! the grant is absent; each reading is an effect with its key.

use bindery_types::{EffectKind, InterfaceName};
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Linker, Lower};

use crate::call::{CallGrants, GrantView};
use crate::text::one_line;

/// The error of the interface; a grant in memory has none to give.
#[derive(Clone, Debug, ComponentType, Lower)]
#[component(variant)]
#[allow(
    dead_code,
    reason = "the contract has the cases, this provider has no failure"
)]
enum StoreError {
    #[component(name = "upstream")]
    Upstream(String),
    #[component(name = "io")]
    Io(String),
}

/// Bytes of a key that the trace keeps.
const KEY_BYTES_MAX: usize = 128;

impl CallGrants {
    fn config_value(&mut self, key: &str) -> wasmtime::Result<Option<String>> {
        self.enter()?;
        let value = self
            .config
            .as_ref()
            .and_then(|values| values.get(key))
            .cloned();
        let bytes = value.as_ref().map_or(0, String::len);
        self.work(bytes)?;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.meter.note(
            EffectKind::StoreRead,
            format!("config {}", one_line(key, KEY_BYTES_MAX)),
            bytes,
        );
        Ok(value)
    }

    fn config_values(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        self.enter()?;
        let all = self.config.iter().flatten();
        let all: Vec<_> = all
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let bytes = all.iter().map(|(key, value)| key.len() + value.len()).sum();
        self.work(bytes)?;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.meter.note(EffectKind::StoreRead, "config *", bytes);
        Ok(all)
    }
}

type Answer<V> = wasmtime::Result<(Result<V, StoreError>,)>;

/// Links `wasi:config/store` under the very name that is imported: it has no release.
pub(crate) fn link<T: GrantView>(
    linker: &mut Linker<T>,
    name: &InterfaceName,
) -> wasmtime::Result<()> {
    let mut store = linker.instance(name.as_str())?;
    store.func_wrap(
        "get",
        |mut store: StoreContextMut<'_, T>, (key,): (String,)| -> Answer<Option<String>> {
            Ok((Ok(store.data_mut().grants().config_value(&key)?),))
        },
    )?;
    store.func_wrap(
        "get-all",
        |mut store: StoreContextMut<'_, T>, (): ()| -> Answer<Vec<(String, String)>> {
            Ok((Ok(store.data_mut().grants().config_values()?),))
        },
    )
}
