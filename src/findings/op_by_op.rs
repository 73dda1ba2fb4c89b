//! `op-by-op`: the program runs without `jax.jit`, one small module an operation.

use super::case::Case;
use super::draft::Draft;
use super::fixes;
use super::words::{self, count, percent};
use crate::arrange::Arrange;
use crate::model::{Finding, LiveGroup, LiveKind, Module, Severity};
use crate::units::{Bytes, Evidence};
use std::collections::{HashMap, HashSet};

/// A module of one operation of `jax.numpy`, as dispatched op by op, has less: 17 instructions at most in 300 of them.
/// The smallest real steps have hundreds.
const SMALL: u64 = 40;
/// A program that is jitted has some such modules around its step: seeds, converts, dynamic slices.
const MANY_MODULES: usize = 50;

/// What ran op by op.
#[derive(Debug, Clone, PartialEq)]
struct OpByOp {
    /// Different modules of one operation that ran.
    modules: usize,
    /// Their executions.
    executions: usize,
    /// All executions.
    all: usize,
}

fn measure(case: &Case) -> Option<OpByOp> {
    // A program that makes its weights op by op and then runs a step is not one that runs op by op.
    if case.module.is_some_and(|m| m.instructions > SMALL) {
        return None;
    }
    let small: HashMap<&str, &Module> = case
        .report
        .modules
        .iter()
        .filter(|m| m.instructions <= SMALL)
        .map(|m| (m.program_id.as_str(), m))
        .collect();
    let small_names: HashSet<&str> = small.values().map(|m| m.base_name.as_str()).collect();
    let large_names: HashSet<&str> =
        case.report.modules.iter().filter(|m| m.instructions > SMALL).map(|m| m.base_name.as_str()).collect();
    let mut ran = HashSet::new();
    let mut executions = 0;
    for e in &case.report.executions {
        let id = e.program_id.as_deref();
        let by_name = || {
            let base = words::base(e.module.as_deref()?);
            (small_names.contains(base) && !large_names.contains(base)).then_some(base)
        };
        if let Some(key) = id.filter(|id| small.contains_key(id)).or_else(by_name) {
            executions += 1;
            ran.insert(key);
        }
    }
    let all = case.report.executions.len();
    let it = OpByOp { modules: ran.len(), executions, all };
    // Nine in ten: a few jitted helpers run in every such program.
    (it.modules >= MANY_MODULES && executions * 10 >= all * 9).then_some(it)
}

/// Whether nearly all that ran were many modules of one operation each.
pub(super) fn runs_op_by_op(case: &Case) -> bool {
    measure(case).is_some()
}

/// Whether what it left alive fills more than half of the pool; without allocator events nobody knows.
pub(super) fn fills_the_pool(case: &Case) -> bool {
    runs_op_by_op(case) && fills(case, bytes_of(&outputs_alive(case)))
}

fn fills(case: &Case, outputs: Bytes) -> bool {
    case.capacity().and_then(|pool| outputs.share_of(pool)).is_some_and(|share| share > 0.5)
}

fn bytes_of(groups: &[&LiveGroup]) -> Bytes {
    groups.iter().map(|g| g.bytes).sum()
}

/// Many small modules ran and hardly anything else.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let it = measure(case)?;
    let outputs = outputs_alive(case);
    let bytes = bytes_of(&outputs);
    let arrays: u64 = outputs.iter().filter_map(|g| g.count).sum();
    // Of those that ran: a process compiles more than a capture sees running.
    let need = |m: &Module| super::case::device_space(m).map(|s| s.need_bytes);
    let all = || case.report.modules.iter();
    let ran = all().filter(|m| m.executions != Some(0)).filter_map(need).max();
    let largest = ran.or_else(|| all().filter_map(need).max())?;
    let (severity, title) = match (case.failure.is_some(), fills(case, bytes)) {
        (true, true) => (Severity::Error, "The program runs op by op, and its intermediates filled the pool"),
        (false, true) => {
            (Severity::Warning, "The program runs op by op, and its intermediates fill the pool")
        }
        (true, false) => (Severity::Warning, "The program runs op by op"),
        (false, false) => (Severity::Note, "The program runs op by op"),
    };
    let mut sentence = format!(
        "{} of {} executions are of {} different modules of one operation each; the largest needs {largest}.",
        it.executions, it.all, it.modules
    );
    if bytes.0 > 0 {
        sentence += &format!(
            " {bytes} in {} are outputs of earlier ones that are still referenced: {}.",
            count(arrays, "array"),
            by_name(&outputs)
        );
    }
    if case.failure.is_some() && case.pool.is_none() {
        sentence += " Which of their outputs were alive when the launch failed is not in the capture: it holds no allocator events.";
    }
    let python = python_lines(&outputs);
    let mut draft = Draft::new("op-by-op", severity, title)
        .number("modules", it.modules as f64, Evidence::Measured)
        .number("executions", it.executions as f64, Evidence::Measured)
        .bytes("largest_need_bytes", largest, Evidence::Read)
        .bytes("outputs_alive_bytes", bytes, Evidence::Measured)
        .number("outputs_alive", arrays as f64, Evidence::Measured);
    if !python.is_empty() {
        sentence += &format!(" By Python line: {python}.");
    }
    let mut jit = fixes::plain(
        "jit",
        "Wrap the whole step in `jax.jit`: XLA then plans its memory as one block and frees each value after its last use.",
        "A compilation at the first call; Python side effects inside run once.",
        "How much that saves cannot be told from here: the plan of the jitted step is not in this capture.",
    );
    jit.code = Some("step = jax.jit(step)".into());
    draft = draft
        .sentence(sentence)
        .cause(
            "Without jit each operation is a program of its own and each intermediate an array that lives as long as Python \
             refers to it; under `jax.grad` that is every value that the backward pass wants.",
        )
        .fix(jit)
        .fix(fixes::plain(
            "release",
            "Drop references to intermediates as soon as they are used (`del`), or put the code into a function so that \
             they go when it returns.",
            "None.",
            "",
        ))
        .at("execution", None, "the executions, hundreds of small ones")
        .at("live", None, "the outputs still alive at the last start");
    Some(draft.done())
}

/// Outputs of executions before the last start.
fn outputs_alive<'a>(case: &Case<'a>) -> Vec<&'a LiveGroup> {
    case.report.live_at_last_start.iter().filter(|g| g.kind == LiveKind::Outputs).collect()
}

/// `jit_true_divide 704.00 MiB, jit_multiply 464.00 MiB and 7 more`.
fn by_name(groups: &[&LiveGroup]) -> String {
    let named = groups.iter().map(|g| (g.module.as_deref().map_or("unknown", words::base), g.bytes));
    top(named)
}

fn python_lines(groups: &[&LiveGroup]) -> String {
    top(groups.iter().filter_map(|g| Some((g.frame.as_deref()?, g.bytes))))
}

/// The three largest by name, and how many more there are.
fn top<'a>(named: impl Iterator<Item = (&'a str, Bytes)>) -> String {
    let mut sums: HashMap<&str, Bytes> = HashMap::new();
    for (name, bytes) in named {
        *sums.entry(name).or_default() += bytes;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.arrange_by_key(|&(name, bytes)| (std::cmp::Reverse(bytes), name));
    let mut parts: Vec<String> =
        sums.iter().take(3).map(|(name, bytes)| format!("{} {bytes}", words::name(name))).collect();
    if sums.len() > 3 {
        parts.push(format!("{} more", sums.len() - 3));
    }
    words::list(&parts)
}

/// The share of executions that are of modules of one operation, for the limits.
pub(super) fn share(case: &Case) -> Option<String> {
    let it = measure(case)?;
    Some(percent(it.executions as f64 / it.all.max(1) as f64))
}
