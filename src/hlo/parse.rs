//! From bytes to the indexed module.

use super::assignment::NONE;
use super::fields::{count_of, each, each_integer, each_of_cut, text};
use super::ids::Ids;
use super::instruction::InstrIx;
use super::known::Known;
use super::module::{Computation, Hlo, Record, Span};
use super::read_plan::{Part, PlanReader};
use crate::bytes::wire::Kind;
use crate::proto::hlo::{DeviceAssignmentProto, HloBufferDonorProto, HloInputOutputAliasProto};
use prost::Message;

/// Warnings kept of one module; one that is damaged in more places than that is told so once.
const MOST_WARNINGS: usize = 20;

/// Why some bytes are no HloProto. Reads on after "it": `… is no HloProto: it is empty`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotHlo {
    /// There are none.
    #[error("it is empty")]
    Empty,
    /// It is longer than any protobuf message: see [`Hlo::LARGEST`].
    #[error("it is larger than 2 GiB, and protobuf writes no message as large as that")]
    TooLarge,
    /// They are no protobuf message.
    #[error("it is no protobuf message: byte {at} starts no field")]
    NotProtobuf {
        /// The byte.
        at: usize,
    },
    /// They are one, without a module.
    #[error("it has no HLO module (field 1)")]
    NoModule,
    /// Field 1 is something else, or the module is cut off before its first instruction.
    #[error("what should be its HLO module (field 1) has no instructions")]
    NoInstructions,
}

impl Hlo {
    /// The longest HloProto: protobuf counts the bytes of a message in 31 bits. Positions are kept in 32.
    pub const LARGEST: u64 = 2 << 30;

    /// Reads an `HloProto`. What is damaged inside is left out, and [`Hlo::warnings`] says so.
    ///
    /// # Errors
    /// Where the bytes are no HloProto at all.
    pub fn parse(bytes: Vec<u8>) -> Result<Hlo, NotHlo> {
        if bytes.is_empty() {
            return Err(NotHlo::Empty);
        }
        if bytes.len() as u64 > Hlo::LARGEST {
            return Err(NotHlo::TooLarge);
        }
        let mut warnings = Vec::new();
        let (mut modules, mut plans) = (Vec::new(), Vec::new());
        let damage = each_of_cut(&bytes, Span::new(&(0..bytes.len())), &mut |field| match (
            field.number,
            field.kind,
        ) {
            (1, Kind::Bytes) => modules.push(field.part),
            (3, Kind::Bytes) => plans.push(Part { at: field.part, whole: field.whole }),
            _ => {}
        });
        match (modules.is_empty(), damage) {
            (true, Some(at)) => return Err(NotHlo::NotProtobuf { at }),
            (true, None) => return Err(NotHlo::NoModule),
            (false, Some(at)) => {
                warnings.push(format!("the HloProto is damaged at byte {at}; what follows is left out"))
            }
            (false, None) => {}
        }
        let mut hlo = Hlo {
            bytes,
            name: Span::default(),
            id: 0,
            entry_computation_id: 0,
            entry_computation_name: Span::default(),
            entry: std::sync::OnceLock::new(),
            computations: Vec::new(),
            computations_by_id: Ids::default(),
            instructions: Vec::new(),
            by_id: Ids::default(),
            operands: Vec::new(),
            opcodes: Known::new(128),
            // Modules of 200,000 instructions have some thousands of each.
            names: Known::new(1 << 14),
            shapes: Known::new(1 << 14),
            roles: std::sync::OnceLock::new(),
            by_name: std::sync::OnceLock::new(),
            schedule: Span::default(),
            aliases: HloInputOutputAliasProto::default(),
            donors: HloBufferDonorProto::default(),
            device_assignment: None,
            frame_table: Span::default(),
            frames: std::sync::OnceLock::new(),
            output_sharding: Span::default(),
            parameter_shardings: Vec::new(),
            assignment: None,
            buffers_by_place: std::sync::OnceLock::new(),
            rematerialized: 0,
            whiles: Vec::new(),
            parameters: Vec::new(),
            warnings,
        };
        let mut operands = Vec::new();
        for module in modules {
            hlo.read_module(module, &mut operands);
        }
        if !hlo.looks_like_hlo() {
            return Err(NotHlo::NoInstructions);
        }
        hlo.index_instructions(&operands);
        drop(operands);
        if !plans.is_empty() {
            hlo.read_plan(&plans);
        }
        Ok(hlo)
    }

    /// Other messages can have the same fields; an opcode is a short word.
    fn looks_like_hlo(&self) -> bool {
        let mut first = self.instructions().map(|(_, it)| it.opcode).take(8);
        first.any(|o| {
            !o.is_empty() && o.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        })
    }

    /// Ids of operands go into `operands`: what has them may come later.
    fn read_module(&mut self, message: Span, operands: &mut Vec<i64>) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut computations = Vec::new();
        let damage = each_of_cut(&bytes, message, &mut |field| match field.number {
            1 => self.name = field.part,
            2 => self.entry_computation_name = field.part,
            3 if field.kind == Kind::Bytes => computations.push(field.part),
            5 => self.id = field.integer as i64,
            6 => self.entry_computation_id = field.integer as i64,
            7 => self.schedule = field.part,
            8 => self.aliases = self.decode(field.part.of(&bytes), "its input-output aliases"),
            12 => self.output_sharding = field.part,
            14 => self.parameter_shardings.push(field.part),
            15 => {
                let it: DeviceAssignmentProto = self.decode(field.part.of(&bytes), "its device assignment");
                let positive = |n: i32| u32::try_from(n).unwrap_or(0);
                self.device_assignment = Some((positive(it.replica_count), positive(it.computation_count)));
            }
            17 => self.frame_table = field.part,
            18 => self.donors = self.decode(field.part.of(&bytes), "its buffer donors"),
            _ => {}
        });
        self.note_damage(damage, "the HLO module");
        let count: usize = computations.iter().map(|c| count_of(&bytes, *c, 2)).sum();
        self.instructions.reserve_exact(count);
        operands.reserve(2 * count);
        for computation in computations {
            self.read_computation(&bytes, computation, operands);
        }
        self.bytes = bytes;
    }

    fn decode<M: Message + Default>(&mut self, bytes: &[u8], what: &str) -> M {
        M::decode(bytes).unwrap_or_else(|e| {
            self.warn(|| format!("{what} can't be read ({e}) and are left out"));
            M::default()
        })
    }

    fn note_damage(&mut self, damage: Option<usize>, what: &str) {
        if let Some(at) = damage {
            self.warn(|| {
                format!("{what} is damaged at byte {at} of the HloProto; what follows in it is left out")
            });
        }
    }

    fn warn(&mut self, sentence: impl FnOnce() -> String) {
        match self.warnings.len() {
            n if n < MOST_WARNINGS => self.warnings.push(sentence()),
            MOST_WARNINGS => self.warnings.push("the HloProto is damaged in more places".into()),
            _ => {}
        }
    }

    fn read_computation(&mut self, bytes: &[u8], message: Span, operands: &mut Vec<i64>) {
        let first = self.instructions.len() as u32;
        let mut it = Computation { id: 0, root_id: 0, name: Span::default(), first, count: 0 };
        let damage = each_of_cut(bytes, message, &mut |field| match field.number {
            1 => it.name = field.part,
            2 if field.kind == Kind::Bytes && field.whole => {
                self.read_instruction(bytes, field.part, operands)
            }
            5 => it.id = field.integer as i64,
            6 => it.root_id = field.integer as i64,
            _ => {}
        });
        it.count = self.instructions.len() as u32 - first;
        self.note_damage(damage, "a computation");
        self.computations.push(it);
    }

    /// Not inlined, as all that is called for each of something: a browser makes the functions fast that are called often.
    #[inline(never)]
    fn read_instruction(&mut self, bytes: &[u8], message: Span, operands: &mut Vec<i64>) {
        let (mut id, mut number, mut part) = (0, 0, 0);
        let [mut name, mut opcode, mut shape, mut stack] = [Span::default(); 4];
        let first = operands.len() as u32;
        each(bytes, message, |field| match field.number {
            1 => name = field.part,
            2 => opcode = field.part,
            3 => shape = field.part,
            7 => {
                _ = each(bytes, field.part, |field| {
                    if field.number == 2 {
                        stack = field.part;
                    }
                })
            }
            9 => number = field.integer,
            13 => part = field.integer,
            35 if field.kind == Kind::Varint => id = field.integer as i64,
            36 => each_integer(bytes, field, |id| operands.push(id)),
            _ => {}
        });
        // What begins with no text has none.
        if stack.of(bytes).first().is_some_and(|&byte| byte >= 0x80) && text(stack.of(bytes)).is_empty() {
            stack = Span::default();
        }
        let mut suffixes = name.of(bytes).split(|&byte| byte == b'.').skip(1);
        self.rematerialized += u64::from(suffixes.any(|suffix| suffix.starts_with(b"remat")));
        let at = InstrIx(self.instructions.len() as u32);
        let index = match opcode.of(bytes) {
            b"while" => {
                self.whiles.push(at);
                None
            }
            b"parameter" => {
                self.parameters.push(at);
                u32::try_from(number as i64).ok()
            }
            b"get-tuple-element" => u32::try_from(part as i64).ok(),
            _ => None,
        };
        self.instructions.push(Record {
            id,
            message,
            opcode: self.opcodes.number(bytes, opcode),
            name: self.names.number(bytes, stack),
            shape: self.shapes.number(bytes, shape),
            index: index.unwrap_or(NONE),
            operands: first,
        });
    }

    /// Makes what finds instructions and computations by their ids, and finds the operands.
    fn index_instructions(&mut self, operands: &[i64]) {
        for known in [&mut self.opcodes, &mut self.names, &mut self.shapes] {
            known.close();
        }
        self.by_id = Ids::of(self.instructions.iter().map(|r| r.id));
        let doubles = self.by_id.doubles;
        if doubles > 0 {
            self.warnings
                .push(format!("instructions whose id another has too (the first counts): {doubles}"));
        }
        self.computations_by_id = Ids::of(self.computations.iter().map(|c| c.id));
        self.operands.reserve_exact(operands.len());
        let mut read = 0;
        for i in 0..self.instructions.len() {
            let next = self.instructions.get(i + 1).map_or(operands.len(), |next| next.operands as usize);
            self.instructions[i].operands = self.operands.len() as u32;
            let own = operands.get(read..next).unwrap_or(&[]);
            self.operands.extend(own.iter().filter_map(|&id| self.by_id.find(id)));
            read = next;
        }
    }

    fn read_plan(&mut self, plans: &[Part]) {
        let mut reader = PlanReader::new(self);
        let mut notes = Vec::new();
        let (mut whole, mut summable) = (true, true);
        // Aliases, allocations and traces refer to buffers: these first.
        for &plan in plans {
            let Some((at, allocations)) = reader.read_buffers(plan) else { continue };
            (whole, summable) = (false, summable && allocations);
            let left_out = match allocations {
                true => "its heap traces are left out",
                false => "it is left out, since its sums would be too small",
            };
            if notes.len() < MOST_WARNINGS {
                notes.push(format!(
                    "the buffer assignment is damaged at byte {at} of the HloProto; {left_out}"
                ));
            }
        }
        if summable {
            reader.index_buffers();
            for &plan in plans {
                reader.read_rest(plan, whole);
            }
            self.assignment = Some(reader.finish(&mut notes));
        }
        self.warnings.extend(notes);
    }
}
