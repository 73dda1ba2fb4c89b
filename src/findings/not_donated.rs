//! `not-donated`: parameters and outputs of one shape that do not share memory.

use super::case::Case;
use super::detail::Detail;
use super::draft::Draft;
use super::words::{Unit, count, list, name, percent, shape};
use super::{fixes, op_by_op};
use crate::model::{Finding, LiveKind, Role, Severity};
use crate::units::{Bytes, Evidence};

/// Pairs that donation would merge.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Missed {
    bytes: Bytes,
    pairs: u64,
    /// Outputs of the step that are new state as far as the plan says, paired or not.
    outputs: u64,
}

/// Smaller states are nobody's concern.
const WORTH_AT_ALL: u64 = 1 << 20;

/// What the run says of the old arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    /// What was alive at a start beside the outputs of the execution before cannot hold the arguments: so those outputs are
    /// the arguments, and the old arrays are done with.
    FedBack,
    /// The outputs of the execution before were gone: the same arguments are passed again, and donating them would break the
    /// program.
    UsedAgain,
    /// Either is possible.
    Unknown,
}

/// A share of the need below which the pairs are not worth a word.
const WORTH: f64 = 0.05;

/// Pairs not aliased that look like old and new state: the output is made by neither pass of a gradient, since gradients have
/// the parameters' shapes too and are no new state.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let (detail, module, space) = (case.detail?, case.module?, case.space?);
    let missed = missed(detail);
    let share = missed.bytes.share_of(space.need_bytes)?;
    let run = run_says(case, missed.bytes);
    if missed.bytes.0 < WORTH_AT_ALL
        || share < WORTH
        || run == Run::UsedAgain
        || op_by_op::runs_op_by_op(case)
    {
        return None;
    }
    // A function without a gradient may well be called with the same arguments again: without a run that shows otherwise
    // it is a hint.
    let is_step = detail.has_backward || run == Run::FedBack;
    let severity = match (is_step, case.in_trouble()) {
        (true, true) => Severity::Error,
        (true, false) => Severity::Warning,
        (false, _) => Severity::Note,
    };
    let title = match severity {
        Severity::Note => "Arguments could be donated",
        _ => "Old and new state are alive together: nothing is donated",
    };
    let title = if space.donated_bytes.0 > 0 && severity != Severity::Note {
        "Old and new state are alive together: not every argument is donated"
    } else {
        title
    };
    let unit = Unit::of(space.parameters_bytes.max(space.outputs_bytes));
    let sentence = format!(
        "{} takes {} of parameters and returns {} of new arrays; {} of its {} have the shape of a parameter ({}, {} of the \
         need) and do not take its place. Donated: {}.",
        name(&module.name),
        unit.with_name(space.parameters_bytes),
        unit.with_name(space.outputs_bytes),
        missed.pairs,
        count(missed.outputs, "output"),
        missed.bytes,
        percent(share),
        space.donated_bytes,
    );
    let mut draft = Draft::new("not-donated", severity, title)
        .sentence(sentence)
        .bytes("parameters_bytes", space.parameters_bytes, Evidence::Read)
        .bytes("outputs_bytes", space.outputs_bytes, Evidence::Read)
        .bytes("donated_bytes", space.donated_bytes, Evidence::Read)
        .bytes("missed_bytes", missed.bytes, Evidence::Read)
        .number("missed_pairs", missed.pairs as f64, Evidence::Read)
        .number("outputs", missed.outputs as f64, Evidence::Read)
        .cause(cause(case, run))
        .fix(fixes::donate(case))
        .at("plan", None, "parameters against outputs");
    if run == Run::FedBack {
        draft =
            draft.at("live", None, "the outputs of the execution before: nothing else can be the arguments");
    }
    Some(draft.done())
}

fn cause(case: &Case, run: Run) -> String {
    let why = match run {
        Run::FedBack => {
            "The run passes the outputs of each execution to the next, so the old arrays are done with."
        }
        _ => {
            "If the caller doesn't use the old arrays after the call, their memory is free for the new ones."
        }
    };
    let examples: Vec<String> = examples(case).collect();
    let examples =
        if examples.is_empty() { String::new() } else { format!(" The largest: {}.", list(&examples)) };
    format!("XLA may only write a result over an argument that was donated.{examples} {why}")
}

/// `state.params['w'] f32[5120,5120]`, the three largest.
fn examples<'a>(case: &Case<'a>) -> impl Iterator<Item = String> + use<'a> {
    let donation = case.plan().map(|p| &p.donation.pairs[..]).unwrap_or_default();
    donation
        .iter()
        .filter(|p| !p.aliased)
        .take(3)
        .map(|p| format!("`{}` {} ({})", name(&p.parameter), shape(&p.shape), p.bytes))
}

fn missed(detail: &Detail) -> Missed {
    let is_state = |role: Role| matches!(role, Role::Update | Role::Other);
    let mut it = Missed { bytes: Bytes::ZERO, pairs: 0, outputs: 0 };
    it.outputs = detail.donation.outputs.len() as u64;
    for pair in detail.donation.missed_pairs() {
        if detail.output_roles.get(pair.output).is_some_and(|&role| is_state(role)) {
            it.bytes += pair.bytes;
            it.pairs += 1;
        }
    }
    it
}

/// What was alive when the last execution started.
fn run_says(case: &Case, missed: Bytes) -> Run {
    let executions = case.executions_here();
    let (Some(module), [.., (_, before), (_, last)]) = (case.module, executions.as_slice()) else {
        return Run::Unknown;
    };
    let Some(in_use) = last.in_use_start_bytes.filter(|_| !case.report.live_at_last_start.is_empty()) else {
        return Run::Unknown;
    };
    let returned: Bytes = case
        .report
        .live_at_last_start
        .iter()
        .filter(|g| g.kind == LiveKind::Outputs && g.execution == Some(before.number))
        .filter(|g| g.module.as_ref().is_some_and(|m| *m == module.name || *m == module.base_name))
        .map(|g| g.bytes)
        .sum();
    let others = in_use.saturating_sub(returned);
    if returned.0 < missed.0 / 2 {
        Run::UsedAgain
    } else if others.0 < missed.0 / 2 {
        Run::FedBack
    } else {
        Run::Unknown
    }
}
