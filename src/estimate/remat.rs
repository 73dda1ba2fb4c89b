//! Rematerialization: what `jax.checkpoint` on each block, or on the body of a scan, would take away and bring.
//!
//! Without it every block's forward results live until its backward pass has read them. With it a block keeps its input alone
//! (`jax/_src/ad_checkpoint.py`: the arguments of the checkpointed function are its only residuals), and the rest is computed
//! again when the block's backward pass begins.

use super::flow::Flow;
use super::layers;
use super::picture::{Picture, Piece};
use super::program::Program;
use super::scene::{Scene, Side};
use super::{residuals, stacks};
use std::collections::HashMap;

/// A part of a life, with a part of the bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub first: u32,
    pub last: u32,
    /// The bytes are divided by this: of a stack, one layer is needed at a time.
    pub divide: u64,
}

/// A piece and the lives that it has instead.
#[derive(Debug, Clone)]
pub(super) struct Replaced {
    /// Its position in the picture.
    pub piece: usize,
    /// What remains where all goes well.
    pub least: Vec<Span>,
    /// What remains where it doesn't.
    pub most: Vec<Span>,
}

/// When each of some instructions has to be computed again, given when some of their results are read: not later than anything that
/// is computed from it within `inside`, since a block is computed again from its input on.
///
/// `wanted` holds the instructions whose results are read, with the moment; `order` the instructions in order of running.
pub(super) fn needed_again(
    flow: &Flow<'_>,
    order: impl DoubleEndedIterator<Item = u32>,
    wanted: &HashMap<u32, u32>,
    inside: impl Fn(u32, u32) -> bool,
) -> HashMap<u32, u32> {
    let mut out: HashMap<u32, u32> = HashMap::new();
    for i in order.rev() {
        let own = wanted.get(&i).copied();
        let later =
            flow.readers_of_parts(i).filter(|&r| inside(i, r)).filter_map(|r| out.get(&r).copied()).min();
        if let Some(moment) = [own, later].into_iter().flatten().min() {
            out.insert(i, moment);
        }
    }
    out
}

/// The effect of rematerialization.
#[derive(Debug, Clone, Default)]
pub(super) struct Remat {
    pub replaced: Vec<Replaced>,
    /// Inputs of blocks that are kept in addition.
    pub kept: Vec<Piece>,
    /// Forward bytes that no longer wait for the backward pass.
    pub acts_on: u64,
    /// Bytes that block boundaries keep.
    pub boundaries: u64,
    /// Blocks called one after the other.
    pub blocks: usize,
    /// Loops over layers (or steps in time), with their rounds.
    pub scans: Vec<i64>,
}

impl Remat {
    /// What it would do to a step; nothing where there is no backward pass, or no block to be found.
    pub fn of(flow: &Flow<'_>, program: &Program, picture: &Picture) -> Remat {
        let mut remat = Remat::default();
        let Some(split) = program.split else { return remat };
        let mut taken = vec![false; picture.pieces.len()];
        stacks::find(flow, program, picture, split, &mut taken, &mut remat);
        let names = layers::by_names(flow, program);
        let parameters = layers::by_parameters(flow, program);
        let blocks = layers::better(names, parameters, |blocks| {
            residuals::of_blocks(flow, program, picture, split, &taken, blocks)
                .values()
                .flatten()
                .map(|&i| picture.pieces.get(i).map_or(0, |p| p.bytes))
                .sum()
        });
        if layers::count(&blocks) > 1 {
            residuals::find(flow, program, picture, split, &taken, &blocks, &mut remat);
        }
        remat
    }

    pub fn apply(&self, scene: &mut Scene) {
        for replaced in &self.replaced {
            let Some(piece) = scene.pieces.get_mut(replaced.piece) else { continue };
            let whole = *piece;
            piece.bytes = 0;
            let spans = if scene.side == Side::Least { &replaced.least } else { &replaced.most };
            for span in spans.iter().filter(|span| span.first <= span.last) {
                scene.pieces.push(Piece {
                    first: span.first,
                    last: span.last,
                    bytes: whole.bytes.div_ceil(span.divide.max(1)),
                    ..whole
                });
            }
        }
        scene.pieces.extend(&self.kept);
    }
}
