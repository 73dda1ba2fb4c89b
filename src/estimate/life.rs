//! Where a value is visible, from when to when it is needed, and who reads it.

use super::flow::{Flow, NEVER, Op};
use crate::arrange::Arrange;
use std::collections::HashSet;

/// Deepest nesting of tuples that is followed.
const MAX_NESTING: usize = 32;
/// So many places of a value are looked through one by one before a table is made of them.
const FEW_PLACES: usize = 16;

/// A place in the module where a value is visible: an instruction, and where inside its result.
pub(super) type Place = (u32, Vec<u32>);

impl Flow<'_> {
    /// Every place at which the value at `place` is visible, in order of finding, `place` first.
    ///
    /// A value goes through tuples and their parts, through bitcasts, and into the loops and calls that take it.
    pub fn places(&self, place: Place) -> Vec<Place> {
        let mut seen: HashSet<Place> = HashSet::new();
        let mut out: Vec<Place> = Vec::new();
        let mut work = vec![place];
        while let Some(place) = work.pop() {
            if out.len() == FEW_PLACES && seen.is_empty() {
                seen.extend(out.iter().cloned());
            }
            let few = out.len() < FEW_PLACES;
            if place.1.len() > MAX_NESTING
                || (few && out.contains(&place))
                || (!few && !seen.insert(place.clone()))
            {
                continue;
            }
            let (i, index) = &place;
            if !self.spend(1 + self.cost(*i)) {
                break;
            }
            if let Some((part, rest)) = index.split_first() {
                work.extend(self.elements(*i, *part).iter().map(|&(_, element)| (element, rest.to_vec())));
            }
            for &(reader, number) in self.readers.of_item(*i) {
                match self.op(reader) {
                    Op::Tuple => {
                        let mut inside = Vec::with_capacity(index.len() + 1);
                        inside.push(number);
                        inside.extend_from_slice(index);
                        work.push((reader, inside));
                    }
                    Op::Same | Op::Done => work.push((reader, index.clone())),
                    Op::While => {
                        work.push((reader, index.clone()));
                        for &parameter in self.called(reader).flat_map(|c| self.inner.get(&c)).flatten() {
                            if !self.spend(1) {
                                break;
                            }
                            work.push((parameter, index.clone()));
                        }
                    }
                    Op::Call => {
                        let of_number = |c| self.inner_by_number.get(&(c, number));
                        for &parameter in self.called(reader).flat_map(of_number).flatten() {
                            work.push((parameter, index.clone()));
                        }
                    }
                    done @ (Op::DoneFirst | Op::DoneSecond) => {
                        let part = u32::from(done == Op::DoneSecond);
                        if let Some((first, rest)) = index.split_first()
                            && *first == part
                        {
                            work.push((reader, rest.to_vec()));
                        }
                    }
                    _ => {}
                }
            }
            out.push(place);
        }
        out
    }

    /// Computations that an instruction calls.
    fn called(&self, caller: u32) -> impl Iterator<Item = i64> {
        self.calls.get(&caller).into_iter().flatten().copied()
    }

    /// What a look at an instruction's readers costs, with the readers of those that only begin an operation.
    fn cost(&self, i: u32) -> usize {
        let readers = self.readers.of_item(i);
        let later = |&(reader, _): &(u32, u32)| match self.op(reader) {
            Op::Start => self.readers.of_item(reader).len(),
            Op::Call => self.calls.get(&reader).map_or(0, Vec::len),
            _ => 0,
        };
        // Known to be too much before they are all looked at.
        let left = self.budget.get();
        readers.len() + readers.iter().take(left).map(later).sum::<usize>()
    }

    /// Takes from the budget, if it has as much.
    fn spend(&self, cost: usize) -> bool {
        let left = self.budget.get().checked_sub(cost);
        self.budget.set(left.unwrap_or(0));
        left.is_some()
    }

    /// From when to when a value is needed. The instructions that read it are added to `reads`, each with its moment, in order.
    pub fn life(&self, place: Place, reads: &mut Vec<(u32, u32)>) -> Option<Life> {
        let first = self.moment(place.0);
        if first == NEVER {
            return None;
        }
        let from = reads.len();
        let mut life = Life { first, last: first, returned: false };
        if self.passes_on(&place) {
            for (i, _) in self.places(place) {
                self.add_reads(i, &mut life, reads);
            }
        } else if self.spend(1 + self.readers.of_item(place.0).len()) {
            self.add_reads(place.0, &mut life, reads);
        }
        if life.returned {
            life.last = self.moments();
        }
        // Of one place they are in order already.
        if !reads[from..].is_sorted_by(|a, b| a < b) {
            let mut own = reads.split_off(from);
            own.arrange();
            own.dedup();
            reads.append(&mut own);
        }
        Some(life)
    }

    /// Whether a value may be visible elsewhere too.
    fn passes_on(&self, place: &Place) -> bool {
        let reads_only = |op| matches!(op, Op::Fusion | Op::Other | Op::Relayout);
        !place.1.is_empty() || !self.readers(place.0).all(|reader| reads_only(self.op(reader)))
    }

    /// What reads a value at one place.
    fn add_reads(&self, i: u32, life: &mut Life, reads: &mut Vec<(u32, u32)>) {
        if self.is_root[i as usize] {
            match self.roots.get(&i) {
                Some(&NEVER) => life.returned = true,
                Some(&caller) => life.reach(self.moment(caller)),
                None => {}
            }
        }
        for &(reader, _) in self.readers.of_item(i) {
            let moment = self.moment(reader);
            match self.op(reader) {
                Op::Tuple | Op::Same => continue,
                Op::Done => {
                    life.reach(moment);
                    continue;
                }
                Op::While | Op::Call => reads.push((self.span(reader).0, reader)),
                Op::Start => {
                    reads.push((moment, reader));
                    self.readers(reader).for_each(|done| life.reach(self.moment(done)));
                }
                _ => reads.push((moment, reader)),
            }
            life.reach(moment);
        }
    }
}

/// From when to when a value is needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    /// The moment at which it is made.
    pub first: u32,
    /// The last at which it is read; the end for what is returned.
    pub last: u32,
    /// Whether it is an output of the program.
    pub returned: bool,
}

impl Life {
    fn reach(&mut self, moment: u32) {
        if moment != NEVER {
            self.last = self.last.max(moment);
        }
    }
}
