//! What allocators and executions did.

use super::{AllocatorKind, BufferKind, LiveKind, Outcome, RetryOutcome};
use crate::units::{Bytes, Evidence, Picos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One allocator. Evidence: measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Allocator {
    /// `GPU_0_bfc`.
    pub name: String,
    /// What it is for.
    pub kind: AllocatorKind,
    /// The device it belongs to.
    pub device: Option<u32>,
    /// In use + available: constant, or the events disagree (see warnings).
    pub capacity_bytes: Option<Bytes>,
    /// Capacity ÷ the card's memory.
    pub card_share: Option<f64>,
    /// Whether the whole pool was mapped at start; null where the events do not tell.
    pub preallocated: Option<bool>,
    /// Allocations and deallocations.
    pub events: u64,
    /// Bytes in use before the first event.
    pub in_use_start_bytes: Option<Bytes>,
    /// Bytes in use after the last event.
    pub in_use_end_bytes: Option<Bytes>,
    /// The most in use within the capture.
    pub peak_bytes: Option<Bytes>,
    /// When that was reached first.
    pub peak_at_ps: Option<Picos>,
    /// How often that was reached.
    pub peak_times: u64,
    /// The most in use since the process started.
    pub lifetime_peak_bytes: Option<Bytes>,
    /// Allocated − requested, summed over the arrays live at the peak that were allocated in the capture.
    pub rounding_loss_bytes: Option<Bytes>,
    /// Capacity − in use at the peak.
    pub free_at_peak_bytes: Option<Bytes>,
    /// The largest free chunk at the peak (six digits, from `fragmentation`).
    pub largest_free_at_peak_bytes: Option<Bytes>,
    /// By how much the largest free chunk at the peak can be off; null where it is unknown.
    pub largest_free_error_bytes: Option<Bytes>,
    /// Events at which the running total jumps: events were lost.
    pub chain_breaks: u64,
    /// Arrays live at the peak, largest first.
    pub live_at_peak: Vec<LiveArray>,
    /// Bytes live at the peak that were allocated before the capture started.
    pub before_capture_at_peak_bytes: Option<Bytes>,
    /// Bytes in use over time.
    pub timeline: Timeline,
    /// Growth of the pool within the capture.
    pub pool_growths: u64,
    /// The moment with the least free memory; null where the capacity is unknown.
    pub least_free: Option<LeastFree>,
}

/// The tightest moment of an allocator. On TPUs it is not that of the most bytes in use: the temp block of a program is
/// reserved while the program is loaded, and does not count as in use. Evidence: measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeastFree {
    /// When it was reached first.
    pub at_ps: Picos,
    /// Capacity − in use − reserved.
    pub bytes: Bytes,
    /// In use then.
    pub in_use_bytes: Bytes,
    /// Reserved then for programs that are loaded (TPU); 0 on GPUs.
    pub reserved_bytes: Bytes,
}

/// One live array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveArray {
    /// What was asked for; null for arrays of which only the chunk is known.
    pub bytes: Option<Bytes>,
    /// The chunk handed out.
    pub allocated_bytes: Bytes,
    /// Whose it is, in words.
    pub origin: String,
    /// The device address, in hexadecimal; null for the sum of arrays that were never freed in the capture.
    pub address: Option<String>,
}

/// Bytes in use over time, down-sampled so that every peak stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// Moments, ascending.
    pub at_ps: Vec<Picos>,
    /// Bytes in use right after each.
    pub in_use_bytes: Vec<Bytes>,
    /// The same bytes by owner; the sum over the owners is `in_use_bytes`.
    pub owners: Vec<OwnerBand>,
    /// Bytes reserved for loaded programs at each moment, which do not count as in use (TPU); empty where none ever were.
    #[serde(default)]
    pub reserved_bytes: Vec<Bytes>,
    /// The largest free chunk at each moment; null where its event does not tell, empty where none does.
    #[serde(default)]
    pub largest_free_bytes: Vec<Option<Bytes>>,
    /// The most by which any of those chunks can be off; null where that is unknown.
    #[serde(default)]
    pub largest_free_error_bytes: Option<Bytes>,
}

/// The bytes of one kind of owner over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerBand {
    /// `allocated before the capture started`, `outputs of jit_step`, `temp`, `transfers`, `other`.
    pub owner: String,
    /// What kind of owner that is.
    pub kind: LiveKind,
    /// Bytes at each moment of the timeline.
    pub bytes: Vec<Bytes>,
}

/// One execution of one module on one device. Evidence: measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    /// `jit_step(17)`, or `jit_step` where only the name is known; null where neither is.
    pub module: Option<String>,
    /// The program id, where known.
    pub program_id: Option<String>,
    /// The device's ordinal.
    pub device: Option<u32>,
    /// The allocator it took its memory from.
    pub allocator: Option<String>,
    /// Its number among those of this module on this device, from 0.
    pub number: u64,
    /// When the call started on the host.
    pub start_ps: Picos,
    /// How long the call took on the host.
    pub duration_ps: Picos,
    /// Bytes in use when it started.
    pub in_use_start_bytes: Option<Bytes>,
    /// What it asked its device's allocator for, in order.
    pub requested_bytes: Vec<Bytes>,
    /// Kernels it launched; null where the profiler recorded none for this device.
    pub kernels: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
    /// Executions in flight when it was launched, where the capture says.
    pub in_flight: Option<u64>,
}

/// A wait of an allocator for memory to come back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Retry {
    /// The allocator, where known.
    pub allocator: Option<String>,
    /// When the wait began.
    pub at_ps: Picos,
    /// How long it was.
    pub duration_ps: Picos,
    /// Index into `executions`.
    pub execution: Option<u64>,
    /// How it ended.
    pub outcome: RetryOutcome,
    /// The planned allocation that was waited for.
    pub missing: Option<MissingAllocation>,
    /// Bytes in use when the wait began.
    pub in_use_bytes: Option<Bytes>,
    /// Bytes free when the wait began.
    pub free_bytes: Option<Bytes>,
    /// The largest free chunk when the wait began.
    pub largest_free_bytes: Option<Bytes>,
    /// By how much that chunk can be off.
    pub largest_free_error_bytes: Option<Bytes>,
    /// What the allocator got back while it waited, by place, the largest first; null where it was not looked up.
    #[serde(default)]
    pub freed: Option<Vec<Freed>>,
    /// Whether an event names the wait (measured) or the gap in the launch shows it (inferred).
    pub evidence: Evidence,
}

/// Memory that one place of the host program gave back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Freed {
    /// The host event around it, or the execution that it was in.
    pub by: String,
    /// The innermost Python frame around it that is none of JAX's own.
    pub frame: Option<String>,
    /// How many arrays.
    pub count: u64,
    /// Their bytes (chunks).
    pub bytes: Bytes,
}

/// A planned allocation without an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissingAllocation {
    /// Its index in the plan.
    pub allocation: Option<i64>,
    /// Its size in the plan.
    pub bytes: Bytes,
    /// `output` or `temp`.
    pub kind: BufferKind,
    /// For an output its number, shape and path.
    pub what: String,
    /// How many of the planned allocations were obtained before it.
    pub obtained: u64,
    /// Of how many.
    pub planned: u64,
    /// How it is known: which request it was is concluded from the plan and from those that were obtained.
    pub evidence: Evidence,
}

/// Live arrays of one origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveGroup {
    /// In words: `outputs of jit_step execution 3`.
    pub origin: String,
    /// The kind of origin.
    pub kind: LiveKind,
    /// The module, for outputs and temp.
    pub module: Option<String>,
    /// The execution's number, for outputs and temp.
    pub execution: Option<u64>,
    /// Numbers of the outputs that are among them, ascending.
    #[serde(default)]
    pub outputs: Vec<u64>,
    /// How many arrays; null where the capture does not say (before the capture).
    pub count: Option<u64>,
    /// Their bytes (chunks).
    pub bytes: Bytes,
    /// The Python frame around the allocation.
    pub frame: Option<String>,
}

/// Host events of one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostEvents {
    /// The event's name.
    pub name: String,
    /// Whether the Python tracer wrote it.
    pub python: bool,
    /// How many.
    pub count: u64,
    /// Their time together.
    pub duration_ps: Picos,
}

/// A program that runs op by op, in sums. Evidence: measured; names of modules as the plans have them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpByOp {
    /// Different modules that ran.
    pub modules: u64,
    /// Their executions, over all devices.
    pub executions: u64,
    /// By function (`jit_multiply`), over all modules of that name; the most bytes alive first.
    pub by_function: Vec<OpSum>,
    /// By the Python line that called them.
    pub by_line: Vec<OpSum>,
}

/// The executions of one function, or from one Python line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpSum {
    /// `jit_multiply`, or `$train.py:88 main`; null where the capture does not say.
    pub name: Option<String>,
    /// Different modules among them.
    pub modules: u64,
    /// How many.
    pub executions: u64,
    /// How long they took on the host, in all.
    pub duration_ps: Picos,
    /// What they asked for, in all.
    pub requested_bytes: Bytes,
    /// Outputs of them alive when the last execution of the module analysed started.
    pub live_arrays: u64,
    /// Their bytes.
    pub live_bytes: Bytes,
}
