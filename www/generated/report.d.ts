/* Made by `npm run types` from the Rust types; do not edit. */

/**
 * A number of bytes.
 *
 * Arithmetic saturates: a capture can hold any numbers, and a report of a damaged one must not wrap around.
 */
export type Bytes = number;
/**
 * A moment or a length of time in picoseconds.
 *
 * Moments count from the first event of the capture: raw line times are Unix nanoseconds, which in picoseconds
 * leave 64 bits (`xplane.proto`, `XLine.timestamp_ns`).
 */
export type Picos = number;
/**
 * What kind of allocation a buffer lies in.
 */
export type BufferKind = 'temp' | 'parameter' | 'donated' | 'output' | 'constant';
/**
 * What part of a training step a buffer belongs to, from the JAX name stack of the instruction that defines it.
 */
export type Role = 'forward' | 'backward' | 'recomputed' | 'workspace' | 'update' | 'other';
/**
 * How a number came to be known.
 *
 * Ordered from strong to weak, so that the class of a sum or a comparison is the maximum over its inputs.
 */
export type Evidence = 'measured' | 'read' | 'inferred';
/**
 * What an allocator is for.
 */
export type AllocatorKind = 'device' | 'host' | 'collective';
/**
 * What kind of origin an array has.
 */
export type LiveKind = 'outputs' | 'temp' | 'device_put' | 'other' | 'before_capture';
/**
 * What kind of memory ran out.
 */
export type FailureKind =
  | 'device_pool'
  | 'device_pool_optional'
  | 'host_pool'
  | 'collective_pool'
  | 'compile_device'
  | 'compile_vmem'
  | 'kernel_shared_memory'
  | 'library'
  | 'collectives'
  | 'graphs'
  | 'driver'
  | 'host'
  | 'py_torch'
  | 'unknown';
/**
 * How a module was told from the others.
 */
export type MatchedBy = 'name' | 'totals' | 'need' | 'request' | 'nothing';
/**
 * How an execution ended.
 */
export type Outcome = 'ran' | 'failed' | 'unknown';
/**
 * Whether something fits.
 */
export type Fits = 'yes' | 'no' | 'maybe';
/**
 * How grave a finding is.
 */
export type Severity = 'error' | 'warning' | 'note' | 'ok';
/**
 * Why a module was chosen.
 */
export type ModuleWhy = 'launched_no_kernel' | 'largest_executed' | 'largest' | 'error_text' | 'asked';
/**
 * The kind of device a program was compiled for. It decides what the memory spaces are called.
 */
export type Backend = 'gpu' | 'tpu' | 'cpu';
/**
 * How a wait ended.
 */
export type RetryOutcome = 'rescued' | 'failed';
/**
 * The kinds of file that have a report.
 */
export type SourceKind = 'xspace' | 'hlo_proto' | 'error_text' | 'memory_profile';
/**
 * How grave it is.
 */
export type VerdictStatus = 'out_of_memory' | 'at_risk' | 'fits' | 'cannot_tell';

/**
 * Everything the page gets from the core.
 */
export interface Page {
  live_moment: LiveMoment;
  plan_moment: PlanMoment;
  report: Report;
  what_if: WhatIf;
}
/**
 * What is live in one allocator at one moment.
 */
export interface LiveMoment {
  /**
   * The allocator's name.
   */
  allocator: string;
  /**
   * The arrays allocated in the capture that are live there, largest first.
   */
  arrays: LiveArray[];
  /**
   * The moment of the last event at or before the one asked for.
   */
  at_ps: Picos;
  /**
   * Of these, allocated before the capture started and not seen again.
   */
  before_capture_bytes: Bytes;
  /**
   * Bytes in use right after that event.
   */
  in_use_bytes: Bytes;
}
/**
 * One live array.
 */
export interface LiveArray {
  /**
   * The device address, in hexadecimal; null for the sum of arrays that were never freed in the capture.
   */
  address: string | null;
  /**
   * The chunk handed out.
   */
  allocated_bytes: Bytes;
  /**
   * What was asked for; null for arrays of which only the chunk is known.
   */
  bytes: Bytes | null;
  /**
   * Whose it is, in words.
   */
  origin: string;
}
/**
 * What is live at one event of the schedule of a module.
 */
export interface PlanMoment {
  /**
   * The buffers live there and those live throughout, equal ones together, largest first.
   */
  buffers: Buffer[];
  /**
   * Bytes live inside the temp blocks of memory space 0.
   */
  bytes: Bytes;
  /**
   * The event, from 0.
   */
  event: number;
  /**
   * The instruction that is being executed there.
   */
  instruction: string | null;
  /**
   * The share of each role in `bytes`.
   */
  roles: RoleShare[];
}
/**
 * One buffer, or several equal ones.
 */
export interface Buffer {
  /**
   * Index of the allocation it lies in.
   */
  allocation: number;
  /**
   * Bytes of one of them.
   */
  bytes: Bytes;
  /**
   * How many equal ones there are (same shape, role, kind, name stack without layer numbers, source line).
   */
  count: number;
  /**
   * First event of the schedule at which it is live; null for what is live throughout.
   */
  first_event: number | null;
  /**
   * The whole Python stack, innermost first, where the plan has it.
   */
  frames: SourceLine[];
  /**
   * The instruction that defines it (the first, of several).
   */
  instruction: string;
  /**
   * What kind of allocation it lies in.
   */
  kind: BufferKind;
  /**
   * Last event of the schedule at which it is live.
   */
  last_event: number | null;
  /**
   * Where in the allocation.
   */
  offset_bytes: Bytes;
  /**
   * The JAX name stack; the argument path, for a parameter.
   */
  op_name: string | null;
  /**
   * Its opcode.
   */
  opcode: string;
  /**
   * Its part in the step.
   */
  role: Role;
  /**
   * Read where the instruction's own name stack says it, inferred otherwise.
   */
  role_evidence: Evidence;
  /**
   * The shape as XLA prints it, with its layout.
   */
  shape: string;
  /**
   * The Python position.
   */
  source: SourceLine | null;
}
/**
 * A position in a program's Python source.
 */
export interface SourceLine {
  /**
   * The file as the plan has it.
   */
  file: string;
  /**
   * The function, where known.
   */
  function: string | null;
  /**
   * The line, from 1; null where unknown.
   */
  line: number | null;
}
/**
 * The share of one role.
 */
export interface RoleShare {
  /**
   * Its bytes.
   */
  bytes: Bytes;
  /**
   * The role.
   */
  role: Role;
  /**
   * Its part of the whole, from 0 to 1.
   */
  share: number;
}
/**
 * The report of one capture file.
 */
export interface Report {
  /**
   * Every allocator with events.
   */
  allocators: Allocator[];
  /**
   * Host events between the last two executions, Python ones first.
   */
  between_executions: HostEvents[];
  /**
   * The text of a failure, alone or beside a capture.
   */
  error_text: ErrorTextReport | null;
  /**
   * Every execution on every device, in order of start.
   */
  executions: Execution[];
  /**
   * What it all means, gravest first.
   */
  findings: Finding[];
  /**
   * Sizes that the user gave, where what was read does not have them.
   */
  given: Given;
  /**
   * What this capture cannot tell.
   */
  limits: Limit[];
  /**
   * Arrays live when the last execution of the module analysed started, by origin; on the device it ran on.
   */
  live_at_last_start: LiveGroup[];
  /**
   * A device memory profile, alone or beside a capture.
   */
  memory_profile: MemoryProfileReport | null;
  /**
   * The module analysed, as `jit_step(17)`.
   */
  module: string | null;
  /**
   * Why it is that one.
   */
  module_why: ModuleWhy | null;
  /**
   * Every module whose plan the capture holds.
   */
  modules: Module[];
  /**
   * What lists were cut by `--top`.
   */
  omitted: Omitted;
  /**
   * What ran, summed by function and by Python line; null unless the program runs op by op.
   */
  op_by_op: OpByOp | null;
  /**
   * The plan of the module analysed, in detail.
   */
  plan: PlanReport | null;
  /**
   * Where the program ran.
   */
  platform: Platform;
  /**
   * Waits of an allocator for memory to come back.
   */
  retries: Retry[];
  /**
   * `oomscope/1`.
   */
  schema: string;
  /**
   * What was read.
   */
  source: SourceInfo;
  /**
   * The plan in a text dump of XLA. The plan that an error prints stands with its failure.
   */
  text_plan: PlanText | null;
  /**
   * What made the report.
   */
  tool: Tool;
  /**
   * One sentence that answers the first question: what failed and by how much, or how much room was left.
   */
  verdict: Verdict;
  /**
   * What was wrong with the file; the report is of the rest.
   */
  warnings: Warning[];
}
/**
 * One allocator. Evidence: measured.
 */
export interface Allocator {
  /**
   * Bytes live at the peak that were allocated before the capture started.
   */
  before_capture_at_peak_bytes: Bytes | null;
  /**
   * In use + available: constant, or the events disagree (see warnings).
   */
  capacity_bytes: Bytes | null;
  /**
   * Capacity ÷ the card's memory.
   */
  card_share: number | null;
  /**
   * Events at which the running total jumps: events were lost.
   */
  chain_breaks: number;
  /**
   * The device it belongs to.
   */
  device: number | null;
  /**
   * Allocations and deallocations.
   */
  events: number;
  /**
   * Capacity − in use at the peak.
   */
  free_at_peak_bytes: Bytes | null;
  /**
   * Bytes in use after the last event.
   */
  in_use_end_bytes: Bytes | null;
  /**
   * Bytes in use before the first event.
   */
  in_use_start_bytes: Bytes | null;
  /**
   * What it is for.
   */
  kind: AllocatorKind;
  /**
   * The largest free chunk at the peak (six digits, from `fragmentation`).
   */
  largest_free_at_peak_bytes: Bytes | null;
  /**
   * By how much the largest free chunk at the peak can be off; null where it is unknown.
   */
  largest_free_error_bytes: Bytes | null;
  /**
   * The moment with the least free memory; null where the capacity is unknown.
   */
  least_free: LeastFree | null;
  /**
   * The most in use since the process started.
   */
  lifetime_peak_bytes: Bytes | null;
  /**
   * Arrays live at the peak, largest first.
   */
  live_at_peak: LiveArray[];
  /**
   * `GPU_0_bfc`.
   */
  name: string;
  /**
   * When that was reached first.
   */
  peak_at_ps: Picos | null;
  /**
   * The most in use within the capture.
   */
  peak_bytes: Bytes | null;
  /**
   * How often that was reached.
   */
  peak_times: number;
  /**
   * Growth of the pool within the capture.
   */
  pool_growths: number;
  /**
   * Whether the whole pool was mapped at start; null where the events do not tell.
   */
  preallocated: boolean | null;
  /**
   * Allocated − requested, summed over the arrays live at the peak that were allocated in the capture.
   */
  rounding_loss_bytes: Bytes | null;
  /**
   * Bytes in use over time.
   */
  timeline: Timeline;
}
/**
 * The tightest moment of an allocator. On TPUs it is not that of the most bytes in use: the temp block of a program is
 * reserved while the program is loaded, and does not count as in use. Evidence: measured.
 */
export interface LeastFree {
  /**
   * When it was reached first.
   */
  at_ps: Picos;
  /**
   * Capacity − in use − reserved.
   */
  bytes: Bytes;
  /**
   * In use then.
   */
  in_use_bytes: Bytes;
  /**
   * Reserved then for programs that are loaded (TPU); 0 on GPUs.
   */
  reserved_bytes: Bytes;
}
/**
 * Bytes in use over time, down-sampled so that every peak stays.
 */
export interface Timeline {
  /**
   * Moments, ascending.
   */
  at_ps: Picos[];
  /**
   * Bytes in use right after each.
   */
  in_use_bytes: Bytes[];
  /**
   * The largest free chunk at each moment; null where its event does not tell, empty where none does.
   */
  largest_free_bytes: (Bytes | null)[];
  /**
   * The most by which any of those chunks can be off; null where that is unknown.
   */
  largest_free_error_bytes: Bytes | null;
  /**
   * The same bytes by owner; the sum over the owners is `in_use_bytes`.
   */
  owners: OwnerBand[];
  /**
   * Bytes reserved for loaded programs at each moment, which do not count as in use (TPU); empty where none ever were.
   */
  reserved_bytes: Bytes[];
}
/**
 * The bytes of one kind of owner over time.
 */
export interface OwnerBand {
  /**
   * Bytes at each moment of the timeline.
   */
  bytes: Bytes[];
  /**
   * What kind of owner that is.
   */
  kind: LiveKind;
  /**
   * `allocated before the capture started`, `outputs of jit_step`, `temp`, `transfers`, `other`.
   */
  owner: string;
}
/**
 * Host events of one name.
 */
export interface HostEvents {
  /**
   * How many.
   */
  count: number;
  /**
   * Their time together.
   */
  duration_ps: Picos;
  /**
   * The event's name.
   */
  name: string;
  /**
   * Whether the Python tracer wrote it.
   */
  python: boolean;
}
/**
 * What the text of a failure says. Evidence: read.
 */
export interface ErrorTextReport {
  /**
   * What failed, in the order of the text.
   */
  failures: Failure[];
  /**
   * Index of the failure that the report is about; null where the text has none.
   */
  main: number | null;
  /**
   * What of the capture it is; null without a capture.
   */
  matched: TextMatch | null;
  /**
   * What the allocators said of themselves.
   */
  pools: PoolDump[];
  /**
   * What XLA's rematerialization aimed at and reached.
   */
  rematerialization: RematText[];
}
/**
 * One failure.
 */
export interface Failure {
  /**
   * The allocator, `GPU_0_bfc`.
   */
  allocator: string | null;
  /**
   * How often the text has it.
   */
  count: number;
  /**
   * The device's ordinal.
   */
  device: number | null;
  /**
   * XLA's error code, `E1000`.
   */
  error_code: string | null;
  /**
   * By how much the limit was exceeded, where the message says it.
   */
  exceeded_by: TextSize | null;
  /**
   * The executable, `jit_step`, where the message names it.
   */
  executable: string | null;
  /**
   * What was free at that moment.
   */
  free: TextSize | null;
  /**
   * What kind of memory it was, and who asked.
   */
  kind: FailureKind;
  /**
   * What there is in all: the memory of the device, or the limit that was exceeded.
   */
  limit: TextSize | null;
  /**
   * Line of the text, from 1.
   */
  line: number;
  /**
   * The plan that the message prints.
   */
  plan: PlanText | null;
  /**
   * What was asked for; for a failed compilation, what the program needs.
   */
  requested: TextSize | null;
  /**
   * The same rounded up to the allocator's unit of 256 bytes, which the allocator prints to the byte.
   */
  rounded_bytes: Bytes | null;
  /**
   * The buffer or instruction that was asked for, as the message has it.
   */
  what: string | null;
  /**
   * The writers that have it (`[rank 3]`), where the text tells them apart.
   */
  writers: string[];
}
/**
 * A size out of a text: the interval of byte counts that are printed so.
 *
 * `3.41GiB` stands for any of 3,656,384,512 to 3,666,870,271 bytes. XLA divides by 1024 without remainder until less
 * than 1024 × 1024 are left, and prints that over 1024 with two decimals (KiB with one)
 * (`tsl/platform/numbers.cc`, `HumanReadableNumBytes`; the TPU's `54.42G` is the same without `iB`).
 */
export interface TextSize {
  /**
   * The fewest bytes that are printed so.
   */
  least_bytes: Bytes;
  /**
   * The most.
   */
  most_bytes: Bytes;
}
/**
 * The part of a module's plan that a message prints. Evidence: read.
 */
export interface PlanText {
  /**
   * The largest buffers at the peak, largest first: 15 at most.
   */
  buffers: TextBuffer[];
  /**
   * XLA's totals.
   */
  totals: PlanTotals;
  /**
   * What the TPU compiler counts, in its own words, in its order.
   */
  usage: UsagePart[];
}
/**
 * A buffer that a message lists.
 */
export interface TextBuffer {
  /**
   * The kind of allocation in the message's words (TPU).
   */
  allocation_type: string | null;
  /**
   * The instruction, where the message has it (TPU).
   */
  instruction: string | null;
  /**
   * The JAX name stack.
   */
  op_name: string | null;
  /**
   * The opcode of the instruction that defines it.
   */
  opcode: string | null;
  /**
   * Whether it is an entry parameter.
   */
  parameter: boolean;
  /**
   * Its part in the step.
   */
  role: Role | null;
  /**
   * How the role is known.
   */
  role_evidence: Evidence | null;
  /**
   * The shape as XLA prints it.
   */
  shape: string | null;
  /**
   * Its size.
   */
  size: TextSize | null;
  /**
   * The Python position.
   */
  source: SourceLine | null;
  /**
   * Its size without padding (TPU).
   */
  unpadded: TextSize | null;
}
/**
 * Totals of `BufferAssignment stats`. A donated allocation counts as parameter and as live-out, and once in the total.
 */
export interface PlanTotals {
  /**
   * Constants.
   */
  constant: TextSize | null;
  /**
   * Allocations that may be live out of the module.
   */
  maybe_live_out: TextSize | null;
  /**
   * Parameters.
   */
  parameter: TextSize | null;
  /**
   * Temp blocks.
   */
  temp: TextSize | null;
  /**
   * Temp blocks less the most that is live in them: packing loss of the plan.
   */
  temp_fragmentation: TextSize | null;
  /**
   * All allocations.
   */
  total: TextSize | null;
  /**
   * All allocations less the least that the schedule needs.
   */
  total_fragmentation: TextSize | null;
}
/**
 * A line of the TPU compiler's account.
 */
export interface UsagePart {
  /**
   * `reserved`, `arguments`, `HLO temp`.
   */
  name: string;
  /**
   * `total`, `program`.
   */
  of: string;
  /**
   * Its size; null where it is unknown.
   */
  size: TextSize | null;
}
/**
 * What of a capture a failure is of.
 */
export interface TextMatch {
  /**
   * How it was told.
   */
  by: MatchedBy;
  /**
   * Totals of the text that are not those of the plan. None at all means that it is the same plan, or that the text has
   * no totals.
   */
  differences: TotalDifference[];
  /**
   * The module; null where none of the capture fits.
   */
  module: string | null;
  /**
   * The allocations of its plan that are printed as the request is; several where sizes are equal.
   */
  request: RequestMatch[];
  /**
   * What it comes to, in one sentence.
   */
  sentence: string;
}
/**
 * A total that differs.
 */
export interface TotalDifference {
  /**
   * What the plan says.
   */
  plan_bytes: Bytes;
  /**
   * What the text says.
   */
  text: TextSize;
  /**
   * `parameter allocation`, as XLA's text names it.
   */
  what: string;
}
/**
 * An allocation of a plan that the request can be.
 */
export interface RequestMatch {
  /**
   * Index of the allocation in its plan.
   */
  allocation: number;
  /**
   * Its size.
   */
  bytes: Bytes;
  /**
   * `output` or `temp`.
   */
  kind: BufferKind;
  /**
   * The module, as `jit_step(17)`.
   */
  module: string;
  /**
   * In words: `temp block`, `output 3 f32[1280]`.
   */
  what: string;
}
/**
 * What a BFC allocator says of itself when an allocation failed.
 */
export interface PoolDump {
  /**
   * Its name.
   */
  allocator: string | null;
  /**
   * Free bytes in the pool as mapped so far.
   */
  free_in_pool: TextSize | null;
  /**
   * Chunks in use by size, the size with the most bytes first.
   */
  in_use: ChunksOfSize[];
  /**
   * Bytes in use (`InUse`).
   */
  in_use_bytes: Bytes | null;
  /**
   * The largest allocation since the process started (`MaxAllocSize`).
   */
  largest_allocation_bytes: Bytes | null;
  /**
   * The largest free chunk: from the list of chunks, or as it says.
   */
  largest_free: TextSize | null;
  /**
   * What it may take of the device (`Limit`).
   */
  limit_bytes: Bytes | null;
  /**
   * Line of the text, from 1.
   */
  line: number;
  /**
   * The most in use since the process started (`MaxInUse`).
   */
  peak_in_use_bytes: Bytes | null;
  /**
   * The pool as mapped so far.
   */
  pool: TextSize | null;
  /**
   * What is not mapped yet.
   */
  unmapped: TextSize | null;
}
/**
 * Chunks of one size.
 */
export interface ChunksOfSize {
  /**
   * The size of one.
   */
  bytes: Bytes;
  /**
   * How many.
   */
  count: number;
}
/**
 * What XLA's rematerialization aimed at and reached.
 */
export interface RematText {
  /**
   * Line of the text, from 1.
   */
  line: number;
  /**
   * What it began with.
   */
  original: TextSize | null;
  /**
   * What it reached.
   */
  reached: TextSize;
  /**
   * The limit it aimed at; null where that was zero or negative: the inputs and outputs alone exceed the budget.
   */
  target: TextSize | null;
}
/**
 * One execution of one module on one device. Evidence: measured.
 */
export interface Execution {
  /**
   * The allocator it took its memory from.
   */
  allocator: string | null;
  /**
   * The device's ordinal.
   */
  device: number | null;
  /**
   * How long the call took on the host.
   */
  duration_ps: Picos;
  /**
   * Executions in flight when it was launched, where the capture says.
   */
  in_flight: number | null;
  /**
   * Bytes in use when it started.
   */
  in_use_start_bytes: Bytes | null;
  /**
   * Kernels it launched; null where the profiler recorded none for this device.
   */
  kernels: number | null;
  /**
   * `jit_step(17)`, or `jit_step` where only the name is known; null where neither is.
   */
  module: string | null;
  /**
   * Its number among those of this module on this device, from 0.
   */
  number: number;
  /**
   * How it ended.
   */
  outcome: Outcome;
  /**
   * The program id, where known.
   */
  program_id: string | null;
  /**
   * What it asked its device's allocator for, in order.
   */
  requested_bytes: Bytes[];
  /**
   * When the call started on the host.
   */
  start_ps: Picos;
}
/**
 * A sentence with its numbers, its cause and its fixes.
 */
export interface Finding {
  /**
   * Why that is so.
   */
  cause: string;
  /**
   * The weakest class of what went into it.
   */
  evidence: Evidence;
  /**
   * Where in the report the evidence stands.
   */
  evidence_at: EvidenceRef[];
  /**
   * What can be done.
   */
  fixes: Fix[];
  /**
   * A stable name, `step-does-not-fit`.
   */
  id: string;
  /**
   * The numbers by name; names end in their unit.
   */
  numbers: {
    [k: string]: Number;
  };
  /**
   * What is so, with the numbers.
   */
  sentence: string;
  /**
   * How grave.
   */
  severity: Severity;
  /**
   * A few words.
   */
  title: string;
}
/**
 * A place in the report.
 */
export interface EvidenceRef {
  /**
   * Index in its list, where it has one.
   */
  index: number | null;
  /**
   * `plan`, `execution`, `retry`, `allocator`, `live`, `between`, `module`.
   */
  view: string;
  /**
   * What to look at there, in words.
   */
  what: string;
}
/**
 * Something that can be done.
 */
export interface Fix {
  /**
   * Code that says what the need really is, before anything runs.
   */
  check: string | null;
  /**
   * Code for this program, where there is some.
   */
  code: string | null;
  /**
   * What it costs.
   */
  cost: string;
  /**
   * Whether the need, with what stays alive beside it, fits the pool (else the card).
   */
  fits_after: Fits | null;
  /**
   * How the numbers were reached.
   */
  how: string;
  /**
   * A stable name that `--what-if` takes, `donate`, `remat`, `batch/2`.
   */
  id: string;
  /**
   * The need after it is at least this.
   */
  need_after_least_bytes: Bytes | null;
  /**
   * The need after it is at most this.
   */
  need_after_most_bytes: Bytes | null;
  /**
   * Of other arrays, at least so much stays alive beside the step; null where no run shows it.
   */
  others_after_least_bytes: Bytes | null;
  /**
   * Of other arrays, at most so much stays alive beside the step; null where no run shows it.
   */
  others_after_most_bytes: Bytes | null;
  /**
   * What to do.
   */
  text: string;
}
/**
 * A number of a finding with its class.
 */
export interface Number {
  /**
   * How it is known.
   */
  evidence: Evidence;
  /**
   * The value; bytes, picoseconds, counts or a share, as the key's ending says.
   */
  value: number;
}
/**
 * Sizes that the user gave.
 */
export interface Given {
  /**
   * The memory of the card.
   */
  card_bytes: Bytes | null;
  /**
   * The size of the pool.
   */
  pool_bytes: Bytes | null;
}
/**
 * Something this capture cannot tell.
 */
export interface Limit {
  /**
   * A stable name.
   */
  id: string;
  /**
   * The sentence.
   */
  sentence: string;
}
/**
 * Live arrays of one origin.
 */
export interface LiveGroup {
  /**
   * Their bytes (chunks).
   */
  bytes: Bytes;
  /**
   * How many arrays; null where the capture does not say (before the capture).
   */
  count: number | null;
  /**
   * The execution's number, for outputs and temp.
   */
  execution: number | null;
  /**
   * The Python frame around the allocation.
   */
  frame: string | null;
  /**
   * The kind of origin.
   */
  kind: LiveKind;
  /**
   * The module, for outputs and temp.
   */
  module: string | null;
  /**
   * In words: `outputs of jit_step execution 3`.
   */
  origin: string;
  /**
   * Numbers of the outputs that are among them, ascending.
   */
  outputs: number[];
}
/**
 * What a device memory profile says. Evidence: measured.
 */
export interface MemoryProfileReport {
  /**
   * Places in the program for arrays that a capture knows by size alone. Evidence: inferred.
   */
  before_capture: BeforeMatch[];
  /**
   * What the arrays can be that a capture knows as one sum. Evidence: inferred.
   */
  before_capture_rest: RestMatch[];
  /**
   * What an earlier profile had less or more of; empty without one.
   */
  changes: StackChange[];
  /**
   * The frames that stacks and tree name by index.
   */
  frames: ProfileFrame[];
  /**
   * What `--top` left out of `stacks`.
   */
  omitted: Cut;
  /**
   * What each Python stack made, the most bytes first.
   */
  stacks: ProfileStack[];
  /**
   * Sums by device and kind.
   */
  totals: ProfileTotal[];
  /**
   * The arrays by frame from the outermost inwards, for a flame graph.
   */
  tree: Tree;
}
/**
 * Arrays of one size and the stacks of a profile that can have made them. Evidence: inferred, since only sizes and
 * counts are compared, and the profile is of another moment.
 */
export interface BeforeMatch {
  /**
   * The size of the allocator's chunk.
   */
  chunk_bytes: Bytes;
  /**
   * How many of the capture's arrays have it.
   */
  count: number;
  /**
   * How this is known.
   */
  evidence: Evidence;
  /**
   * The places in the program that made them, the one with the most arrays first, with their counts.
   */
  places: [unknown, unknown][];
  /**
   * How many arrays of the profile have it, over all stacks named here.
   */
  profile_count: number;
}
/**
 * Arrays that the capture knows as one sum only, since it saw neither their allocation nor their end, and what of a profile
 * they can be. Evidence: inferred.
 */
export interface RestMatch {
  /**
   * The allocator.
   */
  allocator: string;
  /**
   * Their sum, in chunks.
   */
  bytes: Bytes;
  /**
   * How this is known.
   */
  evidence: Evidence;
  /**
   * Whether the two sums are the same: then these are they.
   */
  exact: boolean;
  /**
   * The places in the program that made them, the most bytes first, with their counts and bytes.
   */
  places: [unknown, unknown, unknown][];
  /**
   * Their sum, in chunks.
   */
  profile_bytes: Bytes;
  /**
   * The profile's arrays that are not larger than the sum.
   */
  profile_count: number;
}
/**
 * One stack in two profiles.
 */
export interface StackChange {
  /**
   * Their bytes in the later one.
   */
  bytes_after: Bytes;
  /**
   * Their bytes in the earlier profile.
   */
  bytes_before: Bytes;
  /**
   * How many in the later one.
   */
  count_after: number;
  /**
   * How many in the earlier profile.
   */
  count_before: number;
  /**
   * The device.
   */
  device: string | null;
  /**
   * The frames, innermost first.
   */
  frames: SourceLine[];
  /**
   * `buffer`, `executable`.
   */
  kind: string;
  /**
   * Which of `frames` is the innermost that is not inside JAX.
   */
  user_frame: number | null;
}
/**
 * A Python frame.
 */
export interface ProfileFrame {
  /**
   * Where.
   */
  at: SourceLine;
  /**
   * Whether the file is JAX's own.
   */
  inside_jax: boolean;
}
/**
 * How much of one list was cut.
 */
export interface Cut {
  /**
   * Rows left out.
   */
  omitted: number;
  /**
   * Their bytes; 0 for rows without bytes.
   */
  omitted_bytes: Bytes;
}
/**
 * What one Python stack made on one device.
 */
export interface ProfileStack {
  /**
   * Their bytes together.
   */
  bytes: Bytes;
  /**
   * How many.
   */
  count: number;
  /**
   * The device.
   */
  device: string | null;
  /**
   * Indexes of frames, innermost first.
   */
  frames: number[];
  /**
   * `buffer`, `executable`.
   */
  kind: string;
  /**
   * The arrays by size, largest first. JAX counts those of each size apart (`HeapProfileKey` of
   * `jaxlib/py_client.cc`); where a tool has merged them since, their sizes are unknown and they are left out here.
   */
  sizes: ArraysOfSize[];
  /**
   * Which of `frames` is the innermost that is not inside JAX; null where all are.
   */
  user_frame: number | null;
}
/**
 * Arrays of one size.
 */
export interface ArraysOfSize {
  /**
   * The size of one.
   */
  bytes: Bytes;
  /**
   * How many.
   */
  count: number;
}
/**
 * The sum of one device and kind.
 */
export interface ProfileTotal {
  /**
   * Their bytes. Backends that do not tell the size of their executables have 0 for them.
   */
  bytes: Bytes;
  /**
   * How many.
   */
  count: number;
  /**
   * The device as the profile names it, `cuda:0`; null for executables, which have none.
   */
  device: string | null;
  /**
   * `buffer`, `executable`.
   */
  kind: string;
}
/**
 * A tree of frames, in one list.
 */
export interface Tree {
  /**
   * The nodes; the first is the whole, and each comes before its children.
   */
  nodes: TreeNode[];
}
/**
 * A frame below the frames that called it.
 */
export interface TreeNode {
  /**
   * Their bytes.
   */
  bytes: Bytes;
  /**
   * Indexes of the nodes below it, the most bytes first.
   */
  children: number[];
  /**
   * Arrays made below it.
   */
  count: number;
  /**
   * Index of its frame in the profile; null for the whole.
   */
  frame: number | null;
  /**
   * Bytes made by this frame itself, below no other.
   */
  own_bytes: Bytes;
}
/**
 * One module with its totals. Evidence: read.
 */
export interface Module {
  /**
   * `jit_step`.
   */
  base_name: string;
  /**
   * Executions in the capture, over all devices; null where the capture records none at all.
   */
  executions: number | null;
  /**
   * Instructions in all computations.
   */
  instructions: number;
  /**
   * What `compiled.memory_analysis()` prints; null without a buffer assignment.
   */
  memory_analysis: MemoryAnalysis | null;
  /**
   * `jit_step(17)`.
   */
  name: string;
  /**
   * The program id, as text since it can be negative or above 2^53.
   */
  program_id: string;
  /**
   * Instructions that XLA's rematerialization made.
   */
  rematerialized_instructions: number;
  /**
   * Totals of each memory space; space 0 (the device's memory) first.
   */
  spaces: Space[];
}
/**
 * The four numbers of `compiled.memory_analysis()`, as JAX prints them (host memory apart).
 */
export interface MemoryAnalysis {
  /**
   * Aliased bytes.
   */
  alias_size_in_bytes: Bytes;
  /**
   * Parameters outside host memory.
   */
  argument_size_in_bytes: Bytes;
  /**
   * Outputs outside host memory, aliased ones too.
   */
  output_size_in_bytes: Bytes;
  /**
   * Temp of memory space 0.
   */
  temp_size_in_bytes: Bytes;
}
/**
 * The totals of one memory space of one module.
 */
export interface Space {
  /**
   * Constants.
   */
  constants_bytes: Bytes;
  /**
   * Parameters whose allocation is live-out too.
   */
  donated_bytes: Bytes;
  /**
   * Parameters given away for which XLA found no output: donating them freed nothing at the end, and lets XLA write over
   * them.
   */
  donor_bytes: Bytes;
  /**
   * The most that is live at once inside the temp blocks; null where the plan has no heap trace.
   */
  heap_peak_bytes: Bytes | null;
  /**
   * Non-aliased outputs + temp: what must be free at the moment of the call.
   */
  launch_need_bytes: Bytes;
  /**
   * Its name on this kind of device.
   */
  name: string;
  /**
   * Parameters + non-aliased outputs + temp + constants.
   */
  need_bytes: Bytes;
  /**
   * Live-out allocations that are no parameter.
   */
  outputs_bytes: Bytes;
  /**
   * Entry parameters, donated ones among them.
   */
  parameters_bytes: Bytes;
  /**
   * The number (colour) of the space.
   */
  space: number;
  /**
   * The temp blocks, largest first.
   */
  temp_blocks: Bytes[];
  /**
   * Every other allocation.
   */
  temp_bytes: Bytes;
  /**
   * Thread-local allocations: no device memory at run time.
   */
  thread_local_bytes: Bytes;
}
/**
 * What `--top` cut away, by list.
 */
export interface Omitted {
  /**
   * Host events between executions.
   */
  between_executions: Cut;
  /**
   * Donation pairs.
   */
  donation_pairs: Cut;
  /**
   * Parameters given away for no output.
   */
  donors: Cut;
  /**
   * Groups live at the last start.
   */
  live_at_last_start: Cut;
  /**
   * Live arrays at the peak, by allocator name.
   */
  live_at_peak: {
    [k: string]: Cut;
  };
  /**
   * Functions of a program that runs op by op.
   */
  op_by_op_functions: Cut;
  /**
   * Python lines of a program that runs op by op.
   */
  op_by_op_lines: Cut;
  /**
   * Buffers at the peak.
   */
  peak_buffers: Cut;
}
/**
 * A program that runs op by op, in sums. Evidence: measured; names of modules as the plans have them.
 */
export interface OpByOp {
  /**
   * By function (`jit_multiply`), over all modules of that name; the most bytes alive first.
   */
  by_function: OpSum[];
  /**
   * By the Python line that called them.
   */
  by_line: OpSum[];
  /**
   * Their executions, over all devices.
   */
  executions: number;
  /**
   * Different modules that ran.
   */
  modules: number;
}
/**
 * The executions of one function, or from one Python line.
 */
export interface OpSum {
  /**
   * How long they took on the host, in all.
   */
  duration_ps: Picos;
  /**
   * How many.
   */
  executions: number;
  /**
   * Outputs of them alive when the last execution of the module analysed started.
   */
  live_arrays: number;
  /**
   * Their bytes.
   */
  live_bytes: Bytes;
  /**
   * Different modules among them.
   */
  modules: number;
  /**
   * `jit_multiply`, or `$train.py:88 main`; null where the capture does not say.
   */
  name: string | null;
  /**
   * What they asked for, in all.
   */
  requested_bytes: Bytes;
}
/**
 * The plan of one module, in detail. Evidence: read.
 */
export interface PlanReport {
  /**
   * Bytes live over the schedule; null where the plan has no heap trace.
   */
  curve: Curve | null;
  /**
   * Parameters against outputs.
   */
  donation: Donation;
  /**
   * `jit_step(17)`.
   */
  module: string;
  /**
   * The moment of the schedule at which most is live; null where the plan has no heap trace.
   */
  peak: Peak | null;
}
/**
 * Bytes live over the schedule, split by role. Down-sampled to at most a few thousand points that keep the peak.
 */
export interface Curve {
  /**
   * Events of the schedule, ascending.
   */
  events: number[];
  /**
   * For each role that occurs, the bytes live right after each of `events`.
   */
  roles: {
    [k: string]: Bytes[];
  };
}
/**
 * Parameters against outputs.
 */
export interface Donation {
  /**
   * Parameters given away for which XLA found no output, largest first.
   */
  donors: Donor[];
  /**
   * Bytes of the pairs that are not aliased.
   */
  missed_bytes: Bytes;
  /**
   * Pairs of equal shape, type and layout, each output used once, largest first.
   */
  pairs: DonationPair[];
}
/**
 * A parameter that was given away and shares its memory with no output.
 */
export interface Donor {
  /**
   * Its bytes.
   */
  bytes: Bytes;
  /**
   * Its argument path, else its number and shape index.
   */
  parameter: string;
  /**
   * Its shape.
   */
  shape: string;
}
/**
 * A parameter and an output of the same shape.
 */
export interface DonationPair {
  /**
   * Whether they share an allocation.
   */
  aliased: boolean;
  /**
   * Their bytes.
   */
  bytes: Bytes;
  /**
   * The output: its number in the result tuple.
   */
  output: string;
  /**
   * The parameter: its argument path, else its number and shape index.
   */
  parameter: string;
  /**
   * The shape of both.
   */
  shape: string;
}
/**
 * What is live at the heap peak (parameters, outputs and constants are live throughout).
 */
export interface Peak {
  /**
   * The buffers live there and those live throughout, equal ones together, largest first.
   */
  buffers: Buffer[];
  /**
   * Bytes live inside the temp blocks of memory space 0.
   */
  bytes: Bytes;
  /**
   * The event of the schedule at which that is reached first, from 0.
   */
  event: number;
  /**
   * Events in the schedule.
   */
  events: number;
  /**
   * The instruction that is being executed there.
   */
  instruction: string | null;
  /**
   * The share of each role in the bytes of the heap peak.
   */
  roles: RoleShare[];
}
/**
 * Where the program ran.
 */
export interface Platform {
  /**
   * The kind of device.
   */
  backend: Backend | null;
  /**
   * Every device plane.
   */
  devices: Device[];
  /**
   * The JAX version where the capture says one; a range such as `<= 0.6.1` where event names date it.
   */
  jax_version: string | null;
  /**
   * `AMD`, `Nvidia`, `Google`, as the device plane says.
   */
  vendor: string | null;
}
/**
 * One device plane.
 */
export interface Device {
  /**
   * The card's memory (plane stat `memory_size`).
   */
  memory_bytes: Bytes | null;
  /**
   * The device's name, where the plane has it.
   */
  name: string | null;
  /**
   * The number in the plane's name.
   */
  ordinal: number;
  /**
   * The plane's name, `/device:GPU:0`.
   */
  plane: string;
}
/**
 * A wait of an allocator for memory to come back.
 */
export interface Retry {
  /**
   * The allocator, where known.
   */
  allocator: string | null;
  /**
   * When the wait began.
   */
  at_ps: Picos;
  /**
   * How long it was.
   */
  duration_ps: Picos;
  /**
   * Whether an event names the wait (measured) or the gap in the launch shows it (inferred).
   */
  evidence: Evidence;
  /**
   * Index into `executions`.
   */
  execution: number | null;
  /**
   * Bytes free when the wait began.
   */
  free_bytes: Bytes | null;
  /**
   * What the allocator got back while it waited, by place, the largest first; null where it was not looked up.
   */
  freed: Freed[] | null;
  /**
   * Bytes in use when the wait began.
   */
  in_use_bytes: Bytes | null;
  /**
   * The largest free chunk when the wait began.
   */
  largest_free_bytes: Bytes | null;
  /**
   * By how much that chunk can be off.
   */
  largest_free_error_bytes: Bytes | null;
  /**
   * The planned allocation that was waited for.
   */
  missing: MissingAllocation | null;
  /**
   * How it ended.
   */
  outcome: RetryOutcome;
}
/**
 * Memory that one place of the host program gave back.
 */
export interface Freed {
  /**
   * The host event around it, or the execution that it was in.
   */
  by: string;
  /**
   * Their bytes (chunks).
   */
  bytes: Bytes;
  /**
   * How many arrays.
   */
  count: number;
  /**
   * The innermost Python frame around it that is none of JAX's own.
   */
  frame: string | null;
}
/**
 * A planned allocation without an event.
 */
export interface MissingAllocation {
  /**
   * Its index in the plan.
   */
  allocation: number | null;
  /**
   * Its size in the plan.
   */
  bytes: Bytes;
  /**
   * How it is known: which request it was is concluded from the plan and from those that were obtained.
   */
  evidence: Evidence;
  /**
   * `output` or `temp`.
   */
  kind: BufferKind;
  /**
   * How many of the planned allocations were obtained before it.
   */
  obtained: number;
  /**
   * Of how many.
   */
  planned: number;
  /**
   * For an output its number, shape and path.
   */
  what: string;
}
/**
 * The file read.
 */
export interface SourceInfo {
  /**
   * Its name, without folders.
   */
  file: string;
  /**
   * The host that made it, from `XSpace.hostnames`.
   */
  host: string | null;
  /**
   * What kind of file it is.
   */
  kind: SourceKind;
  /**
   * Its size (unpacked, where it came from an archive).
   */
  size_bytes: Bytes;
}
/**
 * The program that made the report.
 */
export interface Tool {
  /**
   * `oomscope`.
   */
  name: string;
  /**
   * Its version.
   */
  version: string;
}
/**
 * The first sentence of the report.
 */
export interface Verdict {
  /**
   * The weakest class of what the sentence says.
   */
  evidence: Evidence;
  /**
   * The sentence.
   */
  sentence: string;
  /**
   * Whether the program ran out of memory, came close, or neither.
   */
  status: VerdictStatus;
}
/**
 * Something wrong with the file that did not stop the reading.
 */
export interface Warning {
  /**
   * A stable name of the kind of warning, `truncated`, `chain-break`, ….
   */
  code: string;
  /**
   * A sentence.
   */
  message: string;
  /**
   * The byte of the file that it is about.
   */
  offset: number | null;
}
/**
 * The need after several fixes together.
 */
export interface WhatIf {
  /**
   * Whether the need, with what stays alive beside it, fits the card; null where its size is unknown.
   */
  fits_card: Fits | null;
  /**
   * Whether the need, with what stays alive beside it, fits the pool; null where its size is unknown.
   */
  fits_pool: Fits | null;
  /**
   * The fixes, by their ids, in the order in which they were applied.
   */
  fixes: string[];
  /**
   * How the numbers were reached.
   */
  how: string;
  /**
   * The need after them is at least this.
   */
  need_after_least_bytes: Bytes;
  /**
   * The need after them is at most this.
   */
  need_after_most_bytes: Bytes;
  /**
   * The need of the plan as it is.
   */
  need_bytes: Bytes;
  /**
   * Of other arrays, at least so much stays alive beside the step; null where no run shows it.
   */
  others_after_least_bytes: Bytes | null;
  /**
   * Of other arrays, at most so much stays alive beside the step; null where no run shows it.
   */
  others_after_most_bytes: Bytes | null;
  /**
   * The size of the pool after them; null where it is unknown.
   */
  pool_after_bytes: Bytes | null;
}
