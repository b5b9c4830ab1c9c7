//! A guest that does to `wasi:keyvalue` whatever its caller says (G5): the tests of store
//! grants hold the pen.

/// What the component imports and exports.
#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({ world: "store-driver", path: "wit", generate_all });
    use super::Driver;
    export!(Driver);
}

use bindings::exports::hostile::store_driver::driver::{Entry, Guest, Outcome, Step};
use bindings::wasi::keyvalue::store::{Bucket, Error, open};
use bindings::wasi::keyvalue::{atomics, batch};

struct Driver;

impl Guest for Driver {
    fn act(store: String, steps: Vec<Step>) -> Result<Vec<Outcome>, String> {
        let bucket = open(&store).map_err(told)?;
        let done = steps
            .into_iter()
            .map(|step| take(&bucket, step).unwrap_or_else(|error| Outcome::Failed(told(error))));
        Ok(done.collect())
    }

    fn count(store: String, key: String, times: u32, in_one_step: bool) -> Result<(), String> {
        let bucket = open(&store).map_err(told)?;
        for _ in 0..times {
            match in_one_step {
                true => drop(atomics::increment(&bucket, &key, 1).map_err(told)?),
                false => read_and_write(&bucket, &key).map_err(told)?,
            }
        }
        Ok(())
    }

    fn hoard(store: String, times: u32) -> Result<u32, String> {
        let mut buckets = Vec::new();
        for _ in 0..times {
            buckets.push(open(&store).map_err(told)?);
        }
        Ok(buckets.len() as u32)
    }
}

fn read_and_write(bucket: &Bucket, key: &str) -> Result<(), Error> {
    let text = bucket.get(key)?.unwrap_or_else(|| b"0".to_vec());
    let number: u64 = String::from_utf8_lossy(&text).parse().unwrap_or(0);
    bucket.set(key, (number + 1).to_string().as_bytes())
}

fn take(bucket: &Bucket, step: Step) -> Result<Outcome, Error> {
    Ok(match step {
        Step::Get(key) => Outcome::Value(bucket.get(&key)?),
        Step::Set(entry) => nothing(bucket.set(&entry.key, &entry.value)?),
        Step::Fill((key, bytes)) => nothing(bucket.set(&key, &vec![b'x'; bytes as usize])?),
        Step::Delete(key) => nothing(bucket.delete(&key)?),
        Step::Exists(key) => Outcome::YesOrNo(bucket.exists(&key)?),
        Step::ListKeys(cursor) => {
            let page = bucket.list_keys(cursor)?;
            Outcome::Keys((page.keys, page.cursor))
        }
        Step::Increment((key, by)) => Outcome::Number(atomics::increment(bucket, &key, by)?),
        Step::GetMany(keys) => {
            let pairs = batch::get_many(bucket, &keys)?;
            let values = pairs.into_iter().map(|pair| pair.map(|(_, value)| value));
            Outcome::Values(values.collect())
        }
        Step::SetMany(entries) => {
            let pairs = entries.into_iter().map(|Entry { key, value }| (key, value));
            nothing(batch::set_many(bucket, &pairs.collect::<Vec<_>>())?)
        }
        Step::DeleteMany(keys) => nothing(batch::delete_many(bucket, &keys)?),
        Step::Crash => panic!("as it was told"),
    })
}

fn nothing((): ()) -> Outcome {
    Outcome::Nothing
}

fn told(error: Error) -> String {
    match error {
        Error::NoSuchStore => "no-such-store".to_owned(),
        Error::AccessDenied => "access-denied".to_owned(),
        Error::Other(text) => format!("other: {text}"),
    }
}
