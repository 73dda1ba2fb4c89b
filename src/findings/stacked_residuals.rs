//! `stacked-residuals`: a scan keeps values of every iteration for its backward pass.

use super::case::Case;
use super::draft::Draft;
use super::words::{list, name, percent};
use super::{fixes, peak};
use crate::arrange::Arrange;
use crate::model::{Buffer, Finding, Role};
use crate::units::Evidence;
use std::collections::HashSet;

/// What goes from one iteration to the next is stored in any case; more than this part of the peak is more than that.
const WORTH_ALTHOUGH_CHECKPOINTED: f64 = 0.25;

/// Whether a buffer is of one iteration: made inside a loop's body, other than by writing into a stack.
fn is_inside(b: &Buffer) -> bool {
    b.op_name.as_ref().is_some_and(|n| n.contains("while/body") && !n.contains("dynamic_update"))
}

/// Buffers at the peak with the shape of something that a loop of the module carries and that leads with its trip count, not of
/// the backward pass, no parameter's, and alive through a good part of the schedule. The plan has a loop's body once, so what a
/// loop costs shows in no other way.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let (detail, module) = (case.detail?, case.module?);
    let events = case.plan()?.peak.as_ref()?.events;
    let stacks: HashSet<_> = detail.stacks.iter().map(|s| (s.element, s.dims.as_slice())).collect();
    let parameters: HashSet<_> = detail.parameters().map(|p| p.shape.dims.as_slice()).collect();
    let picked = peak::pick(case, |b, shape| {
        let stacked = stacks.contains(&(shape.element, shape.dims.as_slice()));
        let long = match (b.first_event, b.last_event) {
            (Some(first), Some(last)) => last.saturating_sub(first) >= events / 10,
            _ => true,
        };
        let of_parameter = parameters.contains(shape.dims.as_slice());
        stacked && long && b.role != Role::Backward && !is_inside(b) && !of_parameter
    })?;
    if detail.has_recomputed && picked.share < WORTH_ALTHOUGH_CHECKPOINTED {
        return None;
    }
    let mut leading: Vec<i64> = picked.buffers.iter().filter_map(|(_, d)| d.dims.first().copied()).collect();
    leading.arrange();
    leading.dedup();
    let trip: Vec<String> = leading.iter().map(i64::to_string).collect();
    let at = picked.made_at().map_or_else(String::new, |at| format!(" Made at {at}."));
    let sentence = format!(
        "{} of the values live at the peak of {} ({}) are stacked over the iterations of a scan (leading dimension {}): {}.{at}",
        percent(picked.share),
        name(&module.name),
        picked.bytes,
        list(&trip),
        picked.in_words()
    );
    let draft = Draft::new("stacked-residuals", peak::severity(case), "A scan keeps every iteration's values")
        .sentence(sentence)
        .bytes("stacked_bytes", picked.bytes, Evidence::Read)
        .number("share_of_peak", picked.share, Evidence::Read)
        // That the dimension is the loop's and not another of the same length is a guess.
        .number("leading_dimension", leading.last().copied().unwrap_or(0) as f64, peak::GUESS)
        .cause(if detail.has_recomputed {
            "The program checkpoints something, yet the scan still stores the values of each iteration: the checkpoint is not \
             around the scan's body, or a policy saves them."
        } else {
            "The backward pass of a scan wants the values of each iteration again, so the forward pass stores them side by \
             side. Checkpointing the body keeps only what goes from one iteration to the next."
        })
        .fix(checkpoint_body(case))
        .at("plan", None, "the stacked buffers at the peak");
    Some(draft.done())
}

fn checkpoint_body(case: &Case) -> Option<crate::model::Fix> {
    let code = "carry, ys = jax.lax.scan(jax.checkpoint(body), carry, xs)  # flax: nn.remat inside nn.scan";
    let text = "Wrap the body of the scan in `jax.checkpoint`.";
    let mut fix = fixes::remat(case)
        .unwrap_or_else(|| fixes::plain("remat", text, "About one more forward pass of the body.", ""));
    fix.text = text.into();
    fix.code = Some(code.into());
    Some(fix)
}
