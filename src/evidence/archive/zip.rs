//! Zip archives.

use super::inflate::Inflate;
use super::part::Part;
use super::{Walk, Walked, is_litter};
use crate::bytes::{ReadError, Source};
use rawzip::{CompressionMethod, ReaderAt, ZipLocator};
use std::io;
use std::ops::ControlFlow;

/// Room for the longest record of a central directory: three fields of 64 KiB.
const BUFFER: usize = 256 << 10;

/// The reader's view of a source. A failure of the medium passes through it as an `io::Error`.
struct At<'a>(&'a dyn Source);

impl ReaderAt for At<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(offset, buf).map_err(io::Error::other)
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let mut got = 0;
        while got < buf.len() {
            // Offsets come from the file: they may overflow.
            let at = offset.checked_add(got as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
            match self.read_at(&mut buf[got..], at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => got += n,
            }
        }
        Ok(())
    }
}

/// Hands out the files of a zip archive.
pub(super) fn entries(walk: &mut Walk<'_>, source: &dyn Source, path: &str, depth: u32) -> Walked {
    let mut buffer = vec![0; BUFFER];
    let archive = match ZipLocator::new().locate_in_reader(At(source), &mut buffer, source.len()) {
        Ok(archive) => archive,
        Err((_, error)) => {
            medium(&error)?;
            walk.note(
                path,
                format!("The list of files at its end cannot be read ({error}): it is cut off or damaged."),
            );
            return Ok(ControlFlow::Continue(()));
        }
    };
    // Files of an archive lie beside each other. Where they overlap, few bytes make any number of files.
    let mut taken = 0u64;
    let mut records = archive.entries(&mut buffer);
    loop {
        let record = match records.next_entry() {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(ControlFlow::Continue(())),
            Err(error) => {
                medium(&error)?;
                walk.note(
                    path,
                    format!("Its list of files is damaged ({error}); the files before that were read."),
                );
                return Ok(ControlFlow::Continue(()));
            }
        };
        let inner = format!("{path}/{}", String::from_utf8_lossy(record.file_path().as_bytes()));
        if record.is_dir() || is_litter(&inner) {
            continue;
        }
        if !walk.count(path) {
            return Ok(ControlFlow::Continue(()));
        }
        if record.flags().is_encrypted() {
            walk.note(&inner, "It is encrypted; unpack the archive first.");
            continue;
        }
        let (method, unpacked) = (record.compression_method(), record.uncompressed_size_hint());
        let range = match archive.get_entry(record.wayfinder()) {
            Ok(entry) => entry.compressed_data_range(),
            Err(error) => {
                medium(&error)?;
                walk.note(&inner, format!("Its place in the archive is damaged ({error})."));
                continue;
            }
        };
        let stored = Part { source, start: range.0, len: range.1.saturating_sub(range.0) };
        taken = taken.saturating_add(stored.len());
        if taken > source.len() {
            walk.note(path, "Its files overlap each other: it is damaged; the files before that were read.");
            return Ok(ControlFlow::Continue(()));
        }
        let flow = match method {
            CompressionMethod::STORE => walk.file(&stored, &inner, depth + 1)?,
            CompressionMethod::DEFLATE => {
                let most = walk.limits.unpacked_of(stored.len());
                walk.packed(Inflate::deflate(&stored, unpacked, most), &inner, depth)?
            }
            other => {
                let method = other.name().map_or_else(|| format!("method {}", other.as_u16()), str::to_owned);
                walk.note(
                    &inner,
                    format!("It is packed by {method}, which is not unpacked here; unpack it first."),
                );
                continue;
            }
        };
        if flow.is_break() {
            return Ok(flow);
        }
    }
}

/// A failure of the medium, out of an error of the zip reader; other errors are the archive's own.
fn medium(error: &rawzip::Error) -> Result<(), ReadError> {
    if let rawzip::ErrorKind::IO(io) = error.kind()
        && let Some(read) = io.get_ref().and_then(|e| e.downcast_ref::<ReadError>())
    {
        return Err(read.clone());
    }
    Ok(())
}
