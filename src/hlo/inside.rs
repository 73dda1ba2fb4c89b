//! What the inside of a fusion says where the fusion itself has no metadata.

use super::assignment::{BufIx, LogicalBuffer};
use super::instruction::{InstrIx, Instruction};
use super::module::{Computation, Hlo};
use super::shape::Shape;
use super::{namestack, shape};
use crate::arrange::Arrange;
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
    /// By the number of the opcode.
    kinds: Vec<Kind>,
    /// By the computation that is called, the first instruction inside with the most common name stack.
    named: HashMap<i64, Option<InstrIx>>,
    /// The same with the most common Python position.
    placed: HashMap<i64, Option<InstrIx>>,
    /// By the computation that is called, whether there is a library call inside.
    library_calls: HashMap<i64, bool>,
    /// What speaks for a buffer whose instruction has no name stack: one can be live a thousand times and have a thousand
    /// aliases.
    names: HashMap<BufIx, Option<Origin>>,
    /// The roles of buffers' aliases, of those that were asked for.
    by_alias: HashMap<BufIx, Option<Role>>,
    /// The parts of tuples, by where their `ShapeProto` stands.
    tuples: HashMap<Stretch, Vec<&'a [u8]>>,
    /// Shapes, by where their `ShapeProto` stands.
    shapes: HashMap<Stretch, Rc<Shape>>,
    /// Numbers of the shapes of parts of tuples, by where their `ShapeProto` stands.
    numbers: HashMap<Stretch, u32>,
}

/// Where some bytes of the module begin, and how many they are.
type Stretch = (usize, usize);

fn stretch(bytes: &[u8]) -> Stretch {
    (bytes.as_ptr().addr(), bytes.len())
}

/// What has to be known of an opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Parameter,
    CustomCall,
    Fusion,
    /// A call, or the start of one: stands for the computation that it calls, as a fusion does.
    Call,
    Tuple,
    Other,
}

fn kind_of(opcode: &str) -> Kind {
    match opcode {
        "parameter" => Kind::Parameter,
        "custom-call" => Kind::CustomCall,
        "fusion" => Kind::Fusion,
        "call" | "async-start" => Kind::Call,
        "tuple" => Kind::Tuple,
        _ => Kind::Other,
    }
}

impl<'a> Origins<'a> {
    /// For the buffers of a module.
    #[must_use]
    pub fn new(hlo: &'a Hlo) -> Origins<'a> {
        Origins {
            hlo,
            kinds: hlo.opcodes().0.into_iter().map(kind_of).collect(),
            named: HashMap::new(),
            placed: HashMap::new(),
            library_calls: HashMap::new(),
            names: HashMap::new(),
            by_alias: HashMap::new(),
            tuples: HashMap::new(),
            shapes: HashMap::new(),
            numbers: HashMap::new(),
        }
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
        let mut found = self.hlo.shape_proto(self.hlo.shape_number(at));
        for i in self.hlo.shape_index(it) {
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

    /// A number for the shape of a buffer, one for equal ones, nearly always. Those of tuples' parts come after the module's.
    pub fn shape_number(&mut self, buffer: BufIx) -> u32 {
        let hlo = self.hlo;
        let known = hlo.buffer(buffer).and_then(|it| Some((it, it.instruction()?)));
        match known {
            Some((it, at)) if it.is_whole() => hlo.shape_number(at),
            _ => {
                let next = (hlo.shape_count() + self.numbers.len()) as u32;
                let shape = self.shape(buffer);
                *self.numbers.entry(stretch(shape)).or_insert(next)
            }
        }
    }

    /// The element type and the dimensions of a buffer.
    pub fn element_and_dims(&mut self, buffer: BufIx) -> (i32, Vec<i64>) {
        let shape = shape::decode(self.shape(buffer));
        (shape.element_type, shape.dimensions)
    }

    /// The role of a buffer and how it is known.
    #[inline(never)]
    pub fn role(&mut self, buffer: BufIx) -> (Role, Evidence) {
        let hlo = self.hlo;
        let Some(at) = hlo.buffer(buffer).and_then(|b| b.instruction()) else {
            return (Role::Other, Evidence::Inferred);
        };
        match self.kind(at) {
            // Its name is an argument path.
            Kind::Parameter if self.is_entry_parameter(at) => return (Role::Other, Evidence::Read),
            Kind::CustomCall if self.is_scratch(buffer) && is_library_call(hlo, at) => {
                return (Role::Workspace, Evidence::Read);
            }
            Kind::Fusion if self.is_scratch(buffer) && self.has_library_call(at) => {
                return (Role::Workspace, Evidence::Inferred);
            }
            _ => {}
        }
        let role = |origin: Origin| Some((hlo.own_role(origin.instruction)?, origin.evidence));
        if let Some(known) = self.name_stack(buffer).and_then(role) {
            return known;
        }
        // XLA names what it makes itself, `broadcast.61`: no stack, so that an alias speaks.
        let alias = match self.by_alias.get(&buffer) {
            Some(known) => *known,
            None => {
                let others = hlo.aliases_of(buffer).map(|(alias, _)| alias);
                let found = others
                    .filter(|&alias| self.kind(alias) != Kind::Parameter)
                    .find_map(|alias| hlo.own_role(alias));
                self.by_alias.insert(buffer, found);
                found
            }
        };
        alias.map_or((Role::Other, Evidence::Read), |role| (role, Evidence::Inferred))
    }

    /// Whose name stack speaks for a buffer: its instruction's; for a fusion without one its root's, then the most common
    /// one inside; else that of an alias.
    pub fn name_stack(&mut self, buffer: BufIx) -> Option<Origin> {
        let at = self.hlo.buffer(buffer)?.instruction()?;
        if self.is_named(at) {
            return Some(Origin { instruction: at, evidence: Evidence::Read });
        }
        if let Some(known) = self.names.get(&buffer) {
            return *known;
        }
        let found = self.find_name_stack(buffer, at);
        self.names.insert(buffer, found);
        found
    }

    fn kind(&self, at: InstrIx) -> Kind {
        self.kinds.get(self.hlo.opcode_number(at) as usize).copied().unwrap_or(Kind::Other)
    }

    /// Whether an instruction stands for the computation that it calls.
    fn calls_inline(&self, at: InstrIx) -> bool {
        matches!(self.kind(at), Kind::Fusion | Kind::Call)
    }

    fn is_named(&self, at: InstrIx) -> bool {
        self.hlo.name_number(at) != 0
    }

    fn find_name_stack(&mut self, buffer: BufIx, at: InstrIx) -> Option<Origin> {
        let hlo = self.hlo;
        let inferred = |instruction| Some(Origin { instruction, evidence: Evidence::Inferred });
        if self.calls_inline(at) {
            let called = called_by(&hlo.unnamed(at));
            let root = self.root_inside(called, buffer).filter(|&root| self.is_named(root));
            if let Some(found) = root.or_else(|| self.named_inside(called)) {
                return inferred(found);
            }
        }
        let mut aliases = hlo.aliases_of(buffer).map(|(alias, _)| alias);
        aliases.find(|&alias| self.is_named(alias) && self.kind(alias) != Kind::Parameter).and_then(inferred)
    }

    /// Whose Python position speaks for a buffer: its instruction's; for a fusion without one the most common inside; else
    /// that of whatever has the name stack.
    pub fn position(&mut self, buffer: BufIx) -> Option<Origin> {
        let hlo = self.hlo;
        let at = hlo.buffer(buffer)?.instruction()?;
        let it = hlo.unnamed(at);
        if hlo.source(&it).is_some() {
            return Some(Origin { instruction: at, evidence: Evidence::Read });
        }
        let inside = if self.calls_inline(at) {
            let called = called_by(&it);
            let placed = self.placed.entry(called);
            *placed.or_insert_with(|| hlo.computation(called).and_then(|c| most_common_place(hlo, c)))
        } else {
            None
        };
        let found = inside.or_else(|| {
            let named = self.name_stack(buffer)?.instruction;
            hlo.source(&hlo.unnamed(named)).map(|_| named)
        });
        found.map(|instruction| Origin { instruction, evidence: Evidence::Inferred })
    }

    fn is_entry_parameter(&self, at: InstrIx) -> bool {
        self.hlo.entry().is_some_and(|entry| self.hlo.is_in(at, entry))
    }

    /// Whether a buffer is a flat array of bytes inside a tuple.
    fn is_scratch(&mut self, buffer: BufIx) -> bool {
        if self.hlo.buffer(buffer).is_none_or(LogicalBuffer::is_whole) {
            return false;
        }
        let shape = self.shape(buffer);
        // S8 and U8
        matches!(shape::element_of(shape), 2 | 6) && shape::rank_of(shape) == 1
    }

    /// The instruction inside a computation that makes a buffer of its caller's: the root, or what the root makes a tuple of.
    fn root_inside(&self, called: i64, buffer: BufIx) -> Option<InstrIx> {
        let hlo = self.hlo;
        let root = hlo.root_of(hlo.computation(called)?)?;
        let part = hlo.buffer(buffer).and_then(|b| hlo.shape_index(b).first().copied()).unwrap_or(0);
        if self.kind(root) != Kind::Tuple {
            return (part == 0).then_some(root);
        }
        let operand = usize::try_from(part).ok().and_then(|part| hlo.operands(root).get(part));
        operand.map(|&operand| InstrIx::of(operand as usize))
    }

    /// The first instruction inside a computation with the most common name stack.
    fn named_inside(&mut self, called: i64) -> Option<InstrIx> {
        if let Some(known) = self.named.get(&called) {
            return *known;
        }
        let hlo = self.hlo;
        let inner = hlo.computation(called).into_iter().flat_map(|c| hlo.instructions_of(c));
        let named = inner.filter(|&at| self.is_named(at) && self.kind(at) != Kind::Parameter);
        let found = most_common(named.map(|at| (hlo.name_stack(hlo.name_number(at)), at)));
        self.named.insert(called, found);
        found
    }

    /// Whether there is a library call in what an instruction calls.
    fn has_library_call(&mut self, caller: InstrIx) -> bool {
        let hlo = self.hlo;
        let called = called_by(&hlo.unnamed(caller));
        if let Some(known) = self.library_calls.get(&called) {
            return *known;
        }
        let mut inner = hlo.computation(called).into_iter().flat_map(|c| hlo.instructions_of(c));
        let found = inner.any(|at| self.kind(at) == Kind::CustomCall && is_library_call(hlo, at));
        self.library_calls.insert(called, found);
        found
    }
}

fn is_library_call(hlo: &Hlo, at: InstrIx) -> bool {
    namestack::is_library_call(hlo.unnamed(at).custom_call_target)
}

/// The computation that an instruction calls first; 0 is the id of none.
fn called_by(caller: &Instruction<'_>) -> i64 {
    caller.called_computation_ids().next().unwrap_or(0)
}

fn most_common_place(hlo: &Hlo, called: &Computation) -> Option<InstrIx> {
    most_common(hlo.instructions_of(called).filter_map(|at| Some((hlo.place(&hlo.unnamed(at))?, at))))
}

/// The first instruction of those that have the most common thing; the earlier of two equally common ones.
fn most_common<K: Ord>(all: impl Iterator<Item = (K, InstrIx)>) -> Option<InstrIx> {
    let mut all: Vec<(K, InstrIx)> = all.collect();
    all.arrange();
    let runs = all.chunk_by(|a, b| a.0 == b.0).filter_map(|run| Some((run.len(), run.first()?.1)));
    runs.max_by_key(|&(n, first)| (n, std::cmp::Reverse(first))).map(|(_, first)| first)
}
