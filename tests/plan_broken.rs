//! Modules that no compiler writes: each gives a plan of the rest and a sentence, or a reason for being none.

// A helper that can't go on fails its test.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "support/made.rs"]
mod made;
mod support;

use made::*;
use oomscope::analysis::{self, Options};
use oomscope::hlo::{Hlo, NotHlo};
use oomscope::plan::{Describer, Plan};
use oomscope::proto::hlo::stack_frame_index_proto::{FileLocation, StackFrame};
use oomscope::proto::hlo::*;
use oomscope::terms::{Backend, BufferKind};
use oomscope::units::Bytes;
use prost::Message;

#[test]
fn a_dangling_buffer_id_is_left_out_with_a_warning() {
    let mut hlo = heap(&[10], vec![alloc(1), alloc(99), share(1, 98), free(1), free(99)]);
    let assigned = &mut assignment(&mut hlo).buffer_allocations[0].assigned;
    assigned.push(buffer_allocation_proto::Assigned { logical_buffer_id: 97, offset: 0, size: 10 });
    assignment(&mut hlo).buffer_aliases.push(BufferAliasProto { source_buffer_id: 96, location: None });
    let (read, plan) = made::read(&hlo);
    assert_eq!(plan.schedule().unwrap().peak, Bytes(10));
    assert_eq!(read.warnings().len(), 2, "{:?}", read.warnings());
    assert!(read.warnings()[0].starts_with("places"), "{:?}", read.warnings());
    assert!(read.warnings()[1].starts_with("events"), "{:?}", read.warnings());
}

#[test]
fn the_first_of_two_instructions_with_one_id_counts() {
    let mut hlo = heap(&[10], vec![alloc(1), free(1)]);
    let twin = instruction(1, "twin", "multiply", "jit(step)/jvp(f)/mul", &[]);
    hlo_module(&mut hlo).computations[0].instructions.push(twin);
    let (read, plan) = made::read(&hlo);
    assert!(read.warnings()[0].starts_with("instructions whose id another has too"), "{:?}", read.warnings());
    let mut describer = Describer::new(&read);
    assert_eq!(plan.temp_buffers_at(0, &mut describer)[0].instruction, "op.1");
}

#[test]
fn a_cycle_in_the_frame_table_ends() {
    let mut hlo = heap(&[10], vec![alloc(1)]);
    let module = hlo_module(&mut hlo);
    let frame = |file_location_id, parent_frame_id| StackFrame { file_location_id, parent_frame_id };
    module.stack_frame_index = Some(StackFrameIndexProto {
        file_names: vec!["a.py".into()],
        function_names: vec!["f".into()],
        file_locations: vec![FileLocation { file_name_id: 1, function_name_id: 1, line: 3, column: 1 }],
        stack_frames: vec![frame(1, 2), frame(1, 1)],
    });
    module.computations[0].instructions[0].metadata.as_mut().unwrap().stack_frame_id = 1;
    let (read, plan) = made::read(&hlo);
    let buffer = plan.live_at(0).next().unwrap().buffer;
    assert_eq!(Describer::new(&read).frames(buffer).len(), 2);
}

#[test]
fn frames_that_lead_nowhere_are_no_position() {
    let mut hlo = heap(&[10], vec![alloc(1)]);
    let metadata = hlo_module(&mut hlo).computations[0].instructions[0].metadata.as_mut().unwrap();
    metadata.stack_frame_id = 5;
    let (read, plan) = made::read(&hlo);
    let mut describer = Describer::new(&read);
    let it = &plan.temp_buffers_at(0, &mut describer)[0];
    assert_eq!(it.source, None);
    assert!(describer.frames(it.buffer).is_empty());
}

#[test]
fn an_allocation_without_buffers_has_its_size() {
    let mut hlo = heap(&[10], vec![alloc(1)]);
    let plan = assignment(&mut hlo);
    plan.buffer_allocations.push(BufferAllocationProto { maybe_live_out: true, ..temp(1, 50, &[]) });
    let (read, plan) = made::read(&hlo);
    assert_eq!(plan.summary.spaces[0].outputs, Bytes(50));
    assert_eq!(plan.summary.launch[1].kind, BufferKind::Output);
    assert_eq!(plan.lasting_buffers(&mut Describer::new(&read)), [], "nothing is known of what is in it");
}

#[test]
fn a_buffer_of_an_unknown_instruction_is_described_by_its_size() {
    let mut hlo = heap(&[10], vec![alloc(1)]);
    assignment(&mut hlo).logical_buffers[0].defined_at.as_mut().unwrap().instruction_id = 77;
    let (read, plan) = made::read(&hlo);
    assert!(read.warnings()[0].starts_with("logical buffers"), "{:?}", read.warnings());
    let it = &plan.temp_buffers_at(0, &mut Describer::new(&read))[0];
    assert_eq!((it.bytes, it.instruction.as_str(), it.op_name.as_deref()), (Bytes(10), "", None));
}

#[test]
fn negative_and_huge_sizes_neither_wrap_nor_panic() {
    let mut hlo =
        heap(&[i64::MAX, i64::MAX, i64::MAX], vec![alloc(1), alloc(2), alloc(3), free(1), free(2), free(3)]);
    assignment(&mut hlo).buffer_allocations[0].size = i64::MIN;
    let (_, plan) = made::read(&hlo);
    assert_eq!(plan.summary.spaces[0].temp, Bytes(0));
    assert_eq!(plan.schedule().unwrap().peak, Bytes(u64::MAX));
    assert!(plan.schedule().unwrap().curve(10).totals().iter().all(|&b| b <= Bytes(u64::MAX)));
}

#[test]
fn computations_that_call_each_other_end() {
    let mut hlo = heap(&[10], vec![alloc(1)]);
    let module = hlo_module(&mut hlo);
    let it = &mut module.computations[0].instructions[0];
    it.opcode = "fusion".into();
    it.metadata = None;
    it.called_computation_ids = vec![1];
    let mut call = instruction(2, "call", "call", "", &[1]);
    call.called_computation_ids = vec![1];
    let mut bitcast = instruction(3, "bitcast", "bitcast", "", &[3]);
    bitcast.metadata = None;
    module.computations[0].instructions.extend([call, bitcast]);
    for root in [2, 3] {
        hlo_module(&mut hlo).computations[0].root_id = root;
        let (read, plan) = made::read(&hlo);
        assert_eq!(plan.donation.outputs.len(), 1);
        assert_eq!(plan.temp_buffers_at(0, &mut Describer::new(&read)).len(), 1);
    }
}

#[test]
fn what_is_no_hlo_proto_is_refused_with_its_reason() {
    let refused = |bytes: &[u8]| Hlo::parse(bytes.to_vec()).unwrap_err();
    assert_eq!(refused(b""), NotHlo::Empty);
    assert_eq!(refused(b"<html>"), NotHlo::NotProtobuf { at: 0 });
    assert_eq!(refused(&[0x10, 1]), NotHlo::NoModule);
    assert_eq!(refused(&[0x0a, 0]), NotHlo::NoInstructions);
    let text = HloProto {
        hlo_module: Some(HloModuleProto {
            computations: vec![HloComputationProto {
                instructions: vec![instruction(1, "x", "Not an opcode!", "", &[])],
                ..Default::default()
            }],
            ..Default::default()
        }),
        buffer_assignment: None,
    };
    assert_eq!(refused(&text.encode_to_vec()), NotHlo::NoInstructions);
    assert_eq!(
        NotHlo::NotProtobuf { at: 3 }.to_string(),
        "it is no protobuf message: byte 3 starts no field"
    );
}

#[test]
fn a_capture_is_no_module() {
    for path in support::files("captures/made", ".xplane.pb") {
        assert!(Hlo::parse(std::fs::read(&path).unwrap()).is_err(), "{}", path.display());
    }
}

/// A real module, small.
fn mlp() -> Option<Vec<u8>> {
    Some(std::fs::read(support::shared("plans/cuda/mlp.hlo.pb")?).unwrap())
}

/// Everything that a report asks of a plan.
fn look_at_all(bytes: Vec<u8>) -> Option<Plan> {
    let hlo = Hlo::parse(bytes).ok()?;
    let plan = Plan::build(&hlo, None);
    let mut describer = Describer::new(&hlo);
    for schedule in &plan.schedules {
        let peak = describer.lives(schedule.live_at(schedule.peak_event));
        peak.iter().for_each(|b| drop(describer.frames(b.buffer)));
        assert!(schedule.curve(100).totals().iter().all(|&b| b <= schedule.peak));
    }
    plan.summary.spaces.iter().for_each(|s| drop(describer.lasting(s.color)));
    Some(plan)
}

#[test]
fn a_module_cut_off_anywhere_gives_what_is_there() {
    let Some(whole) = mlp() else { return };
    let all = Hlo::parse(whole.clone()).unwrap().instruction_count();
    let (mut read, mut last) = (0, 0);
    for len in (0..whole.len()).step_by(61) {
        let Ok(hlo) = Hlo::parse(whole[..len].to_vec()) else { continue };
        assert!(!hlo.warnings().is_empty(), "cut at {len}: not a word");
        assert!(hlo.instruction_count() >= last && hlo.instruction_count() <= all);
        last = hlo.instruction_count();
        look_at_all(whole[..len].to_vec());
        read += 1;
    }
    assert!(read > whole.len() / 61 * 9 / 10, "only {read} read");
    assert_eq!(last, all);
}

#[test]
fn a_module_with_flipped_bytes_never_panics() {
    let Some(whole) = mlp() else { return };
    // xorshift: the same damage at every run.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut read = 0;
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + next() % 8 {
            let at = next() as usize % bytes.len();
            bytes[at] = next() as u8;
        }
        read += u32::from(look_at_all(bytes).is_some());
    }
    assert!(read > 500, "damage this small mostly leaves something: {read}");
}

#[test]
fn a_dump_that_is_cut_off_says_so_in_its_report_and_a_whole_one_says_nothing() {
    let Some(whole) = mlp() else { return };
    let report = |bytes: &[u8]| {
        let session = analysis::read(bytes, "module.hlo_proto.pb", |_| {}).ok();
        session.map(|mut session| session.report(&Options::default()))
    };
    assert_eq!(report(&whole).unwrap().warnings, []);
    let mut read = 0;
    for cut in (1..whole.len()).step_by(whole.len() / 200) {
        let Some(report) = report(&whole[..cut]) else { continue };
        read += 1;
        assert!(
            report.warnings.iter().any(|w| w.message.contains("damaged at byte")),
            "cut at {cut}: {:?}",
            report.warnings
        );
    }
    assert!(read > 100, "{read}");
}

/// What is needed is a sum: of a part of the allocations it would be too small, and it is unknown. So is the peak of a part of
/// a schedule.
#[test]
fn sums_of_a_plan_that_is_cut_off_are_those_of_the_whole_or_none() {
    let Some(bytes) = mlp() else { return };
    let whole = plan_of(&bytes).unwrap();
    let (mut totals, mut none, mut without_peak) = (0, 0, 0);
    for cut in (1..bytes.len()).rev().step_by(7) {
        let Some(plan) = plan_of(&bytes[..cut]) else { continue };
        if plan.summary.spaces.is_empty() {
            none += 1;
            assert_eq!((plan.summary.need(), plan.summary.memory_analysis), (None, None), "cut at {cut}");
            continue;
        }
        totals += 1;
        assert_eq!(plan.summary.need(), whole.summary.need(), "cut at {cut}");
        match plan.schedule() {
            None => without_peak += 1,
            Some(schedule) => assert_eq!(schedule.peak, whole.schedule().unwrap().peak, "cut at {cut}"),
        }
    }
    assert!(totals > 10 && none > 10 && without_peak > 10, "{totals}, {none}, {without_peak}");
}

fn plan_of(bytes: &[u8]) -> Option<Plan> {
    Some(Plan::build(&Hlo::parse(bytes.to_vec()).ok()?, Some(Backend::Gpu)))
}
