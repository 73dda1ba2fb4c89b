//! A vector that grows without copying: its memory is what it holds, also while it grows.

/// Items per chunk.
const CHUNK: usize = 1 << 12;

/// A vector of chunks.
#[derive(Debug, Clone)]
pub struct Chunked<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Chunked { chunks: Vec::new() }
    }
}

impl<T> Chunked<T> {
    /// Adds an item.
    #[inline]
    pub fn push(&mut self, item: T) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(item),
            first => {
                // The first chunk grows as a vector does: most captures have few events of each kind.
                let capacity = if first.is_none() { 8 } else { CHUNK };
                let mut chunk = Vec::with_capacity(capacity);
                chunk.push(item);
                self.chunks.push(chunk);
            }
        }
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    /// The item at `i`.
    #[inline]
    #[must_use]
    pub fn get(&self, i: usize) -> Option<&T> {
        self.chunks.get(i / CHUNK)?.get(i % CHUNK)
    }

    /// The item at `i`, to change it.
    #[inline]
    pub fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        self.chunks.get_mut(i / CHUNK)?.get_mut(i % CHUNK)
    }

    /// Drops all items from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.chunks.truncate(len.div_ceil(CHUNK));
        if let Some(last) = self.chunks.last_mut()
            && !len.is_multiple_of(CHUNK)
        {
            last.truncate(len % CHUNK);
        }
    }

    /// The items in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    /// The items in the order they were added, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.chunks.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_places_over_chunks() {
        let mut v = Chunked::default();
        let n = 2 * CHUNK + 7;
        for i in 0..n {
            v.push(i);
        }
        assert_eq!(v.len(), n);
        assert!((0..n).all(|i| v.get(i) == Some(&i)));
        assert_eq!(v.get(n), None);
        assert!(v.iter().copied().eq(0..n));
        for keep in [n, 2 * CHUNK + 1, 2 * CHUNK, CHUNK, 5, 0] {
            v.truncate(keep);
            assert_eq!(v.len(), keep);
        }
    }
}
