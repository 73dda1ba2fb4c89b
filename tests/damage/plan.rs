//! Modules that are well-formed and whose references are broken.

use crate::space::{edge, name};
use oomscope::proto::hlo::{
    HloInstructionProto, HloModuleProto, HloProto, ShapeProto, buffer_allocation_proto::Assigned,
    heap_simulator_trace::Event, stack_frame_index_proto::StackFrame,
};
use oomscope::proto::xspace::{XEventMetadata, XSpace, x_stat::Value};
use oomscope::synth::rng::Rng;
use prost::Message;

/// The largest plan of a capture.
fn largest(space: &mut XSpace) -> Option<&mut Vec<u8>> {
    let metadata = space.planes.iter_mut().flat_map(|p| p.event_metadata.values_mut());
    let plans = metadata.flat_map(|m: &mut XEventMetadata| &mut m.stats).filter_map(|s| match &mut s.value {
        Some(Value::BytesValue(bytes)) => Some(bytes),
        _ => None,
    });
    plans.max_by_key(|bytes| bytes.len())
}

/// A capture with damage to its largest plan.
pub fn damage_in_capture(seed: &[u8], rng: &mut Rng) -> Vec<u8> {
    let Ok(mut space) = XSpace::decode(seed) else { return seed.to_vec() };
    if let Some(plan) = largest(&mut space) {
        *plan = damage(plan, rng);
    }
    space.encode_to_vec()
}

/// The largest plan alone, damaged.
pub fn damage_alone(seed: &[u8], rng: &mut Rng) -> Vec<u8> {
    let Ok(mut space) = XSpace::decode(seed) else { return seed.to_vec() };
    largest(&mut space).map(|plan| damage(plan, rng)).unwrap_or_default()
}

/// A plan, damaged in a few places.
pub fn damage(plan: &[u8], rng: &mut Rng) -> Vec<u8> {
    let Ok(mut hlo) = HloProto::decode(plan) else { return plan.to_vec() };
    for _ in 0..1 + rng.below(4) {
        if rng.one_in(2) {
            assignment(&mut hlo, rng);
        } else if let Some(module) = &mut hlo.hlo_module {
            module_once(module, rng);
        }
    }
    if rng.one_in(60) {
        hlo.hlo_module = None;
    }
    if rng.one_in(60) {
        hlo.buffer_assignment = None;
    }
    let mut bytes = hlo.encode_to_vec();
    if rng.one_in(100) {
        // A shape nested deeper than any stack: prost would not write it.
        let mut shape = Vec::new();
        for _ in 0..rng.below(3000) {
            let mut outer = vec![0x22];
            oomscope::synth::wire::push_varint(&mut outer, shape.len() as u64);
            outer.append(&mut shape);
            shape = outer;
        }
        let wrap = |tag: u8, inner: &[u8]| {
            let mut out = vec![tag];
            oomscope::synth::wire::push_varint(&mut out, inner.len() as u64);
            out.extend_from_slice(inner);
            out
        };
        // Module, computation, instruction, shape.
        let deep = wrap(0x0a, &wrap(0x1a, &wrap(0x12, &wrap(0x1a, &shape))));
        bytes.extend(deep);
    }
    bytes
}

/// An index into a list, if it has any items.
fn any<T>(list: &[T], rng: &mut Rng) -> Option<usize> {
    (!list.is_empty()).then(|| rng.below(list.len() as u64) as usize)
}

fn assignment(hlo: &mut HloProto, rng: &mut Rng) {
    let Some(plan) = &mut hlo.buffer_assignment else { return };
    let (allocations, traces) = (&mut plan.buffer_allocations, &mut plan.heap_simulator_traces);
    match rng.below(20) {
        // A buffer that is nowhere; ids twice; sizes at the edges.
        0 => {
            if let Some(i) = any(&plan.logical_buffers, rng) {
                plan.logical_buffers.remove(i);
            }
        }
        1 => {
            if let (Some(i), Some(j)) = (any(&plan.logical_buffers, rng), any(&plan.logical_buffers, rng)) {
                plan.logical_buffers[i].id = plan.logical_buffers[j].id;
            }
        }
        2 => {
            if let Some(i) = any(&plan.logical_buffers, rng) {
                plan.logical_buffers[i].size = edge(rng);
            }
        }
        3 => {
            if let Some(i) = any(&plan.logical_buffers, rng) {
                plan.logical_buffers[i].color = edge(rng);
            }
        }
        4 => {
            if let Some(i) = any(&plan.logical_buffers, rng)
                && let Some(place) = &mut plan.logical_buffers[i].defined_at
            {
                place.instruction_id = edge(rng);
                place.shape_index = vec![edge(rng); rng.below(5) as usize];
            }
        }
        5 => plan.logical_buffers.iter_mut().for_each(|b| b.defined_at = None),
        // Allocations: sizes, kinds, nobody in them, everybody in them.
        6..10 => {
            let Some(i) = any(allocations, rng) else { return };
            let a = &mut allocations[i];
            match rng.below(10) {
                0 => a.size = edge(rng),
                1 => a.index = edge(rng),
                2 => a.assigned.clear(),
                3 => a.color = edge(rng),
                4 => a.maybe_live_out ^= true,
                5 => a.is_entry_computation_parameter ^= true,
                6 => a.parameter_number = edge(rng),
                7 => a.parameter_shape_index = vec![edge(rng); rng.below(9) as usize],
                8 => {
                    let (logical_buffer_id, offset, size) = (edge(rng), edge(rng), edge(rng));
                    a.assigned.push(Assigned { logical_buffer_id, offset, size });
                }
                _ => {
                    if let Some(j) = any(&a.assigned, rng) {
                        a.assigned[j].offset = edge(rng);
                        a.assigned[j].size = edge(rng);
                    }
                }
            }
        }
        10 => {
            let copy = allocations.clone();
            allocations.extend(copy);
        }
        11 => allocations.clear(),
        // Traces: over two allocations, freed twice, never freed, shared in a circle.
        12 => {
            if let (Some(i), Some(j)) = (any(allocations, rng), any(allocations, rng)) {
                let moved = allocations[i].assigned.pop();
                allocations[j].assigned.extend(moved);
            }
        }
        13 => {
            for trace in traces.iter_mut() {
                trace.buffer_allocation_index = edge(rng);
                trace.whole_module_simulation ^= true;
            }
        }
        14 => {
            let copy = traces.clone();
            traces.extend(copy);
        }
        15 => traces.iter_mut().for_each(|t| t.events.reverse()),
        _ => {
            let Some(i) = any(traces, rng) else { return };
            let events = &mut traces[i].events;
            match rng.below(6) {
                0 => {
                    if let Some(j) = any(events, rng) {
                        let copy = events[j].clone();
                        events.insert(j, copy);
                    }
                }
                1 => {
                    if let Some(j) = any(events, rng) {
                        events.remove(j);
                    }
                }
                2 => {
                    if let Some(j) = any(events, rng) {
                        events[j].buffer_id = edge(rng);
                    }
                }
                3 => {
                    if let Some(j) = any(events, rng) {
                        events[j].kind = edge(rng) as i32;
                    }
                }
                4 => {
                    let ids: Vec<i64> = events.iter().map(|e| e.buffer_id).collect();
                    for (n, event) in events.iter_mut().enumerate() {
                        event.kind = 2;
                        event.share_with_canonical_id = ids[(n + 1) % ids.len()];
                    }
                }
                _ => events.push(Event {
                    kind: rng.below(3) as i32,
                    buffer_id: edge(rng),
                    share_with_canonical_id: edge(rng),
                    instruction_name: name(rng),
                    ..Event::default()
                }),
            }
        }
    }
}

fn module_once(module: &mut HloModuleProto, rng: &mut Rng) {
    let computations = &mut module.computations;
    match rng.below(14) {
        0 => module.name = name(rng),
        1 => module.entry_computation_id = edge(rng),
        2 => {
            if let (Some(i), Some(j)) = (any(computations, rng), any(computations, rng)) {
                computations[i].id = computations[j].id;
            }
        }
        3 => {
            if let Some(i) = any(computations, rng) {
                computations[i].root_id = edge(rng);
            }
        }
        4 => {
            if let Some(frames) = &mut module.stack_frame_index {
                let count = frames.stack_frames.len() as i32;
                match rng.below(3) {
                    // Each frame is the next one's parent, the last is the first one's.
                    0 => {
                        for (n, frame) in frames.stack_frames.iter_mut().enumerate() {
                            frame.parent_frame_id = (n as i32 + 1) % count + 1;
                        }
                    }
                    1 => frames.stack_frames.iter_mut().for_each(|f| f.file_location_id = edge(rng) as i32),
                    _ => frames
                        .stack_frames
                        .push(StackFrame { file_location_id: edge(rng) as i32, parent_frame_id: count + 1 }),
                }
                for location in &mut frames.file_locations {
                    if rng.one_in(3) {
                        location.file_name_id = edge(rng) as i32;
                        location.line = edge(rng) as i32;
                    }
                }
            }
        }
        5 => {
            for alias in module.input_output_alias.iter_mut().flat_map(|a| &mut a.entries) {
                if rng.one_in(4) {
                    alias.parameter_number = edge(rng);
                    alias.output_shape_index = vec![edge(rng); rng.below(4) as usize];
                }
            }
        }
        6 => {
            if let Some(shape) = &mut module.host_program_shape {
                shape.parameters.truncate(rng.below(4) as usize);
                shape.result = None;
            }
        }
        _ => {
            let Some(i) = any(computations, rng) else { return };
            let called: Vec<i64> = computations.iter().map(|c| c.id).collect();
            let ids: Vec<i64> = computations[i].instructions.iter().map(|x| x.id).collect();
            let each = 1 + rng.below(ids.len() as u64);
            for instruction in &mut computations[i].instructions {
                if rng.one_in(each) {
                    instruction_once(instruction, &ids, &called, rng);
                }
            }
        }
    }
}

fn instruction_once(i: &mut HloInstructionProto, ids: &[i64], called: &[i64], rng: &mut Rng) {
    match rng.below(13) {
        0 => i.id = edge(rng),
        1 => i.id = ids[rng.below(ids.len() as u64) as usize],
        // Operands in a circle, calls in a circle.
        2 => i.operand_ids = vec![i.id; 1 + rng.below(3) as usize],
        3 => i.operand_ids = (0..rng.below(9)).filter_map(|_| rng.pick(ids).copied()).collect(),
        4 => i.operand_ids = vec![edge(rng)],
        5 => i.called_computation_ids = called.to_vec(),
        6 => i.called_computation_ids = vec![edge(rng); 2],
        7 => {
            const OPCODES: [&str; 8] = [
                "while",
                "tuple",
                "get-tuple-element",
                "fusion",
                "parameter",
                "custom-call",
                "bitcast",
                "call",
            ];
            i.opcode = OPCODES[rng.below(8) as usize].to_owned();
        }
        8 => i.name = name(rng),
        9 => i.tuple_index = edge(rng),
        10 => {
            i.parameter_number = edge(rng);
            i.backend_config = br#"{"known_trip_count":{"n":"18446744073709551616"}}"#.to_vec();
        }
        11 => {
            if let Some(metadata) = &mut i.metadata {
                metadata.op_name =
                    format!("jit(f)/{}transpose(jvp({}", "vmap(".repeat(rng.below(600) as usize), name(rng));
                metadata.stack_frame_id = edge(rng) as i32;
            }
        }
        _ => shape(i.shape.get_or_insert_default(), rng),
    }
}

fn shape(shape: &mut ShapeProto, rng: &mut Rng) {
    match rng.below(6) {
        0 => shape.element_type = edge(rng) as i32,
        1 => shape.dimensions = vec![edge(rng); rng.below(12) as usize],
        2 => shape.tuple_shapes = vec![shape.clone(); rng.below(5) as usize],
        3 => shape.layout = None,
        4 => {
            if let Some(layout) = &mut shape.layout {
                layout.minor_to_major = vec![edge(rng); rng.below(6) as usize];
                layout.memory_space = edge(rng);
            }
        }
        _ => {
            let mut deep = ShapeProto::default();
            for _ in 0..rng.below(40) {
                deep = ShapeProto { element_type: 13, tuple_shapes: vec![deep], ..ShapeProto::default() };
            }
            *shape = deep;
        }
    }
}
