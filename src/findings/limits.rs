//! What the capture cannot tell: printed, not hidden, and only where it applies.

use super::case::{Case, Names};
use super::op_by_op;
use super::words::{count, name, percent};
use crate::model::{Backend, Limit, LiveKind, Outcome, Role, SourceKind};
use crate::units::Bytes;

/// The limits that apply. `no_events` are the reasons that fit this capture for why it has no allocator events, if it has none.
#[must_use]
pub fn limits(case: &Case, no_events: &[String]) -> Vec<Limit> {
    let run =
        || [no_allocator_events(case, no_events), contiguity(case), late_start(case), lost_events(case)];
    let run =
        if case.report.source.kind == SourceKind::Xspace { run().to_vec() } else { vec![plan_only(case)] };
    let rest = [
        unknown_outcomes(case),
        no_plan(case),
        no_schedule(case),
        roles_marked_other(case),
        one_host(case),
        tpu(case),
        op_by_op(case),
        outside_the_pool(case),
    ];
    run.into_iter()
        .chain(rest)
        .flatten()
        .map(|(id, sentence)| Limit { id: id.to_owned(), sentence })
        .collect()
}

type Said = Option<(&'static str, String)>;

fn plan_only(case: &Case) -> Said {
    case.module?;
    let unknown = match case.text_room() {
        Some(_) => "what else was alive is unknown",
        None => "what else was alive, and how large the pool is, is unknown",
    };
    Some(("plan-only", format!("This file holds a plan and no run: {unknown}.")))
}

fn no_allocator_events(case: &Case, reasons: &[String]) -> Said {
    if case.report.allocators.iter().any(|a| a.events > 0) {
        return None;
    }
    let reasons: Vec<&str> = reasons.iter().map(|r| r.trim_end_matches('.')).collect();
    let why = if reasons.is_empty() {
        String::new()
    } else {
        format!(" Possible reasons: {}.", reasons.join("; "))
    };
    Some((
        "no-allocator-events",
        format!(
            "There are no allocator events: what was in use, free and alive is unknown; only the plan speaks.{why}"
        ),
    ))
}

/// Free bytes are known and their pieces are not.
fn contiguity(case: &Case) -> Said {
    let (_, pool) = case.pool?;
    (pool.events > 0
        && pool.largest_free_at_peak_bytes.is_none()
        && case.failure.is_none_or(|f| f.retry.is_none_or(|(_, r)| r.largest_free_bytes.is_none())))
    .then(|| {
        ("contiguity", format!("Whether the free bytes of {} lay in one piece is unknown.", name(&pool.name)))
    })
}

fn late_start(case: &Case) -> Said {
    let live = case.report.live_at_last_start.iter().filter(|g| g.kind == LiveKind::BeforeCapture);
    let before: Bytes = live.map(|g| g.bytes).sum();
    let before = if before.0 > 0 { before } else { case.pool?.1.before_capture_at_peak_bytes? };
    (before.0 >= 1 << 20).then(|| {
        let sentence = format!(
            "{before} were allocated before the capture started and have no name here; an earlier start or a device memory \
             profile would name them."
        );
        ("late-start", sentence)
    })
}

fn lost_events(case: &Case) -> Said {
    let pools = case.report.allocators.iter().filter(|a| a.chain_breaks > 0).count();
    (pools > 0).then(|| {
        let sentence = format!(
            "Events of {} were lost: lists of live arrays and of executions have a gap.",
            count(pools as u64, "allocator")
        );
        ("lost-events", sentence)
    })
}

fn unknown_outcomes(case: &Case) -> Said {
    let all = case.report.executions.len();
    let unknown = case.report.executions.iter().filter(|e| e.outcome == Outcome::Unknown).count();
    (unknown > 0).then(|| {
        let sentence = format!(
            "Of {unknown} of {} the capture does not show how they ended: the profiler kept no launch or kernels of them.",
            count(all as u64, "execution")
        );
        ("unknown-outcomes", sentence)
    })
}

/// A module that ran, or failed to compile, and has no plan here.
fn no_plan(case: &Case) -> Said {
    let known = Names::of(case.report);
    let one = case.report.executions.iter().filter(|e| e.module.is_some()).find(|e| !known.have(e));
    if let Some(e) = one {
        let module = name(e.module.as_deref()?);
        return Some((
            "no-plan",
            format!("There is no plan of {module}: the capture holds no module of that name."),
        ));
    }
    let failed_elsewhere = case.failure.is_some_and(|f| f.execution.is_none());
    (case.report.modules.is_empty() || failed_elsewhere).then(|| {
        (
            "no-plan",
            "A module whose compilation failed has no plan in a capture; the text of its error has one."
                .into(),
        )
    })
}

fn no_schedule(case: &Case) -> Said {
    let temp = case.space?.temp_bytes;
    (temp.0 >= 1 << 20 && case.plan()?.peak.is_none()).then(|| {
        let module = case.module.map_or_else(String::new, |m| name(&m.name));
        (
            "no-schedule",
            format!("The plan of {module} has no heap schedule: what its {temp} of temp hold is unknown."),
        )
    })
}

/// Below this the unnamed part changes nothing.
const WORTH: f64 = 0.02;

fn roles_marked_other(case: &Case) -> Said {
    let peak = case.plan()?.peak.as_ref()?;
    let other = peak.roles.iter().find(|r| r.role == Role::Other)?;
    (other.share >= WORTH).then(|| {
        let sentence = format!(
            "{} of the peak ({}) were made by XLA without a name of the program: which part of the step they belong to is \
             unknown.",
            percent(other.share),
            other.bytes
        );
        ("roles-other", sentence)
    })
}

fn one_host(case: &Case) -> Said {
    let partitions = case.detail?.partitions? as usize;
    let here = case.report.platform.devices.len();
    (here > 0 && partitions > here).then(|| {
        let sentence = format!(
            "The module runs on {partitions} devices and this file has {here}: one file holds one host, and the others may \
             differ."
        );
        ("one-host", sentence)
    })
}

fn tpu(case: &Case) -> Said {
    (case.report.platform.backend == Some(Backend::Tpu)).then(|| {
        let sentence = "On TPU frees carry no sizes and allocations no module: whose an array is, is known less often than on GPU.";
        ("tpu", sentence.to_owned())
    })
}

fn op_by_op(case: &Case) -> Said {
    op_by_op::share(case).map(|share| {
        let sentence = format!(
            "{share} of the executions are single operations: no plan speaks for the program as a whole."
        );
        ("op-by-op", sentence)
    })
}

fn outside_the_pool(case: &Case) -> Said {
    (case.on_gpu() && case.report.source.kind == SourceKind::Xspace).then(|| {
        let left = match (case.pool, case.capacity(), case.card) {
            (Some((_, pool)), Some(capacity), Some(card)) if card > capacity => format!(
                " {} leaves {} of the card to all of these.",
                name(&pool.name),
                card.saturating_sub(capacity)
            ),
            _ => String::new(),
        };
        let sentence = format!(
            "Memory outside the pool is in no capture: the driver's context, NCCL/RCCL, cuDNN, CUDA graphs, other processes.{left}"
        );
        ("outside-the-pool", sentence)
    })
}
