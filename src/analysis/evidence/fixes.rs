//! What can be done about a plan of which a text says the totals.

use super::fix;
use crate::evidence::error_text::{PlanText, TextSize};
use crate::model::{Fix, Role};
use crate::units::Bytes;

/// Less than this part of the whole is not worth to be acted on: 1 / 20.
const WORTH: u64 = 20;

/// What makes a plan smaller. Fixes that act on temp are left out where the text says that there is next to none.
pub(super) fn fixes(plan: Option<&PlanText>, role: Option<Role>) -> Vec<Fix> {
    let mut all: Vec<Fix> = Vec::new();
    all.extend(plan.and_then(donate));
    let has_temp = plan.is_none_or(|plan| !temp_is_nothing(plan));
    if has_temp && matches!(role, None | Some(Role::Forward | Role::Recomputed)) {
        let mut remat = fix(
            "remat",
            "Wrap the repeated block of the model in `jax.checkpoint`: its inside is computed again in the backward pass instead \
             of kept.",
            "About one more forward pass.",
            "",
        );
        remat.code = Some("block = jax.checkpoint(block)  # flax: nn.remat(Block)".into());
        all.push(remat);
    }
    if has_temp {
        all.push(fix(
            "batch/2",
            "Halve the micro-batch and add up the gradients of two before the update.",
            "Smaller products, which fill the device less.",
            "",
        ));
    }
    all.push(fix(
        "shard",
        "Shard parameters, gradients and optimizer state over more devices (FSDP).",
        "More devices and traffic between them.",
        "",
    ));
    for fix in &mut all {
        fix.check = Some("jax.jit(step, …).lower(…).compile().memory_analysis()".into());
    }
    all
}

/// Whether temp is next to nothing of what a plan needs.
fn temp_is_nothing(plan: &PlanText) -> bool {
    let totals = plan.totals;
    totals.temp.zip(totals.total).is_some_and(|(temp, total)| temp.about().0 < total.about().0 / WORTH)
}

/// Whether old and new state stand beside each other: the totals leave nothing that both share, and next to nothing else.
pub(super) fn is_two_states(plan: &PlanText) -> bool {
    temp_is_nothing(plan) && apart(plan).is_some_and(|apart| apart.most_shared.0 == 0)
}

/// Outputs that share no memory with parameters.
struct Apart {
    /// So much of the outputs shares none.
    outputs: Bytes,
    /// Donation can save so much at most: an output can take the place of one parameter.
    most_saved: Bytes,
    /// So much is counted as parameter and as output, beyond what rounding explains.
    most_shared: Bytes,
}

fn apart(plan: &PlanText) -> Option<Apart> {
    let totals = plan.totals;
    let (parameter, out, total) = (totals.parameter?, totals.maybe_live_out?, totals.total?);
    let others = [totals.temp, totals.constant].into_iter().flatten();
    let parts = parameter.about() + out.about() + others.map(TextSize::about).sum::<Bytes>();
    // What is counted as parameter and as output is in the total once.
    let shared = parts.saturating_sub(total.about());
    let rounding = |size: TextSize| size.most_bytes.saturating_sub(size.least_bytes);
    let noise = [parameter, out, total].into_iter().map(rounding).sum::<Bytes>();
    let outputs = out.about().saturating_sub(shared);
    Some(Apart {
        outputs,
        most_saved: outputs.min(parameter.about().saturating_sub(shared)),
        most_shared: if shared > noise { shared } else { Bytes::ZERO },
    })
}

/// Parameters and outputs that do not share memory: the total counts both.
fn donate(plan: &PlanText) -> Option<Fix> {
    let (apart, total) = (apart(plan)?, plan.totals.total?.about());
    if apart.most_saved.0 < total.0 / WORTH {
        return None;
    }
    let mut fix = fix(
        "donate",
        "Donate the old state, if the step returns the new one: `donate_argnums`.",
        "The old arrays cannot be used after the call.",
        &format!(
            "Outputs of {} share no memory with parameters. At most {} of them can, if they have the shapes of parameters.",
            apart.outputs, apart.most_saved
        ),
    );
    fix.need_after_least_bytes = Some(total.saturating_sub(apart.most_saved));
    fix.need_after_most_bytes = Some(total);
    Some(fix)
}
