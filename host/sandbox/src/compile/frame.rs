//! What a compile worker and its parent say to each other over two pipes.
//!
//! Rule (H15): both directions carry length and digest, and both sides check them, so a
//! cut or mixed-up stream is never taken for a component or for code.

use std::io::{self, Read, Write};

use bindery_types::Digest;

/// The first bytes of either direction; they change with the format.
const MAGIC: [u8; 8] = *b"bindcmp1";
/// Length of a header: magic, kind, length, digest.
pub(super) const HEADER_BYTES: usize = 8 + 1 + 8 + 32;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Parent to worker: the component.
    Component,
    /// Worker to parent: compiled code.
    Code,
    /// Worker to parent: why the component is invalid, as text.
    Invalid,
    /// Worker to parent: memory ran out; no payload.
    Memory,
    /// Worker to parent: the worker could not do its work, as text.
    Fault,
}

impl Kind {
    const ALL: [(Kind, u8); 5] = [
        (Kind::Component, b'w'),
        (Kind::Code, b'c'),
        (Kind::Invalid, b'i'),
        (Kind::Memory, b'm'),
        (Kind::Fault, b'f'),
    ];

    fn to_byte(self) -> u8 {
        let known = Self::ALL.iter().find(|(kind, _)| *kind == self);
        known.map_or(0, |(_, byte)| *byte)
    }
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) len_bytes: u64,
    pub(super) digest: Digest,
}

impl Header {
    /// The header of `payload`.
    pub(super) fn of(kind: Kind, payload: &[u8]) -> Self {
        Self {
            kind,
            len_bytes: u64::try_from(payload.len()).unwrap_or(u64::MAX),
            digest: Digest::of(payload),
        }
    }

    /// As sent.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend(MAGIC);
        bytes.push(self.kind.to_byte());
        bytes.extend(self.len_bytes.to_le_bytes());
        bytes.extend(self.digest.as_bytes());
        bytes
    }

    /// Reads what [`Header::to_bytes`] wrote.
    pub(super) fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (byte, rest) = rest.split_first()?;
        let (kind, _) = Kind::ALL.iter().find(|(_, known)| known == byte)?;
        let (len_bytes, digest) = rest.split_first_chunk::<8>()?;
        Some(Self {
            kind: *kind,
            len_bytes: u64::from_le_bytes(*len_bytes),
            digest: Digest::from_bytes(digest.try_into().ok()?),
        })
    }
}

/// Writes a whole frame.
pub(super) fn write(to: &mut impl Write, kind: Kind, payload: &[u8]) -> io::Result<()> {
    to.write_all(&Header::of(kind, payload).to_bytes())?;
    to.write_all(payload)?;
    to.flush()
}

/// Reads a whole frame and checks its digest.
pub(super) fn read(from: &mut impl Read) -> io::Result<(Kind, Vec<u8>)> {
    let mut head = [0; HEADER_BYTES];
    from.read_exact(&mut head)?;
    let header = Header::parse(&head).ok_or_else(|| bad("not a frame of this version"))?;
    let mut payload = Vec::new();
    from.take(header.len_bytes).read_to_end(&mut payload)?;
    if header != Header::of(header.kind, &payload) {
        return Err(bad("length or digest differ from the header"));
    }
    Ok((header.kind, payload))
}

fn bad(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I9, H15: what is compiled is what was hashed.
    #[test]
    fn a_frame_reads_back_and_any_flipped_or_missing_byte_is_an_error() {
        for (kind, _) in Kind::ALL {
            let mut whole = Vec::new();
            write(&mut whole, kind, b"payload").unwrap();
            assert_eq!(
                read(&mut whole.as_slice()).unwrap(),
                (kind, b"payload".to_vec())
            );
            for at in (0..whole.len()).filter(|at| *at != 8) {
                let mut flipped = whole.clone();
                flipped[at] ^= 1;
                assert!(read(&mut flipped.as_slice()).is_err(), "{at}");
                assert!(read(&mut &whole[..at]).is_err(), "{at}");
            }
            let mut unknown = whole.clone();
            unknown[8] = b'?';
            assert!(read(&mut unknown.as_slice()).is_err());
        }
    }
}
