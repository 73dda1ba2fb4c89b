//! Plans of a few buffers, with every field in the test's hand.

#![allow(dead_code)]
// A helper that can't go on fails its test.
#![allow(clippy::unwrap_used, clippy::panic)]

use oomscope::hlo::Hlo;
use oomscope::plan::Plan;
use oomscope::proto::hlo::buffer_allocation_proto::Assigned;
use oomscope::proto::hlo::heap_simulator_trace::Event;
use oomscope::proto::hlo::logical_buffer_proto::Location;
use oomscope::proto::hlo::*;
use prost::Message;

pub const F32: i32 = 11;
pub const U8: i32 = 6;

/// A module of one computation (id 1) whose last instruction is its root, with an empty plan.
pub fn module(instructions: Vec<HloInstructionProto>) -> HloProto {
    let root_id = instructions.last().map_or(0, |i| i.id);
    let entry = HloComputationProto { name: "main".into(), id: 1, root_id, instructions };
    HloProto {
        hlo_module: Some(HloModuleProto {
            name: "jit_step".into(),
            entry_computation_id: 1,
            computations: vec![entry],
            ..Default::default()
        }),
        buffer_assignment: Some(BufferAssignmentProto::default()),
    }
}

/// `f32[n]` and the like.
pub fn array(element_type: i32, dimensions: &[i64]) -> ShapeProto {
    let layout =
        LayoutProto { minor_to_major: (0..dimensions.len() as i64).rev().collect(), ..Default::default() };
    ShapeProto { element_type, dimensions: dimensions.to_vec(), layout: Some(layout), ..Default::default() }
}

pub fn tuple(parts: &[ShapeProto]) -> ShapeProto {
    ShapeProto { element_type: 13, tuple_shapes: parts.to_vec(), ..Default::default() }
}

/// An instruction of one array of `f32[1]`.
pub fn instruction(
    id: i64,
    name: &str,
    opcode: &str,
    op_name: &str,
    operands: &[i64],
) -> HloInstructionProto {
    HloInstructionProto {
        id,
        name: name.into(),
        opcode: opcode.into(),
        shape: Some(array(F32, &[1])),
        metadata: Some(OpMetadata { op_name: op_name.into(), ..Default::default() }),
        operand_ids: operands.to_vec(),
        ..Default::default()
    }
}

/// The whole result of an instruction as a buffer.
pub fn buffer(id: i64, size: i64, instruction_id: i64) -> LogicalBufferProto {
    let defined_at = Some(Location { instruction_id, ..Default::default() });
    LogicalBufferProto { id, size, defined_at, color: 0 }
}

/// A temp block; its buffers as (id, offset, size).
pub fn temp(index: i64, size: i64, assigned: &[(i64, i64, i64)]) -> BufferAllocationProto {
    let assigned = assigned
        .iter()
        .map(|&(logical_buffer_id, offset, size)| Assigned { logical_buffer_id, offset, size })
        .collect();
    BufferAllocationProto { index, size, assigned, ..Default::default() }
}

pub fn alloc(buffer_id: i64) -> Event {
    Event { kind: 0, buffer_id, instruction_name: format!("make.{buffer_id}"), ..Default::default() }
}

pub fn free(buffer_id: i64) -> Event {
    Event { kind: 1, buffer_id, ..Default::default() }
}

pub fn share(buffer_id: i64, share_with_canonical_id: i64) -> Event {
    Event { kind: 2, buffer_id, share_with_canonical_id, ..Default::default() }
}

pub fn trace(events: Vec<Event>) -> HeapSimulatorTrace {
    HeapSimulatorTrace { events, whole_module_simulation: true, buffer_allocation_index: 0 }
}

/// A plan whose buffers 1.. of the given sizes lie one after the other in temp block 0.
pub fn heap(sizes: &[i64], events: Vec<Event>) -> HloProto {
    let ids = || 1..=sizes.len() as i64;
    let mut hlo =
        module(ids().map(|id| instruction(id, &format!("op.{id}"), "add", "jit(step)/add", &[])).collect());
    let mut at = 0;
    let mut assigned = Vec::new();
    for (id, &size) in ids().zip(sizes) {
        assigned.push((id, at, size));
        at = i64::wrapping_add(at, size);
    }
    let plan = assignment(&mut hlo);
    plan.logical_buffers = ids().zip(sizes).map(|(id, &size)| buffer(id, size, id)).collect();
    plan.buffer_allocations = vec![temp(0, at, &assigned)];
    plan.heap_simulator_traces = vec![trace(events)];
    hlo
}

pub fn assignment(hlo: &mut HloProto) -> &mut BufferAssignmentProto {
    hlo.buffer_assignment.as_mut().unwrap()
}

pub fn hlo_module(hlo: &mut HloProto) -> &mut HloModuleProto {
    hlo.hlo_module.as_mut().unwrap()
}

pub fn read(hlo: &HloProto) -> (Hlo, Plan) {
    let hlo = Hlo::parse(hlo.encode_to_vec()).unwrap();
    let plan = Plan::build(&hlo, None);
    (hlo, plan)
}
