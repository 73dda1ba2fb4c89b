//! Lists of all instructions in one.

use crate::arrange::Arrange;
use std::cmp::Ordering;

/// A list for each of many items, behind each other.
#[derive(Debug, Default)]
pub(super) struct Lists<T> {
    /// Where the list of an item begins; it ends where the next one's does.
    first: Vec<u32>,
    all: Vec<T>,
}

impl<T: Copy + Default> Lists<T> {
    /// Of pairs of an item and an entry of its list, which keep their order. They are gone through twice.
    pub fn of<I: Iterator<Item = (u32, T)>>(items: usize, pairs: impl Fn() -> I) -> Lists<T> {
        let mut first = vec![0u32; items + 1];
        for (item, _) in pairs() {
            if let Some(count) = first.get_mut(item as usize + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for slot in &mut first {
            sum += *slot;
            *slot = sum;
        }
        let mut all = vec![T::default(); sum as usize];
        // Each start moves to its end, which is where the next one was.
        for (item, entry) in pairs() {
            if let Some(place) = first.get_mut(item as usize).filter(|_| (item as usize) < items) {
                all[*place as usize] = entry;
                *place += 1;
            }
        }
        first.rotate_right(1);
        first[0] = 0;
        Lists { first, all }
    }

    /// How many entries all lists have.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The list of an item.
    pub fn of_item(&self, item: u32) -> &[T] {
        let bounds = self.first.get(item as usize).zip(self.first.get(item as usize + 1));
        bounds.and_then(|(from, to)| self.all.get(*from as usize..*to as usize)).unwrap_or(&[])
    }

    /// Sorts each list.
    pub fn arrange_each_by(&mut self, compare: impl Fn(&T, &T) -> Ordering) {
        for bounds in self.first.windows(2).filter(|bounds| bounds[1] - bounds[0] > 1) {
            self.all[bounds[0] as usize..bounds[1] as usize].arrange_by(&compare);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_to_their_items_in_order() {
        let pairs = [(2, 'a'), (0, 'b'), (2, 'c'), (9, 'x'), (2, 'b')];
        let mut lists = Lists::of(4, || pairs.into_iter());
        let all = |lists: &Lists<char>| (0..6).map(|i| lists.of_item(i).to_vec()).collect::<Vec<_>>();
        assert_eq!(all(&lists), [vec!['b'], vec![], vec!['a', 'c', 'b'], vec![], vec![], vec![]]);
        lists.arrange_each_by(char::cmp);
        assert_eq!(all(&lists)[2], ['a', 'b', 'c']);
    }
}
