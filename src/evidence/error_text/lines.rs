//! Text as it comes from terminals and log files, made into lines of one writer each.

use super::prefix::Prefixes;
use std::borrow::Cow;

/// One line of one writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Its number in the text, from 1.
    pub number: u64,
    /// Without the writer's mark and without trailing space.
    pub text: &'a str,
}

/// Text out of bytes: UTF-8, UTF-16 (PowerShell's redirection) with or without its mark, else 8-bit; without the colours of
/// a terminal.
#[must_use]
pub fn decode(bytes: &[u8]) -> String {
    let text = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ if is_utf16_le(bytes) => utf16(bytes, u16::from_le_bytes),
        _ if is_utf16_be(bytes) => utf16(bytes, u16::from_be_bytes),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            // What matters is ASCII; Latin-1 keeps every byte a character, so that columns and sizes stay.
            Err(_) => bytes.iter().map(|&b| b as char).collect(),
        },
    };
    match without_escapes(&text) {
        Cow::Owned(clean) => clean,
        Cow::Borrowed(_) => text,
    }
}

/// Whether bytes begin as UTF-16 of Latin letters does: each second byte is zero, and none of the others.
#[must_use]
pub(in crate::evidence) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe")
        || bytes.starts_with(b"\xfe\xff")
        || is_utf16_le(bytes)
        || is_utf16_be(bytes)
}

fn is_utf16_le(bytes: &[u8]) -> bool {
    is_every_second_zero(bytes, |pair| (pair[1], pair[0]))
}

fn is_utf16_be(bytes: &[u8]) -> bool {
    is_every_second_zero(bytes, |pair| (pair[0], pair[1]))
}

fn is_every_second_zero(bytes: &[u8], split: fn(&[u8]) -> (u8, u8)) -> bool {
    /// Bytes looked at, and the fewest of which it can be told.
    const SEEN: usize = 256;
    const FEWEST: usize = 32;
    let seen = &bytes[..bytes.len().min(SEEN)];
    let is_letter = |b: u8| (0x20..0x7f).contains(&b) || matches!(b, b'\t' | b'\n' | b'\r' | 0x1b);
    seen.len() >= FEWEST
        && seen.chunks_exact(2).all(|pair| {
            let (zero, letter) = split(pair);
            zero == 0 && is_letter(letter)
        })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// Drops `ESC [ … letter`, the colours of a terminal.
pub(super) fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
        } else if chars.as_str().starts_with('[') {
            chars.next();
            for c in chars.by_ref() {
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
        }
    }
    Cow::Owned(out)
}

/// The lines of each writer, in the order in which the writers first speak, without what loggers put before them.
/// Launchers mark each line with its process (`[rank 3] `, `[1,3]<stderr>:`, `3: `, `(worker pid=7) `, `worker-3 | `), and
/// lines of several processes interleave.
pub(super) fn writers(text: &str) -> Vec<(&str, Vec<Line<'_>>)> {
    let mut writers: Vec<(&str, Vec<Line<'_>>)> = Vec::new();
    let mut at = std::collections::HashMap::new();
    // Progress bars end their lines by a carriage return; they are one line of an editor.
    let lines = text.split('\n').enumerate();
    for (i, line) in lines.flat_map(|(i, line)| line.split('\r').map(move |part| (i, part))) {
        if line.trim().is_empty() {
            continue;
        }
        let (mark, rest) = split_mark(line);
        let index = *at.entry(mark).or_insert_with(|| {
            writers.push((mark, Vec::new()));
            writers.len() - 1
        });
        let number = i as u64 + 1;
        writers[index].1.push(Line { number, text: rest.trim_end() });
    }
    for (_, lines) in &mut writers {
        let prefixes = Prefixes::learn(lines);
        if !prefixes.is_empty() {
            for line in lines {
                line.text = prefixes.strip(line.text);
            }
        }
    }
    writers
}

/// The mark of the writer before a line, where there is one.
fn split_mark(line: &str) -> (&str, &str) {
    let end = mark_end(line);
    let (mark, rest) = line.split_at(end);
    (mark.trim_end(), if end > 0 { rest.strip_prefix(' ').unwrap_or(rest) } else { rest })
}

fn mark_end(line: &str) -> usize {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if let Some(inside) = line.strip_prefix('[') {
        let Some(end) = inside.find(']') else { return 0 };
        let mark = inside[..end].to_ascii_lowercase();
        let named = mark.trim_start_matches(|c: char| c.is_ascii_alphabetic() || " :=_-".contains(c));
        let known = ["rank", "proc", "worker", "default"].iter().any(|name| mark.starts_with(name));
        // `[3]`, `[rank3]:`, `[rank: 3]`, `[default3]:` of torchrun, `[1,3]` of mpirun, which goes on with `<stderr>:`,
        // `[pod/train-3/main]` of kubectl.
        if digits(&mark)
            || (known && digits(named))
            || mark.split(',').all(digits)
            || mark.starts_with("pod/")
        {
            let after = end + 2;
            let rest = &line[after..];
            return ["<stderr>:", "<stdout>:", ":"]
                .iter()
                .find(|s| rest.starts_with(**s))
                .map_or(after, |s| after + s.len());
        }
        return 0;
    }
    // Ray: `(RayTrainWorker pid=123, ip=10.0.0.1) `.
    if line.starts_with('(')
        && let Some(end) = line.find(')')
        && line[..end].contains("pid=")
    {
        return end + 1;
    }
    // docker compose: `worker-3  | `.
    if let Some((name, _)) = line.split_once(" | ") {
        let name = name.trim_end();
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.contains(|c: char| c.is_ascii_digit())
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(is_name)
        {
            return line.find(" | ").map_or(0, |at| at + 2);
        }
    }
    // srun -l: `3: `, padded to a width.
    let padded = line.trim_start_matches(' ');
    if let Some((number, rest)) = padded.split_once(':')
        && digits(number)
        && number.len() <= 5
        && (rest.is_empty() || rest.starts_with(' '))
        && line.len() - padded.len() <= 4
    {
        return line.len() - rest.len();
    }
    0
}

/// A line without what loggers put before it: time, level, file and line; several times where one logger's lines went
/// through another.
pub(super) fn without_log_prefix(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..MOST_LOGGERS {
        let less = without_one_prefix(rest);
        if less.len() == rest.len() {
            break;
        }
        rest = less;
    }
    rest
}

/// Loggers that pass lines on to each other.
const MOST_LOGGERS: usize = 3;

fn without_one_prefix(line: &str) -> &str {
    // Most lines have none, which is quickly seen.
    if !line.contains(']') {
        return line;
    }
    // `2026-01-01 12:00:00.123456: W external/xla/…/bfc_allocator.cc:501] text`, `E0101 12:00:00.1 27487 file.cc:28] text`.
    for end in [".cc:", ".cpp:", ".h:", ".py:"] {
        if let Some(at) = line.find(end) {
            let rest = &line[at + end.len()..];
            let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if number > 0 && rest[number..].starts_with(']') {
                return rest[number + 1..].strip_prefix(' ').unwrap_or(&rest[number + 1..]);
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_are_told_apart() {
        let text = "[rank 0] a\n[rank 1] b\n[rank 0]   c\n3: d\n(W pid=7, ip=1.2.3.4) e\n[1,2]<stderr>:f\n\nplain\n[notice] g";
        let found: Vec<(&str, Vec<(u64, &str)>)> = writers(text)
            .into_iter()
            .map(|(mark, lines)| (mark, lines.iter().map(|l| (l.number, l.text)).collect()))
            .collect();
        assert_eq!(
            found,
            [
                ("[rank 0]", vec![(1, "a"), (3, "  c")]),
                ("[rank 1]", vec![(2, "b")]),
                ("3:", vec![(4, "d")]),
                ("(W pid=7, ip=1.2.3.4)", vec![(5, "e")]),
                ("[1,2]<stderr>:", vec![(6, "f")]),
                ("", vec![(8, "plain"), (9, "[notice] g")]),
            ]
        );
    }

    #[test]
    fn encodings() {
        assert_eq!(decode("Größe".as_bytes()), "Größe");
        assert_eq!(decode(b"\xff\xfeO\0O\0M\0"), "OOM");
        assert_eq!(decode(b"\xfe\xff\0O\0O\0M"), "OOM");
        let text = "RESOURCE_EXHAUSTED: Out\r\n";
        let units = || text.encode_utf16();
        assert_eq!(decode(&units().flat_map(u16::to_le_bytes).collect::<Vec<_>>()), text);
        assert_eq!(decode(&units().flat_map(u16::to_be_bytes).collect::<Vec<_>>()), text);
        assert!(!is_utf16(&[0; 64]) && !is_utf16(b"R\0E\0") && !is_utf16(text.as_bytes()));
        assert_eq!(decode(b"caf\xe9 3.41GiB"), "café 3.41GiB");
        assert_eq!(decode(b"\x1b[1;31mE0101\x1b[0m x"), "E0101 x");
    }

    #[test]
    fn log_prefixes() {
        let line = "2026-01-01 12:00:00.123456: W external/xla/xla/tsl/framework/bfc_allocator.cc:501] Allocator (GPU_0_bfc)";
        assert_eq!(without_log_prefix(line), "Allocator (GPU_0_bfc)");
        assert_eq!(
            without_log_prefix("E0314 21:29:02.854727  957629 client.cc:3045] Execution"),
            "Execution"
        );
        assert_eq!(without_log_prefix("  File \"a.py:3\""), "  File \"a.py:3\"");
    }
}
