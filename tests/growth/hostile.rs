//! Captures that share one thing among `n`: what is looked at once for each of them is a square.

use crate::inputs::space;
use oomscope::proto::hlo::{
    BufferAllocationProto, BufferAssignmentProto, HeapSimulatorTrace, HloComputationProto,
    HloInstructionProto, HloModuleProto, HloProto, LogicalBufferProto, OpMetadata, ShapeProto,
    StackFrameIndexProto,
    buffer_allocation_proto::Assigned,
    heap_simulator_trace::Event,
    logical_buffer_proto::Location,
    stack_frame_index_proto::{FileLocation, StackFrame},
};
use oomscope::synth::space::{Plane, Stat};
use oomscope::units::Picos;
use prost::Message;

const US: i64 = 1_000_000;

fn array(length: i64) -> ShapeProto {
    ShapeProto { element_type: 11, dimensions: vec![length], ..ShapeProto::default() }
}

fn tuple(parts: impl Iterator<Item = ShapeProto>) -> ShapeProto {
    ShapeProto { element_type: 13, tuple_shapes: parts.collect(), ..ShapeProto::default() }
}

fn instruction(
    id: i64,
    opcode: &str,
    shape: ShapeProto,
    operands: &[i64],
    called: &[i64],
) -> HloInstructionProto {
    HloInstructionProto {
        id,
        name: format!("{opcode}.{id}"),
        opcode: opcode.into(),
        shape: Some(shape),
        operand_ids: operands.to_vec(),
        called_computation_ids: called.to_vec(),
        ..HloInstructionProto::default()
    }
}

fn computation(id: i64, instructions: Vec<HloInstructionProto>) -> HloComputationProto {
    let root_id = instructions.last().map_or(0, |i| i.id);
    HloComputationProto { name: format!("computation.{id}"), id, root_id, instructions }
}

/// A module whose entry is the last of its computations, with buffers at the given places (instruction, index), all in
/// one allocation and all alive to the end.
fn module(computations: Vec<HloComputationProto>, places: &[(i64, Vec<i64>)], output: bool) -> HloProto {
    let buffers = (1..).zip(places).map(|(id, (instruction_id, shape_index))| LogicalBufferProto {
        id,
        size: 4 * id,
        defined_at: Some(Location {
            instruction_id: *instruction_id,
            shape_index: shape_index.clone(),
            ..Location::default()
        }),
        color: 0,
    });
    let ids = 1..=places.len() as i64;
    let plan = BufferAssignmentProto {
        logical_buffers: buffers.collect(),
        buffer_allocations: vec![BufferAllocationProto {
            index: 0,
            size: 1 << 40,
            maybe_live_out: output,
            assigned: ids
                .clone()
                .map(|id| Assigned { logical_buffer_id: id, offset: id << 20, size: 4 * id })
                .collect(),
            ..BufferAllocationProto::default()
        }],
        heap_simulator_traces: vec![HeapSimulatorTrace {
            events: ids.map(|id| Event { buffer_id: id, ..Event::default() }).collect(),
            ..HeapSimulatorTrace::default()
        }],
        ..BufferAssignmentProto::default()
    };
    let module = HloModuleProto {
        name: "jit_step".into(),
        entry_computation_id: computations.last().map_or(0, |c| c.id),
        computations,
        ..HloModuleProto::default()
    };
    HloProto { hlo_module: Some(module), buffer_assignment: Some(plan) }
}

fn alone(hlo: &HloProto) -> Vec<u8> {
    let mut plane = Plane::new("/host:metadata");
    plane.module(17, "jit_step(17)", &hlo.encode_to_vec(), Some(17));
    space(vec![plane])
}

/// One instruction with a long name makes `n` arrays.
pub fn long_name(n: u64) -> Vec<u8> {
    let mut call = instruction(1, "custom-call", tuple((0..n as i64).map(|i| array(8 + i))), &[], &[]);
    let op_name = format!("jit(step)/jvp({})/mul", "f".repeat(50 * n as usize));
    call.metadata = Some(OpMetadata { op_name, ..OpMetadata::default() });
    let places: Vec<_> = (0..n as i64).map(|i| (1, vec![i])).collect();
    alone(&module(vec![computation(1, vec![call])], &places, false))
}

/// `n` buffers of one long shape.
pub fn long_shape(n: u64) -> Vec<u8> {
    let call = instruction(1, "custom-call", tuple((0..n as i64).map(|i| array(8 + i))), &[], &[]);
    let places = vec![(1, Vec::new()); n as usize];
    alone(&module(vec![computation(1, vec![call])], &places, true))
}

/// `n` instructions with the same deep stack in files with long names.
pub fn long_paths(n: u64) -> Vec<u8> {
    let deep = n as i32;
    let copies = (1..=n as i64).map(|id| {
        let mut it = instruction(id, "copy", array(id), &[], &[]);
        it.metadata = Some(OpMetadata { stack_frame_id: deep, ..OpMetadata::default() });
        it
    });
    let mut hlo = module(
        vec![computation(1, copies.collect())],
        &(1..=n as i64).map(|id| (id, Vec::new())).collect::<Vec<_>>(),
        false,
    );
    let location = |line| FileLocation { file_name_id: 1, function_name_id: 1, line, column: 0 };
    let frame = |id| StackFrame { file_location_id: id, parent_frame_id: id - 1 };
    if let Some(module) = &mut hlo.hlo_module {
        module.stack_frame_index = Some(StackFrameIndexProto {
            file_names: vec![format!("/{}/train.py", "a".repeat(20 * n as usize))],
            function_names: vec!["f".into()],
            file_locations: (1..=deep).map(location).collect(),
            stack_frames: (1..=deep).map(frame).collect(),
        });
    }
    alone(&hlo)
}

/// `n` instructions call one computation of `n` instructions without names.
fn callers(n: u64, opcode: &str, inner: &str) -> Vec<u8> {
    let n = n as i64;
    let inside = (0..n).map(|i| {
        let mut it = instruction(10_000_000 + i, inner, array(8), &[], &[]);
        it.parameter_number = i;
        it
    });
    let mut main = vec![instruction(1, "parameter", array(8), &[], &[])];
    main.extend((2..2 + n).map(|id| instruction(id, opcode, array(8), &[1], &[2])));
    let places: Vec<_> = (1..2 + n).map(|id| (id, Vec::new())).collect();
    alone(&module(vec![computation(2, inside.collect()), computation(1, main)], &places, false))
}

/// See [`callers`].
pub fn calls(n: u64) -> Vec<u8> {
    callers(n, "call", "parameter")
}

/// See [`callers`].
pub fn fusions(n: u64) -> Vec<u8> {
    callers(n, "fusion", "add")
}

/// `n` instructions read one tuple of `n` arrays.
pub fn readers(n: u64) -> Vec<u8> {
    let n = n as i64;
    let ids: Vec<i64> = (1..=n).collect();
    let mut main: Vec<_> = ids.iter().map(|&id| instruction(id, "copy", array(id), &[], &[])).collect();
    main.push(instruction(n + 1, "tuple", tuple(ids.iter().map(|&id| array(id))), &ids, &[]));
    main.extend((0..n).map(|i| instruction(n + 2 + i, "custom-call", array(1), &[n + 1], &[])));
    let places: Vec<_> = ids.iter().map(|&id| (id, Vec::new())).collect();
    alone(&module(vec![computation(1, main)], &places, false))
}

/// `n` outputs are one array, and `n` others lie in its allocation.
pub fn outputs(n: u64) -> Vec<u8> {
    let n = n as i64;
    let mut main: Vec<_> = (1..=n).map(|id| instruction(id, "copy", array(id), &[], &[])).collect();
    main.push(instruction(n + 1, "tuple", tuple((0..n).map(|_| array(1))), &vec![1; n as usize], &[]));
    let places: Vec<_> = (1..=n).map(|id| (id, Vec::new())).collect();
    alone(&module(vec![computation(1, main)], &places, true))
}

/// A loop carries `n` stacks of different shapes.
pub fn stacks(n: u64) -> Vec<u8> {
    let stack = |i| ShapeProto { element_type: 11, dimensions: vec![7, 8 + i], ..ShapeProto::default() };
    let mut it = instruction(1, "while", tuple((0..n as i64).map(stack)), &[], &[]);
    it.backend_config = br#"{"known_trip_count":{"n":"7"}}"#.to_vec();
    alone(&module(vec![computation(1, vec![it])], &[(1, Vec::new())], false))
}

/// `n` loops of a backward pass, and `n` values of the forward pass that look like what each of them might read: stacks of
/// as many layers as the loops have rounds.
pub fn loops_and_stacks(n: u64) -> Vec<u8> {
    let n = n as i64;
    let named = |mut it: HloInstructionProto, op_name: &str| {
        it.metadata = Some(OpMetadata { op_name: op_name.into(), ..OpMetadata::default() });
        it
    };
    let stack = || ShapeProto { element_type: 11, dimensions: vec![7, 8], ..ShapeProto::default() };
    let mut main: Vec<_> =
        (1..=n).map(|id| named(instruction(id, "copy", stack(), &[], &[]), "jit(step)/jvp(f)/mul")).collect();
    main.extend((1..=n).map(|i| {
        let mut it = instruction(n + i, "while", array(8), &[i], &[2]);
        it.backend_config = br#"{"known_trip_count":{"n":"7"}}"#.to_vec();
        named(it, "jit(step)/transpose(jvp(f))/while")
    }));
    main.extend((1..=n).map(|i| {
        named(instruction(2 * n + i, "copy", stack(), &[i], &[]), "jit(step)/transpose(jvp(f))/mul")
    }));
    let body = vec![instruction(10_000_000, "parameter", array(8), &[], &[])];
    let places: Vec<_> = (1..=3 * n).map(|id| (id, Vec::new())).collect();
    alone(&module(vec![computation(2, body), computation(1, main)], &places, false))
}

/// A module of one input and one output of 32 bytes.
fn small(metadata: &mut Plane, id: i64, name: &str) {
    let copy = instruction(1, "copy", array(8), &[], &[]);
    let hlo = module(vec![computation(1, vec![copy])], &[(1, Vec::new())], true);
    metadata.module(id, name, &hlo.encode_to_vec(), Some(id));
}

/// `n` modules, of one name or of many, each executed once on the device.
fn executed(n: u64, module: impl Fn(i64) -> String) -> Vec<u8> {
    let mut metadata = Plane::new("/host:metadata");
    let mut host = Plane::new("/host:CPU");
    let line = host.line(7, "python3", 5);
    for i in 0..n as i64 {
        let name = module(i);
        small(&mut metadata, i + 1, &format!("{name}({})", i + 1));
        let at = (10 + 10 * i) * US;
        let call = format!("[0] CommonPjRtLoadedExecutable::Execute ({name})");
        host.event(line, &call, Picos(at), Picos(9 * US), &[]);
        let helper = "CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice";
        host.event(line, helper, Picos(at + 10), Picos(8 * US), &[]);
        host.event(line, &format!("{name}:XLA GPU module"), Picos(at + 20), Picos(US), &[]);
    }
    space(vec![Plane::new("/device:GPU:0"), host, metadata])
}

/// See [`executed`].
pub fn modules_of_one_name(n: u64) -> Vec<u8> {
    executed(n, |_| "jit_f".into())
}

/// See [`executed`].
pub fn modules_of_many_names(n: u64) -> Vec<u8> {
    executed(n, |i| format!("jit_f{i}"))
}

/// `n` modules that ran on a TPU, as its own line has them.
pub fn modules_of_a_tpu(n: u64) -> Vec<u8> {
    let mut metadata = Plane::new("/host:metadata");
    let mut device = Plane::new("/device:TPU:0");
    device.stat("memory_size", Stat::Uint(16 << 30));
    let line = device.line(2, "XLA Modules", 5);
    for i in 0..n as i64 {
        let name = format!("jit_f{i}({})", i + 1);
        small(&mut metadata, i + 1, &name);
        device.event(line, &name, Picos((10 + i) * US), Picos(US / 2), &[]);
    }
    space(vec![device, Plane::new("/host:CPU"), metadata])
}

/// A line in order with `n` copies, and `n` lines out of order.
pub fn lines_out_of_order(n: u64) -> Vec<u8> {
    let mut host = Plane::new("/host:CPU");
    let line = host.line(1, "python3", 5);
    let details = "kind_src:device kind_dst:device size:4096 dest:0 async:1";
    for i in 0..n as i64 {
        let helper = "PjRtStreamExecutorLoadedExecutable::ExecuteHelper";
        host.event(line, helper, Picos((10 + 10 * i) * US), Picos(9 * US), &[]);
        let stats = [("memcpy_details", Stat::Ref(details))];
        host.event(line, "MemcpyD2D", Picos((11 + 10 * i) * US), Picos(US), &stats);
    }
    for i in 0..n as i64 {
        let line = host.line(2 + i, "thread", 5);
        host.event(line, "x", Picos(20 * US), Picos(1), &[]);
        host.event(line, "x", Picos(10 * US), Picos(1), &[]);
    }
    space(vec![Plane::new("/device:GPU:0"), host])
}
