//! Which buffer is at a place of an instruction's result, where the instruction itself defines none.

use super::assignment::BufIx;
use super::instruction::{InstrIx, Instruction};
use super::module::Hlo;
use std::collections::HashMap;

/// Follows what passes values on without making any: tuples and their elements, bitcasts, the ends of asynchronous
/// pairs, calls, and loops around what they do not change (`xla/hlo/analysis/hlo_dataflow_analysis.cc`).
#[derive(Debug)]
pub struct Flow<'a> {
    hlo: &'a Hlo,
    /// Operands of tuples, which can be thousands.
    operands: HashMap<InstrIx, Vec<i64>>,
    /// Instructions met, so that each is read once.
    read: HashMap<InstrIx, Instruction<'a>>,
    /// Steps left. A damaged module can have cycles, a hostile one long chains that all values pass through.
    steps: usize,
}

impl<'a> Flow<'a> {
    /// Through a module.
    #[must_use]
    pub fn new(hlo: &'a Hlo) -> Flow<'a> {
        // A real value passes through a handful of instructions, and there are fewer values than instructions.
        let steps = 10_000 + hlo.instruction_count() * 16;
        Flow { hlo, operands: HashMap::new(), read: HashMap::new(), steps }
    }

    /// The buffer at a place of an instruction's result: the one it defines there, or the one that it passes on.
    pub fn value_at(&mut self, instruction: InstrIx, index: &[i64]) -> Option<BufIx> {
        let mut at = instruction;
        let mut index = index.to_vec();
        loop {
            self.steps = self.steps.checked_sub(1)?;
            if let Some(buffer) = self.hlo.defined_at(at, &index) {
                return Some(buffer);
            }
            let it = *self.read.entry(at).or_insert_with(|| self.hlo.instruction(at));
            let operand = match it.opcode {
                "tuple" if !index.is_empty() => {
                    let operand = usize::try_from(index.remove(0)).ok()?;
                    let operands = self.operands.entry(at).or_insert_with(|| it.operand_ids().collect());
                    operands.get(operand).copied()
                }
                "get-tuple-element" => first_operand_at(&it, &mut index, Some(it.tuple_index)),
                "bitcast"
                | "optimization-barrier"
                | "domain"
                | "add-dependency"
                | "while"
                | "all-reduce-done" => first_operand_at(&it, &mut index, None),
                "copy-done" => first_operand_at(&it, &mut index, Some(0)),
                "async-done" | "async-update" | "all-gather-done" | "collective-permute-done" => {
                    first_operand_at(&it, &mut index, Some(1))
                }
                "call" => {
                    let called = it.called_computation_ids().next()?;
                    at = self.hlo.root_of(self.hlo.computation(called)?)?;
                    continue;
                }
                _ => None,
            };
            at = self.hlo.by_id(operand?)?;
        }
    }
}

/// The first operand's id, with the place in its result that becomes `index` here.
fn first_operand_at(it: &Instruction<'_>, index: &mut Vec<i64>, inner: Option<i64>) -> Option<i64> {
    if let Some(inner) = inner {
        // A chain of these without end would make an index without end.
        if index.len() >= 64 {
            return None;
        }
        index.insert(0, inner);
    }
    it.operand_ids().next()
}
