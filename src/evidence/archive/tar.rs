//! Tar archives: ustar, GNU and pax (POSIX.1-2001, `pax`; GNU tar manual, "Basic Tar Format").
//!
//! The reader is our own: the libraries read a stream and take a long name of any declared length into memory, which a
//! packed archive of a few kilobytes can make gigabytes.

use super::part::{ENDS_WITHIN, Part, Unpacked};
use super::{Walk, Walked, is_litter};
use crate::bytes::Source;
use std::ops::ControlFlow;

/// Headers and files begin at multiples of this.
const BLOCK: u64 = 512;
/// The longest name or set of pax records that is read.
const MOST_NAME: u64 = 64 << 10;

/// What the headers before a file's own say of it.
#[derive(Default, PartialEq)]
struct Ahead {
    path: Option<String>,
    size: Option<u64>,
    sparse: bool,
}

/// Hands out the files of a tar archive.
pub(super) fn entries(walk: &mut Walk<'_>, source: &dyn Source, path: &str, depth: u32) -> Walked {
    let mut at = 0;
    let mut ahead = Ahead::default();
    loop {
        let header = source.read_range(at..at.saturating_add(BLOCK))?;
        if at > source.len() && ahead != Ahead::default() {
            walk.note(path, "It ends within the name of a file: it is cut off or damaged.");
        }
        // Two blocks of zeros end an archive; a cut one has none.
        if header.is_empty() || header.iter().all(|&b| b == 0) {
            return Ok(ControlFlow::Continue(()));
        }
        let Some(entry) = Header::read(&header) else {
            walk.note(
                path,
                format!("Byte {at} of it is no header of a file: it is damaged; the files before were read."),
            );
            return Ok(ControlFlow::Continue(()));
        };
        let start = at + BLOCK;
        let size = ahead.size.filter(|_| entry.is_file()).unwrap_or(entry.size);
        let Some(next) = size.checked_next_multiple_of(BLOCK).and_then(|n| start.checked_add(n)) else {
            walk.note(path, format!("The file at byte {at} of it has an impossible size: it is damaged."));
            return Ok(ControlFlow::Continue(()));
        };
        at = next;
        match entry.kind {
            b'L' => ahead.path = Some(text(&source.read_range(start..start + size.min(MOST_NAME))?)),
            b'x' => ahead.records(&source.read_range(start..start + size.min(MOST_NAME))?),
            // Long link targets, records for all files, volume labels: of no use here.
            b'K' | b'g' | b'V' => {}
            _ => {
                let Ahead { path: longer, sparse, .. } = std::mem::take(&mut ahead);
                let inner =
                    format!("{path}/{}", longer.as_deref().unwrap_or(&entry.path).trim_start_matches("./"));
                if !entry.is_file() || is_litter(&inner) {
                    continue;
                }
                if !walk.count(path) {
                    return Ok(ControlFlow::Continue(()));
                }
                if sparse || entry.kind == b'S' {
                    walk.note(
                        &inner,
                        "It is stored as a sparse file, which is not read here; unpack the archive first.",
                    );
                    continue;
                }
                let file = Part { source, start, len: size };
                if file.is_cut() {
                    walk.note(&inner, ENDS_WITHIN);
                }
                let flow = hand_out(walk, &file, &inner, depth)?;
                if flow.is_break() {
                    return Ok(flow);
                }
            }
        }
    }
}

/// A small file goes through memory, so that a packed archive of many captures is inflated once.
fn hand_out(walk: &mut Walk<'_>, file: &Part<'_>, path: &str, depth: u32) -> Walked {
    if file.len() <= walk.limits.memory {
        let bytes = file.read_range(0..file.len())?;
        return walk.file(&Unpacked { bytes, damage: file.damage() }, path, depth + 1);
    }
    walk.file(file, path, depth + 1)
}

impl Ahead {
    /// Takes the pax records, each `LENGTH KEY=VALUE\n`.
    fn records(&mut self, mut bytes: &[u8]) {
        while let Some(space) = bytes.iter().position(|&b| b == b' ') {
            let length = std::str::from_utf8(&bytes[..space]).ok().and_then(|n| n.parse::<usize>().ok());
            let Some(record) = length.and_then(|n| bytes.get(space + 1..n)) else { return };
            bytes = &bytes[length.unwrap_or(bytes.len())..];
            let record = String::from_utf8_lossy(record);
            match record.trim_end_matches('\n').split_once('=') {
                Some(("path" | "GNU.sparse.name", value)) => self.path = Some(value.to_owned()),
                Some(("size", value)) => self.size = value.parse().ok(),
                Some((key, _)) if key.starts_with("GNU.sparse.") => self.sparse = true,
                _ => {}
            }
        }
    }
}

/// The header of one file.
struct Header {
    path: String,
    size: u64,
    kind: u8,
}

impl Header {
    /// `None` where the checksum is wrong: these 512 bytes are no header.
    fn read(block: &[u8]) -> Option<Header> {
        let sum_at = 148..156;
        let declared = number(block.get(sum_at.clone())?)?;
        if block.len() < BLOCK as usize {
            return None;
        }
        // The sum counts its own field as spaces.
        let sum: u64 = block
            .iter()
            .enumerate()
            .map(|(i, &b)| u64::from(if sum_at.contains(&i) { b' ' } else { b }))
            .sum();
        if sum != declared {
            return None;
        }
        let name = text(&block[..100]);
        let prefix = if &block[257..263] == b"ustar\0" { text(&block[345..500]) } else { String::new() };
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        Some(Header { path, size: number(&block[124..136])?, kind: block[156] })
    }

    fn is_file(&self) -> bool {
        // Old archives mark a folder by the slash at its name's end alone.
        matches!(self.kind, b'0' | 0 | b'7' | b'S') && !self.path.ends_with('/')
    }
}

/// Text up to the first zero byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Octal digits between spaces and zero bytes; where the first bit is set, the number itself, high byte first (GNU, for
/// sizes of 8 GiB and above).
fn number(field: &[u8]) -> Option<u64> {
    if field.first().is_some_and(|b| b & 0x80 != 0) {
        let (high, low) = field.split_at(field.len().saturating_sub(8));
        let high_is_zero = high.iter().enumerate().all(|(i, &b)| if i == 0 { b == 0x80 } else { b == 0 });
        return high_is_zero.then(|| low.iter().fold(0, |n, &b| n << 8 | u64::from(b)));
    }
    let digits = std::str::from_utf8(field).ok()?.trim_matches([' ', '\0']);
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_all_their_forms() {
        assert_eq!(number(b"00000001750\0"), Some(1000));
        assert_eq!(number(b"  1750 \0\0\0\0\0"), Some(1000));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\x02\0\0\0\0"), Some(8 << 30));
        assert_eq!(number(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), None, "a negative size");
        assert_eq!(number(b"0000000189 \0"), None);
    }

    #[test]
    fn pax_records() {
        let mut ahead = Ahead::default();
        ahead.records(b"30 mtime=1350244992.023960108\n16 path=a/b c.pb\n19 size=9000000000\n");
        assert_eq!(
            (ahead.path.as_deref(), ahead.size),
            (Some("a/b c.pb"), None),
            "nothing after a wrong length"
        );
        let mut ahead = Ahead::default();
        ahead.records(b"30 mtime=1350244992.023960108\n17 path=a/b c.pb\n19 size=9000000000\n");
        assert_eq!(
            (ahead.path.as_deref(), ahead.size, ahead.sparse),
            (Some("a/b c.pb"), Some(9_000_000_000), false)
        );
        ahead.records(b"99 path=x");
        ahead.records(b"0 path=x");
        assert_eq!(ahead.path.as_deref(), Some("a/b c.pb"), "lengths past the end or too short");
    }
}
