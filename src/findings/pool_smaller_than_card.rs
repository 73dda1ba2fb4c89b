//! `pool-smaller-than-card`: what is needed lies between the pool and the card.

use super::case::Case;
use super::draft::Draft;
use super::fixes;
use super::words::{name, percent};
use crate::report::{Finding, Severity};
use crate::units::Evidence;

/// JAX's default is 0.75 of the card.
const DEFAULT_SHARE: f64 = 0.75;
/// The context and the libraries take their memory from what is left.
const STARVING: f64 = 0.95;

/// The module failed or cannot run, and capacity < need ≤ card.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let (module, capacity, card) = (case.module?, case.capacity()?, case.card?);
    let wanted = fixes::wanted(case)?;
    if !case.in_trouble() || wanted <= capacity || wanted > card {
        return None;
    }
    let (has, needs) = (capacity.share_of(card)?, wanted.share_of(card)?);
    let mut sentence = format!(
        "{} with what else was alive needs {wanted}: more than the pool's {capacity} ({} of the card), and {} of the card's \
         {card}.",
        name(&module.name),
        percent(has),
        percent(needs),
    );
    if case.in_use_at_start().is_none() || wanted == case.need()? {
        sentence = sentence.replacen(" with what else was alive", "", 1);
    }
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
        .bytes("pool_bytes", capacity, Evidence::Measured)
        .bytes("card_bytes", card, Evidence::Measured)
        .cause(cause)
        .fix(fixes::larger_pool(case))
        .at("allocator", case.pool.map(|(i, _)| i), "its capacity and share of the card");
    Some(draft.done())
}
