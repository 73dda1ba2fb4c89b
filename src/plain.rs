//! Names from a capture as harmless text.

use std::borrow::Cow;

/// Replaces what could move a terminal's cursor, reorder a line or hide text: control characters (escape sequences
/// start with one), bidirectional controls, and characters that nobody sees (separators, fillers, tags) become `\u{…}`.
/// Other text stays as it is.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// [`plain`], and the middle cut out where the text is longer than `most` characters: both ends of a name stack or a
/// path say more than its middle.
#[must_use]
pub fn short(text: &str, most: usize) -> String {
    let text = plain(text);
    let len = text.chars().count();
    if len <= most {
        return text.into_owned();
    }
    let tail = most.saturating_sub(1) * 2 / 3;
    let head = most.saturating_sub(1 + tail);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(len - tail).collect();
    format!("{start}…{end}")
}

/// A shape, or a text with shapes in it, without the layouts that XLA gives by default, last dimension first: `f32[8,4]` for
/// `f32[8,4]{1,0}`. A layout of another order, or with tiles or a memory space, says something and stays.
#[must_use]
pub fn usual_shape(shape: &str) -> String {
    let mut out = String::with_capacity(shape.len());
    let mut rest = shape;
    while let Some((before, opened)) = rest.split_once('{') {
        let Some((layout, after)) = opened.split_once('}') else { break };
        out.push_str(before);
        let dimensions = layout.split(',').count();
        let usual = before.ends_with(']')
            && layout.split(',').zip((0..dimensions).rev()).all(|(at, usual)| at.parse() == Ok(usual));
        if !usual {
            out.extend(["{", layout, "}"]);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Longest name kept of a capture or a module, in bytes: what JAX and XLA write stays far below. Names are shown in many
/// rows, and one of megabytes would be repeated in each.
pub const LONGEST_NAME: usize = 1024;

/// The beginning of a name, up to [`LONGEST_NAME`] bytes; `…` stands for the rest.
#[must_use]
pub fn cut(name: &str) -> String {
    if name.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    let mut end = LONGEST_NAME;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", name.get(..end).unwrap_or_default())
}

/// The end of a path, up to half of [`LONGEST_NAME`] bytes; `…` stands for the rest.
#[must_use]
pub fn cut_path(path: &str) -> String {
    let Some(mut start) = path.len().checked_sub(LONGEST_NAME / 2).filter(|&start| start > 0) else {
        return path.to_owned();
    };
    while !path.is_char_boundary(start) {
        start += 1;
    }
    format!("…{}", path.get(start..).unwrap_or_default())
}

fn hidden(c: char) -> bool {
    // The same that the page marks.
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_layouts_that_say_something_are_shown() {
        for (whole, shown) in [
            ("f32[8,1024]{1,0}", "f32[8,1024]"),
            ("f32[8,1024]{0,1}", "f32[8,1024]{0,1}"),
            ("f32[5]{0}", "f32[5]"),
            ("f32[]", "f32[]"),
            ("pred[]{}", "pred[]{}"),
            ("bf16[8,128]{1,0:T(8,128)(2,1)}", "bf16[8,128]{1,0:T(8,128)(2,1)}"),
            ("(f32[2,3]{1,0}, s32[4]{0}, f32[2,2]{0,1})", "(f32[2,3], s32[4], f32[2,2]{0,1})"),
            ("output 3 f32[8,4]{1,0} of jit_f", "output 3 f32[8,4] of jit_f"),
            ("param{0}", "param{0}"),
            ("a{", "a{"),
            ("}{}{0", "}{}{0"),
        ] {
            assert_eq!(usual_shape(whole), shown, "{whole}");
        }
    }

    #[test]
    fn nothing_in_a_name_reaches_the_terminal_but_text() {
        assert_eq!(plain("jit_f\u{1b}[31m\u{202e}x\0"), "jit_f\\u{1b}[31m\\u{202e}x\\u{0}");
        assert_eq!(plain("größe <b> \u{fffd}"), "größe <b> \u{fffd}");
        // The mark of Arabic letters reorders too; a tag spells text that is not shown; C1 has an escape of one character.
        assert_eq!(plain("a\u{61c}\u{e0041}\u{ad}\u{9b}31m"), "a\\u{61c}\\u{e0041}\\u{ad}\\u{9b}31m");
    }

    #[test]
    fn names_of_megabytes_are_cut_at_a_character() {
        assert_eq!(cut("jit_step"), "jit_step");
        let cut_off = cut(&"é".repeat(1 << 20));
        assert_eq!((cut_off.chars().count(), cut_off.ends_with("é…")), (513, true));
        assert_eq!(cut(&format!("a{}", "é".repeat(1 << 20))).len(), 1023 + '…'.len_utf8());
        let path = format!("/{}/train.py", "ü".repeat(1 << 20));
        assert!(cut_path(&path).ends_with("/train.py") && cut_path(&path).len() < 520);
        assert_eq!(cut_path("train.py"), "train.py");
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(short("abcdefghij", 10), "abcdefghij");
        assert_eq!(short("abcdefghijk", 7), "ab…hijk");
        assert_eq!(short(&"é".repeat(100), 7).chars().count(), 7);
    }
}
