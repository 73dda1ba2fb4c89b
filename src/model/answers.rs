//! Answers to questions that a view asks about one moment or one plan of change; not part of the JSON report.

use super::{Buffer, Fits, LiveArray, RoleShare};
use crate::units::{Bytes, Picos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is live at one event of the schedule of a module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanMoment {
    /// The event, from 0.
    pub event: u64,
    /// Bytes live inside the temp blocks of memory space 0.
    pub bytes: Bytes,
    /// The instruction that is being executed there.
    pub instruction: Option<String>,
    /// The buffers live there and those live throughout, equal ones together, largest first.
    pub buffers: Vec<Buffer>,
    /// The share of each role in `bytes`.
    pub roles: Vec<RoleShare>,
}

/// What is live in one allocator at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveMoment {
    /// The allocator's name.
    pub allocator: String,
    /// The moment of the last event at or before the one asked for.
    pub at_ps: Picos,
    /// Bytes in use right after that event.
    pub in_use_bytes: Bytes,
    /// Of these, allocated before the capture started and not seen again.
    pub before_capture_bytes: Bytes,
    /// The arrays allocated in the capture that are live there, largest first.
    pub arrays: Vec<LiveArray>,
}

/// The need after several fixes together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// The fixes, by their ids, in the order in which they were applied.
    pub fixes: Vec<String>,
    /// The need of the plan as it is.
    pub need_bytes: Bytes,
    /// The need after them is at least this.
    pub need_after_least_bytes: Bytes,
    /// The need after them is at most this.
    pub need_after_most_bytes: Bytes,
    /// Of other arrays, at least so much stays alive beside the step; null where no run shows it.
    pub others_after_least_bytes: Option<Bytes>,
    /// Of other arrays, at most so much stays alive beside the step; null where no run shows it.
    pub others_after_most_bytes: Option<Bytes>,
    /// The size of the pool after them; null where it is unknown.
    pub pool_after_bytes: Option<Bytes>,
    /// Whether the need, with what stays alive beside it, fits the pool; null where its size is unknown.
    pub fits_pool: Option<Fits>,
    /// Whether the need, with what stays alive beside it, fits the card; null where its size is unknown.
    pub fits_card: Option<Fits>,
    /// How the numbers were reached.
    pub how: String,
}
