//! The sentence that comes first: what failed and by how much, or how much room was left.

use super::allocator_retry::{asked, blind, waited, without_events};
use super::case::{Case, Failure};
use super::words::{Unit, base, count, name, percent};
use super::{fragmented, grows_per_execution, healthy, op_by_op};
use crate::model::{Finding, Outcome, Report, RetryOutcome, Severity, SourceKind, Verdict, VerdictStatus};
use crate::units::{Bytes, Evidence};

/// Less free at the peak than this part of the pool is only just enough.
const TIGHT: f64 = 0.02;

/// The first sentence of the report.
#[must_use]
pub fn verdict(case: &Case, findings: &[Finding]) -> Verdict {
    let (status, sentence, evidence) = failed(case)
        .or_else(|| cannot_run(case))
        .or_else(|| at_risk(case))
        .or_else(|| fits(case, findings))
        .unwrap_or_else(|| cannot_tell(case));
    Verdict { status, sentence, evidence }
}

type Said = Option<(VerdictStatus, String, Evidence)>;

fn failed(case: &Case) -> Said {
    let failure = case.failure?;
    // Without an event that names the wait, the failure is concluded from what is missing.
    let mut evidence = failure.retry.map_or(Evidence::Inferred, |(_, r)| r.evidence);
    let whose = match failure.execution {
        Some((_, e)) => {
            let module = e.module.as_deref().map_or_else(|| "A module".to_owned(), name);
            let device = match (case.report.platform.devices.len() > 1, e.device) {
                (true, Some(d)) => format!(" on device {d}"),
                _ => String::new(),
            };
            format!("{module} ran out of memory at execution {}{device}", e.number)
        }
        None => "An allocation outside of any execution ran out of memory".to_owned(),
    };
    let mut sentence = whose;
    let free = failure.retry.and_then(|(_, r)| r.free_bytes);
    let short = shortage(case, failure);
    match (failure.request(), free) {
        (Some(m), Some(free)) => {
            let own = m.bytes.saturating_sub(free);
            let sums = if free > m.bytes { Vec::new() } else { vec![(vec![free, own], m.bytes)] };
            let unit = Unit::adding_up(m.bytes, &sums);
            sentence += &format!(": it asked for {} ({})", unit.with_name(m.bytes), asked(m));
            sentence += &format!(
                " and found {} free",
                if free.0 == 0 { "none".into() } else { unit.with_name(free) }
            );
            sentence += &match short {
                Some(short) if short.0 / 8 * 7 > own.0 => {
                    format!("; its launch as a whole was short by {short}")
                }
                Some(short) => format!(", short by {}", unit.with_name(short)),
                None => String::new(),
            };
            evidence = Evidence::Inferred;
        }
        (Some(m), None) => {
            sentence += &format!(": it asked for {} ({})", m.bytes, asked(m));
            evidence = Evidence::Inferred;
        }
        (None, _) => {
            if let Some(free) = free {
                sentence += &format!(" with {free} free");
            }
            if let Some(short) = short {
                sentence += &format!(", short by {short}");
                evidence = evidence.with(Evidence::Read);
            }
        }
    }
    sentence += ".";
    if let Some(need) = blind(case) {
        sentence += &format!(" {}", without_events(case, need));
        evidence = evidence.with(Evidence::Read);
    } else if let Some(why) = why(case) {
        sentence += &format!(" {why}");
        evidence = evidence.with(Evidence::Read).with(case.limit_evidence());
    }
    Some((VerdictStatus::OutOfMemory, sentence, evidence))
}

/// The pool that the verdict speaks of: index into [`Report::allocators`].
#[must_use]
pub fn pool_of_verdict(report: &Report) -> Option<usize> {
    let case = Case::new(report, None, None);
    let waited =
        || report.retries.iter().filter(|r| r.outcome == RetryOutcome::Rescued).max_by_key(|r| r.duration_ps);
    let of_case = || case.pool.map(|(i, _)| i);
    if case.failure.is_some() || grows_per_execution::growth(&case).is_some() {
        return of_case();
    }
    let of_wait =
        waited().and_then(|r| report.allocators.iter().position(|a| Some(&a.name) == r.allocator.as_ref()));
    of_wait.or_else(|| healthy::tightest(&case).map(|h| h.pool)).or_else(of_case)
}

/// By how much the launch as a whole was too large for what was free; for a request that no plan explains, that alone.
fn shortage(case: &Case, failure: Failure) -> Option<Bytes> {
    if fragmented::chunk(case).is_some() {
        return None;
    }
    let launch = case.own_failure().and_then(|_| case.short_by());
    launch.or_else(|| {
        let free = failure.retry?.1.free_bytes?;
        let short = failure.request()?.bytes.saturating_sub(free);
        (short.0 > 0).then_some(short)
    })
}

/// What follows from the plan and the other arrays.
fn why(case: &Case) -> Option<String> {
    if op_by_op::fills_the_pool(case) {
        return Some("The program runs op by op: outputs of earlier operations that are still referenced fill the pool.".into());
    }
    let growth = || {
        let growth = grows_per_execution::growth(case)?;
        let own = case.module.is_none_or(|m| m.name == growth.module);
        let of = if own { String::new() } else { format!(" of {}", name(growth.module)) };
        Some((growth.module, format!("{} more stayed in use after each execution{of}", growth.step)))
    };
    let Some(space) = case.space else {
        // Without a plan of what failed, a steady rise at its own starts is all there is to say.
        let failed = case.failure?.execution?.1.module.as_deref()?;
        return growth().filter(|(of, _)| base(of) == base(failed)).map(|(_, grew)| format!("{grew}."));
    };
    let (whole, what) = case.limit()?;
    let unit = Unit::of(space.need_bytes.max(whole));
    let (need, pool) = (unit.with_name(space.need_bytes), unit.with_name(whole));
    if case.over().is_some() {
        return Some(format!("Its plan alone needs {need}, more than the whole {what} of {pool}."));
    }
    case.capacity()?;
    case.own_failure()?;
    let empty = format!("Its plan ({need}) would fit an empty pool ({pool})");
    if fragmented::chunk(case).is_some() {
        let largest = case.failure?.retry?.1.largest_free_bytes?;
        return Some(format!(
            "{empty}, and the free bytes suffice, but the largest free piece is about {largest}."
        ));
    }
    if let Some((_, grew)) = growth() {
        return Some(format!("{empty}, but {grew}."));
    }
    let others = case.other_live()?;
    Some(format!("{empty}, but {} of arrays that are not its arguments were alive.", unit.with_name(others)))
}

/// Nothing failed in the capture, but the plan is larger than what there is.
fn cannot_run(case: &Case) -> Said {
    let (module, need, over) = (case.module?, case.need()?, case.over()?);
    let (limit, what) = case.limit()?;
    let unit = Unit::adding_up(need, &[(vec![limit, over], need)]);
    // In the capture it ran; the size is one that the user asks about.
    let (status, cannot) = match case.ran() {
        true => (VerdictStatus::AtRisk, format!("ran here, but would not fit the {what} that was given")),
        false => (VerdictStatus::OutOfMemory, "cannot run".to_owned()),
    };
    let sentence = format!(
        "{} {cannot}: its plan needs {}, the {what} has {}, short by {}.",
        name(&module.name),
        unit.with_name(need),
        unit.with_name(limit),
        unit.with_name(over)
    );
    Some((status, sentence, Evidence::Read.with(case.limit_evidence())))
}

fn at_risk(case: &Case) -> Said {
    if let Some(growth) =
        (!op_by_op::runs_op_by_op(case)).then(|| grows_per_execution::growth(case)).flatten()
    {
        let module = name(base(growth.module));
        let mut sentence =
            format!("It ran, but memory grows by {} with each execution of {module}", growth.step);
        let mut evidence = Evidence::Measured;
        if let (Some(n), Some(capacity)) = (growth.until_full, case.capacity()) {
            sentence +=
                &format!(": at this rate the pool ({capacity}) is full in {}", count(n, "more execution"));
            evidence = Evidence::Inferred;
        }
        return Some((VerdictStatus::AtRisk, sentence + ".", evidence));
    }
    let rescued = case.report.retries.iter().filter(|r| r.outcome == RetryOutcome::Rescued);
    if let Some(wait) = rescued.max_by_key(|r| r.duration_ps) {
        let sentence = format!("It ran, but only just: {}", waited(case, wait));
        let of_plan = if wait.missing.is_some() { Evidence::Inferred } else { Evidence::Measured };
        return Some((VerdictStatus::AtRisk, sentence, wait.evidence.with(of_plan)));
    }
    let h = healthy::tightest(case)?;
    let share = h.free.share_of(h.capacity)?;
    (share < TIGHT).then(|| {
        let sentence = format!(
            "{}: at the peak {} ({}) of {} were free in {}.",
            if healthy::executed(case) { "It ran, but only just" } else { "Memory was nearly full" },
            h.free,
            percent(share),
            h.capacity,
            name(h.name)
        );
        (VerdictStatus::AtRisk, sentence, Evidence::Measured)
    })
}

fn fits(case: &Case, findings: &[Finding]) -> Said {
    let but = findings
        .iter()
        .find(|f| f.severity == Severity::Warning)
        .map_or_else(String::new, |f| format!(" But: {}.", f.title.trim_end_matches('.')));
    if healthy::unseen(case).is_some() {
        return None;
    }
    if let Some(h) = healthy::tightest(case) {
        let sentence = format!(
            "{}: at the {} {}, {} ({}) stayed free.{but}",
            if healthy::executed(case) { "It fits" } else { "No shortage was seen" },
            if h.reserved.0 == 0 { "peak" } else { "tightest moment" },
            h.taken(""),
            h.free,
            percent(h.free.share_of(h.capacity).unwrap_or(0.0))
        );
        return Some((VerdictStatus::Fits, sentence, Evidence::Measured));
    }
    if case.report.source.kind != SourceKind::Xspace {
        return fits_what_was_given(case);
    }
    let (n, _) = healthy::ran(case)?;
    let unsure = case.report.executions.iter().all(|e| e.outcome == Outcome::Unknown);
    let ran = if unsure { "Nothing failed" } else { "It ran" };
    let mut sentence = format!("{ran}: {} and no sign of a shortage", count(n, "execution"));
    let mut evidence = Evidence::Measured;
    if let (Some(m), Some(need)) = (case.module, case.need()) {
        sentence += &format!("; {} needs {need} by its plan", name(&m.name));
        evidence = Evidence::Read;
    }
    sentence += &match (case.limit().filter(|_| case.limit_is_given()), case.need()) {
        (Some((limit, what)), Some(need)) => {
            evidence = Evidence::Read.with(case.limit_evidence());
            let left = limit.saturating_sub(need);
            format!(
                ", and would fit an empty {what} of {limit}, {left} to spare. What else was alive the capture does not say."
            )
        }
        _ => ". How much room was left the capture does not say.".to_owned(),
    };
    Some((VerdictStatus::Fits, sentence + &but, evidence))
}

/// A plan alone, held against the pool or card that the user named.
fn fits_what_was_given(case: &Case) -> Said {
    let (module, need) = (case.module?, case.need()?);
    let room = case.capacity().map(|pool| (pool, "pool"));
    let (limit, what) = room.or_else(|| case.card.map(|card| (card, "card")))?;
    let left = limit.saturating_sub(need);
    let unit = Unit::adding_up(limit, &[(vec![need, left], limit)]);
    let sentence = format!(
        "{} needs {} by its plan and fits an empty {what} of {}, {left} to spare. What else will be alive the plan does not say.",
        name(&module.name),
        unit.with_name(need),
        unit.with_name(limit)
    );
    Some((VerdictStatus::Fits, sentence, Evidence::Read.with(case.limit_evidence())))
}

fn cannot_tell(case: &Case) -> (VerdictStatus, String, Evidence) {
    if let (Some(h), Some(m), Some(space)) = (healthy::unseen(case), case.module, case.space) {
        let sentence = format!(
            "Whether {} fits cannot be told: the capture holds no execution. Its plan needs {}, {} of that at the call; at the \
             fullest moment seen {} were free in {}.",
            name(&m.name),
            space.need_bytes,
            space.launch_need_bytes,
            h.free,
            name(h.name)
        );
        return (VerdictStatus::CannotTell, sentence, Evidence::Read);
    }
    let what = match (case.module, case.need()) {
        (Some(m), Some(need)) => format!("{} needs {need} by its plan. ", name(&m.name)),
        _ => String::new(),
    };
    let why = match (case.report.source.kind, case.module) {
        (SourceKind::Xspace, None) => {
            "The capture holds neither a compiled module nor allocator events: nothing can be said."
        }
        (SourceKind::Xspace, Some(_)) => {
            "Whether that fits cannot be told: the capture holds no execution and no allocator events."
        }
        (_, Some(_)) => {
            "Whether that fits cannot be told from the plan alone: it says nothing of the pool or of other arrays. \
             Given the size of the pool or of the card (on the command line `--pool`, `--card`) it can be held against that."
        }
        (_, None) => "What failed cannot be told from this file alone.",
    };
    let evidence = if case.need().is_some() { Evidence::Read } else { Evidence::Measured };
    (VerdictStatus::CannotTell, format!("{what}{why}"), evidence)
}
