//! Two profiles of one process: what grew between them.

use super::{MemoryProfile, ProfileStack};
use crate::arrange::Arrange;
use crate::terms::SourceLine;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One stack in two profiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StackChange {
    /// The device.
    pub device: Option<String>,
    /// `buffer`, `executable`.
    pub kind: String,
    /// The frames, innermost first.
    pub frames: Vec<SourceLine>,
    /// Which of `frames` is the innermost that is not inside JAX.
    pub user_frame: Option<u32>,
    /// How many in the earlier profile.
    pub count_before: u64,
    /// How many in the later one.
    pub count_after: u64,
    /// Their bytes in the earlier profile.
    pub bytes_before: Bytes,
    /// Their bytes in the later one.
    pub bytes_after: Bytes,
}

impl StackChange {
    /// What it grew by; negative where it shrank.
    #[must_use]
    pub fn growth(&self) -> i64 {
        let signed = |b: Bytes| i64::try_from(b.0).unwrap_or(i64::MAX);
        signed(self.bytes_after) - signed(self.bytes_before)
    }
}

/// The stacks that differ between two profiles: what grew most first, what shrank most last.
#[must_use]
pub fn changes(before: &MemoryProfile, after: &MemoryProfile) -> Vec<StackChange> {
    let mut all: BTreeMap<(Option<&str>, &str, Vec<&SourceLine>), StackChange> = BTreeMap::new();
    for (profile, is_after) in [(before, false), (after, true)] {
        for stack in &profile.stacks {
            let frames = frames(profile, stack);
            let change =
                all.entry((stack.device.as_deref(), &stack.kind, frames.clone())).or_insert_with(|| {
                    StackChange {
                        device: stack.device.clone(),
                        kind: stack.kind.clone(),
                        frames: frames.into_iter().cloned().collect(),
                        user_frame: stack.user_frame,
                        count_before: 0,
                        count_after: 0,
                        bytes_before: Bytes::ZERO,
                        bytes_after: Bytes::ZERO,
                    }
                });
            if is_after {
                change.count_after = change.count_after.saturating_add(stack.count);
                change.bytes_after += stack.bytes;
            } else {
                change.count_before = change.count_before.saturating_add(stack.count);
                change.bytes_before += stack.bytes;
            }
        }
    }
    let differs = |c: &StackChange| (c.count_before, c.bytes_before) != (c.count_after, c.bytes_after);
    let mut changes: Vec<StackChange> = all.into_values().filter(differs).collect();
    changes.arrange_by_key(|c| (std::cmp::Reverse(c.growth()), std::cmp::Reverse(c.count_after)));
    changes
}

fn frames<'a>(profile: &'a MemoryProfile, stack: &ProfileStack) -> Vec<&'a SourceLine> {
    stack.frames.iter().filter_map(|&f| profile.frames.get(f as usize)).map(|f| &f.at).collect()
}
