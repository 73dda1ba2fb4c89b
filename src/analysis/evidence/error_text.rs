//! The text of a failure as a report, and beside a capture.

use super::written::{Facts, capital, findings, parts};
use super::{finding, limit, outside};
use crate::evidence::error_text::{Candidate, ErrorText, FailureKind, TextMatch, match_failure};
use crate::model::{
    Backend, ErrorTextReport, Limit, Platform, Report, Severity, SourceInfo, Verdict, VerdictStatus,
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
    let mut matched = None;
    if let Some(main) = text.main() {
        if let Some(outside) = outside::find(main) {
            report.findings.insert(0, outside);
        } else {
            let found = match_failure(main, modules);
            let title = if found.module.is_some() {
                "Your error, in this capture"
            } else {
                "Your error is not in this capture"
            };
            let exact = main.requested.is_some_and(|r| r.is_exact());
            let mut note = finding("error-text", Severity::Note, title, found.sentence.clone(), "");
            note.evidence = if exact { Evidence::Read } else { Evidence::Inferred };
            report.findings.push(note);
            matched = Some(found);
        }
    } else {
        let sentence =
            "The text that was given beside the capture holds no failure of memory that is known here.";
        report.warnings.push(crate::terms::Warning::new("error-text", sentence));
    }
    report.error_text = Some(section(text, matched));
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
    let asked = main.requested.map_or_else(|| "memory".to_owned(), |r| r.to_string());
    let sentence = match main.kind {
        FailureKind::CompileDevice => match main.limit {
            Some(limit) => {
                format!("{who} did not compile: it needs {asked} of the {limit} that the device has.")
            }
            None => format!("{who} did not compile: it needs more memory than the device has."),
        },
        FailureKind::DevicePool | FailureKind::DevicePoolOptional if main.requested.is_none() => {
            let need = facts.need().map_or_else(String::new, |n| format!(", which needs {n}"));
            format!("The text is the plan of a step{need}; the message with the request is not in it.")
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
