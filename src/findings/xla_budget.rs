//! `xla-budget`: XLA planned for the card, and the pool has less.

use super::case::Case;
use super::draft::Draft;
use super::room::Span;
use super::words::name;
use super::{budget, fixes, grows_per_execution};
use crate::model::{Finding, Severity};
use crate::units::{Bytes, Evidence};

/// What scales the budget.
const FLAG: &str = "--xla_gpu_memory_limit_slop_factor";
/// With less than this part of what it used XLA would have to work with a fraction of what it wants; it fails to, and compiles for
/// a long time.
const LEAST_PART: f64 = 0.5;

/// The plan's temp keeps to XLA's budget and is still more than the pool has free: with a smaller budget XLA would have tried
/// to do with less. Where the plan exceeds the budget already, XLA cannot do better.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let (module, space, capacity) = (case.module?, case.space?, case.capacity()?);
    let budget = budget::budget(case)?;
    let live = case.in_use_at_start().unwrap_or(space.parameters_bytes).max(space.parameters_bytes);
    let free = capacity.saturating_sub(live).saturating_sub(space.outputs_bytes);
    let delays = || grows_per_execution::growth(case).is_some();
    if !case.in_trouble() || delays() || space.temp_bytes <= free || space.temp_bytes > budget.temp {
        return None;
    }
    let factor = budget.factor_for(free)?;
    let attainable = free.share_of(space.temp_bytes).is_some_and(|part| part >= LEAST_PART);
    let matching = match factor {
        0 => "no value of the flag asks for so little".to_owned(),
        _ => format!("{FLAG}={factor} would have asked for that, instead of 95"),
    };
    let sentence = format!(
        "XLA planned {} for a temp budget of about {} (80 % of the card less arguments and outputs, × 0.95) and used {}; the \
         pool had {free} for it: {matching}.",
        name(&module.name),
        budget.temp,
        space.temp_bytes
    );
    let draft = Draft::new("xla-budget", Severity::Note, "XLA planned for more memory than was free")
        .sentence(sentence)
        .number("matching_factor_percent", factor as f64, Evidence::Inferred)
        .bytes("temp_budget_bytes", budget.temp, Evidence::Inferred)
        .bytes("temp_bytes", space.temp_bytes, Evidence::Read)
        .bytes("room_for_temp_bytes", free, Evidence::Read)
        .cause(format!(
            "XLA takes its budget from the size of the card. It knows neither the pool's share of it nor the other arrays \
             that are alive.{}",
            match attainable {
                true => "",
                false => " A budget so far below what it used it misses, after a long compilation: first make room.",
            }
        ))
        .at("module", case.report.modules.iter().position(|m| m.name == module.name), "its temp blocks");
    Some(draft.fix((factor > 0 && attainable).then(|| smaller_budget(case, factor, free)).flatten()).done())
}

fn smaller_budget(case: &Case, factor: u64, free: Bytes) -> Option<crate::model::Fix> {
    let space = case.space?;
    let mut fix = fixes::plain(
        "slop-factor",
        format!(
            "Tell XLA to plan for {factor} % instead of 95 %: a temp budget of the {free} that are free."
        ),
        "More is computed twice or in a worse order; XLA may still miss its budget.",
        "The budget is a goal, not a limit: look at the temp size of the new plan.",
    );
    fix.code = Some(format!("XLA_FLAGS={FLAG}={factor}"));
    let least = space.need_bytes.saturating_sub(space.temp_bytes) + free;
    let need = Span { least: least.min(space.need_bytes), most: space.need_bytes };
    Some(fixes::judged(fix, case.room(&[]), need, Some(space.launch_need_bytes)))
}
