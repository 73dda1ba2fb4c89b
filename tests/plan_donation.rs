//! Parameters against outputs.

// A helper that can't go on fails its test.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "support/made.rs"]
mod made;
mod support;

use made::*;
use oomscope::analysis::Options;
use oomscope::hlo::Hlo;
use oomscope::plan::{Plan, Summary};
use oomscope::proto::hlo::*;
use oomscope::units::Bytes;

fn parameter(id: i64, number: i64, path: &str, shape: ShapeProto) -> HloInstructionProto {
    HloInstructionProto {
        parameter_number: number,
        shape: Some(shape),
        ..instruction(id, &format!("param.{number}"), "parameter", path, &[])
    }
}

fn made(id: i64, shape: ShapeProto) -> HloInstructionProto {
    HloInstructionProto {
        shape: Some(shape),
        ..instruction(id, &format!("made.{id}"), "add", "jit(step)/add", &[])
    }
}

/// A module with these arrays as parameters and as outputs, each in an allocation of its own; sizes by f32[n].
fn step(parameters: &[&[i64]], outputs: &[&[i64]]) -> HloProto {
    let mut instructions = Vec::new();
    let mut buffers = Vec::new();
    let mut allocations = Vec::new();
    let bytes = |dims: &[i64]| 4 * dims.iter().product::<i64>();
    for (n, dims) in (0..).zip(parameters) {
        let id = 1 + n;
        instructions.push(parameter(id, n, &format!("args[{n}]"), array(F32, dims)));
        buffers.push(buffer(id, bytes(dims), id));
        let place = temp(allocations.len() as i64, bytes(dims), &[(id, 0, bytes(dims))]);
        allocations.push(BufferAllocationProto {
            is_entry_computation_parameter: true,
            parameter_number: n,
            ..place
        });
    }
    for (n, dims) in (0..).zip(outputs) {
        let id = 100 + n;
        instructions.push(made(id, array(F32, dims)));
        buffers.push(buffer(id, bytes(dims), id));
        let place = temp(allocations.len() as i64, bytes(dims), &[(id, 0, bytes(dims))]);
        allocations.push(BufferAllocationProto { maybe_live_out: true, ..place });
    }
    let ids: Vec<i64> = (100..100 + outputs.len() as i64).collect();
    let shapes: Vec<ShapeProto> = outputs.iter().map(|dims| array(F32, dims)).collect();
    let root =
        HloInstructionProto { shape: Some(tuple(&shapes)), ..instruction(999, "root", "tuple", "", &ids) };
    instructions.push(root);
    let mut hlo = module(instructions);
    let plan = assignment(&mut hlo);
    plan.logical_buffers = buffers;
    plan.buffer_allocations = allocations;
    hlo
}

/// The pairs as (parameter, output, bytes, aliased).
fn pairs(hlo: &HloProto) -> Vec<(i64, u64, u64, bool)> {
    let donation = made::read(hlo).1.donation;
    let of = |p: &oomscope::plan::Pair| {
        (donation.parameters[p.parameter].number, donation.outputs[p.output].number, p.bytes.0, p.aliased)
    };
    donation.pairs.iter().map(of).collect()
}

#[test]
fn each_output_is_used_once_and_the_largest_pair_comes_first() {
    let hlo = step(&[&[2], &[8, 8], &[2], &[3]], &[&[2], &[8, 8], &[5]]);
    assert_eq!(pairs(&hlo), [(1, 1, 256, false), (0, 0, 8, false)]);
    assert_eq!(made::read(&hlo).1.donation.missed(), Bytes(264));
}

#[test]
fn another_layout_or_type_is_no_pair() {
    let mut hlo = step(&[&[4, 4], &[4]], &[&[4, 4], &[4]]);
    let instructions = &mut hlo_module(&mut hlo).computations[0].instructions;
    instructions[0].shape.as_mut().unwrap().layout.as_mut().unwrap().minor_to_major = vec![0, 1];
    instructions[1].shape.as_mut().unwrap().element_type = 4;
    assert_eq!(pairs(&hlo), []);
}

#[test]
fn another_sharding_is_no_pair() {
    let mut hlo = step(&[&[4]], &[&[4]]);
    let sharding = |byte: u8| vec![0x08, byte];
    let module = hlo_module(&mut hlo);
    module.spmd_parameters_shardings = vec![sharding(3)];
    // A tuple of one sharding.
    module.spmd_output_sharding = [vec![0x08, 2, 0x2a, 2], sharding(3)].concat();
    assert_eq!(pairs(&hlo).len(), 1);
    hlo_module(&mut hlo).spmd_parameters_shardings = vec![sharding(1)];
    assert_eq!(pairs(&hlo), []);
}

#[test]
fn an_aliased_pair_is_one_and_misses_nothing() {
    let mut hlo = step(&[&[4], &[4]], &[&[4], &[4]]);
    let plan = assignment(&mut hlo);
    let output = plan.buffer_allocations.remove(2);
    plan.buffer_allocations[1].maybe_live_out = true;
    plan.buffer_allocations[1].assigned.extend(output.assigned);
    // The second parameter is given away for the first output, the first for none.
    assert_eq!(pairs(&hlo), [(1, 0, 16, true), (0, 1, 16, false)]);
    let summary = made::read(&hlo).1.summary;
    assert_eq!((summary.spaces[0].donated, summary.spaces[0].outputs), (Bytes(16), Bytes(16)));
    assert_eq!(summary.donated, [(1, Bytes(16))]);
}

#[test]
fn a_donor_without_an_output_misses_nothing() {
    let mut hlo = step(&[&[4], &[6]], &[&[4]]);
    let donor = hlo_buffer_donor_proto::BufferDonorEntryProto { parameter_number: 0, ..Default::default() };
    hlo_module(&mut hlo).buffer_donor = Some(HloBufferDonorProto { entries: vec![donor] });
    assert_eq!(pairs(&hlo), [], "it was given away, and XLA did not use it");
    let (_, plan) = made::read(&hlo);
    assert_eq!((plan.summary.donors, plan.summary.spaces[0].donors), (1, Bytes(16)));
    assert!(plan.donation.parameters[0].donor && !plan.donation.parameters[1].donor);
    let bytes = prost::Message::encode_to_vec(&hlo);
    let mut session = oomscope::analysis::read(bytes.as_slice(), "m.hlo_proto.pb", |_| {}).unwrap();
    let report = session.report(&Options::default());
    let donors = report.plan.as_ref().unwrap().donation.donors.clone();
    let donors: Vec<_> = donors.iter().map(|d| (d.shape.as_str(), d.bytes)).collect();
    assert_eq!(donors, [("f32[4]{0}", Bytes(16))]);
    assert_eq!(report.modules[0].spaces[0].donor_bytes, Bytes(16));
    assert!(
        oomscope::report::text(&report).contains("of which donated 0 B, and 16 B given away for no output")
    );
}

#[test]
fn host_memory_is_paired_apart_and_never_missed() {
    let mut hlo = step(&[&[4]], &[&[4]]);
    for it in &mut hlo_module(&mut hlo).computations[0].instructions[..2] {
        it.shape.as_mut().unwrap().layout.as_mut().unwrap().memory_space = 5;
    }
    let parts =
        &mut hlo_module(&mut hlo).computations[0].instructions[2].shape.as_mut().unwrap().tuple_shapes;
    parts[0].layout.as_mut().unwrap().memory_space = 5;
    assignment(&mut hlo).buffer_allocations.iter_mut().for_each(|a| a.color = 5);
    assert_eq!(pairs(&hlo).len(), 1);
    assert_eq!(made::read(&hlo).1.donation.missed(), Bytes(0));
}

#[test]
fn buffers_that_use_an_output_before_it_is_made_are_scratch() {
    let mut hlo = step(&[&[4]], &[&[100]]);
    let module = hlo_module(&mut hlo);
    module.computations[0].instructions.insert(0, made(50, array(F32, &[20])));
    module.computations[0].instructions.insert(0, made(51, array(F32, &[20])));
    module.computations[0].instructions.insert(0, made(52, array(F32, &[100])));
    let plan = assignment(&mut hlo);
    plan.logical_buffers.extend([buffer(50, 80, 50), buffer(51, 80, 51), buffer(52, 400, 52)]);
    let place = |logical_buffer_id, offset, size| buffer_allocation_proto::Assigned {
        logical_buffer_id,
        offset,
        size,
    };
    plan.buffer_allocations[1].assigned.extend([place(50, 0, 80), place(51, 40, 80), place(52, 0, 400)]);
    // 52 is updated in place until it is the output.
    let location = |id| Some(logical_buffer_proto::Location { instruction_id: id, ..Default::default() });
    plan.buffer_aliases = vec![
        BufferAliasProto { source_buffer_id: 100, location: location(52) },
        BufferAliasProto { source_buffer_id: 52, location: location(100) },
    ];
    let donation = made::read(&hlo).1.donation;
    assert_eq!(donation.outputs[0].scratch.len(), 2);
    assert_eq!(donation.outputs[0].scratch_bytes, Bytes(120), "their union");
}

#[test]
fn the_launch_list_names_the_outputs() {
    let hlo = step(&[&[4]], &[&[4, 2], &[5]]);
    let launch = made::read(&hlo).1.summary.launch;
    let names: Vec<_> = launch.iter().map(|a| (a.index, a.size.0, a.what())).collect();
    assert_eq!(names, [(1, 32, "output 0 f32[4,2]".to_owned()), (2, 20, "output 1 f32[5]".to_owned())]);
}

fn real(name: &str) -> Option<Plan> {
    let bytes = std::fs::read(support::shared(&format!("plans/{name}.hlo.pb"))?).unwrap();
    Some(Plan::build(&Hlo::parse(bytes).unwrap(), None))
}

#[test]
fn what_is_missed_is_what_donating_really_aliases() {
    for (without, with) in
        [("cuda/gpt_nodonate", "cuda/gpt_plain"), ("scenarios/p3_no_donation", "scenarios/p3_donated")]
    {
        let (Some(without), Some(with)) = (real(without), real(with)) else { return };
        let aliased = |s: &Summary| s.memory_analysis.unwrap().alias_size_in_bytes;
        assert_eq!(without.donation.missed(), aliased(&with.summary));
        assert_eq!(aliased(&without.summary), Bytes(0));
        assert_eq!(with.donation.missed(), Bytes(0));
        // What moved into temp is no more than what had been put into outputs.
        let temp = |s: &Summary| s.space(0).unwrap().temp;
        let moved = temp(&with.summary).saturating_sub(temp(&without.summary));
        let scratch: Bytes =
            without.donation.missed_pairs().map(|p| without.donation.outputs[p.output].scratch_bytes).sum();
        assert!(moved > Bytes(0) && moved <= scratch, "{moved} moved, {scratch} in outputs");
    }
}

#[test]
fn every_alias_of_a_module_is_an_aliased_pair() {
    for folder in ["plans/cuda", "plans/cuda-jax0.12", "plans/scenarios", "plans/tpu"] {
        for path in support::files(folder, ".hlo.pb") {
            let hlo = Hlo::parse(std::fs::read(&path).unwrap()).unwrap();
            let donation = Plan::build(&hlo, None).donation;
            assert!(donation.outputs.iter().all(|o| o.allocation.is_some()), "{}", path.display());
            let mut ours: Vec<(i64, Vec<i64>)> = donation
                .pairs
                .iter()
                .filter(|p| p.aliased)
                .map(|p| (donation.parameters[p.parameter].number, donation.outputs[p.output].index.clone()))
                .collect();
            let mut theirs: Vec<(i64, Vec<i64>)> = hlo
                .input_output_aliases()
                .entries
                .iter()
                .map(|e| (e.parameter_number, e.output_shape_index.clone()))
                .collect();
            ours.sort();
            theirs.sort();
            assert_eq!(ours, theirs, "{}", path.display());
        }
    }
}
