//! The text of a failure as a report, and beside a capture.

use super::written::{Facts, capital, findings, parts};
use super::{constant, finding, limit, outside};
use crate::arrange::Arrange;
use crate::evidence::error_text::{CONSTANT, Candidate, ErrorText, FailureKind, TextMatch, match_failure};
use crate::model::{
    Backend, ErrorTextReport, Finding, Limit, Platform, Report, Severity, SourceInfo, SourceKind, Verdict,
    VerdictStatus,
};
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
            report.verdict = Verdict {
                status: VerdictStatus::CannotTell,
                sentence: "The text holds no failure of memory that is known here.".into(),
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
    let main = text.main().filter(|main| outside::find(main).is_none());
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
    let Some(found) = &text.matched else {
        if let Some(mut outside) = outside::find(main) {
            outside::beside(&mut outside, main.kind, report);
            report.findings.insert(0, outside);
        }
        return;
    };
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
    let elsewhere = if ran_here {
        " No launch failed in this capture: the error is of another moment or another run."
    } else {
        ""
    };
    let mut note = finding("error-text", Severity::Note, title, found.sentence.clone() + elsewhere, "");
    note.evidence = if exact { Evidence::Read } else { Evidence::Inferred };
    // A constant's failure is told by the text alone: the plan holds no more of it.
    let constant = constant::find(main);
    // A plan has no run: what failed is known by the text.
    let alone = (report.source.kind == SourceKind::HloProto && found.module.is_some()).then(|| whole(text));
    report.findings.push(note);
    if let Some(constant) = constant {
        report.findings.insert(0, constant);
    }
    if let Some(facts) = alone.as_ref().and_then(Facts::of) {
        let new = |f: &Finding| report.findings.iter().all(|other| other.id != f.id);
        let more: Vec<Finding> = findings(&facts).into_iter().filter(new).collect();
        report.findings.extend(more);
        report.findings.arrange_by_key(|f| f.severity);
        if report.verdict.status == VerdictStatus::CannotTell {
            report.verdict = verdict(&facts);
        }
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
    let asked = match (main.requested, main.what.as_deref()) {
        (Some(requested), _) => requested.to_string(),
        // TensorFlow says the tensor and not its size.
        (None, Some(what)) if main.kind == FailureKind::DevicePool => what.to_owned(),
        (None, _) => "memory".to_owned(),
    };
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
        _ => outside::find(main).map_or_else(String::new, |f| format!("{}.", f.title)),
    };
    let status = match main.kind {
        FailureKind::Unknown => VerdictStatus::CannotTell,
        FailureKind::DevicePoolOptional => VerdictStatus::AtRisk,
        _ => VerdictStatus::OutOfMemory,
    };
    let exact = main.requested.is_none_or(|r| r.is_exact());
    Verdict { status, sentence, evidence: if exact { Evidence::Read } else { Evidence::Inferred } }
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
