//! Rules that rest on shapes and totals of the plan.

use super::made::*;
use crate::findings::{Constant, Detail};
use crate::model::*;
use crate::units::{Bytes, Evidence};

fn with_parameters(parameters: &[(&str, &str)]) -> Detail {
    let mut detail = Detail::default();
    for &(path, shape) in parameters {
        detail.donation.parameters.push(parameter(path, shape, MIB, true));
    }
    detail
}

#[test]
fn stacked_residuals_lead_with_the_trip_count_and_lie_outside_the_body() {
    let mut report = report();
    with_peak(
        &mut report,
        &[
            ("f32[32,1,32,2048,2048]{4,3,2,1,0}", 300, 1, Role::Forward),
            ("bf16[32,4096,4096]{2,1,0}", 50, 1, Role::Backward),
            ("f32[4,2048]{1,0}", 50, 1, Role::Forward),
        ],
    );
    let stack = crate::findings::detail::parse_shape("f32[32,1,32,2048,2048]{4,3,2,1,0}").unwrap();
    let mut detail = Detail { stacks: vec![stack], ..Detail::default() };
    let it = &findings(&report, &detail)["stacked-residuals"];
    assert_eq!((it.severity, it.numbers["stacked_bytes"].value), (Severity::Note, (300 * MIB) as f64));
    assert_eq!(it.evidence, Evidence::Inferred);
    assert!(it.sentence.contains("75 % of the values live at the peak"), "{}", it.sentence);
    assert!(it.fixes[0].code.as_ref().unwrap().contains("jax.checkpoint(body)"));

    // A value of one iteration with a batch of 32.
    let buffers = &mut report.plan.as_mut().unwrap().peak.as_mut().unwrap().buffers;
    buffers[0].op_name = Some("jit(step)/while/body/closed_call/jvp(layer)/attn/div".into());
    assert!(!findings(&report, &detail).contains_key("stacked-residuals"));
    let buffers = &mut report.plan.as_mut().unwrap().peak.as_mut().unwrap().buffers;
    buffers[0].op_name = Some("jit(step)/jvp()/while/body/dynamic_update_slice".into());
    assert!(findings(&report, &detail).contains_key("stacked-residuals"));
    // Short-lived.
    let buffers = &mut report.plan.as_mut().unwrap().peak.as_mut().unwrap().buffers;
    buffers[0].last_event = Some(20);
    assert!(!findings(&report, &detail).contains_key("stacked-residuals"));
    // No loop carries it.
    detail.stacks[0].dims[0] = 31;
    assert!(!findings(&report, &detail).contains_key("stacked-residuals"));
}

#[test]
fn logits_have_the_vocabulary_last_and_are_no_weight() {
    let mut report = report();
    with_temp(&mut report, 3500);
    with_peak(
        &mut report,
        &[
            ("f32[8192,32000]{1,0}", 1000, 1, Role::Forward),
            ("f32[8,1024,32000]{2,1,0}", 1000, 1, Role::Backward),
            ("f32[4096,32000]{1,0}", 500, 1, Role::Backward),
            ("f32[8,1024,11008]{2,1,0}", 1000, 1, Role::Forward),
        ],
    );
    let detail =
        with_parameters(&[("state.wte", "f32[32000,4096]{1,0}"), ("state.up", "f32[4096,11008]{1,0}")]);
    let it = &findings(&report, &detail)["vocabulary-logits"];
    // The plan is larger than the pool: then it is a warning.
    assert_eq!((it.severity, it.numbers["logits_bytes"].value), (Severity::Warning, (2000 * MIB) as f64));
    assert_eq!(it.numbers["vocabulary"].value, 32000.0);
    // The widest weight of a block is no vocabulary.
    let detail = with_parameters(&[("state.up", "f32[4096,11008]{1,0}")]);
    assert!(!findings(&report, &detail).contains_key("vocabulary-logits"));
}

#[test]
fn float32_copies_have_a_twin_in_16_bits_and_none_in_32() {
    let mut report = report();
    with_peak(
        &mut report,
        &[("f32[4096,1024]{1,0}", 300, 1, Role::Update), ("f32[7]{0}", 100, 1, Role::Forward)],
    );
    let twin = with_parameters(&[("params.w", "bf16[4096,1024]{1,0}")]);
    let it = &findings(&report, &twin)["float32-copies"];
    assert_eq!(it.numbers["copies_bytes"].value, (300 * MIB) as f64);
    // A product in the forward pass with the shape of a parameter: XLA sums in float32.
    let mut product = report.clone();
    with_peak(&mut product, &[("f32[4096,1024]{1,0}", 300, 1, Role::Forward)]);
    assert!(!findings(&product, &twin).contains_key("float32-copies"));
    // Adam's moments are float32 by right.
    let both = with_parameters(&[("params.w", "bf16[4096,1024]{1,0}"), ("mu.w", "f32[4096,1024]{1,0}")]);
    assert!(!findings(&report, &both).contains_key("float32-copies"));
    let neither = with_parameters(&[("mu.w", "f32[4096,1024]{1,0}")]);
    assert!(!findings(&report, &neither).contains_key("float32-copies"));
}

#[test]
fn whole_arrays_are_a_shard_times_the_devices_and_not_gathered_weights() {
    let mut report = report();
    with_peak(&mut report, &[("u32[32,14336,4096]{2,1,0}", 400, 1, Role::Update)]);
    let mut detail = with_parameters(&[("params.w", "bf16[32,14336,512]{2,1,0}")]);
    assert!(!findings(&report, &detail).contains_key("unsharded"));
    detail.partitions = Some(8);
    let it = &findings(&report, &detail)["unsharded"];
    assert_eq!(it.numbers["whole_bytes"].value, (400 * MIB) as f64);
    assert!(it.fixes.iter().any(|f| f.id == "constrain"));
    let buffers = &mut report.plan.as_mut().unwrap().peak.as_mut().unwrap().buffers;
    buffers[0].op_name = Some("jit(init)/threefry2x32".into());
    assert!(findings(&report, &detail)["unsharded"].fixes.iter().any(|f| f.id == "threefry-partitionable"));
    let buffers = &mut report.plan.as_mut().unwrap().peak.as_mut().unwrap().buffers;
    buffers[0].instruction = "all-gather.3".into();
    assert!(!findings(&report, &detail).contains_key("unsharded"));
}

#[test]
fn constants_count_once_for_each_executable() {
    let mut report = report();
    report.modules[0].spaces[0].constants_bytes = Bytes(8 * MIB);
    assert!(!findings(&report, &Detail::default()).contains_key("captured-constants"));
    let mut other = report.modules[0].clone();
    other.name = "jit_train_step(19)".into();
    other.program_id = "19".into();
    report.modules.push(other);
    let detail = Detail {
        constants: vec![Constant {
            shape: "f32[1024,2048]{1,0}".into(),
            bytes: Bytes(8 * MIB),
            source: None,
        }],
        ..Detail::default()
    };
    let it = &findings(&report, &detail)["captured-constants"];
    assert_eq!(
        (it.severity, it.numbers["constants_of_all_bytes"].value),
        (Severity::Note, (16 * MIB) as f64)
    );
    assert!(it.sentence.contains("the largest `f32[1024,2048]` (8.00 MiB)"), "{}", it.sentence);
}

#[test]
fn xla_planned_for_the_card_where_it_kept_to_that_budget() {
    // 0.80 × 4000 − 300 = 2900 MiB, of which 95 % are 2755.
    let mut report = report();
    with_temp(&mut report, 2740);
    failed(&mut report, 300, 2700);
    let all = findings(&report, &Detail::default());
    let it = &all["xla-budget"];
    assert!((it.numbers["temp_budget_bytes"].value / MIB as f64 - 2755.0).abs() < 1.0);
    // 2700 MiB free ÷ 2900.
    let code = it.fixes[0].code.as_deref();
    assert_eq!(code, Some("XLA_FLAGS=--xla_gpu_memory_limit_slop_factor=93"));
    assert!(
        it.sentence.ends_with("_slop_factor=93 would have asked for that, instead of 95."),
        "{}",
        it.sentence
    );
    // 300 MiB free are 10 %: the value is told, and no fix is made of it.
    let mut full = report.clone();
    full.executions[0].in_use_start_bytes = Some(Bytes(2700 * MIB));
    let tight = findings(&full, &Detail::default());
    assert!(
        tight["xla-budget"].sentence.contains("_slop_factor=10 would"),
        "{}",
        tight["xla-budget"].sentence
    );
    assert_eq!(tight["xla-budget"].numbers["matching_factor_percent"].value, 10.0);
    assert!(tight["xla-budget"].fixes.is_empty());
    assert!(tight["xla-budget"].cause.ends_with("first make room."), "{}", tight["xla-budget"].cause);
    assert!(all["pool-smaller-than-card"].numbers["wanted_bytes"].value > (3000 * MIB) as f64);
    // It missed the budget already: a smaller one changes nothing.
    with_temp(&mut report, 2800);
    assert!(!findings(&report, &Detail::default()).contains_key("xla-budget"));
    // On another kind of device the budget is another.
    with_temp(&mut report, 2740);
    report.platform.backend = Some(Backend::Tpu);
    assert!(!findings(&report, &Detail::default()).contains_key("xla-budget"));
}

#[test]
fn a_larger_pool_is_offered_only_between_pool_and_card() {
    let pool = |temp: u64| {
        let mut report = report();
        with_temp(&mut report, temp);
        failed(&mut report, 300, 2700);
        let all = findings(&report, &Detail::default());
        all.get("pool-smaller-than-card").map(|f| f.fixes.clone())
    };
    let fixes = pool(2900).unwrap();
    assert_eq!(fixes[0].code.as_deref(), Some("XLA_CLIENT_MEM_FRACTION=0.81"));
    assert_eq!(fixes[0].fits_after, Some(Fits::Yes));
    // Nearly the whole card: it may starve what is outside the pool.
    assert_eq!(pool(3550).unwrap()[0].fits_after, Some(Fits::Maybe));
    assert!(pool(3699).unwrap().is_empty());
    assert!(pool(3800).is_none());
}

#[test]
fn rematerialization_is_a_note_with_its_budget() {
    let mut report = report();
    assert!(!findings(&report, &Detail::default()).contains_key("xla-rematerialized"));
    report.modules[0].rematerialized_instructions = 89;
    let it = &findings(&report, &Detail::default())["xla-rematerialized"];
    assert_eq!((it.severity, it.evidence), (Severity::Note, Evidence::Inferred));
    assert!(it.sentence.contains("89 instructions"), "{}", it.sentence);
}

/// So many small modules, each run once.
fn operations(names: &[&str], count: u64) -> Report {
    let mut report = report();
    for i in 0..count {
        let mut m = report.modules[0].clone();
        m.base_name = names[i as usize % names.len()].into();
        m.program_id = (100 + i).to_string();
        m.name = format!("{}({})", m.base_name, m.program_id);
        m.instructions = 6;
        m.spaces[0].need_bytes = Bytes((64 + i) * MIB);
        report.modules.push(m);
        ran(&mut report, 300);
        let e = report.executions.last_mut().unwrap();
        e.module = None;
        e.program_id = Some((100 + i).to_string());
    }
    report.module = Some(report.modules[1].name.clone());
    report
}

#[test]
fn many_operations_are_summed_and_not_listed() {
    let mut report = operations(&["jit_multiply", "jit_add", "jit_exp"], 90);
    for module in ["jit_multiply(100)", "jit_multiply(103)", "jit_add(101)"] {
        live(&mut report, LiveKind::Outputs, "outputs", 200, Some(0));
        report.live_at_last_start.last_mut().unwrap().module = Some(module.into());
    }
    let all = findings(&report, &Detail::default());
    let it = &all["op-by-op"];
    assert_eq!((it.severity, it.numbers["modules"].value), (Severity::Note, 90.0));
    assert!(it.sentence.contains("600.00 MiB in 3 arrays"), "{}", it.sentence);
    assert!(it.sentence.contains("jit_multiply 400.00 MiB and jit_add 200.00 MiB"), "{}", it.sentence);
    assert!(it.sentence.len() < 500);
    assert!(!all.contains_key("many-executables"));
    // Half the pool is a warning.
    report.live_at_last_start[0].bytes = Bytes(1500 * MIB);
    assert_eq!(findings(&report, &Detail::default())["op-by-op"].severity, Severity::Warning);
    // Weights made op by op, and then a step.
    report.module = Some("jit_train_step(17)".into());
    assert!(!findings(&report, &Detail::default()).contains_key("op-by-op"));
    // A few operations are an example.
    let few = operations(&["jit_multiply", "jit_add", "jit_exp"], 30);
    assert!(!findings(&few, &Detail::default()).contains_key("op-by-op"));
}

#[test]
fn one_function_compiled_for_many_shapes_is_a_note() {
    let many = operations(&["jit_generate"], 8);
    let it = &findings(&many, &Detail::default())["many-executables"];
    assert_eq!((it.severity, it.numbers["executables"].value), (Severity::Note, 8.0));
    assert!(it.sentence.contains("8 executables called jit_generate"), "{}", it.sentence);
    let few = operations(&["jit_generate"], 7);
    assert!(!findings(&few, &Detail::default()).contains_key("many-executables"));
}
