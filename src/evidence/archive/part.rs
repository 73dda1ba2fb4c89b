//! Files of an archive as sources: a range of it, or what was unpacked.

use crate::bytes::{ReadError, Source};

/// A file that is stored as it is in its archive.
pub(super) struct Part<'a> {
    pub source: &'a dyn Source,
    pub start: u64,
    pub len: u64,
}

/// What is said of a file that is cut.
pub(super) const ENDS_WITHIN: &str = "The archive ends within it; what there is was read.";

impl Part<'_> {
    /// Whether the archive has less of it than it says, as far as that is known by now.
    pub fn is_cut(&self) -> bool {
        self.len() < self.len
    }
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

    fn damage(&self) -> Option<String> {
        // Damage behind it is not its own.
        self.is_cut().then(|| self.source.damage().unwrap_or_else(|| ENDS_WITHIN.into()))
    }
}

/// A file that was unpacked to memory.
pub(super) struct Unpacked {
    pub bytes: Vec<u8>,
    pub damage: Option<String>,
}

impl Source for Unpacked {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        self.bytes.as_slice().read_at(offset, buf)
    }

    fn damage(&self) -> Option<String> {
        self.damage.clone()
    }
}
