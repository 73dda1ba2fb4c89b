//! `step-does-not-fit`: the plan alone is larger than the pool.

use super::case::{Case, PLAN_WITH_POOL};
use super::draft::Draft;
use super::words::{Unit, percent, shape};
use super::{fixes, words};
use crate::model::{Buffer, BufferKind, Finding, Role, RoleShare, Severity, Space};
use crate::units::{Bytes, Evidence};

/// Need > capacity (of the card, where the capture knows no pool), and no execution shows that it ran all the same.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let over = case.over()?;
    let (module, space) = (case.module?, case.space?);
    let (limit, limit_name) = case.limit()?;
    let parts = vec![space.parameters_bytes, space.outputs_bytes, space.temp_bytes, space.constants_bytes];
    let unit = Unit::adding_up(
        space.need_bytes,
        &[(parts, space.need_bytes), (vec![limit, over], space.need_bytes)],
    );
    let parts = unit.sum(&[
        (space.parameters_bytes, "parameters"),
        (space.outputs_bytes, "outputs"),
        (space.temp_bytes, "temp"),
        (space.constants_bytes, "constants"),
    ]);
    let what = dominant(case, space);
    let mut sentence = format!(
        "{} needs {}: {parts}. The {limit_name} has {}: short by {}.",
        words::name(&module.name),
        unit.with_name(space.need_bytes),
        unit.number(limit),
        unit.with_name(over),
    );
    let mut draft = Draft::new("step-does-not-fit", Severity::Error, what.title());
    if let Some((role, peak)) = what.role_at_peak(case) {
        sentence += &format!(
            " {} of the {} live at its peak are {}{}.",
            percent(role.share),
            peak,
            role_words(role.role),
            largest_of(case, role.role)
        );
        draft = draft
            .bytes("heap_peak_bytes", peak, Evidence::Read)
            .number("largest_role_share", role.share, Evidence::Read)
            .at("plan", None, "the buffers live at the peak, by role");
    }
    let draft = draft
        .sentence(sentence)
        .bytes("need_bytes", space.need_bytes, Evidence::Read)
        .bytes("parameters_bytes", space.parameters_bytes, Evidence::Read)
        .bytes("outputs_bytes", space.outputs_bytes, Evidence::Read)
        .bytes("temp_bytes", space.temp_bytes, Evidence::Read)
        .bytes("constants_bytes", space.constants_bytes, Evidence::Read)
        .bytes(&format!("{limit_name}_bytes"), limit, case.limit_evidence())
        .bytes("short_by_bytes", over, PLAN_WITH_POOL.with(case.limit_evidence()))
        .cause(what.cause())
        .fixes(fixes::best_first(what.fixes(case)))
        .at("module", case.report.modules.iter().position(|m| m.name == module.name), "its totals");
    Some(draft.done())
}

/// What makes the plan smaller, the most effective first.
pub(super) fn smaller(case: &Case) -> Vec<crate::model::Fix> {
    case.space.map_or_else(Vec::new, |space| fixes::best_first(dominant(case, space).fixes(case)))
}

/// What makes the step large.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Dominant {
    /// Parameters and outputs: weights, optimizer state, old and new.
    State { donated: bool },
    /// One role inside temp.
    Role(Role),
    /// Temp of which nothing more is known.
    Temp,
}

/// Temp, by its largest role, where it is half of the need; the state otherwise.
fn dominant(case: &Case, space: &Space) -> Dominant {
    if space.temp_bytes.0 < space.need_bytes.0 / 2 {
        let unpaired = case.detail.is_some_and(|d| d.donation.missed_pairs().next().is_some());
        return Dominant::State {
            donated: space.outputs_bytes.0 < space.parameters_bytes.0 / 4 || !unpaired,
        };
    }
    match largest_role(case) {
        Some(role) => Dominant::Role(role.role),
        None => Dominant::Temp,
    }
}

fn largest_role<'a>(case: &Case<'a>) -> Option<&'a RoleShare> {
    let peak = case.plan()?.peak.as_ref()?;
    peak.roles.iter().max_by(|a, b| a.bytes.cmp(&b.bytes)).filter(|r| r.bytes.0 > 0)
}

impl Dominant {
    fn title(self) -> &'static str {
        match self {
            Dominant::State { .. } => "The step does not fit: mostly weights and optimizer state",
            Dominant::Role(Role::Forward) => {
                "The step does not fit: mostly activations kept for the backward pass"
            }
            Dominant::Role(Role::Backward) => "The step does not fit: mostly gradients and their temporaries",
            Dominant::Role(Role::Recomputed) => "The step does not fit: mostly activations computed again",
            Dominant::Role(Role::Workspace) => "The step does not fit: mostly scratch of library calls",
            Dominant::Role(Role::Update) => "The step does not fit: mostly temporaries outside the gradient",
            Dominant::Role(Role::Other) | Dominant::Temp => "The step does not fit",
        }
    }

    fn role_at_peak<'a>(self, case: &Case<'a>) -> Option<(&'a RoleShare, Bytes)> {
        let Dominant::Role(_) = self else { return None };
        Some((largest_role(case)?, case.plan()?.peak.as_ref()?.bytes))
    }

    fn cause(self) -> &'static str {
        match self {
            Dominant::State { donated: false } => {
                "Old and new state are alive together: the step returns arrays of the shapes of its arguments and does \
                 not reuse their memory. Adam in float32 holds 12 bytes a parameter."
            }
            Dominant::State { donated: true } => {
                "Weights and optimizer state alone take most of it: Adam in float32 holds 12 bytes a parameter, whatever \
                 the batch."
            }
            Dominant::Role(Role::Forward) => {
                "The forward pass keeps its values (activations) until the backward pass has used them. They grow with \
                 batch × sequence; attention that writes its scores holds batch × heads × sequence² for each layer."
            }
            Dominant::Role(Role::Backward) => {
                "Gradients have the shapes of the weights, and so have the temporaries of the backward pass; float32 \
                 copies of bfloat16 gradients double them."
            }
            Dominant::Role(Role::Recomputed) => {
                "A checkpointed block is computed again as a whole: all its values are alive at once. Smaller blocks keep fewer."
            }
            Dominant::Role(Role::Workspace) => {
                "Libraries for matrix products and convolutions ask for scratch; the fastest algorithm may want the most."
            }
            Dominant::Role(Role::Update) => {
                "These buffers belong to neither pass of a gradient: optimizer, metrics, sampling, or inference as a whole."
            }
            Dominant::Role(Role::Other) | Dominant::Temp => {
                "The plan's temporaries are too large; it does not say which part of the step they belong to."
            }
        }
    }

    fn fixes(self, case: &Case) -> Vec<Option<crate::model::Fix>> {
        let mut all = match self {
            Dominant::State { .. } => {
                vec![
                    fixes::donate(case),
                    fixes::shard(case),
                    fixes::offload(case),
                    fixes::remat(case),
                    fixes::half_batch(case),
                ]
            }
            Dominant::Role(Role::Backward) => {
                vec![
                    fixes::shard(case),
                    fixes::half_batch(case),
                    fixes::remat(case),
                    fixes::half_precision(case),
                    fixes::donate(case),
                    fixes::drop_outputs(case),
                ]
            }
            _ => vec![
                fixes::remat(case),
                fixes::half_batch(case),
                fixes::half_sequence(case),
                fixes::fused_attention(case),
                fixes::half_precision(case),
                fixes::donate(case),
                fixes::shard(case),
                fixes::offload(case),
            ],
        };
        all.push(fixes::larger_pool(case));
        all
    }
}

/// `, among them f32[8,8,1024,1024] ×6 of 256.00 MiB each`.
fn largest_of(case: &Case, role: Role) -> String {
    let Some(peak) = case.plan().and_then(|p| p.peak.as_ref()) else { return String::new() };
    let total = |b: &Buffer| b.bytes.0.saturating_mul(b.count);
    let of_role = peak.buffers.iter().filter(|b| b.kind == BufferKind::Temp && b.role == role);
    let Some(b) = of_role.max_by_key(|b| total(b)) else { return String::new() };
    let (times, each) = if b.count > 1 { (format!(" ×{}", b.count), " each") } else { (String::new(), "") };
    let line = b.source.as_ref().map_or_else(String::new, |s| format!(" ({})", words::position(s)));
    format!(", most of all `{}`{times} of {}{each}{line}", shape(&b.shape), b.bytes)
}

/// Why buffers of a role make a step large.
#[must_use]
pub fn cause_of_role(role: Role) -> &'static str {
    Dominant::Role(role).cause()
}

/// A role in a sentence.
#[must_use]
pub fn role_words(role: Role) -> &'static str {
    match role {
        Role::Forward => "activations (forward values kept for the backward pass)",
        Role::Backward => "values of the backward pass (gradients)",
        Role::Recomputed => "activations computed again in the backward pass",
        Role::Workspace => "scratch of library calls",
        Role::Update => "values outside the gradient (optimizer, metrics, other code)",
        Role::Other => "buffers that XLA made",
    }
}
