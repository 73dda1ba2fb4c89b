//! What it all means: findings, the verdict, and what cannot be told.
//!
//! Each finding is one file with its rule; [`RULES`] lists them. A rule reads the evidence of a [`Case`] and gives a finding
//! with its numbers, or nothing. To add one: write the file, and add its line to the table.

mod allocator_retry;
mod budget;
mod captured_constants;
mod case;
mod detail;
mod devices_differ;
mod donation_defeated;
mod draft;
mod fixes;
mod float32_copies;
mod fragmented;
mod grows_per_execution;
mod healthy;
mod limits;
mod live_arrays;
mod many_executables;
mod not_donated;
mod op_by_op;
mod peak;
mod pool_smaller_than_card;
mod room;
mod stacked_residuals;
mod step_does_not_fit;
mod truncated_capture;
mod unsharded;
mod verdict;
mod vocabulary_logits;
mod what_if;
mod words;
mod xla_budget;
mod xla_rematerialized;

#[cfg(test)]
mod tests;

pub use case::{Case, Failure};
pub use detail::{Constant, Detail};
pub use limits::limits;
pub use room::{Room, Span};
pub use step_does_not_fit::{cause_of_role, role_words};
pub use verdict::{pool_of_verdict, verdict};
pub use what_if::what_if;

use crate::arrange::Arrange;
use crate::estimate::OnDemand;
use crate::model::{Finding, Given, Report, SourceKind};
use crate::terms::{Backend, Warning};
use room::part;

/// The rule of one finding.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The id of its finding.
    pub id: &'static str,
    find: fn(&Case) -> Option<Finding>,
}

/// Every rule, in the order in which findings of one gravity are shown: causes of a failure before what makes a plan large, and
/// that before what is worth knowing. `fits`, which is the absence of the others, comes after them.
pub const RULES: &[Rule] = &[
    Rule { id: "step-does-not-fit", find: step_does_not_fit::find },
    Rule { id: "grows-per-execution", find: grows_per_execution::find },
    Rule { id: "op-by-op", find: op_by_op::find },
    Rule { id: "not-donated", find: not_donated::find },
    Rule { id: "donation-defeated", find: donation_defeated::find },
    Rule { id: "live-arrays", find: live_arrays::find },
    Rule { id: "fragmented", find: fragmented::find },
    Rule { id: "allocator-retry", find: allocator_retry::find },
    Rule { id: "truncated-capture", find: truncated_capture::find },
    Rule { id: "stacked-residuals", find: stacked_residuals::find },
    Rule { id: "vocabulary-logits", find: vocabulary_logits::find },
    Rule { id: "float32-copies", find: float32_copies::find },
    Rule { id: "unsharded", find: unsharded::find },
    Rule { id: "captured-constants", find: captured_constants::find },
    Rule { id: "pool-smaller-than-card", find: pool_smaller_than_card::find },
    Rule { id: "xla-budget", find: xla_budget::find },
    Rule { id: "xla-rematerialized", find: xla_rematerialized::find },
    Rule { id: "devices-differ", find: devices_differ::find },
    Rule { id: "many-executables", find: many_executables::find },
];

/// The id of the finding that nothing is wrong.
pub const FITS: &str = "fits";

/// Every finding of a case, gravest first.
#[must_use]
pub fn findings(case: &Case) -> Vec<Finding> {
    let mut all: Vec<Finding> = RULES.iter().filter_map(|rule| (rule.find)(case)).collect();
    all.arrange_by_key(|f| f.severity);
    if let Some(fits) = healthy::find(case, &all) {
        // Before the notes: it answers the first question.
        all.insert(0, fits);
    }
    all
}

/// The part of a GPU's memory that JAX's pool takes unless told otherwise (`XLA_CLIENT_MEM_FRACTION`), in percent.
const USUAL_PERCENT: u32 = 75;

/// Puts sizes that the user gave into a report that does not have them; of one that it has a warning says so. A plan for a GPU
/// of which only the card is given is held against the pool that JAX usually makes of it.
pub fn give(report: &mut Report, mut given: Given, backend: Option<Backend>) {
    let case = Case::new(report, None, None);
    let known = [("pool", case.capacity(), given.pool_bytes), ("card", case.card, given.card_bytes)];
    let mut warnings: Vec<Warning> = known
        .into_iter()
        .filter_map(|(what, known, given)| {
            let (known, given) = (known?, given?);
            let sentence =
                format!("the {what} was given as {given}; the capture says {known}, and that stands");
            (known != given).then(|| Warning::new("given", sentence))
        })
        .collect();
    let alone = report.source.kind == SourceKind::HloProto && backend == Some(Backend::Gpu);
    if let (true, None, Some(card)) = (alone, given.pool_bytes, given.card_bytes) {
        let pool = part(card, USUAL_PERCENT);
        given.pool_bytes = Some(pool);
        let sentence = format!(
            "no pool was given: the plan is held against {pool}, the {USUAL_PERCENT} % of the card that JAX's pool takes unless \
             told otherwise"
        );
        warnings.push(Warning::new("given", sentence));
    }
    report.given = Given {
        pool_bytes: given.pool_bytes.filter(|_| case.capacity().is_none()),
        card_bytes: given.card_bytes.filter(|_| case.card.is_none()),
    };
    report.warnings.extend(warnings);
}

/// Makes the verdict, the findings and the limits of a report from what is in it; its lists have to be whole.
///
/// `detail` and `estimator` are of the module that the report names; `no_events` are the reasons that fit the capture for why
/// it has no allocator events.
pub fn conclude(
    report: &mut Report,
    detail: Option<&Detail>,
    estimator: Option<OnDemand<'_>>,
    no_events: &[String],
) {
    let case = Case::new(report, detail, estimator);
    let findings = findings(&case);
    let verdict = verdict(&case, &findings);
    let limits = limits(&case, no_events);
    // Sums of what a jitted program runs beside its step say nothing.
    let op_by_op = op_by_op::runs_op_by_op(&case);
    report.op_by_op = report.op_by_op.take().filter(|_| op_by_op);
    report.findings = findings;
    report.verdict = verdict;
    report.limits = limits;
}
