//! Contents through streams: the second door to a file, with checks of its own on the host.

use wasip2::filesystem::types::Descriptor;
use wasip2::io::streams::{OutputStream, StreamError};

use crate::bindings::exports::hostile::fs_driver::driver::Answer;
use crate::operate::name;

type Answered = Result<Answer, String>;

/// The most that `blocking-write-and-flush` takes at once.
const CHUNK_BYTES: usize = 4096;

/// Reads until `length` bytes or the end of the file.
pub(crate) fn read(file: &Descriptor, offset: u64, length: u64) -> Answered {
    let stream = file.read_via_stream(offset).map_err(name)?;
    let mut data = Vec::new();
    let mut left = length;
    while left > 0 {
        match stream.blocking_read(left) {
            Ok(chunk) => {
                left = left.saturating_sub(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
                data.extend_from_slice(&chunk);
            }
            Err(StreamError::Closed) => break,
            Err(error) => return Err(told(error)),
        }
    }
    Ok(Answer::Data(data))
}

/// Writes all of it from `offset` on.
pub(crate) fn write(file: &Descriptor, offset: u64, data: &[u8]) -> Answered {
    pour(&file.write_via_stream(offset).map_err(name)?, data)
}

/// Writes all of it at the end.
pub(crate) fn append(file: &Descriptor, data: &[u8]) -> Answered {
    pour(&file.append_via_stream().map_err(name)?, data)
}

/// Writes zeroes, which the guest need not own.
pub(crate) fn zeroes(file: &Descriptor, offset: u64, length: u64) -> Answered {
    let stream = file.write_via_stream(offset).map_err(name)?;
    let mut left = length;
    while left > 0 {
        let now = left.min(CHUNK_BYTES as u64);
        stream.blocking_write_zeroes_and_flush(now).map_err(told)?;
        left -= now;
    }
    Ok(Answer::Count(length))
}

/// Copies on the host's side, from the start of one file to the end of another.
pub(crate) fn splice(from: &Descriptor, to: &Descriptor, length: u64) -> Answered {
    let source = from.read_via_stream(0).map_err(name)?;
    let sink = to.append_via_stream().map_err(name)?;
    let mut moved = 0;
    while moved < length {
        match sink.blocking_splice(&source, length - moved) {
            Ok(now) => moved += now,
            Err(StreamError::Closed) => break,
            Err(error) => return Err(told(error)),
        }
    }
    sink.blocking_flush().map_err(told)?;
    Ok(Answer::Count(moved))
}

fn pour(stream: &OutputStream, data: &[u8]) -> Answered {
    for chunk in data.chunks(CHUNK_BYTES) {
        stream.blocking_write_and_flush(chunk).map_err(told)?;
    }
    Ok(Answer::Count(u64::try_from(data.len()).unwrap_or(u64::MAX)))
}

fn told(error: StreamError) -> String {
    match error {
        StreamError::Closed => "closed".to_owned(),
        StreamError::LastOperationFailed(error) => {
            match wasip2::filesystem::types::filesystem_error_code(&error) {
                Some(code) => name(code),
                None => format!("stream: {}", error.to_debug_string()),
            }
        }
    }
}
