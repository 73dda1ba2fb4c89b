//! When every value of a module is needed: its schedule as one line, and who reads what.
//!
//! XLA's heap traces cover the temp blocks alone, and say by which instruction a buffer was made, not by which it died. What
//! a fix moves also lies in the buffers of outputs, so lives are computed here, for all buffers, by the rules of
//! `HloDataflowAnalysis` and `HloLiveRange`. That the same peak comes out as XLA's own is checked for each plan
//! ([`super::picture::Picture::strays`]).

use super::lists::Lists;
use crate::hlo::{Hlo, InstrIx, Instruction};
use crate::terms::Role;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Stands for "never scheduled", and for no position.
pub(super) const NEVER: u32 = u32::MAX;

/// Calls nest a few levels; deeper ones are an attack on the stack.
const MAX_DEPTH: usize = 64;

/// What the analysis has to know of an opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Parameter,
    Tuple,
    /// Takes one part of a tuple; [`Flow::part`] says which.
    Element,
    /// The same memory under another name.
    Same,
    /// A new arrangement or type of the same array.
    Relayout,
    While,
    /// A call or a conditional: its computations are scheduled.
    Call,
    /// Begins an operation whose operands are in use until the instruction that ends it.
    Start,
    /// Ends one and passes on the whole of its operand.
    Done,
    /// Ends one and passes on the first, or the second, part of its operand.
    DoneFirst,
    DoneSecond,
    Fusion,
    Constant,
    Other,
}

fn op_of(opcode: &str) -> Op {
    match opcode {
        "parameter" => Op::Parameter,
        "tuple" => Op::Tuple,
        "get-tuple-element" => Op::Element,
        "bitcast" | "optimization-barrier" | "add-dependency" | "domain" => Op::Same,
        "copy" | "convert" | "transpose" | "reshape" | "dynamic-slice" | "all-gather" => Op::Relayout,
        "while" => Op::While,
        "call" | "conditional" => Op::Call,
        "copy-start"
        | "async-start"
        | "all-gather-start"
        | "all-reduce-start"
        | "collective-permute-start"
        | "send" => Op::Start,
        "copy-done" | "recv-done" => Op::DoneFirst,
        "async-done" | "all-gather-done" | "collective-permute-done" => Op::DoneSecond,
        "all-reduce-done" => Op::Done,
        "fusion" => Op::Fusion,
        "constant" => Op::Constant,
        _ => Op::Other,
    }
}

/// The module as a line of instructions with their readers.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    pub hlo: &'a Hlo,
    pub(super) ops: Vec<Op>,
    /// For each instruction its moment; [`NEVER`] for those that are not scheduled themselves, in fusions for instance.
    pub(super) at: Vec<u32>,
    /// The first moment of what an instruction calls, where it calls something.
    from: HashMap<u32, u32>,
    /// The scheduled instructions in order.
    pub order: Vec<u32>,
    /// Numbers of name stacks; for a fusion without one, that of an instruction inside.
    names: Vec<u32>,
    /// Readers other than get-tuple-elements, each with the operand's number, in the order of the schedule.
    pub(super) readers: Lists<(u32, u32)>,
    /// get-tuple-elements by instruction: the part and the instruction that takes it, ordered by part.
    parts: Lists<(u32, u32)>,
    /// The computations that an instruction calls.
    pub(super) calls: HashMap<u32, Vec<i64>>,
    /// Parameters of the computations that are called.
    pub(super) inner: HashMap<i64, Vec<u32>>,
    /// The same by computation and number.
    pub(super) inner_by_number: HashMap<(i64, u32), Vec<u32>>,
    /// Roots of scheduled computations, with the instruction that calls them; `NEVER` for the entry's.
    pub(super) roots: HashMap<u32, u32>,
    /// Whether an instruction is one of `roots`.
    pub(super) is_root: Vec<bool>,
    /// Places and readers that may still be visited, over all values. Real modules need a few for each value; in a damaged
    /// one, tuples that hold each other have places without end.
    pub(super) budget: Cell<usize>,
}

impl<'a> Flow<'a> {
    /// Takes time and memory linear in the module.
    pub fn of(hlo: &'a Hlo) -> Flow<'a> {
        let count = hlo.instruction_count();
        let (opcodes, of_each) = hlo.opcodes();
        let known: Vec<Op> = opcodes.into_iter().map(op_of).collect();
        let mut flow = Flow {
            hlo,
            ops: of_each.map(|number| known.get(number as usize).copied().unwrap_or(Op::Other)).collect(),
            at: vec![NEVER; count],
            from: HashMap::new(),
            order: Vec::with_capacity(count),
            names: (0..count).map(|i| hlo.name_number(InstrIx::of(i))).collect(),
            readers: Lists::default(),
            parts: Lists::default(),
            calls: HashMap::new(),
            inner: HashMap::new(),
            inner_by_number: HashMap::new(),
            roots: HashMap::new(),
            is_root: vec![false; count],
            budget: Cell::new(1_000_000 + 64 * count),
        };
        let sequences = hlo.schedule();
        if let Some(entry) = hlo.entry() {
            if let Some(root) = hlo.root_of(entry) {
                flow.roots.insert(root.at() as u32, NEVER);
            }
            flow.lay_out(entry.id, &sequences, &mut HashSet::new(), 0);
        }
        drop(sequences);
        for &root in flow.roots.keys() {
            flow.is_root[root as usize] = true;
        }
        flow.link();
        flow.name_fusions();
        flow
    }

    /// Lays a computation on the line, and what it calls before the caller, as `HloLiveRange::FlattenSchedule` does.
    fn lay_out(
        &mut self,
        computation: i64,
        sequences: &HashMap<i64, Vec<InstrIx>>,
        seen: &mut HashSet<i64>,
        depth: usize,
    ) {
        let Some(it) = self.hlo.computation(computation) else { return };
        if depth > MAX_DEPTH || !seen.insert(computation) {
            return;
        }
        // Without a schedule the order of the file, which is one in which the module could run.
        let sequence: Cow<'_, [InstrIx]> = match sequences.get(&computation) {
            Some(sequence) => sequence.into(),
            None => self.hlo.instructions_of(it).collect(),
        };
        for &instruction in &*sequence {
            let i = instruction.at();
            let start = self.order.len() as u32;
            if matches!(self.ops.get(i), Some(Op::While | Op::Call | Op::Start)) {
                for called in self.hlo.unnamed(instruction).called_computation_ids() {
                    self.enter(i as u32, called);
                    self.lay_out(called, sequences, seen, depth + 1);
                }
            }
            let now = self.order.len() as u32;
            if let Some(at) = self.at.get_mut(i) {
                *at = now;
                if start != now {
                    self.from.insert(i as u32, start);
                }
                self.order.push(i as u32);
            }
        }
    }

    /// Notes parameters and root of a computation that `caller` calls.
    fn enter(&mut self, caller: u32, called: i64) {
        let Some(it) = self.hlo.computation(called) else { return };
        if let Some(root) = self.hlo.root_of(it) {
            self.roots.insert(root.at() as u32, caller);
        }
        self.calls.entry(caller).or_default().push(called);
        // Looked through once, however many call it.
        let Entry::Vacant(parameters) = self.inner.entry(called) else { return };
        let parameters = parameters.insert(Vec::new());
        for inner in self.hlo.instructions_of(it) {
            if self.ops.get(inner.at()) == Some(&Op::Parameter) {
                let number = self.hlo.index_of(inner).unwrap_or(NEVER);
                parameters.push(inner.at() as u32);
                self.inner_by_number.entry((called, number)).or_default().push(inner.at() as u32);
            }
        }
    }

    /// Readers of what is scheduled.
    fn link(&mut self) {
        let (ops, hlo, order) = (&self.ops, self.hlo, &self.order);
        let uses = |elements: bool| {
            let of_kind = order.iter().filter(move |&&i| (ops[i as usize] == Op::Element) == elements);
            of_kind.flat_map(move |&i| {
                let operands = hlo.operands(InstrIx::of(i as usize));
                let part = hlo.index_of(InstrIx::of(i as usize)).unwrap_or(NEVER);
                (0..)
                    .zip(operands)
                    .map(move |(number, &operand)| (operand, if elements { (part, i) } else { (i, number) }))
            })
        };
        let count = ops.len();
        let mut parts = Lists::of(count, || uses(true));
        parts.arrange_each_by(|a, b| a.0.cmp(&b.0));
        self.readers = Lists::of(count, || uses(false));
        self.parts = parts;
    }

    /// Gives fusions without a name stack one from inside.
    fn name_fusions(&mut self) {
        let mut known: HashMap<i64, u32> = HashMap::new();
        for &i in &self.order {
            if self.ops.get(i as usize) == Some(&Op::Fusion) && self.names.get(i as usize) == Some(&0) {
                let Some(called) = self.instruction(i).called_computation_ids().next() else { continue };
                // Of its root, else of the last one inside that has a name.
                let inside = match name_of_root(self.hlo, called) {
                    0 => *known.entry(called).or_insert_with(|| last_name(self.hlo, called)),
                    name => name,
                };
                if let Some(name) = self.names.get_mut(i as usize) {
                    *name = inside;
                }
            }
        }
    }

    /// The instruction at a position, without its name stack.
    pub fn instruction(&self, i: u32) -> Instruction<'a> {
        self.hlo.unnamed(InstrIx::of(i as usize))
    }

    /// The operands of an instruction.
    pub fn operands(&self, i: u32) -> &'a [u32] {
        self.hlo.operands(InstrIx::of(i as usize))
    }

    /// The number of an instruction's name stack.
    pub fn name(&self, i: u32) -> u32 {
        self.names.get(i as usize).copied().unwrap_or(0)
    }

    pub fn role(&self, i: u32) -> Option<Role> {
        self.hlo.roles().get(self.name(i) as usize).copied().flatten()
    }

    pub fn op(&self, i: u32) -> Op {
        self.ops.get(i as usize).copied().unwrap_or(Op::Other)
    }

    /// Which part of a tuple an [`Op::Element`] takes.
    pub fn part(&self, i: u32) -> u32 {
        self.hlo.index_of(InstrIx::of(i as usize)).unwrap_or(NEVER)
    }

    /// When an instruction runs.
    pub fn moment(&self, i: u32) -> u32 {
        self.at.get(i as usize).copied().unwrap_or(NEVER)
    }

    /// From when to when an instruction and what it calls run.
    pub fn span(&self, i: u32) -> (u32, u32) {
        let moment = self.moment(i);
        (self.from.get(&i).copied().unwrap_or(moment), moment)
    }

    /// Instructions in all.
    pub fn count(&self) -> usize {
        self.ops.len()
    }

    /// Moments in all.
    pub fn moments(&self) -> u32 {
        self.order.len() as u32
    }

    /// Readers of an instruction's whole result, without those that only take it apart.
    pub fn readers(&self, i: u32) -> impl Iterator<Item = u32> {
        self.readers.of_item(i).iter().map(|&(reader, _)| reader)
    }

    /// Readers of an instruction's result or of parts of it.
    pub fn readers_of_parts(&self, i: u32) -> impl Iterator<Item = u32> {
        self.readers(i).chain(self.parts.of_item(i).iter().map(|&(_, element)| element))
    }

    /// What takes a part of a tuple, with the part.
    pub fn elements(&self, i: u32, part: u32) -> &[(u32, u32)] {
        let all = self.parts.of_item(i);
        let from = all.partition_point(|&(other, _)| other < part);
        let to = all.partition_point(|&(other, _)| other <= part);
        all.get(from..to).unwrap_or(&[])
    }
}

/// The number of the name stack of a computation's root.
fn name_of_root(hlo: &Hlo, called: i64) -> u32 {
    let root = hlo.computation(called).and_then(|called| hlo.root_of(called));
    root.map_or(0, |root| hlo.name_number(root))
}

/// The number of the name stack of the last instruction in a computation that has one.
fn last_name(hlo: &Hlo, called: i64) -> u32 {
    let inner = hlo.computation(called).into_iter().flat_map(|called| hlo.instructions_of(called));
    let named = inner.filter(|&i| hlo.name_number(i) != 0 && hlo.opcode(i) != "parameter");
    named.last().map_or(0, |i| hlo.name_number(i))
}
