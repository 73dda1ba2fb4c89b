//! Totals of each memory space.

use crate::arrange::Arrange;
use crate::hlo::{Allocation, Hlo};
use crate::terms::{Backend, BufferKind, MemoryAnalysis};
use crate::units::Bytes;
use std::collections::HashSet;

/// The memory space of host memory in layouts and plans (`xla/layout.h`, `kHostMemorySpace`).
pub const HOST_SPACE: i64 = 5;

/// The totals of one memory space (colour) of one module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpaceTotals {
    /// Its number.
    pub color: i64,
    /// Its name on the kind of device that the module was compiled for.
    pub name: String,
    /// Entry parameters, donated ones among them.
    pub parameters: Bytes,
    /// Parameters that are outputs too.
    pub donated: Bytes,
    /// Parameters given away for which XLA found no output (`HloBufferDonorProto`): it may write over them.
    pub donors: Bytes,
    /// Live-out allocations that are no parameter.
    pub outputs: Bytes,
    /// Constants.
    pub constants: Bytes,
    /// Thread-local allocations: no device memory at run time.
    pub thread_local: Bytes,
    /// The temp blocks together.
    pub temp: Bytes,
    /// Each temp block that has any bytes, largest first.
    pub temp_blocks: Vec<Bytes>,
    /// The most that is live at once inside the temp blocks; `None` where the plan has no heap trace for the space. As XLA
    /// counts: in a TPU's VMEM, where sliced copies count whole, it can exceed the block.
    pub heap_peak: Option<Bytes>,
}

impl SpaceTotals {
    /// Parameters + non-aliased outputs + temp + constants.
    #[must_use]
    pub fn need(&self) -> Bytes {
        self.parameters + self.outputs + self.temp + self.constants
    }

    /// Non-aliased outputs + temp: what must be free at the moment of the call.
    #[must_use]
    pub fn launch_need(&self) -> Bytes {
        self.outputs + self.temp
    }

    /// What the temp blocks lose to packing: block − peak. Not fragmentation, which is the allocator's.
    #[must_use]
    pub fn packing_loss(&self) -> Option<Bytes> {
        self.heap_peak.map(|peak| self.temp.saturating_sub(peak))
    }
}

/// The totals of every memory space that has allocations, in order of their numbers.
pub(super) fn totals(hlo: &Hlo, backend: Option<Backend>) -> Vec<SpaceTotals> {
    let donors: HashSet<(i64, &[i64])> = hlo.donors().collect();
    let mut allocations: Vec<&Allocation> = hlo.allocations().iter().collect();
    allocations.arrange_by_key(|a| a.color);
    let mut spaces: Vec<SpaceTotals> = Vec::new();
    for allocation in allocations {
        let color = allocation.color;
        if spaces.last().is_none_or(|last| last.color != color) {
            let name = space_name(color, backend);
            spaces.push(SpaceTotals { color, name, ..SpaceTotals::default() });
        }
        let Some(it) = spaces.last_mut() else { continue };
        match allocation.kind() {
            Some(BufferKind::Parameter) => {
                it.parameters += allocation.size;
                let place = allocation.parameter.as_ref().map(|(number, index)| (*number, index.as_slice()));
                if place.is_some_and(|place| donors.contains(&place)) {
                    it.donors += allocation.size;
                }
            }
            Some(BufferKind::Donated) => {
                it.parameters += allocation.size;
                it.donated += allocation.size;
            }
            Some(BufferKind::Output) => it.outputs += allocation.size,
            Some(BufferKind::Constant) => it.constants += allocation.size,
            Some(BufferKind::Temp) => {
                it.temp += allocation.size;
                if allocation.size > Bytes::ZERO {
                    it.temp_blocks.push(allocation.size);
                }
            }
            None => it.thread_local += allocation.size,
        }
    }
    for space in &mut spaces {
        space.temp_blocks.arrange_by(|a, b| b.cmp(a));
    }
    spaces
}

/// What `compiled.memory_analysis()` says: arguments, outputs and aliases over all spaces but the host's, an aliased
/// output counted among the arguments and the outputs; temp of space 0 alone. On a TPU jaxlib's temp is another number.
pub(super) fn memory_analysis(spaces: &[SpaceTotals]) -> MemoryAnalysis {
    let device = || spaces.iter().filter(|s| s.color != HOST_SPACE);
    let donated: Bytes = device().map(|s| s.donated).sum();
    MemoryAnalysis {
        argument_size_in_bytes: device().map(|s| s.parameters).sum(),
        output_size_in_bytes: device().map(|s| s.outputs).sum::<Bytes>() + donated,
        alias_size_in_bytes: donated,
        temp_size_in_bytes: spaces.iter().find(|s| s.color == 0).map_or(Bytes::ZERO, |s| s.temp),
    }
}

/// What a memory space is called. One number means different things on different devices: colour 1 is VMEM on a TPU and
/// memory for collectives on a GPU (`xla/service/gpu/gpu_memory_space_assignment.h`, `xla/layout.h`; TPU names as XProf has them).
#[must_use]
pub fn space_name(color: i64, backend: Option<Backend>) -> String {
    let name = match (color, backend) {
        (0, Some(Backend::Cpu)) => "host RAM",
        (0, Some(_)) => "HBM",
        (0, None) => "device memory",
        (1, Some(Backend::Tpu)) => "VMEM",
        (1, Some(Backend::Gpu)) => "collective memory",
        (2, Some(Backend::Tpu)) => "sync flags",
        (2, Some(Backend::Gpu)) => "temp of command buffers",
        (3, Some(Backend::Tpu)) => "CMEM",
        (4, Some(Backend::Tpu)) => "SMEM",
        (HOST_SPACE, _) => "host memory",
        (6, Some(Backend::Tpu)) => "workspace registers",
        (7, Some(Backend::Tpu)) => "SparseCore private stack in HBM",
        (8, Some(Backend::Tpu)) => "SparseCore sequencer sync flags",
        (9, Some(Backend::Tpu)) => "pinned HBM",
        _ => return format!("memory space {color}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_has_different_names_on_different_devices() {
        assert_eq!(space_name(1, Some(Backend::Tpu)), "VMEM");
        assert_eq!(space_name(1, Some(Backend::Gpu)), "collective memory");
        assert_eq!(
            (space_name(0, None), space_name(1, None)),
            ("device memory".into(), "memory space 1".into())
        );
        assert_eq!(space_name(5, None), "host memory");
        assert_eq!(space_name(-3, Some(Backend::Tpu)), "memory space -3");
    }
}
