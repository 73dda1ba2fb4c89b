//! Parameters against outputs: what is donated, and what could be.

use super::launch::OutputSlot;
use crate::arrange::Arrange;
use crate::hlo::{BufIx, Flow, Hlo, InstrIx, Shape, decode_shape, leaves};
use crate::plain::usual_shape;
use crate::terms::BufferKind;
use crate::units::Bytes;
use prost::Message;
use std::collections::{HashMap, HashSet, VecDeque};

/// One array among the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Number of the entry parameter: JAX makes one of each array of the arguments, in their order.
    pub number: i64,
    /// Its place inside that, where the parameter is a tuple.
    pub index: Vec<i64>,
    /// The argument path, `state.params['w']`; `None` where the module doesn't say.
    pub path: Option<String>,
    /// Its shape.
    pub shape: Shape,
    /// Its size in the plan.
    pub bytes: Bytes,
    /// The memory space.
    pub color: i64,
    /// Index of its allocation.
    pub allocation: Option<i64>,
    /// Whether its allocation is an output's too.
    pub donated: bool,
    /// Whether it was donated without an output of its own: free to be overwritten once it is used up.
    pub donor: bool,
}

impl Parameter {
    /// The argument path, else the number with the place inside: `parameter 3`, `parameter 0{2}`.
    #[must_use]
    pub fn what(&self) -> String {
        match (&self.path, self.index.as_slice()) {
            (Some(path), _) => path.clone(),
            (None, []) => format!("parameter {}", self.number),
            (None, index) => format!("parameter {}{{{}}}", self.number, join(index)),
        }
    }

    /// The name of the Python argument: the path up to its first `.` or `[`.
    #[must_use]
    pub fn argument(&self) -> Option<&str> {
        let path = self.path.as_deref()?;
        path.split(['.', '[']).next().filter(|name| !name.is_empty())
    }
}

/// One array of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its number in the flattened result.
    pub number: u64,
    /// Its place in the result.
    pub index: Vec<i64>,
    /// Its shape.
    pub shape: Shape,
    /// The buffer that it is; `None` where the plan does not lead to one.
    pub buffer: Option<BufIx>,
    /// Its size in the plan.
    pub bytes: Bytes,
    /// The memory space.
    pub color: i64,
    /// Index of its allocation.
    pub allocation: Option<i64>,
    /// Position in [`Donation::parameters`] of the parameter with which it shares its allocation.
    pub aliased: Option<usize>,
    /// Other buffers that XLA put into its allocation while it is not needed yet. Donating a parameter for it moves those
    /// that are live together with the parameter into temp. Empty for aliased outputs, and where an output before it has the
    /// same allocation.
    pub scratch: Vec<BufIx>,
    /// How much of the allocation they cover.
    pub scratch_bytes: Bytes,
}

/// A parameter and an output of the same shape, type, layout and sharding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Position in [`Donation::parameters`].
    pub parameter: usize,
    /// Position in [`Donation::outputs`].
    pub output: usize,
    /// Their size.
    pub bytes: Bytes,
    /// The memory space.
    pub color: i64,
    /// Whether they share an allocation.
    pub aliased: bool,
}

/// Parameters and outputs of a module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Donation {
    /// The arrays of the arguments, in their order.
    pub parameters: Vec<Parameter>,
    /// The arrays of the result, in their order.
    pub outputs: Vec<Output>,
    /// Pairs, each parameter and each output in at most one, largest first.
    pub pairs: Vec<Pair>,
}

impl Donation {
    /// Bytes of the device's own memory of the pairs that are not aliased: the most that donation can save.
    #[must_use]
    pub fn missed(&self) -> Bytes {
        self.missed_pairs().map(|p| p.bytes).sum()
    }

    /// Parameters in the device's own memory that were given away and have no output, in their order.
    pub fn donors(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|p| p.donor && !p.donated && p.color == 0)
    }

    /// The pairs in the device's own memory that are not aliased.
    pub fn missed_pairs(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(|p| !p.aliased && p.color == 0)
    }
}

/// The arrays of the result, with the allocation of each.
pub(super) struct OutputSlots {
    slots: Vec<Slot>,
}

struct Slot {
    index: Vec<i64>,
    shape: Shape,
    /// Shape, layout and type, to compare.
    key: Vec<u8>,
    buffer: Option<BufIx>,
    /// Position of the allocation.
    allocation: Option<u32>,
}

impl OutputSlots {
    pub fn of(hlo: &Hlo) -> OutputSlots {
        let Some(root) = hlo.entry().and_then(|entry| hlo.root_of(entry)) else {
            return OutputSlots { slots: Vec::new() };
        };
        let it = hlo.instruction(root);
        let mut flow = Flow::new(hlo);
        let slots = leaves(it.shape)
            .into_iter()
            .map(|(index, shape)| {
                let shape = decode_shape(shape);
                let buffer = flow.value_at(root, &index);
                Slot {
                    key: shape.encode_to_vec(),
                    shape: Shape::from(&shape),
                    index,
                    buffer,
                    allocation: buffer.and_then(|b| hlo.place_of(b)).map(|p| p.allocation),
                }
            })
            .collect();
        OutputSlots { slots }
    }

    /// The outputs in an allocation.
    pub fn by_allocation(&self) -> HashMap<u32, Vec<OutputSlot>> {
        let mut out: HashMap<u32, Vec<OutputSlot>> = HashMap::new();
        for (number, slot) in (0..).zip(&self.slots) {
            if let Some(allocation) = slot.allocation {
                out.entry(allocation)
                    .or_default()
                    .push(OutputSlot { number, shape: usual_shape(&slot.shape.text) });
            }
        }
        out
    }
}

/// Reads parameters and outputs, and pairs them.
pub(super) fn pair_up(hlo: &Hlo, slots: &OutputSlots) -> Donation {
    let (parameters, parameter_keys, parameter_allocations) = parameters(hlo);
    let by_allocation: HashMap<u32, usize> =
        parameter_allocations.iter().enumerate().filter_map(|(i, a)| Some(((*a)?, i))).collect();
    let mut own: HashSet<BufIx> = slots.slots.iter().filter_map(|s| s.buffer).collect();
    // What becomes the output step by step in its place is no scratch.
    let becoming: Vec<BufIx> = own
        .iter()
        .flat_map(|&b| hlo.aliases_of(b))
        .filter_map(|(at, index)| hlo.defined_at(at, &index))
        .collect();
    own.extend(becoming);
    let mut seen: HashSet<u32> = HashSet::new();
    let outputs: Vec<Output> = (0..)
        .zip(&slots.slots)
        .map(|(number, slot)| {
            let first = slot.allocation.is_some_and(|a| seen.insert(a));
            output(hlo, number, slot, &by_allocation, first.then_some(&own))
        })
        .collect();

    let shardings = Shardings::of(hlo, outputs.len());
    let mut pairs = Vec::new();
    let mut free: HashMap<(&[u8], &[u8]), VecDeque<usize>> = HashMap::new();
    for (i, parameter) in parameters.iter().enumerate() {
        // A donor was given away already; XLA found no output for it.
        if !parameter.donated && !parameter.donor && parameter.bytes > Bytes::ZERO {
            free.entry((&parameter_keys[i], shardings.parameter(parameter.number))).or_default().push_back(i);
        }
    }
    let mut used: HashSet<i64> = HashSet::new();
    for (i, (out, slot)) in outputs.iter().zip(&slots.slots).enumerate() {
        // Two outputs can be one array.
        if out.allocation.is_none_or(|a| !used.insert(a)) {
            continue;
        }
        if let Some(parameter) = out.aliased {
            pairs.push(Pair { parameter, output: i, bytes: out.bytes, color: out.color, aliased: true });
        } else if let Some(parameter) =
            free.get_mut(&(slot.key.as_slice(), shardings.output(i))).and_then(VecDeque::pop_front)
        {
            pairs.push(Pair { parameter, output: i, bytes: out.bytes, color: out.color, aliased: false });
        }
    }
    pairs.arrange_by_key(|p| (std::cmp::Reverse(p.bytes), p.output));
    Donation { parameters, outputs, pairs }
}

type Parameters = (Vec<Parameter>, Vec<Vec<u8>>, Vec<Option<u32>>);

/// The arrays of the arguments; for each its shape to compare and the position of its allocation.
fn parameters(hlo: &Hlo) -> Parameters {
    let allocations: HashMap<(i64, &[i64]), u32> = (0..)
        .zip(hlo.allocations())
        .filter_map(|(i, a)| a.parameter.as_ref().map(|(number, index)| ((*number, index.as_slice()), i)))
        .collect();
    let donors: HashSet<(i64, &[i64])> = hlo.donors().collect();
    let mut instructions: Vec<(InstrIx, i64)> =
        hlo.entry_parameters().map(|(at, it)| (at, it.parameter_number)).collect();
    instructions.arrange_by_key(|&(_, number)| number);
    let (mut out, mut keys, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (at, number) in instructions {
        let it = hlo.instruction(at);
        for (index, shape) in leaves(it.shape) {
            let shape = decode_shape(shape);
            let key = (number, index.as_slice());
            let place = allocations.get(&key).copied();
            let allocation = place.and_then(|p| hlo.allocations().get(p as usize));
            keys.push(shape.encode_to_vec());
            places.push(place);
            out.push(Parameter {
                number,
                path: (!it.op_name.is_empty()).then(|| it.op_name.to_owned()),
                shape: Shape::from(&shape),
                bytes: allocation.map_or(Bytes::ZERO, |a| a.size),
                color: allocation.map_or(0, |a| a.color),
                allocation: allocation.map(|a| a.index),
                donated: allocation.is_some_and(|a| a.kind() == Some(BufferKind::Donated)),
                donor: donors.contains(&key),
                index,
            });
        }
    }
    (out, keys, places)
}

/// One array of the result; `own` are the buffers that are no scratch, given for the first array of an allocation.
fn output(
    hlo: &Hlo,
    number: u64,
    slot: &Slot,
    by_allocation: &HashMap<u32, usize>,
    own: Option<&HashSet<BufIx>>,
) -> Output {
    let allocation = slot.allocation.and_then(|a| hlo.allocations().get(a as usize));
    let aliased = slot.allocation.and_then(|a| by_allocation.get(&a).copied());
    let mut scratch = Vec::new();
    let mut covered = Vec::new();
    if let (Some(allocation), None, Some(own)) = (allocation, aliased, own) {
        for place in hlo.assigned(allocation) {
            if !own.contains(&place.buffer) && place.size > Bytes::ZERO {
                scratch.push(place.buffer);
                covered.push((place.offset.0, place.offset.0.saturating_add(place.size.0)));
            }
        }
    }
    Output {
        number,
        index: slot.index.clone(),
        shape: slot.shape.clone(),
        buffer: slot.buffer,
        bytes: slot.buffer.and_then(|b| hlo.buffer(b)).map_or(Bytes::ZERO, |b| b.size),
        color: allocation.map_or(0, |a| a.color),
        allocation: allocation.map(|a| a.index),
        aliased,
        scratch,
        scratch_bytes: Bytes(union(covered)),
    }
}

/// The length of a union of intervals.
fn union(mut intervals: Vec<(u64, u64)>) -> u64 {
    intervals.arrange();
    let (mut sum, mut end) = (0u64, 0);
    for (from, to) in intervals {
        sum = sum.saturating_add(to.saturating_sub(from.max(end)));
        end = end.max(to);
    }
    sum
}

/// Shardings of parameters and outputs; empty ones, which compare equal, where the module doesn't have them all.
struct Shardings<'a> {
    outputs: Vec<&'a [u8]>,
    hlo: &'a Hlo,
}

impl<'a> Shardings<'a> {
    fn of(hlo: &'a Hlo, outputs: usize) -> Shardings<'a> {
        let mut found = hlo.output_shardings();
        if found.len() != outputs || hlo.parameter_sharding(0).is_none() {
            found.clear();
        }
        Shardings { outputs: found, hlo }
    }

    fn parameter(&self, number: i64) -> &'a [u8] {
        if self.outputs.is_empty() {
            return &[];
        }
        usize::try_from(number).ok().and_then(|n| self.hlo.parameter_sharding(n)).unwrap_or(&[])
    }

    fn output(&self, number: usize) -> &'a [u8] {
        self.outputs.get(number).copied().unwrap_or(&[])
    }
}

fn join(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}
