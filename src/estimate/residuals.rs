//! Residuals of models whose blocks are called one after the other.

use super::flow::Flow;
use super::layers::Blocks;
use super::picture::{Home, Picture, Piece};
use super::program::Program;
use super::remat::{Remat, Replaced, Span, needed_again};
use crate::arrange::Arrange;
use crate::terms::Role;
use std::collections::{BTreeMap, HashMap, HashSet};

/// For each block the pieces that it makes and that the backward pass reads.
pub(super) fn of_blocks(
    flow: &Flow<'_>,
    program: &Program,
    picture: &Picture,
    split: u32,
    taken: &[bool],
    blocks: &Blocks,
) -> BTreeMap<u32, Vec<usize>> {
    let mut out: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, piece) in picture.pieces.iter().enumerate() {
        let Some(facts) = picture.facts_of(piece) else { continue };
        if taken.get(i).copied().unwrap_or(true)
            || piece.returned
            || piece.first > split
            || !matches!(facts.role, Some(Role::Forward) | None)
        {
            continue;
        }
        if let Some(&block) = blocks.get(&facts.maker)
            && facts.reads.iter().any(|&(moment, reader)| program.is_backward(flow, reader, moment))
        {
            out.entry(block).or_default().push(i);
        }
    }
    out
}

/// What rematerialization of each block would take away and bring.
pub(super) fn find(
    flow: &Flow<'_>,
    program: &Program,
    picture: &Picture,
    split: u32,
    taken: &[bool],
    blocks: &Blocks,
    remat: &mut Remat,
) {
    let residuals = of_blocks(flow, program, picture, split, taken, blocks);
    let handed = handed_on(flow, program, picture, split, blocks);
    let carries: BTreeMap<u32, usize> =
        handed.iter().filter_map(|(&block, pieces)| Some((block, carry(picture, pieces)?))).collect();
    let carried: HashSet<usize> = carries.values().copied().collect();
    let crossing: HashSet<usize> = handed.values().flatten().copied().collect();
    let bytes_of = |i: &usize| picture.pieces.get(*i).map_or(0, |p| p.bytes);
    let bytes: u64 = residuals.values().flatten().map(bytes_of).sum();
    let mut sizes: Vec<u64> = carried.iter().map(bytes_of).collect();
    sizes.arrange();
    let usual = sizes.get(sizes.len() / 2).copied().unwrap_or(0);
    let boundaries = usual.saturating_mul(residuals.len() as u64);
    // Beside a scan over the layers what is left is no model of blocks.
    let negligible = bytes.saturating_mul(20) < remat.acts_on;
    if residuals.len() < 2 || boundaries >= bytes || negligible {
        return;
    }
    let back_of = |i: usize| {
        let facts = picture.pieces.get(i).and_then(|p| picture.facts_of(p))?;
        let back = facts.reads.iter().filter(|r| program.is_backward(flow, r.1, r.0)).map(|r| r.0).min()?;
        Some((facts.maker, back))
    };
    let mut wanted: HashMap<u32, u32> = HashMap::new();
    for (maker, back) in
        residuals.values().flatten().filter(|i| !carried.contains(i)).filter_map(|&i| back_of(i))
    {
        let known = wanted.entry(maker).or_insert(back);
        *known = back.min(*known);
    }
    let forward = flow.order.iter().take(split as usize + 1).copied();
    let again = needed_again(flow, forward, &wanted, |i, reader| {
        blocks.get(&i).is_some_and(|block| blocks.get(&reader) == Some(block))
    });
    let is_backward = |&&(moment, reader): &&(u32, u32)| program.is_backward(flow, reader, moment);
    for (&block, pieces) in &residuals {
        let reads = |only_own: bool| {
            let own = pieces.iter().filter(|i| !only_own || !crossing.contains(i));
            let facts = own.filter_map(|&i| picture.pieces.get(i)).filter_map(|p| picture.facts_of(p));
            facts.flat_map(|f| f.reads.iter().filter(is_backward).map(|r| r.0)).min()
        };
        // The block's backward pass begins where one of its own residuals is read first; what it hands on is read by the next
        // block's already.
        let Some(begin) = reads(true).or_else(|| reads(false)) else { continue };
        for &i in pieces {
            let Some(piece) = picture.pieces.get(i) else { continue };
            if carried.contains(&i) {
                continue;
            }
            let Some(facts) = picture.facts_of(piece) else { continue };
            let back = facts.reads.iter().filter(is_backward).map(|r| r.0).min().unwrap_or(piece.last);
            let forward = facts.reads.iter().filter(|r| !is_backward(r)).map(|r| r.0).max();
            let forward =
                Span { first: piece.first, last: forward.unwrap_or(piece.first).min(back), divide: 1 };
            let after = forward.last.saturating_add(1);
            let from = |first: u32| Span { first: first.max(after), last: piece.last, divide: 1 };
            let latest = again.get(&facts.maker).copied().unwrap_or(back).min(back);
            remat.replaced.push(Replaced {
                piece: i,
                least: vec![forward, from(latest)],
                most: vec![forward, from(begin.min(back))],
            });
        }
        // The block's input waits for it.
        let input = carries.range(..block).next_back().and_then(|(_, &i)| picture.pieces.get(i));
        let (first, bytes, facts) = match input {
            Some(input) => (input.last.saturating_add(1), input.bytes, input.facts),
            // The first block's input comes from what is no block.
            None => {
                let made = pieces.iter().filter_map(|&i| picture.pieces.get(i)).min_by_key(|p| p.first);
                (made.map_or(split, |p| p.first), usual, made.map_or(u32::MAX, |p| p.facts))
            }
        };
        if first <= begin {
            remat.kept.push(Piece { first, last: begin, bytes, home: Home::Temp, returned: false, facts });
        }
    }
    remat.acts_on = remat.acts_on.saturating_add(bytes);
    remat.boundaries = remat.boundaries.saturating_add(boundaries);
    remat.blocks = residuals.len();
}

/// For each block the pieces that later blocks read in the forward pass.
fn handed_on(
    flow: &Flow<'_>,
    program: &Program,
    picture: &Picture,
    split: u32,
    blocks: &Blocks,
) -> BTreeMap<u32, Vec<usize>> {
    let mut out: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, piece) in picture.pieces.iter().enumerate() {
        let Some(facts) = picture.facts_of(piece) else { continue };
        let Some(&block) = blocks.get(&facts.maker) else { continue };
        let read_later = facts.reads.iter().any(|&(moment, reader)| {
            !program.is_backward(flow, reader, moment) && blocks.get(&reader).is_some_and(|&b| b > block)
        });
        if !piece.returned && piece.first <= split && read_later {
            out.entry(block).or_default().push(i);
        }
    }
    out
}

/// Of what a block hands on, its result: the smallest that isn't tiny beside the largest. Row sums and the like are tiny, partial
/// products of a split matrix multiplication large.
fn carry(picture: &Picture, pieces: &[usize]) -> Option<usize> {
    let bytes = |i: usize| picture.pieces.get(i).map_or(0, |p| p.bytes);
    let largest = pieces.iter().map(|&i| bytes(i)).max()?;
    pieces.iter().copied().filter(|&i| bytes(i).saturating_mul(32) >= largest).min_by_key(|&i| bytes(i))
}
