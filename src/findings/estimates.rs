//! What the rules ask of the estimates.

use crate::units::Bytes;
use std::fmt;

/// Says what the need of the module analysed would be after a fix.
pub trait Estimator: fmt::Debug {
    /// The estimate for a fix by its id, `donate`, `batch/2`; `None` where the fix cannot apply to this plan.
    fn estimate(&self, fix: &str) -> Option<Estimate>;
}

/// The need after a fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    /// It is at least this.
    pub least: Bytes,
    /// It is at most this.
    pub most: Bytes,
    /// How the numbers were reached.
    pub how: String,
    /// What the fix costs.
    pub cost: String,
}
