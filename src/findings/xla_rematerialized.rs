//! `xla-rematerialized`: XLA computes values again to save memory.

use super::case::Case;
use super::draft::Draft;
use super::words::{count, name};
use super::{budget, fixes};
use crate::model::{Finding, Severity};
use crate::units::Evidence;

/// The module has instructions that XLA's rematerialization made.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let (module, space) = (case.module?, case.space?);
    let n = module.rematerialized_instructions;
    if n == 0 {
        return None;
    }
    let mut sentence = format!(
        "XLA rematerialized {} of {}: it already worked against its memory limit",
        count(n, "instruction"),
        name(&module.name)
    );
    let mut draft =
        Draft::new("xla-rematerialized", Severity::Note, "XLA already computes values again to save memory")
            .number("rematerialized_instructions", n as f64, Evidence::Read);
    if let Some(budget) = budget::budget(case) {
        sentence += &format!(
            " (a budget of about {} for temp, from the card's size; the plan uses {})",
            budget.temp, space.temp_bytes
        );
        draft = draft.bytes("temp_budget_bytes", budget.temp, Evidence::Inferred);
    }
    sentence += ".";
    let draft = draft
        .sentence(sentence)
        .cause(
            "What XLA can save by itself is saved, at the price of computing it twice. More has to come from the program.",
        )
        .at("module", case.report.modules.iter().position(|m| m.name == module.name), "rematerialized instructions");
    // In trouble the fixes stand with the finding that says the step is too large.
    let fixes =
        if case.in_trouble() { Vec::new() } else { vec![fixes::remat(case), fixes::half_batch(case)] };
    Some(draft.fixes(fixes.into_iter().flatten()).done())
}
