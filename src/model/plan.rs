//! Modules and what XLA planned for them.

use super::{BufferKind, MemoryAnalysis, Role, SourceLine};
use crate::units::{Bytes, Evidence};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why a module was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModuleWhy {
    /// Its last execution launched no kernel.
    LaunchedNoKernel,
    /// The largest need of those that were executed.
    LargestExecuted,
    /// The largest need; the capture has no executions.
    Largest,
    /// The text of the failure that was given is of it.
    ErrorText,
    /// The user asked for it.
    Asked,
}

/// One module with its totals. Evidence: read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Module {
    /// `jit_step(17)`.
    pub name: String,
    /// `jit_step`.
    pub base_name: String,
    /// The program id, as text since it can be negative or above 2^53.
    pub program_id: String,
    /// Instructions in all computations.
    pub instructions: u64,
    /// Executions in the capture, over all devices; null where the capture records none at all.
    pub executions: Option<u64>,
    /// Instructions that XLA's rematerialization made.
    pub rematerialized_instructions: u64,
    /// Totals of each memory space; space 0 (the device's memory) first.
    pub spaces: Vec<Space>,
    /// What `compiled.memory_analysis()` prints; null without a buffer assignment.
    pub memory_analysis: Option<MemoryAnalysis>,
}

/// The totals of one memory space of one module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Space {
    /// The number (colour) of the space.
    pub space: i64,
    /// Its name on this kind of device.
    pub name: String,
    /// Entry parameters, donated ones among them.
    pub parameters_bytes: Bytes,
    /// Parameters whose allocation is live-out too.
    pub donated_bytes: Bytes,
    /// Parameters given away for which XLA found no output: donating them freed nothing at the end, and lets XLA write over
    /// them.
    #[serde(default)]
    pub donor_bytes: Bytes,
    /// Live-out allocations that are no parameter.
    pub outputs_bytes: Bytes,
    /// Constants.
    pub constants_bytes: Bytes,
    /// Thread-local allocations: no device memory at run time.
    pub thread_local_bytes: Bytes,
    /// Every other allocation.
    pub temp_bytes: Bytes,
    /// The temp blocks, largest first.
    pub temp_blocks: Vec<Bytes>,
    /// The most that is live at once inside the temp blocks; null where the plan has no heap trace.
    pub heap_peak_bytes: Option<Bytes>,
    /// Parameters + non-aliased outputs + temp + constants.
    pub need_bytes: Bytes,
    /// Non-aliased outputs + temp: what must be free at the moment of the call.
    pub launch_need_bytes: Bytes,
}

/// The plan of one module, in detail. Evidence: read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanReport {
    /// `jit_step(17)`.
    pub module: String,
    /// The moment of the schedule at which most is live; null where the plan has no heap trace.
    pub peak: Option<Peak>,
    /// Bytes live over the schedule; null where the plan has no heap trace.
    pub curve: Option<Curve>,
    /// Parameters against outputs.
    pub donation: Donation,
}

/// What is live at the heap peak (parameters, outputs and constants are live throughout).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// Bytes live inside the temp blocks of memory space 0.
    pub bytes: Bytes,
    /// The event of the schedule at which that is reached first, from 0.
    pub event: u64,
    /// Events in the schedule.
    pub events: u64,
    /// The instruction that is being executed there.
    pub instruction: Option<String>,
    /// The buffers live there and those live throughout, equal ones together, largest first.
    pub buffers: Vec<Buffer>,
    /// The share of each role in the bytes of the heap peak.
    pub roles: Vec<RoleShare>,
}

/// One buffer, or several equal ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Buffer {
    /// Bytes of one of them.
    pub bytes: Bytes,
    /// How many equal ones there are (same shape, role, kind, name stack without layer numbers, source line).
    pub count: u64,
    /// What kind of allocation it lies in.
    pub kind: BufferKind,
    /// The shape as XLA prints it, with its layout.
    pub shape: String,
    /// The instruction that defines it (the first, of several).
    pub instruction: String,
    /// Its opcode.
    pub opcode: String,
    /// Its part in the step.
    pub role: Role,
    /// Read where the instruction's own name stack says it, inferred otherwise.
    pub role_evidence: Evidence,
    /// The JAX name stack; the argument path, for a parameter.
    pub op_name: Option<String>,
    /// The Python position.
    pub source: Option<SourceLine>,
    /// The whole Python stack, innermost first, where the plan has it.
    pub frames: Vec<SourceLine>,
    /// Index of the allocation it lies in.
    pub allocation: i64,
    /// Where in the allocation.
    pub offset_bytes: Bytes,
    /// First event of the schedule at which it is live; null for what is live throughout.
    pub first_event: Option<u64>,
    /// Last event of the schedule at which it is live.
    pub last_event: Option<u64>,
}

/// The share of one role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleShare {
    /// The role.
    pub role: Role,
    /// Its bytes.
    pub bytes: Bytes,
    /// Its part of the whole, from 0 to 1.
    pub share: f64,
}

/// Bytes live over the schedule, split by role. Down-sampled to at most a few thousand points that keep the peak.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// Events of the schedule, ascending.
    pub events: Vec<u64>,
    /// For each role that occurs, the bytes live right after each of `events`.
    pub roles: BTreeMap<String, Vec<Bytes>>,
}

/// Parameters against outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Donation {
    /// Pairs of equal shape, type and layout, each output used once, largest first.
    pub pairs: Vec<DonationPair>,
    /// Bytes of the pairs that are not aliased.
    pub missed_bytes: Bytes,
    /// Parameters given away for which XLA found no output, largest first.
    #[serde(default)]
    pub donors: Vec<Donor>,
}

/// A parameter that was given away and shares its memory with no output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Donor {
    /// Its argument path, else its number and shape index.
    pub parameter: String,
    /// Its shape.
    pub shape: String,
    /// Its bytes.
    pub bytes: Bytes,
}

/// A parameter and an output of the same shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DonationPair {
    /// The parameter: its argument path, else its number and shape index.
    pub parameter: String,
    /// The output: its number in the result tuple.
    pub output: String,
    /// The shape of both.
    pub shape: String,
    /// Their bytes.
    pub bytes: Bytes,
    /// Whether they share an allocation.
    pub aliased: bool,
}
