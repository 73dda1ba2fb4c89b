//! What the rules want to know of the module analysed beyond what the report shows.

use crate::hlo::{Hlo, Origins, Shape, decode_shape, element_name, leaves};
use crate::plan::{Describer, Donation, LaunchAllocation, Parameter, Plan};
use crate::terms::{BufferKind, Role, SourceLine};
use crate::units::Bytes;
use std::collections::HashSet;

/// More about one plan. Evidence: read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Detail {
    /// Parameters against outputs.
    pub donation: Donation,
    /// For each output of `donation`, what part of the step makes it: a gradient is made by the backward pass, a new state by
    /// the update.
    pub output_roles: Vec<Role>,
    /// What loops of more than two rounds carry that leads with their trip count: the values of all rounds, stacked.
    pub stacks: Vec<Shape>,
    /// Over how many devices the module is partitioned.
    pub partitions: Option<u32>,
    /// Whether it has a backward pass.
    pub has_backward: bool,
    /// Whether the program checkpoints some of it: its forward values are computed again.
    pub has_recomputed: bool,
    /// The largest constants in the device's memory, largest first.
    pub constants: Vec<Constant>,
    /// What a launch allocates, in order.
    pub launch: Vec<LaunchAllocation>,
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Constant {
    /// Its shape as XLA prints it.
    pub shape: String,
    /// Its bytes.
    pub bytes: Bytes,
    /// Where the program makes it, where the plan says.
    pub source: Option<SourceLine>,
}

/// So many constants are named.
const CONSTANTS: usize = 8;

impl Detail {
    /// Reads it from a module and its plan.
    #[must_use]
    pub fn of(hlo: &Hlo, plan: &Plan) -> Detail {
        Detail {
            output_roles: output_roles(hlo, &plan.donation),
            donation: plan.donation.clone(),
            stacks: stacks(hlo, plan),
            partitions: plan.summary.partitions,
            has_backward: has(hlo, Role::Backward),
            has_recomputed: has(hlo, Role::Recomputed),
            constants: constants(hlo, plan),
            launch: plan.summary.launch.clone(),
        }
    }

    /// The arrays of the arguments in the device's memory.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.donation.parameters.iter().filter(|p| p.color == 0)
    }

    /// The Python arguments in the order of their first arrays, each once. It is the order of the call, less arguments that the
    /// program does not use.
    #[must_use]
    pub fn arguments(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let names = self.donation.parameters.iter().filter_map(Parameter::argument);
        names.filter(|name| seen.insert(*name)).collect()
    }
}

/// Loops of one or two rounds say nothing: too many dimensions are as small.
const FEWEST_ROUNDS: u64 = 3;

fn stacks(hlo: &Hlo, plan: &Plan) -> Vec<Shape> {
    let mut all: Vec<Shape> = Vec::new();
    // Alike are shapes of the same elements and dimensions, whatever their layouts.
    let mut seen = HashSet::new();
    for l in &plan.loops {
        let Some(rounds) = l.trip_count.map(|t| t.n).filter(|&n| n >= FEWEST_ROUNDS) else { continue };
        for (_, shape) in leaves(hlo.instruction(l.instruction).shape) {
            let shape = Shape::from(&decode_shape(shape));
            let leads = shape.dims.first().is_some_and(|&d| u64::try_from(d) == Ok(rounds));
            if leads && shape.dims.len() >= 2 && seen.insert((shape.element, shape.dims.clone())) {
                all.push(shape);
            }
        }
    }
    all
}

fn has(hlo: &Hlo, role: Role) -> bool {
    hlo.roles().contains(&Some(role))
}

fn output_roles(hlo: &Hlo, donation: &Donation) -> Vec<Role> {
    let mut origins = Origins::new(hlo);
    donation.outputs.iter().map(|o| o.buffer.map_or(Role::Other, |b| origins.role(b).0)).collect()
}

fn constants(hlo: &Hlo, plan: &Plan) -> Vec<Constant> {
    let mut describer = Describer::new(hlo);
    plan.lasting_buffers(&mut describer)
        .into_iter()
        .filter(|b| b.kind == BufferKind::Constant)
        .take(CONSTANTS)
        .map(|b| Constant { shape: b.shape.text, bytes: b.bytes, source: b.source })
        .collect()
}

/// Reads a shape as XLA prints it, `f32[8,1024]{1,0}`; `None` for tuples and for what is no shape.
#[must_use]
pub fn parse_shape(text: &str) -> Option<Shape> {
    let (name, rest) = text.split_once('[')?;
    let element = (1..64).find(|&e| element_name(e) == Some(name))?;
    let (inside, _) = rest.split_once(']')?;
    let dims = inside.split(',').filter(|d| !d.is_empty()).map(|d| d.trim_start_matches("<=").parse().ok());
    Some(Shape { element, dims: dims.collect::<Option<_>>()?, text: text.to_owned() })
}

/// The dimensions that are not 1.
#[must_use]
pub fn squeezed(shape: &Shape) -> Vec<i64> {
    shape.dims.iter().copied().filter(|&d| d != 1).collect()
}

/// `xla.PrimitiveType` of float32.
pub(super) const F32: i32 = 11;

/// Whether an element is a float of 16 bits.
pub(super) fn is_half(shape: &Shape) -> bool {
    // F16, BF16
    shape.element == 10 || shape.element == 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_as_printed() {
        let it = parse_shape("f32[8,8,1024,1024]{3,2,1,0}").unwrap();
        assert_eq!((it.element, it.dims.as_slice()), (F32, &[8, 8, 1024, 1024][..]));
        assert_eq!(parse_shape("s32[]").unwrap().dims, Vec::<i64>::new());
        assert_eq!(squeezed(&parse_shape("bf16[<=7,1]").unwrap()), [7]);
        assert!(is_half(&parse_shape("bf16[2]").unwrap()));
        assert_eq!(parse_shape("(f32[2]{0},s32[])"), None);
        assert_eq!(parse_shape("f32[?]"), None);
        assert_eq!(parse_shape("nothing"), None);
    }
}
