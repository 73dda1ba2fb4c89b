//! Walking the fields of a message that may be damaged, as far as they go.

use crate::bytes::wire::{Cursor, Kind, Malformed, Value};
use std::ops::Range;

/// Fields of one message inside `bytes`, each length-delimited value with its range in `bytes`.
///
/// Where a value claims more bytes than there are, what is there is its value and `cut` is set: so ends a file that was
/// cut off. At any other damage the walk ends and `broken` is set.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    cursor: Cursor<'a>,
    base: usize,
    cut: Option<usize>,
    broken: Option<usize>,
}

/// One field.
#[derive(Debug, Clone)]
pub(super) struct Field<'a> {
    /// Its number.
    pub number: u32,
    /// Its value.
    pub value: Value<'a>,
    /// Where the value's bytes are; empty for numbers.
    pub range: Range<usize>,
    /// Whether the value's bytes are all there.
    pub whole: bool,
}

impl<'a> Fields<'a> {
    /// The fields of the message at `within`.
    pub fn new(bytes: &'a [u8], within: Range<usize>) -> Fields<'a> {
        let base = within.start;
        Fields { cursor: Cursor::new(bytes.get(within).unwrap_or(&[])), base, cut: None, broken: None }
    }

    /// Where the message was found to be damaged.
    pub fn damage(&self) -> Option<usize> {
        self.cut.or(self.broken)
    }

    fn read(&mut self) -> Result<Option<Field<'a>>, Malformed> {
        let mut ahead = self.cursor.clone();
        let Some(head) = ahead.head()? else { return Ok(None) };
        if head.kind != Kind::Bytes {
            let field = self.cursor.field()?;
            return Ok(field.map(|(number, value)| Field { number, value, range: 0..0, whole: true }));
        }
        let len = ahead.varint()?;
        let start = self.base + ahead.position();
        let here = len.min(ahead.rest().len() as u64);
        let value = Value::Bytes(ahead.chunk(here)?);
        let end = self.base + ahead.position();
        self.cursor = ahead;
        if here < len {
            self.cut = Some(start);
        }
        Ok(Some(Field { number: head.number, value, range: start..end, whole: here == len }))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        if self.damage().is_some() {
            return None;
        }
        match self.read() {
            Ok(field) => field,
            Err(_) => {
                self.broken = Some(self.base + self.cursor.position());
                None
            }
        }
    }
}

/// The numbers of a repeated integer field, written packed or one by one.
pub(super) fn integers<'a>(message: &'a [u8], number: u32) -> impl Iterator<Item = i64> + 'a {
    Cursor::new(message).filter(move |(n, _)| *n == number).flat_map(|(_, value)| {
        let (one, mut packed) = match value {
            Value::Varint(v) => (Some(v as i64), Cursor::new(&[])),
            other => (None, Cursor::new(other.bytes())),
        };
        one.into_iter().chain(std::iter::from_fn(move || {
            if packed.rest().is_empty() { None } else { packed.varint().ok().map(|v| v as i64) }
        }))
    })
}

/// The text of a field; of bytes that are no UTF-8, the part before the first such byte.
pub(super) fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => std::str::from_utf8(bytes.get(..e.valid_up_to()).unwrap_or(&[])).unwrap_or(""),
    }
}
