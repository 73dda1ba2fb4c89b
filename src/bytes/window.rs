//! A sliding window over a source, for hopping through a large file.

use super::{ReadError, Source, wire};

/// Reads forward through a source by windows; skipping costs nothing until the next read.
#[derive(Debug)]
pub struct Window<S> {
    source: S,
    size: usize,
    buffer: Vec<u8>,
    /// Offset of `buffer[0]` in the source.
    start: u64,
}

impl<S: Source> Window<S> {
    /// A window of `size` bytes (at least 16, so that a tag and a length always fit).
    pub fn new(source: S, size: usize) -> Window<S> {
        Window { source, size: size.max(16), buffer: Vec::new(), start: 0 }
    }

    /// The source's length.
    pub fn len(&self) -> u64 {
        self.source.len()
    }

    /// Whether the source is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// At least `want` bytes from `offset` where the source has them, fewer at its end. `want` may exceed the window:
    /// then the window grows for this read.
    ///
    /// # Errors
    /// Where the medium fails.
    pub fn at(&mut self, offset: u64, want: usize) -> Result<&[u8], ReadError> {
        let have_end = self.start + self.buffer.len() as u64;
        let want_end = offset.saturating_add(want as u64).min(self.len());
        if offset < self.start || offset >= have_end || want_end > have_end {
            let size = (self.size.max(want) as u64).min(self.len().saturating_sub(offset)) as usize;
            self.buffer.resize(size, 0);
            let got = self.source.read_at(offset, &mut self.buffer)?;
            self.buffer.truncate(got);
            self.start = offset;
        }
        Ok(&self.buffer[(offset - self.start) as usize..])
    }

    /// The tag, and for a length-delimited field the length, at `offset`; the field's range of the source.
    /// `None` where the bytes there are no field, or the source ends inside its head.
    ///
    /// # Errors
    /// Where the medium fails.
    pub fn field(&mut self, offset: u64) -> Result<Option<FieldAt>, ReadError> {
        let bytes = self.at(offset, 20)?;
        let mut cursor = wire::Cursor::new(bytes);
        let Ok(Some(head)) = cursor.head() else { return Ok(None) };
        let start = offset + cursor.position() as u64;
        let (value, len) = match head.kind {
            wire::Kind::Varint => match cursor.varint() {
                Ok(v) => (v, cursor.position() as u64 + offset - start),
                Err(_) => return Ok(None),
            },
            wire::Kind::Fixed64 => (0, 8),
            wire::Kind::Fixed32 => (0, 4),
            wire::Kind::Bytes => match cursor.varint() {
                Ok(len) => {
                    let body = offset + cursor.position() as u64;
                    return Ok(Some(FieldAt {
                        number: head.number,
                        kind: head.kind,
                        value: 0,
                        start: body,
                        end: body.saturating_add(len),
                    }));
                }
                Err(_) => return Ok(None),
            },
        };
        Ok(Some(FieldAt { number: head.number, kind: head.kind, value, start, end: start + len }))
    }
}

/// A field and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldAt {
    /// Its number.
    pub number: u32,
    /// Its wire type.
    pub kind: wire::Kind,
    /// Its value, for a varint.
    pub value: u64,
    /// First byte of its value (after tag and length).
    pub start: u64,
    /// One past its last byte; may lie past the end of a cut file.
    pub end: u64,
}
