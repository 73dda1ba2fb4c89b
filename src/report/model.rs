//! The report as data: what the JSON shows, and all that the text and the page show.
//!
//! The keys are the contract `oomscope/1`; more may be added within a version, none changes its meaning.
//! Sizes are bytes, times picoseconds from the first event of the capture, ids and addresses strings.
//! What the capture does not say is `null`, never 0.

pub use crate::evidence::error_text::{
    ChunksOfSize, Failure, FailureKind, MatchedBy, PlanText, PlanTotals, PoolDump, RematText, RequestMatch,
    TextBuffer, TextMatch, TextSize, TotalDifference, UsagePart,
};
pub use crate::evidence::memory_profile::{
    ArraysOfSize, BeforeMatch, ProfileFrame, ProfileStack, ProfileTotal, StackChange, Tree, TreeNode,
};
pub use crate::terms::{
    AllocatorKind, Backend, BufferKind, Fits, LiveKind, MemoryAnalysis, Outcome, RetryOutcome, Role,
    Severity, SourceLine, Warning,
};
use crate::units::{Bytes, Evidence, Picos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The report of one capture file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// `oomscope/1`.
    pub schema: String,
    /// What made the report.
    pub tool: Tool,
    /// What was read.
    pub source: SourceInfo,
    /// Where the program ran.
    pub platform: Platform,
    /// What was wrong with the file; the report is of the rest.
    pub warnings: Vec<Warning>,
    /// One sentence that answers the first question: what failed and by how much, or how much room was left.
    pub verdict: Verdict,
    /// The module analysed, as `jit_step(17)`.
    pub module: Option<String>,
    /// Why it is that one.
    pub module_why: Option<ModuleWhy>,
    /// Every module whose plan the capture holds.
    pub modules: Vec<Module>,
    /// The plan of the module analysed, in detail.
    pub plan: Option<PlanReport>,
    /// Every allocator with events.
    pub allocators: Vec<Allocator>,
    /// Every execution on every device, in order of start.
    pub executions: Vec<Execution>,
    /// Waits of an allocator for memory to come back.
    pub retries: Vec<Retry>,
    /// Arrays live when the last execution of the module analysed started, by origin; on the device it ran on.
    pub live_at_last_start: Vec<LiveGroup>,
    /// Host events between the last two executions, Python ones first.
    pub between_executions: Vec<HostEvents>,
    /// What it all means, gravest first.
    pub findings: Vec<Finding>,
    /// What this capture cannot tell.
    pub limits: Vec<Limit>,
    /// What lists were cut by `--top`.
    pub omitted: Omitted,
    /// The text of a failure, alone or beside a capture.
    pub error_text: Option<ErrorTextReport>,
    /// The plan in a text dump of XLA. The plan that an error prints stands with its failure.
    pub text_plan: Option<PlanText>,
    /// A device memory profile, alone or beside a capture.
    pub memory_profile: Option<MemoryProfileReport>,
}

impl Report {
    /// A report that says nothing yet but what was read.
    #[must_use]
    pub fn of(source: SourceInfo, platform: Platform) -> Report {
        Report {
            schema: "oomscope/1".into(),
            tool: Tool { name: "oomscope".into(), version: env!("CARGO_PKG_VERSION").into() },
            source,
            platform,
            warnings: Vec::new(),
            verdict: Verdict {
                status: VerdictStatus::CannotTell,
                sentence: String::new(),
                evidence: Evidence::Measured,
            },
            module: None,
            module_why: None,
            modules: Vec::new(),
            plan: None,
            allocators: Vec::new(),
            executions: Vec::new(),
            retries: Vec::new(),
            live_at_last_start: Vec::new(),
            between_executions: Vec::new(),
            findings: Vec::new(),
            limits: Vec::new(),
            omitted: Omitted::default(),
            error_text: None,
            text_plan: None,
            memory_profile: None,
        }
    }
}

/// What the text of a failure says. Evidence: read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorTextReport {
    /// What failed, in the order of the text.
    pub failures: Vec<Failure>,
    /// Index of the failure that the report is about; null where the text has none.
    pub main: Option<u64>,
    /// What the allocators said of themselves.
    pub pools: Vec<PoolDump>,
    /// What XLA's rematerialization aimed at and reached.
    pub rematerialization: Vec<RematText>,
    /// What of the capture it is; null without a capture.
    pub matched: Option<TextMatch>,
}

/// What a device memory profile says. Evidence: measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryProfileReport {
    /// Sums by device and kind.
    pub totals: Vec<ProfileTotal>,
    /// What each Python stack made, the most bytes first.
    pub stacks: Vec<ProfileStack>,
    /// What `--top` left out of `stacks`.
    pub omitted: Cut,
    /// The frames that stacks and tree name by index.
    pub frames: Vec<ProfileFrame>,
    /// The arrays by frame from the outermost inwards, for a flame graph.
    pub tree: Tree,
    /// What an earlier profile had less or more of; empty without one.
    pub changes: Vec<StackChange>,
    /// Places in the program for arrays that a capture knows by size alone. Evidence: inferred.
    pub before_capture: Vec<BeforeMatch>,
}

/// The program that made the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `oomscope`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The file read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceInfo {
    /// Its name, without folders.
    pub file: String,
    /// Its size (unpacked, where it came from an archive).
    pub size_bytes: Bytes,
    /// The host that made it, from `XSpace.hostnames`.
    pub host: Option<String>,
    /// What kind of file it is.
    pub kind: SourceKind,
}

/// The kinds of file that have a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A profiler capture.
    Xspace,
    /// A dump of one module and its buffer assignment: plan only.
    HloProto,
    /// The pasted text of a failure, or a text dump of XLA.
    ErrorText,
    /// A device memory profile (`memory.prof`).
    MemoryProfile,
}

/// Where the program ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Platform {
    /// The kind of device.
    pub backend: Option<Backend>,
    /// `AMD`, `Nvidia`, `Google`, as the device plane says.
    pub vendor: Option<String>,
    /// The JAX version where the capture says one; a range such as `<= 0.6.1` where event names date it.
    pub jax_version: Option<String>,
    /// Every device plane.
    pub devices: Vec<Device>,
}

/// One device plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// The number in the plane's name.
    pub ordinal: u32,
    /// The plane's name, `/device:GPU:0`.
    pub plane: String,
    /// The device's name, where the plane has it.
    pub name: Option<String>,
    /// The card's memory (plane stat `memory_size`).
    pub memory_bytes: Option<Bytes>,
}

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
    /// Whether an event names the wait (measured) or the gap in the launch shows it (inferred).
    pub evidence: Evidence,
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
    /// Whether that fits the pool.
    pub fits_after: Option<Fits>,
    /// How the numbers were reached, and how to check them before running.
    pub how: String,
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

/// What `--top` cut away, by list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Omitted {
    /// Buffers at the peak.
    pub peak_buffers: Cut,
    /// Live arrays at the peak, by allocator name.
    pub live_at_peak: BTreeMap<String, Cut>,
    /// Donation pairs.
    pub donation_pairs: Cut,
    /// Groups live at the last start.
    pub live_at_last_start: Cut,
    /// Host events between executions.
    pub between_executions: Cut,
}

/// How much of one list was cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cut {
    /// Rows left out.
    pub omitted: u64,
    /// Their bytes; 0 for rows without bytes.
    pub omitted_bytes: Bytes,
}
