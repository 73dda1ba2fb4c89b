//! Buffers in words: what is where, who made it, what for.

use super::{Life, Plan};
use crate::arrange::Arrange;
use crate::hlo::{BufIx, Hlo, Origins, Shape};
use crate::plain::cut;
use crate::terms::{BufferKind, Role, SourceLine};
use crate::units::{Bytes, Evidence};
use std::collections::HashMap;

/// One buffer of the plan, described.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanBuffer {
    /// Its position in the plan.
    pub buffer: BufIx,
    /// Its id in the plan.
    pub id: i64,
    /// Its size.
    pub bytes: Bytes,
    /// What kind of allocation it lies in.
    pub kind: BufferKind,
    /// The memory space.
    pub color: i64,
    /// Its shape.
    pub shape: Shape,
    /// The instruction that defines it, with the place inside its result: `fusion.3{1}`.
    pub instruction: String,
    /// That instruction's opcode.
    pub opcode: String,
    /// Its part in the step.
    pub role: Role,
    /// `Read` where the instruction's own name stack says the role.
    pub role_evidence: Evidence,
    /// The JAX name stack; the argument path, for a parameter.
    pub op_name: Option<String>,
    /// The Python position.
    pub source: Option<SourceLine>,
    /// Index of the allocation.
    pub allocation: i64,
    /// Where in the allocation.
    pub offset: Bytes,
    /// First event of the schedule after which it is live; `None` for what is live throughout.
    pub first_event: Option<u64>,
    /// Last event of the schedule after which it is live.
    pub last_event: Option<u64>,
}

/// Describes buffers of one module, remembering what is costly to find again.
#[derive(Debug)]
pub struct Describer<'a> {
    hlo: &'a Hlo,
    origins: Origins<'a>,
    /// Bytes left for long shapes.
    long_shapes: usize,
    /// Name stacks by their numbers, cut.
    names: HashMap<u32, String>,
}

/// A shape as text is long from here on: the tuple that is a program's whole result.
const LONG_SHAPE: usize = 2048;
/// Bytes of long shapes in one list; a module has a few, and a hostile one can repeat one in every row.
const MOST_LONG_SHAPES: usize = 16 << 20;

impl<'a> Describer<'a> {
    /// For the buffers of a module.
    #[must_use]
    pub fn new(hlo: &'a Hlo) -> Describer<'a> {
        Describer { hlo, origins: Origins::new(hlo), long_shapes: MOST_LONG_SHAPES, names: HashMap::new() }
    }

    /// A buffer, without its life; `None` for one that lies in no allocation but a thread-local one.
    pub fn describe(&mut self, buffer: BufIx) -> Option<PlanBuffer> {
        let it = self.hlo.buffer(buffer)?;
        let place = self.hlo.place_of(buffer)?;
        let allocation = self.hlo.allocations().get(place.allocation as usize)?;
        let kind = allocation.kind()?;
        let hlo = self.hlo;
        let instruction = it.instruction().map(|at| hlo.unnamed(at)).unwrap_or_default();
        let index = self.hlo.shape_index(it);
        let (role, role_evidence) = self.origins.role(buffer);
        let named = self.origins.name_stack(buffer).map(|o| hlo.name_number(o.instruction));
        let names = &mut self.names;
        let op_name = named.map(|n| names.entry(n).or_insert_with(|| cut(hlo.name_stack(n))).clone());
        let placed = self.origins.position(buffer);
        Some(PlanBuffer {
            buffer,
            id: it.id,
            bytes: it.size,
            kind,
            color: allocation.color,
            shape: self.shape(buffer),
            instruction: named_place(&cut(instruction.name), &index),
            opcode: cut(instruction.opcode),
            role,
            role_evidence,
            op_name,
            source: placed.and_then(|o| hlo.source(&hlo.unnamed(o.instruction))),
            allocation: allocation.index,
            offset: place.offset,
            first_event: None,
            last_event: None,
        })
    }

    fn shape(&mut self, buffer: BufIx) -> Shape {
        let known = self.origins.decoded(buffer);
        if known.text.len() > LONG_SHAPE {
            let Some(left) = self.long_shapes.checked_sub(known.text.len()) else {
                return Shape { text: cut(&known.text), dims: known.dims.clone(), element: known.element };
            };
            self.long_shapes = left;
        }
        Shape::clone(&known)
    }

    /// The whole Python stack of a buffer, innermost frame first; empty where the module has none.
    pub fn frames(&mut self, buffer: BufIx) -> Vec<SourceLine> {
        let placed = self.origins.position(buffer);
        placed.map(|o| self.hlo.frames(&self.hlo.unnamed(o.instruction))).unwrap_or_default()
    }

    /// What lives in temp blocks, with its life, largest first.
    pub fn lives<'l>(&mut self, lives: impl Iterator<Item = &'l Life>) -> Vec<PlanBuffer> {
        let mut out: Vec<PlanBuffer> = lives
            .filter_map(|life| {
                let mut it = self.describe(life.buffer)?;
                it.bytes = life.bytes;
                it.first_event = Some(life.first.into());
                it.last_event = Some(life.last.into());
                Some(it)
            })
            .collect();
        sort(&mut out);
        out
    }

    /// The buffers of a memory space that are live throughout: one of each parameter, output and constant, largest first.
    pub fn lasting(&mut self, color: i64) -> Vec<PlanBuffer> {
        let hlo = self.hlo;
        let mut out: Vec<PlanBuffer> = hlo
            .allocations()
            .iter()
            .filter(|a| {
                a.color == color && a.size > Bytes::ZERO && !matches!(a.kind(), None | Some(BufferKind::Temp))
            })
            .filter_map(|a| {
                // The first of the largest: what an allocation was made for comes before what was fitted in later.
                let largest = hlo.assigned(a).iter().rev().max_by_key(|place| place.size)?;
                self.describe(largest.buffer)
            })
            .collect();
        sort(&mut out);
        out
    }
}

/// An instruction's name with the place inside its result, as XLA writes it.
fn named_place(name: &str, index: &[i64]) -> String {
    if index.is_empty() {
        return name.to_owned();
    }
    let index: Vec<String> = index.iter().map(i64::to_string).collect();
    format!("{name}{{{}}}", index.join(","))
}

impl Plan {
    /// The buffers in the temp blocks of memory space 0 right after an event of its schedule, largest first.
    pub fn temp_buffers_at(&self, event: u64, describer: &mut Describer<'_>) -> Vec<PlanBuffer> {
        describer.lives(self.live_at(event))
    }

    /// The buffers of memory space 0 that are live throughout: one of each parameter, output and constant, largest first.
    pub fn lasting_buffers(&self, describer: &mut Describer<'_>) -> Vec<PlanBuffer> {
        describer.lasting(0)
    }
}

fn sort(buffers: &mut [PlanBuffer]) {
    buffers.arrange_by_key(|b| (std::cmp::Reverse(b.bytes), b.id));
}
