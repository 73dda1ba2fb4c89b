//! The records of two parts of a capture as one.
//!
//! Lines say nothing of each other while they are recorded, so that parts of a capture can be recorded apart, and what is
//! recorded of them put together gives what one walk over all of it gives: what is met first has the lower number.

use super::chunked::Chunked;
use super::intern::Interner;
use super::kernels::Tags;
use super::recorder::{AllocatorRecord, DeviceRecord, Recorder};
use super::records::{AllocatorEvent, Context, RawPlace};
use super::tables::NONE;
use crate::capture::Index;
use std::hash::Hash;
use std::sync::Arc;

/// New numbers by old ones; what has none keeps [`NONE`].
#[derive(Debug, Default)]
struct Renumber(Vec<u32>);

impl Renumber {
    fn of(&self, number: u32) -> u32 {
        self.0.get(number as usize).copied().unwrap_or(NONE)
    }
}

/// Adds the values of `later` to `into`, each as `changed`.
fn merge<T: Clone + Eq + Hash>(
    into: &mut Interner<T>,
    later: &Interner<T>,
    changed: impl Fn(&T) -> T,
) -> Renumber {
    Renumber(later.values.iter().map(|value| into.number(changed(value))).collect())
}

impl Recorder {
    /// A recorder for another part of the same capture. It shares the tables.
    #[must_use]
    pub fn beside(&self, index: &Index) -> Recorder {
        let mut other = Recorder::over(index, Arc::clone(&self.tables));
        other.labels = self.labels.clone();
        other
    }

    /// Takes in what another one recorded of lines that come later in the same file.
    pub fn absorb(&mut self, later: Recorder) {
        let labels = merge(&mut self.labels, &later.labels, String::clone);
        let names = merge(&mut self.names, &later.names, |name| *name);
        let programs = merge(&mut self.programs, &later.programs, |&(id, name)| (id, names.of(name)));
        let places = merge(&mut self.places, &later.places, |place| RawPlace {
            event: names.of(place.event),
            frame: names.of(place.frame),
            inner: names.of(place.inner),
            shape: names.of(place.shape),
            ..*place
        });
        let before = self.executions.len() as u32;
        let execution = |e: u32| if e == NONE { NONE } else { e.saturating_add(before) };
        for e in later.executions.iter() {
            let mut e = *e;
            e.module = labels.of(e.module);
            e.program = programs.of(e.program);
            e.place = places.of(e.place);
            self.executions.push(e);
        }
        let allocators = self.allocators_of(&later);
        let context = |c: Context| match (c.execution(), c.place()) {
            (Some(e), _) => c.with_index(execution(e as u32)),
            (None, Some(place)) => c.with_index(places.of(place as u32)),
            (None, None) => c,
        };
        let mut events_before = Vec::new();
        for (record, &into) in later.allocators.into_iter().zip(&allocators) {
            let whole = self.allocators.get_mut(usize::from(into));
            events_before.push(whole.as_ref().map_or(0, |whole| whole.events.len() as u32));
            if let Some(whole) = whole {
                whole.absorb(record, context);
            }
        }
        let allocator = |a: u16| allocators.get(usize::from(a)).copied().unwrap_or(u16::MAX);
        self.retries.extend(later.retries.into_iter().map(|mut r| {
            r.execution = execution(r.execution);
            r.got = r
                .got
                .map(|(a, n)| (allocator(a), n + events_before.get(usize::from(a)).copied().unwrap_or(0)));
            r
        }));
        self.builds.extend(later.builds.into_iter().map(|mut b| {
            b.execution = execution(b.execution);
            b
        }));
        self.growths.extend(later.growths.into_iter().map(|mut g| {
            g.allocator = allocator(g.allocator);
            g
        }));
        self.calls.extend(later.calls.into_iter().map(|mut c| {
            c.module = labels.of(c.module);
            c.place = places.of(c.place);
            c
        }));
        self.enqueued.extend(later.enqueued.into_iter().map(|(e, flow)| (execution(e), flow)));
        self.launch_ids.extend(later.launch_ids.into_iter().map(|(id, e)| (id, execution(e))));
        self.work.extend(later.work.into_iter().map(|(flow, e)| (flow, execution(e))));
        self.regions.extend(later.regions.into_iter().map(|(flow, program)| (flow, programs.of(program))));
        let programs = Arc::<[u32]>::from(programs.0);
        self.launches.absorb(later.launches, &Tags::From(before));
        self.labelled.absorb(later.labelled, &Tags::From(before));
        self.far.absorb(later.far, &Tags::Renumbered(Arc::clone(&programs)));
        for device in later.devices {
            let i = self.device(device.ordinal);
            let Some(whole) = self.devices.get_mut(i) else { continue };
            whole.kernels.absorb(device.kernels, &Tags::Renumbered(Arc::clone(&programs)));
            whole.labelled |= device.labelled;
        }
        for (name, runs) in later.device_runs {
            *self.device_runs.entry(names.of(name)).or_insert(0) += runs;
        }
        self.copies.extend(later.copies.into_iter().map(|(e, copies)| (execution(e), copies)));
        self.op_waits.extend(later.op_waits);
        self.unsorted.extend(later.unsorted);
        self.host_events |= later.host_events;
        self.first = [self.first, later.first].into_iter().flatten().min();
        self.last_program = None;
    }

    /// The record of a device.
    pub(super) fn device(&mut self, ordinal: u32) -> usize {
        self.devices.iter().position(|d| d.ordinal == ordinal).unwrap_or_else(|| {
            self.devices.push(DeviceRecord { ordinal, ..DeviceRecord::default() });
            self.devices.len() - 1
        })
    }

    /// The numbers that the allocators of another recorder have here, new ones made; `u16::MAX` where there are too many.
    fn allocators_of(&mut self, later: &Recorder) -> Vec<u16> {
        let mut found: Vec<Option<u16>> = vec![None; later.allocators.len()];
        let known =
            later.allocator_keys.iter().filter_map(|(key, i)| Some((i, *self.allocator_keys.get(key)?)));
        let named =
            later.allocator_names.iter().filter_map(|(name, i)| Some((i, *self.allocator_names.get(name)?)));
        for (i, here) in known.chain(named) {
            if let Some(slot) = found.get_mut(usize::from(*i)) {
                *slot = Some(here);
            }
        }
        let mut all = Vec::with_capacity(found.len());
        for (record, found) in later.allocators.iter().zip(found) {
            all.push(
                found
                    .or_else(|| self.new_allocator(record.name.clone(), record.named_by))
                    .unwrap_or(u16::MAX),
            );
        }
        let here = |i: &u16| all.get(usize::from(*i)).copied().filter(|here| *here != u16::MAX);
        let keys = later.allocator_keys.iter().filter_map(|(key, i)| Some((*key, here(i)?)));
        self.allocator_keys.extend(keys);
        let names = later.allocator_names.iter().filter_map(|(name, i)| Some((name.clone(), here(i)?)));
        self.allocator_names.extend(names);
        all
    }
}

impl AllocatorRecord {
    /// Takes in what was recorded of the same allocator on later lines.
    fn absorb(&mut self, mut later: AllocatorRecord, context: impl Fn(Context) -> Context) {
        if !self.reserved.is_empty() || !later.reserved.is_empty() {
            for record in [&mut *self, &mut later] {
                record.reserve_from_here();
            }
            self.reserved.append(&mut later.reserved);
        }
        append(&mut self.events, &later.events, |event| AllocatorEvent {
            context: context(event.context),
            ..*event
        });
        self.capacity = match (self.capacity, later.capacity) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        self.lifetime_peak = [self.lifetime_peak, later.lifetime_peak].into_iter().flatten().max();
    }
}

fn append<T>(into: &mut Chunked<T>, later: &Chunked<T>, changed: impl Fn(&T) -> T) {
    for item in later.iter() {
        into.push(changed(item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::UNKNOWN;

    fn record(events: &[(i64, u64)]) -> AllocatorRecord {
        let mut record = AllocatorRecord::default();
        for &(at, reserved) in events {
            record.events.push(AllocatorEvent {
                at,
                in_use: 100,
                requested: UNKNOWN,
                allocated: UNKNOWN,
                address: 0,
                fragmentation: -1.0,
                context: Context::at_place(1),
            });
            record.note(at, 100, Some(900 - reserved), Some(reserved), None);
        }
        record
    }

    #[test]
    fn what_two_threads_saw_reserved_is_known_by_time() {
        for (first, second) in
            [(vec![(1, 0), (10, 0)], vec![(5, 50), (7, 50)]), (vec![(5, 50), (7, 50)], vec![(1, 0), (10, 0)])]
        {
            let mut apart = record(&first);
            apart.absorb(record(&second), |context| context.with_index(9));
            let together = record(&[first.clone(), second].concat());
            for mut record in [apart, together] {
                record.reserved.sort_unstable();
                assert_eq!(record.reserved, [(1, 0), (5, 50), (7, 50), (10, 0)]);
                assert_eq!(record.capacity, Some((1000, 1000)));
            }
        }
        let mut apart = record(&[(1, 0)]);
        apart.absorb(record(&[(2, 0)]), |context| context.with_index(9));
        assert!(apart.reserved.is_empty(), "none on a GPU");
        let places: Vec<_> = apart.events.iter().map(|e| e.context.place()).collect();
        assert_eq!(places, [Some(1), Some(9)]);
    }
}
