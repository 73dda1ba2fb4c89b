//! What a fix would do: the need of a step after it, as an interval. Evidence: inferred.
//!
//! The plan holds every buffer with its size and with the stretch of the schedule over which it is live. A fix takes
//! buffers away, shortens, shrinks, moves or adds some, and the peak of what remains is computed anew. Each is done twice: once
//! taking for granted what helps (the least that the step can then need) and once what doesn't (the most).
//! `docs/estimates.md` tells how each fix is reckoned and puts it beside what XLA really planned.

mod effect;
mod fix;
mod flow;
mod layers;
mod life;
mod lists;
mod order;
mod picture;
mod program;
mod remat;
mod residuals;
mod scale;
mod scene;
mod stacks;
mod told;

pub use fix::{FixKind, NotAFix, parse_list};

use crate::arrange::Arrange;
use crate::hlo::Hlo;
use crate::plan::Plan;
use crate::units::Bytes;
use effect::Basis;
use flow::Flow;
use picture::Picture;
use program::{Program, parameter_uses};
use remat::Remat;
use scene::{Need, Scene, Side};
use std::sync::OnceLock;

/// What a fix, or several together, would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The fixes by name: `remat`, `donate,batch/2`.
    pub id: String,
    /// Whether the plan has anything that the fix acts on. Where not, the need stays.
    pub applicable: bool,
    /// The need now: parameters + non-aliased outputs + temp + constants.
    pub need: Bytes,
    /// The need after it is at least this.
    pub least: Bytes,
    /// The need after it is at most this.
    pub most: Bytes,
    /// Of `least`, what must be free at the moment of the call: outputs and temp.
    pub launch_least: Bytes,
    /// Of `most`, what must be free at the moment of the call.
    pub launch_most: Bytes,
    /// Bytes of the buffers that it acts on; it never saves more.
    pub acts_on: Bytes,
    /// How the numbers were reached, in words.
    pub how: String,
    /// What it costs, in words.
    pub cost: String,
}

/// Makes estimates of one module's plan. Borrows nothing of the module.
#[derive(Debug, Clone)]
pub struct Estimator {
    need: Need,
    basis: Basis,
}

/// An estimator that is made when it is first asked for: a report that offers no fix of the program needs none, and it takes
/// longer than all else of a large module.
#[derive(Debug, Clone, Copy)]
pub struct OnDemand<'a> {
    hlo: &'a Hlo,
    plan: &'a Plan,
    made: &'a OnceLock<Option<Estimator>>,
}

impl<'a> OnDemand<'a> {
    /// For a module and its plan; what is made goes into `made`.
    #[must_use]
    pub fn new(hlo: &'a Hlo, plan: &'a Plan, made: &'a OnceLock<Option<Estimator>>) -> OnDemand<'a> {
        OnDemand { hlo, plan, made }
    }

    /// The estimator; `None` for a module without a buffer assignment.
    #[must_use]
    pub fn get(self) -> Option<&'a Estimator> {
        self.made.get_or_init(|| Estimator::new(self.hlo, self.plan)).as_ref()
    }
}

impl Estimator {
    /// For the plan of a module; `None` for a module without a buffer assignment. Takes time and memory linear in the module.
    #[must_use]
    pub fn new(hlo: &Hlo, plan: &Plan) -> Option<Estimator> {
        let need = Need { total: plan.summary.need()?.0, launch: plan.summary.launch_need()?.0 };
        let flow = Flow::of(hlo);
        let uses = parameter_uses(&flow);
        let program = Program::of(&flow, plan, &uses);
        let (mut picture, stories) = Picture::of(&flow, plan);
        scale::measure(&program, &mut picture);
        let remat = Remat::of(&flow, &program, &uses, &picture, &stories);
        Some(Estimator { need, basis: Basis::new(plan, program, picture, &stories, remat) })
    }

    /// The most that is live at once in the temp blocks, by the lives that the estimates rest on. Where XLA's own simulation
    /// (`SpaceTotals::heap_peak`) says otherwise, every interval is wider by that part.
    #[must_use]
    pub fn peak(&self) -> Bytes {
        Bytes(self.basis.picture.peak)
    }

    /// How large the batch is, where the inputs show it.
    #[must_use]
    pub fn batch(&self) -> Option<i64> {
        self.basis.program.batch
    }

    /// What one fix would do.
    #[must_use]
    pub fn estimate(&self, fix: FixKind) -> Estimate {
        self.what_if(&[fix])
    }

    /// What several fixes would do together, in whatever order they are given. Those that the plan has nothing for are left out of
    /// the reckoning; `applicable` is false where that leaves none.
    #[must_use]
    pub fn what_if(&self, fixes: &[FixKind]) -> Estimate {
        let mut order = fixes.to_vec();
        order.arrange_by_key(|fix| fix.rank());
        let id = order.iter().map(FixKind::to_string).collect::<Vec<_>>().join(",");
        let acts = |fix: &FixKind| matches!(fix, FixKind::Pool(_)) || self.basis.acts_on(*fix) > 0;
        let idle: Vec<FixKind> = order.iter().copied().filter(|fix| !acts(fix)).collect();
        order.retain(acts);
        let acts_on = order.iter().fold(0u64, |sum, fix| sum.saturating_add(self.basis.acts_on(*fix)));
        let least = self.reckon(&order, Side::Least);
        let most = self.reckon(&order, Side::Most);
        let floor = self.need.total.saturating_sub(acts_on);
        let least_total = least.total.max(floor).min(most.total);
        Estimate {
            id,
            applicable: !order.is_empty(),
            need: Bytes(self.need.total),
            least: Bytes(least_total),
            most: Bytes(most.total),
            launch_least: Bytes(least.launch.saturating_add(least_total - least.total.min(least_total))),
            launch_most: Bytes(most.launch),
            acts_on: Bytes(acts_on),
            how: self.tell(&order, &idle),
            cost: order.iter().map(|fix| told::cost(*fix)).collect::<Vec<_>>().join("; "),
        }
    }

    /// The fixes that this plan has something for, in the order in which to propose them: those that cost least first.
    #[must_use]
    pub fn offered(&self) -> Vec<FixKind> {
        let candidates = [
            FixKind::Donate,
            FixKind::DropOutputs,
            FixKind::Remat,
            FixKind::FusedAttention,
            FixKind::Accumulate(2),
            FixKind::Batch(2),
            FixKind::Sequence(2),
            FixKind::Bf16,
            FixKind::Offload,
            FixKind::Shard(8),
        ];
        candidates.into_iter().filter(|fix| self.is_worth(*fix)).collect()
    }

    /// Whether a fix saves at least a hundredth of the need for sure, or a twentieth at best.
    fn is_worth(&self, fix: FixKind) -> bool {
        if self.basis.acts_on(fix) == 0 {
            return false;
        }
        let estimate = self.estimate(fix);
        let saved = |after: Bytes| self.need.total.saturating_sub(after.0);
        saved(estimate.most) > self.need.total / 100 || saved(estimate.least) > self.need.total / 20
    }

    fn reckon(&self, order: &[FixKind], side: Side) -> Need {
        if order.iter().all(|fix| matches!(fix, FixKind::Pool(_))) {
            return self.need;
        }
        let mut scene = Scene::of(&self.basis.picture, side);
        order.iter().for_each(|fix| self.basis.apply(*fix, &mut scene));
        let mut need = scene.need();
        // What brings nothing, or no more than it takes away, can't make the need larger.
        if need.total > self.need.total && !order.iter().any(|fix| self.basis.adds(*fix)) {
            need = self.need;
        }
        need
    }

    fn tell(&self, order: &[FixKind], idle: &[FixKind]) -> String {
        let mut parts: Vec<String> = order.iter().map(|fix| self.basis.how(*fix)).collect();
        if let [rest @ .., last] = idle {
            let rest: Vec<String> = rest.iter().map(|fix| format!("`{fix}`")).collect();
            let names = if rest.is_empty() { String::new() } else { format!("{} and ", rest.join(", ")) };
            let have = if rest.is_empty() { "has" } else { "have" };
            parts.push(format!("{names}`{last}` {have} nothing to act on in this plan"));
        }
        let mut told = parts.join("; ");
        // Of what is told the first word alone begins a sentence.
        if let Some(first) = told.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        if told.is_empty() { told } else { told + "." }
    }
}
