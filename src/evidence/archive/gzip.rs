//! What a gzip file says of its length.

use crate::bytes::{ReadError, Source};

/// A length is believed where the file packs 1 to 40 times, as captures do. A cut file ends in bytes that are no length:
/// what they say is mostly too much, which its end corrects, and seldom too little, which reading up to it finds.
const LEAST_RATIO: u64 = 1;
/// See [`LEAST_RATIO`].
const MOST_RATIO: u64 = 40;
/// From this length on a file that packs 40 times is longer than 4 GiB, which the trailer cannot say.
const SURE_BELOW: u64 = 100 << 20;

/// The length that the file declares (RFC 1952, `ISIZE`), which is right for one member of less than 4 GiB that is whole;
/// `None` where it may be wrong, so that the file has to be inflated to know.
pub(super) fn declared_length(source: &dyn Source) -> Result<Option<u64>, ReadError> {
    let len = source.len();
    let mut trailer = [0; 4];
    let got = source.read_at(len.saturating_sub(4), &mut trailer)?;
    let declared = u64::from(u32::from_le_bytes(trailer));
    let believable =
        got == 4 && len < SURE_BELOW && (len * LEAST_RATIO..=len * MOST_RATIO).contains(&declared);
    if !believable || has_second_member(source)? {
        return Ok(None);
    }
    Ok(Some(declared))
}

/// Whether another member may begin within the file (`cat a.gz b.gz`, `bgzip`, logs): its trailer is then that of the
/// last member alone. Ten bytes that look like a header by chance are one in 2^38.
fn has_second_member(source: &dyn Source) -> Result<bool, ReadError> {
    const CHUNK: usize = 1 << 20;
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    while at < source.len() {
        let got = source.read_at(at, &mut buffer)?;
        let chunk = &buffer[..got];
        let mut from = usize::from(at == 0);
        while let Some(i) = chunk.get(from..).and_then(|rest| rest.iter().position(|&b| b == 0x1f)) {
            let start = from + i;
            if looks_like_header(chunk.get(start..start + 10).unwrap_or_default()) {
                return Ok(true);
            }
            from = start + 1;
        }
        if got < CHUNK {
            break;
        }
        // A header may span the chunks.
        at += (CHUNK - 9) as u64;
    }
    Ok(false)
}

/// ID1, ID2, deflate, flags without the reserved bits, time, extra flags 0, 2 or 4, a known system.
fn looks_like_header(bytes: &[u8]) -> bool {
    matches!(bytes, [0x1f, 0x8b, 8, flags, _, _, _, _, 0 | 2 | 4, system]
        if flags & 0xe0 == 0 && (*system <= 13 || *system == 255))
}
