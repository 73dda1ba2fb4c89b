//! What is said of captures that lack a part: a profiler can leave out planes and kinds of events, and what is left must be
//! read as far as it goes, and no further.

use oomscope::analysis::{self, Options};
use oomscope::model::{Backend, Finding, Fits, Outcome, Report, Severity, VerdictStatus};
use oomscope::proto::xspace::{XPlane, XSpace};
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
fn growth_over_a_gap_counts_what_was_lost_once() {
    let Some(report) = stripped("s13_gap", |_| {}) else { return };
    // Of seven starts seen two lie four steps apart: three executions between them are lost.
    let grows = finding(&report, "grows-per-execution");
    assert_eq!(grows.numbers["executions_unseen"].value, 3.0);
    assert!(
        grows.sentence.contains(
            "but 415.88 MiB where events were lost, as if 3 more executions had run there. Still alive at the last start: \
             outputs of jit_grad_step from executions 0 to 5 (623.82 MiB) and 103.97 MiB of executions that the capture lost \
             in part; the other 207.94 MiB of the growth is not explained: events were lost."
        ),
        "{}",
        grows.sentence
    );
    let live =
        |words: &str| report.live_at_last_start.iter().find(|g| g.origin.contains(words)).unwrap().bytes;
    assert_eq!(live("not explained").to_string(), "207.94 MiB");
    assert_eq!(live("lost in part").to_string(), "103.97 MiB");
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
