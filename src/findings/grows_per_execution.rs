//! `grows-per-execution`: what is in use at the starts of a module's executions rises steadily.

use super::case::{Case, asked};
use super::draft::Draft;
use super::room::Span;
use super::words::{self, count, name};
use super::{fixes, op_by_op};
use crate::arrange::Arrange;
use crate::model::{Execution, Finding, HostEvents, LiveGroup, LiveKind, Severity};
use crate::units::{Bytes, Evidence};

/// A steady rise.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Growth<'a> {
    /// The module at whose starts it shows.
    pub module: &'a str,
    /// Its last execution here.
    last: usize,
    /// Bytes an execution, the median.
    pub step: Bytes,
    /// Executions seen.
    pub executions: usize,
    /// In use at the first and the last start.
    pub from: Bytes,
    /// In use at the last start.
    pub to: Bytes,
    /// Executions from the last seen one until one no longer fits.
    pub until_full: Option<u64>,
    /// What the rises that span several executions add up to; nothing where there is none.
    pub jumps: Bytes,
    /// Executions more than were seen that these stand for.
    pub unseen: u64,
}

/// Fewer rises can be a pipeline that fills up.
const FEWEST_RISES: usize = 3;
/// Less is the allocator's rounding and small change of the program.
const SMALLEST_STEP: u64 = 64 << 10;
/// So many programs without plans can be single operations, whose arrays come and go with the Python code around them.
const OP_BY_OP: usize = 50;
/// A rise that fills the pool in more executions than this is no concern.
const HORIZON: u64 = 100_000;

/// The rise at the starts of the module analysed, on one device; where that shows none, at those of a program whose plan the
/// capture lacks: what is in use an allocator says, and no plan.
///
/// All rises but the first (a first execution sets things up) have to be alike: three in four within a quarter of the
/// median, none a fall. Where events were lost a rise can span several executions; the median forgives that.
pub(super) fn growth<'a>(case: &Case<'a>) -> Option<Growth<'a>> {
    of_module(case).or_else(|| {
        let (module, executions) = case.largest_without_plan().filter(|_| case.programs() < OP_BY_OP)?;
        let launch = executions.iter().map(|(_, e)| asked(e)).max()?;
        of(case, module, &executions, launch)
    })
}

/// The rise at the starts of the module analysed.
fn of_module<'a>(case: &Case<'a>) -> Option<Growth<'a>> {
    of(case, &case.module?.name, &case.executions_here(), case.space?.launch_need_bytes)
}

/// The rise at the starts of these executions, each of which wants `launch` bytes.
fn of<'a>(
    case: &Case<'a>,
    module: &'a str,
    executions: &[(usize, &'a Execution)],
    launch: Bytes,
) -> Option<Growth<'a>> {
    let starts: Vec<Bytes> = executions.iter().filter_map(|(_, e)| e.in_use_start_bytes).collect();
    let rises: Vec<i128> = starts.windows(2).map(|w| i128::from(w[1].0) - i128::from(w[0].0)).collect();
    let (step, rises) = match steady(&rises) {
        Some(step) => (step, rises.as_slice()),
        None => (steady(rises.get(1..)?)?, rises.get(1..)?),
    };
    let (from, to, last) = (*starts.first()?, *starts.last()?, executions.last()?.0);
    let until_full = until_full(case, to, launch, step);
    if until_full.is_some_and(|n| n > HORIZON) {
        return None;
    }
    let (jumps, unseen) = jumps(rises, step);
    Some(Growth { module, last, step, executions: starts.len(), from, to, until_full, jumps, unseen })
}

/// The rises that are two steps and more: their sum, and how many executions fewer were seen than they stand for.
fn jumps(rises: &[i128], step: Bytes) -> (Bytes, u64) {
    let whole = |rise: i128| (rise + i128::from(step.0) / 2) / i128::from(step.0.max(1));
    let all = || rises.iter().copied().filter(|rise| whole(*rise) > 1);
    let unseen: i128 = all().map(|rise| whole(rise) - 1).sum();
    (Bytes(u64::try_from(all().sum::<i128>()).unwrap_or(u64::MAX)), u64::try_from(unseen).unwrap_or(u64::MAX))
}

/// Of what a steady rise kept alive, the part that can be outputs of the module itself.
pub(super) fn kept_outputs(case: &Case) -> Option<Bytes> {
    let growth = of_module(case).filter(|_| !op_by_op::runs_op_by_op(case))?;
    let kept = growth.to.saturating_sub(growth.from);
    let executions = kept.0.checked_div(growth.step.0)?;
    Some(kept.min(Bytes(case.space?.outputs_bytes.0.saturating_mul(executions))))
}

fn steady(rises: &[i128]) -> Option<Bytes> {
    if rises.len() < FEWEST_RISES {
        return None;
    }
    let mut sorted = rises.to_vec();
    sorted.arrange();
    let median = sorted[sorted.len() / 2];
    let alike = rises.iter().filter(|&&r| (r - median).abs() <= median / 4).count();
    let falls = rises.iter().any(|&r| r < 0);
    let enough = alike >= FEWEST_RISES && alike * 4 >= rises.len() * 3 && median >= i128::from(SMALLEST_STEP);
    (enough && !falls).then(|| Bytes(u64::try_from(median).unwrap_or(u64::MAX)))
}

/// The first execution after one that started with `in_use` whose launch finds too little room.
fn until_full(case: &Case, in_use: Bytes, launch: Bytes, step: Bytes) -> Option<u64> {
    let room = case.capacity()?.saturating_sub(launch).saturating_sub(in_use);
    Some(room.0.checked_div(step.0)?.saturating_add(1))
}

/// The steady rise, unless the program runs op by op: there a "module" is one operation, and its arrays come and go with
/// the Python code around it.
pub(super) fn find(case: &Case) -> Option<Finding> {
    if op_by_op::runs_op_by_op(case) {
        return None;
    }
    let growth = growth(case)?;
    let last = case.report.executions.get(growth.last)?;
    let failed = case.failure.and_then(|f| f.execution);
    let failed = failed.is_some_and(|(_, e)| {
        e.module.as_deref().map(words::base) == last.module.as_deref().map(words::base)
    });
    let (title, severity) = match failed {
        true => ("Memory grew with each execution until none was left", Severity::Error),
        false => ("Memory grows with each execution", Severity::Warning),
    };
    let mut draft = Draft::new("grows-per-execution", severity, title);
    let mut sentence = format!(
        "In use when {} starts: from {} to {} over {}, {} more each time",
        name(growth.module),
        growth.from,
        growth.to,
        count(growth.executions as u64, "execution"),
        growth.step
    );
    // Of a program without a plan nobody knows which of what it allocates are outputs.
    let own = case.space.filter(|_| case.module.is_some_and(|m| m.name == growth.module));
    let outputs = own.map_or(Bytes::ZERO, |s| s.outputs_bytes);
    if let Some(times) = growth.step.share_of(outputs).filter(|t| (0.95..20.0).contains(t)) {
        sentence += &format!(" = {times:.2}× its new outputs ({outputs})");
        draft = draft.bytes("outputs_bytes", outputs, Evidence::Read).number(
            "times_the_outputs",
            times,
            Evidence::Read,
        );
    }
    let lost = case.pool.is_some_and(|(_, pool)| pool.chain_breaks > 0);
    if growth.unseen > 0 {
        sentence += &format!(
            "; but {} where {}, as if {} had run there",
            growth.jumps,
            if lost { "events were lost" } else { "nothing was seen to start" },
            count(growth.unseen, "more execution")
        );
        draft = draft.number("executions_unseen", growth.unseen as f64, Evidence::Inferred);
    }
    sentence += ".";
    if let Some(held) = held_outputs(case, &growth) {
        sentence += &format!(" Still alive at the last start: {}", held.words);
        let lost_in_part = held.lost_in_part;
        if lost_in_part.0 > 0 {
            sentence += &format!(" and {lost_in_part} of executions that the capture lost in part");
        }
        let rest = growth.to.saturating_sub(growth.from).saturating_sub(held.bytes + lost_in_part);
        if growth.unseen > 0 && rest >= growth.step {
            let why = if lost { "is not explained: events were lost" } else { "came where nothing was seen" };
            sentence += &format!("; the other {rest} of the growth {why}");
        }
        sentence += ".";
    }
    if let Some(n) = growth.until_full.filter(|_| !failed) {
        sentence += &format!(" At this rate the {} from there no longer fits.", nth(n));
        draft = draft.number("executions_until_full", n as f64, Evidence::Inferred);
    }
    let holders = holders(case);
    let who = match holders.as_slice() {
        [] => String::new(),
        some => format!(" Between two executions ran {}.", words::list(some)),
    };
    let function = words::function(words::base(growth.module));
    let draft = draft
        .sentence(sentence)
        .bytes("growth_bytes", growth.step, Evidence::Measured)
        .bytes("in_use_first_start_bytes", growth.from, Evidence::Measured)
        .bytes("in_use_last_start_bytes", growth.to, Evidence::Measured)
        .number("executions", growth.executions as f64, Evidence::Measured)
        .cause(format!(
            "The program keeps arrays of every step alive: something refers to them, such as a list that they are \
             appended to.{who} A larger pool only delays the end."
        ))
        .fix(release(case, &growth, &function))
        .fix(fixes::drop_outputs(case))
        .fix(to_host(&function))
        .at("execution", growth.last, "bytes in use at each start")
        .at("live", None, "the arrays alive at the last start, by execution");
    let draft =
        if holders.is_empty() { draft } else { draft.at("between", None, "what ran between two executions") };
    Some(draft.done())
}

fn release(case: &Case, growth: &Growth, function: &str) -> Option<crate::model::Fix> {
    let kept = growth.to.saturating_sub(growth.from);
    let how = format!(
        "{kept} were kept in the capture. `jax.profiler.save_device_memory_profile('memory.prof')` after two different \
         steps names, by Python line, what grows."
    );
    let text = format!(
        "Drop the reference to what {function} returned once it is used (`del`, no list, no closure)."
    );
    Some(fixes::freeing(case, "release", text, "None.", Span::exactly(kept), &how))
}

fn to_host(function: &str) -> crate::model::Fix {
    let text = format!("Keep them on the host: `jax.device_get` what {function} returned before storing it.");
    let mut fix =
        fixes::plain("device-get", text, "A copy to the host each step; the host waits for the device.", "");
    fix.code = Some("kept.append(jax.device_get(result))".into());
    fix
}

/// What executions left alive.
#[derive(Debug)]
struct Held {
    /// `outputs of jit_step from executions 0 to 8 (936.00 MiB)`.
    words: String,
    bytes: Bytes,
    /// Of executions that the capture lost in part and does not number.
    lost_in_part: Bytes,
}

fn held_outputs(case: &Case, growth: &Growth) -> Option<Held> {
    let base = words::base(growth.module);
    let of_module = |m: &Option<String>| m.as_deref().is_some_and(|m| m == growth.module || m == base);
    let all = case.report.live_at_last_start.iter();
    let (numbered, lost): (Vec<&LiveGroup>, Vec<&LiveGroup>) = all
        .filter(|g| g.kind == LiveKind::Outputs && of_module(&g.module))
        .partition(|g| g.execution.is_some());
    let numbers = || numbered.iter().filter_map(|g| g.execution);
    let (first, last) = (numbers().min()?, numbers().max()?);
    if numbered.len() < 2 {
        return None;
    }
    let bytes: Bytes = numbered.iter().map(|g| g.bytes).sum();
    let planned = case.module.is_some_and(|m| m.name == growth.module);
    let what = if planned { "outputs" } else { "arrays" };
    Some(Held {
        words: format!("{what} of {} from executions {first} to {last} ({bytes})", name(base)),
        bytes,
        lost_in_part: lost.iter().map(|g| g.bytes).sum(),
    })
}

/// The Python events between executions that store things away, else the first few.
fn holders(case: &Case) -> Vec<String> {
    let python = || case.report.between_executions.iter().filter(|e| e.python);
    let stores = |e: &&HostEvents| {
        ["append", "extend", "insert", "setdefault", "put"].iter().any(|w| last_word(&e.name) == *w)
    };
    let stored: Vec<String> = python().filter(stores).take(3).map(quoted).collect();
    if stored.is_empty() { python().take(3).map(quoted).collect() } else { stored }
}

fn last_word(event: &str) -> &str {
    event.rsplit([' ', '.', ':']).next().unwrap_or(event)
}

fn quoted(event: &HostEvents) -> String {
    format!("`{}`", name(&event.name))
}

/// `1st execution`, `11th execution`.
fn nth(n: u64) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending} execution")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: i128 = 1 << 20;

    #[test]
    fn steady_rises_are_told_from_noise() {
        assert_eq!(steady(&[104 * MIB, 104 * MIB, 104 * MIB]), Some(Bytes(104 << 20)));
        // Four executions' rise at once, where events were lost.
        let gap = [104 * MIB, 104 * MIB, 416 * MIB, 104 * MIB, 104 * MIB, 104 * MIB];
        assert_eq!(steady(&gap), Some(Bytes(104 << 20)));
        // Rounding; one jump; up and down; too few.
        assert_eq!(steady(&[256, 73_984, 1536]), None);
        assert_eq!(steady(&[256, 673_611_776, 3840]), None);
        assert_eq!(steady(&[8 * MIB, -8 * MIB, 8 * MIB, -8 * MIB]), None);
        assert_eq!(steady(&[104 * MIB, 104 * MIB]), None);
    }

    #[test]
    fn a_jump_stands_for_the_executions_that_were_not_seen() {
        let gap = [104 * MIB, 104 * MIB, 416 * MIB, 105 * MIB];
        assert_eq!(jumps(&gap, Bytes(104 << 20)), (Bytes(416 << 20), 3));
        assert_eq!(jumps(&[104 * MIB, 110 * MIB], Bytes(104 << 20)), (Bytes::ZERO, 0));
    }

    #[test]
    fn ordinals_read_as_english() {
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 21, 111].map(nth).map(|s| s.replace(" execution", "")),
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "111th"]
        );
    }
}
