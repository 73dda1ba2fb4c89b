//! Fixes that more than one finding offers. One that cannot apply is `None`.

use super::case::Case;
use super::detail::squeezed;
use super::room::{Room, Span};
use super::{peak, words};
use crate::arrange::Arrange;
use crate::estimate::FixKind;
use crate::hlo::Shape;
use crate::model::{Buffer, Fits, Fix};
use crate::units::Bytes;

/// A fix of the program whose effect on the plan is estimated; `None` where the plan has nothing that it acts on, and where even
/// at best it saves nothing.
fn estimated(case: &Case, kind: FixKind, text: impl Into<String>, code: Option<String>) -> Option<Fix> {
    let it = case.estimator?.get()?.estimate(kind);
    if !it.applicable || it.least >= it.need {
        return None;
    }
    let mut fix = plain(&it.id, text, &it.cost, &it.how);
    fix.check = Some(check(case));
    fix.code = code;
    let need = Span { least: it.least, most: it.most };
    Some(judged(fix, case.room(&[kind]), need, Some(it.launch_most)))
}

/// A fix with the need after it, what then stays alive beside the step, and whether that fits.
pub(super) fn judged(mut fix: Fix, room: Option<Room>, need: Span, launch: Option<Bytes>) -> Fix {
    fix.need_after_least_bytes = Some(need.least);
    fix.need_after_most_bytes = Some(need.most);
    if let Some(room) = room {
        fix.others_after_least_bytes = room.others.map(|others| others.least);
        fix.others_after_most_bytes = room.others.map(|others| others.most);
        fix.fits_after = Some(room.fits(need, launch));
        fix.how = sentences(&[&fix.how, &room.words(need, launch)]);
    }
    fix
}

/// What was said, one after the other.
pub(super) fn sentences(said: &[&str]) -> String {
    said.iter().filter(|s| !s.is_empty()).copied().collect::<Vec<_>>().join(" ")
}

/// A fix whose effect is no number of the plan.
pub(super) fn plain(id: &str, text: impl Into<String>, cost: &str, how: &str) -> Fix {
    Fix {
        id: id.into(),
        text: text.into(),
        cost: cost.into(),
        need_after_least_bytes: None,
        need_after_most_bytes: None,
        others_after_least_bytes: None,
        others_after_most_bytes: None,
        fits_after: None,
        how: how.into(),
        check: None,
        code: None,
    }
}

/// Arrays that the capture does not know: first find out what they are.
pub(super) fn name_arrays() -> Fix {
    let text = "Find out what they are: start the capture before they are made, or save a device memory profile and drop it \
                beside this capture.";
    let mut fix = plain("capture-earlier", text, "Another run.", "");
    fix.code = Some("jax.profiler.save_device_memory_profile('memory.prof')".into());
    fix
}

/// A fix that frees arrays which are alive beside the step: the need stays, the others become fewer.
pub(super) fn freeing(
    case: &Case,
    id: &str,
    text: impl Into<String>,
    cost: &str,
    freed: Span,
    how: &str,
) -> Fix {
    let fix = plain(id, text, cost, how);
    let Some((space, others)) = case.space.zip(case.others_after(&[])) else { return fix };
    let room = case.room(&[]).map(|room| Room { others: Some(others.less(freed)), ..room });
    judged(fix, room, Span::exactly(space.need_bytes), Some(space.launch_need_bytes))
}

/// How to see the plan of a changed program before running it.
fn check(case: &Case) -> String {
    let function = function(case);
    format!("jax.jit({function}, …).lower(…).compile().memory_analysis()")
}

/// The Python function of the module analysed.
pub(super) fn function(case: &Case) -> String {
    case.module.map_or_else(|| "step".into(), |m| words::function(&m.base_name))
}

/// Donate the arguments that have outputs of their shape.
pub(super) fn donate(case: &Case) -> Option<Fix> {
    let (numbers, names) = donatable(case)?;
    let function = function(case);
    let tuple: String = numbers.iter().map(|n| format!("{n}, ")).collect();
    let tuple =
        if numbers.len() == 1 { tuple.trim_end().to_owned() } else { tuple.trim_end_matches(", ").into() };
    let what = if names.is_empty() { String::new() } else { format!(" `{}`", names.join("`, `")) };
    let comment = if names.is_empty() { String::new() } else { format!("  # {}", names.join(", ")) };
    let text = format!("Donate the old state{what}, so that the new one takes its place.");
    let code = format!("{function} = jax.jit({function}, donate_argnums=({tuple})){comment}");
    estimated(case, FixKind::Donate, text, Some(code))
}

/// The arguments that hold pairs which are not aliased: numbers and names.
pub(super) fn donatable(case: &Case) -> Option<(Vec<usize>, Vec<String>)> {
    let detail = case.detail?;
    let arguments = detail.arguments();
    let (mut numbers, mut names) = (Vec::new(), Vec::new());
    for pair in detail.donation.missed_pairs() {
        let Some(parameter) = detail.donation.parameters.get(pair.parameter) else { continue };
        let name = parameter.argument();
        // Without a path the number among the flattened arguments is all there is; it is right where no argument is a tree.
        let at = match name {
            Some(name) => arguments.iter().position(|a| *a == name),
            None => usize::try_from(parameter.number).ok(),
        };
        if let Some(at) = at.filter(|at| !numbers.contains(at)) {
            numbers.push(at);
            names.extend(name.map(words::name));
        }
    }
    numbers.arrange();
    (!numbers.is_empty()).then_some((numbers, names))
}

/// `jax.checkpoint` on the repeated block.
pub(super) fn remat(case: &Case) -> Option<Fix> {
    let text = "Wrap the repeated block of the model in `jax.checkpoint`: its inside is computed again in the backward pass \
                instead of kept.";
    let code = "block = jax.checkpoint(block)  # flax: nn.remat(Block)".to_owned();
    estimated(case, FixKind::Remat, text, Some(code))
}

/// The same batch in two halves.
pub(super) fn half_batch(case: &Case) -> Option<Fix> {
    let text =
        "Take the batch in two halves, one after the other, and add up their gradients before the update.";
    let code =
        "grads = jax.lax.map(lambda part: grad_of(state, part), batch_in_two_parts)  # then sum over axis 0"
            .to_owned();
    estimated(case, FixKind::Accumulate(2), text, Some(code))
        .or_else(|| estimated(case, FixKind::Batch(2), "Halve the batch of each device.", None))
}

/// Activations and gradients in 16 bits.
pub(super) fn half_precision(case: &Case) -> Option<Fix> {
    estimated(case, FixKind::Bf16, "Compute in bfloat16; keep weights and optimizer state in float32.", None)
}

/// Optimizer state in the host's memory.
pub(super) fn offload(case: &Case) -> Option<Fix> {
    let code =
        "jax.device_put(opt_state, jax.tree.map(lambda s: s.with_memory_kind('pinned_host'), shardings))"
            .to_owned();
    estimated(case, FixKind::Offload, "Keep the optimizer state in the host's memory.", Some(code))
}

/// No outputs that no parameter is paired with.
pub(super) fn drop_outputs(case: &Case) -> Option<Fix> {
    let function = function(case);
    let text =
        format!("Do not return the arrays from {function}: return the norm or mean that is wanted of them.");
    estimated(case, FixKind::DropOutputs, text, None)
}

/// Half the sequence.
pub(super) fn half_sequence(case: &Case) -> Option<Fix> {
    let text = if attention_rows(case).is_some() {
        "Halve the sequence length: what has it twice in its shape shrinks to a quarter."
    } else {
        "Halve the sequence length."
    };
    estimated(case, FixKind::Sequence(2), text, None)
}

/// Parameters and gradients over more devices.
pub(super) fn shard(case: &Case) -> Option<Fix> {
    // The estimate is made for the smallest number of devices that is enough, else for the largest tried.
    let of = |n: u32| {
        let text = format!("Shard parameters, gradients and optimizer state over {n} devices (FSDP).");
        estimated(case, FixKind::Shard(n), text, None)
    };
    let all: Vec<Fix> = [2, 4, 8].into_iter().filter_map(of).collect();
    let enough = all.iter().position(|f| f.fits_after == Some(Fits::Yes));
    let at = enough.unwrap_or(all.len().saturating_sub(1));
    all.into_iter().nth(at)
}

/// Attention that doesn't write its scores to memory; offered only where they are seen at the peak.
pub(super) fn fused_attention(case: &Case) -> Option<Fix> {
    let rows = attention_rows(case)?;
    let function = function(case);
    let text = format!(
        "Use fused attention: `{}`{} at the peak are scores for every pair of positions, which it never writes to memory.",
        words::shape(&rows.shape),
        if rows.count > 1 { format!(" ×{}", rows.count) } else { String::new() }
    );
    let code =
        "out = jax.nn.dot_product_attention(q, k, v, implementation='cudnn')  # or a Pallas/Triton kernel";
    let saved = Bytes(rows.bytes.0.saturating_mul(rows.count));
    let known = case.estimator.and_then(|e| e.get()).map(|e| e.estimate(FixKind::FusedAttention));
    if known.is_some_and(|estimate| estimate.applicable) {
        return estimated(case, FixKind::FusedAttention, text, Some(code.into()));
    }
    let mut fix = plain(
        "fused-attention",
        text,
        "Another kernel: results differ in the last digits; some masks and head sizes are not supported.",
        &format!(
            "These buffers hold {saved} at the peak; the peak falls by at most that. Check before running: \
             `jax.jit({function}, …).lower(…).compile().memory_analysis()`."
        ),
    );
    fix.code = Some(code.into());
    Some(fix)
}

/// The largest buffers at the peak that have the sequence twice in their shape, B·H·S·S, where they are a good part of it.
pub(super) fn attention_rows<'a>(case: &Case<'a>) -> Option<&'a Buffer> {
    let picked = peak::pick(case, |_, shape| is_attention(shape, case))?;
    picked.buffers.first().map(|(b, _)| *b)
}

/// Whether a shape is one of attention scores: at least three dimensions, the last two equal and long, and no parameter
/// has it (stacks of square weights look alike).
fn is_attention(shape: &Shape, case: &Case) -> bool {
    let dims = squeezed(shape);
    let [rows @ .., s, t] = dims.as_slice() else { return false };
    if rows.is_empty() || s != t || *s < 128 {
        return false;
    }
    let is_weight =
        |d: &super::detail::Detail| d.parameters().any(|p| squeezed(&p.shape).ends_with(&[*s, *t]));
    !case.detail.is_some_and(is_weight)
}

/// Raise the pool's share of the card, where the need lies between the two.
pub(super) fn larger_pool(case: &Case) -> Option<Fix> {
    let (capacity, card) = (case.capacity()?, case.card?);
    let need = wanted(case)?;
    if !case.on_gpu() || need <= capacity || need > card {
        return None;
    }
    let share = need.share_of(card)?;
    // Up to the next hundredth, so that what is asked for is there.
    let percent = (share * 100.0).ceil() as u32;
    if percent >= 100 {
        return None;
    }
    let fraction = f64::from(percent) / 100.0;
    let kind = FixKind::Pool(percent);
    let mut fix = plain(
        &kind.to_string(),
        format!(
            "Give the pool {fraction:.2} of the card: it has {} now.",
            words::percent(capacity.share_of(card)?)
        ),
        if fraction > 0.9 {
            "Little is left outside the pool: the CUDA/ROCm context, NCCL/RCCL and cuDNN take their memory there and can fail."
        } else {
            "Less memory outside the pool for the CUDA/ROCm context, NCCL/RCCL, cuDNN and other processes."
        },
        "JAX refuses this together with the old name, XLA_PYTHON_CLIENT_MEM_FRACTION.",
    );
    fix.code = Some(format!("XLA_CLIENT_MEM_FRACTION={fraction:.2}"));
    let space = case.space?;
    let plan = Span::exactly(space.need_bytes);
    Some(judged(fix, case.room(&[kind]), plan, Some(space.launch_need_bytes)))
}

/// What the pool would have to hold: the plan, and what else was alive.
pub(super) fn wanted(case: &Case) -> Option<Bytes> {
    Some(case.need()? + case.other_live().unwrap_or_default())
}

/// The fixes in the order of what they achieve.
pub(super) fn best_first(fixes: impl IntoIterator<Item = Option<Fix>>) -> Vec<Fix> {
    let mut all: Vec<Fix> = fixes.into_iter().flatten().collect();
    all.arrange_by_key(|f| match f.fits_after {
        Some(Fits::Yes) => 0,
        Some(Fits::Maybe) => 1,
        None => 2,
        Some(Fits::No) => 3,
    });
    all
}
