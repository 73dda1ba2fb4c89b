//! Texts that something wrote down in one piece: lines of JSON (Docker, log collectors), and an error's `repr`, in which ends
//! of lines are `\n`.

use std::borrow::Cow;

/// The keys under which writers of JSON put the line itself. Docker: `log`; Google Cloud: `textPayload`; the others in turn.
const KEYS: [&str; 7] = ["log", "message", "msg", "textPayload", "line", "text", "error"];

/// What lines hold that tell of memory, where they hold ends of lines too. Other lines stay: a path of Windows has `\n` in it.
const TELLING: [&str; 5] =
    ["RESOURCE_EXHAUSTED", "ut of memory", "BufferAssignment ", "BFCAllocator dump", "OUT_OF_MEMORY"];

/// A text as its program wrote it: each line of JSON is the line that it carries, and an escaped end of line is one (as a
/// carriage return, so that lines keep their numbers).
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if !text.lines().any(|line| is_object(line) || is_escaped(line)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        // An exception may stand beside the message, under a key of its own: then the whole line is it.
        let carried = carried(line).filter(|inside| tells(inside) || !tells(line));
        let line = carried.as_deref().map_or(line, |inside| inside.trim_end_matches(['\r', '\n']));
        let line = if is_escaped(line) { Cow::Owned(unescaped(line)) } else { Cow::Borrowed(line) };
        out.extend(line.chars().map(|c| if c == '\n' { '\r' } else { c }));
    }
    Cow::Owned(out)
}

/// Whether a file that begins with a brace is a log of JSON lines, or an error in one piece.
pub(in crate::evidence) fn is_json_log(start: &str) -> bool {
    let mut lines = start.lines().filter(|line| !line.trim().is_empty());
    // A trace has names of events with any words.
    !start.contains("traceEvents")
        && (tells(start) || lines.next().is_some_and(|line| carried(line).is_some()))
}

fn is_object(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('{') && line.ends_with('}')
}

fn tells(line: &str) -> bool {
    TELLING.iter().any(|telling| line.contains(telling))
}

fn is_escaped(line: &str) -> bool {
    line.contains("\\n") && tells(line)
}

/// The line that a line of JSON carries.
fn carried(line: &str) -> Option<String> {
    if !is_object(line) {
        return None;
    }
    KEYS.iter().find_map(|key| {
        let key = format!("\"{key}\"");
        let after = line.match_indices(&key).find_map(|(at, _)| {
            // A key follows a brace or a comma; the same word as a value does not.
            let before = line[..at].trim_end().chars().next_back();
            let rest = line[at + key.len()..].trim_start().strip_prefix(':')?;
            before.filter(|c| matches!(c, '{' | ','))?;
            rest.trim_start().strip_prefix('"')
        })?;
        let end = end_of_string(after)?;
        Some(unescaped(&after[..end]))
    })
}

/// Where the quote stands that ends a string.
fn end_of_string(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices()
        .find(|&(_, c)| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })
        .map(|(at, _)| at)
}

/// A string as it was before it was written with backslashes, by JSON or by Python.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(hex @ ('u' | 'x')) => {
                let digits: String = chars.clone().take(if hex == 'u' { 4 } else { 2 }).collect();
                match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                    Some(c) => {
                        out.push(c);
                        chars.nth(digits.chars().count().saturating_sub(1));
                    }
                    None => out.extend(['\\', hex]),
                }
            }
            Some(c @ ('\\' | '"' | '\'' | '/')) => out.push(c),
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_json_are_what_they_carry() {
        let docker = r#"{"log":"\tOut of memory: \"a\" \u001b[0m\n","stream":"stderr"}"#;
        assert_eq!(plain(docker), "\tOut of memory: \"a\" \u{1b}[0m");
        let nested = r#"{"severity": "msg", "message" : "a\nBufferAssignment stats:\nb", "msg": "no"}"#;
        assert_eq!(plain(&format!("x\n{nested}\ny")), "x\na\rBufferAssignment stats:\rb\ny");
        let beside = r#"{"message": "failed", "exc_info": "E:\nRESOURCE_EXHAUSTED: x"}"#;
        assert_eq!(plain(beside), "{\"message\": \"failed\", \"exc_info\": \"E:\rRESOURCE_EXHAUSTED: x\"}");
        // Without such a key it stays, as what is no JSON does.
        for other in [r#"{"a": 1}"#, "{\"log\": \"cut", "{x}", r"C:\new\table", "step 3\\n"] {
            assert_eq!(plain(other), other);
        }
    }

    #[test]
    fn an_errors_repr_has_its_lines() {
        let repr =
            r"XlaRuntimeError('RESOURCE_EXHAUSTED: Out of memory\nBufferAssignment stats:\n\tx=\'y\'\q\')";
        assert_eq!(
            plain(repr),
            "XlaRuntimeError('RESOURCE_EXHAUSTED: Out of memory\rBufferAssignment stats:\r\tx='y'\\q')"
        );
    }

    #[test]
    fn logs_of_json_are_told_from_other_json() {
        for (start, is) in [
            ("{\"log\":\"step 1\\n\",\"stream\":\"stderr\"}\n{\"log\":", true),
            ("{\"message\": \"x\"}", true),
            ("{\"id\": 3, \"e\": \"RESOURCE_EXHAUSTED: Out", true),
            ("{\n  \"error\": \"RESOURCE_EXHAUSTED: Out", true),
            ("{\"traceEvents\":[{\"name\":\"out of memory\"", false),
            ("{\"a\": 1}", false),
            ("{\n  \"cells\": [", false),
        ] {
            assert_eq!(is_json_log(start), is, "{start}");
        }
    }
}
