//! Programs of kernels that came before, by the bytes of their stats.
//!
//! A step's kernels come again with each execution, and of their stats the correlation id alone is another. That the rest
//! is the same is seen faster than what it says.

use super::tables::NONE;

/// Kernels remembered. They take turns by the ids of their names, which come one after the other.
const SLOTS: usize = 1 << 13;
/// Longest stats remembered.
const LONGEST: usize = 116;

/// One kernel's stats but the first, and the program that they name.
#[derive(Debug, Clone, Copy)]
struct Slot {
    plane: u32,
    program: u32,
    len: u32,
    bytes: [u8; LONGEST],
}

/// What was read before. Half a mebibyte for 4096 kernels, a mebibyte at most.
#[derive(Debug, Default)]
pub(super) struct Labels {
    slots: Vec<Slot>,
}

impl Labels {
    /// The program named by `stats` in a plane, where a kernel with this name's id had just the same.
    #[inline(always)]
    pub(super) fn get(&self, plane: usize, id: i64, stats: &[u8]) -> Option<u32> {
        let slot = self.slots.get(id as usize % SLOTS)?;
        let bytes = slot.bytes.get(..slot.len as usize)?;
        (slot.plane as usize == plane && same(bytes, stats)).then_some(slot.program)
    }

    /// Remembers it.
    #[inline(never)]
    pub(super) fn put(&mut self, plane: usize, id: i64, stats: &[u8], program: u32) {
        let at = id as usize % SLOTS;
        let (Ok(plane), Some(_)) = (u32::try_from(plane), stats.first()) else { return };
        if stats.len() > LONGEST {
            return;
        }
        if self.slots.len() <= at {
            let empty = Slot { plane: NONE, program: NONE, len: 0, bytes: [0; LONGEST] };
            self.slots.resize(at + 1, empty);
        }
        if let Some(slot) = self.slots.get_mut(at) {
            (slot.plane, slot.program, slot.len) = (plane, program, stats.len() as u32);
            slot.bytes[..stats.len()].copy_from_slice(stats);
        }
    }
}

/// Whether two slices are the same, by eight bytes at a time: the compiler's own way calls a function, and goes byte by
/// byte in WebAssembly.
#[inline(always)]
fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let (mut a, mut b) = (a, b);
    while let (
        &[a0, a1, a2, a3, a4, a5, a6, a7, ref a_rest @ ..],
        &[b0, b1, b2, b3, b4, b5, b6, b7, ref b_rest @ ..],
    ) = (a, b)
    {
        let word = u64::from_le_bytes([a0, a1, a2, a3, a4, a5, a6, a7]);
        if word != u64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7]) {
            return false;
        }
        (a, b) = (a_rest, b_rest);
    }
    while let (&[byte, ref a_rest @ ..], &[other, ref b_rest @ ..]) = (a, b) {
        if byte != other {
            return false;
        }
        (a, b) = (a_rest, b_rest);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_same_stats_are_known() {
        let mut labels = Labels::default();
        for len in 0..=LONGEST + 1 {
            let stats: Vec<u8> = (0..len).map(|i| i as u8).collect();
            assert_eq!(labels.get(2, 40, &stats), None, "{len} bytes that are new");
            labels.put(2, 40, &stats, len as u32);
            let known = (1..=LONGEST).contains(&len).then_some(len as u32);
            assert_eq!(labels.get(2, 40, &stats), known, "{len} bytes");
            assert_eq!(labels.get(3, 40, &stats), None, "in another plane");
            assert_eq!(labels.get(2, 41, &stats), None, "of another name");
            for i in 0..len {
                let mut other = stats.clone();
                other[i] ^= 0x80;
                assert_eq!(labels.get(2, 40, &other), None, "another byte {i} of {len}");
            }
        }
    }

    #[test]
    fn ids_of_any_size_take_no_more_room() {
        let mut labels = Labels::default();
        for id in [-1, i64::MIN, i64::MAX, 0, 1 << 40] {
            labels.put(0, id, b"stats", 7);
            assert_eq!(labels.get(0, id, b"stats"), Some(7));
        }
        assert!(labels.slots.len() <= SLOTS);
    }
}
