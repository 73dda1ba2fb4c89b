//! `allocator-retry`: an allocation had to wait for memory, or a launch failed for want of it.

use super::case::Case;
use super::draft::Draft;
use super::words::{Unit, capital, count, name, percent, shape};
use super::{fixes, fragmented, grows_per_execution, op_by_op, step_does_not_fit};
use crate::model::{BufferKind, Finding, Fix, Freed, MissingAllocation, Retry, RetryOutcome, Severity};
use crate::terms::NO_HOST_EVENT;
use crate::units::{Bytes, Evidence};

/// Any wait of an allocator, or a failed launch: the evidence of an out-of-memory in the capture.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let failed: Vec<(usize, &Retry)> = of(case, RetryOutcome::Failed);
    let rescued: Vec<(usize, &Retry)> = of(case, RetryOutcome::Rescued);
    match (case.failure, rescued.iter().max_by_key(|(_, r)| r.duration_ps)) {
        (Some(_), _) => Some(failure(case, &failed, rescued.len())),
        (None, Some(&(at, longest))) => Some(near_miss(case, at, longest, rescued.len())),
        (None, None) => None,
    }
}

fn of<'a>(case: &Case<'a>, outcome: RetryOutcome) -> Vec<(usize, &'a Retry)> {
    case.report.retries.iter().enumerate().filter(|(_, r)| r.outcome == outcome).collect()
}

fn failure(case: &Case, failed: &[(usize, &Retry)], rescued: usize) -> Finding {
    let what = launch(case).map_or_else(|| "An allocation".to_owned(), |w| format!("The launch of {w}"));
    let retry = case.failure.and_then(|f| f.retry).or_else(|| failed.last().copied());
    let mut draft = Draft::new("allocator-retry", Severity::Error, "An allocation failed");
    let mut sentence = format!("{what} failed");
    if let Some((at, r)) = retry {
        sentence += &format!(" after waiting {} for memory", r.duration_ps);
        draft = draft.time("wait_ps", r.duration_ps, r.evidence).at("retry", at, "the wait");
    }
    if let Some(m) = retry.and_then(|(_, r)| r.missing.as_ref()) {
        sentence += &match m.obtained {
            0 if m.planned == 1 => {
                format!(": the only allocation it plans, {} of {}, was refused", asked(m), m.bytes)
            }
            0 => format!(
                ": the first of its {}, {} of {}, was refused",
                count(m.planned, "allocation"),
                asked(m),
                m.bytes
            ),
            n => format!(
                ": {n} of its {} planned allocations were made; the next, {} of {}, was refused",
                m.planned,
                asked(m),
                m.bytes
            ),
        };
        draft = draft
            .bytes("request_bytes", m.bytes, m.evidence)
            .number("obtained", m.obtained as f64, m.evidence)
            .number("planned", m.planned as f64, Evidence::Read);
    }
    if let Some((_, r)) = retry {
        sentence += &room(r);
        draft = draft.maybe_bytes("free_bytes", r.free_bytes, Evidence::Measured).maybe_bytes(
            "largest_free_bytes",
            r.largest_free_bytes,
            Evidence::Measured,
        );
    }
    sentence += ".";
    if rescued > 0 {
        sentence += &format!(" Before it, {} ended well.", count(rescued as u64, "wait"));
    }
    if let Some(leaked) = leaked(case) {
        sentence += &format!(
            " The {leaked} it had already got were not freed in the capture: a retry after the error starts with less."
        );
    }
    let execution = case.failure.and_then(|f| f.execution).map(|(i, _)| i);
    draft = match blind(case) {
        Some(need) => {
            sentence += &format!(" {}", without_events(case, need));
            let name_them = Fix {
                text: "Find out what else was alive: save a device memory profile before the step and drop it beside this \
                       capture."
                    .into(),
                ..fixes::name_arrays()
            };
            // What makes a small plan smaller, or a single operation, wins no room worth a word.
            let small = share_of_card(case, need).is_some() || op_by_op::runs_op_by_op(case);
            let mut all = if small { Vec::new() } else { step_does_not_fit::smaller(case) };
            all.push(name_them);
            draft
                .bytes("need_bytes", need, Evidence::Read)
                .maybe_bytes("card_bytes", case.card, case.card_evidence())
                .cause(match small {
                    true => {
                        "The plan takes a small part of the card, so it depends on what else was alive: a device memory profile \
                         tells."
                    }
                    false => {
                        "Either the plan is too large for the room that the allocator had, or other arrays filled it. The plan \
                         can be made smaller; which arrays were alive, a device memory profile tells."
                    }
                })
                .fixes(all)
        }
        None => draft.cause(format!(
            "What was asked for could not be had: XLA waits up to 10 s for somebody to free memory and then gives up. {}",
            match case.own_failure() {
                None if case.failure.and_then(|f| f.execution).is_some_and(|(_, e)| e.module.is_none()) => {
                    "Why the room was missing cannot be told: which module it was is not in the capture."
                }
                None => "What that was, and so why the room was missing, a plan would tell: the capture has none of it.",
                Some(_) if is_explained(case) => "Why the room was missing is said by the other findings.",
                Some(_) => "Why the room was missing the capture does not show.",
            }
        )),
    };
    draft.sentence(sentence).at("execution", execution, "the launch that failed").done()
}

/// What the failed module needs, where no other finding can say why the room was missing: no allocator event tells of a
/// pool, and the plan alone is not larger than the card.
pub(super) fn blind(case: &Case) -> Option<Bytes> {
    case.own_failure()?;
    (case.capacity().is_none() && case.over().is_none()).then_some(case.need()?)
}

/// Whether a finding has the cause of a failure whose plan is known.
fn is_explained(case: &Case) -> bool {
    case.over().is_some()
        || case.short_by().is_some()
        || fragmented::chunk(case).is_some()
        || grows_per_execution::growth(case).is_some()
        || op_by_op::fills_the_pool(case)
}

/// What part of the card the plan needs, where that is so small a part that something else has to be looked for first.
fn share_of_card(case: &Case, need: Bytes) -> Option<f64> {
    need.share_of(case.card?).filter(|share| *share <= 0.5)
}

/// What is known of the room without allocator events.
pub(super) fn without_events(case: &Case, need: Bytes) -> String {
    let plan = match (case.card, share_of_card(case, need)) {
        (Some(card), Some(share)) => format!("{need}, {} of the card ({card})", percent(share)),
        (Some(card), None) => {
            let unit = Unit::of(need.max(card));
            format!("{}, the card has {}", unit.with_name(need), unit.with_name(card))
        }
        (None, _) => need.to_string(),
    };
    let small = match share_of_card(case, need) {
        Some(_) => " Unless the pool was smaller than the plan, other arrays were in the way.",
        None => "",
    };
    format!(
        "Its plan needs {plan}. How large the pool was, and what else was alive, is not in the capture: it holds no allocator \
         events.{small}"
    )
}

/// The launch that failed, in words.
fn launch(case: &Case) -> Option<String> {
    let (_, e) = case.failure?.execution?;
    let module = e.module.as_deref().map_or_else(|| "a module".to_owned(), name);
    Some(format!("{module}, execution {}", e.number))
}

/// `temp`, `output 31 f32[2560,3584]`.
pub(super) fn asked(m: &MissingAllocation) -> String {
    match (m.kind, m.what.is_empty()) {
        (BufferKind::Temp, _) => "its temp block".to_owned(),
        (_, false) => format!("its {}", shape(&m.what)),
        (_, true) => "an output".to_owned(),
    }
}

/// `, with 2.49 GiB free in one piece`.
fn room(r: &Retry) -> String {
    match (r.free_bytes, r.largest_free_bytes) {
        (Some(free), Some(largest)) if near(free, largest, r) => format!(", with {free} free"),
        (Some(free), Some(largest)) => format!(", with {free} free and about {largest} in the largest piece"),
        (Some(free), None) => format!(", with {free} free"),
        _ => String::new(),
    }
}

/// Whether the largest piece is as good as all that is free.
fn near(free: Bytes, largest: Bytes, r: &Retry) -> bool {
    let apart = free.saturating_sub(largest);
    apart <= r.largest_free_error_bytes.unwrap_or_default() || apart.0 <= free.0 / 20
}

/// Bytes obtained by the failed launch that the last event of the capture still counts: XLA keeps them on the way out.
fn leaked(case: &Case) -> Option<Bytes> {
    let (_, e) = case.own_failure()?.execution?;
    let (_, pool) = case.pool?;
    let kept = pool.in_use_end_bytes?.saturating_sub(e.in_use_start_bytes?);
    let got: Bytes = e.requested_bytes.iter().copied().sum();
    // Within rounding of the chunks, and worth a word.
    (got.0 >= 1 << 20 && kept >= got).then_some(got)
}

fn near_miss(case: &Case, at: usize, longest: &Retry, waits: usize) -> Finding {
    let mut draft = Draft::new("allocator-retry", Severity::Warning, "An allocation only just succeeded")
        .time("wait_ps", longest.duration_ps, longest.evidence)
        .number("waits", waits as f64, longest.evidence);
    if let Some(m) = &longest.missing {
        draft = draft.bytes("request_bytes", m.bytes, m.evidence);
    }
    let mut sentence = capital(&waited(case, longest));
    if waits > 1 {
        sentence += &format!(" There were {waits} such waits.");
    }
    let freed: Bytes = longest.freed.iter().flatten().map(|f| f.bytes).sum();
    if freed.0 > 0 {
        draft = draft.bytes("freed_bytes", freed, Evidence::Measured);
    }
    let function = fixes::function(case);
    let earlier = match longest.freed.iter().flatten().next().and_then(freer) {
        Some(freer) => format!("Free what {freer} frees before {function} is called."),
        None => format!("Free what is not needed before {function} is called."),
    };
    draft
        .sentence(sentence)
        .maybe_bytes("free_bytes", longest.free_bytes, Evidence::Measured)
        .cause(match freed.0 {
            0 => "There was no room for a moment. The next time there may be none in time, and each wait stops the program.",
            _ => {
                "The pool was full for a moment, and what was freed came later than the request. The next time nobody may \
                 free in time, and each wait stops the program."
            }
        })
        .fix(fixes::plain(
            "free-earlier",
            earlier,
            "What is freed cannot overlap the step: of prefetched batches one fewer is kept.",
            "",
        ))
        .fix(fixes::half_batch(case))
        .fix(fixes::larger_pool(case))
        .at("retry", at, "the longest wait")
        .done()
}

/// Who waited how long for what, and what ended it.
pub(super) fn waited(case: &Case, wait: &Retry) -> String {
    let whose = wait
        .execution
        .and_then(|i| case.report.executions.get(usize::try_from(i).ok()?))
        .and_then(|e| Some(format!("execution {} of {}", e.number, name(e.module.as_deref()?))))
        .unwrap_or_else(|| "an allocation".to_owned());
    let mut sentence = format!("{whose} had to wait {}", wait.duration_ps);
    sentence += &match &wait.missing {
        Some(m) => format!(" for {} of {}", asked(m), m.bytes),
        None => " for memory".to_owned(),
    };
    sentence += &room(wait);
    if let (Some(m), Some(free)) = (&wait.missing, wait.free_bytes)
        && m.bytes > free
    {
        sentence += &format!(", {} too few", m.bytes.saturating_sub(free));
    }
    let freed: Vec<&Freed> = wait.freed.iter().flatten().filter(|f| f.bytes.0 > 0).collect();
    sentence += &match freed.as_slice() {
        // Nothing that the capture shows ended it.
        [] => "; then it went on.".to_owned(),
        [first, rest @ ..] => match (freer(first), rest) {
            (Some(freer), []) => format!("; then {freer} freed {} and it went on.", first.bytes),
            (freer, _) => {
                let by = freer.map_or_else(String::new, |f| format!(", {} of them by {f},", first.bytes));
                let all = freed.iter().map(|f| f.bytes).sum::<Bytes>();
                format!("; then {all} were freed{by} and it went on.")
            }
        },
    };
    sentence
}

/// The Python frame that freed, else the host event or the execution; `None` where that is not known.
fn freer(f: &Freed) -> Option<String> {
    match &f.frame {
        Some(frame) => Some(format!("`{}`", name(frame))),
        None => (f.by != NO_HOST_EVENT).then(|| name(&f.by)),
    }
}
