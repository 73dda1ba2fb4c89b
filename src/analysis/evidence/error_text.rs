//! The text of a failure as a report, and beside a capture.

use super::written::{Facts, budget, capital, findings, parts};
use super::{constant, driver, finding, limit, others, outside};
use crate::arrange::Arrange;
use crate::evidence::error_text::{
    CONSTANT, Candidate, ErrorText, Failure, FailureKind, TextMatch, match_failure,
};
use crate::model::{
    Backend, ErrorTextReport, Finding, Limit, Platform, Report, Severity, SourceInfo, SourceKind, Verdict,
    VerdictStatus,
};
use crate::terms::RetryOutcome;
use crate::units::Evidence;

/// The report of a text alone. A text that says nothing of memory has a report that says so: see [`ErrorText::is_empty`].
#[must_use]
pub fn of_error_text(source: SourceInfo, text: ErrorText) -> Report {
    let platform = Platform { backend: backend(&text), vendor: None, jax_version: None, devices: Vec::new() };
    let mut report = Report::of(source, platform);
    report.limits = limits(&text);
    match Facts::of(&text) {
        Some(facts) => {
            report.module.clone_from(&facts.main.executable);
            report.findings = findings(&facts);
            report.verdict = verdict(&facts);
        }
        None => {
            let budget = budget(&text);
            let more =
                if budget.is_some() { " It says that XLA could not reach its memory budget." } else { "" };
            report.findings.extend(budget);
            report.verdict = Verdict {
                status: VerdictStatus::CannotTell,
                sentence: format!("The text holds no failure of memory that is known here.{more}"),
                evidence: Evidence::Read,
            };
        }
    }
    report.error_text = Some(section(text, None));
    report
}

/// Adds the text of a failure to the report of a capture: what of it the failure is.
pub fn add_error_text(report: &mut Report, text: ErrorText, modules: &[Candidate<'_>]) {
    report.error_text = Some(beside(text, modules));
    tell_beside(report);
}

/// What a text says, and what of a capture's modules it is of. Where a report has this before its findings are made, they
/// know what memory the text says there is.
#[must_use]
pub fn beside(text: ErrorText, modules: &[Candidate<'_>]) -> ErrorTextReport {
    let has_size = |main: &&Failure| main.kind != FailureKind::Driver || main.requested.is_some();
    let main = text.main().filter(|main| outside::find(main).is_none()).filter(has_size);
    let matched = main.map(|main| match_failure(main, modules));
    section(text, matched)
}

/// Says in the findings of a report what its text of a failure is of.
pub fn tell_beside(report: &mut Report) {
    let Some(text) = &report.error_text else { return };
    let Some(main) = text.main() else {
        let sentence =
            "The text that was given beside the capture holds no failure of memory that is known here.";
        report.warnings.push(crate::terms::Warning::new("error-text", sentence));
        return;
    };
    let whole = whole(text);
    let Some(facts) = Facts::of(&whole) else { return };
    // What the text alone tells: memory outside the pool, the driver's refusal, a constant.
    let mut alone: Vec<Finding> =
        outside::find(main).or_else(|| facts.refused_by_the_driver()).into_iter().collect();
    for finding in &mut alone {
        outside::beside(finding, main.kind, report);
    }
    alone.extend(constant::find(main));
    let has_module = text.matched.as_ref().is_some_and(|found| found.module.is_some());
    // What the pool asks the driver for is no allocation of a plan.
    let worth_it = has_module || main.kind != FailureKind::Driver;
    let note = text.matched.as_ref().filter(|_| worth_it).map(|found| note(report, main, found));
    alone.extend(others::before(&facts));
    report.findings.extend(note);
    report.findings.extend(others::after(&facts));
    for finding in alone.into_iter().rev() {
        report.findings.insert(0, finding);
    }
    // A plan has no run: what failed is known by the text.
    if report.source.kind == SourceKind::HloProto && has_module {
        let new = |f: &Finding| report.findings.iter().all(|other| other.id != f.id);
        let more: Vec<Finding> = findings(&facts).into_iter().filter(new).collect();
        report.findings.extend(more);
        report.findings.arrange_by_key(|f| f.severity);
        if report.verdict.status == VerdictStatus::CannotTell {
            report.verdict = verdict(&facts);
            return;
        }
    }
    // Of a plan that the text is not of, the text says nothing.
    let is_other = report.source.kind == SourceKind::HloProto && text.matched.is_some() && !has_module;
    if !(is_other && report.verdict.status == VerdictStatus::CannotTell) {
        report.verdict = beside_verdict(report, &facts);
    }
}

/// Which part of a capture a failure is of.
fn note(report: &Report, main: &Failure, found: &TextMatch) -> Finding {
    let title = match found.module {
        Some(_) => "Your error, in this capture",
        None => "Your error is not in this capture",
    };
    let exact = main.requested.is_some_and(|r| r.is_exact());
    // A capture can be of a run that went well: then it shows what the step needs, not why it failed.
    let ran_here = found.module.is_some()
        && main.kind != FailureKind::CompileDevice
        && !report.executions.is_empty()
        && report.verdict.status != VerdictStatus::OutOfMemory;
    let elsewhere = match waited(report, found).filter(|_| ran_here) {
        Some(waited) => waited,
        None if ran_here => {
            " No launch failed in this capture: the error is of another moment or another run.".to_owned()
        }
        None => String::new(),
    };
    let mut note = finding("error-text", Severity::Note, title, found.sentence.clone() + &elsewhere, "");
    note.evidence = if exact { Evidence::Read } else { Evidence::Inferred };
    note
}

/// That a launch waited for what a text says was not had, and got it.
fn waited(report: &Report, found: &TextMatch) -> Option<String> {
    let waits = report.retries.iter().filter(|r| r.outcome == RetryOutcome::Rescued);
    let (wait, execution) = waits
        .filter_map(|wait| {
            let execution = report.executions.get(usize::try_from(wait.execution?).ok()?)?;
            let asked = wait.missing.as_ref()?.allocation?;
            let is_it =
                execution.module == found.module && found.request.iter().any(|r| r.allocation == asked);
            is_it.then_some((wait, execution))
        })
        .max_by_key(|(wait, _)| wait.duration_ps)?;
    Some(format!(
        " In this capture execution {} waited {} for it and then got it: where nothing is freed in time, such a wait ends in your \
         error.",
        execution.number, wait.duration_ps
    ))
}

/// The verdict of a capture with the text of a failure that it does not show: the failure comes first, since it is what was asked
/// about.
fn beside_verdict(report: &Report, facts: &Facts<'_>) -> Verdict {
    let shown = &report.verdict;
    let by_text = verdict(facts);
    if shown.status == VerdictStatus::OutOfMemory || by_text.status == VerdictStatus::CannotTell {
        return shown.clone();
    }
    let is_pool = matches!(
        facts.main.kind,
        FailureKind::DevicePool | FailureKind::DevicePoolOptional | FailureKind::CompileDevice
    );
    let says = match report.source.kind {
        SourceKind::Xspace if is_pool => {
            "So says your text; this capture is of another moment or another run, and shows no failure."
        }
        SourceKind::Xspace => {
            "So says your text; a capture shows the device's pool alone, and this one no failure of it."
        }
        _ => "So says your text.",
    };
    Verdict {
        status: by_text.status,
        sentence: format!("{} {says} {}", by_text.sentence, shown.sentence),
        evidence: shown.evidence.with(by_text.evidence),
    }
}

/// The text again, of its part of a report.
fn whole(text: &ErrorTextReport) -> ErrorText {
    ErrorText {
        failures: text.failures.clone(),
        pools: text.pools.clone(),
        rematerialization: text.rematerialization.clone(),
    }
}

fn section(text: ErrorText, matched: Option<TextMatch>) -> ErrorTextReport {
    let main = text.main().and_then(|main| text.failures.iter().position(|f| f == main)).map(|i| i as u64);
    ErrorTextReport {
        failures: text.failures,
        main,
        pools: text.pools,
        rematerialization: text.rematerialization,
        matched,
    }
}

/// The kind of device that the messages are of.
fn backend(text: &ErrorText) -> Option<Backend> {
    let main = text.main()?;
    match main.kind {
        FailureKind::CompileDevice | FailureKind::CompileVmem => Some(Backend::Tpu),
        // Only the TPU's allocator says what was free.
        FailureKind::DevicePool if main.free.is_some() => Some(Backend::Tpu),
        FailureKind::DevicePool | FailureKind::DevicePoolOptional
            if main.allocator.is_none() && main.plan.is_none() =>
        {
            None
        }
        FailureKind::Host | FailureKind::Unknown | FailureKind::PyTorch => None,
        _ => Some(Backend::Gpu),
    }
}

fn verdict(facts: &Facts<'_>) -> Verdict {
    let main = facts.main;
    let who = capital(&facts.who());
    if main.what.as_deref() == Some(CONSTANT) {
        let sentence = match main.requested {
            Some(asked) => format!("{who} was not loaded: {asked} for one of its constants were not free."),
            None => format!("{who} was not loaded: there was no room for one of its constants."),
        };
        return Verdict { status: VerdictStatus::OutOfMemory, sentence, evidence: Evidence::Read };
    }
    let asked = asked_in_words(main);
    if let Some(found) = outside::find(main) {
        let sentence = format!("{}.", found.title);
        return Verdict { status: VerdictStatus::OutOfMemory, sentence, evidence: found.evidence };
    }
    let sentence = match main.kind {
        FailureKind::CompileDevice => match main.limit {
            Some(limit) => {
                let by = main.exceeded_by.map_or_else(String::new, |by| format!(", {by} too much"));
                format!("{who} did not compile: it needs {asked} of the {limit} that the device has{by}.")
            }
            None => format!("{who} did not compile: it needs more memory than the device has."),
        },
        FailureKind::DevicePool | FailureKind::DevicePoolOptional
            if main.requested.is_none() && main.what.is_none() =>
        {
            let need = facts.need().map_or_else(String::new, |n| format!(", which needs {n}"));
            match main.plan {
                Some(_) => {
                    format!(
                        "The text is the plan of a step{need}; the message with the request is not in it."
                    )
                }
                None => format!("{who} ran out of memory; how much it asked for cannot be read in the text."),
            }
        }
        FailureKind::Driver if main.allocator.is_none() => match (main.requested, main.device) {
            (None, _) => format!("{}.", driver::find(main, None).map_or_else(String::new, |f| f.title)),
            (Some(_), None) => format!("The driver did not give {asked} of the card."),
            (Some(_), Some(device)) => format!("The driver did not give {asked} on device {device}."),
        },
        FailureKind::DevicePool | FailureKind::DevicePoolOptional | FailureKind::Driver => {
            let of = main.allocator.as_ref().map_or_else(String::new, |a| format!(" {a}"));
            let temp = if facts.asked_for_temp() { ", its temp block," } else { "" };
            let free = facts.free().map_or_else(String::new, |f| format!(" {f} were free."));
            format!("{who} asked{of} for {asked}{temp} and did not get it.{free}")
        }
        FailureKind::Unknown => format!(
            "Something ran out: {}. This form of message is not known here.",
            main.what.as_deref().unwrap_or("RESOURCE_EXHAUSTED")
        ),
        // The others are outside the pool.
        _ => String::new(),
    };
    let status = match main.kind {
        FailureKind::Unknown => VerdictStatus::CannotTell,
        FailureKind::DevicePoolOptional => VerdictStatus::AtRisk,
        _ => VerdictStatus::OutOfMemory,
    };
    Verdict { status, sentence, evidence: evidence(facts) }
}

/// The weakest class of the sizes in a verdict: read to the byte, or concluded from what is rounded. That the request is the
/// temp block is concluded from a total that is rounded too.
fn evidence(facts: &Facts<'_>) -> Evidence {
    let main = facts.main;
    let temp = facts.temp().filter(|_| facts.asked_for_temp());
    let of_compiler =
        [main.limit, main.exceeded_by].map(|s| s.filter(|_| main.kind == FailureKind::CompileDevice));
    let need = facts.need().filter(|_| main.requested.is_none());
    let sizes = [main.requested, temp, facts.free(), need].into_iter().chain(of_compiler).flatten();
    if sizes.into_iter().all(|size| size.is_exact()) { Evidence::Read } else { Evidence::Inferred }
}

/// What was asked for, as an object.
pub(super) fn asked_in_words(failure: &Failure) -> String {
    match (failure.requested, failure.what.as_deref()) {
        (Some(requested), _) => requested.to_string(),
        // TensorFlow says the tensor and not its size.
        (None, Some(what)) if failure.kind == FailureKind::DevicePool => what.to_owned(),
        (None, _) => "memory".to_owned(),
    }
}

fn limits(text: &ErrorText) -> Vec<Limit> {
    let mut limits = vec![limit(
        "text-only",
        "A text says what was asked for and at most the plan of one module; not what else was alive, nor whether it grew. A \
         capture of the failing run says that.",
    )];
    let plan = text.main().and_then(|m| m.plan.as_ref());
    if plan.is_some_and(|p| !parts(p).is_empty()) {
        limits.push(limit(
            "text-rounds",
            "Sizes in the text are rounded to three digits or so; sums of them are about. A donated array counts among the \
             parameters and as live out, and once in the total.",
        ));
    }
    if plan.is_some_and(|p| p.buffers.len() >= 15) {
        limits
            .push(limit("text-lists-15", "XLA's message lists the 15 largest buffers at the peak, not all."));
    }
    limits
}
