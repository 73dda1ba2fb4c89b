//! Numbers that look random and are the same on every machine.

/// SplitMix64.
#[derive(Debug, Clone)]
pub struct Rng(pub u64);

impl Rng {
    /// A generator for one of many parts of a whole.
    #[must_use]
    pub fn of(seed: u64, part: u64) -> Rng {
        let mut rng = Rng(seed ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        rng.u64();
        rng
    }

    /// Any number.
    #[inline]
    pub fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 where `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        // The high half of the product: uniform enough, and no division.
        ((u128::from(self.u64()) * u128::from(n)) >> 64) as u64
    }

    /// Whether something with a chance of one in `n` happens.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of the values.
    pub fn pick<'a, T>(&mut self, values: &'a [T]) -> Option<&'a T> {
        values.get(self.below(values.len() as u64) as usize)
    }
}
