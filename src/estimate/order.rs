//! Sorting what there is by the hundred thousand.

/// Sixteen bits of a key at a time.
const DIGITS: usize = 1 << 16;
/// Fewer are sorted by comparing.
const FEW: usize = 4096;

/// Sorts by a key, which is mostly small; equal ones keep their order. Takes time linear in the number of items.
pub(super) fn by_key<T>(items: &mut [T], key: impl Fn(&T) -> u64) {
    if items.len() < FEW {
        use crate::arrange::Arrange;
        return items.arrange_by_key(key);
    }
    let most = items.iter().map(&key).max().unwrap_or(0);
    let mut order: Vec<u32> = (0..items.len() as u32).collect();
    let mut next = vec![0; items.len()];
    let mut shift = 0;
    while shift < u64::BITS && most >> shift > 0 {
        let digit = |i: u32| (key(&items[i as usize]) >> shift) as usize % DIGITS;
        let mut first = vec![0u32; DIGITS + 1];
        order.iter().for_each(|&i| first[digit(i) + 1] += 1);
        for at in 1..=DIGITS {
            first[at] += first[at - 1];
        }
        for &i in &order {
            let place = &mut first[digit(i)];
            next[*place as usize] = i;
            *place += 1;
        }
        std::mem::swap(&mut order, &mut next);
        shift += 16;
    }
    for to in 0..items.len() {
        // What belongs here was swapped away if its place was filled before.
        let mut from = order[to] as usize;
        while from < to {
            from = order[from] as usize;
        }
        order[to] = from as u32;
        items.swap(to, from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_the_standard_library() {
        let mut state = 1u64;
        for (len, bits) in [(0, 8), (100, 20), (5000, 3), (5000, 16), (5000, 40), (5000, 64)] {
            let mut items: Vec<(u64, usize)> = (0..len)
                .map(|i| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> (64 - bits), i)
                })
                .collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            by_key(&mut items, |item| item.0);
            assert_eq!(items, expected, "{len} of {bits} bits");
        }
    }
}
