//! What each fix does to a scene, and what it acts on.

use super::FixKind;
use super::picture::{self, Class, NONE, Picture, Piece, Stories};
use super::program::{Program, is_float};
use super::remat::Remat;
use super::scale;
use super::scene::{Scene, Side};
use crate::plan::Plan;
use crate::terms::Role;
use std::collections::HashMap;

/// By which part of itself the temp can come out smaller, and larger, than what stays of the old schedule: XLA schedules and fuses a
/// changed program anew. The numbers are from compiled pairs (`docs/estimates.md`), rounded up.
fn slack(fix: FixKind) -> (f64, f64) {
    match fix {
        // The order of the updates changes, and copies come in.
        FixKind::Donate | FixKind::DropOutputs => (0.10, 0.18),
        // What is computed again is fused anew: some of it never becomes a buffer.
        FixKind::Remat => (0.18, 0.08),
        // A loop over parts brings copies of its state.
        FixKind::Accumulate(_) => (0.10, 0.15),
        FixKind::Pool(_) => (0.0, 0.0),
        _ => (0.12, 0.08),
    }
}

/// `xla.PrimitiveType` of float32.
const F32: i32 = 11;

/// Some of the outputs, with their buffers.
#[derive(Debug, Clone, Default)]
pub(super) struct Outputs {
    /// By the position of a home in [`Picture::homes`], whether it is one of theirs.
    homes: Vec<bool>,
    /// Their bytes, each buffer's once.
    pub bytes: u64,
}

impl Outputs {
    /// Of the indexes of allocations and the bytes of the outputs in them.
    fn of(picture: &Picture, outputs: &HashMap<i64, u64>) -> Outputs {
        Outputs {
            homes: picture.homes.iter().map(|index| outputs.contains_key(index)).collect(),
            bytes: outputs.values().copied().fold(0, u64::saturating_add),
        }
    }

    /// Whether a piece lies in one of the buffers.
    pub fn holds(&self, piece: &Piece) -> bool {
        self.homes.get(piece.home as usize) == Some(&true)
    }
}

/// Everything that the fixes need to know of a plan.
#[derive(Debug, Clone)]
pub(super) struct Basis {
    pub picture: Picture,
    pub program: Program,
    pub remat: Remat,
    /// Outputs that a parameter of their shape could be donated for.
    pub donatable: Outputs,
    /// Outputs that neither share a parameter's buffer nor have one of their shape.
    pub extra: Outputs,
    /// The last read of each piece in the buffers of `extra`, where it is read.
    read_last: HashMap<usize, u32>,
    /// By class the bytes of all pieces that are no outputs, and of the outputs.
    bytes: Vec<[u64; 2]>,
    /// The same of those that are live when most of the temp is.
    alive: Vec<[u64; 2]>,
    /// Stands for arrays of the weights' shapes, in [`Picture::classes`].
    pub class_of_weights: u32,
}

impl Basis {
    pub fn new(
        plan: &Plan,
        program: Program,
        mut picture: Picture,
        stories: &Stories,
        remat: Remat,
    ) -> Basis {
        let outputs = &plan.donation.outputs;
        let allocation_of = |i: usize| outputs.get(i).and_then(|o| o.allocation);
        let donatable: HashMap<i64, u64> = plan
            .donation
            .missed_pairs()
            .filter_map(|pair| Some((allocation_of(pair.output)?, pair.bytes.0)))
            .collect();
        let extra = outputs
            .iter()
            .filter(|o| o.aliased.is_none() && o.color == 0 && !o.shape.dims.is_empty())
            .filter_map(|o| Some((o.allocation?, o.bytes.0)))
            .filter(|(allocation, _)| !donatable.contains_key(allocation))
            .collect();
        let (donatable, extra) = (Outputs::of(&picture, &donatable), Outputs::of(&picture, &extra));
        let in_extra = picture.pieces.iter().enumerate().filter(|(_, piece)| extra.holds(piece));
        let read_last = in_extra.filter_map(|(i, _)| Some((i, stories.reads(i).last()?.0))).collect();
        let class_of_weights = picture.classes.len() as u32;
        picture.classes.push(Class {
            element: F32,
            role: Some(Role::Backward),
            weight_like: true,
            ..Class::default()
        });
        let fullest = picture::fullest(picture.moments, &picture.pieces, Piece::is_temp);
        let bytes = by_class(&picture, |_| true);
        let alive = by_class(&picture, |piece| (piece.first..=piece.last).contains(&fullest));
        Basis { picture, program, remat, donatable, extra, read_last, bytes, alive, class_of_weights }
    }

    /// Bytes of the buffers that a fix acts on.
    pub fn acts_on(&self, fix: FixKind) -> u64 {
        self.among(&self.bytes, fix)
    }

    /// Of these, the bytes that are live at the peak.
    pub fn alive(&self, fix: FixKind) -> u64 {
        self.among(&self.alive, fix)
    }

    fn among(&self, sums: &[[u64; 2]], fix: FixKind) -> u64 {
        let program = &self.program;
        let sum = |which: &dyn Fn(bool, &Class) -> bool| self.sum(sums, which);
        let shrunk = |sequence| sum(&|returned, class| !returned && scale::shrinks(class, sequence));
        match fix {
            FixKind::Donate => self.donatable.bytes,
            FixKind::DropOutputs => self.extra.bytes,
            FixKind::Remat => self.remat.acts_on,
            FixKind::FusedAttention => sum(&|_, class| class.scaling.scores),
            FixKind::Batch(k) if program.batch.is_some_and(|b| b >= i64::from(k)) => {
                shrunk(false).saturating_add(program.inputs())
            }
            FixKind::Accumulate(k) if program.batch.is_some_and(|b| b >= i64::from(k)) && self.trains() => {
                shrunk(false)
            }
            FixKind::Sequence(k) if program.sequence.is_some_and(|s| s >= i64::from(k)) => {
                shrunk(true).saturating_add(program.inputs())
            }
            FixKind::Bf16 => sum(&|_, class| is_f32_of_step(class)),
            FixKind::Bf16State => program
                .sum(|a| a.state && a.element == F32)
                .saturating_add(sum(&|returned, c| c.weight_like && c.element == F32 || returned)),
            FixKind::Offload => program.optimizer(),
            FixKind::Shard(_) if self.trains() => {
                program.sum(|a| a.state).saturating_add(sum(&|returned, class| class.weight_like || returned))
            }
            _ => 0,
        }
    }

    /// Whether a fix brings arrays that are larger than what it takes for sure.
    pub fn adds(&self, fix: FixKind) -> bool {
        let program = &self.program;
        match fix {
            // The sums of the gradients; casts of the weights.
            FixKind::Accumulate(_) | FixKind::Bf16 => true,
            // The weights gathered for use, in place of the part of the state that other devices keep.
            FixKind::Shard(n) => {
                let state = program.sum(|a| a.state);
                program.weights() > state - state / u64::from(n.max(1))
            }
            _ => false,
        }
    }

    fn trains(&self) -> bool {
        self.program.split.is_some() && self.program.weights() > 0
    }

    /// Bytes of some of the pieces; `which` is told whether they are outputs, and what they hold.
    fn sum(&self, sums: &[[u64; 2]], which: &dyn Fn(bool, &Class) -> bool) -> u64 {
        let of_class = |(class, sums): (&Class, &[u64; 2])| {
            let sum = |returned| if which(returned, class) { sums[usize::from(returned)] } else { 0 };
            sum(false).saturating_add(sum(true))
        };
        self.picture.classes.iter().zip(sums).map(of_class).fold(0, u64::saturating_add)
    }

    /// Applies a fix to one end of the interval.
    pub fn apply(&self, fix: FixKind, scene: &mut Scene) {
        let classes = &self.picture.classes;
        let program = &self.program;
        let (less, more) = slack(fix);
        let slack = if scene.side == Side::Least { less } else { more };
        scene.slack = scene.slack.max(slack).max(self.picture.strays.min(1.0));
        match fix {
            FixKind::Donate => self.donate(scene),
            // It lives until it is read last.
            FixKind::DropOutputs => scene.evict(&self.extra, |i, output| {
                output.last = self.read_last.get(&i).copied().unwrap_or(output.first);
            }),
            FixKind::Remat => self.remat.apply(scene),
            FixKind::FusedAttention => self.fuse_attention(scene),
            FixKind::Batch(k) => {
                scale::shrink(scene, classes, false, k);
                self.shrink_inputs(scene, k);
            }
            FixKind::Sequence(k) => {
                scale::shrink(scene, classes, true, k);
                self.shrink_inputs(scene, k);
            }
            FixKind::Accumulate(k) => {
                scale::shrink(scene, classes, false, k);
                self.add_sums(scene);
            }
            FixKind::Bf16 => self.halve_activations(scene),
            FixKind::Bf16State => self.halve_state(scene),
            FixKind::Offload => {
                let moved = program.optimizer();
                scene.parameters = scene.parameters.saturating_sub(moved);
                if scene.side == Side::Most {
                    // XLA may bring all of it back at once.
                    let first = program.split.unwrap_or(0);
                    self.add(scene, first, scene.moments, moved);
                }
            }
            FixKind::Shard(n) => self.shard(scene, u64::from(n.max(1))),
            FixKind::Pool(_) => {}
        }
    }

    /// The new value is written over the old one: it needs no place of its own. A gradient that lay where the new value was made
    /// does; in the best case it is made right before the update that reads it, as XLA can order them once an update takes no new
    /// memory, in the worst it lives as long as now.
    fn donate(&self, scene: &mut Scene) {
        if scene.side == Side::Least {
            for piece in scene.pieces.iter_mut().filter(|p| !p.returned) {
                if self.donatable.holds(piece) && self.picture.class_of(piece).is_some_and(is_gradient) {
                    piece.first = piece.last;
                }
            }
        }
        scene.evict(&self.donatable, |_, output| output.bytes = 0);
    }

    fn add(&self, scene: &mut Scene, first: u32, last: u32, bytes: u64) {
        let class = self.class_of_weights;
        scene.pieces.push(Piece { first, last, bytes, home: NONE, class, returned: false });
    }

    fn shrink_inputs(&self, scene: &mut Scene, k: u32) {
        let inputs = self.program.inputs();
        scene.parameters = scene.parameters.saturating_sub(inputs - inputs / u64::from(k.max(1)));
    }

    /// A fused kernel keeps one number a row of the scores for the backward pass; in the worst case its backward pass also adds
    /// up the queries' gradient in float32, 128 features a row.
    fn fuse_attention(&self, scene: &mut Scene) {
        let sequence = self.program.sequence.unwrap_or(1).unsigned_abs().max(1);
        for piece in &mut scene.pieces {
            let Some(class) = self.picture.class_of(piece) else { continue };
            if !class.scaling.scores {
                continue;
            }
            let elements = class.dims.iter().fold(1u64, |n, &d| n.saturating_mul(d.unsigned_abs()));
            let row = if scene.side == Side::Least { 4 } else { 4 * 128 };
            piece.bytes = piece.bytes.min((elements / sequence).saturating_mul(row));
        }
    }

    /// The sums of the gradients live as long as the loop over the parts does, and so through the peak. In the best case each part's
    /// gradient is added as soon as it is made, in the worst they all live beside the sums as now.
    fn add_sums(&self, scene: &mut Scene) {
        if scene.side == Side::Least {
            for piece in scene.pieces.iter_mut().filter(|p| !p.returned) {
                if self.picture.class_of(piece).is_some_and(is_gradient) {
                    piece.bytes = 0;
                }
            }
        }
        self.add(scene, 0, scene.moments, self.program.weights());
    }

    /// In the best case all float32 of the step proper is halved. In the worst the logits stay as they are, as losses are mostly
    /// computed from float32, and casts of all weights are held.
    fn halve_activations(&self, scene: &mut Scene) {
        let widest = self.program.weight_dims.iter().max().copied();
        for piece in scene.pieces.iter_mut().filter(|p| !p.returned) {
            let Some(class) = self.picture.class_of(piece) else { continue };
            let stays = scene.side == Side::Most
                && (class.weight_like || class.dims.iter().any(|d| Some(*d) == widest));
            if is_f32_of_step(class) && !stays {
                piece.bytes = piece.bytes.div_ceil(2);
            }
        }
        if scene.side == Side::Most {
            let cast = self.program.sum(|a| a.forward && a.state && a.element == F32) / 2;
            self.add(scene, 0, scene.moments, cast);
        }
    }

    fn halve_state(&self, scene: &mut Scene) {
        let state = self.program.sum(|a| a.state && a.element == F32);
        scene.parameters = scene.parameters.saturating_sub(state / 2);
        self.shrink_weights(scene, 2, false, |class| class.element == F32);
    }

    /// A nth of the state and of the gradients on each device. The weights are gathered for use and stay so from the forward to the
    /// backward pass, since XLA merges equal gathers. A scan gathers one layer a round, which the layer's slice stands for.
    fn shard(&self, scene: &mut Scene, n: u64) {
        let state = self.program.sum(|a| a.state);
        scene.parameters = scene.parameters.saturating_sub(state - state / n);
        self.shrink_weights(scene, n, true, |_| true);
        for weight in self.program.arguments.iter().filter(|a| a.state && a.forward && !a.scanned) {
            let spans = || weight.reads.iter().flatten();
            if let (Some(first), Some(last)) = (spans().map(|s| s.0).min(), spans().map(|s| s.1).max()) {
                self.add(scene, first, last, weight.bytes);
            }
        }
    }

    /// Divides outputs of state, and what has a parameter's shape. Where devices share it, one layer of a stacked parameter stays whole,
    /// and in the worst case all does that is no stack.
    fn shrink_weights(&self, scene: &mut Scene, by: u64, sharing: bool, which: impl Fn(&Class) -> bool) {
        let mut freed = 0u64;
        for piece in &mut scene.pieces {
            let Some(class) = self.picture.class_of(piece) else { continue };
            let state = piece.returned && self.donatable.holds(piece);
            if !(state || class.weight_like) || !which(class) {
                continue;
            }
            let smaller = piece.bytes.div_ceil(by);
            if state {
                freed = freed.saturating_add(piece.bytes - smaller);
                piece.bytes = smaller;
            } else if !piece.returned
                && !(sharing && ((scene.side == Side::Most && !class.stack_like) || class.slice_like))
            {
                piece.bytes = smaller;
            }
        }
        scene.outputs = scene.outputs.saturating_sub(freed);
    }
}

/// By class the bytes of some pieces that are no outputs, and of the outputs.
fn by_class(picture: &Picture, which: impl Fn(&Piece) -> bool) -> Vec<[u64; 2]> {
    let mut bytes = vec![[0u64; 2]; picture.classes.len()];
    for piece in picture.pieces.iter().filter(|piece| which(piece)) {
        if let Some(sums) = bytes.get_mut(piece.class as usize) {
            let sum = &mut sums[usize::from(piece.returned)];
            *sum = sum.saturating_add(piece.bytes);
        }
    }
    bytes
}

/// Whether something is of a weight's shape and of the backward pass.
fn is_gradient(class: &Class) -> bool {
    class.weight_like && class.role == Some(Role::Backward)
}

fn is_f32_of_step(class: &Class) -> bool {
    is_float(class.element)
        && class.element == F32
        && matches!(class.role, Some(Role::Forward | Role::Backward | Role::Recomputed))
}
