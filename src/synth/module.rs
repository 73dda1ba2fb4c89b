//! Modules with their memory plans.
//!
//! A [`Builder`] is told instructions in the order of the schedule and makes of them what XLA's buffer assignment makes:
//! logical buffers, donated and plain parameters, outputs, one temporary block with offsets, and the heap trace.

use super::heap::Packer;
use crate::proto::hlo::{
    BufferAliasProto, BufferAllocationProto, BufferAssignmentProto, DeviceAssignmentProto,
    HeapSimulatorTrace, HloBufferDonorProto, HloComputationProto, HloInputOutputAliasProto,
    HloInstructionProto, HloModuleProto, HloProto, LayoutProto, LogicalBufferProto, OpMetadata,
    ProgramShapeProto, ShapeProto, StackFrameIndexProto,
    buffer_allocation_proto::Assigned,
    heap_simulator_trace::Event,
    hlo_buffer_donor_proto::BufferDonorEntryProto,
    hlo_input_output_alias_proto::AliasEntryProto,
    logical_buffer_proto::Location,
    stack_frame_index_proto::{FileLocation, StackFrame},
};
use std::collections::BTreeMap;

/// Element types, with their numbers in `xla.PrimitiveType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Element {
    Pred = 1,
    S8 = 2,
    S32 = 4,
    U8 = 6,
    U32 = 8,
    F32 = 11,
    Bf16 = 16,
}

/// `xla.PrimitiveType.TUPLE`.
const TUPLE: i32 = 13;

/// An array's shape, laid out with the last dimension innermost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The type of its elements.
    pub element: Element,
    /// Its dimensions; none for a scalar.
    pub dims: Vec<i64>,
}

/// A shape, as in `shape(F32, &[8, 128])`.
#[must_use]
pub fn shape(element: Element, dims: &[i64]) -> Shape {
    Shape { element, dims: dims.to_vec() }
}

impl Shape {
    /// Its size.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let width = match self.element {
            Element::Pred | Element::S8 | Element::U8 => 1,
            Element::Bf16 => 2,
            Element::S32 | Element::U32 | Element::F32 => 4,
        };
        self.dims.iter().fold(width, |n, d| n * d.unsigned_abs())
    }

    fn proto(&self) -> ShapeProto {
        let order = (0..self.dims.len() as i64).rev().collect();
        ShapeProto {
            element_type: self.element as i32,
            dimensions: self.dims.clone(),
            layout: Some(LayoutProto { minor_to_major: order, ..LayoutProto::default() }),
            ..ShapeProto::default()
        }
    }
}

fn tuple_of(shapes: impl Iterator<Item = ShapeProto>) -> ShapeProto {
    ShapeProto { element_type: TUPLE, tuple_shapes: shapes.collect(), ..ShapeProto::default() }
}

/// The result of an instruction, or of a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value(usize);

#[derive(Debug)]
struct ValueInfo {
    instruction: i64,
    shape: Shape,
    group: usize,
}

/// What holds a group's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Parameter(i64),
    Constant,
    Temp,
    /// The tuple table or an array of the result.
    Output,
}

/// Logical buffers that share their bytes (XLA's `HloBuffer`).
#[derive(Debug)]
struct Group {
    place: Place,
    size: u64,
    color: i64,
    live_out: bool,
    is_tuple: bool,
    buffers: Vec<usize>,
    /// Last moment of the schedule that reads it.
    last: usize,
    /// The group whose output allocation it uses as scratch.
    scratch_of: Option<usize>,
}

#[derive(Debug)]
struct Buffer {
    size: u64,
    instruction: i64,
    shape_index: Vec<i64>,
    group: usize,
    /// Moment of the schedule that defines it.
    at: usize,
}

/// How instruction ids and Python positions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Up to JAX 0.5: small ids, `source_file` and `source_line`.
    Old,
    /// From JAX 0.8 on: `computation << 32 | local`, stack frames only.
    New,
}

/// A module being made.
#[derive(Debug)]
pub struct Builder {
    module: HloModuleProto,
    style: Style,
    frames: StackFrameIndexProto,
    frame: i32,
    file: String,
    line: i32,
    color: i64,
    current: usize,
    values: Vec<ValueInfo>,
    groups: Vec<Group>,
    buffers: Vec<Buffer>,
    aliases: Vec<BufferAliasProto>,
    /// Computation and name of the instruction at each moment of the schedule.
    schedule: Vec<(usize, String)>,
    names: BTreeMap<String, u32>,
    next_id: i64,
    parameters: Vec<(String, ShapeProto)>,
    donors: Vec<i64>,
}

impl Builder {
    /// A module named `jit_f` with its entry computation.
    #[must_use]
    pub fn new(name: &str, style: Style) -> Builder {
        let mut builder = Builder {
            module: HloModuleProto { name: name.to_owned(), ..HloModuleProto::default() },
            style,
            frames: StackFrameIndexProto::default(),
            frame: 0,
            file: String::new(),
            line: 0,
            color: 0,
            current: 0,
            values: Vec::new(),
            groups: Vec::new(),
            buffers: Vec::new(),
            aliases: Vec::new(),
            schedule: Vec::new(),
            names: BTreeMap::new(),
            next_id: 0,
            parameters: Vec::new(),
            donors: Vec::new(),
        };
        builder.computation("main");
        builder
    }

    fn computation(&mut self, name: &str) -> usize {
        let id = self.module.computations.len() as i64 + 1;
        let name = format!("{name}.{id}");
        self.module.computations.push(HloComputationProto { name, id, ..HloComputationProto::default() });
        self.module.computations.len() - 1
    }

    /// Sets the Python position of the instructions that follow, innermost frame first: file, line, function.
    pub fn at(&mut self, stack: &[(&str, i32, &str)]) {
        fn index(names: &mut Vec<String>, name: &str) -> i32 {
            let found = names.iter().position(|n| n == name).unwrap_or(names.len());
            if found == names.len() {
                names.push(name.to_owned());
            }
            found as i32 + 1
        }
        (self.file, self.line) = stack.first().map_or((String::new(), 0), |f| (f.0.to_owned(), f.1));
        let mut parent = 0;
        for (file, line, function) in stack.iter().rev() {
            let location = FileLocation {
                file_name_id: index(&mut self.frames.file_names, file),
                function_name_id: index(&mut self.frames.function_names, function),
                line: *line,
                column: 1,
            };
            let found = self.frames.file_locations.iter().position(|l| *l == location);
            let found = found.unwrap_or_else(|| {
                self.frames.file_locations.push(location);
                self.frames.file_locations.len() - 1
            });
            let frame = StackFrame { file_location_id: found as i32 + 1, parent_frame_id: parent };
            let found = self.frames.stack_frames.iter().position(|f| *f == frame);
            parent = 1 + found.unwrap_or_else(|| {
                self.frames.stack_frames.push(frame);
                self.frames.stack_frames.len() - 1
            }) as i32;
        }
        self.frame = parent;
    }

    /// Sets the memory space of the buffers that follow: 0 is the device's memory, 5 the host's.
    pub fn space(&mut self, color: i64) {
        self.color = color;
    }

    /// `mul.3` for the third instruction of the kind `mul`.
    fn name(&mut self, kind: &str) -> String {
        match self.names.get_mut(kind) {
            Some(n) => {
                *n += 1;
                format!("{kind}.{n}")
            }
            None => {
                self.names.insert(kind.to_owned(), 0);
                kind.to_owned()
            }
        }
    }

    /// Adds an instruction to the current computation and to the schedule, without any buffer.
    fn instruction(&mut self, kind: &str, op_name: &str, shape: ShapeProto, operands: &[Value]) -> usize {
        let opcode = match kind {
            _ if kind.contains("fusion") => "fusion",
            _ if kind.starts_with("custom-call") => "custom-call",
            _ => kind,
        };
        let name = if kind == "parameter" { "p".to_owned() } else { self.name(kind) };
        let moment = self.schedule.len();
        for v in operands {
            let group = self.values[v.0].group;
            self.groups[group].last = moment;
        }
        let id = match self.style {
            Style::Old => self.next_id,
            Style::New => (self.module.computations[self.current].id << 32) | self.next_id,
        };
        self.next_id += 1;
        let metadata = (!op_name.is_empty()).then(|| OpMetadata {
            op_name: op_name.to_owned(),
            source_file: if self.style == Style::Old { self.file.clone() } else { String::new() },
            source_line: if self.style == Style::Old { self.line } else { 0 },
            stack_frame_id: if self.style == Style::New { self.frame } else { 0 },
            ..OpMetadata::default()
        });
        self.schedule.push((self.current, name.clone()));
        let instruction = HloInstructionProto {
            name,
            opcode: opcode.to_owned(),
            shape: Some(shape),
            metadata,
            id,
            operand_ids: operands.iter().map(|v| self.values[v.0].instruction).collect(),
            ..HloInstructionProto::default()
        };
        let computation = &mut self.module.computations[self.current];
        computation.root_id = id;
        computation.instructions.push(instruction);
        moment
    }

    fn last(&mut self) -> &mut HloInstructionProto {
        // `instruction` has just pushed one.
        let instructions = &mut self.module.computations[self.current].instructions;
        let at = instructions.len() - 1;
        &mut instructions[at]
    }

    fn group(&mut self, place: Place, size: u64) -> usize {
        let (color, last) = (self.color, self.schedule.len());
        self.groups.push(Group {
            place,
            size,
            color,
            live_out: false,
            is_tuple: false,
            buffers: Vec::new(),
            last,
            scratch_of: None,
        });
        self.groups.len() - 1
    }

    fn buffer(&mut self, group: usize, size: u64, shape_index: Vec<i64>) {
        let at = self.schedule.len() - 1;
        let instruction = self.last().id;
        self.groups[group].buffers.push(self.buffers.len());
        self.buffers.push(Buffer { size, instruction, shape_index, group, at });
        self.groups[group].last = self.groups[group].last.max(at);
    }

    fn value(&mut self, shape: Shape, group: usize) -> Value {
        let instruction = self.last().id;
        self.values.push(ValueInfo { instruction, shape, group });
        Value(self.values.len() - 1)
    }

    /// A parameter of the program; `path` is its argument path, `params['w']`.
    pub fn parameter(&mut self, path: &str, shape: Shape) -> Value {
        let number = self.parameters.len() as i64;
        self.parameters.push((path.to_owned(), shape.proto()));
        self.instruction("parameter", path, shape.proto(), &[]);
        let last = self.last();
        last.parameter_number = number;
        last.name = format!("p{number}.1");
        let group = self.group(Place::Parameter(number), shape.bytes());
        self.buffer(group, shape.bytes(), Vec::new());
        self.value(shape, group)
    }

    /// A constant that lies in the device's memory for as long as the executable is loaded.
    pub fn constant(&mut self, shape: Shape) -> Value {
        self.instruction("constant", "", shape.proto(), &[]);
        let group = self.group(Place::Constant, shape.bytes());
        self.buffer(group, shape.bytes(), Vec::new());
        self.value(shape, group)
    }

    /// An instruction with a buffer of its own. `kind` becomes its name; the opcode is `fusion` where it contains that
    /// word, `custom-call` where it starts with it, and `kind` otherwise.
    pub fn op(&mut self, kind: &str, op_name: &str, shape: Shape, operands: &[Value]) -> Value {
        self.instruction(kind, op_name, shape.proto(), operands);
        let group = self.group(Place::Temp, shape.bytes());
        self.buffer(group, shape.bytes(), Vec::new());
        self.value(shape, group)
    }

    /// An instruction that writes into its first operand's buffer.
    pub fn in_place(&mut self, kind: &str, op_name: &str, target: Value, operands: &[Value]) -> Value {
        let all: Vec<Value> = std::iter::once(target).chain(operands.iter().copied()).collect();
        let shape = self.values[target.0].shape.clone();
        self.instruction(kind, op_name, shape.proto(), &all);
        let group = self.values[target.0].group;
        self.buffer(group, shape.bytes(), Vec::new());
        self.value(shape, group)
    }

    /// An instruction that only looks at its operand's buffer (`bitcast`).
    pub fn view(&mut self, kind: &str, shape: Shape, operand: Value) -> Value {
        self.instruction(kind, "", shape.proto(), &[operand]);
        let group = self.values[operand.0].group;
        self.alias(group, Vec::new());
        self.value(shape, group)
    }

    fn alias(&mut self, group: usize, shape_index: Vec<i64>) {
        let instruction_id = self.last().id;
        let source_buffer_id = self.groups[group].buffers.last().map_or(0, |&b| b as i64);
        let location = Location { instruction_id, shape_index, ..Location::default() };
        self.aliases.push(BufferAliasProto { source_buffer_id, location: Some(location) });
    }

    /// A library call that returns its result and a workspace, `s8[workspace]`.
    pub fn custom_call(
        &mut self,
        target: &str,
        op_name: &str,
        result: Shape,
        workspace: u64,
        operands: &[Value],
    ) -> Value {
        let scratch = shape(Element::S8, &[workspace as i64]);
        let both = tuple_of([result.proto(), scratch.proto()].into_iter());
        self.instruction("custom-call", op_name, both, operands);
        self.last().custom_call_target = target.to_owned();
        let group = self.group(Place::Temp, result.bytes());
        self.buffer(group, result.bytes(), vec![0]);
        let space = self.group(Place::Temp, workspace);
        self.buffer(space, workspace, vec![1]);
        let call = self.value(result.clone(), group);
        self.view("get-tuple-element", result, call)
    }

    /// A fusion without metadata around instructions that have some, as XLA leaves many.
    pub fn unnamed_fusion(
        &mut self,
        kind: &str,
        inner: &[(&str, &str)],
        shape: Shape,
        operands: &[Value],
    ) -> Value {
        let outer = self.current;
        self.current = self.computation("fused_computation");
        let called = self.module.computations[self.current].id;
        let moments = self.schedule.len();
        for (opcode, op_name) in inner {
            self.instruction(opcode, op_name, shape.proto(), &[]);
        }
        // What is inside a fusion isn't scheduled.
        self.schedule.truncate(moments);
        self.current = outer;
        let value = self.op(kind, "", shape, operands);
        self.last().called_computation_ids = vec![called];
        value
    }

    /// The instruction of `value` once more, as XLA's rematerialization repeats it late to free the first one early.
    pub fn rematerialized(&mut self, kind: &str, op_name: &str, shape: Shape, operands: &[Value]) -> Value {
        let value = self.op(kind, op_name, shape, operands);
        let name = format!("{}.remat", self.last().name);
        self.last().name.clone_from(&name);
        if let Some(moment) = self.schedule.last_mut() {
            moment.1 = name;
        }
        value
    }

    /// A loop of `trip` rounds: `body` gets its carried values and returns the next ones. A next value with a buffer
    /// of its own is copied into that of the carried one, as XLA's copy insertion does.
    pub fn while_loop(
        &mut self,
        op_name: &str,
        trip: u64,
        carried: &[Value],
        body: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let shapes: Vec<Shape> = carried.iter().map(|v| self.values[v.0].shape.clone()).collect();
        let groups: Vec<usize> = carried.iter().map(|v| self.values[v.0].group).collect();
        let all = tuple_of(shapes.iter().map(Shape::proto));
        let outer = self.current;
        let inner = self.computation("region");
        let body_id = self.module.computations[inner].id;

        self.instruction("tuple", "", all.clone(), carried);
        let tuple = self.last().id;
        self.current = inner;
        self.instruction("parameter", "", all.clone(), &[]);
        self.last().name = format!("arg_tuple.{body_id}");
        let elements: Vec<Value> =
            (0..shapes.len()).map(|i| self.element(i, &shapes[i], groups[i])).collect();
        let next = body(self, &elements);
        let next: Vec<Value> = next
            .iter()
            .zip(&elements)
            .map(|(n, e)| {
                if self.values[n.0].group == self.values[e.0].group {
                    *n
                } else {
                    self.in_place("copy", "", *e, &[*n])
                }
            })
            .collect();
        self.instruction("tuple", "", all.clone(), &next);

        let condition = self.computation("region_cond");
        let condition_id = self.module.computations[condition].id;
        self.current = condition;
        self.instruction("parameter", "", all.clone(), &[]);
        self.op("compare", &format!("{op_name}/cond/lt"), shape(Element::Pred, &[]), &[]);

        self.current = outer;
        self.instruction("while", op_name, all, &[]);
        let moment = self.schedule.len() - 1;
        let last = self.last();
        last.operand_ids = vec![tuple];
        last.called_computation_ids = vec![condition_id, body_id];
        last.backend_config = format!("{{\"known_trip_count\":{{\"n\":\"{trip}\"}}}}").into_bytes();
        for &group in &groups {
            self.groups[group].last = moment;
        }
        (0..shapes.len()).map(|i| self.element(i, &shapes[i], groups[i])).collect()
    }

    /// An element of the tuple that the last instruction of the current computation carries.
    fn element(&mut self, index: usize, shape: &Shape, group: usize) -> Value {
        let computation = &self.module.computations[self.current];
        let tuple =
            computation.instructions.iter().rev().find(|i| i.opcode != "get-tuple-element").map(|i| i.id);
        self.instruction("get-tuple-element", "", shape.proto(), &[]);
        let last = self.last();
        last.operand_ids.extend(tuple);
        last.tuple_index = index as i64;
        self.alias(group, Vec::new());
        self.value(shape.clone(), group)
    }

    /// Donates a parameter without an output of its own (`buffer_donor`).
    pub fn donor(&mut self, parameter: Value) {
        if let Place::Parameter(number) = self.groups[self.values[parameter.0].group].place {
            self.donors.push(number);
        }
    }

    /// Lets the temporary `value` use the allocation of the output `output` as scratch.
    pub fn scratch(&mut self, value: Value, output: Value) {
        let group = self.values[value.0].group;
        self.groups[group].scratch_of = Some(self.values[output.0].group);
    }

    /// Ends the program with its results. A result that lies in a parameter's buffer makes that parameter donated.
    #[must_use]
    pub fn finish(mut self, outputs: &[Value]) -> HloProto {
        let shapes: Vec<ShapeProto> = outputs.iter().map(|v| self.values[v.0].shape.proto()).collect();
        let result = match shapes.as_slice() {
            [one] => one.clone(),
            _ => tuple_of(shapes.into_iter()),
        };
        let alone = outputs.len() == 1;
        if !alone {
            self.instruction("tuple", "", result.clone(), outputs);
            let table = self.group(Place::Output, 8 * outputs.len() as u64);
            self.groups[table].is_tuple = true;
            self.groups[table].live_out = true;
            self.buffer(table, 8 * outputs.len() as u64, Vec::new());
        }
        let mut entries = Vec::new();
        for (i, v) in outputs.iter().enumerate() {
            let group = &mut self.groups[self.values[v.0].group];
            group.live_out = true;
            match group.place {
                Place::Parameter(parameter_number) => entries.push(AliasEntryProto {
                    output_shape_index: if alone { Vec::new() } else { vec![i as i64] },
                    parameter_number,
                    kind: 1,
                    ..AliasEntryProto::default()
                }),
                _ => group.place = Place::Output,
            }
        }
        let entry = &self.module.computations[0];
        self.module.entry_computation_name.clone_from(&entry.name);
        self.module.entry_computation_id = entry.id;
        self.module.host_program_shape = Some(ProgramShapeProto {
            parameters: self.parameters.iter().map(|p| p.1.clone()).collect(),
            result: Some(result),
            parameter_names: self.parameters.iter().map(|p| p.0.clone()).collect(),
        });
        self.module.input_output_alias = Some(HloInputOutputAliasProto { entries });
        self.module.buffer_donor = Some(HloBufferDonorProto {
            entries: self
                .donors
                .iter()
                .map(|&parameter_number| BufferDonorEntryProto {
                    parameter_number,
                    ..BufferDonorEntryProto::default()
                })
                .collect(),
        });
        self.module.device_assignment =
            Some(DeviceAssignmentProto { replica_count: 1, computation_count: 1 });
        if self.style == Style::New {
            self.module.stack_frame_index = Some(std::mem::take(&mut self.frames));
        }
        let plan = self.assign();
        HloProto { hlo_module: Some(self.module), buffer_assignment: Some(plan) }
    }

    /// Buffer assignment: an allocation for each parameter, output and constant, and one block a memory space for
    /// everything else, laid out by walking the schedule.
    fn assign(&mut self) -> BufferAssignmentProto {
        let mut allocations = Vec::new();
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.groups.len()];
        for (g, group) in self.groups.iter().enumerate() {
            if let Some(host) = group.scratch_of {
                members[host].push(g);
            }
        }
        // XLA assigns the largest first; at launch the run asks for them in this order.
        let mut order: Vec<usize> =
            (0..self.groups.len()).filter(|&g| self.groups[g].place != Place::Temp).collect();
        order.sort_by_key(|&g| std::cmp::Reverse(self.groups[g].size));
        for g in order {
            let group = &self.groups[g];
            let assigned = std::iter::once(&g).chain(&members[g]).flat_map(|&g| &self.groups[g].buffers);
            let assigned = assigned.map(|&b| self.assigned(b, 0)).collect();
            let parameter = if let Place::Parameter(n) = group.place { Some(n) } else { None };
            allocations.push(BufferAllocationProto {
                index: allocations.len() as i64,
                size: group.size as i64,
                is_entry_computation_parameter: parameter.is_some(),
                parameter_number: parameter.unwrap_or(0),
                maybe_live_out: group.live_out,
                is_constant: group.place == Place::Constant,
                is_tuple: group.is_tuple,
                color: group.color,
                assigned,
                ..BufferAllocationProto::default()
            });
        }
        let mut traces = Vec::new();
        let mut colors: Vec<i64> = self.groups.iter().map(|g| g.color).collect();
        colors.sort_unstable();
        colors.dedup();
        for color in colors {
            let (size, assigned, events) = self.lay_out(color);
            if events.is_empty() {
                continue;
            }
            let index = allocations.len() as i64;
            let size = size as i64;
            allocations.push(BufferAllocationProto {
                index,
                size,
                color,
                assigned,
                ..BufferAllocationProto::default()
            });
            let buffer_allocation_index = index;
            traces.push(HeapSimulatorTrace {
                events,
                whole_module_simulation: true,
                buffer_allocation_index,
            });
        }
        let logical_buffers = self.buffers.iter().enumerate().map(|(id, b)| LogicalBufferProto {
            id: id as i64,
            size: b.size as i64,
            defined_at: Some(Location {
                instruction_id: b.instruction,
                shape_index: b.shape_index.clone(),
                ..Location::default()
            }),
            color: self.groups[b.group].color,
        });
        BufferAssignmentProto {
            logical_buffers: logical_buffers.collect(),
            buffer_aliases: std::mem::take(&mut self.aliases),
            buffer_allocations: allocations,
            heap_simulator_traces: traces,
        }
    }

    fn assigned(&self, buffer: usize, offset: u64) -> Assigned {
        let size = self.buffers[buffer].size as i64;
        Assigned { logical_buffer_id: buffer as i64, offset: offset as i64, size }
    }

    /// The block of one memory space: its size, who lies where, and the trace.
    fn lay_out(&self, color: i64) -> (u64, Vec<Assigned>, Vec<Event>) {
        let in_block = |g: &Group| g.place == Place::Temp && g.color == color && g.scratch_of.is_none();
        let mut ends: Vec<Vec<usize>> = vec![Vec::new(); self.schedule.len() + 1];
        for (g, group) in self.groups.iter().enumerate() {
            if in_block(group) && !group.buffers.is_empty() {
                ends[group.last].push(g);
            }
        }
        let mut packer = Packer::default();
        let mut offsets: Vec<u64> = vec![0; self.groups.len()];
        let (mut assigned, mut events) = (Vec::new(), Vec::new());
        let mut defined = self.buffers.iter().enumerate().peekable();
        for (moment, dying) in ends.iter().enumerate() {
            let event = |kind: i32, buffer: usize, canonical: usize| {
                let at = moment.min(self.schedule.len() - 1);
                let (computation, instruction) = &self.schedule[at];
                Event {
                    kind,
                    buffer_id: buffer as i64,
                    computation_name: self.module.computations[*computation].name.clone(),
                    instruction_name: instruction.clone(),
                    share_with_canonical_id: if kind == 2 { canonical as i64 } else { 0 },
                }
            };
            while let Some((id, buffer)) = defined.next_if(|(_, b)| b.at == moment) {
                let group = &self.groups[buffer.group];
                if !in_block(group) {
                    continue;
                }
                if group.buffers[0] == id {
                    offsets[buffer.group] = packer.place(group.size);
                    events.push(event(0, id, id));
                } else {
                    events.push(event(2, id, group.buffers[0]));
                }
                assigned.push(self.assigned(id, offsets[buffer.group]));
            }
            for &g in dying {
                packer.release(offsets[g], self.groups[g].size);
                events.extend(self.groups[g].buffers.iter().map(|&b| event(1, b, b)));
            }
        }
        (packer.size, assigned, events)
    }
}

#[cfg(test)]
#[path = "module_tests.rs"]
mod tests;
