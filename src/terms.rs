//! The vocabulary: small types that more than one layer speaks of, named as XLA and JAX name things.

use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose bytes are: of nobody that the capture saw, since they are older than it.
pub const BEFORE_CAPTURE: &str = "allocated before the capture started";
/// Where something came or went of which no event of the host tells more.
pub const NO_HOST_EVENT: &str = "outside any event of the host";

/// The kind of device a program was compiled for. It decides what the memory spaces are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// CUDA or ROCm.
    Gpu,
    /// TPU.
    Tpu,
    /// The host.
    Cpu,
}

/// What part of a training step a buffer belongs to, from the JAX name stack of the instruction that defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Forward, kept for the backward pass.
    Forward,
    /// Backward.
    Backward,
    /// Forward computed again inside the backward pass.
    Recomputed,
    /// Scratch of a library call.
    Workspace,
    /// A name stack with neither: optimizer, metrics, code outside grad.
    Update,
    /// Made by XLA, without a name stack.
    Other,
}

impl Role {
    /// Every role, in the order of the reports.
    pub const ALL: [Role; 6] =
        [Role::Forward, Role::Backward, Role::Recomputed, Role::Workspace, Role::Update, Role::Other];

    /// The name in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Role::Forward => "forward",
            Role::Backward => "backward",
            Role::Recomputed => "recomputed",
            Role::Workspace => "workspace",
            Role::Update => "update",
            Role::Other => "other",
        }
    }
}

/// What kind of allocation a buffer lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BufferKind {
    /// Scratch of the step.
    Temp,
    /// An entry parameter that is not donated.
    Parameter,
    /// A parameter that is an output too.
    Donated,
    /// An output that is no parameter.
    Output,
    /// A constant.
    Constant,
}

/// What an allocator is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AllocatorKind {
    /// The device's memory.
    Device,
    /// Pinned host memory.
    Host,
    /// Memory for collectives (NCCL user buffers, symmetric memory).
    Collective,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It launched.
    Ran,
    /// There is evidence that it did not.
    Failed,
    /// The capture does not say.
    Unknown,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RetryOutcome {
    /// Memory came back in time.
    Rescued,
    /// It did not.
    Failed,
}

/// What kind of origin an array has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LiveKind {
    /// Outputs of an execution.
    Outputs,
    /// The temporary block of an execution.
    Temp,
    /// A transfer from the host.
    DevicePut,
    /// Another host event.
    Other,
    /// Allocated before the capture started.
    BeforeCapture,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It failed or cannot run.
    Error,
    /// It will fail, or nearly did.
    Warning,
    /// Worth knowing.
    Note,
    /// All is well.
    Ok,
}

/// Whether something fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fits {
    /// At most still fits.
    Yes,
    /// Not even at least fits.
    No,
    /// It depends.
    Maybe,
}

impl Fits {
    /// Whether a need of at least `least` and at most `most` fits into `room`.
    #[must_use]
    pub fn into_room(least: Bytes, most: Bytes, room: Bytes) -> Fits {
        if most <= room {
            Fits::Yes
        } else if least > room {
            Fits::No
        } else {
            Fits::Maybe
        }
    }
}

/// Something wrong with the file that did not stop the reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// A stable name of the kind of warning, `truncated`, `chain-break`, ….
    pub code: String,
    /// A sentence.
    pub message: String,
    /// The byte of the file that it is about.
    pub offset: Option<u64>,
}

/// A position in a program's Python source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SourceLine {
    /// The file as the plan has it.
    pub file: String,
    /// The line, from 1; null where unknown.
    pub line: Option<u64>,
    /// The function, where known.
    pub function: Option<String>,
}

/// The four numbers of `compiled.memory_analysis()`, as JAX prints them (host memory apart).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryAnalysis {
    /// Parameters outside host memory.
    pub argument_size_in_bytes: Bytes,
    /// Outputs outside host memory, aliased ones too.
    pub output_size_in_bytes: Bytes,
    /// Aliased bytes.
    pub alias_size_in_bytes: Bytes,
    /// Temp of memory space 0.
    pub temp_size_in_bytes: Bytes,
}

impl Warning {
    /// A warning of kind `code` about byte `offset` of the file.
    pub fn at(code: &str, offset: u64, message: impl Into<String>) -> Warning {
        Warning { code: code.into(), message: message.into(), offset: Some(offset) }
    }

    /// A warning of kind `code` about no place in particular.
    pub fn new(code: &str, message: impl Into<String>) -> Warning {
        Warning { code: code.into(), message: message.into(), offset: None }
    }
}
