//! The stacks of a profile as one tree, from the program's outermost frame inwards: what a flame graph draws.

use super::MemoryProfile;
use crate::arrange::Arrange;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A tree of frames, in one list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tree {
    /// The nodes; the first is the whole, and each comes before its children.
    pub nodes: Vec<TreeNode>,
}

/// A frame below the frames that called it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeNode {
    /// Index of its frame in the profile; null for the whole.
    pub frame: Option<u32>,
    /// Arrays made below it.
    pub count: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Bytes made by this frame itself, below no other.
    pub own_bytes: Bytes,
    /// Indexes of the nodes below it, the most bytes first.
    pub children: Vec<u32>,
}

/// The most nodes; a tree of more than this cannot be looked at.
const MOST_NODES: usize = 200_000;

impl Tree {
    /// The tree of the arrays of `profile` (not its executables) on one device, or on all. Frames inside JAX below the
    /// last frame of the program are left out: they are the same machinery everywhere.
    #[must_use]
    pub fn of(profile: &MemoryProfile, device: Option<&str>) -> Tree {
        let mut tree = Tree { nodes: vec![TreeNode::new(None)] };
        let mut children: HashMap<(u32, u32), u32> = HashMap::new();
        for stack in &profile.stacks {
            if stack.kind != "buffer" || (device.is_some() && stack.device.as_deref() != device) {
                continue;
            }
            let inner = stack.user_frame.unwrap_or(0) as usize;
            let mut at = 0u32;
            tree.add(at, stack.count, stack.bytes);
            for &frame in stack.frames.iter().skip(inner).rev() {
                let next = match children.get(&(at, frame)) {
                    Some(&next) => next,
                    None if tree.nodes.len() >= MOST_NODES => break,
                    None => {
                        let next = u32::try_from(tree.nodes.len()).unwrap_or(u32::MAX);
                        tree.nodes.push(TreeNode::new(Some(frame)));
                        children.insert((at, frame), next);
                        if let Some(parent) = tree.nodes.get_mut(at as usize) {
                            parent.children.push(next);
                        }
                        next
                    }
                };
                at = next;
                tree.add(at, stack.count, stack.bytes);
            }
            if let Some(node) = tree.nodes.get_mut(at as usize) {
                node.own_bytes += stack.bytes;
            }
        }
        let bytes: Vec<Bytes> = tree.nodes.iter().map(|n| n.bytes).collect();
        for node in &mut tree.nodes {
            node.children.arrange_by_key(|&c| std::cmp::Reverse(bytes.get(c as usize).copied()));
        }
        tree
    }

    fn add(&mut self, at: u32, count: u64, bytes: Bytes) {
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.count = node.count.saturating_add(count);
            node.bytes += bytes;
        }
    }
}

impl TreeNode {
    fn new(frame: Option<u32>) -> TreeNode {
        TreeNode { frame, count: 0, bytes: Bytes::ZERO, own_bytes: Bytes::ZERO, children: Vec::new() }
    }
}
