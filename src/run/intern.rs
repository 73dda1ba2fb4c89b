//! Values by number, each kept once.

use super::tables::NONE;
use std::collections::HashMap;

/// Values by number and back.
#[derive(Debug, Clone)]
pub(super) struct Interner<T> {
    pub(super) values: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { values: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interner<T> {
    pub(super) fn number(&mut self, value: T) -> u32 {
        let next = u32::try_from(self.values.len()).unwrap_or(NONE);
        match self.numbers.entry(value) {
            std::collections::hash_map::Entry::Occupied(e) => *e.get(),
            std::collections::hash_map::Entry::Vacant(e) => {
                self.values.push(e.key().clone());
                *e.insert(next)
            }
        }
    }
}
