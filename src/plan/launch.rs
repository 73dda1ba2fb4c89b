//! What the runtime asks its allocators for at each launch.

use super::donation::OutputSlots;
use super::spaces::HOST_SPACE;
use crate::arrange::Arrange;
use crate::hlo::Hlo;
use crate::terms::BufferKind;
use crate::units::Bytes;

/// One allocation that the runtime makes at launch: a non-aliased output, or a temp block.
///
/// Parameters come from the caller, constants were allocated when the executable was loaded, thread-local allocations are
/// skipped (`xla/service/gpu/gpu_executable.cc`, `GenerateBufferAllocations`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchAllocation {
    /// Its index in the plan. Requests are made in this order, over all memory spaces.
    pub index: i64,
    /// Its size, as requested; requests for collective memory are rounded up by the runtime.
    pub size: Bytes,
    /// The memory space; each has its own allocator.
    pub color: i64,
    /// `Output` or `Temp`.
    pub kind: BufferKind,
    /// Which outputs it holds; empty for temp and for the result's table of pointers.
    pub outputs: Vec<OutputSlot>,
    /// Whether it is the table of pointers of the result's tuple.
    pub is_tuple_table: bool,
}

impl LaunchAllocation {
    /// Whether it is host memory: asked of a host allocator, never of the device's.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.color == HOST_SPACE
    }

    /// In words: `temp block`, `output 3 f32[1280]`, `table of the outputs`.
    #[must_use]
    pub fn what(&self) -> String {
        match (self.kind, self.outputs.as_slice()) {
            (BufferKind::Temp, _) => "temp block".to_owned(),
            (_, []) if self.is_tuple_table => "table of the outputs".to_owned(),
            (_, []) => "output".to_owned(),
            (_, [one]) => format!("output {} {}", one.number, one.shape),
            (_, [first, rest @ ..]) => {
                let numbers: Vec<String> =
                    std::iter::once(first).chain(rest).map(|o| o.number.to_string()).collect();
                format!("outputs {} {}", numbers.join(", "), first.shape)
            }
        }
    }
}

/// One array of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSlot {
    /// Its number in the flattened result.
    pub number: u64,
    /// Its shape, with its layout where that is not the usual one.
    pub shape: String,
}

/// The non-zero output and temp allocations, in order of their indexes.
pub(super) fn allocations(hlo: &Hlo, slots: &OutputSlots) -> Vec<LaunchAllocation> {
    let mut slots = slots.by_allocation();
    let mut out: Vec<LaunchAllocation> = (0..)
        .zip(hlo.allocations())
        .filter(|(_, a)| a.size > Bytes::ZERO)
        .filter_map(|(position, a)| {
            let kind = a.kind().filter(|k| matches!(k, BufferKind::Output | BufferKind::Temp))?;
            let outputs: Vec<OutputSlot> = match kind {
                BufferKind::Output => slots.remove(&position).unwrap_or_default(),
                _ => Vec::new(),
            };
            Some(LaunchAllocation {
                index: a.index,
                size: a.size,
                color: a.color,
                kind,
                is_tuple_table: kind == BufferKind::Output && a.is_tuple && outputs.is_empty(),
                outputs,
            })
        })
        .collect();
    out.arrange_by_key(|a| a.index);
    out
}
