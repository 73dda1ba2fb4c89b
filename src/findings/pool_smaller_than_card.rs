//! `pool-smaller-than-card`: what is needed lies between the pool and the card.

use super::case::Case;
use super::draft::Draft;
use super::words::{Unit, name, percent};
use super::{fixes, grows_per_execution, op_by_op};
use crate::model::{Finding, Severity};
use crate::units::Evidence;

/// JAX's default is 0.75 of the card.
const DEFAULT_SHARE: f64 = 0.75;
/// The context and the libraries take their memory from what is left.
const STARVING: f64 = 0.95;

/// The module failed or cannot run, and capacity < need ≤ card.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let (module, capacity, card) = (case.module?, case.capacity()?, case.card?);
    let wanted = fixes::wanted(case)?;
    let over = wanted.saturating_sub(capacity);
    // Where ever more is kept alive, a larger pool only delays the end.
    let delays = || grows_per_execution::growth(case).is_some() || op_by_op::runs_op_by_op(case);
    if !case.in_trouble() || over.0 == 0 || wanted > card || delays() {
        return None;
    }
    let (has, needs) = (capacity.share_of(card)?, wanted.share_of(card)?);
    // Rounding of the arguments' chunks is nothing else that was alive.
    let alone = wanted.saturating_sub(case.need()?).0 <= wanted.0 / 100;
    let unit = Unit::adding_up(wanted, &[(vec![capacity, over], wanted)]);
    let mut sentence = format!(
        "{}{} needs {}, {over} more than the pool ({}, {} of the card) and less than the card ({card}).",
        name(&module.name),
        if alone { "" } else { " with what else was alive" },
        unit.with_name(wanted),
        unit.with_name(capacity),
        percent(has),
    );
    if has < DEFAULT_SHARE - 0.02 {
        sentence += " That is less than JAX's usual 75 %, which suggests that a fraction is set; a capture holds no \
                     environment variables.";
    }
    let cause = if needs > STARVING {
        "The pool cannot grow to that: the driver's context, NCCL/RCCL and cuDNN take their memory outside it and would find \
         next to none."
    } else {
        "The rest of the card is left to the driver's context, libraries and other processes; part of it can be the pool's."
    };
    let draft = Draft::new("pool-smaller-than-card", Severity::Note, "The pool is smaller than the card")
        .sentence(sentence)
        .bytes("wanted_bytes", wanted, Evidence::Read)
        .bytes("pool_bytes", capacity, case.pool_evidence())
        .bytes("card_bytes", card, case.card_evidence())
        .cause(cause)
        .fix(fixes::larger_pool(case))
        .at("allocator", case.pool.map(|(i, _)| i), "its capacity and share of the card");
    Some(draft.done())
}
