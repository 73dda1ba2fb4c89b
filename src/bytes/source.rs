//! Where bytes come from: a slice, a file, a Blob in a browser's worker.

use thiserror::Error;

/// Bytes read at a time of a long range.
const PART: usize = 16 << 20;

/// Bytes with random access. The core reads all its input through this trait and does no I/O of its own.
pub trait Source {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// Whether there are no bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buf` from `offset`; returns how many bytes were there: fewer than `buf.len()` only at the end.
    ///
    /// # Errors
    /// Where the medium fails (the file was moved, the disk broke); never for reading past the end.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError>;

    /// What is wrong with where the bytes come from, in a sentence, as far as that was met while they were read: of a file that
    /// is being unpacked it is told here that the packing is damaged.
    fn damage(&self) -> Option<String> {
        None
    }

    /// The bytes of `range`, shorter where the source ends before it does.
    ///
    /// # Errors
    /// As [`Source::read_at`]. The range is cut to the source first, so a hostile length costs no memory.
    fn read_range(&self, range: std::ops::Range<u64>) -> Result<Vec<u8>, ReadError> {
        let end = range.end.min(self.len());
        let want = usize::try_from(end.saturating_sub(range.start)).map_err(|_| ReadError {
            offset: range.start,
            message: "the part is larger than this machine's address space".into(),
        })?;
        // Whether there is room: `vec!` does not say, but gets zeros as the system has them, and fills nothing.
        Vec::<u8>::new().try_reserve_exact(want).map_err(|_| ReadError {
            offset: range.start,
            message: format!("no memory for a part of {}", crate::units::Bytes(want as u64)),
        })?;
        let mut bytes = vec![0; want];
        // By the part: a browser copies what it reads, which is to be short beside the whole.
        let mut done = 0;
        while done < want {
            let part = PART.min(want - done);
            let got = self.read_at(range.start.saturating_add(done as u64), &mut bytes[done..done + part])?;
            done += got;
            if got < part {
                break;
            }
        }
        bytes.truncate(done);
        Ok(bytes)
    }
}

impl std::fmt::Debug for dyn Source + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

/// The medium failed.
#[derive(Debug, Clone, Error)]
#[error("reading at byte {offset} failed: {message}")]
pub struct ReadError {
    /// Where.
    pub offset: u64,
    /// What the medium said.
    pub message: String,
}

impl Source for &[u8] {
    fn len(&self) -> u64 {
        (**self).len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        let Some(rest) = usize::try_from(offset).ok().and_then(|at| self.get(at..)) else { return Ok(0) };
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        (**self).read_at(offset, buf)
    }

    fn damage(&self) -> Option<String> {
        (**self).damage()
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        (**self).read_at(offset, buf)
    }

    fn damage(&self) -> Option<String> {
        (**self).damage()
    }
}
