//! One instruction, looked at in place.

use super::fields::{integers, text};
use crate::bytes::wire::Cursor;
use crate::proto::hlo::ShapeProto;
use prost::Message;

/// Position of an instruction in its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstrIx(pub(super) u32);

impl InstrIx {
    /// An instruction by its position.
    #[must_use]
    pub(crate) fn of(at: usize) -> InstrIx {
        InstrIx(at as u32)
    }

    /// The position as a number.
    #[must_use]
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// An instruction (`HloInstructionProto`). What is absent is empty or 0, as in the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Instruction<'a> {
    /// Unique in a whole module.
    pub id: i64,
    /// `fusion.2405`.
    pub name: &'a str,
    /// `fusion`.
    pub opcode: &'a str,
    /// The JAX name stack; the argument path, for an entry parameter.
    pub op_name: &'a str,
    /// The Python file (up to JAX 0.7).
    pub source_file: &'a str,
    /// The line in it.
    pub source_line: i64,
    /// Into the frame table, from 1; 0 = none.
    pub stack_frame_id: i64,
    /// Number of a parameter.
    pub parameter_number: i64,
    /// Index of a get-tuple-element.
    pub tuple_index: i64,
    /// Target of a custom call, `__cublas$gemm`.
    pub custom_call_target: &'a str,
    /// Settings of the backend, mostly JSON text.
    pub backend_config: &'a [u8],
    /// The `ShapeProto`.
    pub shape: &'a [u8],
    /// The `OpSharding`, where it has one.
    pub sharding: &'a [u8],
    message: &'a [u8],
}

impl<'a> Instruction<'a> {
    /// Reads the fields up to the first damaged one, with or without the name stack.
    pub(super) fn read(message: &'a [u8], named: bool) -> Instruction<'a> {
        let mut it = Instruction { message, ..Instruction::default() };
        for (number, value) in Cursor::new(message) {
            match number {
                1 => it.name = text(value.bytes()),
                2 => it.opcode = text(value.bytes()),
                3 => it.shape = value.bytes(),
                7 => it.read_metadata(value.bytes(), named),
                9 => it.parameter_number = value.varint() as i64,
                13 => it.tuple_index = value.varint() as i64,
                28 => it.custom_call_target = text(value.bytes()),
                35 => it.id = value.varint() as i64,
                40 => it.sharding = value.bytes(),
                43 => it.backend_config = value.bytes(),
                _ => {}
            }
        }
        it
    }

    fn read_metadata(&mut self, metadata: &'a [u8], named: bool) {
        for (number, value) in Cursor::new(metadata) {
            match number {
                2 if named => self.op_name = text(value.bytes()),
                3 => self.source_file = text(value.bytes()),
                4 => self.source_line = value.varint() as i64,
                15 => self.stack_frame_id = value.varint() as i64,
                _ => {}
            }
        }
    }

    /// The `LiteralProto` of a constant.
    pub(super) fn literal(&self) -> &'a [u8] {
        Cursor::new(self.message).find(|(number, _)| *number == 8).map_or(&[], |(_, v)| v.bytes())
    }

    /// Ids of the operands.
    pub fn operand_ids(&self) -> impl Iterator<Item = i64> + 'a {
        integers(self.message, 36)
    }

    /// Ids of the computations that it calls: a fusion's inside, a loop's body and condition.
    pub fn called_computation_ids(&self) -> impl Iterator<Item = i64> + 'a {
        integers(self.message, 38)
    }

    /// The shape of the whole result; an empty one where it is damaged.
    #[must_use]
    pub fn shape(&self) -> ShapeProto {
        ShapeProto::decode(self.shape).unwrap_or_default()
    }
}
