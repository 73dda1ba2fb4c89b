//! The plan that a message prints: `BufferAssignment OOM Debugging` of XLA (`xla/service/buffer_assignment.cc`,
//! `StatsString`, `ToVerboseString`), and the account of the TPU compiler (`Largest program allocations in hbm`).

use super::lines::{Line, without_log_prefix};
use super::words::{after, quoted};
use super::{PlanText, TextBuffer, TextSize, UsagePart};
use crate::hlo::role_of;
use crate::plain::cut;
use crate::terms::{Role, SourceLine};
use crate::units::Evidence;

/// Lines of something else that may stand between those of a plan, when other threads log too.
const MOST_STRANGERS: usize = 6;
/// Lines that a long instruction is broken into at most.
const MOST_CONTINUED: usize = 400;
/// Buffers and parts of an account that are kept: XLA lists 15, the largest first, and a TPU's account has some dozens.
const MOST_LISTED: usize = 100;

/// Whether a plan begins at this line.
pub(super) fn begins(line: &str) -> bool {
    line.contains("BufferAssignment OOM Debugging")
        || ["BufferAssignment stats:", "Peak buffers:"].iter().any(|head| line.trim_end().ends_with(head))
        || is_account(line)
}

/// Whether the TPU compiler's account begins at this line: `Total hbm usage >= 18.11G:`, `Program hbm requirement
/// 17.08G:`, `Largest program allocations in hbm:`.
pub(super) fn is_account(line: &str) -> bool {
    let words = |key: &str| after(line, key).map(|rest| rest.split_whitespace().collect::<Vec<_>>());
    let is_size = |word: &str| TextSize::parse(word).is_some();
    words("Total ").is_some_and(|w| matches!(w[..], [_, "usage", ">=", size] if is_size(size)))
        || words("Program ").is_some_and(|w| matches!(w[..], [_, "requirement", size] if is_size(size)))
        || words("Largest program allocations in ")
            .is_some_and(|w| matches!(w[..], [space] if space.ends_with(':')))
}

/// Reads a plan at the beginning of `lines`; how many lines it takes.
pub(super) fn read(lines: &[Line<'_>]) -> (PlanText, usize) {
    let mut reader =
        Reader { plan: PlanText::default(), part: String::new(), field: Field::None, continued: 0 };
    let mut end = 0;
    let mut strangers = 0;
    for (i, line) in lines.iter().enumerate() {
        let text = without_log_prefix(line.text);
        if i > 0 && (text.contains("RESOURCE_EXHAUSTED") || text.contains("BufferAssignment OOM Debugging")) {
            break;
        }
        if reader.line(text) {
            end = i + 1;
            strangers = 0;
        } else {
            strangers += 1;
            reader.field = Field::None;
            if strangers > MOST_STRANGERS {
                break;
            }
        }
    }
    let Reader { mut plan, .. } = reader;
    plan.buffers.truncate(MOST_LISTED);
    plan.usage.truncate(MOST_LISTED);
    for buffer in &mut plan.buffers {
        finish(buffer);
    }
    (plan, end)
}

/// The field that the next line may continue, where a terminal broke it.
#[derive(Clone, Copy, PartialEq)]
enum Field {
    None,
    Operator,
    Label,
}

struct Reader {
    plan: PlanText,
    /// The part of the TPU's account that is being read.
    part: String,
    field: Field,
    continued: usize,
}

impl Reader {
    /// Takes a line; false where it is none of a plan.
    fn line(&mut self, line: &str) -> bool {
        self.totals(line) || self.account(line) || self.buffer(line) || self.goes_on(line)
    }

    fn totals(&mut self, line: &str) -> bool {
        if begins(line) && !is_account(line) {
            self.field = Field::None;
            return true;
        }
        let totals = &mut self.plan.totals;
        for (key, place) in [
            ("parameter allocation:", &mut totals.parameter),
            ("constant allocation:", &mut totals.constant),
            ("maybe_live_out allocation:", &mut totals.maybe_live_out),
            ("preallocated temp allocation:", &mut totals.temp),
            ("preallocated temp fragmentation:", &mut totals.temp_fragmentation),
            ("total allocation:", &mut totals.total),
            ("total fragmentation:", &mut totals.total_fragmentation),
        ] {
            if let Some(value) = after(line, key) {
                *place = first_size(value).or(*place);
                return true;
            }
        }
        false
    }

    /// `Total hbm usage >= 17.60G:`, `Program hbm requirement 17.08G:` and the parts below them.
    fn account(&mut self, line: &str) -> bool {
        if is_account(line) {
            self.field = Field::None;
            let head = line.trim().trim_end_matches(':');
            self.part = if head.contains("Largest") {
                String::new()
            } else if head.contains("Total ") {
                "total".into()
            } else {
                "program".into()
            };
            if !self.part.is_empty() {
                let size = head.split_whitespace().next_back().and_then(TextSize::parse);
                self.push_usage("all", size);
            }
            return true;
        }
        if let Some(rest) = after(line, "Output size ") {
            self.part = "output".into();
            let mut words = rest.split_whitespace();
            let size = words.next().and_then(TextSize::parse);
            self.push_usage("all", size);
            if let Some(shares) = after(rest, "shares ") {
                let size = first_size(shares);
                self.push_usage("shares with arguments", size);
            }
            return true;
        }
        if self.part.is_empty() {
            return false;
        }
        const NAMES: [&str; 8] =
            ["reserved", "program", "arguments", "global", "scoped", "HLO temp", "overlays", "stack"];
        let trimmed = line.trim_start();
        let Some(name) = NAMES.iter().find(|n| trimmed.strip_prefix(**n).is_some_and(|r| r.starts_with(' ')))
        else {
            return false;
        };
        let rest = &trimmed[name.len()..];
        let size = first_size(rest);
        self.push_usage(name, size);
        for (key, name) in
            [("Unpadded (", "HLO temp, unpadded"), ("fragmentation (", "HLO temp, fragmentation")]
        {
            if let Some(value) = after(rest, key) {
                let size = value.split(')').next().and_then(TextSize::parse);
                self.push_usage(name, size);
            }
        }
        true
    }

    fn push_usage(&mut self, name: &str, size: Option<TextSize>) {
        self.plan.usage.push(UsagePart { of: self.part.clone(), name: name.to_owned(), size });
    }

    fn buffer(&mut self, line: &str) -> bool {
        let trimmed = line.trim();
        // `Buffer 3:`, which `Size: …` follows.
        if let Some(number) = trimmed.strip_prefix("Buffer ").and_then(|r| r.strip_suffix(':'))
            && number.bytes().all(|b| b.is_ascii_digit())
        {
            self.next_buffer();
            return true;
        }
        // `3. Size: 512.00M`.
        if let Some((number, size)) = trimmed.split_once(". Size: ")
            && number.trim_start_matches('\\').bytes().all(|b| b.is_ascii_digit() || b == b' ')
        {
            self.next_buffer();
            self.set(|b| b.size = first_size(size));
            return true;
        }
        if self.plan.buffers.is_empty() {
            return false;
        }
        let value = |key: &str| trimmed.strip_prefix(key).map(str::trim);
        if let Some(v) = value("Size:") {
            self.set(|b| b.size = first_size(v));
        } else if let Some(v) = value("Unpadded size:") {
            self.set(|b| b.unpadded = first_size(v));
        } else if let Some(v) = value("Operator:") {
            self.set(|b| b.op_name = Some(v.to_owned()));
            self.field = Field::Operator;
            self.continued = 0;
            return true;
        } else if let Some(v) = value("XLA Label:") {
            self.set(|b| b.opcode = Some(cut(v)));
        } else if let Some(v) = value("XLA label:") {
            self.set(|b| b.instruction = Some(v.to_owned()));
            self.field = Field::Label;
            self.continued = 0;
            return true;
        } else if let Some(v) = value("Entry Parameter Subshape:") {
            self.set(|b| (b.parameter, b.shape) = (true, Some(cut(v))));
        } else if let Some(v) = value("Shape:") {
            self.set(|b| b.shape = Some(cut(v)));
        } else if let Some(v) = value("Allocation type:") {
            self.set(|b| {
                b.parameter = v.contains("arg");
                b.allocation_type = Some(cut(v));
            });
        } else if value("Extra memory due to padding:").is_none() && !trimmed.starts_with("=====") {
            return false;
        }
        self.field = Field::None;
        true
    }

    /// The rest of a long operator or label, broken at the terminal's width: within a word, so nothing goes between.
    fn goes_on(&mut self, line: &str) -> bool {
        self.continued += 1;
        if self.field == Field::None || self.continued > MOST_CONTINUED {
            return false;
        }
        let field = self.field;
        self.set(|b| {
            let place = if field == Field::Operator { &mut b.op_name } else { &mut b.instruction };
            place.get_or_insert_default().push_str(line);
        });
        true
    }

    fn next_buffer(&mut self) {
        self.plan.buffers.push(TextBuffer::default());
        self.field = Field::None;
        self.part.clear();
    }

    fn set(&mut self, change: impl FnOnce(&mut TextBuffer)) {
        if let Some(buffer) = self.plan.buffers.last_mut() {
            change(buffer);
        }
    }
}

fn first_size(text: &str) -> Option<TextSize> {
    text.split_whitespace().next().and_then(TextSize::parse)
}

/// Takes apart the fields that were gathered whole.
fn finish(buffer: &mut TextBuffer) {
    let label = buffer.instruction.take();
    let metadata = buffer.op_name.take().or_else(|| label.clone()).unwrap_or_default();
    buffer.op_name = quoted(&metadata, "op_name").filter(|n| !n.is_empty());
    buffer.source = quoted(&metadata, "source_file").filter(|f| !f.is_empty()).map(|file| SourceLine {
        file,
        line: after(&metadata, "source_line=").and_then(super::words::number_in).filter(|&n| n > 0),
        function: None,
    });
    // `%fusion.1668 = f32[4,128]{1,0:T(8,128)} fusion(s32[4]{0} %copy.130), kind=kLoop, …`
    if let Some((name, rest)) = label.as_deref().and_then(|l| l.split_once(" = ")) {
        buffer.instruction = Some(cut(name.trim().trim_start_matches('%')));
        buffer.opcode = opcode(rest);
    }
    (buffer.role, buffer.role_evidence) = role(buffer).unzip();
}

/// The role of a buffer that a text describes, and how it is known: a fusion carries the metadata of one of its
/// instructions, and of a custom call the text does not say whether it is a library's.
pub(in crate::evidence) fn role(buffer: &TextBuffer) -> Option<(Role, Evidence)> {
    if buffer.parameter {
        return None;
    }
    let opcode = buffer.opcode.as_deref().unwrap_or_default();
    let shape = buffer.shape.as_deref().unwrap_or_default();
    let is_bytes = (shape.starts_with("s8[") || shape.starts_with("u8[")) && !shape.contains(',');
    if opcode == "custom-call" && is_bytes {
        return Some((Role::Workspace, Evidence::Inferred));
    }
    let role = role_of(buffer.op_name.as_deref()?)?;
    Some((role, if opcode == "fusion" { Evidence::Inferred } else { Evidence::Read }))
}

/// The opcode behind a shape: a tuple's shape is in brackets, which nest.
pub(in crate::evidence) fn opcode(text: &str) -> Option<String> {
    let mut depth = 0i32;
    let end = text.find(|c: char| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        c == ' ' && depth == 0
    })?;
    let opcode = text[end..].trim_start().split('(').next()?;
    (!opcode.is_empty()).then(|| cut(opcode))
}
