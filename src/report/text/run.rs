//! The run as text.

use super::{Page, or_unknown, percent, tag};
use crate::arrange::Arrange;
use crate::findings::{Case, pool_of_verdict};
use crate::model::{
    AllocatorKind, Backend, Execution, LiveArray, LiveKind, Module, Outcome, Report, RetryOutcome,
};
use crate::plain::short;
use crate::terms::NO_HOST_EVENT;
use crate::units::Bytes;
use std::collections::HashMap;
use std::fmt::Write;

/// Executions shown; the first, the last and those that failed say most.
const MOST_EXECUTIONS: usize = 16;
/// Of a program that runs op by op, whose sums say more, so many executions and live arrays are shown.
const MOST_OPERATIONS: usize = 6;

pub(super) fn allocators(out: &mut Page, report: &Report) {
    if report.allocators.is_empty() {
        return;
    }
    out.title("Allocators", "[measured]");
    out.line(&format!(
        "  {:<28} {:>12} {:>12} {:>12} {:>12} {:>8}",
        "", "capacity", "start", "peak", "end", "events"
    ));
    for a in &report.allocators {
        out.line(&format!(
            "  {:<28} {:>12} {:>12} {:>12} {:>12} {:>8}",
            short(&a.name, 28),
            or_unknown(a.capacity_bytes),
            or_unknown(a.in_use_start_bytes),
            or_unknown(a.peak_bytes),
            or_unknown(a.in_use_end_bytes),
            a.events,
        ));
        let mut facts = Vec::new();
        match a.kind {
            AllocatorKind::Device => {}
            AllocatorKind::Host => facts.push("host memory, apart from the device's".to_owned()),
            AllocatorKind::Collective => facts.push("memory of collectives, apart".to_owned()),
        }
        if let Some(share) = a.card_share {
            facts.push(format!("{} of the card", percent(share)));
        }
        if let (Some(free), AllocatorKind::Device) = (a.free_at_peak_bytes, a.kind) {
            let largest = a
                .largest_free_at_peak_bytes
                .map(|l| format!(", largest chunk about {l}"))
                .unwrap_or_default();
            facts.push(format!("{free} free at the peak{largest}"));
        }
        if let Some(l) = a.least_free.filter(|l| l.reserved_bytes > Bytes::ZERO) {
            facts.push(format!(
                "at the tightest moment {} free: {} in use and {} reserved for loaded programs (their temp)",
                l.bytes, l.in_use_bytes, l.reserved_bytes
            ));
        }
        if let Some(before) = a.before_capture_at_peak_bytes.filter(|b| *b > Bytes::ZERO) {
            facts.push(format!("{before} of the peak from before the capture"));
        }
        if let Some(most) = a.lifetime_peak_bytes.filter(|b| Some(*b) != a.peak_bytes) {
            facts.push(format!("{most} at most since the process started"));
        }
        if let Some(lost) = a.rounding_loss_bytes.filter(|b| *b > Bytes::ZERO) {
            facts.push(format!("{lost} lost by rounding at the peak"));
        }
        if a.pool_growths > 0 {
            facts.push(match a.pool_growths {
                1 => "the pool grew once".to_owned(),
                n => format!("the pool grew {n} times"),
            });
        }
        if a.chain_breaks > 0 {
            let places = if a.chain_breaks == 1 { "place" } else { "places" };
            facts.push(format!("events are missing at {} {places}", a.chain_breaks));
        }
        if !facts.is_empty() {
            out.wrapped("    ", &facts.join("; "));
        }
    }
    // The verdict's device is what people ask about.
    let of_verdict = pool_of_verdict(report).and_then(|i| report.allocators.get(i));
    if let Some(a) = of_verdict.filter(|a| !a.live_at_peak.is_empty()) {
        let at = a.peak_at_ps.map(|t| format!(" at {t}")).unwrap_or_default();
        let times =
            if a.peak_times > 1 { format!(", reached {} times", a.peak_times) } else { String::new() };
        out.title(&format!("Live at the peak of {}{at}{times}", short(&a.name, 40)), "[measured]");
        let most = if report.op_by_op.is_some() { MOST_OPERATIONS } else { usize::MAX };
        let mut cut = report.omitted.live_at_peak.get(&a.name).copied().unwrap_or_default();
        for (i, (origin, n, bytes)) in alike(&a.live_at_peak).into_iter().enumerate() {
            if i >= most {
                cut.omitted += n;
                cut.omitted_bytes += bytes;
                continue;
            }
            let times = if n > 1 { format!("×{n}") } else { String::new() };
            out.line(&format!("  {:>12} {times:<5} {}", bytes.to_string(), short(origin, 78)));
        }
        out.omitted(cut, "arrays");
    }
}

/// Arrays of one origin together, with how many they are and their bytes, the largest sum first.
fn alike(arrays: &[LiveArray]) -> Vec<(&str, u64, Bytes)> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut all: Vec<(&str, u64, Bytes)> = Vec::new();
    for array in arrays {
        let at = *known.entry(&array.origin).or_insert(all.len());
        if at == all.len() {
            all.push((&array.origin, 0, Bytes::ZERO));
        }
        all[at].1 += 1;
        all[at].2 += array.allocated_bytes;
    }
    all.arrange_by_key(|&(_, _, bytes)| std::cmp::Reverse(bytes));
    all
}

pub(super) fn executions(out: &mut Page, report: &Report) {
    if report.executions.is_empty() {
        return;
    }
    out.title(&format!("Executions: {}", report.executions.len()), "[measured]");
    out.line(&format!(
        "  {:<22} {:>4} {:>3} {:>11} {:>9} {:>11} {:>11} {:>7} {:>6}  outcome",
        "", "#", "dev", "start", "took", "in use", "asked for", "kernels", "queued"
    ));
    let all = &report.executions;
    let most = if report.op_by_op.is_some() { MOST_OPERATIONS } else { MOST_EXECUTIONS };
    let half = most / 2;
    let shown: Vec<usize> = if all.len() <= most {
        (0..all.len()).collect()
    } else {
        let middle = half..all.len() - half;
        let failed = middle.clone().filter(|&i| all[i].outcome == Outcome::Failed).take(half);
        (0..half).chain(failed).chain(middle.end..all.len()).collect()
    };
    let mut next = 0;
    for i in shown {
        if i > next {
            out.line(&format!("  … {} more (all of them are in the JSON)", i - next));
        }
        next = i + 1;
        let e: &Execution = &all[i];
        let asked: Bytes = e.requested_bytes.iter().copied().sum();
        out.line(&format!(
            "  {:<22} {:>4} {:>3} {:>11} {:>9} {:>11} {:>11} {:>7} {:>6}  {}",
            e.module.as_deref().map_or_else(|| "unknown".into(), |m| short(m, 22)),
            e.number,
            e.device.map_or_else(|| "?".into(), |d| d.to_string()),
            e.start_ps.to_string(),
            e.duration_ps.to_string(),
            or_unknown(e.in_use_start_bytes),
            // Without allocator events nobody knows what it asked for.
            e.allocator.as_ref().map_or_else(|| "?".into(), |_| asked.to_string()),
            e.kernels.map_or_else(|| "?".into(), |k| k.to_string()),
            e.in_flight.map_or_else(|| "?".into(), |n| n.to_string()),
            match e.outcome {
                Outcome::Ran => "ran",
                Outcome::Failed => "FAILED",
                Outcome::Unknown => "unknown",
            }
        ));
    }
    let counted = counted_by_devices(report);
    if !counted.is_empty() {
        out.wrapped(
            "  ",
            &format!("and runs of which only the devices' own lines tell: {}", counted.join(", ")),
        );
    }
}

/// Modules that ran more often than executions are listed: a TPU's lines count what its host's threads do not show.
fn counted_by_devices(report: &Report) -> Vec<String> {
    if report.platform.backend != Some(Backend::Tpu) {
        return Vec::new();
    }
    let mut listed: HashMap<&str, u64> = HashMap::new();
    for id in report.executions.iter().filter_map(|e| e.program_id.as_deref()) {
        *listed.entry(id).or_default() += 1;
    }
    let listed = |m: &Module| listed.get(m.program_id.as_str()).copied().unwrap_or(0);
    let more = |m: &Module| m.executions?.checked_sub(listed(m)).filter(|n| *n > 0);
    report.modules.iter().filter_map(|m| Some(format!("{} {}", short(&m.base_name, 40), more(m)?))).collect()
}

pub(super) fn retries(out: &mut Page, report: &Report) {
    if report.retries.is_empty() {
        return;
    }
    out.title("Waits for memory", "");
    for r in &report.retries {
        let mut line = format!(
            "{} at {}: {}",
            r.duration_ps,
            r.at_ps,
            if r.outcome == RetryOutcome::Failed { "FAILED" } else { "rescued" }
        );
        if let Some(name) = &r.allocator {
            let _ = write!(line, ", {}", short(name, 30));
        }
        if let Some(e) = r.execution.and_then(|i| report.executions.get(usize::try_from(i).ok()?)) {
            let _ = write!(
                line,
                ", {} execution {}",
                e.module.as_deref().map_or_else(|| "unknown".into(), |m| short(m, 40)),
                e.number
            );
        }
        if let Some(free) = r.free_bytes {
            let _ = write!(line, "; {free} were free");
        }
        if let Some(largest) = r.largest_free_bytes {
            let _ = write!(line, ", the largest chunk about {largest}");
        }
        for f in r.freed.iter().flatten().take(3) {
            let by = f.frame.as_deref().unwrap_or(&f.by);
            let by_whom = if by == NO_HOST_EVENT { "" } else { "by " };
            let _ = write!(line, "; meanwhile {} ×{} freed {by_whom}{}", f.bytes, f.count, short(by, 60));
        }
        let _ = write!(line, " {}", tag(r.evidence));
        if let Some(m) = &r.missing {
            let _ = write!(
                line,
                "; waited for {} ({}), {} of {} obtained before {}",
                m.bytes,
                short(&m.what, 60),
                m.obtained,
                m.planned,
                tag(m.evidence)
            );
        }
        out.wrapped("  ", &line);
    }
}

pub(super) fn live(out: &mut Page, report: &Report) {
    if report.live_at_last_start.is_empty() {
        return;
    }
    // With several devices it is said on which.
    let devices = report.allocators.iter().filter(|a| a.kind == AllocatorKind::Device).count();
    let last = Case::new(report, None, None).last_execution();
    let on = match last.and_then(|e| e.allocator.as_deref()) {
        Some(allocator) if devices > 1 => format!(" in {}", short(allocator, 40)),
        _ => String::new(),
    };
    out.title(&format!("Live when the last execution started{on}"), "[measured]");
    let summed = report.op_by_op.is_some();
    for g in report.live_at_last_start.iter().filter(|g| !summed || g.kind != LiveKind::Outputs) {
        let count = g.count.map(|n| format!("×{n}")).unwrap_or_default();
        let frame = g.frame.as_deref().map(|f| format!("  in {}", short(f, 40))).unwrap_or_default();
        out.line(&format!("  {:>12} {count:<6} {}{frame}", g.bytes.to_string(), short(&g.origin, 60)));
    }
    if summed {
        out.line("  and outputs of single operations, which are summed above");
    } else {
        out.omitted(report.omitted.live_at_last_start, "groups");
    }
}

pub(super) fn between(out: &mut Page, report: &Report) {
    if report.between_executions.is_empty() {
        return;
    }
    out.title("Host events between the last two executions", "[measured]");
    for e in &report.between_executions {
        out.line(&format!("  {:>10} ×{:<5} {}", e.duration_ps.to_string(), e.count, short(&e.name, 78)));
    }
    out.omitted(report.omitted.between_executions, "names");
}
