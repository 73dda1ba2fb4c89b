//! XLA's text dumps, beside the HloProto of the same compilation: both say the same.
//!
//! The fixtures are of `tests/fixtures/memory_profile/keep.py`, compiled by JAX 0.4.30, 0.7.2 and 0.10.2 on a CPU with
//! `XLA_FLAGS="--xla_dump_to=DIR --xla_dump_hlo_as_proto --xla_dump_hlo_as_text"`.
#![allow(clippy::unwrap_used)]

use oomscope::evidence::error_text::TextSize;
use oomscope::evidence::xla_text::{XlaText, module_of_file};
use oomscope::evidence::{Kind, sniff};
use oomscope::hlo::Hlo;
use oomscope::plan::Summary;
use oomscope::terms::{Backend, Role};
use oomscope::units::Bytes;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/xla_text");

fn read(version: &str, file: &str) -> String {
    std::fs::read_to_string(format!("{FIXTURES}/{version}/{file}")).unwrap()
}

#[test]
fn the_assignment_says_what_the_proto_says() {
    for version in ["jax0.4.30", "jax0.7.2", "jax0.10.2"] {
        let text = read(version, "jit_step-buffer-assignment.txt");
        assert_eq!(sniff(text.as_bytes(), text.len() as u64, "x"), Kind::BufferAssignmentText);
        let dump = XlaText::read(&text).unwrap();
        assert!(dump.is_exact());
        let proto = std::fs::read(format!("{FIXTURES}/{version}/jit_step.hlo.pb")).unwrap();
        let summary = Summary::of(&Hlo::parse(proto).unwrap(), Some(Backend::Cpu));
        let space = summary.space(0).unwrap();
        assert_eq!(dump.colors(), [0], "{version}");
        let of = |which| dump.bytes_of(0, which).unwrap();
        assert_eq!(of(|a| a.parameter.is_some()), space.parameters, "{version}");
        assert_eq!(of(|a| a.live_out && a.parameter.is_none()), space.outputs, "{version}");
        assert_eq!(of(|a| a.live_out && a.parameter.is_some()), space.donated, "{version}");
        assert_eq!(of(|a| a.temp), space.temp, "{version}");
        assert_eq!(of(|a| a.constant), space.constants, "{version}");
        assert_eq!(of(|a| a.thread_local), space.thread_local, "{version}");
        let memory = summary.memory_analysis.unwrap();
        assert_eq!(dump.totals().parameter, Some(TextSize::exact(memory.argument_size_in_bytes.0)));
    }
}

#[test]
fn values_have_places_shapes_and_names() {
    let dump = XlaText::read(&read("jax0.7.2", "jit_step-buffer-assignment.txt")).unwrap();
    let temp = dump.allocations.iter().find(|a| a.temp).unwrap();
    assert_eq!((temp.index, temp.size), (Some(15), Some(TextSize::exact(2_097_152))));
    let value = temp.values.iter().find(|v| v.name == "multiply_add_fusion").unwrap();
    assert_eq!(
        (value.offset, value.size, value.life),
        (Bytes(1 << 20), Some(TextSize::exact(1 << 20)), Some((11, 14)))
    );
    assert_eq!(value.shape, "f32[256,1024]{1,0}");
    assert_eq!(value.opcode.as_deref(), Some("fusion"));
    assert_eq!(value.op_name.as_deref(), Some("jit(step)/transpose(jvp())/add_any"));
    let parameter = &dump.allocations[1];
    assert_eq!((parameter.parameter, parameter.shape.as_deref()), (Some(2), Some("f32[1024,2048]")));
    assert_eq!(parameter.values[0].op_name.as_deref(), Some("params['w2']"));
    assert_eq!(dump.peak.len(), 8);
    assert_eq!(dump.peak[1], ("multiply_subtract_fusion{}".into(), Bytes(8_388_608)));

    // Up to JAX 0.4 the next value begins on the line that ends the last one, and positions are in the metadata.
    let dump = XlaText::read(&read("jax0.4.30", "jit_step-buffer-assignment.txt")).unwrap();
    let temp = dump.allocations.iter().find(|a| a.temp).unwrap();
    let value = temp.values.iter().max_by_key(|v| v.size).unwrap();
    assert_eq!((value.offset, value.opcode.as_deref()), (Bytes(32), Some("fusion")));
    let source = value.source.as_ref().unwrap();
    assert!(source.file.ends_with("keep.py") && source.line.is_some(), "{source:?}");
    assert!(
        dump.allocations.iter().flat_map(|a| &a.values).all(|v| v.opcode.is_some()),
        "every value has its instruction"
    );
}

#[test]
fn the_short_report_of_both_forms() {
    let text = read("jax0.7.2", "jit_step-memory-usage-report.txt");
    assert_eq!(sniff(text.as_bytes(), text.len() as u64, "x"), Kind::MemoryUsageText);
    let dump = XlaText::read(&text).unwrap();
    assert_eq!(dump.total, Some(TextSize::exact(23_601_204)));
    assert_eq!((dump.allocations.len(), dump.cut), (16, 0));
    let totals = dump.totals();
    assert!(totals.parameter.unwrap().contains(Bytes(11_014_144)), "{totals:?}");
    assert!(totals.temp.unwrap().contains(Bytes(2_097_152)));
    assert!(totals.maybe_live_out.unwrap().contains(Bytes(10_489_880)));
    let temp = dump.allocations.iter().find(|a| a.temp).unwrap();
    assert_eq!(temp.values.len(), 2);
    assert_eq!(temp.values[1].shape, "f32[256,1024], f32[8,1024]");

    let text = read("jax0.10.2", "jit_step-memory-usage-report.txt");
    assert_eq!(sniff(text.as_bytes(), text.len() as u64, "x"), Kind::MemoryUsageText);
    let dump = XlaText::read(&text).unwrap();
    assert_eq!(dump.total, Some(TextSize::exact(23_601_188)));
    assert_eq!(dump.allocations.len(), 12);
    let totals = dump.totals();
    assert_eq!(
        (totals.parameter, totals.total),
        (None, Some(TextSize::exact(23_601_188))),
        "it has no kinds"
    );
    assert!(dump.allocations[0].size.unwrap().contains(Bytes(8_388_608)));
    // 1 MiB at offset 0 and 1 MiB at offset 1 MiB.
    assert!(dump.allocations[4].size.unwrap().contains(Bytes(2_097_152)));

    let cut = "Total bytes used: 100 (100B)\n\nAllocations sorted by size:\n\ncumulative_size; total_size - cumulative_size; \
               allocation\n---\n  90B( 90%); 10B; allocation 3: size 90B, preallocated-temp:\nThe rest 7 allocations are less \
               than 5% of the total size and not shown.\n";
    let dump = XlaText::read(cut).unwrap();
    assert_eq!((dump.cut, dump.totals().temp, dump.totals().total), (7, None, Some(TextSize::exact(100))));
}

#[test]
fn a_dump_is_a_plan_with_roles() {
    let plan = XlaText::read(&read("jax0.7.2", "jit_step-buffer-assignment.txt")).unwrap().plan(5);
    let names: Vec<_> =
        plan.buffers.iter().map(|b| (b.instruction.as_deref().unwrap(), b.role, b.parameter)).collect();
    assert_eq!(names.len(), 5);
    assert!(names.contains(&("dot.1", Some(Role::Backward), false)), "{names:?}");
    assert!(names.contains(&("multiply_subtract_fusion", Some(Role::Update), false)), "{names:?}");
    assert!(names.contains(&("params__w2__.1", None, true)), "{names:?}");
}

#[test]
fn the_module_is_in_the_files_name() {
    for (name, module) in [
        ("d/module_0010.jit_step.cpu_after_optimizations-buffer-assignment.txt", Some("jit_step")),
        (
            "module_0474.jit__kernel.sm_8.0_gpu_after_optimizations-memory-usage-report.txt",
            Some("jit__kernel"),
        ),
        ("module_0001.jit_f.gfx942_gpu_after_optimizations-buffer-assignment.txt", Some("jit_f")),
        ("jit_step-buffer-assignment.txt", Some("jit_step")),
        ("notes.txt", None),
    ] {
        assert_eq!(module_of_file(name).as_deref(), module, "{name}");
    }
}

#[test]
fn damaged_dumps_break_nothing() {
    let text = read("jax0.7.2", "jit_step-buffer-assignment.txt")
        + &read("jax0.10.2", "jit_step-memory-usage-report.txt");
    let chars: Vec<char> = text.chars().collect();
    let mut state = 3u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    for _ in 0..300 {
        let mut broken = chars.clone();
        for _ in 0..40 {
            let at = random(broken.len());
            broken[at] = ['|', '<', '\n', '9', ',', ':', 'é', ';'][random(8)];
        }
        broken.truncate(random(broken.len()));
        let broken: String = broken.into_iter().collect();
        if let Some(dump) = XlaText::read(&broken) {
            let _ = dump.plan(10);
        }
    }
}
