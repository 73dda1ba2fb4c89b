//! What part of the step a buffer belongs to, and how that is known.

// A helper that can't go on fails its test.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "support/made.rs"]
mod made;
mod support;

use made::*;
use oomscope::hlo::{Hlo, role_of};
use oomscope::plan::{Describer, Plan, PlanBuffer};
use oomscope::proto::hlo::logical_buffer_proto::Location;
use oomscope::proto::hlo::*;
use oomscope::terms::Role;
use oomscope::units::{Bytes, Evidence};

/// The only buffer at event 0.
fn only(hlo: &HloProto) -> PlanBuffer {
    let (hlo, plan) = made::read(hlo);
    let mut all = plan.temp_buffers_at(0, &mut Describer::new(&hlo));
    assert_eq!(all.len(), 1);
    let life = plan.live_at(0).next().unwrap();
    let it = all.remove(0);
    assert_eq!((life.role, life.role_evidence), (it.role, it.role_evidence), "the curve and the list agree");
    it
}

/// A plan of one buffer, defined by an instruction of entry computation 1; `others` are computations beside it.
fn one(it: HloInstructionProto, shape_index: &[i64], others: Vec<HloComputationProto>) -> HloProto {
    let mut hlo = heap(&[64], vec![alloc(1)]);
    hlo_module(&mut hlo).computations[0].instructions[0] = it;
    hlo_module(&mut hlo).computations.extend(others);
    assignment(&mut hlo).logical_buffers[0].defined_at.as_mut().unwrap().shape_index = shape_index.to_vec();
    hlo
}

fn fusion(op_name: &str, called: i64) -> HloInstructionProto {
    HloInstructionProto {
        called_computation_ids: vec![called],
        ..instruction(1, "fusion", "fusion", op_name, &[])
    }
}

fn computation(id: i64, instructions: Vec<HloInstructionProto>) -> HloComputationProto {
    let root_id = instructions.last().unwrap().id;
    HloComputationProto { name: "fused".into(), id, root_id, instructions }
}

fn placed(mut it: HloInstructionProto, file: &str, line: i32) -> HloInstructionProto {
    let metadata = it.metadata.as_mut().unwrap();
    metadata.source_file = file.into();
    metadata.source_line = line;
    it
}

#[test]
fn an_instructions_own_name_stack_is_read() {
    let it = only(&one(fusion("jit(step)/transpose(jvp(f))/dot_general", 2), &[], vec![]));
    assert_eq!((it.role, it.role_evidence), (Role::Backward, Evidence::Read));
    assert_eq!(it.op_name.as_deref(), Some("jit(step)/transpose(jvp(f))/dot_general"));
}

#[test]
fn a_fusion_without_one_takes_its_roots() {
    let inside = computation(
        2,
        vec![
            placed(instruction(10, "a", "add", "jit(step)/add", &[]), "often.py", 4),
            placed(instruction(11, "b", "add", "jit(step)/add", &[]), "often.py", 4),
            placed(instruction(12, "c", "tanh", "jit(step)/jvp(f)/tanh", &[10]), "root.py", 9),
        ],
    );
    let it = only(&one(fusion("", 2), &[], vec![inside]));
    assert_eq!((it.role, it.role_evidence), (Role::Forward, Evidence::Inferred));
    let source = it.source.unwrap();
    assert_eq!((source.file.as_str(), source.line), ("often.py", Some(4)), "the most common position inside");
}

#[test]
fn a_fusion_with_a_nameless_root_takes_the_most_common_name_inside() {
    let inside = computation(
        2,
        vec![
            instruction(10, "p", "parameter", "params['w']", &[]),
            instruction(11, "a", "add", "jit(step)/add", &[]),
            instruction(12, "b", "exp", "jit(step)/jvp(f)/exp", &[]),
            instruction(13, "c", "exp", "jit(step)/jvp(f)/exp", &[]),
            instruction(14, "d", "copy", "", &[13]),
        ],
    );
    let it = only(&one(fusion("", 2), &[], vec![inside]));
    assert_eq!((it.role, it.role_evidence), (Role::Forward, Evidence::Inferred));
}

#[test]
fn each_result_of_a_fusion_has_the_name_of_its_own_root() {
    let inside = || {
        computation(
            2,
            vec![
                instruction(10, "a", "add", "jit(step)/add", &[]),
                instruction(11, "b", "exp", "jit(step)/jvp(f)/exp", &[]),
                instruction(12, "t", "tuple", "", &[10, 11]),
            ],
        )
    };
    let mut it = fusion("", 2);
    it.shape = Some(tuple(&[array(F32, &[16]), array(F32, &[16])]));
    assert_eq!(only(&one(it.clone(), &[0], vec![inside()])).role, Role::Update);
    let second = only(&one(it, &[1], vec![inside()]));
    assert_eq!((second.role, second.instruction.as_str()), (Role::Forward, "fusion{1}"));
    assert_eq!(second.shape.text, "f32[16]{0}");
}

#[test]
fn a_copy_without_a_name_takes_an_aliases() {
    let mut hlo = one(instruction(1, "copy", "copy", "", &[]), &[], vec![]);
    let twin = instruction(2, "while", "while", "jit(step)/transpose(jvp(f))/while", &[1]);
    hlo_module(&mut hlo).computations[0].instructions.push(twin);
    assert_eq!(only(&hlo).role, Role::Other);
    assert_eq!(only(&hlo).role_evidence, Evidence::Read, "nothing was guessed");
    let location = Some(Location { instruction_id: 2, ..Default::default() });
    assignment(&mut hlo).buffer_aliases.push(BufferAliasProto { source_buffer_id: 1, location });
    let it = only(&hlo);
    assert_eq!((it.role, it.role_evidence), (Role::Backward, Evidence::Inferred));
}

#[test]
fn the_bytes_beside_a_library_calls_result_are_workspace() {
    let call = |target: &str| HloInstructionProto {
        custom_call_target: target.into(),
        shape: Some(tuple(&[array(F32, &[16]), array(U8, &[64]), array(U8, &[8, 8])])),
        ..instruction(1, "gemm", "custom-call", "jit(step)/jvp(f)/dot_general", &[])
    };
    let workspace = only(&one(call("__cublas$gemm"), &[1], vec![]));
    assert_eq!((workspace.role, workspace.role_evidence), (Role::Workspace, Evidence::Read));
    assert_eq!(only(&one(call("__cublas$gemm"), &[0], vec![])).role, Role::Forward, "its value");
    assert_eq!(
        only(&one(call("__cublas$gemm"), &[2], vec![])).role,
        Role::Forward,
        "an array of the program"
    );
    assert_eq!(only(&one(call("my_ffi_call"), &[1], vec![])).role, Role::Forward, "a call of the program");
}

#[test]
fn what_a_loop_carries_takes_an_aliases_name_and_an_argument_has_none() {
    let mut hlo = one(instruction(1, "arg", "parameter", "state.params['w']", &[]), &[], vec![]);
    assert_eq!((only(&hlo).role, only(&hlo).role_evidence), (Role::Other, Evidence::Read));
    let body = computation(2, vec![instruction(20, "carried", "parameter", "", &[])]);
    hlo_module(&mut hlo).computations.push(body);
    let root = instruction(3, "new", "add", "jit(step)/jvp(f)/while/body/add", &[]);
    hlo_module(&mut hlo).computations[1].instructions.push(root);
    let plan = assignment(&mut hlo);
    plan.logical_buffers[0].defined_at.as_mut().unwrap().instruction_id = 20;
    let location = Some(Location { instruction_id: 3, ..Default::default() });
    plan.buffer_aliases.push(BufferAliasProto { source_buffer_id: 1, location });
    let it = only(&hlo);
    assert_eq!((it.role, it.role_evidence), (Role::Forward, Evidence::Inferred));
}

#[test]
fn an_older_plan_names_instructions_instead_of_numbering_them() {
    let mut hlo = heap(&[64], vec![alloc(1)]);
    let location = assignment(&mut hlo).logical_buffers[0].defined_at.as_mut().unwrap();
    location.instruction_id = 0;
    location.instruction_name = "op.1".into();
    assert_eq!(only(&hlo).instruction, "op.1");
}

fn plan(name: &str) -> Option<(Hlo, Plan)> {
    let bytes = std::fs::read(support::shared(&format!("plans/{name}.hlo.pb"))?).unwrap();
    let hlo = Hlo::parse(bytes).unwrap();
    let plan = Plan::build(&hlo, None);
    Some((hlo, plan))
}

#[test]
fn attention_without_remat_is_forward_kept_for_the_backward_pass() {
    let Some((hlo, plan)) = plan("scenarios/p1_attention_too_large") else { return };
    let peak = plan.schedule().unwrap().peak_event;
    let roles = plan.roles_at(peak);
    assert_eq!(roles[..2], [(Role::Forward, Bytes(3_076_456_448)), (Role::Backward, Bytes(583_270_400))]);
    let whole: Bytes = roles.iter().map(|(_, b)| *b).sum();
    assert_eq!(whole, plan.schedule().unwrap().peak);
    let buffers = plan.temp_buffers_at(peak, &mut Describer::new(&hlo));
    let rows: Vec<_> = buffers.iter().filter(|b| b.shape.dims == [8, 8, 1024, 1024]).collect();
    assert_eq!(rows.len(), 6, "softmax rows of six layers");
    assert!(rows.iter().all(|b| b.role == Role::Forward && b.bytes == Bytes(256 << 20)));
    assert_eq!(buffers[0].shape.text, "f32[8192,17800]{1,0}", "the logits are the largest");
    assert_eq!(plan.summary.rematerialized, 86);
}

#[test]
fn remat_leaves_recomputed_values_at_the_peak_instead_of_kept_ones() {
    let Some((_, plan)) = plan("cuda/gpt_remat") else { return };
    let roles = plan.roles_at(plan.schedule().unwrap().peak_event);
    assert_eq!(roles[0], (Role::Recomputed, Bytes(6_033_408)));
}

#[test]
fn loops_know_how_often_they_run() {
    for (name, n) in
        [("cuda/gpt_scan", 3), ("cuda/grad_accum", 4), ("cuda/llama7b_remat", 32), ("tpu/gpt_scan", 3)]
    {
        let Some((_, plan)) = plan(name) else { return };
        assert!(!plan.loops.is_empty());
        for it in &plan.loops {
            let count = it.trip_count.unwrap();
            // XLA:TPU does not write the count down; the loop's condition has it.
            let evidence = if name.starts_with("tpu") { Evidence::Inferred } else { Evidence::Read };
            assert_eq!((count.n, count.evidence), (n, evidence), "{name}");
        }
    }
}

#[test]
fn the_stacks_of_a_scan_have_the_role_of_their_loop() {
    // Their first value is `broadcast.61`, which XLA made and named; the loop that fills them runs under `jvp`.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/scenarios/s4_fsdp8_fits.xplane.pb");
    let Ok(bytes) = std::fs::read(path) else {
        eprintln!("skipped: {path} is not here");
        return;
    };
    let mut read = oomscope::analysis::read(&bytes[..], "s4", |_| {}).unwrap();
    let peak = read.report(&oomscope::analysis::Options::default()).plan.unwrap().peak.unwrap();
    let stack = peak.buffers.iter().find(|b| b.shape.starts_with("bf16[32,1,2048,11008]")).unwrap();
    assert_eq!((stack.role, stack.role_evidence), (Role::Forward, Evidence::Inferred));
    let forward = peak.roles.iter().find(|r| r.role == Role::Forward).unwrap();
    assert!(forward.share > 0.9, "{}", forward.share);
}

#[test]
fn parameters_are_known_by_their_argument_paths() {
    let Some((hlo, plan)) = plan("scenarios/p3_no_donation") else { return };
    let it = &plan.donation.parameters[0];
    assert_eq!((it.number, it.what().as_str(), it.argument()), (0, "state.step", Some("state")));
    let buffers = plan.lasting_buffers(&mut Describer::new(&hlo));
    let kernel =
        buffers.iter().find(|b| b.op_name.as_deref() == Some("state.params['lm_head']['kernel']")).unwrap();
    assert_eq!((kernel.role, kernel.bytes), (Role::Other, Bytes(50_069_504)));
    assert_eq!(role_of("state.params['w']"), None);
}
