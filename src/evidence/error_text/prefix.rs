//! What loggers put before every line of a text, whatever its form: learned from lines whose beginning is known.
//!
//! XLA's multi-line messages begin their lines with fixed words. Where the same thing stands before several of these, a
//! time, a level, a pod's name, it is the logger's, and stands before the other lines of the text too.

use super::lines::Line;
use crate::arrange::Arrange;
use std::collections::HashMap;

/// Words with which lines of XLA's messages begin.
const BEGINNINGS: [&str; 28] = [
    "BufferAssignment OOM Debugging",
    "BufferAssignment stats:",
    "parameter allocation:",
    "constant allocation:",
    "maybe_live_out allocation:",
    "preallocated temp allocation:",
    "preallocated temp fragmentation:",
    "total allocation:",
    "total fragmentation:",
    "Peak buffers:",
    "Operator: ",
    "XLA Label: ",
    "XLA label: ",
    "Shape: ",
    "Entry Parameter Subshape: ",
    "Unpadded size: ",
    "Allocation type: ",
    "Total hbm usage ",
    "Program hbm requirement ",
    "Largest program allocations in ",
    "BFCAllocator dump for ",
    "InUse at ",
    "Limit: ",
    "InUse: ",
    "MaxInUse: ",
    "NumAllocs: ",
    "MaxAllocSize: ",
    "LargestFreeBlock: ",
];
/// So many lines must begin alike: one message that stands before a known beginning by chance is no prefix.
const ENOUGH: u32 = 3;
/// Longer than any logger's.
const LONGEST: usize = 160;
/// Loggers have few forms; each line is compared with all of them.
const MOST_FORMS: usize = 16;

/// What stands before lines, with any number in place of every number.
#[derive(Debug, Default)]
pub(super) struct Prefixes(Vec<String>);

impl Prefixes {
    /// What stands before the known beginnings of these lines.
    pub fn learn(lines: &[Line<'_>]) -> Prefixes {
        let mut seen: HashMap<String, u32> = HashMap::new();
        for prefix in lines.iter().filter_map(|line| before_known(line.text)) {
            *seen.entry(without_numbers(prefix)).or_default() += 1;
        }
        let mut forms: Vec<(String, u32)> = seen.into_iter().filter(|(_, n)| *n >= ENOUGH).collect();
        // The most frequent ones, and of these the longest first: one can begin as another.
        forms.arrange_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        forms.truncate(MOST_FORMS);
        let mut forms: Vec<String> = forms.into_iter().map(|(form, _)| form).collect();
        forms.arrange_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        Prefixes(forms)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A line without its prefix, if it has one.
    pub fn strip<'a>(&self, line: &'a str) -> &'a str {
        let stripped = self.0.iter().find_map(|form| strip_form(line, form));
        stripped.map_or(line, |rest| rest.strip_prefix(' ').unwrap_or(rest))
    }
}

/// What stands before a known beginning in a line; `None` where that is nothing.
fn before_known(line: &str) -> Option<&str> {
    let mut in_word = false;
    let (at, _) = line.char_indices().take_while(|(at, _)| *at <= LONGEST).find(|&(at, c)| {
        let starts = !std::mem::replace(&mut in_word, c.is_alphanumeric() || c == '_');
        starts && BEGINNINGS.iter().any(|b| line[at..].starts_with(b))
    })?;
    let prefix = line[..at].trim_end();
    // In quotes or brackets it is somebody's text about the message.
    let quoted = prefix.ends_with(['"', '\'', '`', '(']);
    (!prefix.is_empty() && prefix.len() <= LONGEST && !quoted).then_some(prefix)
}

/// Every run of digits as one `0`.
fn without_numbers(text: &str) -> String {
    let mut form = String::with_capacity(text.len());
    let mut in_number = false;
    for c in text.chars() {
        let digit = c.is_ascii_digit();
        if !digit {
            form.push(c);
        } else if !in_number {
            form.push('0');
        }
        in_number = digit;
    }
    form
}

/// The rest of a line that begins as a form of [`without_numbers`].
fn strip_form<'a>(line: &'a str, form: &str) -> Option<&'a str> {
    let mut rest = line;
    for c in form.chars() {
        rest = if c == '0' {
            let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            (after.len() < rest.len()).then_some(after)?
        } else {
            rest.strip_prefix(c)?
        };
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> Vec<String> {
        let lines: Vec<Line<'_>> = text.lines().map(|text| Line { number: 1, text }).collect();
        let prefixes = Prefixes::learn(&lines);
        lines.iter().map(|l| prefixes.strip(l.text).to_owned()).collect()
    }

    #[test]
    fn what_stands_before_known_lines_stands_before_others() {
        let text = "t=12:00:01.5 pod-7 | Peak buffers:\nt=12:00:01.51 pod-7 | \tBuffer 1:\nt=12:00:02.1 pod-7 | \t\tShape: f32[2]\n\
                    t=9:1:2.3 pod-7 | Operator: x\nother 3 | y";
        assert_eq!(
            stripped(text),
            ["Peak buffers:", "\tBuffer 1:", "\t\tShape: f32[2]", "Operator: x", "other 3 | y"]
        );
    }

    #[test]
    fn too_few_lines_teach_nothing() {
        let text = "jax said Peak buffers:\njax said hello\n  Shape: f32[2]\n\"Limit: \n(Limit: 3\n'Limit: 3";
        assert_eq!(stripped(text), text.lines().collect::<Vec<_>>());
    }
}
