//! From bytes to the indexed module.

use super::assignment::{
    Alias, Allocation, Assigned, Assignment, BufIx, HeapEvent, HeapEventKind, HeapTrace, LogicalBuffer, NONE,
};
use super::fields::{Fields, text};
use super::instruction::InstrIx;
use super::module::{Computation, Hlo, Record, Span};
use crate::arrange::Arrange;
use crate::bytes::wire::{Cursor, Value};
use crate::proto::hlo::{
    BufferAllocationProto, DeviceAssignmentProto, HloBufferDonorProto, HloInputOutputAliasProto,
};
use crate::units::Bytes;
use prost::Message;
use std::collections::HashMap;
use std::ops::Range;

/// Why some bytes are no HloProto. Reads on after "it": `… is no HloProto: it is empty`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotHlo {
    /// There are none.
    #[error("it is empty")]
    Empty,
    /// Positions are kept in 32 bits.
    #[error("it is larger than 4 GiB, which no module is")]
    TooLarge,
    /// They are no protobuf message.
    #[error("it is no protobuf message: byte {at} starts no field")]
    NotProtobuf {
        /// The byte.
        at: usize,
    },
    /// They are one, without a module.
    #[error("it has no HLO module (field 1)")]
    NoModule,
    /// Field 1 is something else, or the module is cut off before its first instruction.
    #[error("what should be its HLO module (field 1) has no instructions")]
    NoInstructions,
}

impl Hlo {
    /// Reads an `HloProto`. What is damaged inside is left out, and [`Hlo::warnings`] says so.
    ///
    /// # Errors
    /// Where the bytes are no HloProto at all.
    pub fn parse(bytes: Vec<u8>) -> Result<Hlo, NotHlo> {
        if bytes.is_empty() {
            return Err(NotHlo::Empty);
        }
        if u32::try_from(bytes.len()).is_err() {
            return Err(NotHlo::TooLarge);
        }
        let mut warnings = Vec::new();
        let (mut modules, mut plans) = (Vec::new(), Vec::new());
        let mut top = Fields::new(&bytes, 0..bytes.len());
        for field in top.by_ref() {
            match (field.number, field.value) {
                (1, Value::Bytes(_)) => modules.push(field.range),
                (3, Value::Bytes(_)) => plans.push(field.range),
                _ => {}
            }
        }
        match (modules.is_empty(), top.damage()) {
            (true, Some(at)) => return Err(NotHlo::NotProtobuf { at }),
            (true, None) => return Err(NotHlo::NoModule),
            (false, Some(at)) => {
                warnings.push(format!("the HloProto is damaged at byte {at}; what follows is left out"))
            }
            (false, None) => {}
        }
        let mut hlo = Hlo {
            bytes,
            name: Span::default(),
            id: 0,
            entry_computation_id: 0,
            entry_computation_name: Span::default(),
            entry: std::sync::OnceLock::new(),
            computations: Vec::new(),
            computations_by_id: Vec::new(),
            instructions: Vec::new(),
            by_id: Vec::new(),
            by_name: std::sync::OnceLock::new(),
            schedule: Span::default(),
            aliases: HloInputOutputAliasProto::default(),
            donors: HloBufferDonorProto::default(),
            device_assignment: None,
            frame_table: Span::default(),
            frames: std::sync::OnceLock::new(),
            output_sharding: Span::default(),
            parameter_shardings: Vec::new(),
            assignment: None,
            buffers_by_place: std::sync::OnceLock::new(),
            rematerialized: 0,
            whiles: Vec::new(),
            parameters: Vec::new(),
            warnings,
        };
        for module in modules {
            hlo.read_module(module);
        }
        if !hlo.looks_like_hlo() {
            return Err(NotHlo::NoInstructions);
        }
        hlo.index_instructions();
        if !plans.is_empty() {
            hlo.read_plan(plans);
        }
        Ok(hlo)
    }

    /// Other messages can have the same fields; an opcode is a short word.
    fn looks_like_hlo(&self) -> bool {
        let mut first = self.instructions().map(|(_, it)| it.opcode).take(8);
        first.any(|o| {
            !o.is_empty() && o.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        })
    }

    fn read_module(&mut self, within: Range<usize>) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut computations = Vec::new();
        let mut fields = Fields::new(&bytes, within);
        for field in fields.by_ref() {
            let span = Span::new(&field.range);
            match (field.number, field.value) {
                (1, _) => self.name = span,
                (2, _) => self.entry_computation_name = span,
                (3, Value::Bytes(_)) => computations.push(field.range),
                (5, v) => self.id = v.varint() as i64,
                (6, v) => self.entry_computation_id = v.varint() as i64,
                (7, _) => self.schedule = span,
                (8, v) => self.aliases = self.decode(v.bytes(), "its input-output aliases"),
                (12, _) => self.output_sharding = span,
                (14, _) => self.parameter_shardings.push(span),
                (15, v) => {
                    let it: DeviceAssignmentProto = self.decode(v.bytes(), "its device assignment");
                    let positive = |n: i32| u32::try_from(n).unwrap_or(0);
                    self.device_assignment =
                        Some((positive(it.replica_count), positive(it.computation_count)));
                }
                (17, _) => self.frame_table = span,
                (18, v) => self.donors = self.decode(v.bytes(), "its buffer donors"),
                _ => {}
            }
        }
        self.note_damage(&fields, "the HLO module");
        let count: usize = computations.iter().map(|c| count_of(&bytes, c.clone(), 2)).sum();
        self.instructions.reserve_exact(count);
        for computation in computations {
            self.read_computation(&bytes, computation);
        }
        self.bytes = bytes;
    }

    fn decode<M: Message + Default>(&mut self, bytes: &[u8], what: &str) -> M {
        M::decode(bytes).unwrap_or_else(|e| {
            self.warnings.push(format!("{what} can't be read ({e}) and are left out"));
            M::default()
        })
    }

    fn note_damage(&mut self, fields: &Fields<'_>, what: &str) {
        if let Some(at) = fields.damage() {
            self.warnings.push(format!(
                "{what} is damaged at byte {at} of the HloProto; what follows in it is left out"
            ));
        }
    }

    fn read_computation(&mut self, bytes: &[u8], within: Range<usize>) {
        let first = self.instructions.len() as u32;
        let computation = self.computations.len() as u32;
        let mut it = Computation { id: 0, root_id: 0, name: Span::default(), first, count: 0 };
        let mut fields = Fields::new(bytes, within);
        for field in fields.by_ref() {
            match (field.number, field.value) {
                (1, _) => it.name = Span::new(&field.range),
                (2, Value::Bytes(message)) if field.whole => {
                    let (mut id, mut name, mut opcode) = (0, &b""[..], &b""[..]);
                    for (number, value) in Cursor::new(message) {
                        match number {
                            1 => name = value.bytes(),
                            2 => opcode = value.bytes(),
                            35 => {
                                id = value.varint() as i64;
                                // The rest can be long: backend settings.
                                break;
                            }
                            _ => {}
                        }
                    }
                    self.rematerialized += u64::from(name.windows(6).any(|part| part == b".remat"));
                    let at = InstrIx(self.instructions.len() as u32);
                    match opcode {
                        b"while" => self.whiles.push(at),
                        b"parameter" => self.parameters.push(at),
                        _ => {}
                    }
                    self.instructions.push(Record { id, message: Span::new(&field.range), computation });
                }
                (5, v) => it.id = v.varint() as i64,
                (6, v) => it.root_id = v.varint() as i64,
                _ => {}
            }
        }
        it.count = self.instructions.len() as u32 - first;
        self.note_damage(&fields, "a computation");
        self.computations.push(it);
    }

    fn index_instructions(&mut self) {
        self.by_id = (0..self.instructions.len() as u32).collect();
        // Stable, so that the first of several with one id stays first; nearly sorted in practice, which it is quick at.
        self.by_id.arrange_by_key(|&i| self.instructions.get(i as usize).map_or(0, |r| r.id));
        let ids = self.by_id.iter().filter_map(|&i| self.instructions.get(i as usize)).map(|r| r.id);
        let doubles = ids.clone().zip(ids.skip(1)).filter(|(a, b)| a == b && *a != 0).count();
        if doubles > 0 {
            self.warnings
                .push(format!("instructions whose id another has too (the first counts): {doubles}"));
        }
        self.computations_by_id = (0..self.computations.len() as u32).collect();
        self.computations_by_id.arrange_by_key(|&i| self.computations.get(i as usize).map_or(0, |c| c.id));
    }

    fn read_plan(&mut self, plans: Vec<Range<usize>>) {
        let hlo: &Hlo = self;
        let mut reader =
            PlanReader { hlo, plan: Assignment::default(), ids: HashMap::new(), lost: Lost::default() };
        let mut notes = Vec::new();
        // Aliases, allocations and traces refer to buffers: these first.
        for buffers in [true, false] {
            for plan in &plans {
                let bytes = &hlo.bytes;
                if buffers {
                    reader.plan.buffers.reserve_exact(count_of(bytes, plan.clone(), 1));
                }
                let mut fields = Fields::new(bytes, plan.clone());
                for field in fields.by_ref() {
                    match (field.number, field.value) {
                        (1, Value::Bytes(b)) if buffers && field.whole => {
                            reader.read_buffer(b, field.range.start)
                        }
                        (2, Value::Bytes(b)) if !buffers && field.whole => {
                            reader.read_alias(b, field.range.start)
                        }
                        (3, Value::Bytes(b)) if !buffers && field.whole => reader.read_allocation(b),
                        (4, Value::Bytes(_)) if !buffers => reader.read_trace(field.range),
                        _ => {}
                    }
                }
                if let (true, Some(at)) = (buffers, fields.damage()) {
                    notes.push(format!(
                        "the buffer assignment is damaged at byte {at} of the HloProto; what follows in it is left out"
                    ));
                }
            }
        }
        let PlanReader { mut plan, lost, .. } = reader;
        plan.aliases.arrange_by_key(|a| a.buffer);
        self.assignment = Some(plan);
        self.warnings.extend(notes);
        lost.report(&mut self.warnings);
    }
}

/// How often a message has a field.
fn count_of(bytes: &[u8], within: Range<usize>, number: u32) -> usize {
    Fields::new(bytes, within).filter(|f| f.number == number).count()
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

struct PlanReader<'a> {
    hlo: &'a Hlo,
    plan: Assignment,
    /// Positions of buffers, by id.
    ids: HashMap<i64, u32>,
    lost: Lost,
}

impl PlanReader<'_> {
    fn read_buffer(&mut self, message: &[u8], at: usize) {
        let mut it = LogicalBuffer {
            id: 0,
            size: Bytes::ZERO,
            color: 0,
            instruction: NONE,
            location: Span::default(),
        };
        for field in Fields::new(message, 0..message.len()) {
            match field.number {
                1 => it.id = field.value.varint() as i64,
                2 => it.size = Bytes::from_i64(field.value.varint() as i64),
                3 => {
                    (it.instruction, it.location) =
                        self.read_location(field.value.bytes(), at + field.range.start)
                }
                4 => it.color = field.value.varint() as i64,
                _ => {}
            }
        }
        if it.instruction == NONE {
            self.lost.definitions += 1;
        }
        let position = self.plan.buffers.len() as u32;
        self.ids.entry(it.id).or_insert(position);
        self.plan.buffers.push(it);
        self.plan.assigned_of.push(NONE);
    }

    fn read_location(&self, location: &[u8], at: usize) -> (u32, Span) {
        let (mut id, mut name) = (0, "");
        for (number, value) in Cursor::new(location) {
            match number {
                2 => name = text(value.bytes()),
                4 => id = value.varint() as i64,
                _ => {}
            }
        }
        // Where a capture has both, the id is the one that is unique.
        let found = if id != 0 { self.hlo.by_id(id) } else { None };
        let found = found.or_else(|| if name.is_empty() { None } else { self.hlo.by_name(name) });
        (found.map_or(NONE, |at| at.0), Span::new(&(at..at + location.len())))
    }

    fn read_alias(&mut self, message: &[u8], at: usize) {
        let mut it = Alias { buffer: NONE, instruction: NONE, location: Span::default() };
        for field in Fields::new(message, 0..message.len()) {
            match field.number {
                1 => it.buffer = self.ids.get(&(field.value.varint() as i64)).copied().unwrap_or(NONE),
                2 => {
                    (it.instruction, it.location) =
                        self.read_location(field.value.bytes(), at + field.range.start)
                }
                _ => {}
            }
        }
        if it.buffer != NONE && it.instruction != NONE {
            self.plan.aliases.push(it);
        }
    }

    fn read_allocation(&mut self, message: &[u8]) {
        let Ok(it) = BufferAllocationProto::decode(message) else {
            self.lost.allocations += 1;
            return;
        };
        let allocation = self.plan.allocations.len() as u32;
        let first = self.plan.assigned.len() as u32;
        self.plan.assigned.reserve(it.assigned.len());
        for assigned in &it.assigned {
            let Some(&buffer) = self.ids.get(&assigned.logical_buffer_id) else {
                self.lost.assigned += 1;
                continue;
            };
            if let Some(place) = self.plan.assigned_of.get_mut(buffer as usize)
                && *place == NONE
            {
                *place = self.plan.assigned.len() as u32;
            }
            self.plan.assigned.push(Assigned {
                buffer: BufIx(buffer),
                allocation,
                offset: Bytes::from_i64(assigned.offset),
                size: Bytes::from_i64(assigned.size),
            });
        }
        self.plan.allocations.push(Allocation {
            index: it.index,
            size: Bytes::from_i64(it.size),
            color: it.color,
            parameter: it
                .is_entry_computation_parameter
                .then_some((it.parameter_number, it.parameter_shape_index)),
            maybe_live_out: it.maybe_live_out,
            is_thread_local: it.is_thread_local,
            is_constant: it.is_constant,
            is_tuple: it.is_tuple,
            assigned: first..self.plan.assigned.len() as u32,
        });
    }

    fn read_trace(&mut self, within: Range<usize>) {
        let first = self.plan.events.len() as u32;
        let mut whole_module = false;
        self.plan.events.reserve(count_of(&self.hlo.bytes, within.clone(), 1));
        for field in Fields::new(&self.hlo.bytes, within) {
            match (field.number, field.value) {
                (1, Value::Bytes(event)) if field.whole => self.read_event(event, &field.range),
                (2, v) => whole_module = v.varint() != 0,
                _ => {}
            }
        }
        self.plan.traces.push(HeapTrace { whole_module, events: first..self.plan.events.len() as u32 });
    }

    fn read_event(&mut self, event: &[u8], range: &Range<usize>) {
        // A field that is absent is 0, which is an id like any other.
        let (mut kind, mut buffer, mut canonical) = (0, 0, 0);
        for (number, value) in Cursor::new(event) {
            match number {
                1 => kind = value.varint(),
                2 => buffer = value.varint() as i64,
                5 => canonical = value.varint() as i64,
                _ => {}
            }
        }
        let kind = match kind {
            0 => HeapEventKind::Alloc,
            1 => HeapEventKind::Free,
            2 => HeapEventKind::ShareWith,
            _ => HeapEventKind::Unknown,
        };
        let position = |id: i64| self.ids.get(&id).copied().unwrap_or(NONE);
        let canonical = if kind == HeapEventKind::ShareWith { position(canonical) } else { NONE };
        let it = HeapEvent { kind, buffer: position(buffer), canonical, message: Span::new(range) };
        if it.buffer == NONE {
            self.lost.events += 1;
        }
        self.plan.events.push(it);
    }
}
