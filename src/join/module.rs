//! A module as the join sees it.

use crate::capture::ModuleRef;
use crate::plan::{LaunchAllocation, Summary};
use crate::terms::{AllocatorKind, BufferKind};
use std::collections::HashSet;

/// A module: its names, and what it asks for at launch.
#[derive(Debug, Clone)]
pub struct Module {
    /// `jit_step(17)`.
    pub name: String,
    /// `jit_step`.
    pub base_name: String,
    /// Whether another module of the capture has this base name.
    pub(super) shares_name: bool,
    /// Its program id.
    pub program_id: i64,
    /// Bytes of the device's memory that it needs in all; 0 without a plan.
    pub need: u64,
    /// Whether it has a plan.
    pub has_plan: bool,
    /// What the runtime asks for at each launch, in order.
    pub launch: Vec<LaunchAllocation>,
    /// The first output and the first temp block of `launch`.
    first: [Option<usize>; 2],
    /// Sizes of the donated parameters: of such a size is the copy that XLA makes where the caller did not give the
    /// array away after all (`AllocateCopyProtectedOutputBuffer`).
    pub donated: HashSet<u64>,
}

impl Module {
    /// The module of an entry of the capture, with its plan.
    #[must_use]
    pub fn new(name: &ModuleRef, plan: &Summary) -> Module {
        Module {
            name: name.name.clone(),
            base_name: name.base_name.clone(),
            shares_name: false,
            program_id: name.program_id,
            need: plan.need().map_or(0, |b| b.0),
            has_plan: plan.has_plan,
            launch: plan.launch.clone(),
            first: [false, true]
                .map(|temp| plan.launch.iter().position(|a| (a.kind == BufferKind::Temp) == temp)),
            donated: plan.donated.iter().map(|d| d.1.0).collect(),
        }
    }

    /// The kind of allocator that a planned allocation is asked of.
    #[must_use]
    pub fn allocator_of(allocation: &LaunchAllocation) -> AllocatorKind {
        match allocation.color {
            _ if allocation.is_host() => AllocatorKind::Host,
            // Colour 1 is collective memory on GPU (gpu_memory_space_assignment.h); on TPU nothing is asked at launch.
            1 => AllocatorKind::Collective,
            _ => AllocatorKind::Device,
        }
    }

    /// The first planned allocation of the same kind as this one.
    #[must_use]
    pub fn first_like(&self, planned: usize) -> usize {
        self.first[usize::from(self.is_temp(planned))].unwrap_or(planned)
    }

    /// Whether a planned allocation is a temp block.
    #[must_use]
    pub fn is_temp(&self, planned: usize) -> bool {
        self.launch.get(planned).is_some_and(|a| a.kind == BufferKind::Temp)
    }
}
