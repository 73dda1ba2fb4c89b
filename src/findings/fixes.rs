//! Fixes that more than one finding offers. One that cannot apply is `None`.

use super::case::{Case, fits};
use super::detail::{parse_shape, squeezed};
use super::words;
use crate::hlo::Shape;
use crate::report::{Buffer, BufferKind, Fits, Fix};
use crate::units::Bytes;

/// A fix of the program whose effect on the plan is estimated.
fn estimated(case: &Case, id: &str, text: impl Into<String>, code: Option<String>) -> Option<Fix> {
    let estimate = case.estimator?.estimate(id)?;
    Some(Fix {
        id: id.into(),
        text: text.into(),
        cost: estimate.cost,
        need_after_least_bytes: Some(estimate.least),
        need_after_most_bytes: Some(estimate.most),
        fits_after: case.fits(estimate.least, estimate.most),
        how: format!("{} {}", estimate.how, check(case)).trim().to_owned(),
        code,
    })
}

/// A fix whose effect is no number of the plan.
pub(super) fn plain(id: &str, text: impl Into<String>, cost: &str, how: &str) -> Fix {
    Fix {
        id: id.into(),
        text: text.into(),
        cost: cost.into(),
        need_after_least_bytes: None,
        need_after_most_bytes: None,
        fits_after: None,
        how: how.into(),
        code: None,
    }
}

/// A fix that frees live arrays: what the pool must then hold at the launch, from `least` to `most`.
pub(super) fn freeing(
    case: &Case,
    id: &str,
    text: impl Into<String>,
    cost: &str,
    freed: Bytes,
    how: &str,
) -> Fix {
    let mut fix = plain(id, text, cost, how);
    if let (Some(in_use), Some(space)) = (case.in_use_at_start(), case.space) {
        let after = in_use.saturating_sub(freed) + space.launch_need_bytes;
        fix.need_after_least_bytes = Some(after);
        fix.need_after_most_bytes = Some(after);
        fix.fits_after = case.capacity().map(|capacity| fits(after, after, capacity));
    }
    fix
}

/// How to see the plan of a changed program before running it.
fn check(case: &Case) -> String {
    let function = function(case);
    format!("Check before running: `jax.jit({function}, …).lower(…).compile().memory_analysis()`.")
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
    estimated(case, "donate", text, Some(code))
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
    numbers.sort_unstable();
    (!numbers.is_empty()).then_some((numbers, names))
}

/// `jax.checkpoint` on the repeated block.
pub(super) fn remat(case: &Case) -> Option<Fix> {
    let text = "Wrap the repeated block of the model in `jax.checkpoint`: its inside is computed again in the backward pass \
                instead of kept.";
    let code = "block = jax.checkpoint(block)  # flax: nn.remat(Block)".to_owned();
    estimated(case, "remat", text, Some(code))
}

/// Half the micro-batch.
pub(super) fn half_batch(case: &Case) -> Option<Fix> {
    let text = "Halve the micro-batch and add up the gradients of two before the update.";
    estimated(case, "batch/2", text, None)
}

/// Half the sequence.
pub(super) fn half_sequence(case: &Case) -> Option<Fix> {
    let text = if attention_rows(case).is_some() {
        "Halve the sequence length: what has it twice in its shape shrinks to a quarter."
    } else {
        "Halve the sequence length."
    };
    estimated(case, "seq/2", text, None)
}

/// Parameters and gradients over more devices.
pub(super) fn shard(case: &Case) -> Option<Fix> {
    // The estimate is made for the smallest number of devices that is enough, else for the largest tried.
    let of = |n: u32| {
        let text = format!("Shard parameters, gradients and optimizer state over {n} devices (FSDP).");
        estimated(case, &format!("shard/{n}"), text, None)
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
    if let Some(fix) = estimated(case, "fused-attention", text.clone(), Some(code.into())) {
        return Some(fix);
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

/// The largest buffers at the peak that have the sequence twice in their shape, B·H·S·S.
pub(super) fn attention_rows<'a>(case: &Case<'a>) -> Option<&'a Buffer> {
    let peak = case.plan()?.peak.as_ref()?;
    peak.buffers
        .iter()
        .filter(|b| b.kind == BufferKind::Temp)
        .filter(|b| parse_shape(&b.shape).is_some_and(|s| is_attention(&s, case)))
        .max_by_key(|b| b.bytes.0.saturating_mul(b.count))
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
    let fraction = (share * 100.0).ceil() / 100.0;
    if fraction >= 1.0 {
        return None;
    }
    let mut fix = plain(
        "pool",
        format!(
            "Give the pool {fraction:.2} of the card: it has {} now.",
            words::percent(capacity.share_of(card)?)
        ),
        if fraction > 0.9 {
            "Little is left outside the pool: the CUDA/ROCm context, NCCL/RCCL and cuDNN take their memory there and can fail."
        } else {
            "Less memory outside the pool for the CUDA/ROCm context, NCCL/RCCL, cuDNN and other processes."
        },
        &format!("{need} is {} of the card's {card}.", words::percent(share)),
    );
    fix.need_after_least_bytes = Some(need);
    fix.need_after_most_bytes = Some(need);
    fix.fits_after = Some(if fraction > 0.95 { Fits::Maybe } else { Fits::Yes });
    fix.code = Some(format!("XLA_PYTHON_CLIENT_MEM_FRACTION={fraction:.2}"));
    Some(fix)
}

/// What the pool would have to hold: the plan, or the launch on top of all that was live, whichever is more.
pub(super) fn wanted(case: &Case) -> Option<Bytes> {
    let need = case.need()?;
    let beside_others = case.in_use_at_start().zip(case.space).map(|(live, s)| live + s.launch_need_bytes);
    Some(need.max(beside_others.unwrap_or_default()))
}

/// The fixes in the order of what they achieve.
pub(super) fn best_first(fixes: impl IntoIterator<Item = Option<Fix>>) -> Vec<Fix> {
    let mut all: Vec<Fix> = fixes.into_iter().flatten().collect();
    all.sort_by_key(|f| match f.fits_after {
        Some(Fits::Yes) => 0,
        Some(Fits::Maybe) => 1,
        None => 2,
        Some(Fits::No) => 3,
    });
    all
}
