//! Sorting, in the same machine code for all types: the standard library's sort is made anew for each type and key that
//! it is called with, which was a quarter of the page's core. This one costs a second pass and a call for each
//! comparison, so what is sorted by the million keeps the standard one.

use std::cmp::Ordering;

/// Stable sorting, for slices.
pub(crate) trait Arrange<T> {
    /// As `sort_by`.
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// As `sort_by_key`.
    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|a, b| key(a).cmp(&key(b)));
    }

    /// As `sort`.
    fn arrange(&mut self)
    where
        T: Ord,
    {
        self.arrange_by(T::cmp);
    }
}

impl<T> Arrange<T> for [T] {
    fn arrange_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        for (to, from) in swaps(self.len(), &mut |a, b| compare(&self[a], &self[b])) {
            self.swap(to, from);
        }
    }
}

/// The different ones of `items`, in order.
pub(crate) fn distinct<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = items.collect();
    all.arrange();
    all.dedup();
    all
}

/// What has the same key together, in order of the keys.
pub(crate) fn grouped<K: Ord, V>(pairs: impl Iterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut all: Vec<(K, V)> = pairs.collect();
    all.arrange_by(|a, b| a.0.cmp(&b.0));
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in all {
        match groups.last_mut() {
            Some(group) if group.0 == key => group.1.push(value),
            _ => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The swaps that sort a list of `len` entries, told how two of them compare.
fn swaps(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|&a, &b| compare(a, b));
    let mut swaps = Vec::new();
    for to in 0..len {
        // What belongs here was swapped away if its place was filled before.
        let mut from = order[to];
        while from < to {
            from = order[from];
        }
        order[to] = from;
        if from != to {
            swaps.push((to, from));
        }
    }
    swaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_the_standard_library() {
        let mut state = 7u64;
        for len in (0..40).chain([1000]) {
            for most in [1, 3, 1000] {
                let list: Vec<(u64, usize)> = (0..len)
                    .map(|i| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        ((state >> 33) % most, i)
                    })
                    .collect();
                let (mut ours, mut theirs) = (list.clone(), list.clone());
                ours.arrange_by_key(|e| std::cmp::Reverse(e.0));
                theirs.sort_by_key(|e| std::cmp::Reverse(e.0));
                assert_eq!(ours, theirs, "{len} entries");
                ours.arrange();
                assert_eq!(
                    ours,
                    list.iter()
                        .copied()
                        .collect::<std::collections::BTreeSet<_>>()
                        .into_iter()
                        .collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn groups_keep_the_order_within() {
        assert_eq!(distinct([3, 1, 3, 2].into_iter()), [1, 2, 3]);
        let groups = grouped([("b", 1), ("a", 2), ("b", 0)].into_iter());
        assert_eq!(groups, [("a", vec![2]), ("b", vec![1, 0])]);
    }
}
