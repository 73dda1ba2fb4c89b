//! What is said of captures that lack a part: a profiler can leave out planes and kinds of events, and what is left must be
//! read as far as it goes, and no further.

use oomscope::analysis::{self, Options};
use oomscope::model::{Backend, Finding, Fits, Outcome, Report, Role, Severity, VerdictStatus};
use oomscope::proto::xspace::{XEvent, XPlane, XSpace, x_event, x_stat};
use oomscope::units::Evidence;
use prost::Message;

mod support;

/// A scenario after `strip`; `None`, said aloud, where the shared data is absent.
fn stripped(scenario: &str, strip: impl Fn(&mut XSpace)) -> Option<Report> {
    let path = support::shared(&format!("scenarios/{scenario}.xplane.pb"))?;
    let mut space = XSpace::decode(&std::fs::read(path).unwrap()[..]).unwrap();
    strip(&mut space);
    Some(analysis::read(&space.encode_to_vec()[..], scenario, |_| {}).unwrap().report(&Options::default()))
}

fn without_planes(of: &str) -> impl Fn(&mut XSpace) {
    move |space| space.planes.retain(|p| !p.name.starts_with(of))
}

/// Keeps the host's events whose names do.
fn keep_events(space: &mut XSpace, keep: impl Fn(&str) -> bool) {
    for plane in space.planes.iter_mut().filter(|p| p.name == "/host:CPU") {
        let XPlane { lines, event_metadata, .. } = plane;
        let kept = |id: &i64| event_metadata.get(id).is_some_and(|m| keep(&m.name));
        for line in lines {
            line.events.retain(|e| kept(&e.metadata_id));
        }
    }
}

fn is_of_allocator(name: &str) -> bool {
    matches!(name, "MemoryAllocation" | "MemoryDeallocation")
}

fn without_allocator_events(space: &mut XSpace) {
    keep_events(space, |name| !is_of_allocator(name));
}

fn finding<'a>(report: &'a Report, id: &str) -> &'a Finding {
    let ids: Vec<_> = report.findings.iter().map(|f| &f.id).collect();
    report.findings.iter().find(|f| f.id == id).unwrap_or_else(|| panic!("{id} is not among {ids:?}"))
}

fn has(report: &Report, id: &str) -> bool {
    report.findings.iter().any(|f| f.id == id)
}

#[test]
fn growth_needs_no_plan() {
    let Some(report) = stripped("s2_gradients_kept", without_planes("/host:metadata")) else { return };
    assert_eq!((report.modules.len(), report.verdict.status), (0, VerdictStatus::AtRisk));
    assert_eq!(
        report.verdict.sentence,
        "It ran, but memory grows by 103.97 MiB with each execution of jit_grad_step: at this rate the pool (2.79 GiB) is \
         full in 11 more executions."
    );
    let grows = finding(&report, "grows-per-execution");
    assert_eq!(grows.numbers["growth_bytes"].value, 109_021_184.0);
    assert!(!grows.numbers.contains_key("times_the_outputs"), "only a plan knows its outputs");
    assert!(
        grows.sentence.contains("arrays of jit_grad_step from executions 0 to 8 (935.74 MiB)"),
        "{}",
        grows.sentence
    );
    assert!(!has(&report, "fits"));
    // The same program that keeps nothing.
    let healthy = stripped("s2b_gradients_not_kept", without_planes("/host:metadata")).unwrap();
    assert_eq!(healthy.verdict.status, VerdictStatus::Fits, "{}", healthy.verdict.sentence);
    assert!(!has(&healthy, "grows-per-execution"));
}

#[test]
fn an_allocator_need_not_have_the_number_of_its_plane() {
    let rename = |space: &mut XSpace| {
        for plane in &mut space.planes {
            for name in plane.stat_metadata.values_mut().filter(|m| m.name == "GPU_0_bfc") {
                name.name = "GPU_1_bfc".into();
            }
        }
    };
    let Some(report) = stripped("s2_gradients_kept", rename) else { return };
    assert_eq!(report.verdict.status, VerdictStatus::AtRisk);
    assert_eq!(finding(&report, "grows-per-execution").numbers["times_the_outputs"].evidence, Evidence::Read);
    let pool = &report.allocators[0];
    assert_eq!(pool.name, "GPU_1_bfc");
    assert!(pool.card_share.is_some_and(|share| (share - 0.75).abs() < 1e-6), "{:?}", pool.card_share);
    // The failed launch has no kernel that tells its device: its allocator's other launches do.
    let failed = stripped("s9_eager_300_modules", rename).unwrap();
    let last = failed.executions.iter().find(|e| e.outcome == Outcome::Failed).unwrap();
    assert_eq!((last.device, last.number), (Some(0), 5));
}

#[test]
fn without_a_device_plane_a_gpu_is_known_by_its_allocator() {
    for (scenario, status) in [
        ("s12_late_start", VerdictStatus::OutOfMemory),
        ("s1_plan_too_large", VerdictStatus::OutOfMemory),
        ("s3c_donated", VerdictStatus::Fits),
        ("s2b_gradients_not_kept", VerdictStatus::Fits),
    ] {
        let Some(report) = stripped(scenario, without_planes("/device:GPU")) else { return };
        assert_eq!(report.platform.backend, Some(Backend::Gpu), "{scenario}");
        assert_eq!(report.verdict.status, status, "{scenario}: {}", report.verdict.sentence);
        // Pinned memory of the host is no second device.
        assert!(!has(&report, "devices-differ"), "{scenario}");
        assert!(report.limits.iter().any(|l| l.id == "outside-the-pool"), "{scenario}");
    }
}

#[test]
fn a_failed_execution_has_the_next_number() {
    let number = |report: &Report| {
        let failed = report.executions.iter().find(|e| e.outcome == Outcome::Failed).unwrap();
        let of_it = report.executions.iter().filter(|e| e.program_id == failed.program_id);
        let mut numbers: Vec<u64> = of_it.map(|e| e.number).collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "{numbers:?}");
        failed.number
    };
    let Some(whole) = stripped("s9_eager_300_modules", |_| {}) else { return };
    assert_eq!(number(&whole), 5);
    assert_eq!(number(&stripped("s9_eager_300_modules", without_planes("/device:GPU")).unwrap()), 5);
    let blind = stripped("s9_eager_300_modules", without_allocator_events).unwrap();
    assert_eq!(number(&blind), 5);
    assert!(blind.verdict.sentence.starts_with("jit__where(25) ran out of memory at execution 5."));
}

#[test]
fn what_was_never_seen_to_run_is_not_said_to_fit() {
    let only_allocator = |space: &mut XSpace| {
        space.planes.retain(|p| !p.name.starts_with("/device"));
        keep_events(space, is_of_allocator);
    };
    let Some(report) = stripped("s5_other_live", only_allocator) else { return };
    assert!(report.executions.is_empty() && !has(&report, "fits"));
    assert_eq!(report.verdict.status, VerdictStatus::CannotTell);
    assert_eq!(
        report.verdict.sentence,
        "Whether jit_train_step(17) fits cannot be told: the capture holds no execution. Its plan needs 717.84 MiB, 405.92 MiB \
         of that at the call; at the fullest moment seen 365.08 MiB were free in GPU_0_bfc."
    );
    for scenario in ["s6_fragmentation", "s12_late_start"] {
        let report = stripped(scenario, only_allocator).unwrap();
        assert_eq!(
            report.verdict.status,
            VerdictStatus::CannotTell,
            "{scenario}: {}",
            report.verdict.sentence
        );
    }
    // Free at the fullest moment was more than all that the plan needs.
    let roomy = stripped("s2b_gradients_not_kept", only_allocator).unwrap();
    assert_eq!(roomy.verdict.status, VerdictStatus::Fits);
    assert!(
        roomy.verdict.sentence.starts_with("No shortage was seen: at the peak"),
        "{}",
        roomy.verdict.sentence
    );
    let full = stripped("s9_eager_300_modules", only_allocator).unwrap();
    assert!(
        full.verdict.sentence.starts_with("Memory was nearly full: at the peak"),
        "{}",
        full.verdict.sentence
    );
}

#[test]
fn operations_without_allocator_events_are_no_proof_of_what_filled_the_pool() {
    let Some(report) = stripped("s9_eager_300_modules", without_allocator_events) else { return };
    let op_by_op = finding(&report, "op-by-op");
    assert_eq!(
        (op_by_op.severity, op_by_op.title.as_str()),
        (Severity::Warning, "The program runs op by op")
    );
    assert!(op_by_op.sentence.ends_with("is not in the capture: it holds no allocator events."));
    // Nobody donates the arguments of a single `where`.
    let ids: Vec<&str> = finding(&report, "allocator-retry").fixes.iter().map(|f| f.id.as_str()).collect();
    assert_eq!(ids, ["capture-earlier"]);
    assert!(!report.verdict.sentence.contains("likelier"), "{}", report.verdict.sentence);
    let whole = stripped("s9_eager_300_modules", |_| {}).unwrap();
    assert_eq!(finding(&whole, "op-by-op").severity, Severity::Error);
    assert!(
        finding(&whole, "allocator-retry")
            .sentence
            .contains(": the only allocation it plans, its output 0 f32[8,8,512,512]"),
        "{}",
        finding(&whole, "allocator-retry").sentence
    );
    // Without plans it is no growth of one of its operations.
    let bare = stripped("s9_eager_300_modules", without_planes("/host:metadata")).unwrap();
    assert!(!has(&bare, "grows-per-execution"));
    assert!(
        finding(&bare, "allocator-retry").cause.ends_with("a plan would tell: the capture has none of it.")
    );
}

#[test]
fn a_plan_above_the_card_is_said_to_be() {
    let Some(report) = stripped("s3_no_donation_leak", without_allocator_events) else { return };
    assert_eq!(
        report.verdict.sentence,
        "jit_train_step(17) ran out of memory at execution 0. Its plan alone needs 3.89 GiB, more than the whole card of 3.72 GiB."
    );
    assert_eq!(report.verdict.evidence, Evidence::Read);
    let cause = &finding(&report, "allocator-retry").cause;
    assert!(!cause.contains("pool") && cause.ends_with("said by the other findings."), "{cause}");
}

#[test]
fn a_wait_that_ended_well_promises_no_more_than_one_that_failed() {
    let Some(report) = stripped("s8_retry_rescued", without_allocator_events) else { return };
    let retry = finding(&report, "allocator-retry");
    assert_eq!(
        retry.sentence,
        "Execution 0 of jit_train_step(17) had to wait 1.30 s for memory; then it went on."
    );
    assert!(!retry.cause.contains("freed"), "{}", retry.cause);
    let halves = retry.fixes.iter().find(|f| f.id == "accumulate/2").unwrap();
    assert_eq!(halves.fits_after, Some(Fits::Maybe));
    assert!(
        halves.how.ends_with("A call had to wait there: the sum alone promises nothing."),
        "{}",
        halves.how
    );
    let whole = stripped("s8_retry_rescued", |_| {}).unwrap();
    let of_whole = finding(&whole, "allocator-retry").fixes.iter().find(|f| f.id == "accumulate/2").unwrap();
    assert_eq!(of_whole.fits_after, halves.fits_after);
    // Without the Python tracer nobody knows who freed, and no sentence tries to.
    let no_python =
        stripped("s8_retry_rescued", |space| keep_events(space, |name| !name.starts_with('$'))).unwrap();
    let retry = finding(&no_python, "allocator-retry");
    assert!(retry.sentence.ends_with("; then 256.00 MiB were freed and it went on."), "{}", retry.sentence);
    assert_eq!(retry.fixes[0].text, "Free what is not needed before train_step is called.");
}

#[test]
fn growth_that_ended_in_a_failure_needs_no_plan_either() {
    let Some(path) = support::capture("synthetic-b_keepgrads_gpt_small") else { return };
    let mut space = XSpace::decode(&std::fs::read(path).unwrap()[..]).unwrap();
    without_planes("/host:metadata")(&mut space);
    let report = analysis::read(&space.encode_to_vec()[..], "b", |_| {}).unwrap().report(&Options::default());
    let failed = report.executions.iter().find(|e| e.outcome == Outcome::Failed).unwrap();
    assert_eq!(failed.number + 1, report.executions.len() as u64, "its program is not known, its name is");
    assert_eq!(finding(&report, "grows-per-execution").severity, Severity::Error);
    assert!(
        report.verdict.sentence.contains(" more stayed in use after each execution."),
        "{}",
        report.verdict.sentence
    );
}

/// The host's line on which an allocator's events of executions are, without the launch of its last execution.
fn fail_last_launch(space: &mut XSpace, allocator: &str) {
    let host = space.planes.iter_mut().find(|p| p.name == "/host:CPU").unwrap();
    let named = |id: i64| host.event_metadata.get(&id).map_or("", |m| m.name.as_str());
    let of_pool: Vec<u64> =
        host.stat_metadata.iter().filter(|(_, m)| m.name == allocator).map(|(id, _)| *id as u64).collect();
    let in_pool = |e: &XEvent| {
        e.stats.iter().any(|s| matches!(s.value, Some(x_stat::Value::RefValue(id)) if of_pool.contains(&id)))
    };
    let builds = |e: &XEvent| named(e.metadata_id) == "Build buffer allocations";
    let end = |e: &XEvent| offset(e) + e.duration_ps;
    let (line, last) = host
        .lines
        .iter()
        .enumerate()
        .filter(|(_, l)| l.events.iter().any(in_pool))
        .filter_map(|(i, l)| Some((i, l.events.iter().filter(|e| builds(e)).map(end).max()?)))
        .max_by_key(|(_, last)| *last)
        .unwrap();
    let kept = |e: &XEvent| offset(e) < last || is_of_allocator(named(e.metadata_id));
    let keep: Vec<bool> = host.lines[line].events.iter().map(kept).collect();
    let mut keep = keep.into_iter();
    host.lines[line].events.retain(|_| keep.next().unwrap());
}

fn offset(e: &XEvent) -> i64 {
    match e.data {
        Some(x_event::Data::OffsetPs(ps)) => ps,
        _ => 0,
    }
}

#[test]
fn lists_are_of_the_device_that_the_verdict_names() {
    let Some(fits) = stripped("s4_fsdp8_fits", |_| {}) else { return };
    let text = oomscope::report::text(&fits);
    assert!(fits.verdict.sentence.contains("in GPU_5_bfc"), "{}", fits.verdict.sentence);
    assert!(text.contains("Live at the peak of GPU_5_bfc"), "{text}");
    let last = fits.executions.last().unwrap().allocator.clone().unwrap();
    assert!(text.contains(&format!("Live when the last execution started in {last}  [measured]")), "{text}");
    // Another device starts later than the one that fails: its arrays are no answer.
    let failed = stripped("s4_fsdp8_fits", |space| fail_last_launch(space, "GPU_2_bfc")).unwrap();
    let of: Vec<_> = failed.executions.iter().filter(|e| e.outcome == Outcome::Failed).collect();
    assert_eq!(of.len(), 1);
    assert_eq!(of[0].allocator.as_deref(), Some("GPU_2_bfc"));
    assert_ne!(failed.executions.last().unwrap().allocator.as_deref(), Some("GPU_2_bfc"));
    let live: u64 = failed.live_at_last_start.iter().map(|g| g.bytes.0).sum();
    assert_eq!(Some(live), of[0].in_use_start_bytes.map(|b| b.0));
    let text = oomscope::report::text(&failed);
    assert!(text.contains("Live at the peak of GPU_2_bfc"), "{text}");
    assert!(text.contains("Live when the last execution started in GPU_2_bfc  [measured]"), "{text}");
}

#[test]
fn the_budget_of_xla_is_told_with_the_value_that_would_match() {
    for (scenario, factor) in [("s5_other_live", 13.0), ("s12_late_start", 13.0)] {
        let Some(report) = stripped(scenario, |_| {}) else { return };
        let budget = finding(&report, "xla-budget");
        assert_eq!(budget.title, "XLA planned for more memory than was free");
        assert_eq!(
            budget.numbers["matching_factor_percent"].value, factor,
            "{scenario}: {}",
            budget.sentence
        );
        // It used little more than there was, so that it can try.
        let fix = budget.fixes.iter().find(|f| f.id == "slop-factor").unwrap();
        assert_eq!(fix.code.as_deref(), Some("XLA_FLAGS=--xla_gpu_memory_limit_slop_factor=13"));
        assert_eq!(fix.fits_after, Some(Fits::Maybe), "{scenario}: XLA may miss its budget");
    }
}

#[test]
fn what_waits_for_the_backward_pass_is_told_as_a_whole_and_at_the_peak() {
    let Some(report) = stripped("s4_fsdp8_fits", |_| {}) else { return };
    let stacked = finding(&report, "stacked-residuals");
    let fix = stacked.fixes.iter().find(|f| f.id == "remat").unwrap();
    let peak = report.plan.as_ref().unwrap().peak.as_ref().unwrap();
    let forward = peak.roles.iter().find(|r| r.role == Role::Forward).unwrap().bytes;
    // Between what is stacked and all that the forward pass has at the peak.
    assert_eq!(forward.to_string(), "41.92 GiB");
    assert!(stacked.sentence.contains("(39.58 GiB)"), "{}", stacked.sentence);
    assert!(
        fix.how.starts_with("42.58 GiB of forward results of a scan of 32 rounds wait for the backward pass, 41.49 GiB of that at the peak;"),
        "{}",
        fix.how
    );
}

#[test]
fn the_client_is_dated_by_what_its_allocator_calls_nothing() {
    for (name, version) in [
        ("rocm-mi300x-jax0.6-conv", "<= 0.6.0"),
        ("cuda-gtx1080ti-xla2025-a", "<= 0.6.0"),
        ("rocm-mi300x-jax0.8-conv", "0.6.2 to 0.9.0"),
    ] {
        let Some(path) = support::capture(name) else { return };
        let bytes = std::fs::read(path).unwrap();
        let report = analysis::read(&bytes[..], name, |_| {}).unwrap().report(&Options::default());
        assert_eq!(report.platform.jax_version.as_deref(), Some(version), "{name}");
    }
}

#[test]
fn an_answer_names_what_does_nothing_and_what_cannot_be() {
    let ask = |scenario: &str, fixes: &str| {
        let path = support::shared(&format!("scenarios/{scenario}.xplane.pb"))?;
        let bytes = std::fs::read(path).unwrap();
        let mut analysis = analysis::read(&bytes[..], scenario, |_| {}).unwrap();
        Some(analysis.what_if(&[fixes.to_owned()], &Options::default()))
    };
    let Some(idle) = ask("s3c_donated", "donate,remat") else { return };
    assert!(idle.unwrap().how.contains("; `donate` has nothing to act on in this plan."));
    let pool = ask("s5_other_live", "remat,pool/77").unwrap().unwrap();
    assert!(pool.how.contains("computed again; the plan stays. "), "{}", pool.how);
    assert_eq!(
        ask("s5_other_live", "batch/3").unwrap().unwrap_err().to_string(),
        "`batch/3` cannot be: the batch of 4 does not divide into 3 equal parts"
    );
    assert!(ask("s5_other_live", "accumulate/4").unwrap().is_ok());
    // A larger pool does not end a growth; without the outputs that are kept there is none.
    let grows = "Memory grows by 103.97 MiB with each execution: this only delays the end.";
    assert!(ask("s2_gradients_kept", "pool/90").unwrap().unwrap().how.ends_with(grows));
    assert!(!ask("s2_gradients_kept", "drop-outputs").unwrap().unwrap().how.contains("delays"));
    assert!(!ask("s2b_gradients_not_kept", "pool/90").unwrap().unwrap().how.contains("delays"));
}
