//! Messages as words, so that it does not matter where a terminal, a mail or a markdown file broke their lines.

use super::TextSize;
use super::lines::{Line, without_log_prefix};
use crate::plain::{LONGEST_NAME, cut};

/// How many lines a message may be broken into.
const MOST_LINES: usize = 8;

/// Words from a place in the text on.
#[derive(Debug, Clone)]
pub(super) struct Words<'a, 'b> {
    lines: &'b [Line<'a>],
    rest: &'a str,
}

impl<'a, 'b> Words<'a, 'b> {
    /// From `rest` on, the end of the first of `lines`.
    pub fn new(lines: &'b [Line<'a>], rest: &'a str) -> Words<'a, 'b> {
        Words { lines: &lines[..lines.len().min(MOST_LINES)], rest }
    }

    /// Passes over `pattern`, words divided by single spaces, of which `{}` stands for any word; what stood there.
    /// `None`, and nothing is passed, where the words differ. Signs at the ends of words are not compared.
    pub fn pass(&mut self, pattern: &str) -> Option<Vec<&'a str>> {
        let mut ahead = self.clone();
        let mut found = Vec::new();
        for wanted in pattern.split(' ') {
            let word = ahead.next()?;
            if wanted == "{}" {
                found.push(word);
            } else if bare(word) != wanted {
                return None;
            }
        }
        *self = ahead;
        Some(found)
    }
}

impl<'a> Iterator for Words<'a, '_> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let rest = self.rest.trim_start();
            if !rest.is_empty() {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                self.rest = &rest[end..];
                return Some(&rest[..end]);
            }
            let (_, later) = self.lines.split_first()?;
            self.lines = later;
            self.rest = without_log_prefix(later.first()?.text);
        }
    }
}

/// A word without the signs around it.
pub(super) fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// The size in a word such as `(size=1024)`, `3.41GiB.`, `(54.42G)`.
pub(super) fn size_in(word: &str) -> Option<TextSize> {
    TextSize::parse(word.rsplit('=').next().unwrap_or(word))
}

/// The number at the beginning of a word such as `2110783744)requested`.
pub(super) fn number_in(word: &str) -> Option<u64> {
    let word = word.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    word[..end].parse().ok()
}

/// What follows `key` in a line, where it is there as a word of its own.
pub(super) fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let at = line.find(key)?;
    let before = line[..at].chars().next_back();
    before.is_none_or(|c| !c.is_alphanumeric() && c != '_').then(|| line[at + key.len()..].trim_start())
}

/// The value of `key="…"` in a line, up to [`LONGEST_NAME`] bytes; `\"` in it is a quote.
pub(in crate::evidence) fn quoted(line: &str, key: &str) -> Option<String> {
    let start = after(line, &format!("{key}=\""))?;
    // `after` trims; the quote's content keeps its own beginning, which is never space in metadata.
    let mut value = String::new();
    let mut chars = start.chars();
    while let Some(c) = chars.next() {
        if value.len() > LONGEST_NAME {
            return Some(cut(&value));
        }
        match c {
            '"' => return Some(value),
            '\\' => value.extend(chars.next()),
            c => value.push(c),
        }
    }
    // Cut off within: what is there is still the name.
    Some(value)
}
