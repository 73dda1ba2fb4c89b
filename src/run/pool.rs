//! How much memory an allocator has mapped, and how large its largest free chunk is.
//!
//! BFC's events give `fragmentation` f = (A − L) / A with six digits, where A = R − in use, R is the memory mapped so
//! far (the pool) and L the largest free chunk (bfc_allocator.cc). R is in no event, and A is `bytes_available` only
//! where the whole pool was mapped at the start. But R is the same for all events between two growths, and most events
//! leave either the largest chunk or all the other free chunks alone; each such pair of events gives an equation:
//!
//! * L unchanged: (R − u₁)(1 − f₁) = (R − u₂)(1 − f₂)
//! * A − L unchanged: (R − u₁) f₁ = (R − u₂) f₂
//!
//! Which of the two holds isn't known, so every pair votes for both intervals of R; the true R collects the votes of
//! many pairs, a wrong one of few. What is chosen must then explain every event: an allocation of `a` bytes leaves L
//! between L − a and L, a deallocation never makes it smaller.

use super::allocator::Allocator;
use super::records::UNKNOWN;
use crate::arrange::Arrange;
use crate::units::six_digits;
use std::collections::HashSet;

/// Distinct pairs looked at in one stretch between growths: far more than are needed.
const MOST_PAIRS: usize = 20_000;
/// An interval wider than this part of its middle says nothing.
const WIDEST: f64 = 0.01;
/// Candidates for R that are tried against every event.
const CANDIDATES: usize = 6;

/// A size with the most by which it can be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct About {
    /// The size in bytes.
    pub bytes: u64,
    /// The most by which it can be off; `None` where that is unknown.
    pub error: Option<u64>,
}

/// The memory that an allocator has mapped.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pool {
    /// Stretches between growths: their first moment, and what was mapped in them where the events tell.
    pub mapped: Vec<(i64, Option<About>)>,
    /// Whether the whole pool was mapped at the start; `None` where the events do not tell.
    pub preallocated: Option<bool>,
}

impl Pool {
    /// What was mapped at a moment.
    #[must_use]
    pub fn mapped_at(&self, at: i64) -> Option<About> {
        let i = self.mapped.partition_point(|m| m.0 <= at).checked_sub(1)?;
        self.mapped.get(i)?.1
    }
}

/// One event as the equations see it.
#[derive(Debug, Clone, Copy)]
struct Point {
    used: f64,
    f: f64,
    /// Half of the last digit of `f`.
    slack: f64,
    /// Bytes taken (positive) or given back since the point before; NaN where unknown.
    taken: f64,
}

impl Point {
    /// The largest chunk under R, least and most.
    fn chunk(&self, r: f64) -> (f64, f64) {
        let free = (r - self.used).max(0.0);
        (free * (1.0 - self.f - self.slack) - 1.0, free * (1.0 - self.f + self.slack) + 1.0)
    }
}

/// The six digits that the event had, and half of the last one.
fn digits(f: f32) -> (f64, f64) {
    if f == 0.0 {
        return (0.0, 0.0);
    }
    let (value, exponent) = six_digits(f64::from(f));
    (value, 0.5 * 10f64.powi(exponent - 5))
}

impl Allocator {
    /// Solves what was mapped, stretch by stretch.
    pub(super) fn solve_pool(&mut self) {
        let mut bounds: Vec<i64> = vec![i64::MIN];
        bounds.extend(&self.growths);
        bounds.dedup();
        let mut mapped = Vec::new();
        for (i, &from) in bounds.iter().enumerate() {
            let to = bounds.get(i + 1).copied().unwrap_or(i64::MAX);
            mapped.push((from, self.solve_between(from, to)));
        }
        let known: Vec<About> = mapped.iter().filter_map(|m| m.1).collect();
        let whole =
            |m: &About| self.capacity.is_some_and(|c| m.bytes.saturating_add(m.error.unwrap_or(0)) >= c);
        self.pool.preallocated = match (known.is_empty(), self.growths.len()) {
            (false, 0) => Some(known.iter().all(whole)),
            (false, _) => Some(known.iter().all(whole) && self.growths.len() == 1),
            (true, 0) => None,
            // The first region of a preallocated pool is one growth as well.
            (true, 1) => None,
            (true, _) => Some(false),
        };
        self.pool.mapped = mapped;
    }

    fn solve_between(&self, from: i64, to: i64) -> Option<About> {
        let first = self.position_after(from.saturating_sub(1));
        let mut points = Vec::new();
        let mut most_used: f64 = 0.0;
        let mut before: Option<u64> = None;
        let mut full = None;
        for position in first..self.len() {
            let Some(event) = self.event(position) else { break };
            if event.at >= to || points.len() >= 50 * MOST_PAIRS {
                break;
            }
            let used = event.in_use.saturating_add(self.reserved_at(event.at));
            most_used = most_used.max(used as f64);
            if event.fragmentation.is_nan() {
                // Nothing is free: all that is mapped is in use.
                full = Some(used);
            }
            if !(0.0..1.0).contains(&event.fragmentation) {
                before = None;
                continue;
            }
            let (f, slack) = digits(event.fragmentation);
            let taken = match before {
                Some(before) if event.allocated != UNKNOWN => used as f64 - before as f64,
                _ => f64::NAN,
            };
            points.push(Point { used: used as f64, f, slack, taken });
            before = Some(used);
        }
        if let Some(bytes) = full
            && bytes as f64 >= most_used
        {
            return Some(About { bytes, error: Some(0) });
        }
        let capacity = self.capacity? as f64;
        solve(&points, most_used, capacity)
    }

    /// The largest free chunk right after the event at `position`. Where the pool is not wholly mapped, what is still
    /// to be mapped counts as a chunk: a request fails only when neither holds it.
    #[must_use]
    pub fn largest_free(&self, position: usize) -> Option<About> {
        let event = self.event(position)?;
        let capacity = self.capacity?;
        let used = event.in_use.saturating_add(self.reserved_at(event.at));
        if event.fragmentation < 0.0 {
            return None;
        }
        let mapped = self.pool.mapped_at(event.at);
        let nothing_free = event.fragmentation.is_nan();
        let (f, slack) = if nothing_free { (0.0, 0.0) } else { digits(event.fragmentation) };
        if mapped.is_none() && self.pool.preallocated == Some(false) {
            return None;
        }
        let Some(mapped) = mapped else {
            // R unknown: right if the pool was mapped at the start, and by how much it is off otherwise is unknown.
            let free = if nothing_free { 0 } else { capacity.saturating_sub(used) };
            let exact = nothing_free && used >= capacity;
            let bytes = (free as f64 * (1.0 - f)).round() as u64;
            return Some(About { bytes, error: exact.then_some(0) });
        };
        let free = mapped.bytes.saturating_sub(used) as f64;
        let error = mapped.error.unwrap_or(0) as f64 * (1.0 - f) + free * slack;
        let chunk = (free * (1.0 - f)).round() as u64;
        let unmapped = capacity.saturating_sub(mapped.bytes);
        Some(About { bytes: chunk.max(unmapped), error: Some(error.ceil() as u64) })
    }
}

/// The R that explains the points; `None` where they do not tell.
fn solve(points: &[Point], most_used: f64, capacity: f64) -> Option<About> {
    let mut seen = HashSet::new();
    let mut votes: Vec<(f64, f64)> = Vec::new();
    for pair in points.windows(2) {
        let (Some(&a), Some(&b)) = (pair.first(), pair.get(1)) else { continue };
        if a.f == b.f || b.taken.is_nan() {
            continue;
        }
        // A loop repeats its pairs, and a repeated wrong vote is no better than one.
        let key = |p: Point| (p.used.to_bits(), p.f.to_bits());
        let (x, y) = (key(a).min(key(b)), key(a).max(key(b)));
        if seen.len() >= MOST_PAIRS || !seen.insert((x, y)) {
            continue;
        }
        for vote in [chunk_unchanged(a, b), rest_unchanged(a, b)].into_iter().flatten() {
            let (lo, hi) = vote;
            let middle = f64::midpoint(lo, hi);
            if hi >= most_used && lo <= capacity && hi - lo <= WIDEST * middle {
                votes.push((lo.max(most_used), hi.min(capacity)));
            }
        }
    }
    let mut candidates = most_voted(&votes);
    let at_capacity = votes.iter().filter(|v| v.1 >= capacity).count();
    if at_capacity > 0 {
        candidates.push((at_capacity, capacity, capacity));
    }
    let explains = |r: f64| points.windows(2).all(|p| possible(&p[0], &p[1], r));
    let mut best: Option<(usize, f64, f64)> = None;
    for &(count, lo, hi) in &candidates {
        let whole = lo <= capacity && hi >= capacity;
        // One vote is chance, unless it falls on the capacity itself.
        if count < 2 && !whole {
            continue;
        }
        let (lo, hi) = if whole { (capacity, capacity) } else { (lo, hi) };
        let better = best.is_none_or(|b| count > b.0 || (count == b.0 && whole));
        if better && explains(f64::midpoint(lo, hi)) {
            best = Some((count, lo, hi));
        }
    }
    let (_, lo, hi) = best?;
    let middle = f64::midpoint(lo, hi);
    Some(About { bytes: middle.round() as u64, error: Some(((hi - lo) / 2.0).ceil() as u64) })
}

/// Whether the second point can follow the first under R.
fn possible(a: &Point, b: &Point, r: f64) -> bool {
    let (a_least, a_most) = a.chunk(r);
    let (b_least, b_most) = b.chunk(r);
    if b.taken.is_nan() {
        true
    } else if b.taken >= 0.0 {
        b_least <= a_most && b_most >= a_least - b.taken
    } else {
        b_most >= a_least
    }
}

/// R where the largest chunk is the same at both points.
fn chunk_unchanged(a: Point, b: Point) -> Option<(f64, f64)> {
    over_slack(a, b, |fa, fb| (a.used * (1.0 - fa) - b.used * (1.0 - fb)) / (fb - fa))
}

/// R where all other free chunks together are the same at both points.
fn rest_unchanged(a: Point, b: Point) -> Option<(f64, f64)> {
    over_slack(a, b, |fa, fb| (a.used * fa - b.used * fb) / (fa - fb))
}

/// The least and the most over the digits that `f` has not.
fn over_slack(a: Point, b: Point, r: impl Fn(f64, f64) -> f64) -> Option<(f64, f64)> {
    if (a.f - b.f).abs() <= a.slack + b.slack {
        return None;
    }
    let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
    for fa in [a.f - a.slack, a.f + a.slack] {
        for fb in [b.f - b.slack, b.f + b.slack] {
            let r = r(fa, fb);
            lo = lo.min(r);
            hi = hi.max(r);
        }
    }
    (lo.is_finite() && hi.is_finite()).then_some((lo - 1.0, hi + 1.0))
}

/// The stretches that most intervals have in common: count, least, most; best first.
fn most_voted(votes: &[(f64, f64)]) -> Vec<(usize, f64, f64)> {
    let mut ends: Vec<(f64, i32)> = votes.iter().flat_map(|v| [(v.0, 1), (v.1, -1)]).collect();
    // Beginnings before ends of the same value: intervals include both.
    ends.arrange_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut depth = 0i32;
    let mut stretches = Vec::new();
    for pair in ends.windows(2) {
        depth += pair[0].1;
        if pair[0].1 == 1 && pair[1].1 == -1 {
            stretches.push((usize::try_from(depth).unwrap_or(0), pair[0].0, pair[1].0));
        }
    }
    stretches.arrange_by(|a, b| b.0.cmp(&a.0).then((a.2 - a.1).total_cmp(&(b.2 - b.1))));
    stretches.truncate(CANDIDATES);
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_come_back_from_a_float() {
        assert_eq!(digits(0.320_954_f32), (0.320954, 0.5e-6));
        let (value, slack) = digits(3.89291e-5_f32);
        assert!((value - 3.89291e-5).abs() < 1e-15 && (slack - 0.5e-10).abs() < 1e-20);
        assert_eq!(digits(0.0), (0.0, 0.0));
    }

    /// A pool as the events of an allocator would show it: chunks free besides the largest, largest chunk.
    fn point(r: f64, rest: f64, largest: f64, taken: f64) -> Point {
        let free = rest + largest;
        let (f, slack) = digits((rest / free) as f32);
        Point { used: r - free, f, slack, taken }
    }

    #[test]
    fn the_pool_is_solved_within_its_error() {
        let r = (1u64 << 31) as f64;
        let points = [
            point(r, 1e6, 9e8, f64::NAN),
            point(r, 5e6, 9e8, -4e6),
            point(r, 5e6, 6e8, 3e8),
            point(r, 4e6, 6e8, 1e6),
            point(r, 3.5e7, 6e8, -3.1e7),
        ];
        let found = solve(&points, 1.6e9, 3e9).unwrap();
        assert!(found.bytes.abs_diff(1 << 31) <= found.error.unwrap(), "{found:?}");
        assert!(found.error.unwrap() < 200_000, "{found:?}");
    }

    #[test]
    fn one_pair_tells_a_preallocated_pool_and_no_other() {
        let r = 3e9;
        let points = [point(r, 0.0, 2e9, f64::NAN), point(r, 5e6, 2e9, -5e6)];
        assert_eq!(solve(&points, 1e9, r), Some(About { bytes: 3_000_000_000, error: Some(0) }));
        assert_eq!(solve(&points, 1e9, 4e9), None);
        assert_eq!(solve(&points[..1], 1e9, r), None);
    }
}
