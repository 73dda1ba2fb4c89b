//! What is known of every module of a capture.

use super::donation::OutputSlots;
use super::heap::{self, Schedule};
use super::launch::{self, LaunchAllocation};
use super::spaces::{self, SpaceTotals};
use crate::hlo::Hlo;
use crate::terms::{Backend, BufferKind, MemoryAnalysis};
use crate::units::Bytes;
use std::collections::HashMap;

/// Totals of a module's plan, and what the runtime asks for at launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The module's own name, `jit_step`.
    pub name: String,
    /// `HloModuleProto.id`: the program id in captures up to 2025.
    pub hlo_id: i64,
    /// Instructions in all computations.
    pub instructions: u64,
    /// Instructions that XLA's rematerialization made, those inside fusions not counted again.
    pub rematerialized: u64,
    /// Over how many devices the module is partitioned, where it says so.
    pub partitions: Option<u32>,
    /// Over how many replicas it runs, where it says so.
    pub replicas: Option<u32>,
    /// Whether the module has a buffer assignment; without one `spaces` and `launch` are empty.
    pub has_plan: bool,
    /// Totals of every memory space with allocations, in order of the space's number.
    pub spaces: Vec<SpaceTotals>,
    /// What `compiled.memory_analysis()` prints; `None` without a buffer assignment.
    pub memory_analysis: Option<MemoryAnalysis>,
    /// What the runtime asks its allocators for at each launch, in order.
    pub launch: Vec<LaunchAllocation>,
    /// Sizes of the parameters that are outputs too, with the allocation's index: where a caller does not give such an array
    /// away after all, the runtime makes a copy of this size, outside the plan.
    pub donated: Vec<(i64, Bytes)>,
    /// Parameters donated without an output of their own.
    pub donors: u64,
    /// What was damaged in the module.
    pub warnings: Vec<String>,
}

impl Summary {
    /// Reads the totals of a module.
    #[must_use]
    pub fn of(hlo: &Hlo, backend: Option<Backend>) -> Summary {
        Summary::with(hlo, backend, &heap::simulate(hlo), &OutputSlots::of(hlo))
    }

    pub(super) fn with(
        hlo: &Hlo,
        backend: Option<Backend>,
        schedules: &[Schedule],
        slots: &OutputSlots,
    ) -> Summary {
        let mut spaces = spaces::totals(hlo, backend);
        let peaks: HashMap<i64, Bytes> = schedules.iter().map(|s| (s.color, s.peak)).collect();
        for space in &mut spaces {
            space.heap_peak = peaks.get(&space.color).copied();
        }
        Summary {
            name: hlo.name().to_owned(),
            hlo_id: hlo.id(),
            instructions: hlo.instruction_count() as u64,
            rematerialized: hlo.rematerialized_count(),
            partitions: hlo.partitions(),
            replicas: hlo.replicas(),
            has_plan: hlo.has_assignment(),
            memory_analysis: hlo.has_assignment().then(|| spaces::memory_analysis(&spaces)),
            spaces,
            launch: launch::allocations(hlo, slots),
            donated: hlo
                .allocations()
                .iter()
                .filter(|a| a.kind() == Some(BufferKind::Donated))
                .map(|a| (a.index, a.size))
                .collect(),
            donors: hlo.donors().count() as u64,
            warnings: hlo.warnings().to_vec(),
        }
    }

    /// The totals of a memory space.
    #[must_use]
    pub fn space(&self, color: i64) -> Option<&SpaceTotals> {
        self.spaces.iter().find(|s| s.color == color)
    }

    /// Bytes of the device's own memory (space 0) that the module needs in all; `None` without a buffer assignment.
    #[must_use]
    pub fn need(&self) -> Option<Bytes> {
        self.has_plan.then(|| self.space(0).map_or(Bytes::ZERO, SpaceTotals::need))
    }

    /// Bytes of the device's own memory that must be free at the moment of the call.
    #[must_use]
    pub fn launch_need(&self) -> Option<Bytes> {
        self.has_plan.then(|| self.space(0).map_or(Bytes::ZERO, SpaceTotals::launch_need))
    }
}
