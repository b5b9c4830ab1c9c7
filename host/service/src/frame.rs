//! One message on the socket: a length, then so many bytes of JSON.
//!
//! Rule: bounded before it is read; what is no message ends the connection with an error.

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Most bytes of one message: arguments and results at their ceilings fit.
const BYTES_MAX: u32 = 256 << 20;

pub(crate) async fn write<T: Serialize>(
    to: &mut (impl AsyncWrite + Unpin),
    message: &T,
) -> std::io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    let length = u32::try_from(bytes.len()).ok().filter(|n| *n <= BYTES_MAX);
    let length = length
        .ok_or_else(|| std::io::Error::other(format!("a message has at most {BYTES_MAX} bytes")))?;
    to.write_all(&length.to_be_bytes()).await?;
    to.write_all(&bytes).await?;
    to.flush().await
}

pub(crate) async fn read<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> std::io::Result<T> {
    let length = from.read_u32().await?;
    if length > BYTES_MAX {
        return Err(std::io::Error::other(format!(
            "a message has at most {BYTES_MAX} bytes, this says {length}"
        )));
    }
    // As it comes, never as much as was claimed.
    let mut bytes = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut bytes).await?;
    if bytes.len() as u64 != u64::from(length) {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&bytes)?)
}
