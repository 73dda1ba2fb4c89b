//! What the text of a failure says, as data.

use super::TextSize;
use crate::terms::{Role, SourceLine};
use crate::units::{Bytes, Evidence};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All that a text says about memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorText {
    /// What failed, in the order of the text; the same failure of several processes, or repeated by the traceback, once.
    pub failures: Vec<Failure>,
    /// Allocators' dumps of their memory.
    pub pools: Vec<PoolDump>,
    /// What XLA's rematerialization said it reached.
    pub rematerialization: Vec<RematText>,
}

/// One failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// What kind of memory it was, and who asked.
    pub kind: FailureKind,
    /// Line of the text, from 1.
    pub line: u64,
    /// How often the text has it.
    pub count: u64,
    /// The writers that have it (`[rank 3]`), where the text tells them apart.
    pub writers: Vec<String>,
    /// What was asked for; for a failed compilation, what the program needs.
    pub requested: Option<TextSize>,
    /// The same rounded up to the allocator's unit of 256 bytes, which the allocator prints to the byte.
    pub rounded_bytes: Option<Bytes>,
    /// What was free at that moment.
    pub free: Option<TextSize>,
    /// What there is in all: the memory of the device, or the limit that was exceeded.
    pub limit: Option<TextSize>,
    /// By how much the limit was exceeded, where the message says it.
    pub exceeded_by: Option<TextSize>,
    /// The allocator, `GPU_0_bfc`.
    pub allocator: Option<String>,
    /// The device's ordinal.
    pub device: Option<u32>,
    /// The executable, `jit_step`, where the message names it.
    pub executable: Option<String>,
    /// XLA's error code, `E1000`.
    pub error_code: Option<String>,
    /// The buffer or instruction that was asked for, as the message has it.
    pub what: Option<String>,
    /// The plan that the message prints.
    pub plan: Option<PlanText>,
}

/// What kind of memory ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The device's pool, at run time.
    DevicePool,
    /// The device's pool, by an allocation that may fail: the caller goes on without.
    DevicePoolOptional,
    /// The pool of pinned host memory.
    HostPool,
    /// The pool for collectives.
    CollectivePool,
    /// The device's memory, when the program was compiled (TPU).
    CompileDevice,
    /// Memory inside the chip (VMEM, scoped or not), when the program was compiled (TPU).
    CompileVmem,
    /// Shared memory of a kernel (LDS on AMD): a limit of the chip, not of the device's memory.
    KernelSharedMemory,
    /// A library outside the pool: cuDNN, cuBLAS, cuFFT, MIOpen.
    Library,
    /// Collectives outside the pool: NCCL, RCCL.
    Collectives,
    /// CUDA graphs, outside the pool.
    Graphs,
    /// The driver refused memory to the pool itself or to an allocator without a pool.
    Driver,
    /// Memory of the host.
    Host,
    /// PyTorch's own allocator.
    PyTorch,
    /// `RESOURCE_EXHAUSTED` without a form that is known.
    Unknown,
}

impl FailureKind {
    /// Whether the plan and the pool of the device explain such a failure.
    #[must_use]
    pub fn is_device_memory(self) -> bool {
        matches!(
            self,
            FailureKind::DevicePool
                | FailureKind::DevicePoolOptional
                | FailureKind::CompileDevice
                | FailureKind::Driver
        )
    }
}

/// The part of a module's plan that a message prints. Evidence: read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanText {
    /// XLA's totals.
    pub totals: PlanTotals,
    /// The largest buffers at the peak, largest first: 15 at most.
    pub buffers: Vec<TextBuffer>,
    /// What the TPU compiler counts, in its own words, in its order.
    pub usage: Vec<UsagePart>,
}

impl PlanText {
    /// Whether it says nothing at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.totals == PlanTotals::default() && self.buffers.is_empty() && self.usage.is_empty()
    }

    /// What the compiler keeps back of the device's memory, where its account says it (TPU).
    #[must_use]
    pub fn reserved(&self) -> Option<TextSize> {
        self.usage.iter().find(|part| part.of == "total" && part.name == "reserved")?.size
    }
}

/// Totals of `BufferAssignment stats`. A donated allocation counts as parameter and as live-out, and once in the total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanTotals {
    /// Parameters.
    pub parameter: Option<TextSize>,
    /// Constants.
    pub constant: Option<TextSize>,
    /// Allocations that may be live out of the module.
    pub maybe_live_out: Option<TextSize>,
    /// Temp blocks.
    pub temp: Option<TextSize>,
    /// Temp blocks less the most that is live in them: packing loss of the plan.
    pub temp_fragmentation: Option<TextSize>,
    /// All allocations.
    pub total: Option<TextSize>,
    /// All allocations less the least that the schedule needs.
    pub total_fragmentation: Option<TextSize>,
}

/// A line of the TPU compiler's account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsagePart {
    /// `total`, `program`.
    pub of: String,
    /// `reserved`, `arguments`, `HLO temp`.
    pub name: String,
    /// Its size; null where it is unknown.
    pub size: Option<TextSize>,
}

/// A buffer that a message lists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TextBuffer {
    /// Its size.
    pub size: Option<TextSize>,
    /// Its size without padding (TPU).
    pub unpadded: Option<TextSize>,
    /// The shape as XLA prints it.
    pub shape: Option<String>,
    /// The opcode of the instruction that defines it.
    pub opcode: Option<String>,
    /// The instruction, where the message has it (TPU).
    pub instruction: Option<String>,
    /// Whether it is an entry parameter.
    pub parameter: bool,
    /// The kind of allocation in the message's words (TPU).
    pub allocation_type: Option<String>,
    /// The JAX name stack.
    pub op_name: Option<String>,
    /// The Python position.
    pub source: Option<SourceLine>,
    /// Its part in the step.
    pub role: Option<Role>,
    /// How the role is known.
    pub role_evidence: Option<Evidence>,
}

/// What a BFC allocator says of itself when an allocation failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PoolDump {
    /// Line of the text, from 1.
    pub line: u64,
    /// Its name.
    pub allocator: Option<String>,
    /// What it may take of the device (`Limit`).
    pub limit_bytes: Option<Bytes>,
    /// Bytes in use (`InUse`).
    pub in_use_bytes: Option<Bytes>,
    /// The most in use since the process started (`MaxInUse`).
    pub peak_in_use_bytes: Option<Bytes>,
    /// The largest allocation since the process started (`MaxAllocSize`).
    pub largest_allocation_bytes: Option<Bytes>,
    /// The largest free chunk: from the list of chunks, or as it says.
    pub largest_free: Option<TextSize>,
    /// Free bytes in the pool as mapped so far.
    pub free_in_pool: Option<TextSize>,
    /// The pool as mapped so far.
    pub pool: Option<TextSize>,
    /// What is not mapped yet.
    pub unmapped: Option<TextSize>,
    /// Chunks in use by size, the size with the most bytes first.
    pub in_use: Vec<ChunksOfSize>,
}

impl PoolDump {
    /// Whether it says nothing: its lines were of something else.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let sizes = [self.largest_free, self.free_in_pool, self.pool, self.unmapped];
        let bytes =
            [self.limit_bytes, self.in_use_bytes, self.peak_in_use_bytes, self.largest_allocation_bytes];
        self.in_use.is_empty() && sizes.iter().all(Option::is_none) && bytes.iter().all(Option::is_none)
    }

    /// Limit − in use.
    #[must_use]
    pub fn free_bytes(&self) -> Option<Bytes> {
        Some(self.limit_bytes?.saturating_sub(self.in_use_bytes?))
    }
}

/// Chunks of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChunksOfSize {
    /// The size of one.
    pub bytes: Bytes,
    /// How many.
    pub count: u64,
}

/// What XLA's rematerialization aimed at and reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RematText {
    /// Line of the text, from 1.
    pub line: u64,
    /// The limit it aimed at; null where that was zero or negative: the inputs and outputs alone exceed the budget.
    pub target: Option<TextSize>,
    /// What it reached.
    pub reached: TextSize,
    /// What it began with.
    pub original: Option<TextSize>,
}
