//! The indexed module.

use super::assignment::{Assignment, NONE, Places};
use super::fields::text;
use super::ids::Ids;
use super::instruction::{InstrIx, Instruction};
use super::known::Known;
use super::namestack::role_of;
use crate::arrange::Arrange;
use crate::bytes::wire::Cursor;
use crate::proto::hlo::{HloBufferDonorProto, HloInputOutputAliasProto, StackFrameIndexProto};
use crate::terms::Role;
use std::ops::Range;
use std::sync::OnceLock;

/// A module with its plan. See [`Hlo::parse`].
#[derive(Debug)]
pub struct Hlo {
    pub(super) bytes: Vec<u8>,
    pub(super) name: Span,
    pub(super) id: i64,
    pub(super) entry_computation_id: i64,
    pub(super) entry_computation_name: Span,
    /// Position in `computations`.
    pub(super) entry: OnceLock<usize>,
    pub(super) computations: Vec<Computation>,
    /// Positions in `computations`.
    pub(super) computations_by_id: Ids,
    pub(super) instructions: Vec<Record>,
    /// Positions in `instructions`.
    pub(super) by_id: Ids,
    /// Operands of all instructions that lead somewhere, as positions.
    pub(super) operands: Vec<u32>,
    pub(super) opcodes: Known,
    /// Name stacks.
    pub(super) names: Known,
    pub(super) shapes: Known,
    /// By the number of a name stack.
    pub(super) roles: OnceLock<Vec<Option<Role>>>,
    pub(super) by_name: OnceLock<Vec<u32>>,
    pub(super) schedule: Span,
    pub(super) aliases: HloInputOutputAliasProto,
    pub(super) donors: HloBufferDonorProto,
    /// Replicas and partitions.
    pub(super) device_assignment: Option<(u32, u32)>,
    pub(super) frame_table: Span,
    pub(super) frames: OnceLock<StackFrameIndexProto>,
    pub(super) output_sharding: Span,
    pub(super) parameter_shardings: Vec<Span>,
    pub(super) assignment: Option<Assignment>,
    pub(super) buffers_by_place: OnceLock<Places>,
    pub(super) rematerialized: u64,
    pub(super) whiles: Vec<InstrIx>,
    pub(super) parameters: Vec<InstrIx>,
    pub(super) warnings: Vec<String>,
}

/// A range of the module's bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u32,
    pub len: u32,
}

impl Span {
    /// Of a range inside a module, which has less than 4 GiB.
    pub fn new(range: &Range<usize>) -> Span {
        Span { start: range.start as u32, len: range.len() as u32 }
    }

    pub fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }

    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.range()).unwrap_or(&[])
    }
}

/// Where an instruction is, and what is asked of all of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub id: i64,
    pub message: Span,
    /// Numbers of the opcode, of the name stack and of the shape.
    pub opcode: u32,
    pub name: u32,
    pub shape: u32,
    /// Number of a parameter, index of a get-tuple-element.
    pub index: u32,
    /// Where the operands begin; they end where the next one's do.
    pub operands: u32,
}

/// A computation and where its instructions are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Computation {
    /// Its id.
    pub id: i64,
    /// The id of the instruction that is its result.
    pub root_id: i64,
    pub(super) name: Span,
    pub(super) first: u32,
    pub(super) count: u32,
}

impl Hlo {
    /// The module's name, `jit_step`.
    #[must_use]
    pub fn name(&self) -> &str {
        text(self.name.of(&self.bytes))
    }

    /// `HloModuleProto.id`: the program id in captures up to 2025; matches nothing in later ones.
    #[must_use]
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Bytes of the HloProto.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// What was damaged, a sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Instructions in all computations.
    #[must_use]
    pub fn instruction_count(&self) -> usize {
        self.instructions.len()
    }

    /// Every instruction, computation by computation.
    pub fn instructions(&self) -> impl Iterator<Item = (InstrIx, Instruction<'_>)> {
        (0..self.instructions.len() as u32).map(|i| (InstrIx(i), self.instruction(InstrIx(i))))
    }

    /// An instruction of this module.
    #[must_use]
    pub fn instruction(&self, at: InstrIx) -> Instruction<'_> {
        self.instructions
            .get(at.at())
            .map_or_else(Instruction::default, |r| Instruction::read(r.message.of(&self.bytes), true))
    }

    /// An instruction but for its name stack, which can be long: one can define thousands of buffers.
    #[must_use]
    pub fn unnamed(&self, at: InstrIx) -> Instruction<'_> {
        self.instructions
            .get(at.at())
            .map_or_else(Instruction::default, |r| Instruction::read(r.message.of(&self.bytes), false))
    }

    /// The opcode of an instruction.
    #[must_use]
    pub fn opcode(&self, at: InstrIx) -> &str {
        self.instructions.get(at.at()).map_or("", |r| self.opcode_text(r.opcode))
    }

    pub(super) fn opcode_text(&self, number: u32) -> &str {
        text(self.opcodes.of(&self.bytes, number))
    }

    /// The number of an instruction's opcode among [`Hlo::opcodes`].
    pub(super) fn opcode_number(&self, at: InstrIx) -> u32 {
        self.instructions.get(at.at()).map_or(0, |r| r.opcode)
    }

    /// The opcodes that there are, some maybe twice, and for each instruction the position of its own.
    #[must_use]
    pub fn opcodes(&self) -> (Vec<&str>, impl ExactSizeIterator<Item = u32>) {
        let all = (0..self.opcodes.len() as u32).map(|number| self.opcode_text(number));
        (all.collect(), self.instructions.iter().map(|r| r.opcode))
    }

    /// The number of a parameter, or the index of a get-tuple-element; `None` where it is none of the two, or damaged.
    #[must_use]
    pub fn index_of(&self, at: InstrIx) -> Option<u32> {
        self.instructions.get(at.at()).map(|r| r.index).filter(|&index| index != NONE)
    }

    /// The operands of an instruction that the module has.
    #[must_use]
    pub fn operands(&self, at: InstrIx) -> &[u32] {
        let first =
            |at: usize| self.instructions.get(at).map_or(self.operands.len(), |r| r.operands as usize);
        self.operands.get(first(at.at())..first(at.at() + 1)).unwrap_or(&[])
    }

    /// The number of an instruction's name stack; 0 where it has none. Equal ones have one number, nearly always.
    #[must_use]
    pub fn name_number(&self, at: InstrIx) -> u32 {
        self.instructions.get(at.at()).map_or(0, |r| r.name)
    }

    /// The name stack with a number.
    #[must_use]
    pub fn name_stack(&self, number: u32) -> &str {
        text(self.names.of(&self.bytes, number))
    }

    /// The number of an instruction's shape. Equal ones have one number, nearly always.
    #[must_use]
    pub fn shape_number(&self, at: InstrIx) -> u32 {
        self.instructions.get(at.at()).map_or(0, |r| r.shape)
    }

    /// How many different shapes are numbered.
    #[must_use]
    pub fn shape_count(&self) -> usize {
        self.shapes.len()
    }

    /// The `ShapeProto` with a number.
    #[must_use]
    pub fn shape_proto(&self, number: u32) -> &[u8] {
        self.shapes.of(&self.bytes, number)
    }

    /// The roles that the name stacks give, by their numbers.
    #[must_use]
    pub fn roles(&self) -> &[Option<Role>] {
        self.roles.get_or_init(|| (0..self.names.len() as u32).map(|n| role_of(self.name_stack(n))).collect())
    }

    /// The role that an instruction's own name stack gives.
    #[must_use]
    pub fn own_role(&self, at: InstrIx) -> Option<Role> {
        self.roles().get(self.name_number(at) as usize).copied().flatten()
    }

    /// The instruction with an id; of several (only damaged modules have them) the first.
    #[must_use]
    pub fn by_id(&self, id: i64) -> Option<InstrIx> {
        self.by_id.find(id).map(InstrIx)
    }

    /// The instruction with a name; of several the first. For captures of before 2023, whose plans name instructions.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<InstrIx> {
        let name_at = |&i: &u32| {
            let message = self.instructions.get(i as usize).map_or(&[][..], |r| r.message.of(&self.bytes));
            text(Cursor::new(message).find(|(number, _)| *number == 1).map_or(&[], |(_, name)| name.bytes()))
        };
        let by_name = self.by_name.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.instructions.len() as u32).collect();
            order.arrange_by(|a, b| name_at(a).cmp(name_at(b)));
            order
        });
        let at = by_name.partition_point(|i| name_at(i) < name);
        by_name.get(at).filter(|i| name_at(i) == name).map(|&i| InstrIx(i))
    }

    /// The computation with an id.
    #[must_use]
    pub fn computation(&self, id: i64) -> Option<&Computation> {
        self.computations.get(self.computations_by_id.find(id)? as usize)
    }

    /// A computation's name.
    #[must_use]
    pub fn computation_name(&self, computation: &Computation) -> &str {
        text(computation.name.of(&self.bytes))
    }

    /// The instructions of a computation.
    pub fn instructions_of(&self, computation: &Computation) -> impl Iterator<Item = InstrIx> + use<> {
        (computation.first..computation.first + computation.count).map(InstrIx)
    }

    /// The computation that the program starts in: by id, else by name, else the last, where XLA writes it.
    #[must_use]
    pub fn entry(&self) -> Option<&Computation> {
        self.computations.get(*self.entry.get_or_init(|| {
            let name = text(self.entry_computation_name.of(&self.bytes));
            let position = |is: &dyn Fn(&Computation) -> bool| self.computations.iter().position(is);
            position(&|c| c.id == self.entry_computation_id && c.id != 0)
                .or_else(|| position(&|c| !name.is_empty() && self.computation_name(c) == name))
                .unwrap_or(self.computations.len().saturating_sub(1))
        }))
    }

    /// Whether an instruction is in a computation.
    #[must_use]
    pub fn is_in(&self, at: InstrIx, computation: &Computation) -> bool {
        (computation.first..computation.first + computation.count).contains(&at.0)
    }

    /// The root of a computation: by id, else its last instruction.
    #[must_use]
    pub fn root_of(&self, computation: &Computation) -> Option<InstrIx> {
        let inside = computation.first..computation.first + computation.count;
        self.by_id(computation.root_id)
            .filter(|&at| self.is_in(at, computation))
            .or_else(|| inside.last().map(InstrIx))
    }

    /// Instructions that XLA's rematerialization made: it calls a copy of `x` `x.remat`, `x.remat2`, and what it compresses
    /// `x.remat_compressed` (`xla/service/hlo_rematerialization.cc`).
    #[must_use]
    pub fn rematerialized_count(&self) -> u64 {
        self.rematerialized
    }

    /// The parameters of the entry computation, in the order of the file.
    pub fn entry_parameters(&self) -> impl Iterator<Item = (InstrIx, Instruction<'_>)> {
        let entry = self.entry().map_or(0..0, |entry| entry.first..entry.first + entry.count);
        // They lie in the order of the file.
        let from = self.parameters.partition_point(|at| at.0 < entry.start);
        let of_entry = self.parameters.iter().skip(from).take_while(move |at| entry.contains(&at.0));
        of_entry.map(|&at| (at, self.instruction(at)))
    }

    /// Which outputs share memory with which parameters.
    #[must_use]
    pub fn input_output_aliases(&self) -> &HloInputOutputAliasProto {
        &self.aliases
    }

    /// Parameters that were donated without an output of their own: their numbers, and the places inside.
    pub fn donors(&self) -> impl Iterator<Item = (i64, &[i64])> {
        self.donors.entries.iter().map(|d| (d.parameter_number, d.parameter_shape_index.as_slice()))
    }

    /// Over how many replicas the module runs; `None` where it does not say.
    #[must_use]
    pub fn replicas(&self) -> Option<u32> {
        self.device_assignment.map(|(replicas, _)| replicas)
    }

    /// Over how many devices each replica is partitioned; `None` where the module does not say.
    #[must_use]
    pub fn partitions(&self) -> Option<u32> {
        self.device_assignment.map(|(_, partitions)| partitions)
    }

    /// The sharding (`OpSharding`) of the parameter with a number among the flattened ones, where the module has it.
    #[must_use]
    pub fn parameter_sharding(&self, number: usize) -> Option<&[u8]> {
        self.parameter_shardings.get(number).map(|s| s.of(&self.bytes))
    }

    /// The shardings of the outputs, in the order of the flattened result; empty where the module has none.
    #[must_use]
    pub fn output_shardings(&self) -> Vec<&[u8]> {
        let whole = self.output_sharding;
        if whole.len == 0 {
            return Vec::new();
        }
        // OpSharding.tuple_shardings
        let fields = Cursor::new(whole.of(&self.bytes)).filter(|(number, _)| *number == 5);
        let parts: Vec<_> = fields.map(|(_, part)| part.bytes()).collect();
        if parts.is_empty() { vec![whole.of(&self.bytes)] } else { parts }
    }
}
