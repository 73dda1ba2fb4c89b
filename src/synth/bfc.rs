//! A small simulation of the allocator behind `GPU_0_bfc` (`tsl/framework/bfc_allocator.cc`).

use super::heap::Heap;
use std::collections::BTreeMap;

/// Chunks are multiples of this (`kMinAllocationSize`).
const MIN_CHUNK: u64 = 256;
/// A chunk is handed out whole unless it is twice the request, or more than this is left (`kMaxInternalFragmentation`).
const MAX_WASTE: u64 = 128 << 20;
/// First region of a pool that grows (`allow_growth`).
const FIRST_REGION: u64 = 2 << 20;
/// Addresses of one region and the next are this far apart, so that they never join.
const REGION_GAP: u64 = 1 << 39;
/// Where a device's memory starts.
const BASE: u64 = 0x7000_0000_0000;

/// One allocator's state.
#[derive(Debug, Clone)]
pub struct Bfc {
    /// `GPU_0_bfc`.
    pub name: String,
    /// The most it can hand out.
    pub limit: u64,
    /// What it took from the driver so far.
    pub pool: u64,
    /// Bytes in chunks handed out.
    pub in_use: u64,
    /// The most `in_use` ever was.
    pub peak: u64,
    next_region: u64,
    regions: u64,
    heap: Heap,
    live: BTreeMap<u64, Block>,
}

/// A chunk handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Where.
    pub address: u64,
    /// What was asked for.
    pub requested: u64,
    /// What was handed out.
    pub chunk: u64,
}

/// Neither a chunk nor the rest of the driver's memory holds the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom {
    /// What was asked for.
    pub requested: u64,
    /// Limit − in use.
    pub free: u64,
    /// The largest chunk of the pool.
    pub largest: u64,
}

impl Bfc {
    /// An allocator that took its whole pool at start, as JAX does by default.
    #[must_use]
    pub fn preallocated(name: &str, limit: u64) -> Bfc {
        let mut bfc = Bfc::growing(name, limit);
        bfc.map(limit);
        bfc
    }

    /// An allocator that grows (`XLA_PYTHON_CLIENT_PREALLOCATE=false`).
    #[must_use]
    pub fn growing(name: &str, limit: u64) -> Bfc {
        Bfc {
            name: name.to_owned(),
            limit: limit / MIN_CHUNK * MIN_CHUNK,
            pool: 0,
            in_use: 0,
            peak: 0,
            next_region: FIRST_REGION,
            regions: 0,
            heap: Heap::default(),
            live: BTreeMap::new(),
        }
    }

    fn map(&mut self, bytes: u64) {
        let bytes = bytes.min(self.limit - self.pool) / MIN_CHUNK * MIN_CHUNK;
        self.heap.add(BASE + self.regions * REGION_GAP, bytes);
        self.regions += 1;
        self.pool += bytes;
    }

    /// Hands out a chunk.
    ///
    /// # Errors
    /// Where there is no room. The caller waits, or gives up.
    pub fn allocate(&mut self, requested: u64) -> Result<Block, NoRoom> {
        let want = requested.max(1).next_multiple_of(MIN_CHUNK);
        if self.heap.best(want).is_none() {
            let mut doubled = false;
            while self.next_region < want {
                self.next_region *= 2;
                doubled = true;
            }
            if self.limit - self.pool >= want {
                self.map(self.next_region);
                if !doubled {
                    self.next_region *= 2;
                }
            }
        }
        let Some((address, size)) = self.heap.best(want) else {
            return Err(NoRoom { requested, free: self.limit - self.in_use, largest: self.heap.largest() });
        };
        self.heap.take(address);
        let split = size >= want * 2 || size - want >= MAX_WASTE;
        let chunk = if split { want } else { size };
        if split {
            self.heap.add(address + chunk, size - chunk);
        }
        self.in_use += chunk;
        self.peak = self.peak.max(self.in_use);
        let block = Block { address, requested, chunk };
        self.live.insert(address, block);
        Ok(block)
    }

    /// Takes a chunk back; `None` where nothing lives at `address`.
    pub fn free(&mut self, address: u64) -> Option<Block> {
        let block = self.live.remove(&address)?;
        self.heap.add(address, block.chunk);
        self.in_use -= block.chunk;
        Some(block)
    }

    /// Limit − in use: free by arithmetic, not in one piece.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.limit - self.in_use
    }

    /// The largest chunk of the pool.
    #[must_use]
    pub fn largest_free(&self) -> u64 {
        self.heap.largest()
    }

    /// The stat `fragmentation`: of the pool's free bytes, the part outside the largest chunk; NaN without free bytes.
    #[must_use]
    pub fn fragmentation(&self) -> f64 {
        let free = (self.pool - self.in_use) as f64;
        (free - self.heap.largest() as f64) / free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_rounded_and_split_as_bfc_does() {
        let mut bfc = Bfc::preallocated("GPU_0_bfc", 1 << 30);
        let a = bfc.allocate(1000).unwrap();
        assert_eq!((a.chunk, bfc.in_use, bfc.available()), (1024, 1024, (1 << 30) - 1024));
        let b = bfc.allocate(300 << 20).unwrap();
        let c = bfc.allocate(1).unwrap();
        bfc.free(b.address);
        let whole = bfc.allocate(200 << 20).unwrap();
        assert_eq!(whole.chunk, 300 << 20, "less than twice the request and under 128 MiB over: not split");
        bfc.free(whole.address);
        let split = bfc.allocate(100 << 20).unwrap();
        assert_eq!((split.address, split.chunk), (b.address, 100 << 20));
        assert_eq!(c.chunk, 256);
    }

    #[test]
    fn room_in_pieces_is_no_room() {
        let mut bfc = Bfc::preallocated("GPU_0_bfc", 1 << 20);
        let blocks: Vec<Block> = (0..16).map(|_| bfc.allocate(64 << 10).unwrap()).collect();
        assert!(bfc.fragmentation().is_nan(), "nothing is free");
        for block in blocks.iter().step_by(2) {
            bfc.free(block.address);
        }
        assert_eq!(
            bfc.allocate(65 << 10),
            Err(NoRoom { requested: 65 << 10, free: 512 << 10, largest: 64 << 10 })
        );
        assert_eq!(bfc.fragmentation(), 1.0 - 1.0 / 8.0);
    }

    #[test]
    fn a_growing_pool_doubles_up_to_its_limit() {
        let mut bfc = Bfc::growing("GPU_0_bfc", 100 << 20);
        bfc.allocate(1 << 20).unwrap();
        assert_eq!(bfc.pool, 2 << 20);
        bfc.allocate(40 << 20).unwrap();
        assert_eq!(bfc.pool, 66 << 20);
        assert_eq!(
            bfc.available(),
            35 << 20,
            "room that is not mapped counts as available; the chunk of 64 MiB is not split"
        );
        assert!(bfc.allocate(50 << 20).is_err());
        bfc.allocate(30 << 20).unwrap();
        assert_eq!(bfc.pool, 100 << 20);
    }
}
