//! The lines of a text dump.

use super::{Instruction, TextAllocation, TextValue};
use crate::evidence::error_text::{TextSize, opcode_of, quoted};
use crate::plain::cut;
use crate::terms::SourceLine;
use crate::units::Bytes;

/// The number at the beginning of a text.
pub(super) fn number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// `allocation 1: size 8388608, color 1, parameter 2, shape |f32[1024,2048]| at ShapeIndex {0}, maybe-live-out:`
/// (`BufferAllocation::ToShortString`).
pub(super) fn allocation(line: &str) -> Option<TextAllocation> {
    let rest = line.strip_prefix("allocation ")?;
    let (index, rest) = rest.split_once(": size ")?;
    let (size, rest) = rest.split_once([',', ':']).unwrap_or((rest, ""));
    // The shape stands between bars; what it contains must not be taken for a word of the line.
    let mut parts = rest.split('|');
    let before = parts.next().unwrap_or_default();
    let shape = parts.next().map(cut);
    let words: String = std::iter::once(before).chain(parts).collect();
    let has = |word: &str| words.contains(word);
    let after = |word: &str| before.split_once(word).and_then(|(_, n)| number(n.trim_start()));
    Some(TextAllocation {
        index: Some(index.trim().parse().ok()?),
        size: TextSize::parse(size.trim()),
        color: after(", color ")
            .or_else(|| after(" color "))
            .and_then(|n| i64::try_from(n).ok())
            .unwrap_or(0),
        parameter: after(" parameter "),
        live_out: has("maybe-live-out"),
        constant: has(" constant"),
        thread_local: has("thread-local"),
        temp: has("preallocated-temp"),
        shape,
        values: Vec::new(),
    })
}

/// `<72 multiply_subtract_fusion @0> (size=8388608,offset=0): f32[1024,2048]{1,0}` (`HloValue::ToShortString`).
pub(super) fn value(text: &str) -> Option<TextValue> {
    let rest = text.strip_prefix('<')?;
    let (head, rest) = rest.split_once("> (size=")?;
    let (numbers, shape) = rest.split_once("): ")?;
    let (size, offset) = numbers.split_once(",offset=")?;
    let (id, name) = head.split_once(' ')?;
    // `@0` is the memory space, `(phi)` a value that joins others.
    let name = name.split([' ', '@']).next().unwrap_or(name);
    Some(TextValue {
        id: number(id),
        name: cut(name),
        size: TextSize::parse(size),
        offset: Bytes(offset.parse().ok()?),
        shape: cut(shape.trim()),
        ..TextValue::default()
    })
}

/// `8.00MiB(100%);    8.00MiB;            0;                2; 2×f32[1024,2048]`: a row of a table of values.
pub(super) fn row(line: &str) -> Option<TextValue> {
    let fields: Vec<&str> = line.splitn(5, ';').map(str::trim).collect();
    let [cumulative, size, offset, values, shapes] = fields.as_slice() else { return None };
    if !cumulative.ends_with("%)") || values.parse::<u64>().is_err() {
        return None;
    }
    Some(TextValue {
        size: TextSize::parse(size),
        offset: Bytes(offset.parse().ok()?),
        shape: cut(shapes),
        ..TextValue::default()
    })
}

/// `%add.45 = f32[] add(%Arg_0.43, %Arg_1.44), metadata={op_name="…" source_file="…" source_line=9}`
pub(super) fn instruction(text: &str) -> Instruction {
    let source = quoted(text, "source_file").filter(|f| !f.is_empty()).map(|file| SourceLine {
        file,
        line: text.split_once("source_line=").and_then(|(_, n)| number(n)).filter(|&n| n > 0),
        function: None,
    });
    Instruction {
        opcode: text.split_once(" = ").and_then(|(_, rest)| opcode_of(rest)),
        op_name: quoted(text, "op_name").filter(|n| !n.is_empty()),
        source,
    }
}
