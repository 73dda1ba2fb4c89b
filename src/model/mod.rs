//! The report as data: what the JSON shows, and all that the text and the page show.
//!
//! The keys are the contract `oomscope/1`; more may be added within a version, none changes its meaning.
//! Sizes are bytes, times picoseconds from the first event of the capture, ids and addresses strings.
//! What the capture does not say is `null`, never 0.

mod answers;
mod cut;
mod evidence;
mod finding;
mod plan;
mod run;
mod source;

pub use answers::*;
pub use cut::*;
pub use evidence::*;
pub use finding::*;
pub use plan::*;
pub use run::*;
pub use source::*;

pub use crate::evidence::error_text::{
    ChunksOfSize, Failure, FailureKind, MatchedBy, PlanText, PlanTotals, PoolDump, RematText, RequestMatch,
    TextBuffer, TextMatch, TextSize, TotalDifference, UsagePart,
};
pub use crate::evidence::memory_profile::{
    ArraysOfSize, BeforeMatch, ProfileFrame, ProfileStack, ProfileTotal, RestMatch, StackChange, Tree,
    TreeNode,
};
pub use crate::terms::{
    AllocatorKind, Backend, BufferKind, Fits, LiveKind, MemoryAnalysis, Outcome, RetryOutcome, Role,
    Severity, SourceLine, Warning,
};
use crate::units::{Bytes, Evidence};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Sizes that the user gave, where what was read does not have them.
    pub given: Given,
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
    /// What ran, summed by function and by Python line; null unless the program runs op by op.
    pub op_by_op: Option<OpByOp>,
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

/// Sizes that the user gave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Given {
    /// The size of the pool.
    pub pool_bytes: Option<Bytes>,
    /// The memory of the card.
    pub card_bytes: Option<Bytes>,
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
            given: Given::default(),
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
            op_by_op: None,
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
