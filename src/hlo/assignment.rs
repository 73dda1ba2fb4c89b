//! The buffer assignment: logical buffers, allocations, and the schedule of the heap.

use super::fields::{integers, text};
use super::instruction::InstrIx;
use super::module::{Hlo, Span};
use crate::arrange::Arrange;
use crate::bytes::wire::Cursor;
use crate::terms::BufferKind;
use crate::units::Bytes;
use std::ops::Range;

/// Position of a logical buffer in its module's plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufIx(pub(super) u32);

impl BufIx {
    /// The position as a number.
    #[must_use]
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// Stands for "none" where an `Option` would double the size of a record of which there are hundreds of thousands.
pub(super) const NONE: u32 = u32::MAX;

/// One value (`LogicalBufferProto`): what one instruction defines at one shape index.
#[derive(Debug, Clone, Copy)]
pub struct LogicalBuffer {
    /// Its id.
    pub id: i64,
    /// Its size, padded and laid out.
    pub size: Bytes,
    /// The memory space.
    pub color: i64,
    pub(super) instruction: u32,
    pub(super) location: Span,
    pub(super) whole: bool,
}

impl LogicalBuffer {
    /// The instruction that defines it; `None` where the plan names one that the module doesn't have.
    #[must_use]
    pub fn instruction(&self) -> Option<InstrIx> {
        (self.instruction != NONE).then_some(InstrIx(self.instruction))
    }

    /// Whether it is the whole result of its instruction, and no part of a tuple.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }
}

/// Where one logical buffer lies in an allocation.
#[derive(Debug, Clone, Copy)]
pub struct Assigned {
    /// The buffer.
    pub buffer: BufIx,
    /// Position of the allocation in [`Hlo::allocations`].
    pub allocation: u32,
    /// Bytes from the allocation's start.
    pub offset: Bytes,
    /// Its size there.
    pub size: Bytes,
}

/// One contiguous block (`BufferAllocationProto`).
#[derive(Debug, Clone)]
pub struct Allocation {
    /// Its index in the plan: the order in which the runtime makes allocations.
    pub index: i64,
    /// Its size.
    pub size: Bytes,
    /// The memory space.
    pub color: i64,
    /// Number and shape index, for an entry parameter.
    pub parameter: Option<(i64, Vec<i64>)>,
    /// Whether it may hold an output.
    pub maybe_live_out: bool,
    /// Whether it is per thread: no device memory at run time.
    pub is_thread_local: bool,
    /// Whether it is a constant.
    pub is_constant: bool,
    /// Whether it holds a table of pointers. Temp blocks can have this too.
    pub is_tuple: bool,
    pub(super) assigned: Range<u32>,
}

impl Allocation {
    /// What kind it is; `None` for a thread-local one.
    #[must_use]
    pub fn kind(&self) -> Option<BufferKind> {
        match (self.parameter.is_some(), self.maybe_live_out) {
            (true, true) => Some(BufferKind::Donated),
            (true, false) => Some(BufferKind::Parameter),
            (false, true) => Some(BufferKind::Output),
            (false, false) if self.is_thread_local => None,
            (false, false) if self.is_constant => Some(BufferKind::Constant),
            (false, false) => Some(BufferKind::Temp),
        }
    }
}

/// What an event of the heap's schedule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeapEventKind {
    /// A buffer becomes live.
    Alloc,
    /// A buffer dies.
    Free,
    /// A buffer becomes live in the place of its canonical buffer.
    ShareWith,
    /// A kind newer than this program; without effect.
    Unknown,
}

/// One event of the heap's schedule (`HeapSimulatorTrace.Event`).
#[derive(Debug, Clone, Copy)]
pub struct HeapEvent {
    /// What it does.
    pub kind: HeapEventKind,
    pub(super) buffer: u32,
    pub(super) canonical: u32,
    /// Where the field begins that it is.
    pub(super) at: u32,
}

impl HeapEvent {
    /// The buffer; `None` where the plan doesn't have it.
    #[must_use]
    pub fn buffer(&self) -> Option<BufIx> {
        (self.buffer != NONE).then_some(BufIx(self.buffer))
    }

    /// For [`HeapEventKind::ShareWith`] the buffer whose place it takes; `None` where the plan doesn't have it.
    #[must_use]
    pub fn canonical(&self) -> Option<BufIx> {
        (self.canonical != NONE).then_some(BufIx(self.canonical))
    }
}

/// One simulation of the heap (`HeapSimulatorTrace`).
#[derive(Debug, Clone)]
pub struct HeapTrace {
    /// Whether it covers the whole module in one sequence.
    pub whole_module: bool,
    pub(super) events: Range<u32>,
}

/// A buffer that must lie in the same place as another (`BufferAliasProto`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Alias {
    pub buffer: u32,
    pub instruction: u32,
    pub location: Span,
}

/// The plan, indexed.
#[derive(Debug, Default)]
pub(super) struct Assignment {
    pub buffers: Vec<LogicalBuffer>,
    pub allocations: Vec<Allocation>,
    pub assigned: Vec<Assigned>,
    /// For each buffer its position in `assigned`.
    pub assigned_of: Vec<u32>,
    /// Ordered by buffer.
    pub aliases: Vec<Alias>,
    pub traces: Vec<HeapTrace>,
    pub events: Vec<HeapEvent>,
}

/// Positions of buffers by the instruction that defines them, and of one instruction's by the place in its result.
#[derive(Debug)]
pub(super) struct Places {
    /// For each instruction where its buffers begin in `order`; they end where the next one's do.
    first: Vec<u32>,
    order: Vec<u32>,
}

impl Places {
    fn of(hlo: &Hlo, buffers: &[LogicalBuffer]) -> Places {
        // Counted, added up, and filled in from behind.
        let mut first = vec![0; hlo.instruction_count() + 1];
        let definer = |i: usize| buffers.get(i).and_then(LogicalBuffer::instruction).map(InstrIx::at);
        for at in (0..buffers.len()).filter_map(definer) {
            first[at] += 1;
        }
        let mut sum = 0;
        for slot in &mut first {
            sum += *slot;
            *slot = sum;
        }
        let mut order = vec![0; sum as usize];
        for (i, at) in (0..buffers.len()).rev().filter_map(|i| Some((i, definer(i)?))) {
            first[at] -= 1;
            order[first[at] as usize] = i as u32;
        }
        for bounds in first.windows(2).filter(|bounds| bounds[1] - bounds[0] > 1) {
            let place = |i: &u32| buffers.get(*i as usize).map(|b| hlo.shape_index(b)).unwrap_or_default();
            order[bounds[0] as usize..bounds[1] as usize].arrange_by_key(place);
        }
        Places { first, order }
    }

    fn of_instruction(&self, at: usize) -> &[u32] {
        let bounds = self.first.get(at).zip(self.first.get(at + 1));
        bounds.and_then(|(from, to)| self.order.get(*from as usize..*to as usize)).unwrap_or(&[])
    }
}

/// The shape index of a `LogicalBufferProto.Location`.
pub(super) fn shape_index(location: &[u8]) -> Vec<i64> {
    integers(location, 3).collect()
}

impl Hlo {
    fn plan(&self) -> &Assignment {
        static NOTHING: Assignment = Assignment {
            buffers: Vec::new(),
            allocations: Vec::new(),
            assigned: Vec::new(),
            assigned_of: Vec::new(),
            aliases: Vec::new(),
            traces: Vec::new(),
            events: Vec::new(),
        };
        self.assignment.as_ref().unwrap_or(&NOTHING)
    }

    /// Whether the module has a buffer assignment at all.
    #[must_use]
    pub fn has_assignment(&self) -> bool {
        self.assignment.is_some()
    }

    /// The allocations, in the order of the file, which is that of their indexes.
    #[must_use]
    pub fn allocations(&self) -> &[Allocation] {
        &self.plan().allocations
    }

    /// The logical buffers, in the order of the file.
    pub fn buffers(&self) -> impl Iterator<Item = (BufIx, &LogicalBuffer)> {
        (0..).map(BufIx).zip(&self.plan().buffers)
    }

    /// A logical buffer of this module.
    #[must_use]
    pub fn buffer(&self, at: BufIx) -> Option<&LogicalBuffer> {
        self.plan().buffers.get(at.at())
    }

    /// Where a logical buffer is inside the result of its instruction: empty for the whole.
    #[must_use]
    pub fn shape_index(&self, buffer: &LogicalBuffer) -> Vec<i64> {
        if buffer.whole { Vec::new() } else { shape_index(buffer.location.of(&self.bytes)) }
    }

    /// What lies in an allocation.
    #[must_use]
    pub fn assigned(&self, allocation: &Allocation) -> &[Assigned] {
        let range = allocation.assigned.start as usize..allocation.assigned.end as usize;
        self.plan().assigned.get(range).unwrap_or(&[])
    }

    /// Where a logical buffer lies; `None` where the plan gave it no place. Of several places the first.
    #[must_use]
    pub fn place_of(&self, buffer: BufIx) -> Option<&Assigned> {
        let plan = self.plan();
        plan.assigned.get(*plan.assigned_of.get(buffer.at())? as usize)
    }

    /// The buffers that must lie in the same place as this one (XLA's `HloBuffer`): what a loop carries, what is updated in
    /// place, a donated parameter and its output. Each as the instruction that defines it and the place in its result.
    pub fn aliases_of(&self, buffer: BufIx) -> impl Iterator<Item = (InstrIx, Vec<i64>)> {
        let all = &self.plan().aliases;
        let first = all.partition_point(|a| a.buffer < buffer.0);
        all.get(first..)
            .unwrap_or(&[])
            .iter()
            .take_while(move |a| a.buffer == buffer.0)
            .map(|a| (InstrIx(a.instruction), shape_index(a.location.of(&self.bytes))))
    }

    /// The buffer that an instruction defines at a place of its result; of several (damaged plans) any.
    #[must_use]
    pub fn defined_at(&self, instruction: InstrIx, index: &[i64]) -> Option<BufIx> {
        let buffers = &self.plan().buffers;
        let places = self.buffers_by_place.get_or_init(|| Places::of(self, buffers));
        let of_it = places.of_instruction(instruction.at());
        let place = |i: &u32| buffers.get(*i as usize).map(|b| self.shape_index(b)).unwrap_or_default();
        let found = of_it.get(of_it.partition_point(|i| place(i).as_slice() < index))?;
        (place(found) == index).then_some(BufIx(*found))
    }

    /// The simulations of the heap.
    #[must_use]
    pub fn heap_traces(&self) -> &[HeapTrace] {
        &self.plan().traces
    }

    /// The events of a simulation, in the order of the schedule.
    #[must_use]
    pub fn heap_events(&self, trace: &HeapTrace) -> &[HeapEvent] {
        let range = trace.events.start as usize..trace.events.end as usize;
        self.plan().events.get(range).unwrap_or(&[])
    }

    /// The computation and the instruction during which an event happens, by name.
    #[must_use]
    pub fn heap_event_names(&self, event: &HeapEvent) -> (&str, &str) {
        let (mut computation, mut instruction) = ("", "");
        let field = Cursor::new(self.bytes.get(event.at as usize..).unwrap_or(&[])).next();
        let message = field.map_or(&[][..], |(_, value)| value.bytes());
        for (number, value) in Cursor::new(message) {
            match number {
                3 => computation = text(value.bytes()),
                4 => instruction = text(value.bytes()),
                _ => {}
            }
        }
        (computation, instruction)
    }
}
