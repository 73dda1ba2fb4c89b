//! `donation-defeated`: the plan donates, and the run copies all the same.

use super::case::Case;
use super::draft::Draft;
use super::fixes;
use super::room::Span;
use super::words::{count, name, percent};
use crate::model::{Execution, Finding, Severity};
use crate::units::{Bytes, Evidence};
use std::collections::HashMap;

/// Copies in one execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Copies {
    arrays: u64,
    bytes: Bytes,
}

/// Small change: a step counter that is still referenced.
const WORTH: f64 = 0.01;

/// Requests inside an execution that no planned allocation explains, of the sizes of donated parameters.
///
/// Where a caller donates an array in the plan but still holds it at the call, XLA allocates the output anew and copies
/// (`AllocateCopyProtectedOutputBuffer`), without a word.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let (detail, module, space) = (case.detail?, case.module?, case.space?);
    let mut planned: HashMap<Bytes, i64> = HashMap::new();
    for p in detail.launch.iter().filter(|p| !p.is_host()) {
        *planned.entry(p.size).or_default() += 1;
    }
    let mut donated: HashMap<Bytes, i64> = HashMap::new();
    for p in detail.parameters().filter(|p| p.donated) {
        *donated.entry(p.bytes).or_default() += 1;
    }
    let executions = case.executions_here();
    let with_copies: Vec<(usize, Copies)> = executions
        .iter()
        .map(|(at, e)| (*at, copies(e, &planned, &donated)))
        .filter(|(_, c)| c.bytes.share_of(space.donated_bytes).is_some_and(|s| s >= WORTH))
        .collect();
    let &(at, most) = with_copies.iter().max_by_key(|(_, c)| c.bytes)?;
    let share = most.bytes.share_of(space.donated_bytes)?;
    let (severity, title) = match case.own_failure().is_some() {
        true => (Severity::Error, "Donation was defeated: the old state was copied"),
        false => (Severity::Warning, "Donation is defeated: the old state is copied"),
    };
    let sentence = format!(
        "{} donates {} in its plan, yet in {} of {} it allocated {} of {} more, outside the plan and of the sizes of donated \
         parameters ({} of the donated bytes): both copies are alive during the step.",
        name(&module.name),
        space.donated_bytes,
        with_copies.len(),
        count(executions.len() as u64, "execution"),
        count(most.arrays, "array"),
        most.bytes,
        percent(share),
    );
    let function = fixes::function(case);
    let draft = Draft::new("donation-defeated", severity, title)
        .sentence(sentence)
        .bytes("donated_bytes", space.donated_bytes, Evidence::Read)
        .bytes("copied_bytes", most.bytes, Evidence::Read)
        .number("copied_arrays", most.arrays as f64, Evidence::Read)
        .number("executions_with_copies", with_copies.len() as f64, Evidence::Read)
        .cause(
            "The arrays that were passed could not be given away: something else still refers to them (an old copy of the \
             state, a checkpoint being written), or they came from a restore in a form that cannot be donated. JAX says \
             nothing about it at run time.",
        )
        .fix(give_up(case, most, &function))
        .fix(after_restore())
        .at("execution", at, "its requests: those after the planned ones are the copies");
    Some(draft.done())
}

/// The part of an execution's requests that is not planned and has the sizes of donated parameters, each counted as
/// often as there are such parameters.
fn copies(e: &Execution, planned: &HashMap<Bytes, i64>, donated: &HashMap<Bytes, i64>) -> Copies {
    let mut left: HashMap<Bytes, i64> = HashMap::new();
    for &request in &e.requested_bytes {
        *left.entry(request).or_default() += 1;
    }
    let mut it = Copies::default();
    for (&bytes, &requested) in &left {
        let extra = requested - planned.get(&bytes).copied().unwrap_or(0);
        let copies = extra.min(donated.get(&bytes).copied().unwrap_or(0)).max(0) as u64;
        it.arrays += copies;
        it.bytes += Bytes(bytes.0.saturating_mul(copies));
    }
    it
}

fn give_up(case: &Case, copies: Copies, function: &str) -> Option<crate::model::Fix> {
    let mut fix = fixes::freeing(
        case,
        "give-up",
        format!(
            "Let go of the old state before the call: `state = {function}(state, …)`, and no other name for it."
        ),
        "None.",
        // The old copy is freed too, where it was alive at the call already.
        Span { least: Bytes::ZERO, most: copies.bytes },
        &format!("Saves the {} copied; the step then needs what its plan says.", copies.bytes),
    );
    fix.code = Some(format!(
        "leaf = jax.tree.leaves(state)[0]\nstate = {function}(state, batch)\nassert leaf.is_deleted()  # donated for real"
    ));
    Some(fix)
}

fn after_restore() -> crate::model::Fix {
    let mut fix = fixes::plain(
        "rematerialize",
        "After a restore, pass the state once through an identity that XLA owns, so that it can be donated.",
        "One copy of the state at the start.",
        "",
    );
    fix.code = Some("state = jax.jit(lambda s: jax.tree.map(jnp.copy, s))(state)".into());
    fix
}
