//! `truncated-capture`: part of what happened is missing from the capture.

use super::case::Case;
use super::draft::Draft;
use super::fixes;
use super::words::{count, list, name};
use crate::model::{AllocatorKind, Finding, Severity, Warning};
use crate::units::Evidence;

/// Kinds of warnings that mean that bytes of the file, or whole parts of it, could not be read.
fn is_damage(w: &Warning) -> bool {
    ["truncated", "malformed", "cut", "lost", "damaged", "incomplete"]
        .iter()
        .any(|code| w.code.contains(code))
}

/// An allocator's running total jumps, so events were lost; or the file ends early.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let jumps: Vec<(usize, u64, &str)> = case
        .report
        .allocators
        .iter()
        .enumerate()
        .filter(|(_, a)| a.chain_breaks > 0)
        .map(|(i, a)| (i, a.chain_breaks, a.name.as_str()))
        .collect();
    let damage: Vec<&Warning> = case.report.warnings.iter().filter(|w| is_damage(w)).collect();
    if jumps.is_empty() && damage.is_empty() {
        return None;
    }
    // What is missing on the host side changes nothing that is said of the device.
    let of_device = jumps.iter().any(|(i, ..)| case.report.allocators[*i].kind != AllocatorKind::Host);
    let severity = if of_device || !damage.is_empty() { Severity::Warning } else { Severity::Note };
    let mut said = Vec::new();
    if !jumps.is_empty() {
        let each: Vec<String> = jumps
            .iter()
            .take(4)
            .map(|(_, n, pool)| format!("the running total of {} jumps {}", name(pool), times(*n)))
            .collect();
        let more = jumps.len().saturating_sub(4);
        let more = if more > 0 {
            format!(" (and of {} more)", count(more as u64, "allocator"))
        } else {
            String::new()
        };
        said.push(format!("Allocator events are missing: {}{more}.", list(&each)));
    }
    if let Some(first) = damage.first() {
        let more = damage.len() - 1;
        let more = if more > 0 {
            format!(" ({} of the kind)", count(more as u64, "more warning"))
        } else {
            String::new()
        };
        said.push(format!("The file is not whole: {}{more}.", first.message.trim_end_matches('.')));
    }
    let total: u64 = jumps.iter().map(|(_, n, _)| *n).sum();
    let mut draft = Draft::new("truncated-capture", severity, "Part of the capture is missing")
        .sentence(said.join(" "))
        .number("jumps", total as f64, Evidence::Measured)
        .number("damaged_places", damage.len() as f64, Evidence::Measured)
        .cause(
            "The profiler's buffers overflowed, the process was killed before the capture was written, or the file was cut \
             off. Arrays that came or went in the gap are unknown, and executions in it are not listed; none of them counts as \
             failed.",
        );
    // A file that ends early lost its end while it was written or copied; full buffers make the totals jump.
    if damage.is_empty() {
        draft = draft.fix(shorter_window()).fix(context_manager());
    } else {
        draft = draft.fix(copy_again()).fix(context_manager());
        if !jumps.is_empty() {
            draft = draft.fix(shorter_window());
        }
    }
    for (at, ..) in &jumps {
        draft = draft.at("allocator", *at, "its running total over time");
    }
    Some(draft.done())
}

fn times(n: u64) -> String {
    if n == 1 { "once".into() } else { format!("{n} times") }
}

fn copy_again() -> crate::model::Fix {
    let text = "Copy the file again from where it was written, and compare the lengths: a copy made while the profiler still \
                wrote, or one that broke off, ends early.";
    fixes::plain("copy-again", text, "None.", "")
}

fn shorter_window() -> crate::model::Fix {
    let text = "Trace fewer steps, or leave the Python tracer out, so that the profiler's buffers suffice.";
    let mut fix =
        fixes::plain("trace-less", text, "Without the Python tracer, arrays have no Python line.", "");
    fix.code = Some(
        "options = jax.profiler.ProfileOptions()\noptions.python_tracer_level = 0\njax.profiler.start_trace(dir, profiler_options=options)"
            .into(),
    );
    fix
}

fn context_manager() -> crate::model::Fix {
    let text = "Let the capture be written whatever happens: the context manager stops the trace when the step raises.";
    let mut fix = fixes::plain("trace-context", text, "None.", "");
    fix.code = Some("with jax.profiler.trace(dir):\n    state = step(state, batch)".into());
    fix
}
