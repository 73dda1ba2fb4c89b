//! What a gzip file says of its length.

use crate::bytes::{ReadError, Source};

/// Deflate packs at most 1032 bytes into one (RFC 1951: 258 bytes a match, two bits of code each).
const MOST_RATIO: u64 = 1032;

/// The length that the file declares, which is right for one member of less than 4 GiB that is whole (RFC 1952,
/// `ISIZE`: the length modulo 2^32); `None` where it cannot be right.
pub(super) fn declared_length(source: &dyn Source) -> Result<Option<u64>, ReadError> {
    let len = source.len();
    let mut trailer = [0; 4];
    let got = source.read_at(len.saturating_sub(4), &mut trailer)?;
    let declared = u64::from(u32::from_le_bytes(trailer));
    // Random data grows a little when packed, by 5 bytes a block of 64 KiB and 18 bytes of header and trailer.
    let possible = got == 4
        && declared <= len.saturating_mul(MOST_RATIO)
        && declared.saturating_add(declared / 1000 + 64) >= len;
    if !possible || has_second_member(source)? {
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
