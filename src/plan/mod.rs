//! What XLA planned for a module: how much memory of which kind, when, for what. Evidence: read.
//!
//! [`Summary`] is cheap and made for every module of a capture; [`Plan`] adds what is shown of one module. Neither
//! borrows from the [`crate::hlo::Hlo`], but describing a buffer takes it again.

mod buffers;
mod curve;
mod donation;
mod heap;
mod launch;
mod spaces;
mod summary;

pub use buffers::{Describer, PlanBuffer};
pub use curve::RoleCurve;
pub use donation::{Donation, Output, Pair, Parameter};
pub use heap::{Life, Schedule};
pub use launch::{LaunchAllocation, OutputSlot};
pub use spaces::{HOST_SPACE, SpaceTotals, space_name};
pub use summary::Summary;

use donation::OutputSlots;

use crate::arrange::Arrange;
use crate::hlo::{Hlo, Loop, Origins};
use crate::terms::{Backend, Role};
use crate::units::Bytes;

/// The plan of one module, in detail.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Totals, and what the runtime asks for at launch.
    pub summary: Summary,
    /// The schedule of each memory space with heap traces, in order of the space's number.
    pub schedules: Vec<Schedule>,
    /// Parameters against outputs.
    pub donation: Donation,
    /// The while loops.
    pub loops: Vec<Loop>,
}

impl Plan {
    /// Reads the plan of a module. Takes time and memory linear in the module.
    #[must_use]
    pub fn build(hlo: &Hlo, backend: Option<Backend>) -> Plan {
        let mut schedules = heap::simulate(hlo);
        let slots = OutputSlots::of(hlo);
        let summary = Summary::with(hlo, backend, &schedules, &slots);
        let mut origins = Origins::new(hlo);
        for life in schedules.iter_mut().flat_map(|s| &mut s.lives) {
            (life.role, life.role_evidence) = origins.role(life.buffer);
        }
        Plan { summary, schedules, donation: donation::pair_up(hlo, &slots), loops: hlo.loops() }
    }

    /// The schedule of memory space 0, the device's own memory; `None` where the plan has no heap trace for it.
    #[must_use]
    pub fn schedule(&self) -> Option<&Schedule> {
        self.schedules.iter().find(|s| s.color == 0)
    }

    /// What lies in the temp blocks of memory space 0 right after an event of its schedule, in order of birth.
    pub fn live_at(&self, event: u64) -> impl Iterator<Item = &Life> {
        self.schedule().into_iter().flat_map(move |s| s.live_at(event))
    }

    /// The share of each role in the bytes live right after an event, largest first; roles without bytes are left out.
    #[must_use]
    pub fn roles_at(&self, event: u64) -> Vec<(Role, Bytes)> {
        let mut sums: Vec<(Role, Bytes)> = Role::ALL.map(|role| (role, Bytes::ZERO)).to_vec();
        for life in self.live_at(event) {
            if let Some((_, sum)) = sums.iter_mut().find(|(role, _)| *role == life.role) {
                *sum += life.bytes;
            }
        }
        sums.retain(|(_, bytes)| bytes.0 > 0);
        sums.arrange_by_key(|&(role, bytes)| (std::cmp::Reverse(bytes), role));
        sums
    }
}
