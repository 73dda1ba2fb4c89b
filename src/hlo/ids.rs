//! Finding positions by id.

use super::assignment::NONE;
use crate::arrange::Arrange;

/// Positions of things by their ids, in a few steps whatever their number.
///
/// XLA counts its ids up, those of instructions anew in each computation, whose own id is then the upper half. So a table
/// of such stretches is hardly larger than the list of ids.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// By the upper half of an id.
    pages: Vec<Page>,
    /// Positions, page by page, by the lower half.
    slots: Vec<u32>,
    /// Instead of these, where ids lie far apart as only damage makes them: all of them, in order.
    sorted: Vec<(i64, u32)>,
    /// How many have an id that one before them has. An id of 0 is none.
    pub doubles: usize,
}

/// Ids with the same upper half.
#[derive(Debug, Clone, Copy)]
struct Page {
    /// The smallest and the largest lower half; of an empty page in the wrong order.
    least: u32,
    most: u32,
    /// Where its slots begin.
    start: u32,
}

impl Ids {
    /// The positions of ids in their order; of several equal ones the first counts.
    pub fn of(ids: impl ExactSizeIterator<Item = i64> + Clone) -> Ids {
        let mut out = Ids::default();
        if !out.lay_out(ids.clone()) {
            out = Ids { sorted: ids.zip(0..).collect(), ..Ids::default() };
            out.sorted.arrange();
            let pairs = out.sorted.iter().zip(out.sorted.iter().skip(1));
            out.doubles = pairs.filter(|(a, b)| a.0 == b.0 && a.0 != 0).count();
            return out;
        }
        for (position, id) in (0..).zip(ids) {
            match out.slot(id).and_then(|at| out.slots.get_mut(at)) {
                Some(slot) if *slot == NONE => *slot = position,
                _ => out.doubles += usize::from(id != 0),
            }
        }
        out
    }

    /// Makes the table; false where it would be much larger than the list.
    fn lay_out(&mut self, ids: impl ExactSizeIterator<Item = i64>) -> bool {
        let (most_pages, most) = (1024 + ids.len(), 1024 + 4 * ids.len());
        for id in ids {
            let (upper, lower) = ((id >> 32) as usize, id as u32);
            if upper >= most_pages {
                return false;
            }
            if upper >= self.pages.len() {
                self.pages.resize(upper + 1, Page { least: u32::MAX, most: 0, start: 0 });
            }
            let page = &mut self.pages[upper];
            (page.least, page.most) = (page.least.min(lower), page.most.max(lower));
        }
        let mut slots = 0;
        for page in &mut self.pages {
            page.start = slots as u32;
            slots += (u64::from(page.most) + 1).saturating_sub(page.least.into());
            if slots > most as u64 {
                return false;
            }
        }
        self.slots = vec![NONE; slots as usize];
        true
    }

    fn slot(&self, id: i64) -> Option<usize> {
        let page = self.pages.get((id >> 32) as usize)?;
        let lower = id as u32;
        (page.least <= lower && lower <= page.most).then(|| (page.start + (lower - page.least)) as usize)
    }

    /// The position of an id.
    pub fn find(&self, id: i64) -> Option<u32> {
        if let Some(&(found, position)) = self.sorted.get(self.sorted.partition_point(|e| e.0 < id)) {
            return (found == id).then_some(position);
        }
        self.slots.get(self.slot(id)?).copied().filter(|&position| position != NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ids: &[i64], doubles: usize) {
        let table = Ids::of(ids.iter().copied());
        assert_eq!(table.doubles, doubles, "{ids:?}");
        for id in ids.iter().flat_map(|&id| [id, id.wrapping_add(1), id.wrapping_sub(1), id ^ (1 << 32)]) {
            let expected = ids.iter().position(|&other| other == id).map(|at| at as u32);
            assert_eq!(table.find(id), expected, "{id} of {ids:?}");
        }
    }

    #[test]
    fn ids_lead_to_the_first_that_has_them() {
        check(&[], 0);
        check(&[1, 2, 3, 7], 0);
        check(&[5, 3, 5, 5, 0, 0], 2);
        // The computation in the upper half, the instruction in the lower.
        check(&[3 << 32, (3 << 32) + 1, (9 << 32) + 4, 1 << 32, (9 << 32) + 4], 1);
        // As damage makes them.
        check(&[-1, i64::MAX, i64::MIN, 0, 7, 7, 0], 1);
        check(&[1 << 20, 0, 1 << 31, 1 << 20], 1);
    }
}
