//! Residuals of models whose blocks are called one after the other.

use super::layers::Blocks;
use super::picture::{NONE, Piece};
use super::remat::{Again, Remat, Replaced, Span, Step};
use crate::arrange::Arrange;
use crate::terms::Role;
use std::collections::{BTreeMap, HashMap, HashSet};

/// For each block the pieces that it makes and that the backward pass reads.
pub(super) fn of_blocks(step: Step<'_>, taken: &[bool], blocks: &Blocks) -> BTreeMap<u32, Vec<usize>> {
    let mut out: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, piece) in step.picture.pieces.iter().enumerate() {
        if taken.get(i).copied().unwrap_or(true) || piece.returned || piece.first > step.split {
            continue;
        }
        let Some(block) = blocks.get(step.stories.maker(i)) else { continue };
        let role = step.picture.class_of(piece).and_then(|class| class.role);
        if matches!(role, Some(Role::Forward) | None) && step.backward_reads(i).next().is_some() {
            out.entry(block).or_default().push(i);
        }
    }
    out
}

/// What rematerialization of each block would take away and bring.
pub(super) fn find(step: Step<'_>, taken: &[bool], blocks: &Blocks, remat: &mut Remat) {
    let Step { flow, program, picture, stories, split } = step;
    let residuals = of_blocks(step, taken, blocks);
    let handed = handed_on(step, blocks);
    let carries: Vec<(u32, usize)> =
        handed.iter().filter_map(|(&block, pieces)| Some((block, carry(step, pieces)?))).collect();
    let carried: HashSet<usize> = carries.iter().map(|c| c.1).collect();
    let crossing: HashSet<usize> = handed.values().flatten().copied().collect();
    let bytes: u64 = residuals.values().flatten().map(|&i| step.bytes(i)).sum();
    let mut sizes: Vec<u64> = carried.iter().map(|&i| step.bytes(i)).collect();
    sizes.arrange();
    let usual = sizes.get(sizes.len() / 2).copied().unwrap_or(0);
    let boundaries = usual.saturating_mul(residuals.len() as u64);
    // Beside a scan over the layers what is left is no model of blocks.
    let negligible = bytes.saturating_mul(20) < remat.acts_on;
    if residuals.len() < 2 || boundaries >= bytes || negligible {
        return;
    }
    let mut wanted: HashMap<u32, u32> = HashMap::new();
    for &i in residuals.values().flatten().filter(|i| !carried.contains(i)) {
        let Some(back) = step.backward_reads(i).min() else { continue };
        let known = wanted.entry(stories.maker(i)).or_insert(back);
        *known = back.min(*known);
    }
    let again = Again::of(flow, 0..split.saturating_add(1).min(flow.moments()), &wanted, |i, reader| {
        blocks.get(i).is_some_and(|block| blocks.get(reader) == Some(block))
    });
    for (&block, pieces) in &residuals {
        let reads = |only_own: bool| {
            let own = pieces.iter().filter(|i| !only_own || !crossing.contains(i));
            own.flat_map(|&i| step.backward_reads(i)).min()
        };
        // The block's backward pass begins where one of its own residuals is read first; what it hands on is read by the next
        // block's already.
        let Some(begin) = reads(true).or_else(|| reads(false)) else { continue };
        for &i in pieces {
            let Some(piece) = picture.pieces.get(i) else { continue };
            if carried.contains(&i) {
                continue;
            }
            let back = step.backward_reads(i).min().unwrap_or(piece.last);
            let is_forward = |r: &&(u32, u32)| !program.is_backward(flow, r.1, r.0);
            let forward = stories.reads(i).iter().filter(is_forward).map(|r| r.0).max();
            let forward =
                Span { first: piece.first, last: forward.unwrap_or(piece.first).min(back), divide: 1 };
            let after = forward.last.saturating_add(1);
            let from = |first: u32| Span { first: first.max(after), last: piece.last, divide: 1 };
            let latest = again.get(flow, stories.maker(i)).min(back);
            remat.replaced.push(Replaced {
                piece: i,
                least: vec![forward, from(latest)],
                most: vec![forward, from(begin.min(back))],
            });
        }
        // The block's input waits for it.
        let input = carries.partition_point(|c| c.0 < block).checked_sub(1).and_then(|i| carries.get(i));
        let input = input.and_then(|&(_, i)| picture.pieces.get(i));
        let (first, bytes, class) = match input {
            Some(input) => (input.last.saturating_add(1), input.bytes, input.class),
            // The first block's input comes from what is no block.
            None => {
                let made = pieces.iter().filter_map(|&i| picture.pieces.get(i)).min_by_key(|p| p.first);
                (made.map_or(split, |p| p.first), usual, made.map_or(NONE, |p| p.class))
            }
        };
        if first <= begin {
            remat.kept.push(Piece { first, last: begin, bytes, home: NONE, class, returned: false });
        }
    }
    remat.acts_on = remat.acts_on.saturating_add(bytes);
    remat.boundaries = remat.boundaries.saturating_add(boundaries);
    remat.blocks = residuals.len();
}

/// For each block the pieces that later blocks read in the forward pass.
fn handed_on(step: Step<'_>, blocks: &Blocks) -> BTreeMap<u32, Vec<usize>> {
    let mut out: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, piece) in step.picture.pieces.iter().enumerate() {
        if piece.returned || piece.first > step.split {
            continue;
        }
        let Some(block) = blocks.get(step.stories.maker(i)) else { continue };
        let read_later = step.stories.reads(i).iter().any(|&(moment, reader)| {
            !step.program.is_backward(step.flow, reader, moment)
                && blocks.get(reader).is_some_and(|b| b > block)
        });
        if read_later {
            out.entry(block).or_default().push(i);
        }
    }
    out
}

/// Of what a block hands on, its result: the smallest that isn't tiny beside the largest. Row sums and the like are tiny, partial
/// products of a split matrix multiplication large.
fn carry(step: Step<'_>, pieces: &[usize]) -> Option<usize> {
    let largest = pieces.iter().map(|&i| step.bytes(i)).max()?;
    let wide = pieces.iter().copied().filter(|&i| step.bytes(i).saturating_mul(32) >= largest);
    wide.min_by_key(|&i| step.bytes(i))
}
