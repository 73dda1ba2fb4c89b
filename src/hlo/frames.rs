//! Python positions of instructions, in both forms: file and line in the instruction (JAX up to 0.7), and frames in a
//! table of the module (`StackFrameIndexProto`), whose every id counts from 1 and is 0 for "none".

use super::instruction::Instruction;
use super::module::Hlo;
use crate::plain::{cut, cut_path};
use crate::proto::hlo::StackFrameIndexProto;
use crate::terms::SourceLine;
use prost::Message;

/// A file and a line, to be counted: the file as its number in the table, or by its name.
pub(super) type Place<'a> = (i32, &'a str, i64);

/// Python's own limit on its stack is 1,000 frames.
const MAX_FRAMES: usize = 1000;

impl Hlo {
    fn frame_table(&self) -> &StackFrameIndexProto {
        self.frames.get_or_init(|| {
            StackFrameIndexProto::decode(self.frame_table.of(&self.bytes)).unwrap_or_default()
        })
    }

    /// The Python stack of an instruction, innermost frame first; empty where the module has none.
    #[must_use]
    pub fn frames(&self, instruction: &Instruction<'_>) -> Vec<SourceLine> {
        let mut out = Vec::new();
        let mut id = instruction.stack_frame_id;
        // A damaged table can have a cycle: no stack is deeper than the table is long.
        let limit = self.frame_table().stack_frames.len().min(MAX_FRAMES);
        while out.len() < limit {
            let Some((line, parent)) = self.frame(id) else { break };
            out.push(line);
            id = parent;
        }
        out
    }

    /// The Python position of an instruction: the innermost frame, else file and line.
    #[must_use]
    pub fn source(&self, instruction: &Instruction<'_>) -> Option<SourceLine> {
        if let Some((line, _)) = self.frame(instruction.stack_frame_id) {
            return Some(line);
        }
        (!instruction.source_file.is_empty()).then(|| SourceLine {
            file: cut_path(instruction.source_file),
            line: u64::try_from(instruction.source_line).ok().filter(|&n| n > 0),
            function: None,
        })
    }

    /// The Python position of an instruction, to be compared with others of the module.
    pub(super) fn place<'a>(&'a self, instruction: &Instruction<'a>) -> Option<Place<'a>> {
        let table = self.frame_table();
        let location = from_one(instruction.stack_frame_id)
            .and_then(|at| table.stack_frames.get(at))
            .and_then(|frame| table.file_locations.get(from_one(frame.file_location_id.into())?));
        match location {
            Some(it) => Some((it.file_name_id, "", it.line.into())),
            None if instruction.source_file.is_empty() => None,
            None => Some((0, instruction.source_file, instruction.source_line)),
        }
    }

    /// A frame and the id of its parent.
    fn frame(&self, id: i64) -> Option<(SourceLine, i64)> {
        let table = self.frame_table();
        let frame = table.stack_frames.get(from_one(id)?)?;
        let location = table.file_locations.get(from_one(frame.file_location_id.into())?)?;
        let file = table.file_names.get(from_one(location.file_name_id.into())?)?;
        let function = from_one(location.function_name_id.into()).and_then(|i| table.function_names.get(i));
        let line = SourceLine {
            file: cut_path(file),
            line: u64::try_from(location.line).ok().filter(|&n| n > 0),
            function: function.filter(|f| !f.is_empty()).map(|f| cut(f)),
        };
        Some((line, frame.parent_frame_id.into()))
    }
}

fn from_one(id: i64) -> Option<usize> {
    usize::try_from(id.checked_sub(1)?).ok()
}
