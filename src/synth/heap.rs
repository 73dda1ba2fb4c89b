//! Free chunks of an address space.

use std::collections::{BTreeMap, BTreeSet};

/// A free list that finds the smallest chunk that is large enough, the lowest of equals, and joins neighbours.
///
/// The BFC allocator's bins come to the same order (`tsl/framework/bfc_allocator.cc`: bins by size, chunks within one
/// by size and address), and XLA's heap simulator places buffers by best fit too.
#[derive(Debug, Clone, Default)]
pub struct Heap {
    by_start: BTreeMap<u64, u64>,
    by_size: BTreeSet<(u64, u64)>,
}

impl Heap {
    /// Frees `size` bytes from `start`, and joins them with free neighbours.
    pub fn add(&mut self, mut start: u64, mut size: u64) {
        if let Some((&before, &len)) = self.by_start.range(..start).next_back()
            && before + len == start
        {
            self.take(before);
            (start, size) = (before, size + len);
        }
        if let Some(after) = self.take(start + size) {
            size += after;
        }
        self.by_start.insert(start, size);
        self.by_size.insert((size, start));
    }

    /// Start and size of the chunk that fits `size` best.
    #[must_use]
    pub fn best(&self, size: u64) -> Option<(u64, u64)> {
        self.by_size.range((size, 0)..).next().map(|&(size, start)| (start, size))
    }

    /// Takes the whole chunk that starts at `start`; its size, if there is one.
    pub fn take(&mut self, start: u64) -> Option<u64> {
        let size = self.by_start.remove(&start)?;
        self.by_size.remove(&(size, start));
        Some(size)
    }

    /// The largest chunk's size, 0 without any.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.by_size.last().map_or(0, |&(size, _)| size)
    }

    /// All free bytes.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.by_start.values().sum()
    }
}

/// A heap that starts empty and grows at its end: what XLA's heap simulator lays out.
#[derive(Debug, Clone, Default)]
pub struct Packer {
    heap: Heap,
    /// The size of the block so far.
    pub size: u64,
}

/// XLA aligns buffers within a block to this (`kXlaAllocatedBufferAlignBytes`).
const ALIGN: u64 = 128;

impl Packer {
    /// The offset of a new buffer.
    pub fn place(&mut self, bytes: u64) -> u64 {
        let want = bytes.max(1).next_multiple_of(ALIGN);
        if let Some((start, size)) = self.heap.best(want) {
            self.heap.take(start);
            if size > want {
                self.heap.add(start + want, size - want);
            }
            return start;
        }
        // A free chunk at the very end is extended.
        let last = self.heap.by_start.last_key_value().map(|(&start, &len)| (start, len));
        let start = match last {
            Some((start, len)) if start + len == self.size => {
                self.heap.take(start);
                start
            }
            _ => self.size,
        };
        self.size = start + want;
        start
    }

    /// Ends the life of the buffer at `offset`.
    pub fn release(&mut self, offset: u64, bytes: u64) {
        self.heap.add(offset, bytes.max(1).next_multiple_of(ALIGN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_chunk_is_taken_and_neighbours_join() {
        let mut heap = Heap::default();
        heap.add(0, 100);
        heap.add(200, 50);
        heap.add(400, 50);
        assert_eq!(heap.best(40), Some((200, 50)), "the smallest that fits, the lowest of equals");
        assert_eq!(heap.best(101), None);
        heap.add(100, 100);
        assert_eq!((heap.best(101), heap.largest(), heap.free()), (Some((0, 250)), 250, 300));
    }

    #[test]
    fn a_block_grows_only_where_nothing_fits() {
        let mut packer = Packer::default();
        let a = packer.place(1000);
        let b = packer.place(100);
        packer.release(a, 1000);
        assert_eq!((a, b, packer.place(900), packer.size), (0, 1024, 0, 1152));
        packer.release(b, 100);
        assert_eq!((packer.place(300), packer.size), (1024, 1408), "the free end is extended");
    }
}
