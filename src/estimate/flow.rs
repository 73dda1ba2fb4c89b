//! When every value of a module is needed: its schedule as one line, and who reads what.
//!
//! XLA's heap traces cover the temp blocks alone, and say by which instruction a buffer was made, not by which it died. What
//! a fix moves also lies in the buffers of outputs, so lives are computed here, for all buffers, by the rules of
//! `HloDataflowAnalysis` and `HloLiveRange`. That the same peak comes out as XLA's own is checked for each plan
//! ([`super::picture::Picture::strays`]).

use crate::arrange::Arrange;
use crate::hlo::{Hlo, InstrIx, Instruction, role_of};
use crate::terms::Role;
use std::cell::Cell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Stands for "never scheduled".
pub(super) const NEVER: u32 = u32::MAX;

/// Calls nest a few levels; deeper ones are an attack on the stack.
const MAX_DEPTH: usize = 64;
/// Deepest nesting of tuples that is followed.
const MAX_NESTING: usize = 32;

/// What the analysis has to know of an opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Parameter,
    Tuple,
    /// Takes one part of a tuple.
    Element(u32),
    /// The same memory under another name.
    Same,
    /// A new arrangement or type of the same array.
    Relayout,
    While,
    /// A call or a conditional: its computations are scheduled.
    Call,
    /// Begins an operation whose operands are in use until the instruction that ends it.
    Start,
    /// Ends one: of the operand tuple it passes on the part with this number, or the whole.
    Done(Option<u32>),
    Fusion,
    Constant,
    Other,
}

fn op_of(opcode: &str, tuple_index: i64) -> Op {
    match opcode {
        "parameter" => Op::Parameter,
        "tuple" => Op::Tuple,
        "get-tuple-element" => Op::Element(u32::try_from(tuple_index).unwrap_or(NEVER)),
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
        "copy-done" | "recv-done" => Op::Done(Some(0)),
        "async-done" | "all-gather-done" | "collective-permute-done" => Op::Done(Some(1)),
        "all-reduce-done" => Op::Done(None),
        "fusion" => Op::Fusion,
        "constant" => Op::Constant,
        _ => Op::Other,
    }
}

/// A place in the module where a value is visible: an instruction, and where inside its result.
pub(super) type Place = (u32, Vec<u32>);

/// The module as a line of instructions with their readers.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    pub hlo: &'a Hlo,
    instructions: Vec<InstrIx>,
    ops: Vec<Op>,
    /// For each instruction its moment; [`NEVER`] for those that are not scheduled themselves, in fusions for instance.
    at: Vec<u32>,
    /// For each instruction the first moment of what it calls; its own where it calls nothing.
    from: Vec<u32>,
    /// The scheduled instructions in order.
    pub order: Vec<u32>,
    /// Name stacks; for a fusion without one, that of an instruction inside.
    names: Vec<&'a str>,
    /// The part that the name stack gives.
    roles: Vec<Option<Role>>,
    operands: Vec<Vec<u32>>,
    /// Readers other than get-tuple-elements, each with the operand's number.
    readers: Vec<Vec<(u32, u32)>>,
    /// get-tuple-elements by instruction and part.
    elements: HashMap<(u32, u32), Vec<u32>>,
    /// get-tuple-elements by instruction.
    parts: Vec<Vec<u32>>,
    /// The computations that an instruction calls.
    calls: HashMap<u32, Vec<i64>>,
    /// Parameters of the computations that are called.
    inner: HashMap<i64, Vec<u32>>,
    /// The same by computation and number.
    inner_by_number: HashMap<(i64, u32), Vec<u32>>,
    /// Roots of scheduled computations, with the instruction that calls them; `NEVER` for the entry's.
    roots: HashMap<u32, u32>,
    /// Places and readers that may still be visited, over all values. Real modules need a few for each value; in a damaged
    /// one, tuples that hold each other have places without end.
    budget: Cell<usize>,
}

impl<'a> Flow<'a> {
    /// Takes time and memory linear in the module.
    pub fn of(hlo: &'a Hlo) -> Flow<'a> {
        let count = hlo.instruction_count();
        let mut flow = Flow {
            hlo,
            instructions: Vec::with_capacity(count),
            ops: Vec::with_capacity(count),
            at: vec![NEVER; count],
            from: vec![NEVER; count],
            order: Vec::new(),
            names: Vec::with_capacity(count),
            roles: Vec::new(),
            operands: Vec::with_capacity(count),
            readers: vec![Vec::new(); count],
            elements: HashMap::new(),
            parts: vec![Vec::new(); count],
            calls: HashMap::new(),
            inner: HashMap::new(),
            inner_by_number: HashMap::new(),
            roots: HashMap::new(),
            budget: Cell::new(1_000_000 + 64 * count),
        };
        for (at, it) in hlo.instructions() {
            flow.instructions.push(at);
            flow.ops.push(op_of(it.opcode, it.tuple_index));
            flow.names.push(it.op_name);
            flow.operands
                .push(it.operand_ids().filter_map(|id| hlo.by_id(id)).map(|o| o.at() as u32).collect());
        }
        let sequences = hlo.schedule();
        if let Some(entry) = hlo.entry() {
            if let Some(root) = hlo.root_of(entry) {
                flow.roots.insert(root.at() as u32, NEVER);
            }
            flow.lay_out(entry.id, &sequences, &mut HashSet::new(), 0);
        }
        flow.link();
        flow.roles = flow.names.iter().map(|name| role_of(name)).collect();
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
        let sequence: Vec<InstrIx> = match sequences.get(&computation) {
            Some(sequence) => sequence.clone(),
            None => self.hlo.instructions_of(it).collect(),
        };
        for instruction in sequence {
            let i = instruction.at();
            let start = self.order.len() as u32;
            if matches!(self.ops.get(i), Some(Op::While | Op::Call | Op::Start)) {
                for called in self.hlo.instruction(instruction).called_computation_ids() {
                    self.enter(i as u32, called);
                    self.lay_out(called, sequences, seen, depth + 1);
                }
            }
            let now = self.order.len() as u32;
            if let (Some(at), Some(from)) = (self.at.get_mut(i), self.from.get_mut(i)) {
                (*at, *from) = (now, start);
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
                let number = u32::try_from(self.hlo.instruction(inner).parameter_number).unwrap_or(NEVER);
                parameters.push(inner.at() as u32);
                self.inner_by_number.entry((called, number)).or_default().push(inner.at() as u32);
            }
        }
    }

    /// Readers and names of what is scheduled.
    fn link(&mut self) {
        for &i in &self.order {
            let operands = self.operands.get(i as usize).map(Vec::as_slice).unwrap_or(&[]);
            for (number, &operand) in (0..).zip(operands) {
                if let Some(Op::Element(part)) = self.ops.get(i as usize) {
                    self.elements.entry((operand, *part)).or_default().push(i);
                    if let Some(parts) = self.parts.get_mut(operand as usize) {
                        parts.push(i);
                    }
                } else if let Some(readers) = self.readers.get_mut(operand as usize) {
                    readers.push((i, number));
                }
            }
        }
        let mut known: HashMap<i64, &str> = HashMap::new();
        for &i in &self.order {
            if self.ops.get(i as usize) == Some(&Op::Fusion) && self.name(i).is_empty() {
                let called = self.instruction(i).and_then(|it| it.called_computation_ids().next());
                let Some(called) = called else { continue };
                let inside = *known.entry(called).or_insert_with(|| self.name_inside(called));
                if let Some(name) = self.names.get_mut(i as usize) {
                    *name = inside;
                }
            }
        }
    }

    /// The name stack of a fusion's root, else of the last named instruction inside.
    fn name_inside(&self, called: i64) -> &'a str {
        let hlo = self.hlo;
        let Some(called) = hlo.computation(called) else { return "" };
        let root = hlo.root_of(called).map_or("", |root| hlo.instruction(root).op_name);
        if !root.is_empty() {
            return root;
        }
        let inside = hlo.instructions_of(called).map(|i| hlo.instruction(i));
        inside.filter(|i| i.opcode != "parameter" && !i.op_name.is_empty()).last().map_or("", |i| i.op_name)
    }

    /// The instruction at a position.
    pub fn instruction(&self, i: u32) -> Option<Instruction<'a>> {
        self.instructions.get(i as usize).map(|&at| self.hlo.instruction(at))
    }

    /// The operands of an instruction.
    pub fn operands(&self, i: u32) -> &[u32] {
        self.operands.get(i as usize).map_or(&[], Vec::as_slice)
    }

    /// The name stack of an instruction.
    pub fn name(&self, i: u32) -> &'a str {
        self.names.get(i as usize).copied().unwrap_or("")
    }

    pub fn role(&self, i: u32) -> Option<Role> {
        self.roles.get(i as usize).copied().flatten()
    }

    pub fn op(&self, i: u32) -> Op {
        self.ops.get(i as usize).copied().unwrap_or(Op::Other)
    }

    /// When an instruction runs.
    pub fn moment(&self, i: u32) -> u32 {
        self.at.get(i as usize).copied().unwrap_or(NEVER)
    }

    /// From when to when an instruction and what it calls run.
    pub fn span(&self, i: u32) -> (u32, u32) {
        (self.from.get(i as usize).copied().unwrap_or(NEVER), self.moment(i))
    }

    /// Moments in all.
    pub fn moments(&self) -> u32 {
        self.order.len() as u32
    }

    /// Readers of an instruction's whole result, without those that only take it apart.
    pub fn readers(&self, i: u32) -> impl Iterator<Item = u32> {
        self.readers.get(i as usize).into_iter().flatten().map(|&(reader, _)| reader)
    }

    /// Readers of an instruction's result or of parts of it.
    pub fn readers_of_parts(&self, i: u32) -> impl Iterator<Item = u32> {
        self.readers(i).chain(self.parts.get(i as usize).into_iter().flatten().copied())
    }

    /// Every place at which the value at `place` is visible, in order of finding, `place` first.
    ///
    /// A value goes through tuples and their parts, through bitcasts, and into the loops and calls that take it.
    pub fn places(&self, place: Place) -> Vec<Place> {
        let mut seen: HashSet<Place> = HashSet::new();
        let mut out = Vec::new();
        let mut work = vec![place];
        while let Some(place) = work.pop() {
            if place.1.len() > MAX_NESTING || !seen.insert(place.clone()) {
                continue;
            }
            let (i, index) = &place;
            if !self.spend(1 + self.cost(*i)) {
                break;
            }
            if let Some((part, rest)) = index.split_first() {
                for &element in self.elements.get(&(*i, *part)).into_iter().flatten() {
                    work.push((element, rest.to_vec()));
                }
            }
            for &(reader, number) in self.readers.get(*i as usize).into_iter().flatten() {
                match self.op(reader) {
                    Op::Tuple => {
                        let mut inside = Vec::with_capacity(index.len() + 1);
                        inside.push(number);
                        inside.extend_from_slice(index);
                        work.push((reader, inside));
                    }
                    Op::Same => work.push((reader, index.clone())),
                    Op::While => {
                        work.push((reader, index.clone()));
                        for &parameter in self.called(reader).flat_map(|c| self.inner.get(&c)).flatten() {
                            if !self.spend(1) {
                                break;
                            }
                            work.push((parameter, index.clone()));
                        }
                    }
                    Op::Call => {
                        let of_number = |c| self.inner_by_number.get(&(c, number));
                        for &parameter in self.called(reader).flat_map(of_number).flatten() {
                            work.push((parameter, index.clone()));
                        }
                    }
                    Op::Done(None) => work.push((reader, index.clone())),
                    Op::Done(Some(part)) => {
                        if let Some((first, rest)) = index.split_first()
                            && *first == part
                        {
                            work.push((reader, rest.to_vec()));
                        }
                    }
                    _ => {}
                }
            }
            out.push(place);
        }
        out
    }

    /// Computations that an instruction calls.
    fn called(&self, caller: u32) -> impl Iterator<Item = i64> {
        self.calls.get(&caller).into_iter().flatten().copied()
    }

    /// What a look at an instruction's readers costs, with the readers of those that only begin an operation.
    fn cost(&self, i: u32) -> usize {
        let readers = self.readers.get(i as usize).map_or(&[][..], Vec::as_slice);
        let later = |&(reader, _): &(u32, u32)| match self.op(reader) {
            Op::Start => self.readers.get(reader as usize).map_or(0, Vec::len),
            Op::Call => self.calls.get(&reader).map_or(0, Vec::len),
            _ => 0,
        };
        // Known to be too much before they are all looked at.
        let left = self.budget.get();
        readers.len() + readers.iter().take(left).map(later).sum::<usize>()
    }

    /// Takes from the budget, if it has as much.
    fn spend(&self, cost: usize) -> bool {
        let left = self.budget.get().checked_sub(cost);
        self.budget.set(left.unwrap_or(0));
        left.is_some()
    }

    /// From when to when a value is needed, and the instructions that read it, each with its moment, in order.
    pub fn life(&self, place: Place) -> Option<Life> {
        let first = self.moment(place.0);
        if first == NEVER {
            return None;
        }
        let mut life = Life { first, last: first, reads: Vec::new(), returned: false };
        for (i, _) in self.places(place) {
            match self.roots.get(&i) {
                Some(&NEVER) => life.returned = true,
                Some(&caller) => life.reach(self.moment(caller)),
                None => {}
            }
            for &(reader, _) in self.readers.get(i as usize).into_iter().flatten() {
                let moment = self.moment(reader);
                match self.op(reader) {
                    Op::Tuple | Op::Same => {}
                    Op::Done(None) => life.reach(moment),
                    Op::While | Op::Call => {
                        life.reach(moment);
                        life.reads.push((self.span(reader).0, reader));
                    }
                    Op::Start => {
                        life.reach(moment);
                        life.reads.push((moment, reader));
                        self.readers(reader).for_each(|done| life.reach(self.moment(done)));
                    }
                    _ => {
                        life.reach(moment);
                        life.reads.push((moment, reader));
                    }
                }
            }
        }
        if life.returned {
            life.last = self.moments();
        }
        life.reads.arrange();
        life.reads.dedup();
        Some(life)
    }
}

/// From when to when a value is needed.
#[derive(Debug, Clone)]
pub(super) struct Life {
    /// The moment at which it is made.
    pub first: u32,
    /// The last at which it is read; the end for what is returned.
    pub last: u32,
    /// Moments at which it is read, and by what.
    pub reads: Vec<(u32, u32)>,
    /// Whether it is an output of the program.
    pub returned: bool,
}

impl Life {
    fn reach(&mut self, moment: u32) {
        if moment != NEVER {
            self.last = self.last.max(moment);
        }
    }
}
