//! What the inside of a fusion says where the fusion itself has no metadata.

use super::assignment::BufIx;
use super::frames::Place;
use super::instruction::{InstrIx, Instruction};
use super::module::{Computation, Hlo};
use super::shape::Shape;
use super::{namestack, shape};
use crate::terms::Role;
use crate::units::Evidence;
use std::collections::HashMap;
use std::rc::Rc;

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
    /// Instructions, and the parts that their name stacks give: one that makes a tuple defines thousands of buffers.
    read: HashMap<InstrIx, (Instruction<'a>, Option<Role>)>,
    /// What speaks for a buffer: one can be live a thousand times and have a thousand aliases.
    names: HashMap<BufIx, Option<Origin>>,
    /// The parts of tuples, by where their `ShapeProto` stands.
    tuples: HashMap<Stretch, Vec<&'a [u8]>>,
    /// Shapes, by where their `ShapeProto` stands.
    shapes: HashMap<Stretch, Rc<Shape>>,
}

/// Where some bytes of the module begin, and how many they are.
type Stretch = (usize, usize);

fn stretch(bytes: &[u8]) -> Stretch {
    (bytes.as_ptr().addr(), bytes.len())
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
        let (insides, read, names) = Default::default();
        Origins { hlo, insides, read, names, tuples: HashMap::new(), shapes: HashMap::new() }
    }

    fn instruction(&mut self, at: InstrIx) -> Instruction<'a> {
        self.read_once(at).0
    }

    fn read_once(&mut self, at: InstrIx) -> (Instruction<'a>, Option<Role>) {
        let hlo = self.hlo;
        *self.read.entry(at).or_insert_with(|| {
            let it = hlo.instruction(at);
            (it, namestack::role_of(it.op_name))
        })
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
        let mut found = self.instruction(at).shape;
        for i in index {
            let parts = self.tuples.entry(stretch(found)).or_insert_with(|| shape::parts(found));
            let Some(&part) = usize::try_from(i).ok().and_then(|i| parts.get(i)) else { return &[] };
            found = part;
        }
        found
    }

    /// The shape of a buffer, decoded.
    pub fn decoded(&mut self, buffer: BufIx) -> Rc<Shape> {
        let bytes = self.shape(buffer);
        let known = self.shapes.entry(stretch(bytes));
        known.or_insert_with(|| Rc::new(Shape::from(&shape::decode(bytes)))).clone()
    }

    /// The role of a buffer and how it is known.
    pub fn role(&mut self, buffer: BufIx) -> (Role, Evidence) {
        let Some(at) = self.hlo.buffer(buffer).and_then(|b| b.instruction()) else {
            return (Role::Other, Evidence::Inferred);
        };
        let it = self.instruction(at);
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
                let role = self.read_once(origin.instruction).1;
                (role.unwrap_or(Role::Other), origin.evidence)
            }
            None => (Role::Other, Evidence::Read),
        }
    }

    /// Whose name stack speaks for a buffer: its instruction's; for a fusion without one its root's, then the most common
    /// one inside; else that of an alias.
    pub fn name_stack(&mut self, buffer: BufIx) -> Option<Origin> {
        if let Some(known) = self.names.get(&buffer) {
            return *known;
        }
        let found = self.find_name_stack(buffer);
        self.names.insert(buffer, found);
        found
    }

    fn find_name_stack(&mut self, buffer: BufIx) -> Option<Origin> {
        let at = self.hlo.buffer(buffer)?.instruction()?;
        let it = self.instruction(at);
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
        let hlo = self.hlo;
        let alias = hlo.aliases_of(buffer).map(|(alias, _)| alias).find(|&alias| {
            let it = self.instruction(alias);
            !it.op_name.is_empty() && it.opcode != "parameter"
        });
        alias.and_then(inferred)
    }

    /// Whose Python position speaks for a buffer: its instruction's; for a fusion without one the most common inside; else
    /// that of whatever has the name stack.
    pub fn position(&mut self, buffer: BufIx) -> Option<Origin> {
        let at = self.hlo.buffer(buffer)?.instruction()?;
        let it = self.instruction(at);
        if self.hlo.source(&it).is_some() {
            return Some(Origin { instruction: at, evidence: Evidence::Read });
        }
        let inside = if calls_inline(&it) { self.inside(&it).placed } else { None };
        let found = inside.or_else(|| {
            let named = self.name_stack(buffer)?.instruction;
            let it = self.instruction(named);
            self.hlo.source(&it).map(|_| named)
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
