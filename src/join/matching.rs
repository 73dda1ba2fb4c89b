//! Requests against a plan: each is the next planned allocation of its size.

use super::NONE;
use super::module::Module;
use super::requests::Request;
use crate::run::{Run, UNKNOWN};
use crate::terms::AllocatorKind;

/// How far a plan's next allocation is looked for behind the expected one: events can be lost, and temp blocks of
/// command buffers come from elsewhere.
const LOOK_AHEAD: usize = 4096;
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

/// Matches the requests of one execution with a module's plan. With `only_build`, requests outside `Build buffer
/// allocations` are no planned ones.
pub(super) fn match_plan(run: &Run, requests: &[Request], module: &Module, only_build: bool) -> Match {
    let mut taken = vec![false; module.launch.len()];
    let mut planned = vec![NONE; requests.len()];
    let mut in_order = true;
    let mut obtained = 0;
    // Collective memory comes from the device's allocator where there is none of its own.
    let collective = run.allocators.iter().any(|a| a.kind == AllocatorKind::Collective);
    let kind_of = |i: usize| match module.launch.get(i).map(Module::allocator_of) {
        Some(AllocatorKind::Collective) if !collective => Some(AllocatorKind::Device),
        kind => kind,
    };
    let recorded = |kind: AllocatorKind| run.allocators.iter().any(|a| a.kind == kind);
    for kind in [AllocatorKind::Device, AllocatorKind::Collective, AllocatorKind::Host] {
        let mut next = 0;
        for (slot, request) in planned.iter_mut().zip(requests) {
            let Some(allocator) = run.allocators.get(usize::from(request.allocator)) else { continue };
            if allocator.kind != kind || (only_build && !request.in_build) {
                continue;
            }
            let asked = allocator.by_number(request.event).map_or(UNKNOWN, |e| e.requested);
            let fits = |i: usize| {
                let size = module.launch.get(i).map_or(UNKNOWN, |a| a.size.0);
                let rounded =
                    kind == AllocatorKind::Collective && asked >= size && asked - size < COLLECTIVE_ROUNDING;
                kind_of(i) == Some(kind) && (asked == size || rounded)
            };
            let end = module.launch.len().min(next + LOOK_AHEAD);
            let Some(found) = (next..end).find(|&i| fits(i)) else { continue };
            // What lies between of this kind was passed over.
            in_order &= (next..found).all(|i| kind_of(i) != Some(kind));
            *slot = found as u32;
            if let Some(t) = taken.get_mut(found) {
                *t = true;
            }
            obtained += 1;
            next = found + 1;
        }
    }
    let missing = (0..module.launch.len())
        .find(|&i| !taken.get(i).copied().unwrap_or(true) && kind_of(i).is_some_and(recorded))
        .map_or(NONE, |i| i as u32);
    // An allocation obtained behind one that was not means that an event was lost, or never made.
    let last = planned.iter().filter(|p| **p != NONE).max().copied();
    in_order &= missing == NONE || last.is_none_or(|last| last < missing);
    Match { planned, obtained, missing, in_order }
}
