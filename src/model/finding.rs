//! What it all means: the verdict, the findings, what cannot be told.

use super::{Fits, Severity};
use crate::units::{Bytes, Evidence};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The first sentence of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Whether the program ran out of memory, came close, or neither.
    pub status: VerdictStatus,
    /// The sentence.
    pub sentence: String,
    /// The weakest class of what the sentence says.
    pub evidence: Evidence,
}

/// How grave it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictStatus {
    /// An allocation failed, or the plan cannot fit.
    OutOfMemory,
    /// It ran, and will not for long, or only just.
    AtRisk,
    /// It fits.
    Fits,
    /// The capture does not say.
    CannotTell,
}

/// A sentence with its numbers, its cause and its fixes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// A stable name, `step-does-not-fit`.
    pub id: String,
    /// How grave.
    pub severity: Severity,
    /// The weakest class of what went into it.
    pub evidence: Evidence,
    /// A few words.
    pub title: String,
    /// What is so, with the numbers.
    pub sentence: String,
    /// The numbers by name; names end in their unit.
    pub numbers: BTreeMap<String, Number>,
    /// Why that is so.
    pub cause: String,
    /// What can be done.
    pub fixes: Vec<Fix>,
    /// Where in the report the evidence stands.
    pub evidence_at: Vec<EvidenceRef>,
}

/// A number of a finding with its class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Number {
    /// The value; bytes, picoseconds, counts or a share, as the key's ending says.
    pub value: f64,
    /// How it is known.
    pub evidence: Evidence,
}

/// Something that can be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fix {
    /// A stable name that `--what-if` takes, `donate`, `remat`, `batch/2`.
    pub id: String,
    /// What to do.
    pub text: String,
    /// What it costs.
    pub cost: String,
    /// The need after it is at least this.
    pub need_after_least_bytes: Option<Bytes>,
    /// The need after it is at most this.
    pub need_after_most_bytes: Option<Bytes>,
    /// Of other arrays, at least so much stays alive beside the step; null where no run shows it.
    pub others_after_least_bytes: Option<Bytes>,
    /// Of other arrays, at most so much stays alive beside the step; null where no run shows it.
    pub others_after_most_bytes: Option<Bytes>,
    /// Whether the need, with what stays alive beside it, fits the pool (else the card).
    pub fits_after: Option<Fits>,
    /// How the numbers were reached.
    pub how: String,
    /// Code that says what the need really is, before anything runs.
    pub check: Option<String>,
    /// Code for this program, where there is some.
    pub code: Option<String>,
}

/// A place in the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceRef {
    /// `plan`, `execution`, `retry`, `allocator`, `live`, `between`, `module`.
    pub view: String,
    /// Index in its list, where it has one.
    pub index: Option<u64>,
    /// What to look at there, in words.
    pub what: String,
}

/// Something this capture cannot tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// A stable name.
    pub id: String,
    /// The sentence.
    pub sentence: String,
}
