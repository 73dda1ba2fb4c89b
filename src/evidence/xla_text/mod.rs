//! XLA's text dumps of a plan (`--xla_dump_to=DIR --xla_dump_hlo_as_text`): `*-buffer-assignment.txt` with every
//! allocation and value, and `*-memory-usage-report.txt`, its short form.
//!
//! Written by `BufferAssignment::ToString`, `MemoryUsageReport` and `HloLiveRange::ToString`
//! (`xla/service/buffer_assignment.cc`, `xla/hlo/utils/hlo_live_range.cc`). JAX 0.10 took the instructions of the values
//! out into `*-buffer-assignment-values.txt`, and the kinds of allocations out of the short form.

mod allocation;
mod plan;

pub use plan::module_of_file;

use super::error_text::TextSize;
use crate::terms::SourceLine;
use crate::units::Bytes;
use std::collections::HashMap;

/// What a text dump says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct XlaText {
    /// The allocations, in the order of the text. The short form leaves out small ones, see `cut`.
    pub allocations: Vec<TextAllocation>,
    /// The sum of all allocations, as the text has it.
    pub total: Option<TextSize>,
    /// What is live at the most, by instruction and shape index: `dot.1{}` and bytes; parameters too. Where the text has
    /// the live ranges (JAX 0.5 to 0.9).
    pub peak: Vec<(String, Bytes)>,
    /// Allocations that the short form left out.
    pub cut: u64,
}

/// One allocation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextAllocation {
    /// Its index in the plan; null in the short form since JAX 0.10.
    pub index: Option<u64>,
    /// Its size; to the byte, except in the short form.
    pub size: Option<TextSize>,
    /// Its memory space.
    pub color: i64,
    /// The entry parameter that it is.
    pub parameter: Option<u64>,
    /// Live out of the module.
    pub live_out: bool,
    /// A constant.
    pub constant: bool,
    /// Thread-local: no device memory.
    pub thread_local: bool,
    /// A temp block.
    pub temp: bool,
    /// The shape, of a parameter or of the result's tuple.
    pub shape: Option<String>,
    /// The values in it.
    pub values: Vec<TextValue>,
}

/// A value in an allocation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextValue {
    /// XLA's number for it.
    pub id: Option<u64>,
    /// Its instruction, `fusion.3`; with the shape index, `custom-call.1{0}`. Empty in the short form.
    pub name: String,
    /// Its size.
    pub size: Option<TextSize>,
    /// Where in the allocation.
    pub offset: Bytes,
    /// Its shape; `2×f32[1024,2048]` in the short form, which lists values of one place together.
    pub shape: String,
    /// The opcode of its instruction.
    pub opcode: Option<String>,
    /// The JAX name stack; the argument path, for a parameter.
    pub op_name: Option<String>,
    /// The Python position, where the dump has it (JAX up to 0.7).
    pub source: Option<SourceLine>,
    /// First and last position of the schedule at which it is live.
    pub life: Option<(u64, u64)>,
}

impl XlaText {
    /// Reads a dump of either kind; `None` where the text is neither.
    #[must_use]
    pub fn read(text: &str) -> Option<XlaText> {
        let mut reader = Reader::default();
        for line in text.lines() {
            reader.line(line);
        }
        let Reader { mut text, lives, instructions, .. } = reader;
        if text.allocations.is_empty() {
            return None;
        }
        for value in text.allocations.iter_mut().flat_map(|a| &mut a.values) {
            // Live ranges name whole values `dot.1{}`.
            let key =
                if value.name.ends_with('}') { value.name.clone() } else { format!("{}{{}}", value.name) };
            value.life = lives.get(key.as_str()).copied();
            if let Some(instruction) = value.id.and_then(|id| instructions.get(&id)) {
                value.opcode.clone_from(&instruction.opcode);
                value.op_name.clone_from(&instruction.op_name);
                value.source.clone_from(&instruction.source);
            }
        }
        Some(text)
    }

    /// Whether every size is known to the byte.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.cut == 0 && self.allocations.iter().all(|a| a.size.is_some_and(TextSize::is_exact))
    }
}

/// What the instruction of a value says.
#[derive(Default)]
struct Instruction {
    opcode: Option<String>,
    op_name: Option<String>,
    source: Option<SourceLine>,
}

/// Which part of a dump is being read.
#[derive(Default, Clone, Copy, PartialEq)]
enum Part {
    #[default]
    Allocations,
    /// The short form's second half lists the allocations again, with their values.
    AllocationsAgain,
    UsedValues,
    LiveRanges,
    Peak,
    Done,
}

#[derive(Default)]
struct Reader {
    text: XlaText,
    part: Part,
    /// Memory space of the short form since JAX 0.10.
    space: Option<i64>,
    /// Positions of the allocations, by their numbers in the text.
    by_index: HashMap<Option<u64>, usize>,
    /// The allocation that values belong to.
    current: Option<usize>,
    /// The value whose uses are being listed.
    value: Option<u64>,
    instructions: HashMap<u64, Instruction>,
    lives: HashMap<String, (u64, u64)>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let trimmed = line.trim();
        if self.heading(trimmed) {
            return;
        }
        match self.part {
            Part::Allocations | Part::AllocationsAgain => self.allocation(trimmed),
            Part::UsedValues => self.used_value(trimmed),
            Part::LiveRanges => {
                if let Some((name, range)) = trimmed.rsplit_once(':')
                    && let Some((from, to)) = range.split_once('-')
                    && let (Ok(from), Ok(to)) = (from.parse(), to.parse())
                {
                    self.lives.insert(name.to_owned(), (from, to));
                }
            }
            Part::Peak => {
                // `dot.1{}: 8388608 bytes (cumulative: 8388608 bytes)`
                let parsed =
                    trimmed.split_once(" bytes (cumulative").and_then(|(head, _)| head.rsplit_once(": "));
                if let Some((name, bytes)) = parsed
                    && let Ok(bytes) = bytes.parse()
                {
                    self.text.peak.push((name.to_owned(), Bytes(bytes)));
                }
            }
            Part::Done => {}
        }
    }

    /// Lines that begin a part.
    fn heading(&mut self, line: &str) -> bool {
        if let Some(rest) =
            line.strip_prefix("Total bytes used: ").or_else(|| line.strip_prefix("Total bytes: "))
        {
            let total = rest.split_whitespace().next().and_then(TextSize::parse);
            // The short form since JAX 0.10 has one for each memory space.
            self.text.total = match (self.text.total, total) {
                (Some(a), Some(b)) if self.space.is_some() => Some(TextSize {
                    least_bytes: a.least_bytes + b.least_bytes,
                    most_bytes: a.most_bytes + b.most_bytes,
                }),
                (a, b) => b.or(a),
            };
        } else if let Some(rest) = line.strip_prefix("Memory Space: ") {
            let number = rest.rsplit_once("(color=").and_then(|(_, n)| n.trim_end_matches(')').parse().ok());
            self.space = Some(number.unwrap_or(0));
        } else if line == "Allocations sorted by size with their values:" {
            self.part = Part::AllocationsAgain;
        } else if line == "Used values:" {
            self.part = Part::UsedValues;
        } else if line == "BufferLiveRange:" {
            self.part = Part::LiveRanges;
        } else if line.starts_with("Live ranges at ") {
            self.part = Part::Peak;
        } else if line.starts_with("HloLiveRange (")
            || line.starts_with("Stack trace breakdown for peak usage")
        {
            self.part = Part::Done;
        } else {
            return false;
        }
        true
    }

    fn allocation(&mut self, line: &str) {
        if let Some(at) = line.find("allocation ").filter(|_| line.contains(": size ")) {
            let Some(found) = allocation::allocation(&line[at..]) else { return };
            let next = self.text.allocations.len();
            let at = *self.by_index.entry(found.index).or_insert(next);
            self.current = Some(at);
            if at == next {
                self.text.allocations.push(found);
            }
        } else if let Some(value) = line.strip_prefix("value: ").and_then(allocation::value) {
            self.push_value(value);
        } else if line.starts_with("cumulative_size;") && line.contains("used_by_n_values") {
            // One table for each allocation, without its head since JAX 0.10.
            if let Some(space) = self.space {
                self.current = Some(self.text.allocations.len());
                self.text.allocations.push(TextAllocation { color: space, ..TextAllocation::default() });
            }
        } else if let Some(value) = allocation::row(line) {
            self.push_value(value);
        } else if let Some(rest) = line.strip_prefix("The rest ")
            && rest.contains(" allocations ")
            && self.part == Part::Allocations
        {
            self.text.cut = rest.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(1);
        }
    }

    fn push_value(&mut self, value: TextValue) {
        let Some(allocation) = self.current.and_then(|i| self.text.allocations.get_mut(i)) else { return };
        if self.space.is_some() {
            // The head that is missing would have said the size: where the last value ends.
            let end = value.size.map(|s| TextSize {
                least_bytes: s.least_bytes + value.offset,
                most_bytes: s.most_bytes + value.offset,
            });
            allocation.size = allocation.size.max(end);
        }
        allocation.values.push(value);
    }

    /// `<61 add_tanh_fusion @0>` begins a value, ` from instruction: %x = f32[] add(…), metadata={…}` ends it; up to JAX 0.4
    /// the next one begins on the same line.
    fn used_value(&mut self, line: &str) {
        if let Some((_, text)) = line.split_once("from instruction: ") {
            let (text, next) = match text.rsplit_once('<') {
                Some((text, next)) if next.ends_with('>') && next.contains(" @") => (text, Some(next)),
                _ => (text, None),
            };
            if let Some(id) = self.value.take() {
                self.instructions.insert(id, allocation::instruction(text));
            }
            self.value = next.and_then(allocation::number);
        } else if let Some(head) = line.strip_prefix('<') {
            self.value = allocation::number(head);
        }
    }
}
