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
mod lists;
mod order;
mod picture;
mod program;
mod remat;
mod residuals;
mod scale;
mod scene;
mod stacks;

pub use fix::{FixKind, NotAFix, parse_list};

use crate::arrange::Arrange;
use crate::hlo::Hlo;
use crate::plan::Plan;
use crate::terms::Fits;
use crate::units::Bytes;
use effect::Basis;
use flow::Flow;
use picture::Picture;
use program::{Program, parameter_uses};
use remat::Remat;
use scene::{Need, Scene, Side};
use std::sync::OnceLock;

/// What the need is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context {
    /// The pool's capacity, where it is known.
    pub pool: Option<Bytes>,
    /// Free bytes of the pool when the step is called, where they are known.
    pub free: Option<Bytes>,
    /// The card's memory, where it is known.
    pub card: Option<Bytes>,
}

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
    /// Whether the step then fits; `None` where the context has nothing to hold it against.
    pub fits: Option<Fits>,
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

    /// What one fix would do.
    #[must_use]
    pub fn estimate(&self, fix: FixKind, context: &Context) -> Estimate {
        self.what_if(&[fix], context)
    }

    /// What several fixes would do together, in whatever order they are given. Those that the plan has nothing for are left out of
    /// the reckoning; `applicable` is false where that leaves none.
    #[must_use]
    pub fn what_if(&self, fixes: &[FixKind], context: &Context) -> Estimate {
        let mut order = fixes.to_vec();
        order.arrange_by_key(|fix| fix.rank());
        let id = order.iter().map(FixKind::to_string).collect::<Vec<_>>().join(",");
        let all = order.len();
        order.retain(|fix| matches!(fix, FixKind::Pool(_)) || self.basis.acts_on(*fix) > 0);
        let acts_on = order.iter().fold(0u64, |sum, fix| sum.saturating_add(self.basis.acts_on(*fix)));
        let least = self.reckon(&order, Side::Least);
        let most = self.reckon(&order, Side::Most);
        let floor = self.need.total.saturating_sub(acts_on);
        let least_total = least.total.max(floor).min(most.total);
        let estimate = Estimate {
            id,
            applicable: !order.is_empty(),
            need: Bytes(self.need.total),
            least: Bytes(least_total),
            most: Bytes(most.total),
            launch_least: Bytes(least.launch.saturating_add(least_total - least.total.min(least_total))),
            launch_most: Bytes(most.launch),
            acts_on: Bytes(acts_on),
            how: self.tell(&order, all),
            cost: order.iter().map(|fix| effect::cost(*fix)).collect::<Vec<_>>().join("; "),
            fits: None,
        };
        let fits = fits(&estimate, &order, self.need, context);
        Estimate { fits, ..estimate }
    }

    /// The fixes that this plan has something for, in the order in which to propose them: those that cost least first.
    #[must_use]
    pub fn offered(&self, context: &Context) -> Vec<FixKind> {
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
        let mut out: Vec<FixKind> = candidates.into_iter().filter(|fix| self.is_worth(*fix)).collect();
        // A larger pool helps only where the need lies between the pool and the card.
        if let (Some(pool), Some(card)) = (context.pool, context.card) {
            let percent = (self.need.total as f64 / card.0.max(1) as f64 * 100.0).ceil() as u32;
            if self.need.total > pool.0 && percent <= LARGEST_POOL {
                out.push(FixKind::Pool(percent.max(1)));
            }
        }
        out
    }

    /// Whether a fix saves at least a hundredth of the need for sure, or a twentieth at best.
    fn is_worth(&self, fix: FixKind) -> bool {
        if self.basis.acts_on(fix) == 0 {
            return false;
        }
        let estimate = self.estimate(fix, &Context::default());
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
        // What takes nothing but away can't make the need larger.
        let adds = |fix: &FixKind| {
            matches!(fix, FixKind::Accumulate(_) | FixKind::Offload | FixKind::Shard(_) | FixKind::Bf16)
        };
        if !order.iter().any(adds) && need.total > self.need.total {
            need = self.need;
        }
        need
    }

    fn tell(&self, order: &[FixKind], all: usize) -> String {
        let mut parts: Vec<String> = order.iter().map(|fix| self.basis.how(*fix)).collect();
        if order.len() < all {
            parts.push(format!("{} of the fixes have nothing to act on in this plan", all - order.len()));
        }
        if order.iter().any(|fix| !matches!(fix, FixKind::Pool(_))) {
            parts.push(
                "the peak of the schedule was computed anew without them, at best and at worst".to_owned(),
            );
        }
        format!("{}.", parts.join("; "))
    }
}

/// The largest share of a card to propose, in percent: with more cuDNN and NCCL starve.
const LARGEST_POOL: u32 = 95;

/// Whether the step then fits the pool, and beside what else is live in it.
fn fits(estimate: &Estimate, order: &[FixKind], before: Need, context: &Context) -> Option<Fits> {
    let enlarged = order.iter().find_map(|fix| match fix {
        FixKind::Pool(percent) => context.card.map(|card| Bytes(card.0 / 100 * u64::from(*percent))),
        _ => None,
    });
    let pool = enlarged.or(context.pool);
    let whole = pool.map(|pool| held_against(estimate.least.0, estimate.most.0, pool.0));
    let beside = context.free.map(|free| {
        let grown = enlarged.zip(context.pool).map_or(0, |(new, old)| new.0.saturating_sub(old.0));
        let free = free.0.saturating_add(grown);
        let resident = before.total.saturating_sub(before.launch);
        // What a fix takes from the parameters is free when the step is called.
        let room = |total: Bytes, launch: Bytes| {
            free.saturating_add(resident).saturating_sub(total.0.saturating_sub(launch.0))
        };
        let least = estimate.launch_least.0 <= room(estimate.least, estimate.launch_least);
        let most = estimate.launch_most.0 <= room(estimate.most, estimate.launch_most);
        match (least, most) {
            (_, true) => Fits::Yes,
            (false, _) => Fits::No,
            _ => Fits::Maybe,
        }
    });
    match (whole, beside) {
        (Some(Fits::No), _) | (_, Some(Fits::No)) => Some(Fits::No),
        (Some(Fits::Maybe), _) | (_, Some(Fits::Maybe)) => Some(Fits::Maybe),
        (None, None) => None,
        _ => Some(Fits::Yes),
    }
}

fn held_against(least: u64, most: u64, room: u64) -> Fits {
    if most <= room {
        Fits::Yes
    } else if least > room {
        Fits::No
    } else {
        Fits::Maybe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// A step of 10 GiB, of which 4 are parameters, after a fix of the temp that leaves 6 to 8.
    fn estimate() -> (Estimate, Need) {
        let estimate = Estimate {
            id: "remat".to_owned(),
            applicable: true,
            need: Bytes(10 * GIB),
            least: Bytes(6 * GIB),
            most: Bytes(8 * GIB),
            launch_least: Bytes(2 * GIB),
            launch_most: Bytes(4 * GIB),
            acts_on: Bytes(5 * GIB),
            how: String::new(),
            cost: String::new(),
            fits: None,
        };
        (estimate, Need { total: 10 * GIB, launch: 6 * GIB })
    }

    fn against(pool: Option<u64>, free: Option<u64>) -> Option<Fits> {
        let (estimate, before) = estimate();
        let gib = |n: Option<u64>| n.map(|n| Bytes(n * GIB));
        fits(&estimate, &[FixKind::Remat], before, &Context { pool: gib(pool), free: gib(free), card: None })
    }

    #[test]
    fn it_fits_where_the_most_does_and_not_where_the_least_does_not() {
        assert_eq!(against(Some(8), None), Some(Fits::Yes));
        assert_eq!(against(Some(7), None), Some(Fits::Maybe));
        assert_eq!(against(Some(5), None), Some(Fits::No));
        assert_eq!(against(None, None), None);
    }

    #[test]
    fn what_else_is_live_takes_room() {
        // The pool is large enough, but other arrays leave 3 GiB free of the 4 that it may take.
        assert_eq!(against(Some(20), Some(4)), Some(Fits::Yes));
        assert_eq!(against(Some(20), Some(3)), Some(Fits::Maybe));
        assert_eq!(against(Some(20), Some(1)), Some(Fits::No));
    }

    #[test]
    fn parameters_that_a_fix_takes_away_are_free_at_the_call() {
        let (estimate, before) = estimate();
        // Half of the parameters is gone too: 2 GiB more are free than the run saw.
        let smaller = Estimate { least: Bytes(4 * GIB), most: Bytes(6 * GIB), ..estimate };
        let context = Context { pool: None, free: Some(Bytes(2 * GIB)), card: None };
        assert_eq!(fits(&smaller, &[FixKind::Shard(2)], before, &context), Some(Fits::Yes));
    }

    #[test]
    fn a_larger_pool_is_a_share_of_the_card() {
        let (estimate, before) = estimate();
        let unchanged = Estimate { least: Bytes(10 * GIB), most: Bytes(10 * GIB), ..estimate };
        let context = Context { pool: Some(Bytes(9 * GIB)), free: None, card: Some(Bytes(12 * GIB)) };
        assert_eq!(fits(&unchanged, &[FixKind::Pool(90)], before, &context), Some(Fits::Yes));
        assert_eq!(fits(&unchanged, &[FixKind::Pool(80)], before, &context), Some(Fits::No));
    }
}
