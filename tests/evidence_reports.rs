//! Reports of evidence without a capture, and of both together.
#![allow(clippy::unwrap_used, clippy::panic)]

use oomscope::analysis::evidence::{
    add_error_text, add_memory_profile, of_dump, of_error_text, of_memory_profile,
};
use oomscope::evidence::archive::{Limits, walk};
use oomscope::evidence::error_text::{Candidate, ErrorText};
use oomscope::evidence::memory_profile::MemoryProfile;
use oomscope::evidence::xla_text::XlaText;
use oomscope::hlo::Hlo;
use oomscope::model::{
    Allocator, AllocatorKind, Backend, Finding, LiveArray, Report, Role, Severity, SourceInfo, SourceKind,
    VerdictStatus,
};
use oomscope::plan::Summary;
use oomscope::report::{markdown, text, to_json};
use oomscope::terms::BEFORE_CAPTURE;
use oomscope::units::{Bytes, Evidence};
use std::ops::ControlFlow;

const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared");
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

fn info(file: &str, kind: SourceKind) -> SourceInfo {
    SourceInfo { file: file.into(), size_bytes: Bytes(1), host: None, kind }
}

fn of_text(text: &str) -> Report {
    of_error_text(info("error.txt", SourceKind::ErrorText), ErrorText::read(text))
}

fn found<'a>(report: &'a Report, id: &str) -> &'a Finding {
    report.findings.iter().find(|f| f.id == id).unwrap_or_else(|| panic!("no {id}: {:#?}", report.findings))
}

/// Every face shows a report without trouble, and JSON holds all of it.
fn shows(report: &Report) -> String {
    let back: Report = serde_json::from_str(&to_json(report)).unwrap();
    assert_eq!(&back, report);
    assert!(!markdown(report).is_empty());
    text(report)
}

const PLAN: &str = r#"BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:  309.56MiB
              constant allocation:         0B
        maybe_live_out allocation:  309.50MiB
     preallocated temp allocation:    3.41GiB
  preallocated temp fragmentation:         0B (0.00%)
                 total allocation:    3.72GiB
Peak buffers:
	Buffer 1:
		Size: 256.00MiB
		Operator: op_name="jit(train_step)/jvp(attn)/softmax/exp" source_file="/home/u/gpt.py" source_line=41
		XLA Label: exponential
		Shape: f32[8,8,1024,1024]
		==========================

	Buffer 2:
		Size: 128.00MiB
		Operator: op_name="jit(train_step)/transpose(jvp(attn))/mul" source_file="/home/u/gpt.py" source_line=41
		XLA Label: multiply
		Shape: f32[8,8,1024,512]
		==========================

	Buffer 3:
		Size: 64.00MiB
		XLA Label: custom-call
		Shape: s8[67108864]
		==========================
"#;

#[test]
fn a_text_with_its_plan() {
    let report = of_text(&format!(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3.41GiB with allocator GPU_0_bfc on device 0. \
         [executable_name='jit_train_step']\n{PLAN}"
    ));
    assert_eq!(
        (report.verdict.status, report.module.as_deref()),
        (VerdictStatus::OutOfMemory, Some("jit_train_step"))
    );
    assert_eq!(
        report.verdict.sentence,
        "jit_train_step asked GPU_0_bfc for 3.41 GiB, its temp block, and did not get it."
    );
    assert_eq!(report.platform.backend, Some(Backend::Gpu));
    let finding = found(&report, "failed-request");
    assert!(finding.sentence.contains("In all it needs 3.72 GiB"), "{}", finding.sentence);
    assert!(finding.sentence.contains("309.56 MiB parameters"), "{}", finding.sentence);
    // Parameters and outputs are the same memory already: 309.56 + 309.50 MiB + 3.41 GiB is more than 3.72 GiB.
    assert!(finding.fixes.iter().all(|f| f.id != "donate"), "{:#?}", finding.fixes);
    assert!(finding.fixes.iter().any(|f| f.id == "remat"));
    let text = report.error_text.as_ref().unwrap();
    let buffers = &text.failures[usize::try_from(text.main.unwrap()).unwrap()].plan.as_ref().unwrap().buffers;
    let roles: Vec<_> = buffers.iter().map(|b| (b.role, b.role_evidence)).collect();
    assert_eq!(
        roles,
        [
            (Some(Role::Forward), Some(Evidence::Read)),
            (Some(Role::Backward), Some(Evidence::Read)),
            (Some(Role::Workspace), Some(Evidence::Inferred)),
        ]
    );
    let shown = shows(&report);
    assert!(shown.contains("f32[8,8,1024,1024]") && shown.contains("gpt.py:41"), "{shown}");
    assert!(report.limits.iter().any(|l| l.id == "text-only"));
}

#[test]
fn donation_where_the_total_counts_both() {
    let undonated = PLAN.replace("3.72GiB", "4.01GiB");
    let report = of_text(&format!("Out of memory while trying to allocate 3.41GiB.\n{undonated}"));
    let fix = found(&report, "failed-request").fixes.iter().find(|f| f.id == "donate").unwrap();
    let (least, most) = (fix.need_after_least_bytes.unwrap(), fix.need_after_most_bytes.unwrap());
    // No more than now, and less by the outputs at most.
    assert_eq!((least.to_string().as_str(), most.to_string().as_str()), ("3.71 GiB", "4.01 GiB"));
}

/// The dump of a pool beside the message tells who is to blame.
#[test]
fn a_text_with_the_allocators_dump() {
    let dump = |limit: u64, in_use: u64, free_chunks: &[u64]| {
        let free: String =
            free_chunks.iter().map(|n| format!("Free  at 7f00 of size {n} next 1\n")).collect();
        format!(
            "BFCAllocator dump for GPU_0_bfc\n{free}Stats: \nLimit:  {limit}\nInUse:  {in_use}\nMaxInUse: {in_use}\n\
             NumAllocs: 9\nMaxAllocSize: 9\n"
        )
    };
    let message = format!("Out of memory while trying to allocate 3666631960 bytes.\n{PLAN}");
    // The pool of the scenario: smaller than the need.
    let report = of_text(&format!("{}{message}", dump(2_995_781_632, 324_602_368, &[2_600_000_000])));
    let finding = found(&report, "step-does-not-fit");
    assert_eq!(finding.severity, Severity::Error);
    assert!(
        finding.sentence.contains("needs 3.72 GiB") && finding.sentence.contains("the pool has 2.79 GiB"),
        "{}",
        finding.sentence
    );
    assert!(finding.sentence.contains("256.00 MiB are activations"), "{}", finding.sentence);
    assert!(finding.cause.contains("forward pass"), "{}", finding.cause);
    // A pool with room for it, which others hold.
    let report = of_text(&format!("{}{message}", dump(8 << 30, 6 << 30, &[1 << 30])));
    let finding = found(&report, "live-arrays");
    assert!(finding.sentence.contains("would fit the empty pool of 8.00 GiB"), "{}", finding.sentence);
    // Enough free, in two pieces.
    let report = of_text(&format!("{}{message}", dump(8 << 30, 4 << 30, &[2 << 30, 2 << 30])));
    let finding = found(&report, "fragmented");
    assert!(finding.sentence.contains("the largest free piece was 2.00 GiB"), "{}", finding.sentence);
    assert!(report.findings.iter().all(|f| f.id != "live-arrays"));
    shows(&report);
}

#[test]
fn a_tpu_program_that_did_not_compile() {
    let path = format!("{SHARED}/plans/tpu/llama7b_remat.compile_oom.txt");
    let Ok(message) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {path} is absent");
        return;
    };
    let report = of_text(&message);
    assert_eq!(report.platform.backend, Some(Backend::Tpu));
    assert_eq!(
        report.verdict.sentence,
        "The program did not compile: it needs 54.42 GiB of the 15.75 GiB that the device has."
    );
    let finding = found(&report, "step-does-not-fit");
    assert!(
        finding
            .sentence
            .contains("needs 54.42 GiB (the message says temporaries, and counts arguments with them)"),
        "{}",
        finding.sentence
    );
    assert!(finding.sentence.contains("short by about 38.67 GiB"), "{}", finding.sentence);
    shows(&report);
}

#[test]
fn what_is_not_the_devices_memory() {
    let report =
        of_text("RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 131072, available: 101376");
    let finding = found(&report, "not-device-memory");
    assert!(finding.sentence.contains("128.00 KiB (131072 bytes)"), "{}", finding.sentence);
    assert!(report.findings.iter().all(|f| f.id == "not-device-memory"));
    shows(&report);
    let report = of_text("nothing of interest");
    assert_eq!((report.verdict.status, report.findings.len()), (VerdictStatus::CannotTell, 0));
    shows(&report);
}

/// An empty report of a capture, as the driver makes it.
fn capture() -> Report {
    Report::of(
        info("host.xplane.pb", SourceKind::Xspace),
        oomscope::model::Platform {
            backend: Some(Backend::Gpu),
            vendor: None,
            jax_version: None,
            devices: Vec::new(),
        },
    )
}

#[test]
fn a_text_beside_a_capture() {
    let path = format!("{SHARED}/plans/scenarios/p1_attention_too_large.hlo.pb");
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("skipped: {path} is absent");
        return;
    };
    let summary = Summary::of(&Hlo::parse(bytes).unwrap(), Some(Backend::Gpu));
    let modules = [Candidate { name: "jit_train_step(17)", summary: &summary, refused: None }];
    let mut report = capture();
    add_error_text(&mut report, ErrorText::read("Out of memory while trying to allocate 3.41GiB."), &modules);
    let note = found(&report, "error-text");
    assert_eq!(
        note.sentence,
        "The 3.41 GiB of your error is the temp block of jit_train_step(17) (3666631960 bytes)."
    );
    assert_eq!(note.evidence, Evidence::Inferred);
    let matched = report.error_text.as_ref().unwrap().matched.as_ref().unwrap();
    assert_eq!(matched.request[0].bytes, Bytes(3_666_631_960));
    shows(&report);

    let mut report = capture();
    add_error_text(&mut report, ErrorText::read("CUDNN_STATUS_ALLOC_FAILED"), &modules);
    assert_eq!(report.findings[0].id, "not-device-memory");
    let mut report = capture();
    add_error_text(&mut report, ErrorText::read("hello"), &modules);
    assert_eq!(report.warnings[0].code, "error-text");
}

fn profile(name: &str) -> MemoryProfile {
    let packed = std::fs::read(format!("{FIXTURES}/memory_profile/{name}")).unwrap();
    let mut found = None;
    walk(&packed.as_slice(), name, &Limits::default(), &mut |file| {
        let bytes = file.source.read_range(0..file.source.len()).unwrap();
        found = Some(MemoryProfile::read(&bytes).unwrap().0);
        ControlFlow::Continue(())
    })
    .unwrap();
    found.unwrap()
}

#[test]
fn a_session_says_what_a_profile_has_more_than_an_earlier_one() {
    let unpacked = |name: &str| {
        let packed = std::fs::read(format!("{FIXTURES}/memory_profile/{name}")).unwrap();
        oomscope::analysis::unpacked(&packed.as_slice(), name, 1 << 20).unwrap()
    };
    let (before, after) = (unpacked("keep-before.prof"), unpacked("keep-after.prof"));
    let options = oomscope::analysis::Options::default();
    let session = oomscope::analysis::read(after.as_slice(), "keep-after.prof", |_| {}).unwrap();
    let report = session.since(&before, &options).unwrap();
    assert_eq!(report.source.file, "keep-after.prof");
    assert_eq!(report.memory_profile.unwrap().changes[0].growth(), 31_469_568);
    // Neither something else, nor beside something else.
    assert!(session.since(b"no profile", &options).is_err());
    let text = b"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3.41GiB.";
    let session = oomscope::analysis::read(text.as_slice(), "error.txt", |_| {}).unwrap();
    let why = session.since(&before, &options).unwrap_err();
    assert_eq!(why.to_string(), "only a memory profile can be compared with an earlier one");
}

#[test]
fn a_memory_profile_alone_and_two() {
    let (before, after) = (profile("keep-before.prof"), profile("keep-after.prof"));
    let report =
        of_memory_profile(info("keep-after.prof", SourceKind::MemoryProfile), &after, Vec::new(), None, 3);
    assert!(
        report.verdict.sentence.starts_with("16 arrays of 50.52 MiB were alive on cpu:0."),
        "{}",
        report.verdict.sentence
    );
    assert!(
        report.verdict.sentence.contains("30.01 MiB in 9 arrays, was made at keep.py:27 train"),
        "{}",
        report.verdict.sentence
    );
    let section = report.memory_profile.as_ref().unwrap();
    assert_eq!(section.stacks.len(), 3);
    assert!(section.omitted.omitted > 0);
    let shown = shows(&report);
    assert!(shown.contains("keep.py:27 train ← keep.py:35 <module>"), "{shown}");

    let report = of_memory_profile(
        info("keep-after.prof", SourceKind::MemoryProfile),
        &after,
        Vec::new(),
        Some(&before),
        25,
    );
    assert_eq!(
        report.verdict.sentence,
        "Live arrays grew from 20.51 MiB to 50.52 MiB between the two profiles, by 30.01 MiB."
    );
    let finding = found(&report, "grows-between-profiles");
    assert_eq!(
        finding.sentence,
        "The arrays made at keep.py:27 train went from 0 (0 B) to 9 (30.01 MiB) between the two profiles."
    );
    shows(&report);
}

#[test]
fn a_memory_profile_beside_a_capture() {
    let array = |origin: &str, chunk, address: Option<&str>| LiveArray {
        bytes: address.map(|_| Bytes(chunk)),
        allocated_bytes: Bytes(chunk),
        origin: origin.into(),
        address: address.map(String::from),
    };
    let mut report = capture();
    report.allocators.push(Allocator {
        name: "GPU_0_bfc".into(),
        kind: AllocatorKind::Device,
        device: Some(0),
        capacity_bytes: None,
        card_share: None,
        preallocated: None,
        events: 0,
        in_use_start_bytes: None,
        in_use_end_bytes: None,
        peak_bytes: None,
        peak_at_ps: None,
        peak_times: 0,
        lifetime_peak_bytes: None,
        rounding_loss_bytes: None,
        free_at_peak_bytes: None,
        largest_free_at_peak_bytes: None,
        largest_free_error_bytes: None,
        chain_breaks: 0,
        live_at_peak: vec![
            array(BEFORE_CAPTURE, 8_388_608, Some("0x7f00")),
            array(BEFORE_CAPTURE, 524_288, Some("0x7f01")),
            array("outputs of jit_step execution 1", 4096, Some("0x7f02")),
            array(BEFORE_CAPTURE, 2_097_152, None),
        ],
        before_capture_at_peak_bytes: None,
        timeline: oomscope::model::Timeline::default(),
        pool_growths: 0,
        least_free: None,
    });
    let of_device = |name: &str| {
        let mut profile = profile("keep-after.prof");
        let totals = profile.totals.iter_mut().map(|t| &mut t.device);
        for device in totals.chain(profile.stacks.iter_mut().map(|s| &mut s.device)) {
            if device.is_some() {
                *device = Some(name.into());
            }
        }
        profile
    };
    // `cuda:5` is the one device of a process of several, which counts its own from 0.
    for device in ["cuda:0", "gpu:0", "cuda:5", "plugin:0"] {
        let mut report = report.clone();
        add_memory_profile(&mut report, &of_device(device), 25);
        let before = &report.memory_profile.as_ref().unwrap().before_capture;
        let told: Vec<_> = before.iter().map(|m| (m.chunk_bytes.0, m.count, m.places.len())).collect();
        assert_eq!(told, [(8_388_608, 1, 2), (524_288, 1, 1)], "{device}");
        assert!(before.iter().all(|m| m.evidence == Evidence::Inferred));
        assert_eq!(report.warnings, []);
        shows(&report);
    }
    // Arrays on another platform are none of this pool.
    report.platform.vendor = Some("Nvidia".into());
    for device in ["cpu:0", "tpu:0", "TPU_0(process=0,(0,0,0,0))", "rocm:0"] {
        let mut report = report.clone();
        add_memory_profile(&mut report, &of_device(device), 25);
        let section = report.memory_profile.as_ref().unwrap();
        assert_eq!((section.before_capture.len(), section.before_capture_rest.len()), (0, 0), "{device}");
        assert_eq!(report.warnings[0].code, "memory-profile-platform");
        shows(&report);
    }
    // Of several devices without the pool's ordinal none is guessed.
    let mut several = of_device("cuda:5");
    several.totals[1].device = Some("cuda:6".into());
    add_memory_profile(&mut report, &several, 25);
    assert_eq!(report.memory_profile.as_ref().unwrap().before_capture, []);
    assert_eq!(report.warnings, []);
}

#[test]
fn a_dump_alone() {
    let name = "module_0011.jit_step.cpu_after_optimizations-buffer-assignment.txt";
    let dump = XlaText::read(
        &std::fs::read_to_string(format!("{FIXTURES}/xla_text/jax0.7.2/jit_step-buffer-assignment.txt"))
            .unwrap(),
    );
    let report = of_dump(info(name, SourceKind::ErrorText), &dump.unwrap(), 4);
    assert_eq!((report.module.as_deref(), report.platform.backend), (Some("jit_step"), Some(Backend::Cpu)));
    assert_eq!(
        report.verdict.sentence,
        "jit_step needs 22.51 MiB (23601204 bytes): 10.50 MiB parameters, 10.00 MiB live out, 2.00 MiB temp."
    );
    assert_eq!(report.verdict.evidence, Evidence::Read);
    assert_eq!(report.text_plan.as_ref().unwrap().buffers.len(), 4);
    let shown = shows(&report);
    assert!(shown.contains("multiply_subtract_fusion"), "{shown}");
}
