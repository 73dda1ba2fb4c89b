//! What the builder lays out must be a plan that XLA could have made.

use super::super::shape::Element::*;
use super::*;
use crate::proto::hlo::{BufferAssignmentProto, HeapSimulatorTrace, HloProto};
use std::collections::HashMap;

fn step() -> HloProto {
    let mut m = Builder::new("jit_step", Style::New);
    m.at(&[("model.py", 12, "loss"), ("train.py", 40, "step")]);
    let w = m.parameter("w", shape(F32, &[64, 64]));
    let x = m.parameter("x", shape(F32, &[8, 64]));
    let kept = m.op("dot", "jit(step)/jvp(f)/dot_general", shape(F32, &[8, 64]), &[x, w]);
    let big = m.op("loop_exp_fusion", "jit(step)/jvp(f)/exp", shape(F32, &[8, 64, 64]), &[kept]);
    let small = m.op("input_reduce_fusion", "jit(step)/jvp(f)/reduce_sum", shape(F32, &[8]), &[big]);
    let grad = m.op("dot", "jit(step)/transpose(jvp(f))/dot_general", shape(F32, &[64, 64]), &[kept, small]);
    let new = m.in_place("loop_add_fusion", "jit(step)/add", w, &[grad]);
    let loss = m.op("reduce", "jit(step)/jvp(f)/reduce_sum", shape(F32, &[]), &[small]);
    m.finish(&[new, loss])
}

fn plan(hlo: &HloProto) -> &BufferAssignmentProto {
    hlo.buffer_assignment.as_ref().unwrap()
}

/// Walks a trace as XLA does; the most bytes live, after checking that no two live groups overlap in the block.
fn replay(plan: &BufferAssignmentProto, trace: &HeapSimulatorTrace) -> u64 {
    let size: HashMap<i64, i64> = plan.logical_buffers.iter().map(|b| (b.id, b.size)).collect();
    let block = &plan.buffer_allocations[trace.buffer_allocation_index as usize];
    let offset: HashMap<i64, i64> = block.assigned.iter().map(|a| (a.logical_buffer_id, a.offset)).collect();
    // Canonical buffer to how many of its group live; any buffer to its canonical one.
    let (mut live, mut canonical) = (HashMap::<i64, u64>::new(), HashMap::new());
    let (mut now, mut peak) = (0, 0);
    for event in &trace.events {
        let id = event.buffer_id;
        match event.kind {
            1 => {
                let group = canonical[&id];
                let count = live.get_mut(&group).unwrap();
                *count -= 1;
                if *count == 0 {
                    live.remove(&group);
                    now -= size[&group];
                }
            }
            kind => {
                let group = if kind == 2 { event.share_with_canonical_id } else { id };
                canonical.insert(id, group);
                if kind == 0 {
                    let (start, end) = (offset[&id], offset[&id] + size[&id]);
                    assert!(end <= block.size);
                    for other in live.keys() {
                        assert!(
                            end <= offset[other] || offset[other] + size[other] <= start,
                            "{id} lies on {other}"
                        );
                    }
                    now += size[&id];
                    peak = peak.max(now);
                }
                *live.entry(group).or_default() += 1;
            }
        }
    }
    assert!(live.is_empty(), "all is freed at the end");
    peak as u64
}

#[test]
fn allocations_have_the_kinds_that_the_program_gives_them() {
    let hlo = step();
    let plan = plan(&hlo);
    let kinds: Vec<_> = plan
        .buffer_allocations
        .iter()
        .map(|a| (a.size, a.is_entry_computation_parameter, a.maybe_live_out, a.is_tuple))
        .collect();
    assert_eq!(
        kinds[..4],
        [
            (16384, true, true, false),
            (2048, true, false, false),
            (16, false, true, true),
            (4, false, true, false)
        ]
    );
    let module = hlo.hlo_module.as_ref().unwrap();
    let alias = &module.input_output_alias.as_ref().unwrap().entries;
    assert_eq!((alias.len(), alias[0].parameter_number, &*alias[0].output_shape_index), (1, 0, &[0][..]));
    let frames = module.stack_frame_index.as_ref().unwrap();
    assert_eq!(frames.stack_frames.len(), 2);
    assert_eq!(frames.stack_frames[1].parent_frame_id, 1, "the innermost frame's parent is the caller");
}

#[test]
fn the_block_holds_what_lives_at_once_and_no_more_than_it_must() {
    let hlo = step();
    let plan = plan(&hlo);
    let peak = replay(plan, &plan.heap_simulator_traces[0]);
    // kept, big and small live together.
    assert_eq!(peak, 2048 + 131_072 + 32);
    assert_eq!(plan.buffer_allocations[4].size as u64, 2048 + 131_072 + 128);
}

#[test]
fn a_loop_carries_its_buffers_and_its_temporaries_appear_once() {
    let mut m = Builder::new("jit_scan", Style::Old);
    let x = m.parameter("x", shape(F32, &[128]));
    let i = m.op("copy", "", shape(S32, &[]), &[]);
    let stack = m.op("broadcast", "jit(scan)/jvp(f)/broadcast_in_dim", shape(F32, &[10, 128]), &[]);
    let out = m.while_loop("jit(scan)/jvp(f)/while", 10, &[i, x, stack], |m, v| {
        let y = m.op("loop_sin_fusion", "jit(scan)/jvp(f)/while/body/sin", shape(F32, &[128]), &[v[1]]);
        let s = m.in_place(
            "dynamic-update-slice",
            "jit(scan)/jvp(f)/while/body/dynamic_update_slice",
            v[2],
            &[y],
        );
        let next = m.op("add", "jit(scan)/jvp(f)/while/body/add", shape(S32, &[]), &[v[0]]);
        vec![next, v[1], s]
    });
    let total = m.op("reduce", "jit(scan)/transpose(jvp(f))/reduce_sum", shape(F32, &[128]), &[out[2]]);
    let hlo = m.finish(&[total]);
    let plan = plan(&hlo);
    let peak = replay(plan, &plan.heap_simulator_traces[0]);
    assert_eq!(peak, 4 + 5120 + 512, "counter, stack and the sine of one round");
    let module = hlo.hlo_module.as_ref().unwrap();
    let main = &module.computations[0];
    let looped = main.instructions.iter().find(|i| i.opcode == "while").unwrap();
    assert_eq!(looped.called_computation_ids, [3, 2]);
    assert!(String::from_utf8_lossy(&looped.backend_config).contains("\"n\":\"10\""));
    let ids: std::collections::HashSet<i64> =
        module.computations.iter().flat_map(|c| &c.instructions).map(|i| i.id).collect();
    assert_eq!(ids.len(), module.computations.iter().map(|c| c.instructions.len()).sum::<usize>());
}

#[test]
fn spaces_workspaces_and_scratch_find_their_place() {
    let mut m = Builder::new("jit_spaces", Style::New);
    let x = m.parameter("x", shape(Bf16, &[256]));
    m.space(5);
    let parked = m.op("copy-start", "jit(f)/jvp(g)/device_put", shape(Bf16, &[256]), &[x]);
    m.space(0);
    let y = m.custom_call("__cublas$gemm", "jit(f)/dot_general", shape(Bf16, &[256]), 4096, &[x, parked]);
    let lent = m.op("multiply", "jit(f)/mul", shape(Bf16, &[256]), &[y]);
    let out = m.op("add", "jit(f)/add", shape(Bf16, &[256]), &[lent]);
    m.scratch(lent, out);
    let constant = m.constant(shape(U32, &[2]));
    let two = m.op("add", "jit(f)/add", shape(U32, &[2]), &[constant]);
    let hlo = m.finish(&[out, two]);
    let plan = plan(&hlo);
    let of = |color, temp: bool| -> i64 {
        let blocks = plan.buffer_allocations.iter().filter(|a| a.color == color);
        blocks
            .filter(|a| {
                temp != (a.is_entry_computation_parameter
                    || a.maybe_live_out
                    || a.is_constant
                    || a.is_thread_local)
            })
            .map(|a| a.size)
            .sum()
    };
    assert_eq!((of(5, true), of(0, true), of(0, false)), (512, 512 + 4096, 512 + 512 + 16 + 8 + 8));
    assert!(
        plan.buffer_allocations.iter().any(|a| a.maybe_live_out && a.assigned.len() == 2),
        "scratch in an output"
    );
    assert_eq!(plan.heap_simulator_traces.len(), 2);
}
