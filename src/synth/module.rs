//! Modules with their memory plans.
//!
//! A [`Builder`] is told instructions in the order of the schedule and makes of them what XLA's buffer assignment makes:
//! logical buffers, donated and plain parameters, outputs, one temporary block with offsets, and the heap trace.

use super::shape::{Element, Shape, shape, tuple_of};
use crate::proto::hlo::{
    BufferAliasProto, HloComputationProto, HloInstructionProto, HloModuleProto, OpMetadata, ShapeProto,
    StackFrameIndexProto,
    logical_buffer_proto::Location,
    stack_frame_index_proto::{FileLocation, StackFrame},
};
use std::collections::BTreeMap;

/// The result of an instruction, or of a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value(pub(super) usize);

#[derive(Debug)]
pub(super) struct ValueInfo {
    pub(super) instruction: i64,
    pub(super) shape: Shape,
    pub(super) group: usize,
}

/// What holds a group's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Parameter(i64),
    Constant,
    Temp,
    /// The tuple table or an array of the result.
    Output,
}

/// Logical buffers that share their bytes (XLA's `HloBuffer`).
#[derive(Debug)]
pub(super) struct Group {
    pub(super) place: Place,
    pub(super) size: u64,
    pub(super) color: i64,
    pub(super) live_out: bool,
    pub(super) is_tuple: bool,
    pub(super) buffers: Vec<usize>,
    /// Last moment of the schedule that reads it.
    pub(super) last: usize,
    /// The group whose output allocation it uses as scratch.
    pub(super) scratch_of: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) size: u64,
    pub(super) instruction: i64,
    pub(super) shape_index: Vec<i64>,
    pub(super) group: usize,
    /// Moment of the schedule that defines it.
    pub(super) at: usize,
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
    pub(super) module: HloModuleProto,
    pub(super) style: Style,
    pub(super) frames: StackFrameIndexProto,
    pub(super) frame: i32,
    pub(super) file: String,
    pub(super) line: i32,
    pub(super) color: i64,
    pub(super) current: usize,
    pub(super) values: Vec<ValueInfo>,
    pub(super) groups: Vec<Group>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) aliases: Vec<BufferAliasProto>,
    /// Computation and name of the instruction at each moment of the schedule.
    pub(super) schedule: Vec<(usize, String)>,
    pub(super) names: BTreeMap<String, u32>,
    pub(super) next_id: i64,
    pub(super) parameters: Vec<(String, ShapeProto)>,
    pub(super) donors: Vec<i64>,
    pub(super) partitions: i32,
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
            partitions: 1,
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

    /// Sets how many devices the program is partitioned over.
    pub fn devices(&mut self, partitions: i32) {
        self.partitions = partitions;
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
    pub(super) fn instruction(
        &mut self,
        kind: &str,
        op_name: &str,
        shape: ShapeProto,
        operands: &[Value],
    ) -> usize {
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

    pub(super) fn last(&mut self) -> &mut HloInstructionProto {
        // `instruction` has just pushed one.
        let instructions = &mut self.module.computations[self.current].instructions;
        let at = instructions.len() - 1;
        &mut instructions[at]
    }

    pub(super) fn group(&mut self, place: Place, size: u64) -> usize {
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

    pub(super) fn buffer(&mut self, group: usize, size: u64, shape_index: Vec<i64>) {
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
}

#[cfg(test)]
#[path = "module_tests.rs"]
mod tests;
