//! How sizes depend on the batch and on the sequence.
//!
//! Known from shapes: XLA keeps the batch and the sequence as dimensions of their own, or merges them with others into one (`[batch ×
//! sequence, features]` before a matrix multiplication). Where a shape can be read in two ways, the interval takes both.

use super::picture::{Class, Picture, Scaling};
use super::program::{Program, sorted};
use super::scene::{Scene, Side};
use crate::terms::Role;
use std::collections::HashSet;

/// Notes for everything in a picture how its size depends on the inputs'.
pub(super) fn measure(program: &Program, picture: &mut Picture) {
    let ruler = Ruler::of(program, picture);
    for class in &mut picture.classes {
        let shape = sorted(&class.dims);
        class.weight_like = program.weight_shapes.contains(&shape);
        class.slice_like = program.slice_shapes.contains(&shape);
        class.stack_like = program.stack_shapes.contains(&shape);
        class.scaling = ruler.scaling(class);
    }
}

/// Divides the batch (or with `sequence` the sequence) of everything in a scene by `k`.
pub(super) fn shrink(scene: &mut Scene, classes: &[Class], sequence: bool, k: u32) {
    for piece in scene.pieces.iter_mut().filter(|piece| !piece.returned) {
        let Some(class) = classes.get(piece.class as usize) else { continue };
        let (least, most) = if sequence { class.scaling.sequence } else { class.scaling.batch };
        let power = if scene.side == Side::Least { most } else { least };
        if power > 0 {
            piece.bytes = piece.bytes.div_ceil(u64::from(k.max(1)).saturating_pow(power));
        }
    }
}

/// Whether something shrinks with the batch, or with the sequence.
pub(super) fn shrinks(class: &Class, sequence: bool) -> bool {
    (if sequence { class.scaling.sequence.1 } else { class.scaling.batch.1 }) > 0
}

struct Ruler<'a> {
    program: &'a Program,
    batch: Option<i64>,
    sequence: Option<i64>,
    weights: HashSet<&'a [i64]>,
}

impl<'a> Ruler<'a> {
    fn of(program: &'a Program, picture: &Picture) -> Ruler<'a> {
        let weights = program.weight_shapes.iter().map(Vec::as_slice).collect();
        let mut ruler = Ruler { program, batch: program.batch, sequence: program.sequence, weights };
        // A step that already accumulates gradients works on a part of the batch at a time.
        if let Some(batch) = program.batch {
            let parts = program.scans.iter().map(|s| s.rounds).filter(|&n| n > 1 && batch % n == 0);
            let mut candidates = vec![batch];
            candidates.extend(parts.map(|n| batch / n).filter(|&b| b > 1));
            ruler.batch = candidates.into_iter().max_by_key(|&batch| {
                let with = Ruler { batch: Some(batch), weights: ruler.weights.clone(), ..ruler };
                (with.explained(picture), batch)
            });
        }
        ruler
    }

    /// Bytes of the forward pass that have the batch as a dimension, alone or with the sequence.
    fn explained(&self, picture: &Picture) -> u64 {
        let explains = |class: &Class| class.role == Some(Role::Forward) && self.scaling(class).batch.0 > 0;
        let explains: Vec<bool> = picture.classes.iter().map(explains).collect();
        let forward = picture.pieces.iter().filter(|p| explains.get(p.class as usize) == Some(&true));
        forward.map(|p| p.bytes).fold(0, u64::saturating_add)
    }

    fn scaling(&self, class: &Class) -> Scaling {
        let Some(batch) = self.batch.filter(|&b| b > 0) else { return Scaling::default() };
        let dims: Vec<i64> = class.dims.iter().copied().filter(|&d| d > 1).collect();
        let Some(elements) = dims.iter().try_fold(1i64, |n, &d| n.checked_mul(d)) else {
            return Scaling::default();
        };
        if dims.is_empty() {
            return Scaling::default();
        }
        let tokens = batch.saturating_mul(self.sequence.unwrap_or(1)).max(1);
        let own = dims.contains(&batch);
        let merged = dims.iter().any(|d| d % tokens == 0);
        let factor = dims.iter().any(|d| d % batch == 0);
        let exact = self.weights.contains(sorted(&dims).as_slice());
        let like_weights = exact || self.is_partial_gradient(class, &dims);
        let in_step = matches!(class.role, Some(Role::Forward | Role::Backward | Role::Recomputed));
        let by_batch = if !factor || elements % batch != 0 {
            (0, 0)
        } else if like_weights {
            let either = own || merged || (!exact && dims.first().is_some_and(|d| d % batch == 0));
            (0, u32::from(either))
        } else if own || merged || (in_step && elements % tokens == 0) {
            (1, 1)
        } else {
            (0, u32::from(in_step || class.role.is_none()))
        };
        let (by_sequence, scores) = match self.sequence {
            Some(sequence) => self.by_sequence(sequence, &dims, elements, tokens, like_weights, by_batch),
            None => ((0, 0), false),
        };
        Scaling { batch: by_batch, sequence: by_sequence, scores }
    }

    fn by_sequence(
        &self,
        sequence: i64,
        dims: &[i64],
        elements: i64,
        tokens: i64,
        like_weights: bool,
        by_batch: (u32, u32),
    ) -> ((u32, u32), bool) {
        // A stack of layers has the rounds of its scan in front: neither tokens nor heads.
        let rounds =
            self.program.scans.iter().any(|s| Some(&s.rounds) == dims.first() && s.rounds != sequence);
        let (dims, elements) = match dims.split_first() {
            Some((&first, rest)) if rounds && Some(first) != self.batch => (rest, elements / first),
            _ => (dims, elements),
        };
        let mut own = dims.iter().filter(|&&d| d == sequence).count();
        if self.batch == Some(sequence) {
            // One of them is the batch.
            own = own.saturating_sub(1);
        }
        // Where the batch is a dimension of its own, no other one has it merged in.
        let has_batch = self.batch.is_some_and(|batch| dims.contains(&batch));
        let merged = dims.iter().filter(|&&d| !has_batch && d != sequence && d % tokens == 0).count();
        let count = (own + merged).min(2) as u32;
        let squares = tokens.saturating_mul(sequence).max(1);
        let heads = if elements % squares == 0 { elements / squares } else { 0 };
        // A second dimension of the sequence's size may be one of features, where a parameter has such a one. Scores have heads.
        let features = self.program.weight_dims.contains(&sequence);
        let squared = count == 2 && (!features || heads >= 2);
        let powers = if like_weights {
            (0, count.min(1))
        } else if count == 0 {
            (0, u32::from(dims.iter().any(|d| d % sequence == 0)))
        } else if count == 2 && heads == 0 {
            // Not all tokens: masks, or parts of something.
            (1, 2)
        } else if features && merged == 0 && by_batch == (0, 0) {
            (0, count)
        } else {
            (1 + u32::from(squared), 1 + u32::from(squared))
        };
        (powers, own >= 2 && squared && !like_weights && heads >= 1)
    }

    /// Whether something outside the forward pass has a parameter's shape behind one more dimension: a gradient in parts, as a matrix
    /// multiplication with a split sum makes it.
    fn is_partial_gradient(&self, class: &Class, dims: &[i64]) -> bool {
        let Some((first, rest)) = dims.split_first() else { return false };
        class.role != Some(Role::Forward)
            && !rest.is_empty()
            && Some(*first) != self.batch
            && Some(*first) != self.sequence
            && self.weights.contains(sorted(rest).as_slice())
    }
}
