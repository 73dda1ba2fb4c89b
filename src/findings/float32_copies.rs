//! `float32-copies`: 32-bit copies of 16-bit arrays are alive at the peak.

use super::case::Case;
use super::detail::{Detail, F32, is_half, squeezed};
use super::draft::Draft;
use super::words::{name, percent};
use super::{fixes, peak};
use crate::hlo::Shape;
use crate::model::{Buffer, Finding, Role};
use crate::units::Evidence;

/// float32 buffers at the peak that a conversion made, or that have the shape of a parameter in 16 bits: gradients and updates.
/// A forward result with a parameter's shape is mostly a product whose sums XLA keeps in float32.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let (detail, module) = (case.detail?, case.module?);
    if !detail.parameters().any(|p| is_half(&p.shape)) {
        return None;
    }
    let picked = peak::pick(case, |b, dims| {
        let twin = || b.role != Role::Forward && has_half_twin(detail, dims);
        dims.element == F32 && (is_conversion(b) || twin())
    })?;
    let at = picked.made_at().map_or_else(String::new, |at| format!(" Made at {at}."));
    let sentence = format!(
        "{} of the values live at the peak of {} ({}) are float32 copies of 16-bit arrays: {}.{at}",
        percent(picked.share),
        name(&module.name),
        picked.bytes,
        picked.in_words()
    );
    let draft = Draft::new("float32-copies", peak::severity(case), "float32 copies of 16-bit arrays are alive")
        .sentence(sentence)
        .bytes("copies_bytes", picked.bytes, Evidence::Read)
        .number("share_of_peak", picked.share, peak::GUESS)
        .cause(
            "Something converts to float32 before it computes: a gradient in float32 for a bfloat16 weight, a loss or a norm \
             over whole arrays, an optimizer that wants float32. Each copy is twice the size of its original.",
        )
        .fix(fixes::plain(
            "keep-dtype",
            "Keep the dtype: cast inside the smallest operation that wants it, let matrix products accumulate in float32 \
             themselves (`preferred_element_type`), and cast gradients back leaf by leaf.",
            "Sums in 16 bits lose digits: keep float32 for reductions, norms and the loss.",
            &format!("At most half of the {} go.", picked.bytes),
        ))
        .fix(case.over().and_then(|_| fixes::shard(case)))
        .at("plan", None, "the float32 buffers at the peak");
    Some(draft.done())
}

/// Scalars and small vectors have twins everywhere.
fn has_half_twin(detail: &Detail, dims: &Shape) -> bool {
    let own = squeezed(dims);
    let twin =
        |half: bool| detail.parameters().any(|p| is_half(&p.shape) == half && squeezed(&p.shape) == own);
    // Optimizer state in float32 has the weights' shapes too: its temporaries are no copies of bfloat16 arrays.
    own.len() >= 2 && twin(true) && !twin(false)
}

fn is_conversion(b: &Buffer) -> bool {
    b.opcode == "convert" || b.op_name.as_ref().is_some_and(|n| n.ends_with("/convert_element_type"))
}
