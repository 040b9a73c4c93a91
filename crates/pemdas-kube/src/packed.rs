//! Compressed text, and never more of it than was agreed on.

use std::io::{Read as _, Write as _};

use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};

/// Why something cannot be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// It is not what gzip writes, or only a part of it.
    Broken,
    /// More would come out than was agreed on.
    TooLarge,
}

/// Compresses; the same bytes give the same bytes: neither a time nor a name is in it.
#[must_use]
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail; if it did, nothing at all would be unpacked, which is told.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// What was compressed, if it has at most so many bytes.
///
/// # Errors
/// Why there is nothing.
pub(crate) fn unpack(packed: &[u8], limit: u64) -> Result<Vec<u8>, Unfit> {
    let mut bytes = Vec::new();
    let mut decoder = MultiGzDecoder::new(packed).take(limit.saturating_add(1));
    decoder.read_to_end(&mut bytes).map_err(|_| Unfit::Broken)?;
    if bytes.len() as u64 > limit { Err(Unfit::TooLarge) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::{Unfit, pack, unpack};

    #[test]
    fn what_was_packed_comes_back_up_to_the_limit() {
        let text = "word ".repeat(1000);
        let packed = pack(text.as_bytes());
        assert!(packed.len() < 100 && packed == pack(text.as_bytes()));
        assert_eq!(unpack(&packed, 5000).unwrap(), text.as_bytes());
        assert_eq!(unpack(&packed, 4999), Err(Unfit::TooLarge));
        assert_eq!(unpack(&packed[..packed.len() - 9], 5000), Err(Unfit::Broken));
        assert_eq!(unpack(b"plain", 5000), Err(Unfit::Broken));
        assert_eq!(unpack(b"", 5000), Err(Unfit::Broken));
    }
}
