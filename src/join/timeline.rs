//! Bytes in use over time, by owner.

use super::live::{Change, Walk};
use super::{Joined, Owner};
use crate::arrange::Arrange;
use crate::run::Run;
use crate::terms::LiveKind;
use std::collections::HashMap;
use std::ops::Range;

/// Modules with a band of their own; the others share one.
const MODULES: usize = 6;
/// Of each stretch of time the first, the least, the most and the last are kept: the line drawn through them is the
/// line through all points (Jugel et al., M4, VLDB 2014).
const PER_STRETCH: usize = 4;

/// The bytes of one kind of owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Band {
    /// `outputs of jit_step`, `temp`, `transfers`, `other`, `allocated before the capture started`.
    pub owner: String,
    /// What kind of owner that is.
    pub kind: LiveKind,
    /// Bytes at each moment.
    pub bytes: Vec<u64>,
}

/// Bytes in use over time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bands {
    /// Moments, ascending.
    pub at: Vec<i64>,
    /// Bytes in use right after each.
    pub in_use: Vec<u64>,
    /// Position of the event of each; `None` before the first.
    pub positions: Vec<Option<usize>>,
    /// The same bytes by owner; their sum is `in_use`.
    pub bands: Vec<Band>,
}

/// Which band an array belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Before,
    Module(Option<usize>),
    Temp,
    Transfer,
    Other,
    Unexplained,
}

impl Joined {
    /// Bytes in use of an allocator by owner, from `range.start` to `range.end` in at most about `points` points that
    /// keep every peak.
    #[must_use]
    pub fn timeline(&self, run: &Run, allocator: usize, range: Range<i64>, points: usize) -> Bands {
        let Some(a) = run.allocators.get(allocator) else { return Bands::default() };
        let positions = a.position_after(range.start.saturating_sub(1))..a.position_after(range.end);
        let chosen =
            choose(&|p| a.event(p).map(|e| (e.at, e.in_use)), positions.clone(), points.max(PER_STRETCH));
        let mut tally = Tally { before: a.start.unwrap_or(0), ..Tally::default() };
        let mut walk = Walk::default();
        let mut samples: Vec<Sample> = Vec::with_capacity(chosen.len() + 1);
        let key = |number: u32| self.key(run, self.owner(&run.allocators, allocator, number));
        let mut next = chosen.iter().peekable();
        for p in 0..positions.end {
            if p == positions.start {
                let before = p.checked_sub(1);
                let in_use = before.map_or(a.start, |p| a.event(p).map(|e| e.in_use));
                samples.push(tally.sample(range.start.max(0), in_use.unwrap_or(0), before));
            }
            walk.take(a, p, &mut |change| match change {
                Change::Came(number, bytes) => tally.add(key(number), bytes),
                Change::Went(number, bytes) => tally.remove(key(number), bytes),
                Change::WentFromBefore(bytes) => tally.before = tally.before.saturating_sub(bytes),
            });
            if a.breaks.first().is_some_and(|b| b.position == p) {
                tally.broken = true;
            }
            if next.peek() == Some(&&p) {
                next.next();
                if let Some(event) = a.event(p) {
                    samples.push(tally.sample(event.at, event.in_use, Some(p)));
                }
            }
        }
        self.bands(&tally, samples)
    }

    fn key(&self, run: &Run, owner: Owner) -> Key {
        match self.kind(run, owner) {
            LiveKind::BeforeCapture => Key::Before,
            LiveKind::Temp => Key::Temp,
            LiveKind::DevicePut => Key::Transfer,
            LiveKind::Other => Key::Other,
            LiveKind::Outputs => match owner {
                Owner::Planned(e, _) | Owner::Copied(e) | Owner::Unplanned(e) => {
                    Key::Module(self.executions.get(e).and_then(|e| e.module()))
                }
                _ => Key::Module(None),
            },
        }
    }

    fn bands(&self, tally: &Tally, samples: Vec<Sample>) -> Bands {
        let mut modules: Vec<(u64, usize)> = tally
            .most
            .iter()
            .filter_map(|(k, most)| match k {
                Key::Module(Some(m)) => Some((*most, *m)),
                _ => None,
            })
            .collect();
        modules.arrange_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        modules.truncate(MODULES);
        let mut keys = vec![(Key::Before, crate::terms::BEFORE_CAPTURE.to_owned(), LiveKind::BeforeCapture)];
        for &(_, m) in &modules {
            let base = self.modules.get(m).map_or("", |m| m.base_name.as_str());
            // Modules of one name are told apart by their program ids.
            let twin = modules
                .iter()
                .any(|&(_, o)| o != m && self.modules.get(o).is_some_and(|o| o.base_name == base));
            let name = if twin { self.modules.get(m).map_or("", |m| m.name.as_str()) } else { base };
            keys.push((Key::Module(Some(m)), format!("outputs of {name}"), LiveKind::Outputs));
        }
        keys.push((Key::Module(None), "outputs of other modules".into(), LiveKind::Outputs));
        keys.push((Key::Temp, "temp".into(), LiveKind::Temp));
        keys.push((Key::Transfer, "transfers".into(), LiveKind::DevicePut));
        keys.push((Key::Other, "other".into(), LiveKind::Other));
        keys.push((Key::Unexplained, "not explained (events were lost)".into(), LiveKind::Other));
        let place: HashMap<Key, usize> = keys.iter().enumerate().map(|(i, k)| (k.0, i)).collect();
        let mut out = Bands::default();
        out.bands =
            keys.into_iter().map(|(_, owner, kind)| Band { owner, kind, bytes: Vec::new() }).collect();
        let rest = place.get(&Key::Module(None)).copied().unwrap_or(0);
        let unexplained = place.get(&Key::Unexplained).copied().unwrap_or(0);
        for Sample { at, in_use, position, by_key, before } in samples {
            let mut row = vec![0u64; out.bands.len()];
            for (key, bytes) in by_key {
                let i = place.get(&key).copied().unwrap_or(rest);
                if let Some(cell) = row.get_mut(i) {
                    *cell = cell.saturating_add(bytes);
                }
            }
            let known: u64 = row.iter().fold(0, |sum, b| sum.saturating_add(*b));
            // What no event tells of was there before the capture. Where lost events leave more known than in use,
            // the largest band is the one that holds arrays that have gone.
            if known <= in_use {
                let all = in_use - known;
                let from_before = before.map_or(all, |b| b.min(all));
                if let Some(band) = row.first_mut() {
                    *band = from_before;
                }
                if let Some(band) = row.get_mut(unexplained) {
                    *band += all - from_before;
                }
            } else {
                let mut excess = known - in_use;
                while excess > 0 {
                    let Some(largest) = row.iter_mut().max().filter(|b| **b > 0) else { break };
                    let cut = excess.min(*largest);
                    *largest -= cut;
                    excess -= cut;
                }
            }
            out.at.push(at);
            out.in_use.push(in_use);
            out.positions.push(position);
            for (band, bytes) in out.bands.iter_mut().zip(row) {
                band.bytes.push(bytes);
            }
        }
        out.bands.retain(|b| b.bytes.iter().any(|b| *b > 0));
        out
    }
}

/// Bytes by band, now and at most.
#[derive(Debug, Default)]
struct Tally {
    now: HashMap<Key, u64>,
    most: HashMap<Key, u64>,
    /// Bytes from before the capture, by the events so far.
    before: u64,
    /// Whether events were lost so far.
    broken: bool,
}

/// The bytes at one moment.
#[derive(Debug)]
struct Sample {
    at: i64,
    in_use: u64,
    position: Option<usize>,
    by_key: HashMap<Key, u64>,
    /// Bytes from before the capture; `None` where they are all that is not known, since no events were lost.
    before: Option<u64>,
}

impl Tally {
    fn sample(&self, at: i64, in_use: u64, position: Option<usize>) -> Sample {
        Sample { at, in_use, position, by_key: self.now.clone(), before: self.broken.then_some(self.before) }
    }

    fn add(&mut self, key: Key, bytes: u64) {
        let now = self.now.entry(key).or_insert(0);
        *now = now.saturating_add(bytes);
        let most = self.most.entry(key).or_insert(0);
        *most = (*most).max(*now);
    }

    fn remove(&mut self, key: Key, bytes: u64) {
        if let Some(now) = self.now.get_mut(&key) {
            *now = now.saturating_sub(bytes);
        }
    }
}

/// Positions to show, ascending.
fn choose(event: &dyn Fn(usize) -> Option<(i64, u64)>, positions: Range<usize>, points: usize) -> Vec<usize> {
    if positions.len() <= points {
        return positions.collect();
    }
    let at = |p: usize| event(p).map_or(0, |e| e.0);
    let (first, last) = (at(positions.start), at(positions.end - 1));
    let stretches = (points / PER_STRETCH).max(1);
    let length = (i128::from(last) - i128::from(first)) / stretches as i128 + 1;
    let mut chosen = Vec::with_capacity(points);
    let mut p = positions.start;
    while p < positions.end {
        let stretch = (i128::from(at(p)) - i128::from(first)) / length;
        let (mut least, mut most) = ((u64::MAX, p), (0, p));
        let begin = p;
        while p < positions.end && (i128::from(at(p)) - i128::from(first)) / length == stretch {
            let in_use = event(p).map_or(0, |e| e.1);
            if in_use < least.0 {
                least = (in_use, p);
            }
            if in_use > most.0 {
                most = (in_use, p);
            }
            p += 1;
        }
        let mut four = [begin, least.1, most.1, p - 1];
        four.arrange();
        for q in four {
            if chosen.last() != Some(&q) {
                chosen.push(q);
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peak_of_a_long_line_is_kept() {
        let events: Vec<(i64, u64)> =
            (0..10_000).map(|i| (i * 7, if i == 4321 { 999 } else { 100 + (i as u64 * 37) % 50 })).collect();
        let event = |p: usize| events.get(p).copied();
        let chosen = choose(&event, 0..events.len(), 400);
        assert!(chosen.len() <= 404, "{}", chosen.len());
        assert!(chosen.is_sorted() && chosen.contains(&4321) && chosen.first() == Some(&0));
        assert_eq!(chosen.last(), Some(&9999));
        assert_eq!(choose(&event, 5..9, 400), [5, 6, 7, 8]);
        assert!(choose(&|_| Some((5, 1)), 0..5000, 400).len() <= 4, "all at one moment");
    }
}
