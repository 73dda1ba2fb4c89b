//! Reading the buffer assignment.

use super::assignment::{
    Alias, Allocation, Assigned, Assignment, BufIx, HeapEvent, HeapEventKind, HeapTrace, LogicalBuffer, NONE,
};
use super::fields::{count_of, each, each_integer, each_of_cut, each_of_few, text};
use super::ids::Ids;
use super::module::{Hlo, Span};
use crate::arrange::Arrange;
use crate::bytes::wire::Kind;
use crate::units::Bytes;

/// The field with the heap traces.
const TRACES: u32 = 4;

/// A buffer assignment in the module's bytes.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub at: Span,
    /// Whether all of its bytes are there.
    pub whole: bool,
}

/// References that lead nowhere.
#[derive(Default)]
struct Lost {
    definitions: u64,
    assigned: u64,
    events: u64,
    allocations: u64,
}

impl Lost {
    fn report(&self, warnings: &mut Vec<String>) {
        let mut say = |n: u64, what: &str| {
            if n > 0 {
                warnings.push(format!("{what}: {n}"));
            }
        };
        say(self.definitions, "logical buffers defined by instructions that the module doesn't have");
        say(self.assigned, "places in allocations left out, of logical buffers that the plan doesn't have");
        say(
            self.events,
            "events of the heap's schedule left out, of logical buffers that the plan doesn't have",
        );
        say(self.allocations, "allocations left out that can't be read");
    }
}

/// Reads the buffer assignment of a module whose instructions are there already.
pub(super) struct PlanReader<'a> {
    hlo: &'a Hlo,
    plan: Assignment,
    /// Positions of buffers.
    ids: Ids,
    lost: Lost,
}

impl<'a> PlanReader<'a> {
    pub fn new(hlo: &'a Hlo) -> PlanReader<'a> {
        PlanReader { hlo, plan: Assignment::default(), ids: Ids::default(), lost: Lost::default() }
    }

    /// The logical buffers. Says where the message is damaged or ends early, and whether all its allocations stand before that:
    /// the heap traces are written behind them.
    pub fn read_buffers(&mut self, plan: Part) -> Option<(usize, bool)> {
        let bytes = &self.hlo.bytes;
        self.plan.buffers.reserve_exact(count_of(bytes, plan.at, 1));
        let mut traces = false;
        let damage = each_of_cut(bytes, plan.at, &mut |field| {
            traces |= field.number == TRACES;
            if field.number == 1 && field.kind == Kind::Bytes && field.whole {
                self.read_buffer(field.part);
            }
        });
        let end = (plan.at.start + plan.at.len) as usize;
        damage.or((!plan.whole).then_some(end)).map(|at| (at, traces))
    }

    /// After all buffers were read.
    pub fn index_buffers(&mut self) {
        self.ids = Ids::of(self.plan.buffers.iter().map(|b| b.id));
        self.plan.assigned_of = vec![NONE; self.plan.buffers.len()];
    }

    /// Aliases, allocations, and the traces where those of a whole plan are there: the peak of a part is none.
    pub fn read_rest(&mut self, plan: Part, traces: bool) {
        each_of_cut(&self.hlo.bytes, plan.at, &mut |field| match (field.number, field.kind) {
            (2, Kind::Bytes) if field.whole => self.read_alias(field.part),
            (3, Kind::Bytes) if field.whole => self.read_allocation(field.part),
            (TRACES, Kind::Bytes) if traces => self.read_trace(field.part),
            _ => {}
        });
    }

    /// The plan, and what was lost.
    pub fn finish(mut self, warnings: &mut Vec<String>) -> Assignment {
        self.plan.aliases.arrange_by_key(|a| a.buffer);
        self.lost.report(warnings);
        self.plan
    }

    #[inline(never)]
    fn read_buffer(&mut self, message: Span) {
        let mut it = LogicalBuffer {
            id: 0,
            size: Bytes::ZERO,
            color: 0,
            instruction: NONE,
            location: Span::default(),
            whole: true,
        };
        each(&self.hlo.bytes, message, |field| match field.number {
            1 => it.id = field.integer as i64,
            2 => it.size = Bytes::from_i64(field.integer as i64),
            3 => {
                it.location = field.part;
                (it.instruction, it.whole) = self.read_location(field.part);
            }
            4 => it.color = field.integer as i64,
            _ => {}
        });
        self.lost.definitions += u64::from(it.instruction == NONE);
        self.plan.buffers.push(it);
    }

    /// The instruction of a location, and whether its whole result is meant.
    fn read_location(&self, location: Span) -> (u32, bool) {
        let bytes = &self.hlo.bytes;
        let (mut id, mut name, mut whole) = (0, Span::default(), true);
        each_of_few(bytes, location, &mut |field| match field.number {
            2 => name = field.part,
            3 => whole &= field.kind == Kind::Bytes && field.part.len == 0,
            4 => id = field.integer as i64,
            _ => {}
        });
        // Where a capture has both, the id is the one that is unique.
        let found = if id != 0 { self.hlo.by_id.find(id) } else { None };
        let found = found.or_else(|| {
            let name = text(name.of(bytes));
            if name.is_empty() { None } else { self.hlo.by_name(name).map(|at| at.0) }
        });
        (found.unwrap_or(NONE), whole)
    }

    fn read_alias(&mut self, message: Span) {
        let mut it = Alias { buffer: NONE, instruction: NONE, location: Span::default() };
        each_of_few(&self.hlo.bytes, message, &mut |field| match field.number {
            1 => it.buffer = self.ids.find(field.integer as i64).unwrap_or(NONE),
            2 => {
                it.location = field.part;
                it.instruction = self.read_location(field.part).0;
            }
            _ => {}
        });
        if it.buffer != NONE && it.instruction != NONE {
            self.plan.aliases.push(it);
        }
    }

    fn read_allocation(&mut self, message: Span) {
        let bytes = &self.hlo.bytes;
        let first = self.plan.assigned.len();
        let mut it = Allocation {
            index: 0,
            size: Bytes::ZERO,
            color: 0,
            parameter: None,
            maybe_live_out: false,
            is_thread_local: false,
            is_constant: false,
            is_tuple: false,
            assigned: 0..0,
        };
        let (mut is_parameter, mut number, mut place, mut lost) = (false, 0, Vec::new(), 0);
        let mut whole = true;
        self.plan.assigned.reserve(count_of(bytes, message, 9));
        whole &= each_of_few(bytes, message, &mut |field| match field.number {
            1 => it.index = field.integer as i64,
            2 => it.size = Bytes::from_i64(field.integer as i64),
            3 => it.is_thread_local = field.integer != 0,
            5 => is_parameter = field.integer != 0,
            6 => number = field.integer as i64,
            7 => it.maybe_live_out = field.integer != 0,
            8 => it.color = field.integer as i64,
            9 => match self.read_assigned(field.part) {
                Some(known) => lost += u64::from(!known),
                None => whole = false,
            },
            10 => each_integer(bytes, field, |part| place.push(part)),
            11 => it.is_tuple = field.integer != 0,
            12 => it.is_constant = field.integer != 0,
            _ => {}
        });
        if !whole {
            self.lost.allocations += 1;
            self.take_back(first);
            return;
        }
        self.lost.assigned += lost;
        it.parameter = is_parameter.then_some((number, place));
        it.assigned = first as u32..self.plan.assigned.len() as u32;
        self.plan.allocations.push(it);
    }

    /// One place in an allocation: whether its buffer is known; `None` for a damaged one.
    fn read_assigned(&mut self, message: Span) -> Option<bool> {
        let (mut buffer, mut offset, mut size) = (0, 0, 0);
        let whole = each(&self.hlo.bytes, message, |field| match field.number {
            1 => buffer = field.integer as i64,
            2 => offset = field.integer as i64,
            3 => size = field.integer as i64,
            _ => {}
        });
        if !whole {
            return None;
        }
        let Some(buffer) = self.ids.find(buffer) else { return Some(false) };
        if let Some(place) = self.plan.assigned_of.get_mut(buffer as usize)
            && *place == NONE
        {
            *place = self.plan.assigned.len() as u32;
        }
        self.plan.assigned.push(Assigned {
            buffer: BufIx(buffer),
            allocation: self.plan.allocations.len() as u32,
            offset: Bytes::from_i64(offset),
            size: Bytes::from_i64(size),
        });
        Some(true)
    }

    /// Forgets the places from one on.
    fn take_back(&mut self, first: usize) {
        for gone in self.plan.assigned.drain(first..) {
            if let Some(place) = self.plan.assigned_of.get_mut(gone.buffer.at())
                && *place >= first as u32
            {
                *place = NONE;
            }
        }
    }

    fn read_trace(&mut self, message: Span) {
        let bytes = &self.hlo.bytes;
        let first = self.plan.events.len() as u32;
        let mut whole_module = false;
        self.plan.events.reserve(count_of(bytes, message, 1));
        each_of_cut(bytes, message, &mut |field| match (field.number, field.kind) {
            (1, Kind::Bytes) if field.whole => self.read_event(field.part, field.at),
            (2, _) => whole_module = field.integer != 0,
            _ => {}
        });
        self.plan.traces.push(HeapTrace { whole_module, events: first..self.plan.events.len() as u32 });
    }

    #[inline(never)]
    fn read_event(&mut self, message: Span, at: u32) {
        // A field that is absent is 0, which is an id like any other.
        let (mut kind, mut buffer, mut canonical) = (0, 0, 0);
        each(&self.hlo.bytes, message, |field| match field.number {
            1 => kind = field.integer,
            2 => buffer = field.integer as i64,
            5 => canonical = field.integer as i64,
            _ => {}
        });
        let kind = match kind {
            0 => HeapEventKind::Alloc,
            1 => HeapEventKind::Free,
            2 => HeapEventKind::ShareWith,
            _ => HeapEventKind::Unknown,
        };
        let position = |id: i64| self.ids.find(id).unwrap_or(NONE);
        let canonical = if kind == HeapEventKind::ShareWith { position(canonical) } else { NONE };
        let it = HeapEvent { kind, buffer: position(buffer), canonical, at };
        self.lost.events += u64::from(it.buffer == NONE);
        self.plan.events.push(it);
    }
}
