//! Requests against a plan: each is the next planned allocation of its size.

use super::NONE;
use super::module::Module;
use super::requests::Request;
use crate::run::{Run, UNKNOWN};
use crate::terms::AllocatorKind;
use std::collections::HashMap;

/// How far a plan's next allocation is looked for behind the expected one: events can be lost, and temp blocks of
/// command buffers come from elsewhere.
const LOOK_AHEAD: u32 = 4096;
/// The runtime rounds requests for collective memory up (`SymmetricMemoryAlignment`).
const COLLECTIVE_ROUNDING: u64 = 2 << 20;

/// What matching found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Match {
    /// For each request, the position of its planned allocation; `NONE` outside the plan.
    pub(super) planned: Vec<u32>,
    /// Planned allocations obtained.
    pub(super) obtained: u32,
    /// The first planned allocation that was not, `NONE` if all were.
    pub(super) missing: u32,
    /// Whether the requests before the missing one are all the plan has there: nothing was passed over.
    pub(super) in_order: bool,
}

impl Match {
    /// All that the plan has was asked for, in its order.
    pub(super) fn is_complete(&self) -> bool {
        self.missing == NONE && self.in_order
    }

    /// A first part of what the plan has was asked for.
    pub(super) fn is_prefix(&self) -> bool {
        self.missing != NONE && self.in_order
    }
}

/// The plans of all modules, ordered for matching: each step takes about as long in a plan of a hundred thousand
/// allocations as in one of three.
pub(super) struct Plans {
    /// Whether a run has an allocator of each of [`KINDS`].
    recorded: [bool; 3],
    /// In the order of the modules.
    plans: Vec<Sorted>,
}

/// The kinds of allocators; each is asked in the order of a plan.
const KINDS: [AllocatorKind; 3] = [AllocatorKind::Device, AllocatorKind::Collective, AllocatorKind::Host];

/// Positions of one plan's allocations, ascending, for each of [`KINDS`].
#[derive(Default)]
struct Sorted {
    all: [Vec<u32>; 3],
    by_size: [HashMap<u64, Vec<u32>>; 3],
}

impl Plans {
    pub(super) fn of(run: &Run, modules: &[Module]) -> Plans {
        let recorded = KINDS.map(|kind| run.allocators.iter().any(|a| a.kind == kind));
        let plans = modules.iter().map(|module| {
            let mut sorted = Sorted::default();
            for (position, allocation) in (0..).zip(&module.launch) {
                let kind = match Module::allocator_of(allocation) {
                    // Collective memory comes from the device's allocator where there is none of its own.
                    AllocatorKind::Collective if recorded[1] => 1,
                    AllocatorKind::Host => 2,
                    _ => 0,
                };
                sorted.all[kind].push(position);
                sorted.by_size[kind].entry(allocation.size.0).or_default().push(position);
            }
            sorted
        });
        Plans { recorded, plans: plans.collect() }
    }

    /// Matches the requests of one execution with a module's plan. With `only_build`, requests outside `Build buffer
    /// allocations` are no planned ones.
    pub(super) fn matched(
        &self,
        run: &Run,
        requests: &[Request],
        modules: &[Module],
        module: usize,
        only_build: bool,
    ) -> Option<Match> {
        let (sorted, launch) = (self.plans.get(module)?, &modules.get(module)?.launch);
        let mut planned = vec![NONE; requests.len()];
        let mut in_order = true;
        let (mut obtained, mut missing, mut last) = (0, NONE, None);
        for (k, kind) in KINDS.into_iter().enumerate() {
            let (all, by_size) = (&sorted.all[k], &sorted.by_size[k]);
            // The first position that is not passed yet, and how many of `all` lie before it without being obtained.
            let (mut next, mut first_missing, mut expected) = (0u32, None, 0);
            for (slot, request) in planned.iter_mut().zip(requests) {
                let Some(allocator) = run.allocators.get(usize::from(request.allocator)) else { continue };
                if allocator.kind != kind || (only_build && !request.in_build) {
                    continue;
                }
                let asked = allocator.by_number(request.event).map_or(UNKNOWN, |e| e.requested);
                let behind = |positions: &[u32]| positions.partition_point(|p| *p < next);
                let end = next.saturating_add(LOOK_AHEAD);
                let found = if kind == AllocatorKind::Collective {
                    let rounded = |p: &u32| {
                        let size = launch.get(*p as usize).map_or(UNKNOWN, |a| a.size.0);
                        asked >= size && asked - size < COLLECTIVE_ROUNDING
                    };
                    all[behind(all)..].iter().copied().take_while(|p| *p < end).find(rounded)
                } else {
                    let alike = by_size.get(&asked).map_or(&[][..], Vec::as_slice);
                    alike.get(behind(alike)).copied().filter(|p| *p < end)
                };
                let Some(found) = found else { continue };
                // What lies between of this kind was passed over.
                if all.get(expected) != Some(&found) {
                    in_order = false;
                    first_missing = first_missing.or(all.get(expected).copied());
                    expected = all.partition_point(|p| *p < found);
                }
                *slot = found;
                obtained += 1;
                expected += 1;
                next = found + 1;
                last = last.max(Some(found));
            }
            if self.recorded[k] {
                let of_kind = first_missing.or(all.get(expected).copied());
                missing = missing.min(of_kind.unwrap_or(NONE));
            }
        }
        // An allocation obtained behind one that was not means that an event was lost, or never made.
        in_order &= missing == NONE || last.is_none_or(|last| last < missing);
        Some(Match { planned, obtained, missing, in_order })
    }
}
