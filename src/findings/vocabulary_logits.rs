//! `vocabulary-logits`: scores over the whole vocabulary for every position at once.

use super::case::Case;
use super::detail::{Detail, squeezed};
use super::draft::Draft;
use super::words::{name, percent};
use super::{fixes, peak};
use crate::arrange::Arrange;
use crate::model::{Finding, Role};
use crate::units::Evidence;

/// An embedding has many more rows than columns; the weights of a block are at most about four times as long as wide.
const SKEW: i64 = 5;
/// Fewer classes are a classifier's, and small.
const FEWEST_WORDS: i64 = 4096;

/// The vocabulary: the largest dimension of a skewed parameter of two dimensions, which may have a leading 1 or be stacked.
fn vocabulary(detail: &Detail) -> Option<i64> {
    detail
        .parameters()
        .filter_map(|p| match squeezed(&p.shape).as_slice() {
            &[a, b] => Some((a.max(b), a.min(b))),
            _ => None,
        })
        .filter(|&(long, short)| long >= FEWEST_WORDS && long / SKEW >= short)
        .map(|(long, _)| long)
        .max()
}

/// Buffers at the peak, of either pass of the gradient, whose last dimension is the vocabulary and which no parameter has the
/// shape of.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let (detail, module) = (case.detail?, case.module?);
    let vocabulary = vocabulary(detail)?;
    let picked = peak::pick(case, |b, dims| {
        let own = squeezed(dims);
        let of_a_pass = matches!(b.role, Role::Forward | Role::Backward | Role::Recomputed);
        let logits = own.len() >= 2 && own.last() == Some(&vocabulary) && of_a_pass;
        logits && !detail.parameters().any(|p| is_turned(&squeezed(&p.shape), &own))
    })?;
    let at = picked.made_at().map_or_else(String::new, |at| format!(" Made at {at}."));
    let sentence = format!(
        "{} of the values live at the peak of {} ({}) have the whole vocabulary of {vocabulary} for each position: {}.{at}",
        percent(picked.share),
        name(&module.name),
        picked.bytes,
        picked.in_words()
    );
    let draft = Draft::new("vocabulary-logits", peak::severity(case), "Logits of the whole vocabulary are alive at once")
        .sentence(sentence)
        .bytes("logits_bytes", picked.bytes, Evidence::Read)
        .number("share_of_peak", picked.share, Evidence::Read)
        .number("vocabulary", vocabulary as f64, peak::GUESS)
        .cause(
            "The loss computes the logits of all positions before it reduces them: batch × sequence × vocabulary, mostly in \
             float32, and once more for their gradient.",
        )
        .fix(chunked(&picked))
        .fix(case.over().and_then(|_| fixes::half_batch(case)))
        .at("plan", None, "the logits at the peak");
    Some(draft.done())
}

/// A weight's gradient or a transposed weight has its dimensions in either order.
fn is_turned(parameter: &[i64], buffer: &[i64]) -> bool {
    let mut a = parameter.to_vec();
    let mut b = buffer.to_vec();
    a.arrange();
    b.arrange();
    a == b
}

fn chunked(picked: &peak::Picked) -> crate::model::Fix {
    let mut fix = fixes::plain(
        "chunked-loss",
        "Compute the loss in chunks of positions, each checkpointed: only one chunk's logits are alive at a time.",
        "The last matrix product is computed twice.",
        &format!("With eight chunks at most seven eighths of the {} go.", picked.bytes),
    );
    fix.code = Some(
        "losses = jax.lax.map(jax.checkpoint(lambda c: loss_of(c, w_vocab)), hidden_in_chunks)\nloss = losses.sum() / tokens"
            .into(),
    );
    fix
}
