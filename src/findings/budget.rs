//! XLA's own budget for the temp blocks of a module, from which it decides whether to rematerialize.

use super::case::Case;
use crate::units::Bytes;

/// What the schedule and the rematerialization of a module were made for (GPU; `GetSchedulerMemoryLimit` in
/// `xla/service/gpu/gpu_hlo_schedule.cc`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Budget {
    /// 0.80 × card − parameters − outputs + aliased, not below zero.
    pub base: Bytes,
    /// 95 % of that.
    pub temp: Bytes,
}

/// `xla_gpu_memory_limit_slop_factor` unless somebody sets it.
const SLOP_PERCENT: u64 = 95;

/// The budget, from the card: the size of the pool plays no part in it.
pub(super) fn budget(case: &Case) -> Option<Budget> {
    if !case.on_gpu() {
        return None;
    }
    let (card, space) = (case.card?, case.space?);
    // The outputs of XLA's sum hold the aliased ones, which it then takes out again.
    let usable = Bytes(card.0 / 100 * 80);
    let base = usable.saturating_sub(space.parameters_bytes).saturating_sub(space.outputs_bytes);
    Some(Budget { base, temp: Bytes(base.0 / 100 * SLOP_PERCENT) })
}

impl Budget {
    /// The factor in percent with which the budget is `room`.
    pub fn factor_for(self, room: Bytes) -> Option<u64> {
        room.0.saturating_mul(100).checked_div(self.base.0).map(|n| n.min(100))
    }
}
