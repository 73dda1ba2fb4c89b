//! What stands beside a capture: the text of a failure, a device memory profile.

use super::{
    BeforeMatch, Cut, Failure, FailureKind, PoolDump, ProfileFrame, ProfileStack, ProfileTotal, RematText,
    RestMatch, StackChange, TextMatch, TextSize, Tree,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

impl ErrorTextReport {
    /// The failure that the report is about.
    #[must_use]
    pub fn main(&self) -> Option<&Failure> {
        self.failures.get(usize::try_from(self.main?).ok()?)
    }

    /// What memory there is in all by the text, and of what: of the device, for a program that did not compile, or of the
    /// pool whose allocator told of itself.
    #[must_use]
    pub fn room(&self) -> Option<(TextSize, &'static str)> {
        let main = self.main()?;
        if main.kind == FailureKind::CompileDevice {
            return Some((main.limit?, "device"));
        }
        let of_it = |p: &&PoolDump| {
            main.allocator.is_none() || p.allocator.is_none() || p.allocator == main.allocator
        };
        let limit = self.pools.iter().rfind(of_it)?.limit_bytes?;
        (main.kind == FailureKind::DevicePool).then(|| (TextSize::exact(limit.0), "pool"))
    }
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
    /// What the arrays can be that a capture knows as one sum. Evidence: inferred.
    pub before_capture_rest: Vec<RestMatch>,
}
