//! The arrays live at a moment.

use super::Joined;
use super::owner::Owner;
use crate::arrange::Arrange;
use crate::run::{Allocator, Run, UNKNOWN};
use std::collections::BTreeMap;

/// One array that is live at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveArray {
    /// Whose it is.
    pub owner: Owner,
    /// What was asked for, where known.
    pub requested: Option<u64>,
    /// The chunk.
    pub allocated: u64,
    /// Its address; `None` for the sum of arrays that the capture never shows.
    pub address: Option<u64>,
}

/// What is live at a moment. The bytes of all arrays and `rest` make up the bytes in use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moment {
    /// Bytes in use.
    pub in_use: u64,
    /// Arrays of which an event tells, largest first.
    pub arrays: Vec<LiveArray>,
    /// Bytes from before the capture that no event tells of.
    pub before_rest: u64,
    /// Bytes that lost events leave unexplained.
    pub unexplained: u64,
}

impl Moment {
    /// Bytes allocated before the capture started.
    #[must_use]
    pub fn before(&self) -> u64 {
        let known = self.arrays.iter().filter(|a| a.owner == Owner::BeforeCapture);
        known.fold(self.before_rest, |sum, a| sum.saturating_add(a.allocated))
    }
}

/// Walks over an allocator's events and knows what is live after each.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// By address: the number of the event, and the chunk.
    live: BTreeMap<u64, (u32, u64)>,
    /// Bytes of those.
    pub(super) known: u64,
}

/// What one event changed: arrays that came or went, with their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The array with this event's number came.
    Came(u32, u64),
    /// The array with this number went.
    Went(u32, u64),
    /// An array from before the capture went.
    WentFromBefore(u64),
}

impl Walk {
    /// Takes the event at a position and tells what changed.
    pub(super) fn take(&mut self, a: &Allocator, position: usize, tell: &mut dyn FnMut(Change)) {
        let (Some(event), Some(number)) = (a.event(position), a.number(position)) else { return };
        let bytes = if event.allocated == UNKNOWN { 0 } else { event.allocated };
        if event.context.is_free() {
            match self.live.remove(&event.address) {
                Some((number, bytes)) => {
                    self.known -= bytes.min(self.known);
                    tell(Change::Went(number, bytes));
                }
                None => tell(Change::WentFromBefore(bytes)),
            }
            return;
        }
        // What lies where this chunk is has gone: the event that freed it was lost.
        let end = event.address.saturating_add(bytes.max(1));
        let below = self.live.range(..=event.address).next_back();
        let mut gone: Vec<u64> = below
            .filter(|(start, (_, bytes))| start.saturating_add((*bytes).max(1)) > event.address)
            .map(|(start, _)| *start)
            .into_iter()
            .collect();
        if event.address < end {
            gone.extend(self.live.range(event.address..end).map(|(start, _)| *start));
        }
        gone.dedup();
        for start in gone {
            if let Some((number, bytes)) = self.live.remove(&start) {
                self.known -= bytes.min(self.known);
                tell(Change::Went(number, bytes));
            }
        }
        self.live.insert(event.address, (number, bytes));
        self.known = self.known.saturating_add(bytes);
        tell(Change::Came(number, bytes));
    }
}

/// Bytes of arrays from before the capture that the events so far have freed, and so on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Before {
    pub(super) freed: u64,
}

impl Joined {
    /// What is live after the first `position` events of an allocator, by the events alone.
    #[must_use]
    pub fn live_after(&self, run: &Run, allocator: usize, position: usize) -> Moment {
        let Some(a) = run.allocators.get(allocator) else { return Moment::default() };
        let mut walk = Walk::default();
        let mut before = Before::default();
        for p in 0..position.min(a.len()) {
            walk.take(a, p, &mut |change| {
                if let Change::WentFromBefore(bytes) = change {
                    before.freed = before.freed.saturating_add(bytes);
                }
            });
        }
        let in_use = match position.checked_sub(1) {
            Some(last) => a.event(last.min(a.len().saturating_sub(1))).map_or(0, |e| e.in_use),
            None => a.start.unwrap_or(0),
        };
        let mut arrays: Vec<LiveArray> = walk
            .live
            .iter()
            .map(|(&address, &(number, allocated))| LiveArray {
                owner: self.owner(&run.allocators, allocator, number),
                requested: a.by_number(number).map(|e| e.requested).filter(|r| *r != UNKNOWN),
                allocated,
                address: Some(address),
            })
            .collect();
        // Arrays from before the capture that are freed later are known one by one. After lost events they could as
        // well be from the gap.
        let broken = a.breaks.first().map_or(usize::MAX, |b| b.position);
        let mut later = Walk { live: walk.live, known: walk.known };
        let rest = in_use.saturating_sub(later.known);
        let mut named: u64 = 0;
        for p in position..a.len().min(broken.max(position)) {
            let Some(event) = a.event(p) else { break };
            later.take(a, p, &mut |change| {
                if let Change::WentFromBefore(bytes) = change {
                    named = named.saturating_add(bytes);
                    arrays.push(LiveArray {
                        owner: Owner::BeforeCapture,
                        requested: Some(event.requested).filter(|r| *r != UNKNOWN),
                        allocated: bytes,
                        address: Some(event.address),
                    });
                }
            });
        }
        // Without lost events the rest is what was in use at the start, less what was freed of it.
        let from_start = a.start.unwrap_or(0).saturating_sub(before.freed);
        let is_broken = a.breaks.iter().any(|b| b.position < position);
        let (before_all, unexplained) =
            if is_broken { (rest.min(from_start), rest.saturating_sub(from_start)) } else { (rest, 0) };
        arrays.arrange_by(|a, b| b.allocated.cmp(&a.allocated).then(a.address.cmp(&b.address)));
        Moment { in_use, arrays, before_rest: before_all.saturating_sub(named), unexplained }
    }

    /// What is live at a moment (after the events of that moment).
    #[must_use]
    pub fn live_at(&self, run: &Run, allocator: usize, at: i64) -> Moment {
        let position = run.allocators.get(allocator).map_or(0, |a| a.position_after(at));
        self.live_after(run, allocator, position)
    }
}
