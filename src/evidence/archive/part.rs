//! A range of another source.

use crate::bytes::{ReadError, Source};

/// A file that is stored as it is in its archive.
pub(super) struct Part<'a> {
    pub source: &'a dyn Source,
    pub start: u64,
    pub len: u64,
}

impl Source for Part<'_> {
    fn len(&self) -> u64 {
        // A cut archive has less than it says.
        self.len.min(self.source.len().saturating_sub(self.start))
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        let left = self.len().saturating_sub(offset);
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        self.source.read_at(self.start.saturating_add(offset), &mut buf[..want])
    }
}
