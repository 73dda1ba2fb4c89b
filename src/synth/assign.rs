//! The end of a module's making: results, allocations, the layout of the block, the heap trace.

use super::heap::Packer;
use super::module::{Builder, Group, Place, Style, Value};
use super::shape::tuple_of;
use crate::arrange::Arrange;
use crate::proto::hlo::{
    BufferAllocationProto, BufferAssignmentProto, DeviceAssignmentProto, HeapSimulatorTrace,
    HloBufferDonorProto, HloInputOutputAliasProto, HloProto, LogicalBufferProto, ProgramShapeProto,
    ShapeProto, buffer_allocation_proto::Assigned, heap_simulator_trace::Event,
    hlo_buffer_donor_proto::BufferDonorEntryProto, hlo_input_output_alias_proto::AliasEntryProto,
    logical_buffer_proto::Location,
};

impl Builder {
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
            Some(DeviceAssignmentProto { replica_count: 1, computation_count: self.partitions });
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
        order.arrange_by_key(|&g| std::cmp::Reverse(self.groups[g].size));
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
        colors.arrange();
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
