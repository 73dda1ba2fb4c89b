//! One allocator's events in the order of time, and what they add up to.

use super::chunked::Chunked;
use super::pool::Pool;
use super::records::{AllocatorEvent, UNKNOWN};
use crate::arrange::Arrange;
use crate::terms::AllocatorKind;

/// One allocator.
#[derive(Debug)]
pub struct Allocator {
    /// `GPU_0_bfc`; `index_on_host 0` on a TPU, whose events have no name.
    pub name: String,
    /// What it is for.
    pub kind: AllocatorKind,
    /// The ordinal of its device.
    pub device: Option<u32>,
    /// In use + available + reserved, the largest over the events.
    pub capacity: Option<u64>,
    /// The smallest, where that is another.
    pub capacity_was: Option<u64>,
    /// The stat `peak_bytes_in_use`, the largest over the events: since the process started.
    pub lifetime_peak: Option<u64>,
    /// Changes of the bytes reserved for programs (on TPUs), by time.
    pub reserved: Vec<(i64, u64)>,
    /// Bytes in use before the first event.
    pub start: Option<u64>,
    /// Where the running total jumps: events were lost.
    pub breaks: Vec<Break>,
    /// When it mapped more memory.
    pub growths: Vec<i64>,
    /// What is known of the memory it has mapped.
    pub pool: Pool,
    pub(super) events: Chunked<AllocatorEvent>,
    pub(super) order: Vec<u32>,
}

/// A jump of the running total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Break {
    /// Position of the event that does not follow from the one before it.
    pub position: usize,
    /// When that is.
    pub at: i64,
    /// When the event before it was.
    pub since: i64,
    /// Bytes by which the total is higher than it should be.
    pub jump: i64,
}

/// The most that was in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peak {
    /// Bytes.
    pub bytes: u64,
    /// When first.
    pub at: i64,
    /// How many events reach it.
    pub times: u64,
    /// Position of the first; `None` where that is before all events.
    pub position: Option<usize>,
}

/// The tightest moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeastFree {
    /// When first.
    pub at: i64,
    /// Capacity − in use − reserved.
    pub bytes: u64,
    /// In use then.
    pub in_use: u64,
    /// Reserved for programs then.
    pub reserved: u64,
}

impl Allocator {
    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The event at a position in the order of time.
    #[must_use]
    pub fn event(&self, position: usize) -> Option<&AllocatorEvent> {
        self.events.get(*self.order.get(position)? as usize)
    }

    /// The number that an event has for life, by its position; see [`Allocator::by_number`].
    #[must_use]
    pub fn number(&self, position: usize) -> Option<u32> {
        self.order.get(position).copied()
    }

    /// The event with a number.
    #[must_use]
    pub fn by_number(&self, number: u32) -> Option<&AllocatorEvent> {
        self.events.get(number as usize)
    }

    /// The events in the order of time.
    pub fn iter(&self) -> impl Iterator<Item = &AllocatorEvent> {
        self.order.iter().filter_map(|&i| self.events.get(i as usize))
    }

    /// How many events lie at or before a moment.
    #[must_use]
    pub fn position_after(&self, at: i64) -> usize {
        self.order.partition_point(|&i| self.events.get(i as usize).is_some_and(|e| e.at <= at))
    }

    /// Bytes in use at a moment (after the events of that moment).
    #[must_use]
    pub fn in_use_at(&self, at: i64) -> Option<u64> {
        match self.position_after(at).checked_sub(1) {
            Some(position) => self.event(position).map(|e| e.in_use),
            None => self.start,
        }
    }

    /// Bytes reserved for programs at a moment.
    #[must_use]
    pub fn reserved_at(&self, at: i64) -> u64 {
        match self.reserved.partition_point(|r| r.0 <= at).checked_sub(1) {
            Some(i) => self.reserved.get(i).map_or(0, |r| r.1),
            None => 0,
        }
    }

    /// Bytes free at a moment: capacity − reserved − in use.
    #[must_use]
    pub fn free_at(&self, at: i64) -> Option<u64> {
        let taken = self.in_use_at(at)?.saturating_add(self.reserved_at(at));
        self.capacity.map(|c| c.saturating_sub(taken))
    }

    /// The moment with the least free: when, how much, and what of the rest was in use and reserved.
    #[must_use]
    pub fn least_free(&self) -> Option<LeastFree> {
        let capacity = self.capacity?;
        let first = self.start.map(|in_use| (0, in_use));
        let moments = first.into_iter().chain(self.iter().map(|e| (e.at, e.in_use)));
        moments
            .map(|(at, in_use)| {
                let reserved = self.reserved_at(at);
                LeastFree {
                    at,
                    bytes: capacity.saturating_sub(in_use.saturating_add(reserved)),
                    in_use,
                    reserved,
                }
            })
            .min_by_key(|l| (l.bytes, l.at))
    }

    /// The most in use within the capture.
    #[must_use]
    pub fn peak(&self) -> Option<Peak> {
        let mut peak = self.start.map(|bytes| Peak { bytes, at: 0, times: 1, position: None });
        for (position, event) in self.iter().enumerate() {
            match &mut peak {
                Some(p) if event.in_use < p.bytes => {}
                Some(p) if event.in_use == p.bytes && p.position.is_some() => p.times += 1,
                _ => {
                    peak =
                        Some(Peak { bytes: event.in_use, at: event.at, times: 1, position: Some(position) });
                }
            }
        }
        peak
    }

    /// Bytes in use after the last event.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        self.event(self.len().checked_sub(1)?).map(|e| e.in_use)
    }

    /// Whether events were lost between two moments.
    #[must_use]
    pub fn broken_between(&self, from: i64, to: i64) -> bool {
        let first = self.breaks.partition_point(|b| b.at < from);
        self.breaks.get(first).is_some_and(|b| b.since <= to)
    }

    /// Puts the events in order and checks them against each other.
    pub(super) fn settle(&mut self) {
        let mut order: Vec<u32> = (0..self.events.len() as u32).collect();
        let events = &self.events;
        let at = |i: u32| events.get(i as usize).map_or(0, |e| e.at);
        // Stable: events of one moment stay in the order of their line.
        order.sort_by_key(|&i| at(i));
        for i in 1..order.len() {
            // Two threads can write the same moment: the running total tells which came first.
            if at(order[i - 1]) == at(order[i]) && i >= 2 {
                let of = |k: usize| events.get(order[k] as usize).copied();
                if let (Some(before), Some(a), Some(b)) = (of(i - 2), of(i - 1), of(i))
                    && !follows(before.in_use, &a)
                    && follows(before.in_use, &b)
                    && follows(b.in_use, &a)
                {
                    order.swap(i - 1, i);
                }
            }
        }
        self.order = order;
        // Each event has it; what counts is where it changes.
        self.reserved.arrange_by_key(|r| r.0);
        self.reserved.dedup_by_key(|r| r.1);
        let mut before: Option<(u64, i64)> = None;
        for position in 0..self.order.len() {
            let Some(event) = self.order.get(position).and_then(|&i| self.events.get_mut(i as usize)) else {
                continue;
            };
            match before {
                None => self.start = total_before(event),
                Some((in_use, since)) => {
                    // A TPU's deallocations carry no sizes: the running total does.
                    if event.allocated == UNKNOWN {
                        event.allocated = in_use.abs_diff(event.in_use);
                    }
                    if !follows(in_use, event) {
                        let should = if event.context.is_free() {
                            in_use.saturating_sub(event.allocated)
                        } else {
                            in_use.saturating_add(event.allocated)
                        };
                        let jump = i128::from(event.in_use) - i128::from(should);
                        self.breaks.push(Break {
                            position,
                            at: event.at,
                            since,
                            jump: jump.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64,
                        });
                    }
                }
            }
            before = Some((event.in_use, event.at));
        }
        self.growths.arrange();
    }
}

fn total_before(event: &AllocatorEvent) -> Option<u64> {
    if event.allocated == UNKNOWN {
        return None;
    }
    if event.context.is_free() {
        event.in_use.checked_add(event.allocated)
    } else {
        event.in_use.checked_sub(event.allocated)
    }
}

fn follows(in_use: u64, event: &AllocatorEvent) -> bool {
    event.allocated != UNKNOWN && total_before(event) == Some(in_use)
}

/// What an allocator is for and the ordinal of its device, from its name (pjrt/gpu/gpu_helpers.cc; TensorFlow's
/// process_state.cc and gpu_process_state.cc).
#[must_use]
pub fn kind_of(name: &str) -> (AllocatorKind, Option<u32>) {
    let digits = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    if let Some(rest) = name.strip_prefix("GPU_collectivememory_") {
        return (AllocatorKind::Collective, digits(rest));
    }
    for prefix in ["GPU_", "index_on_host ", "XLA_backend_"] {
        if let Some(device) = name.strip_prefix(prefix).and_then(digits) {
            return (AllocatorKind::Device, Some(device));
        }
    }
    (AllocatorKind::Host, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::records::Context;

    pub(crate) fn allocator(events: &[(i64, bool, u64, u64)]) -> Allocator {
        let mut chunked = Chunked::default();
        for &(at, free, size, in_use) in events {
            let context = if free { Context::NOWHERE.freeing() } else { Context::NOWHERE };
            chunked.push(AllocatorEvent {
                at,
                in_use,
                requested: size,
                allocated: size,
                address: 0,
                fragmentation: -1.0,
                context,
            });
        }
        let mut a = Allocator {
            name: "GPU_0_bfc".into(),
            kind: AllocatorKind::Device,
            device: Some(0),
            capacity: Some(1000),
            capacity_was: None,
            lifetime_peak: None,
            reserved: Vec::new(),
            start: None,
            breaks: Vec::new(),
            growths: Vec::new(),
            pool: Pool::default(),
            events: chunked,
            order: Vec::new(),
        };
        a.settle();
        a
    }

    #[test]
    fn events_of_several_lines_make_one_running_total() {
        // Two lines: the second's first event has the moment of the first's second, and came before it.
        let a = allocator(&[
            (10, false, 100, 150),
            (20, true, 100, 80),
            (20, false, 30, 180),
            (30, false, 100, 180),
            (40, true, 100, 80),
        ]);
        assert_eq!(a.breaks, []);
        assert_eq!((a.start, a.end()), (Some(50), Some(80)));
        assert_eq!(a.peak(), Some(Peak { bytes: 180, at: 20, times: 2, position: Some(1) }));
        assert_eq!(a.in_use_at(5), Some(50));
        assert_eq!(a.in_use_at(20), Some(80));
        assert_eq!(a.free_at(35), Some(820));
    }

    #[test]
    fn a_lost_event_is_a_break_with_its_bytes() {
        let a = allocator(&[(10, false, 100, 150), (20, true, 100, 20)]);
        assert_eq!(a.breaks, [Break { position: 1, at: 20, since: 10, jump: -30 }]);
        assert!(a.broken_between(15, 18) && a.broken_between(0, 12) && !a.broken_between(21, 30));
    }

    #[test]
    fn what_is_free_at_the_start_can_be_the_least() {
        let a = allocator(&[(10, true, 100, 50), (20, false, 10, 60)]);
        assert_eq!(a.peak(), Some(Peak { bytes: 150, at: 0, times: 1, position: None }));
    }

    #[test]
    fn names_tell_kind_and_device() {
        assert_eq!(kind_of("GPU_3_bfc"), (AllocatorKind::Device, Some(3)));
        assert_eq!(kind_of("GPU_collectivememory_1_bfc"), (AllocatorKind::Collective, Some(1)));
        assert_eq!(kind_of("xla_gpu_host_bfc"), (AllocatorKind::Host, None));
        assert_eq!(kind_of("index_on_host 2"), (AllocatorKind::Device, Some(2)));
        assert_eq!(kind_of("bfc_cpu_allocator_for_gpu"), (AllocatorKind::Host, None));
    }
}
