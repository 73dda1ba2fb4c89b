//! What the texts tell beside the JSON, on scenarios whose numbers are known.

use oomscope::analysis::{self, Options};
use oomscope::model::Report;
use oomscope::model::Severity;
use oomscope::report::{summarize, summary_text, text};

fn report(scenario: &str) -> Option<Report> {
    let path = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/scenarios/{}.xplane.pb"), scenario);
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("skipped: {path} is not here");
        return None;
    };
    Some(analysis::read(&bytes[..], scenario, |_| {}).unwrap().report(&Options::default()))
}

/// The text's words, one space between them, so that no test hangs on where a line is broken.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_allocator_tells_rounding_and_an_execution_what_it_asked_for() {
    let Some(report) = report("s2_gradients_kept") else { return };
    let said = words(&text(&report));
    assert!(said.contains("1.81 KiB lost by rounding at the peak"), "{said}");
    // Outputs and temp: the launch need of the plan.
    assert!(said.contains("jit_grad_step(17) 9 0 284.2 ms 2.5 ms 1.22 GiB 466.69 MiB 338 ? ran"), "{said}");
    // The number of the event is the one that the JSON has.
    let peak = report.plan.unwrap().peak.unwrap();
    assert!(said.contains(&format!("event {} of {} at", peak.event, peak.events)), "{said}");
}

#[test]
fn programs_of_one_name_are_told_apart_and_those_that_never_ran_are_no_measure() {
    let Some(report) = report("s9_eager_300_modules") else { return };
    let said = words(&text(&report));
    for owner in ["jit_true_divide(23) execution 0", "jit_true_divide(35) execution 0"] {
        assert!(said.contains(owner), "{owner}");
    }
    // `jit_subtract(59)` needs 256.02 MiB and was compiled only.
    assert!(
        said.contains("different modules of one operation each; the largest needs 128.25 MiB."),
        "{said}"
    );
    assert!(said.contains("▸ jit__where(25) 128.25 MiB"), "{said}");
}

#[test]
fn captures_of_one_host_are_runs_and_no_peers() {
    let names = ["s2b_gradients_not_kept", "s2_gradients_kept"];
    let Some(runs) = names.into_iter().map(report).collect::<Option<Vec<_>>>() else { return };
    let summary = summarize(&runs);
    assert!(summary.devices.iter().all(|d| d.over_median_bytes.is_none() && !d.differs));
    let said = words(&summary_text(&summary));
    assert!(said.contains("synthetic has 2 captures: runs one after the other, not peers."), "{said}");
    // Nothing but the file tells them apart.
    assert!(names.iter().all(|name| said.contains(&name[..10])), "{said}");

    // The same two on two hosts are peers: 1,801,822,976 and 930,804,736 bytes at their peaks.
    let mut hosts = runs;
    hosts[0].source.host = Some("another".into());
    let summary = summarize(&hosts);
    let over: Vec<Option<i64>> = summary.devices.iter().map(|d| d.over_median_bytes).collect();
    assert_eq!(over, [Some(871_018_240), Some(0)]);
}

/// Hosts that run different programs, and findings of one gravity.
#[test]
fn hosts_of_other_programs_are_no_peers_and_causes_stand_first() {
    let names = ["s1_plan_too_large", "s3_no_donation_leak", "s5_other_live"];
    let Some(mut hosts) = names.into_iter().map(report).collect::<Option<Vec<_>>>() else { return };
    for (host, name) in hosts.iter_mut().zip(names) {
        host.source.host = Some(name.into());
    }
    let summary = summarize(&hosts);
    assert!(summary.devices.iter().all(|d| d.over_median_bytes.is_none() && !d.differs));
    // All three have an allocator-retry; beside it each has the cause.
    let errors: Vec<&str> =
        summary.findings.iter().filter(|f| f.severity == Severity::Error).map(|f| f.id.as_str()).collect();
    let at = |id: &str| errors.iter().position(|other| *other == id).unwrap();
    assert!(
        at("step-does-not-fit") < at("not-donated") && at("not-donated") < at("live-arrays"),
        "{errors:?}"
    );
    assert!(at("live-arrays") < at("allocator-retry"), "{errors:?}");
}
