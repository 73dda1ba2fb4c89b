//! Rematerialization: what `jax.checkpoint` on each block, or on the body of a scan, would take away and bring.
//!
//! Without it every block's forward results live until its backward pass has read them. With it a block keeps its input alone
//! (`jax/_src/ad_checkpoint.py`: the arguments of the checkpointed function are its only residuals), and the rest is computed
//! again when the block's backward pass begins.

use super::flow::{Flow, NEVER};
use super::layers;
use super::picture::{Picture, Piece, Stories};
use super::program::{Program, Uses};
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

/// When instructions of a stretch of the schedule have to be computed again.
#[derive(Debug, Default)]
pub(super) struct Again {
    /// The stretch's first moment.
    from: u32,
    /// By moment; [`NEVER`] for what is not needed again.
    when: Vec<u32>,
}

impl Again {
    /// Given when some of their results are read: not later than anything that is computed from it within `inside`, since a block is
    /// computed again from its input on. `wanted` holds the instructions whose results are read, with the moment.
    pub fn of(
        flow: &Flow<'_>,
        stretch: std::ops::Range<u32>,
        wanted: &HashMap<u32, u32>,
        inside: impl Fn(u32, u32) -> bool,
    ) -> Again {
        let order = flow.order.get(stretch.start as usize..stretch.end as usize).unwrap_or(&[]);
        let mut out = Again { from: stretch.start, when: vec![NEVER; order.len()] };
        for (at, &i) in order.iter().enumerate().rev() {
            let own = wanted.get(&i).copied().unwrap_or(NEVER);
            let later = flow.readers_of_parts(i).filter(|&r| inside(i, r)).map(|r| out.get(flow, r)).min();
            out.when[at] = own.min(later.unwrap_or(NEVER));
        }
        out
    }

    /// The moment for an instruction; [`NEVER`] where it is not needed again.
    pub fn get(&self, flow: &Flow<'_>, i: u32) -> u32 {
        let at = flow.moment(i).wrapping_sub(self.from);
        self.when.get(at as usize).copied().unwrap_or(NEVER)
    }
}

/// A training step with all that is known of it.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub flow: &'a Flow<'a>,
    pub program: &'a Program,
    pub picture: &'a Picture,
    pub stories: &'a Stories,
    /// The moment that parts forward from backward.
    pub split: u32,
}

impl<'a> Step<'a> {
    /// The bytes of a piece.
    pub fn bytes(self, piece: usize) -> u64 {
        self.picture.pieces.get(piece).map_or(0, |p| p.bytes)
    }

    /// The moments at which the backward pass reads a piece.
    pub fn backward_reads(self, piece: usize) -> impl Iterator<Item = u32> + 'a {
        let reads = self.stories.reads(piece).iter();
        reads.filter(move |r| self.program.is_backward(self.flow, r.1, r.0)).map(|r| r.0)
    }
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
    pub fn of(
        flow: &Flow<'_>,
        program: &Program,
        uses: &Uses,
        picture: &Picture,
        stories: &Stories,
    ) -> Remat {
        let mut remat = Remat::default();
        let Some(split) = program.split else { return remat };
        let step = Step { flow, program, picture, stories, split };
        let mut taken = vec![false; picture.pieces.len()];
        stacks::find(step, &mut taken, &mut remat);
        let names = layers::by_names(flow, program);
        let parameters = layers::by_parameters(flow, program, uses);
        let blocks = layers::better(names, parameters, |blocks| {
            residuals::of_blocks(step, &taken, blocks).values().flatten().map(|&i| step.bytes(i)).sum()
        });
        if blocks.count() > 1 {
            residuals::find(step, &taken, &blocks, &mut remat);
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
