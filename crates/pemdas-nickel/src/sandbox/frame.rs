//! Messages between a worker and its parent: a length of four bytes, most significant first, then JSON.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::isolation::Isolation;
use crate::limits::Limits;
use crate::request::{Answer, Failure, Request};
use crate::sources::Sources;

/// The longest message in either direction.
pub(super) const MAX_FRAME: usize = 32 << 20;
/// How deep the JSON of a message may be nested: more than any answer within its limits, and little enough for any stack.
const MAX_NESTING: usize = 400;

/// What the parent says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToWorker {
    /// First of all: the one blueprint of this worker's life.
    Load { sources: Box<Sources>, limits: Limits },
    /// A question about it.
    Ask(Request),
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FromWorker {
    /// Unasked, before it reads anything: how it is shut in.
    Ready(Isolation),
    /// To `Load`.
    Loaded(Result<(), Failure>),
    /// To `Ask`.
    Answered(Box<Result<Answer, Failure>>),
}

/// Writes a message, if it is not too long.
pub(super) fn write_frame(to: &mut impl Write, message: &impl Serialize) -> io::Result<bool> {
    let bytes = serde_json::to_vec(message)?;
    write_bytes(to, &bytes)
}

/// Writes a message that is already JSON; says whether it was short enough to be written.
pub(super) fn write_bytes(to: &mut impl Write, bytes: &[u8]) -> io::Result<bool> {
    let Some(length) = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= MAX_FRAME) else {
        return Ok(false);
    };
    to.write_all(&length.to_be_bytes())?;
    to.write_all(bytes)?;
    to.flush()?;
    Ok(true)
}

/// Reads the bytes of a message; none at the end of the stream. The memory for it is taken as it comes, not as announced.
pub(super) fn read_bytes(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0_u8; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
    }
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(bytes))
}

/// Understands a message.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    if nesting(bytes) > MAX_NESTING {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is nested too deeply"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    // The nesting has been counted.
    deserializer.disable_recursion_limit();
    Ok(T::deserialize(&mut deserializer)?)
}

/// How deep brackets are nested outside of strings.
fn nesting(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in bytes {
        match (in_string, escaped, byte) {
            (true, true, _) => escaped = false,
            (true, false, b'\\') => escaped = true,
            (true, false, b'"') => in_string = false,
            (true, ..) => {}
            (false, _, b'"') => in_string = true,
            (false, _, b'[' | b'{') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (false, _, b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_as_it_was() {
        let mut pipe = Vec::new();
        assert!(write_frame(&mut pipe, &FromWorker::Loaded(Ok(()))).unwrap());
        let mut from = pipe.as_slice();
        let bytes = read_bytes(&mut from).unwrap().unwrap();
        assert!(matches!(parse(&bytes).unwrap(), FromWorker::Loaded(Ok(()))));
        assert!(read_bytes(&mut from).unwrap().is_none());
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        let too_long = u32::MAX.to_be_bytes();
        assert!(read_bytes(&mut too_long.as_slice()).is_err());
        let cut_short = [0, 0, 0, 9, b'{'];
        assert!(read_bytes(&mut cut_short.as_slice()).is_err());
        assert!(parse::<FromWorker>(b"{\"nonsense\":1}").is_err());
        let deep = format!("{{\"loaded\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse::<FromWorker>(deep.as_bytes()).is_err());
        assert!(!write_bytes(&mut Vec::new(), &vec![b' '; MAX_FRAME + 1]).unwrap());
    }

    #[test]
    fn brackets_in_strings_do_not_nest() {
        assert_eq!(nesting(br#"{"a[[[\"[[":[["]"]]}"#), 3);
    }
}
