//! What the estimates have to know of the program behind a plan: where its backward pass starts, what its arguments are, how
//! large its batch is.

use super::flow::{Flow, NEVER, Op};
use crate::arrange::Arrange;
use crate::hlo::element_name;
use crate::plan::{Parameter, Plan};
use crate::terms::Role;
use std::collections::{HashMap, HashSet};

/// A while loop with a known number of rounds: a `scan`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan {
    /// The `while` instruction.
    pub instruction: u32,
    /// Rounds.
    pub rounds: i64,
    /// First and last moment.
    pub from: u32,
    pub to: u32,
}

/// An argument array.
#[derive(Debug, Clone)]
pub(super) struct Argument {
    /// The entry parameter's instruction.
    pub instruction: u32,
    pub bytes: u64,
    pub dims: Vec<i64>,
    pub element: i32,
    pub path: String,
    /// Whether the step returns it anew: donated, or an output of its shape.
    pub state: bool,
    /// Whether it is an input such as tokens: scaled by the batch.
    pub input: bool,
    /// Whether the forward pass reads it.
    pub forward: bool,
    /// Whether it is a stack of which a scan takes one layer a round.
    pub scanned: bool,
    /// From when to when the forward pass, and the backward pass, read it.
    pub reads: [Option<(u32, u32)>; 2],
}

/// The program behind a plan.
#[derive(Debug, Clone, Default)]
pub(super) struct Program {
    /// The moment that best parts forward from backward; `None` where there is no backward pass.
    pub split: Option<u32>,
    pub scans: Vec<Scan>,
    pub arguments: Vec<Argument>,
    /// The size of the batch, from the inputs.
    pub batch: Option<i64>,
    /// The length of sequences, from the inputs.
    pub sequence: Option<i64>,
    /// Dimensions of every parameter, and of one layer of a stacked one, in ascending order without ones.
    pub weight_shapes: HashSet<Vec<i64>>,
    /// Those of one layer of a stacked parameter alone.
    pub slice_shapes: HashSet<Vec<i64>>,
    /// Those of whole stacked parameters alone.
    pub stack_shapes: HashSet<Vec<i64>>,
    /// Every dimension of a parameter.
    pub weight_dims: HashSet<i64>,
}

impl Program {
    pub fn of(flow: &Flow<'_>, plan: &Plan, uses: &Uses) -> Program {
        let mut program = Program { split: split(flow), scans: scans(flow, plan), ..Program::default() };
        program.arguments = arguments(flow, plan, &program, uses);
        program.find_inputs();
        program.measure_inputs();
        let rounds: HashSet<i64> = program.scans.iter().map(|s| s.rounds).collect();
        for argument in program.arguments.iter().filter(|a| !a.input && !a.dims.is_empty()) {
            program.weight_dims.extend(&argument.dims);
            program.weight_shapes.insert(sorted(&argument.dims));
            if let Some((first, rest)) = argument.dims.split_first()
                && rounds.contains(first)
            {
                program.weight_shapes.insert(sorted(rest));
                program.slice_shapes.insert(sorted(rest));
                program.stack_shapes.insert(sorted(&argument.dims));
            }
        }
        program
    }

    /// Whether an instruction that reads at `moment` belongs to the backward pass or what comes after it.
    pub fn is_backward(&self, flow: &Flow<'_>, reader: u32, moment: u32) -> bool {
        matches!(flow.role(reader), Some(Role::Backward | Role::Recomputed))
            || self.split.is_some_and(|split| moment > split)
    }

    /// Bytes of the parameters that have gradients: state that the forward pass reads.
    pub fn weights(&self) -> u64 {
        self.sum(|a| a.forward && a.state && is_float(a.element))
    }

    /// Bytes of the state that the forward pass doesn't read: the optimizer's.
    pub fn optimizer(&self) -> u64 {
        self.sum(|a| !a.forward && a.state && !a.dims.is_empty())
    }

    /// Bytes of the inputs.
    pub fn inputs(&self) -> u64 {
        self.sum(|a| a.input)
    }

    pub fn sum(&self, which: impl Fn(&Argument) -> bool) -> u64 {
        self.arguments.iter().filter(|a| which(a)).map(|a| a.bytes).sum()
    }

    /// Inputs are the arguments of which nothing is returned and that hold whole numbers, or are called as inputs are.
    fn find_inputs(&mut self) {
        let mut by_argument: HashMap<String, Vec<usize>> = HashMap::new();
        for (i, argument) in self.arguments.iter().enumerate() {
            let name = argument.path.split(['.', '[']).next().unwrap_or("").to_owned();
            by_argument.entry(name).or_default().push(i);
        }
        for (name, members) in by_argument {
            let all: Vec<&Argument> = members.iter().filter_map(|&i| self.arguments.get(i)).collect();
            if all.iter().any(|a| a.state) {
                continue;
            }
            let whole_numbers = all.iter().any(|a| !is_float(a.element) && !a.dims.is_empty());
            if whole_numbers || INPUT_NAMES.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit())) {
                for i in members {
                    if let Some(argument) = self.arguments.get_mut(i) {
                        argument.input = true;
                    }
                }
            }
        }
    }

    /// The batch is the most common leading dimension of the inputs; the sequence the second one of inputs of whole numbers
    /// with two dimensions, or of anything with three.
    fn measure_inputs(&mut self) {
        let (mut batch, mut sequence): (HashMap<i64, usize>, HashMap<i64, usize>) = Default::default();
        for argument in self.arguments.iter().filter(|a| a.input) {
            if let Some(&first) = argument.dims.first() {
                *batch.entry(first).or_default() += 1;
            }
            let second = argument.dims.get(1).copied();
            let has_sequence = match argument.dims.len() {
                2 => !is_float(argument.element),
                3 => true,
                _ => false,
            };
            if let Some(second) = second.filter(|&s| has_sequence && s > 1) {
                *sequence.entry(second).or_default() += 1;
            }
        }
        self.batch = most_common(batch);
        self.sequence = most_common(sequence);
    }
}

/// What people call the arguments that carry the batch.
const INPUT_NAMES: [&str; 26] = [
    "batch",
    "x",
    "y",
    "xs",
    "ys",
    "input",
    "inputs",
    "input_ids",
    "tokens",
    "token",
    "ids",
    "image",
    "images",
    "label",
    "labels",
    "target",
    "targets",
    "data",
    "mask",
    "example",
    "examples",
    "features",
    "obs",
    "seq",
    "sequence",
    "minibatch",
];

fn most_common(counts: HashMap<i64, usize>) -> Option<i64> {
    counts.into_iter().filter(|&(n, _)| n > 0).max_by_key(|&(n, count)| (count, n)).map(|(n, _)| n)
}

/// Whether an `xla.PrimitiveType` is a floating one.
pub(super) fn is_float(element: i32) -> bool {
    element_name(element).is_some_and(|name| name.starts_with('f') || name.starts_with("bf"))
}

/// Dimensions in ascending order, without ones.
pub(super) fn sorted(dims: &[i64]) -> Vec<i64> {
    let mut out: Vec<i64> = dims.iter().copied().filter(|&d| d != 1).collect();
    out.arrange();
    out
}

/// The moment after which fewest forward instructions come and before which fewest backward ones.
///
/// A scheduler may run what nobody waits for early or late (zeros that gradients are added to, metrics), so the first
/// backward instruction doesn't say where the backward pass begins.
fn split(flow: &Flow<'_>) -> Option<u32> {
    let (mut balance, mut best, mut found) = (0i64, 0i64, None);
    for (moment, &i) in (0..).zip(&flow.order) {
        if !matches!(flow.op(i), Op::Fusion | Op::Relayout | Op::Start | Op::Other) {
            continue;
        }
        match flow.role(i) {
            Some(Role::Forward) => balance += 1,
            Some(Role::Backward | Role::Recomputed) => balance -= 1,
            _ => {}
        }
        if balance > best {
            (best, found) = (balance, Some(moment));
        }
    }
    found.filter(|&split| {
        flow.order.iter().skip(split as usize).any(|&i| flow.role(i) == Some(Role::Backward))
    })
}

fn scans(flow: &Flow<'_>, plan: &Plan) -> Vec<Scan> {
    let mut out: Vec<Scan> = plan
        .loops
        .iter()
        .filter_map(|it| {
            let rounds = i64::try_from(it.trip_count?.n).ok().filter(|&n| n > 1)?;
            let instruction = it.instruction.at() as u32;
            let (from, to) = flow.span(instruction);
            (to != NEVER).then_some(Scan { instruction, rounds, from, to })
        })
        .collect();
    out.arrange_by_key(|scan| scan.to);
    out
}

fn arguments(flow: &Flow<'_>, plan: &Plan, program: &Program, uses: &Uses) -> Vec<Argument> {
    let instructions: HashMap<i64, u32> =
        flow.hlo.entry_parameters().map(|(at, it)| (it.parameter_number, at.at() as u32)).collect();
    let paired: HashSet<usize> = plan.donation.pairs.iter().map(|p| p.parameter).collect();
    let argument = |(position, p): (usize, &Parameter)| {
        let instruction = instructions.get(&p.number).copied()?;
        let readers = uses.get(&instruction).map_or(&[][..], Vec::as_slice);
        let reads = [Role::Forward, Role::Backward].map(|pass| {
            let moments = || {
                readers.iter().map(|&r| (flow.moment(r), r)).filter(|&(moment, r)| {
                    let forward = program.split.is_none_or(|split| moment <= split);
                    let role = flow.role(r);
                    if pass == Role::Forward {
                        forward && role == Some(Role::Forward)
                    } else {
                        matches!(role, Some(Role::Backward | Role::Recomputed))
                            || (!forward && role == Some(Role::Forward))
                    }
                })
            };
            Some((moments().map(|m| m.0).min()?, moments().map(|m| m.0).max()?))
        });
        let scanned = program.scans.iter().any(|scan| {
            p.shape.dims.first() == Some(&scan.rounds)
                && readers.iter().any(|&r| (scan.from..scan.to).contains(&flow.moment(r)))
        });
        Some(Argument {
            instruction,
            bytes: if p.color == 0 { p.bytes.0 } else { 0 },
            dims: p.shape.dims.clone(),
            element: p.shape.element,
            path: p.path.clone().unwrap_or_default(),
            state: p.donated || p.donor || paired.contains(&position),
            input: false,
            forward: reads.first().is_some_and(Option::is_some),
            scanned,
            reads,
        })
    };
    plan.donation.parameters.iter().enumerate().filter_map(argument).collect()
}

/// For each entry parameter the instructions that compute with it: its readers, and those of its copies, casts and
/// rearrangements.
pub(super) type Uses = HashMap<u32, Vec<u32>>;

/// Finds the uses of the entry's parameters.
pub(super) fn parameter_uses(flow: &Flow<'_>) -> Uses {
    // For each instruction the parameter that it stands for.
    let mut stands_for = vec![NEVER; flow.count()];
    for (at, _) in flow.hlo.entry_parameters() {
        let parameter = at.at() as u32;
        for (i, index) in flow.places((parameter, Vec::new())) {
            if index.is_empty() {
                stands_for[i as usize] = parameter;
            }
        }
    }
    for &i in &flow.order {
        let passes = matches!(
            flow.op(i),
            Op::Fusion | Op::Relayout | Op::Start | Op::Done | Op::DoneFirst | Op::DoneSecond
        );
        if stands_for[i as usize] != NEVER || !passes {
            continue;
        }
        let mut of = flow.operands(i).iter().map(|&o| stands_for[o as usize]);
        let first = of.next().unwrap_or(NEVER);
        if of.all(|parameter| parameter == first) {
            stands_for[i as usize] = first;
        }
    }
    let mut out = Uses::new();
    for (i, &parameter) in (0..).zip(&stands_for).filter(|(_, parameter)| **parameter != NEVER) {
        for reader in flow.readers(i) {
            if stands_for[reader as usize] == NEVER
                && !matches!(flow.op(reader), Op::Tuple | Op::While | Op::Call)
            {
                out.entry(parameter).or_default().push(reader);
            }
        }
    }
    for readers in out.values_mut() {
        readers.arrange();
        readers.dedup();
    }
    out
}
