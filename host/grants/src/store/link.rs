//! `wasi:keyvalue@0.2.0-draft` in the linker: `store`, `atomics`, `batch`.
//!
//! Rule (H12, D3): a draft fits only itself. Names, parameters and results are those of
//! that draft; a component of another one is refused before it is linked.

use bindery_types::InterfaceName;
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Linker, LinkerInstance, Lower, Resource, ResourceType};

use super::access::{Bucket, StoreError};
use super::backend::Change;
use crate::call::GrantView;

/// A page of keys, as the interface has it.
#[derive(Clone, Debug, ComponentType, Lower)]
#[component(record)]
struct KeyResponse {
    #[component(name = "keys")]
    keys: Vec<String>,
    #[component(name = "cursor")]
    cursor: Option<u64>,
}

type This = Resource<Bucket>;
type Reply<V> = (Result<V, StoreError>,);
type Pairs = Vec<Option<(String, Vec<u8>)>>;

/// Links one of the interfaces under the very name that is imported.
pub(crate) fn link<T: GrantView>(
    linker: &mut Linker<T>,
    name: &InterfaceName,
) -> wasmtime::Result<()> {
    let mut instance = linker.instance(name.as_str())?;
    match name.path() {
        "wasi:keyvalue/store" => link_store(&mut instance),
        "wasi:keyvalue/atomics" => link_atomics(&mut instance),
        _ => link_batch(&mut instance),
    }
}

fn link_store<T: GrantView>(store: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    store.resource("bucket", ResourceType::host::<Bucket>(), |mut call, rep| {
        call.data_mut().grants().close_bucket(rep)
    })?;
    store.func_wrap(
        "open",
        |mut call: StoreContextMut<'_, T>, (name,): (String,)| -> wasmtime::Result<Reply<This>> {
            Ok((call.data_mut().grants().open_bucket(&name)?,))
        },
    )?;
    store.func_wrap_async(
        "[method]bucket.get",
        |mut call: StoreContextMut<'_, T>, (this, key): (This, String)| {
            Box::new(async move {
                let values = call
                    .data_mut()
                    .grants()
                    .read_values(this, vec![key])
                    .await?;
                let value = values.map(|values| values.into_iter().next().flatten());
                let reply: Reply<Option<Vec<u8>>> = (value,);
                Ok(reply)
            })
        },
    )?;
    store.func_wrap_async(
        "[method]bucket.set",
        |mut call: StoreContextMut<'_, T>, (this, key, value): (This, String, Vec<u8>)| {
            Box::new(async move {
                let changes = vec![Change::Set(key, value)];
                Ok((call.data_mut().grants().write_values(this, changes).await?,))
            })
        },
    )?;
    store.func_wrap_async(
        "[method]bucket.delete",
        |mut call: StoreContextMut<'_, T>, (this, key): (This, String)| {
            Box::new(async move {
                let changes = vec![Change::Delete(key)];
                Ok((call.data_mut().grants().write_values(this, changes).await?,))
            })
        },
    )?;
    store.func_wrap_async(
        "[method]bucket.exists",
        |mut call: StoreContextMut<'_, T>, (this, key): (This, String)| {
            Box::new(async move { Ok((call.data_mut().grants().has_value(this, key).await?,)) })
        },
    )?;
    store.func_wrap_async(
        "[method]bucket.list-keys",
        |mut call: StoreContextMut<'_, T>, (this, cursor): (This, Option<u64>)| {
            Box::new(async move {
                let page = call.data_mut().grants().list_keys(this, cursor).await?;
                let page = page.map(|(keys, cursor)| KeyResponse { keys, cursor });
                let reply: Reply<KeyResponse> = (page,);
                Ok(reply)
            })
        },
    )
}

fn link_atomics<T: GrantView>(atomics: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    atomics.func_wrap_async(
        "increment",
        |mut call: StoreContextMut<'_, T>, (this, key, by): (This, String, u64)| {
            Box::new(async move { Ok((call.data_mut().grants().add(this, key, by).await?,)) })
        },
    )
}

fn link_batch<T: GrantView>(batch: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    batch.func_wrap_async(
        "get-many",
        |mut call: StoreContextMut<'_, T>, (this, keys): (This, Vec<String>)| {
            Box::new(async move {
                let grants = call.data_mut().grants();
                let values = grants.read_values(this, keys.clone()).await?;
                let pairs = values.map(|values| {
                    let both = keys.into_iter().zip(values);
                    both.map(|(key, value)| value.map(|value| (key, value)))
                        .collect()
                });
                let reply: Reply<Pairs> = (pairs,);
                Ok(reply)
            })
        },
    )?;
    batch.func_wrap_async(
        "set-many",
        |mut call: StoreContextMut<'_, T>, (this, pairs): (This, Vec<(String, Vec<u8>)>)| {
            Box::new(async move {
                let changes = pairs.into_iter();
                let changes = changes.map(|(key, value)| Change::Set(key, value));
                let grants = call.data_mut().grants();
                Ok((grants.write_values(this, changes.collect()).await?,))
            })
        },
    )?;
    batch.func_wrap_async(
        "delete-many",
        |mut call: StoreContextMut<'_, T>, (this, keys): (This, Vec<String>)| {
            Box::new(async move {
                let changes = keys.into_iter().map(Change::Delete).collect();
                Ok((call.data_mut().grants().write_values(this, changes).await?,))
            })
        },
    )
}
