//! Evidence beside a capture or a plan, as a user gives it: the whole way through the driver.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use oomscope::analysis::{Options, Session, read};
use oomscope::cli::files::FileSource;
use oomscope::evidence::memory_profile::{MemoryProfile, match_rest};
use oomscope::model::{Finding, MatchedBy, ModuleWhy, Report, Severity, VerdictStatus};
use oomscope::report::{markdown, text};
use oomscope::units::{Bytes, Evidence};
use std::collections::BTreeMap;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

fn session(path: &Path) -> Session<FileSource> {
    let name = path.file_name().unwrap().to_string_lossy();
    read(FileSource::open(path).unwrap(), &name, |_| {}).unwrap()
}

fn whole() -> Options {
    Options { top: usize::MAX, ..Options::default() }
}

fn finding<'a>(report: &'a Report, id: &str) -> &'a Finding {
    report.findings.iter().find(|f| f.id == id).unwrap_or_else(|| panic!("no {id}: {:#?}", report.findings))
}

/// The text alone says 54.42G and 15.75G; the plan says to the byte what that is, and what would help.
#[test]
fn a_failed_compilation_beside_its_plan() {
    let Some(plan) = support::shared("plans/tpu/llama7b_remat.compile_oom.hlo.pb") else { return };
    let Some(message) = support::shared("plans/tpu/llama7b_remat.compile_oom.txt") else { return };
    let mut session = session(&plan);
    session.add_error_text(&std::fs::read_to_string(message).unwrap());
    let report = session.report(&whole());
    let matched = report.error_text.as_ref().unwrap().matched.as_ref().unwrap();
    assert_eq!((matched.by, matched.module.as_deref()), (MatchedBy::Need, Some("jit_train_step")));
    assert_eq!(
        matched.sentence,
        "The 54.42 GiB of your error is the whole need of jit_train_step (58438012416 bytes). It did not compile: the device \
         has 15.75 GiB."
    );
    assert_eq!(report.module_why, Some(ModuleWhy::ErrorText));
    assert_eq!(report.verdict.status, VerdictStatus::OutOfMemory);
    assert_eq!(
        report.verdict.sentence,
        "jit_train_step cannot run: its plan needs 54.42 GiB, the device has 15.75 GiB, short by 38.67 GiB."
    );
    let it = finding(&report, "step-does-not-fit");
    assert_eq!((it.severity, it.evidence), (Severity::Error, Evidence::Inferred));
    assert_eq!(it.numbers["need_bytes"].value, 58_438_012_416.0);
    assert_eq!(it.numbers["parameters_bytes"].value, 40_430_511_104.0);
    assert_eq!(it.numbers["device_bytes"].evidence, Evidence::Inferred, "the text rounds it");
    let shard = it.fixes.iter().find(|f| f.id.starts_with("shard")).unwrap();
    assert!(shard.need_after_most_bytes.unwrap() < Bytes(16 << 30), "{shard:#?}");
    // What the text says alone is not said twice.
    assert_eq!(report.findings.iter().filter(|f| f.id == "step-does-not-fit").count(), 1);
}

/// A compiler's message of another program is none of the plan's.
#[test]
fn a_failed_compilation_of_another_program() {
    let Some(plan) = support::shared("plans/tpu/gpt_plain.hlo.pb") else { return };
    let mut session = session(&plan);
    session.add_error_text(
        "Ran out of memory on HBM, the total memory required for HLO temporaries (54.42G) exceeds available HBM (15.75G).",
    );
    let report = session.report(&whole());
    let matched = report.error_text.as_ref().unwrap().matched.as_ref().unwrap();
    assert_eq!((matched.by, &matched.module), (MatchedBy::Nothing, &None));
    assert!(report.findings.iter().all(|f| f.id != "step-does-not-fit"), "{:#?}", report.findings);
    assert_eq!(report.verdict.status, VerdictStatus::CannotTell);
}

/// The dump of the allocator in the text is the pool that the plan alone does not know.
#[test]
fn a_plan_beside_the_text_with_its_pool() {
    let Some(plan) = support::shared("plans/scenarios/p1_attention_too_large.hlo.pb") else { return };
    let mut session = session(&plan);
    session.add_error_text(
        "BFCAllocator dump for GPU_0_bfc\nStats:\nLimit: 2995781632\nInUse: 324602368\nMaxInUse: 324602368\n\
         Out of memory while trying to allocate 3.41GiB with allocator GPU_0_bfc on device 0. [executable_name='jit_train_step']",
    );
    let report = session.report(&whole());
    let it = finding(&report, "step-does-not-fit");
    assert_eq!(it.numbers["pool_bytes"].value, 2_995_781_632.0);
    assert!(
        it.fixes.iter().any(|f| f.id == "remat" && f.need_after_least_bytes.is_some()),
        "{:#?}",
        it.fixes
    );
    let note = finding(&report, "error-text");
    assert_eq!(
        note.sentence,
        "The 3.41 GiB of your error is the temp block of jit_train_step (3666631960 bytes)."
    );
}

/// Every difference is told, not the first alone.
#[test]
fn differences_between_text_and_plan() {
    let Some(plan) = support::shared("plans/scenarios/p3_donated.hlo.pb") else { return };
    let mut session = session(&plan);
    session.add_error_text(
        "Out of memory while trying to allocate 1.00GiB. [executable_name='jit_train_step']\nBufferAssignment OOM Debugging.\n\
         BufferAssignment stats:\n  parameter allocation:  1.00GiB\n  preallocated temp allocation:  1.00GiB\nPeak buffers:\n",
    );
    let report = session.report(&whole());
    let sentence = &finding(&report, "error-text").sentence;
    assert!(sentence.contains("parameter allocation 1.00 GiB in the text and"), "{sentence}");
    assert!(sentence.contains("preallocated temp allocation 1.00 GiB in the text and"), "{sentence}");
    assert!(sentence.contains("it is not the same compilation"), "{sentence}");
}

/// Sums against an independent reading of the same file, and against what the simulation knows.
#[test]
fn a_program_that_runs_op_by_op_in_sums() {
    let Some(path) = support::capture("s9_eager_300_modules") else { return };
    let (Some(expected), Some(truth)) = (
        support::shared("expected/s9_eager_300_modules.json"),
        support::shared("scenarios/s9_eager_300_modules.truth.json"),
    ) else {
        return;
    };
    let (expected, truth) = (support::json(&expected), support::json(&truth));
    let report = session(&path).report(&whole());
    let ops = report.op_by_op.as_ref().unwrap();
    assert_eq!((ops.modules, ops.executions), (truth["distinct_modules_run"].as_u64().unwrap(), 433));
    let kept = &truth["kept_outputs"];
    let alive: u64 = ops.by_function.iter().map(|f| f.live_arrays).sum();
    assert_eq!(alive, kept["arrays"].as_u64().unwrap());

    let mut runs: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for e in expected["executions"].as_array().unwrap() {
        // One that asked for nothing has no name there: the one that failed.
        let Some(name) = e["mod"].as_str() else { continue };
        let sum = runs.entry(name).or_default();
        sum.0 += 1;
        sum.1 += e["req"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>();
    }
    for (name, (executions, asked)) in &runs {
        let sum = ops.by_function.iter().find(|f| f.name.as_deref() == Some(name)).unwrap();
        let failed = u64::from(*name == "jit__where");
        assert_eq!((sum.executions - failed, sum.requested_bytes.0), (*executions, *asked), "{name}");
    }
    assert_eq!(ops.by_function.len(), runs.len());
    // Chunks are up to twice what was asked for.
    for (name, bytes) in kept["by_module"].as_object().unwrap() {
        let sum = ops.by_function.iter().find(|f| f.name.as_deref() == Some(name)).unwrap();
        let asked = bytes.as_u64().unwrap();
        assert!((asked..asked * 2).contains(&sum.live_bytes.0), "{name}: {asked} {:?}", sum.live_bytes);
    }
    let [line] = ops.by_line.as_slice() else { panic!("{:#?}", ops.by_line) };
    assert_eq!(
        (line.name.as_deref(), line.executions, line.modules),
        (Some("$eager_train.py:88 main"), 433, 288)
    );

    // The text shows the sums, and no list that goes on for pages.
    let shown = text(&session(&path).report(&Options::default()));
    assert!(shown.contains("Op by op: 433 executions of 288 modules, summed"), "{shown}");
    assert!(shown.contains("$eager_train.py:88 main"), "{shown}");
    assert!(shown.lines().count() < 140, "{}", shown.lines().count());
    assert!(shown.lines().filter(|l| l.contains("outputs of jit_")).count() == 0, "{shown}");
    let shown = markdown(&report);
    assert!(
        shown.contains("| `$eager_train.py:88 main` | 288 | 433 | 4.09 GiB | 121 | 2.68 GiB |"),
        "{shown}"
    );
    assert!(!shown.contains("outputs of jit"), "{shown}");
}

/// A jitted program has modules of one operation around its step: no sums of these.
#[test]
fn a_jitted_program_is_not_summed() {
    for name in ["s1_plan_too_large", "rocm-mi300x-jax0.8-elementwise", "cpu-jax0.10.2-eager"] {
        let Some(path) = support::capture(name) else { continue };
        assert_eq!(session(&path).report(&whole()).op_by_op, None, "{name}");
    }
}

/// On a TPU the temp of a loaded program is reserved, not in use. Numbers from the events' own `bytes_available`.
#[test]
fn a_tpu_is_tightest_where_programs_are_loaded() {
    let Some(path) = support::capture("tpu-v6e-inference") else { return };
    let report = session(&path).report(&whole());
    let least: Vec<_> = report
        .allocators
        .iter()
        .map(|a| a.least_free.map(|l| (l.bytes.0, l.in_use_bytes.0, l.reserved_bytes.0)).unwrap())
        .collect();
    let reserved = 21_491_712_000;
    assert_eq!(
        least,
        [
            (12_057_668_480, 857_216, reserved),
            (12_057_566_592, 959_104, reserved),
            (12_057_566_592, 959_104, reserved),
            (12_057_668_480, 857_216, reserved),
        ]
    );
    // The temp block of jit_f, and 16 MiB that the runtime adds.
    let f = report.modules.iter().find(|m| m.base_name == "jit_f").unwrap();
    assert_eq!(reserved - f.spaces[0].temp_bytes.0, 16 << 20);
    assert_eq!(f.executions, Some(400), "100 on each of 4 devices, by the devices' lines");
    let names: Vec<&str> = f.spaces.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["HBM", "VMEM", "sync flags", "host memory"]);
    let it = finding(&report, "fits");
    assert_eq!(it.numbers["headroom_bytes"].value, 12_057_566_592.0);
    assert!(it.sentence.contains("11.23 GiB (36 %) stayed free"), "{}", it.sentence);
    assert!(report.verdict.sentence.contains("reserved for loaded programs"), "{}", report.verdict.sentence);
    let shown = text(&report);
    assert!(shown.contains("only the devices' own lines tell: jit__psum 12, jit_f 400"), "{shown}");
}

/// On a GPU nothing is reserved: the tightest moment is the peak.
#[test]
fn a_gpu_is_tightest_at_its_peak() {
    let Some(path) = support::capture("rocm-mi300x-jax0.8-conv") else { return };
    let report = session(&path).report(&whole());
    for a in &report.allocators {
        let (Some(least), Some(capacity), Some(peak)) = (a.least_free, a.capacity_bytes, a.peak_bytes) else {
            continue;
        };
        assert_eq!((least.bytes, least.reserved_bytes.0), (capacity.saturating_sub(peak), 0), "{}", a.name);
    }
}

#[test]
fn a_profile_beside_an_earlier_one_is_their_difference() {
    let profile = |name: &str| {
        let path = format!("{FIXTURES}/memory_profile/{name}");
        let packed = std::fs::read(path).unwrap();
        oomscope::analysis::unpacked(&packed.as_slice(), name, 1 << 20).unwrap()
    };
    let after = profile("keep-after.prof");
    let mut later = read(after.as_slice(), "keep-after.prof", |_| {}).unwrap();
    later.add_memory_profile(&profile("keep-before.prof")).unwrap();
    let report = later.report(&whole());
    assert_eq!(
        report.verdict.sentence,
        "Live arrays grew from 20.51 MiB to 50.52 MiB between the two profiles, by 30.01 MiB."
    );
    let section = report.memory_profile.as_ref().unwrap();
    let [change] = section.changes.as_slice() else { panic!("{:#?}", section.changes) };
    assert_eq!((change.count_before, change.count_after), (0, 9));
    // What is shown below is the later profile, not the earlier one.
    assert_eq!(section.totals[0].count, 16);
    let shown = text(&report);
    assert!(shown.contains("Changed since the earlier profile"), "{shown}");
    assert!(shown.contains("The same by call, outermost first"), "{shown}");
}

#[test]
fn a_constant_that_found_no_room() {
    let text = "jaxlib._jax.XlaRuntimeError: INTERNAL: Failed to allocate 402653184 bytes for new constant";
    let report = read(text.as_bytes(), "error.txt", |_| {}).unwrap().report(&whole());
    assert_eq!(
        report.verdict.sentence,
        "The program was not loaded: 384.00 MiB (402653184 bytes) for one of its constants were not free."
    );
    let it = finding(&report, "captured-constants");
    assert_eq!((it.severity, it.numbers["request_bytes"].value), (Severity::Error, 402_653_184.0));
    assert_eq!(it.fixes[0].id, "pass-as-argument");
}

/// What libraries ask for is outside the pool; a capture knows how much of the card that is.
#[test]
fn a_library_beside_a_capture() {
    let Some(path) = support::capture("s1_plan_too_large") else { return };
    let mut session = session(&path);
    session.add_error_text("Could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED");
    let report = session.report(&whole());
    let it = finding(&report, "not-device-memory");
    // The card of the scenario is cut to 3.99 GB; the pool is three quarters of it.
    let card = report.platform.devices[0].memory_bytes.unwrap().0;
    assert_eq!(it.numbers["pool_bytes"].value, 2_995_781_632.0);
    assert_eq!(it.numbers["outside_bytes"].value, (card - 2_995_781_632) as f64);
    assert!(it.sentence.contains("the pool GPU_0_bfc has 2.79 GiB, 75 % of the card"), "{}", it.sentence);
    let limit = report.limits.iter().find(|l| l.id == "outside-the-pool").unwrap();
    assert!(limit.sentence.contains("GPU_0_bfc leaves"), "{}", limit.sentence);
}

/// JAX 0.10.2 hoists arrays from outside to leading arguments, which have no name.
#[test]
fn arrays_from_outside_that_are_arguments() {
    let report = session(Path::new(&format!("{FIXTURES}/captured/hoisted.hlo.pb"))).report(&whole());
    let it = finding(&report, "captured-constants");
    assert_eq!((it.severity, it.evidence), (Severity::Note, Evidence::Inferred));
    assert_eq!((it.numbers["arrays_bytes"].value, it.numbers["arrays"].value), ((5 << 20) as f64, 2.0));
    assert!(
        it.sentence.contains("`f32[1024,1024]` (4.00 MiB) and `f32[512,512]` (1.00 MiB)"),
        "{}",
        it.sentence
    );
    // The same parameters with names, and with none at all: nothing is from outside.
    let other = format!("{FIXTURES}/xla_text/jax0.7.2/jit_step.hlo.pb");
    assert!(
        session(Path::new(&other)).report(&whole()).findings.iter().all(|f| f.id != "captured-constants")
    );
}

/// What was allocated before a capture and never freed in it is one sum there; a profile has its parts.
#[test]
fn a_profile_has_the_parts_of_a_sum() {
    let packed = std::fs::read(format!("{FIXTURES}/memory_profile/keep-after.prof")).unwrap();
    let bytes = oomscope::analysis::unpacked(&packed.as_slice(), "keep-after.prof", 1 << 20).unwrap();
    let profile = MemoryProfile::read(&bytes).unwrap().0;
    let chunks = |most: u64| -> (u64, u64) {
        let arrays = profile.stacks.iter().filter(|s| s.kind == "buffer").flat_map(|s| &s.sizes);
        let fits = arrays.map(|a| (a.bytes.0.next_multiple_of(256), a.count)).filter(|a| a.0 <= most);
        fits.fold((0, 0), |sum, (chunk, n)| (sum.0 + n, sum.1 + chunk * n))
    };
    let (count, sum) = chunks(u64::MAX);
    assert_eq!(count, 16);
    let all = match_rest(&profile, None, "GPU_0_bfc", Bytes(sum)).unwrap();
    assert_eq!((all.profile_count, all.profile_bytes, all.exact), (16, Bytes(sum), true));
    assert_eq!(all.places[0].0.line, Some(27), "most bytes first");
    // Of a smaller sum the larger arrays are no part.
    let (count, bytes) = chunks(1 << 20);
    let some = match_rest(&profile, None, "GPU_0_bfc", Bytes(1 << 20)).unwrap();
    assert_eq!((some.profile_count, some.profile_bytes, some.exact), (count, Bytes(bytes), false));
    assert!(count < 16);
    assert_eq!(match_rest(&profile, None, "GPU_0_bfc", Bytes(255)), None);
    assert_eq!(match_rest(&profile, Some("cuda:0"), "GPU_0_bfc", Bytes(sum)), None);
}

/// Arrays of the host are no part of a GPU's pool.
#[test]
fn a_profile_of_another_platform_says_nothing_of_the_capture() {
    let (Some(capture), Some(profile)) =
        (support::capture("s5_other_live"), support::shared("captures/made/cpu-jax0.10.2-memory.prof"))
    else {
        return;
    };
    let packed = std::fs::read(profile).unwrap();
    let bytes = oomscope::analysis::unpacked(&packed.as_slice(), "memory.prof", 1 << 20).unwrap();
    let mut session = session(&capture);
    session.add_memory_profile(&bytes).unwrap();
    let report = session.report(&whole());
    let section = report.memory_profile.as_ref().unwrap();
    assert_eq!((section.before_capture.len(), section.before_capture_rest.len()), (0, 0));
    assert_eq!(section.totals[0].bytes, Bytes(13_631_488), "what it holds is shown all the same");
    let [warning] = report.warnings.as_slice() else { panic!("{:#?}", report.warnings) };
    assert!(
        warning.message.starts_with(
            "The memory profile is of another platform: its arrays are on cpu:0, the capture is of a GPU (Nvidia)."
        ),
        "{}",
        warning.message
    );
    assert!(text(&report).contains("of another platform"));
}

/// What a TPU reserves for a program is its temp and a little more: 20.02 GiB in the events of this capture.
#[test]
fn a_tpu_program_that_was_not_loaded() {
    let Some(path) = support::capture("tpu-v6e-inference") else { return };
    let of = |size: &str| {
        let mut session = session(&path);
        session.add_error_text(&format!(
            "RESOURCE_EXHAUSTED: Error loading program: Attempting to reserve {size} at the bottom of memory. That was not \
             possible. There are 8.67G free, 0B reserved, and 8.67G reservable."
        ));
        let report = session.report(&whole());
        finding(&report, "error-text").sentence.clone()
    };
    assert_eq!(
        of("20.02G"),
        "The 20.02 GiB of your error is what jit_f(12190760917235803885) reserves when it is loaded: its temp block \
         (21474934784 bytes) and a little more. No launch failed in this capture: the error is of another moment or another run."
    );
    assert!(of("20.09G").contains("is no output and no temp block"), "{}", of("20.09G"));
}

/// One request can be more than the pool that the text names.
#[test]
fn a_request_beyond_the_pool_in_the_text() {
    let of = |limit: u64| {
        let text = format!(
            "BFCAllocator dump for GPU_0_bfc\nStats:\nLimit: {limit}\nInUse: 1000000000\nMaxInUse: 1000000000\n\
             Out of memory while trying to allocate 3666631960 bytes."
        );
        read(text.as_bytes(), "error.txt", |_| {}).unwrap().report(&whole())
    };
    let report = of(2_995_781_632);
    let it = finding(&report, "step-does-not-fit");
    assert_eq!(
        it.sentence,
        "The program asked for 3.41 GiB (3666631960 bytes) in one piece: that is more than the pool has in all, 2.79 GiB \
         (2995781632 bytes), by about 639.77 MiB."
    );
    assert_eq!(it.evidence, Evidence::Read);
    // In a larger pool the text tells what was free, and not who held the rest.
    let report = of(4 << 30);
    let it = finding(&report, "failed-request");
    assert!(
        it.sentence.contains(
            "The pool has 4.00 GiB (4294967296 bytes), of which 3.07 GiB (3294967296 bytes) were free"
        ),
        "{}",
        it.sentence
    );
}

/// 24 allocations of the step have this size: the run shows which of them was not had.
#[test]
fn a_request_is_the_one_that_the_failed_launch_did_not_get() {
    let Some(capture) = support::capture("s3_no_donation_leak") else { return };
    let mut session = session(&capture);
    session.add_error_text("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 36700160 bytes.");
    let report = session.report(&whole());
    let missing = report.retries.iter().find_map(|r| r.missing.clone()).unwrap();
    let matched = report.error_text.as_ref().unwrap().matched.clone().unwrap();
    assert_eq!(missing.allocation, Some(matched.request[0].allocation));
    assert_eq!(matched.request[0].what, missing.what);
    assert_eq!(
        matched.sentence,
        "The 35.00 MiB (36700160 bytes) of your error is the output 105 f32[4480,2048] of jit_train_step(17) (36700160 bytes): \
         this capture shows the launch that did not get it. 23 other allocations of the plan have its size."
    );
}
