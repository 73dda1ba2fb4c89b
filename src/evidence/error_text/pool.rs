//! The dump of a BFC allocator (`xla/tsl/framework/bfc_allocator.cc`, `DumpMemoryLog`; the statistics are
//! `AllocatorStats::DebugString` of `xla/tsl/framework/allocator.cc`).

use super::lines::{Line, without_log_prefix};
use super::messages::CUDA_ASYNC;
use super::words::{after, number_in};
use super::{ChunksOfSize, PoolDump, TextSize};
use crate::arrange::Arrange;
use crate::units::Bytes;

/// Sizes of chunks kept of a dump, those with the most bytes: a pool has some dozens in use.
const MOST_SIZES: usize = 1000;

/// The dumps of one writer, line by line.
#[derive(Default)]
pub(super) struct Pools {
    pub dumps: Vec<PoolDump>,
    /// The last dump is not at its end yet.
    open: bool,
    in_stats: bool,
}

impl Pools {
    /// Takes a line; false where it is none of a dump. `allocator` is the last one that ran out of memory before it.
    pub fn line(&mut self, line: &Line<'_>, allocator: Option<&str>) -> bool {
        let text = without_log_prefix(line.text).trim();
        if let Some(name) = text.strip_prefix("BFCAllocator dump for ") {
            self.open = false;
            self.dump(line, Some(name.trim()));
            return true;
        }
        if self.in_stats {
            if self.statistic(text) {
                return true;
            }
            (self.in_stats, self.open) = (false, false);
        }
        if let Some(size) = chunk_in_use(text) {
            // The summary by size says the same in few lines, and comes after.
            let _ = size;
            self.dump(line, allocator);
        } else if let Some(size) = free_chunk(text) {
            let dump = self.dump(line, allocator);
            let largest = dump.largest_free.map_or(0, |l| l.most_bytes.0);
            dump.largest_free = Some(TextSize::exact(size.max(largest)));
        } else if let Some((count, size)) = chunks_of_size(text) {
            self.dump(line, allocator).in_use.push(ChunksOfSize { bytes: Bytes(size), count });
        } else if let Some(rest) = after(text, "Allocator memory summary: ") {
            summary(self.dump(line, allocator), rest);
        } else if let Some(first) =
            text.strip_prefix("Stats:").map(str::trim).filter(|f| f.is_empty() || f.starts_with("Limit:"))
        {
            self.dump(line, allocator);
            self.in_stats = true;
            self.statistic(first);
        } else if !is_other(text) {
            return false;
        }
        true
    }

    fn dump(&mut self, line: &Line<'_>, allocator: Option<&str>) -> &mut PoolDump {
        if !self.open || self.dumps.is_empty() {
            let allocator = allocator.map(str::to_owned);
            self.dumps.push(PoolDump { line: line.number, allocator, ..PoolDump::default() });
            self.open = true;
        }
        let last = self.dumps.len() - 1;
        &mut self.dumps[last]
    }

    fn statistic(&mut self, text: &str) -> bool {
        let Some((key, value)) = text.split_once(':') else { return false };
        let Some(dump) = self.dumps.last_mut() else { return false };
        let bytes = number_in(value).filter(|_| value.trim().bytes().all(|b| b.is_ascii_digit())).map(Bytes);
        match key {
            // Of the driver's own pool it is what the pool keeps, not what it may take.
            "Limit" if dump.allocator.as_deref() == Some(CUDA_ASYNC) => {}
            "Limit" => dump.limit_bytes = bytes.filter(|b| b.0 > 0),
            "InUse" => dump.in_use_bytes = bytes,
            "MaxInUse" => dump.peak_in_use_bytes = bytes,
            "MaxAllocSize" => dump.largest_allocation_bytes = bytes,
            // 0 where it was not computed.
            "LargestFreeBlock" => {
                dump.largest_free =
                    dump.largest_free.or(bytes.filter(|b| b.0 > 0).map(|b| TextSize::exact(b.0)));
            }
            "NumAllocs" | "Reserved" | "PeakReserved" => {}
            _ => return false,
        }
        true
    }

    /// The dumps, with chunks in order.
    pub fn finish(mut self) -> Vec<PoolDump> {
        self.dumps.retain(|dump| !dump.is_empty());
        for dump in &mut self.dumps {
            dump.in_use.arrange_by_key(|c| std::cmp::Reverse((c.bytes.0.saturating_mul(c.count), c.bytes)));
            dump.in_use.truncate(MOST_SIZES);
        }
        self.dumps
    }
}

/// `InUse at 7f… of size 256 next 5`, before 2019 `Chunk at`.
fn chunk_in_use(text: &str) -> Option<u64> {
    size_at(text.strip_prefix("InUse at ").or_else(|| text.strip_prefix("Chunk at "))?)
}

/// `Free  at 7f… of size 256 next 5`.
fn free_chunk(text: &str) -> Option<u64> {
    size_at(text.strip_prefix("Free")?.trim_start().strip_prefix("at ")?)
}

/// `7f… of size 256 next 5`.
fn size_at(text: &str) -> Option<u64> {
    let address = text.split_whitespace().next()?.trim_start_matches("0x");
    address.bytes().all(|b| b.is_ascii_hexdigit()).then(|| number_in(after(text, "of size ")?)).flatten()
}

/// `22 Chunks of size 256 totalling 5.5KiB`.
fn chunks_of_size(text: &str) -> Option<(u64, u64)> {
    let (count, rest) = text.split_once(" Chunks of size ")?;
    Some((count.parse().ok()?, number_in(rest)?))
}

/// Lines of a dump that say nothing more: bins, regions, sums, the picture of the pool.
fn is_other(text: &str) -> bool {
    text.starts_with("Bin (")
        || text.starts_with("Bin for ")
        || text.starts_with("Next region of size ")
        || text.starts_with("Sum Total of in-use chunks")
        || text.starts_with("Summary of in-use Chunks by size")
        || text.starts_with("Spatial partitioning summary")
        || text.starts_with("Allocator region growth hint")
        || (text.starts_with("Size: ") && text.contains("| Requested Size:"))
        || (text.len() == 100 && text.bytes().all(|b| matches!(b, b'*' | b'_' | b'x')))
}

/// `rounded request 3.41GiB, total free in pool 1.1GiB, largest free chunk usable by lower end 1.0GiB, …` (from 0.11).
fn summary(dump: &mut PoolDump, text: &str) {
    for part in text.split(", ") {
        let Some((name, size)) = part.trim_end_matches('.').rsplit_once(' ') else { continue };
        let size = TextSize::parse(size);
        match name {
            "total free in pool" => dump.free_in_pool = size,
            "unallocated bytes" => dump.unmapped = size,
            "pool size" => dump.pool = size,
            name if name.starts_with("largest free chunk") => dump.largest_free = dump.largest_free.or(size),
            _ => {}
        }
    }
}
