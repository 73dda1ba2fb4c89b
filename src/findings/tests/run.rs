//! Rules that rest on the run.

use super::made::*;
use crate::findings::{Case, Detail, detail, limits};
use crate::model::*;
use crate::units::{Bytes, Evidence, Picos};

fn verdict(report: &Report) -> Verdict {
    crate::findings::verdict(&Case::new(report, None, None), &[])
}

#[test]
fn a_step_that_ran_with_room_fits_and_says_how_much() {
    let mut report = report();
    (0..4).for_each(|_| ran(&mut report, 300));
    let all = findings(&report, &Detail::default());
    assert_eq!(all.keys().collect::<Vec<_>>(), ["fits"]);
    let fits = &all["fits"];
    assert_eq!((fits.severity, fits.evidence), (Severity::Ok, Evidence::Measured));
    assert_eq!(fits.numbers["headroom_bytes"].value, (2300 * MIB) as f64);
    assert!(fits.sentence.contains("2.25 GiB (77 %) stayed free"), "{}", fits.sentence);
    assert_eq!(verdict(&report).status, VerdictStatus::Fits);
}

#[test]
fn a_plan_larger_than_the_pool_is_the_cause() {
    let mut report = report();
    with_temp(&mut report, 3500);
    with_peak(
        &mut report,
        &[
            ("f32[8,8,1024,1024]{3,2,1,0}", 256, 6, Role::Forward),
            ("f32[8192,17800]{1,0}", 500, 1, Role::Backward),
        ],
    );
    failed(&mut report, 300, 2700);
    let all = findings(&report, &Detail::default());
    let it = &all["step-does-not-fit"];
    assert_eq!((it.severity, it.evidence), (Severity::Error, Evidence::Read));
    assert_eq!(it.numbers["short_by_bytes"].value, (800 * MIB + 1024) as f64);
    assert!(
        it.sentence.contains("needs 3.71 GiB: 0.29 parameters + 3.42 temp. The pool has 2.93"),
        "{}",
        it.sentence
    );
    assert!(
        it.sentence.contains("`f32[8,8,1024,1024]` ×6 of 256.00 MiB each (model.py:41 block)"),
        "{}",
        it.sentence
    );
    assert!(all.contains_key("allocator-retry"));
    assert!(!all.contains_key("live-arrays") && !all.contains_key("fragmented") && !all.contains_key("fits"));
    let said = verdict(&report);
    assert_eq!(said.status, VerdictStatus::OutOfMemory);
    assert!(said.sentence.contains("asked for 3.42 GiB (its temp block)"), "{}", said.sentence);
    assert!(said.sentence.contains("more than the whole pool of 2.93 GiB"), "{}", said.sentence);
}

#[test]
fn attention_rows_are_told_from_square_weights() {
    let mut report = report();
    with_temp(&mut report, 3500);
    with_peak(&mut report, &[("f32[8,8,1024,1024]{3,2,1,0}", 3500, 1, Role::Forward)]);
    failed(&mut report, 300, 2700);
    let fused = |report: &Report, detail: &Detail| {
        let all = findings(report, detail);
        all["step-does-not-fit"].fixes.iter().any(|f| f.id == "fused-attention")
    };
    assert!(fused(&report, &Detail::default()));
    let mut detail = Detail::default();
    detail.donation.parameters.push(parameter("state.w", "f32[1024,1024]{1,0}", MIB, true));
    assert!(!fused(&report, &detail));
}

#[test]
fn a_plan_that_ran_all_the_same_is_no_alarm() {
    // One array passed for two arguments counts twice in the plan.
    let mut report = report();
    with_temp(&mut report, 3500);
    ran(&mut report, 300);
    assert!(!findings(&report, &Detail::default()).contains_key("step-does-not-fit"));
    report.executions.clear();
    assert!(findings(&report, &Detail::default()).contains_key("step-does-not-fit"));
    assert_eq!(verdict(&report).status, VerdictStatus::OutOfMemory);
}

#[test]
fn growth_names_its_step_and_its_end() {
    let mut report = report();
    report.modules[0].spaces[0].outputs_bytes = Bytes(100 * MIB);
    with_temp(&mut report, 400);
    for i in 0..6 {
        ran(&mut report, 300 + 100 * i);
    }
    for i in 0..5 {
        live(&mut report, LiveKind::Outputs, "outputs of jit_train_step", 100, Some(i));
    }
    report.between_executions.push(HostEvents {
        name: "$<unknown> append".into(),
        python: true,
        count: 1,
        duration_ps: Picos(1),
    });
    let all = findings(&report, &Detail::default());
    let it = &all["grows-per-execution"];
    // Read, but for the outlook.
    assert_eq!((it.severity, it.evidence), (Severity::Warning, Evidence::Inferred));
    assert_eq!(it.numbers["growth_bytes"].value, (100 * MIB) as f64);
    assert_eq!(it.numbers["times_the_outputs"].value, 1.0);
    // 3000 − 500 for the launch − 800 in use = 1700 free: 17 more steps, the 18th is one too many.
    assert_eq!(it.numbers["executions_until_full"].value, 18.0);
    assert!(it.cause.contains("`$<unknown> append`"), "{}", it.cause);
    assert!(it.sentence.contains("executions 0 to 4 (500.00 MiB)"), "{}", it.sentence);
    assert_eq!(verdict(&report).status, VerdictStatus::AtRisk);
    assert!(!all.contains_key("fits"));
    // The end of the same story is not blamed on "other arrays".
    failed(&mut report, 900, 2000);
    let grave = grave(&report, &Detail::default());
    assert!(
        grave.contains(&"grows-per-execution".to_owned()) && !grave.contains(&"live-arrays".to_owned()),
        "{grave:?}"
    );
}

#[test]
fn other_arrays_are_named_with_what_freeing_them_brings() {
    let mut report = report();
    failed(&mut report, 2700, 300);
    for _ in 0..3 {
        live(&mut report, LiveKind::DevicePut, "BufferFromHostBuffer(s32[4096,4096])", 600, None);
    }
    live(&mut report, LiveKind::BeforeCapture, "allocated before the capture started", 900, None);
    let all = findings(&report, &Detail::default());
    let it = &all["live-arrays"];
    assert_eq!((it.severity, it.evidence), (Severity::Error, Evidence::Read));
    assert_eq!(it.numbers["other_live_bytes"].value, (2400 * MIB) as f64);
    assert_eq!(it.numbers["short_by_bytes"].value, (100 * MIB + 1024) as f64);
    assert!(
        it.sentence.contains("1.76 GiB in 3 arrays put on the device by BufferFromHostBuffer"),
        "{}",
        it.sentence
    );
    let fix = it.fixes.iter().find(|f| f.id == "keep-on-host").unwrap();
    // The step needs what it needs; of the 2400 MiB of others between all and none of the 1800 go.
    assert_eq!(fix.need_after_most_bytes, Some(Bytes(700 * MIB + 1024)));
    assert_eq!(fix.others_after_least_bytes, Some(Bytes(600 * MIB)));
    assert_eq!(fix.others_after_most_bytes, Some(Bytes(2400 * MIB)));
    assert_eq!(fix.fits_after, Some(Fits::Maybe));
    let pool = it.fixes.iter().find(|f| f.id == "pool/78").unwrap();
    assert_eq!(pool.code.as_deref(), Some("XLA_CLIENT_MEM_FRACTION=0.78"));
}

#[test]
fn fragmentation_is_claimed_only_beyond_its_error() {
    let mut report = report();
    failed(&mut report, 1000, 150);
    let all = findings(&report, &Detail::default());
    assert_eq!(all["fragmented"].numbers["largest_free_bytes"].value, (150 * MIB) as f64);
    assert!(!all.contains_key("live-arrays") && !all.contains_key("step-does-not-fit"));
    // Short by less than what is known of the chunk.
    report.retries[0].largest_free_bytes = Some(Bytes(400 * MIB - 1));
    assert!(!findings(&report, &Detail::default()).contains_key("fragmented"));
    report.retries[0].largest_free_error_bytes = None;
    report.retries[0].largest_free_bytes = Some(Bytes(150 * MIB));
    assert!(!findings(&report, &Detail::default()).contains_key("fragmented"));
}

#[test]
fn a_rescued_wait_is_a_warning() {
    let mut report = report();
    failed(&mut report, 2500, 300);
    report.executions[0].outcome = Outcome::Ran;
    report.retries[0].outcome = RetryOutcome::Rescued;
    report.retries[0].duration_ps = Picos(1_300_000_000_000);
    assert_eq!(grave(&report, &Detail::default()), ["allocator-retry"]);
    let said = verdict(&report);
    assert_eq!(said.status, VerdictStatus::AtRisk);
    assert_eq!(
        said.sentence,
        "It ran, but only just: execution 0 of jit_train_step(17) had to wait 1.30 s for its temp block of 400.00 MiB, with 500.00 MiB \
         free and about 300.00 MiB in the largest piece; then it went on."
    );
    // Who freed is said where the capture tells.
    let freed = |frame: Option<&str>, mib: u64| Freed {
        by: "outside any event of the host".into(),
        frame: frame.map(Into::into),
        count: 2,
        bytes: Bytes(mib * MIB),
    };
    report.retries[0].freed = Some(vec![freed(Some("$prefetch.py:77 drop"), 256), freed(None, 0)]);
    assert!(
        verdict(&report).sentence.ends_with("; then `$prefetch.py:77 drop` freed 256.00 MiB and it went on.")
    );
    report.retries[0].freed = Some(vec![freed(Some("$prefetch.py:77 drop"), 256), freed(None, 4)]);
    let finding = &findings(&report, &Detail::default())["allocator-retry"];
    assert!(
        finding.sentence.starts_with("Execution 0 of jit_train_step(17) had to wait")
            && finding.sentence.ends_with(
                "; then 260.00 MiB were freed, 256.00 MiB of them by `$prefetch.py:77 drop`, and it went on."
            ),
        "{}",
        finding.sentence
    );
    assert_eq!(finding.fixes[0].text, "Free what `$prefetch.py:77 drop` frees before train_step is called.");
    // What freed it need not be known.
    report.retries[0].freed = Some(vec![freed(None, 256)]);
    let finding = &findings(&report, &Detail::default())["allocator-retry"];
    assert!(
        finding.sentence.ends_with("; then 256.00 MiB were freed and it went on."),
        "{}",
        finding.sentence
    );
    assert_eq!(finding.fixes[0].text, "Free what is not needed before train_step is called.");
}

fn old_and_new_state() -> (Report, Detail) {
    let mut report = report();
    let space = &mut report.modules[0].spaces[0];
    space.donated_bytes = Bytes(0);
    space.outputs_bytes = Bytes(300 * MIB);
    with_temp(&mut report, 400);
    let mut detail = Detail { has_backward: true, ..Detail::default() };
    detail.donation.parameters.push(parameter("state.params['w']", "f32[78643200]{0}", 300 * MIB, false));
    detail.donation.outputs.push(crate::plan::Output {
        number: 0,
        index: vec![0],
        shape: detail::parse_shape("f32[78643200]{0}").unwrap(),
        buffer: None,
        bytes: Bytes(300 * MIB),
        color: 0,
        allocation: Some(1),
        aliased: None,
        scratch: Vec::new(),
        scratch_bytes: Bytes(0),
    });
    detail.donation.pairs.push(crate::plan::Pair {
        parameter: 0,
        output: 0,
        bytes: Bytes(300 * MIB),
        color: 0,
        aliased: false,
    });
    detail.output_roles = vec![Role::Update];
    (report, detail)
}

#[test]
fn state_that_is_not_donated_is_told_from_gradients_and_from_arguments_used_again() {
    let (mut report, mut detail) = old_and_new_state();
    let severity =
        |report: &Report, detail: &Detail| findings(report, detail).get("not-donated").map(|f| f.severity);
    // No run to tell: a training step is asked to donate, another function only might.
    assert_eq!(severity(&report, &detail), Some(Severity::Warning));
    detail.has_backward = false;
    assert_eq!(severity(&report, &detail), Some(Severity::Note));
    detail.has_backward = true;
    // A gradient has its parameter's shape.
    detail.output_roles = vec![Role::Backward];
    assert_eq!(severity(&report, &detail), None);
    detail.output_roles = vec![Role::Update];
    // The outputs of execution 0 are the arguments of execution 1: the old arrays are done with.
    ran(&mut report, 300);
    ran(&mut report, 300);
    live(&mut report, LiveKind::Outputs, "outputs of jit_train_step execution 0", 300, Some(0));
    assert_eq!(severity(&report, &detail), Some(Severity::Warning));
    // Something else is alive too that can be the arguments: no proof either way.
    detail.has_backward = false;
    report.executions[1].in_use_start_bytes = Some(Bytes(600 * MIB));
    assert_eq!(severity(&report, &detail), Some(Severity::Note));
    report.executions[1].in_use_start_bytes = Some(Bytes(300 * MIB));
    assert_eq!(severity(&report, &detail), Some(Severity::Warning));
    // They were dropped: the same arguments are passed again.
    report.live_at_last_start.clear();
    live(&mut report, LiveKind::BeforeCapture, "allocated before the capture started", 300, None);
    assert_eq!(severity(&report, &detail), None);
}

#[test]
fn copies_outside_the_plan_defeat_donation() {
    let mut report = report();
    let mut detail = Detail::default();
    detail.donation.parameters.push(parameter("state.w", "f32[1024,1024]{1,0}", 300 * MIB, true));
    detail.launch = [(0, 1024, BufferKind::Output), (1, 400 * MIB, BufferKind::Temp)]
        .map(|(index, size, kind)| crate::plan::LaunchAllocation {
            index,
            size: Bytes(size),
            color: 0,
            kind,
            outputs: Vec::new(),
            is_tuple_table: false,
        })
        .to_vec();
    ran(&mut report, 300);
    assert!(grave(&report, &detail).is_empty());
    report.executions[0].requested_bytes.push(Bytes(300 * MIB));
    assert_eq!(grave(&report, &detail), ["donation-defeated"]);
    let it = &findings(&report, &detail)["donation-defeated"];
    assert_eq!(it.numbers["copied_bytes"].value, (300 * MIB) as f64);
    // A request of another size is something else.
    report.executions[0].requested_bytes[2] = Bytes(299 * MIB);
    assert!(grave(&report, &detail).is_empty());
}

#[test]
fn a_fuller_device_is_named_beside_its_peers() {
    let mut report = report();
    report.allocators = (0..8).map(pool).collect();
    assert!(!findings(&report, &Detail::default()).contains_key("devices-differ"));
    report.allocators[5].peak_bytes = Some(Bytes(900 * MIB));
    report.allocators[5].in_use_start_bytes = Some(Bytes(500 * MIB));
    let it = &findings(&report, &Detail::default())["devices-differ"];
    assert_eq!((it.severity, it.numbers["more_bytes"].value), (Severity::Note, (200 * MIB) as f64));
    assert!(it.sentence.starts_with("GPU_5_bfc reached 900.00 MiB, 200.00 MiB more"), "{}", it.sentence);
    // As much as the others were free: what it held more lay where nothing else was, and to spread it wins nothing.
    assert!(it.fixes.is_empty() && it.sentence.ends_with("nothing is won there."), "{}", it.sentence);
    report.allocators[5].free_at_peak_bytes = Some(Bytes(2150 * MIB));
    let it = &findings(&report, &Detail::default())["devices-differ"];
    assert!(it.fixes[0].how.contains("at most 150.00 MiB can be won"), "{}", it.fixes[0].how);
}

#[test]
fn lost_events_are_a_warning_and_lost_host_events_a_note() {
    let mut report = report();
    ran(&mut report, 300);
    let mut host = pool(0);
    host.name = "xla_gpu_host_bfc".into();
    host.kind = AllocatorKind::Host;
    host.chain_breaks = 2;
    report.allocators.push(host);
    let all = findings(&report, &Detail::default());
    assert_eq!(all["truncated-capture"].severity, Severity::Note);
    assert!(all.contains_key("fits"));
    report.allocators[0].chain_breaks = 1;
    let all = findings(&report, &Detail::default());
    assert_eq!(all["truncated-capture"].severity, Severity::Warning);
    assert!(!all.contains_key("fits"));
}

#[test]
fn a_capture_without_a_limit_claims_no_headroom() {
    let mut report = report();
    report.allocators.clear();
    report.platform.devices.clear();
    report.platform.backend = Some(Backend::Cpu);
    let nothing = crate::findings::findings(&Case::new(&report, None, None));
    assert!(nothing.is_empty(), "{nothing:?}");
    assert_eq!(verdict(&report).status, VerdictStatus::CannotTell);
    ran(&mut report, 300);
    let all = findings(&report, &Detail::default());
    assert!(all["fits"].sentence.contains("how much was free is unknown"), "{}", all["fits"].sentence);
    assert!(!all["fits"].numbers.contains_key("headroom_bytes"));
    report.source.kind = SourceKind::HloProto;
    assert!(!findings(&report, &Detail::default()).contains_key("fits"));
}

#[test]
fn limits_are_those_of_the_capture() {
    let mut report = report();
    ran(&mut report, 300);
    let ids = |report: &Report| {
        let all = limits(&Case::new(report, None, None), &["the allocator is cuda_async".into()]);
        all.into_iter().map(|l| l.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&report), ["no-schedule", "outside-the-pool"]);
    with_peak(&mut report, &[("f32[100]{0}", 380, 1, Role::Forward), ("f32[5]{0}", 20, 1, Role::Other)]);
    assert_eq!(ids(&report), ["roles-other", "outside-the-pool"]);
    with_peak(&mut report, &[("f32[100]{0}", 400, 1, Role::Forward)]);
    assert_eq!(ids(&report), ["outside-the-pool"]);
    report.allocators[0].events = 0;
    report.executions[0].outcome = Outcome::Unknown;
    assert_eq!(ids(&report), ["no-allocator-events", "unknown-outcomes", "outside-the-pool"]);
}

#[test]
fn every_rule_has_the_id_of_its_file_and_none_is_listed_twice() {
    let mut ids: Vec<&str> =
        crate::findings::RULES.iter().map(|r| r.id).chain([crate::findings::FITS]).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), crate::findings::RULES.len() + 1);
}
