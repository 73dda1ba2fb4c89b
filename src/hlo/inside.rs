//! What the inside of a fusion says where the fusion itself has no metadata.

use super::assignment::BufIx;
use super::frames::Place;
use super::instruction::{InstrIx, Instruction};
use super::module::{Computation, Hlo};
use super::{namestack, shape};
use crate::terms::Role;
use crate::units::Evidence;
use std::collections::HashMap;

/// Which instruction's metadata speaks for a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The instruction.
    pub instruction: InstrIx,
    /// `Read` where it is the one that defines the buffer, `Inferred` where it is another.
    pub evidence: Evidence,
}

/// Looks up metadata and parts of buffers, remembering what is costly to find again.
///
/// Work is linear in the module: an inside is walked once, however many buffers and fusions have it.
#[derive(Debug)]
pub struct Origins<'a> {
    hlo: &'a Hlo,
    /// By the computation that is called.
    insides: HashMap<i64, Inside>,
    tuples: HashMap<InstrIx, Vec<&'a [u8]>>,
}

/// What was found inside the computations that an instruction calls.
#[derive(Debug, Default)]
struct Inside {
    /// The operands of the root where it is a tuple, else the root.
    roots: Vec<InstrIx>,
    /// The first instruction with the most common name stack.
    named: Option<InstrIx>,
    /// The first instruction with the most common Python position.
    placed: Option<InstrIx>,
    /// Whether there is a library call inside.
    library_call: bool,
}

impl<'a> Origins<'a> {
    /// For the buffers of a module.
    #[must_use]
    pub fn new(hlo: &'a Hlo) -> Origins<'a> {
        Origins { hlo, insides: HashMap::new(), tuples: HashMap::new() }
    }

    /// The module.
    #[must_use]
    pub fn hlo(&self) -> &'a Hlo {
        self.hlo
    }

    /// The `ShapeProto` of a buffer; empty where the plan doesn't lead to one.
    pub fn shape(&mut self, buffer: BufIx) -> &'a [u8] {
        let Some(it) = self.hlo.buffer(buffer) else { return &[] };
        let Some(at) = it.instruction() else { return &[] };
        let index = self.hlo.shape_index(it);
        match index.as_slice() {
            [] => self.hlo.instruction(at).shape,
            [i, rest @ ..] => {
                let parts =
                    self.tuples.entry(at).or_insert_with(|| shape::parts(self.hlo.instruction(at).shape));
                let part = usize::try_from(*i).ok().and_then(|i| parts.get(i).copied());
                part.and_then(|part| shape::subshape(part, rest)).unwrap_or(&[])
            }
        }
    }

    /// The role of a buffer and how it is known.
    pub fn role(&mut self, buffer: BufIx) -> (Role, Evidence) {
        let Some(at) = self.hlo.buffer(buffer).and_then(|b| b.instruction()) else {
            return (Role::Other, Evidence::Inferred);
        };
        let it = self.hlo.instruction(at);
        match it.opcode {
            // Its name is an argument path.
            "parameter" if self.is_entry_parameter(at) => return (Role::Other, Evidence::Read),
            "custom-call" if namestack::is_library_call(it.custom_call_target) && self.is_scratch(buffer) => {
                return (Role::Workspace, Evidence::Read);
            }
            "fusion" if self.is_scratch(buffer) && self.inside(&it).library_call => {
                return (Role::Workspace, Evidence::Inferred);
            }
            _ => {}
        }
        match self.name_stack(buffer) {
            Some(origin) => {
                let role = namestack::role_of(self.hlo.instruction(origin.instruction).op_name);
                (role.unwrap_or(Role::Other), origin.evidence)
            }
            None => (Role::Other, Evidence::Read),
        }
    }

    /// Whose name stack speaks for a buffer: its instruction's; for a fusion without one its root's, then the most common
    /// one inside; else that of an alias.
    pub fn name_stack(&mut self, buffer: BufIx) -> Option<Origin> {
        let at = self.hlo.buffer(buffer)?.instruction()?;
        let it = self.hlo.instruction(at);
        if !it.op_name.is_empty() {
            return Some(Origin { instruction: at, evidence: Evidence::Read });
        }
        let inferred = |instruction| Some(Origin { instruction, evidence: Evidence::Inferred });
        if calls_inline(&it) {
            let index = self.hlo.buffer(buffer).map(|b| self.hlo.shape_index(b)).unwrap_or_default();
            let hlo = self.hlo;
            let inside = self.inside(&it);
            let part = index.first().and_then(|&i| usize::try_from(i).ok()).unwrap_or(0);
            let root = inside.roots.get(part).copied().filter(|&r| !hlo.instruction(r).op_name.is_empty());
            if let Some(found) = root.or(inside.named) {
                return inferred(found);
            }
        }
        let alias = self.hlo.aliases_of(buffer).map(|(alias, _)| alias).find(|&alias| {
            let it = self.hlo.instruction(alias);
            !it.op_name.is_empty() && it.opcode != "parameter"
        });
        alias.and_then(inferred)
    }

    /// Whose Python position speaks for a buffer: its instruction's; for a fusion without one the most common inside; else
    /// that of whatever has the name stack.
    pub fn position(&mut self, buffer: BufIx) -> Option<Origin> {
        let at = self.hlo.buffer(buffer)?.instruction()?;
        let it = self.hlo.instruction(at);
        if self.hlo.source(&it).is_some() {
            return Some(Origin { instruction: at, evidence: Evidence::Read });
        }
        let inside = if calls_inline(&it) { self.inside(&it).placed } else { None };
        let found = inside.or_else(|| {
            let named = self.name_stack(buffer)?.instruction;
            self.hlo.source(&self.hlo.instruction(named)).map(|_| named)
        });
        found.map(|instruction| Origin { instruction, evidence: Evidence::Inferred })
    }

    fn is_entry_parameter(&self, at: InstrIx) -> bool {
        self.hlo.entry().is_some_and(|entry| self.hlo.is_in(at, entry))
    }

    /// Whether a buffer is a flat array of bytes inside a tuple.
    fn is_scratch(&mut self, buffer: BufIx) -> bool {
        if self.hlo.buffer(buffer).is_none_or(|b| self.hlo.shape_index(b).is_empty()) {
            return false;
        }
        let shape = self.shape(buffer);
        // S8 and U8
        matches!(shape::element_of(shape), 2 | 6) && shape::rank_of(shape) == 1
    }

    fn inside(&mut self, caller: &Instruction<'_>) -> &Inside {
        let hlo = self.hlo;
        // 0 is the id of no computation.
        let called = caller.called_computation_ids().next().unwrap_or(0);
        self.insides
            .entry(called)
            .or_insert_with(|| hlo.computation(called).map(|c| look_inside(hlo, c)).unwrap_or_default())
    }
}

/// Whether an instruction stands for the computation that it calls.
fn calls_inline(it: &Instruction<'_>) -> bool {
    matches!(it.opcode, "fusion" | "call" | "async-start")
}

fn look_inside(hlo: &Hlo, called: &Computation) -> Inside {
    let mut out = Inside::default();
    if let Some(root) = hlo.root_of(called) {
        let it = hlo.instruction(root);
        out.roots = if it.opcode == "tuple" {
            it.operand_ids().map(|id| hlo.by_id(id).unwrap_or(root)).collect()
        } else {
            vec![root]
        };
    }
    let mut names: HashMap<&str, (u32, InstrIx)> = HashMap::new();
    let mut places: HashMap<Place<'_>, (u32, InstrIx)> = HashMap::new();
    for inner in hlo.instructions_of(called) {
        let it = hlo.instruction(inner);
        out.library_call |= it.opcode == "custom-call" && namestack::is_library_call(it.custom_call_target);
        if !it.op_name.is_empty() && it.opcode != "parameter" {
            names.entry(it.op_name).or_insert((0, inner)).0 += 1;
        }
        if let Some(place) = hlo.place(&it) {
            places.entry(place).or_insert((0, inner)).0 += 1;
        }
    }
    // The earlier of two equally common ones, so that the answer does not depend on the order of a hash map.
    let most = |counts: Vec<(u32, InstrIx)>| {
        counts.into_iter().max_by_key(|&(n, first)| (n, std::cmp::Reverse(first))).map(|(_, first)| first)
    };
    out.named = most(names.into_values().collect());
    out.placed = most(places.into_values().collect());
    out
}
