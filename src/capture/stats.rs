//! Stats: the named values of events, planes and metadata (`XStat`).

use crate::bytes::wire::{Cursor, Value};
use std::ops::Range;

/// A stat's value, borrowed from the bytes of its event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StatValue<'a> {
    /// A double; can be NaN or infinite.
    Double(f64),
    /// An unsigned integer.
    Uint(u64),
    /// A signed integer.
    Int(i64),
    /// Text; not checked to be UTF-8.
    Str(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
    /// The value is the name of this stat metadata.
    Ref(u64),
}

impl StatValue<'_> {
    /// The value as an unsigned integer, where it is a non-negative one.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        match self {
            StatValue::Uint(v) => Some(v),
            StatValue::Int(v) => u64::try_from(v).ok(),
            _ => None,
        }
    }

    /// The value as a signed integer; an unsigned one above `i64::MAX` keeps its bits (program ids are hashes).
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self {
            StatValue::Uint(v) => Some(v as i64),
            StatValue::Int(v) => Some(v),
            _ => None,
        }
    }

    /// The bits of an integer: ids use all of them, signed or not.
    #[must_use]
    pub fn bits(self) -> Option<u64> {
        self.as_i64().map(|v| v as u64)
    }

    /// The value as a number.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        match self {
            StatValue::Double(v) => Some(v),
            StatValue::Uint(v) => Some(v as f64),
            StatValue::Int(v) => Some(v as f64),
            _ => None,
        }
    }
}

/// One stat of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StatRef<'a> {
    /// Key into the plane's stat names.
    pub metadata_id: i64,
    /// Its value.
    pub value: StatValue<'a>,
}

/// A stat whose value nobody has looked at yet: most stats of a capture are of no interest, and their names tell.
#[derive(Debug, Clone, Copy)]
pub struct RawStat<'a> {
    /// Key into the plane's stat names.
    pub metadata_id: i64,
    /// The fields of the message, with or without the first.
    fields: &'a [u8],
}

impl<'a> RawStat<'a> {
    /// Its value; `None` where it has none.
    #[inline]
    #[must_use]
    pub fn value(self) -> Option<StatValue<'a>> {
        // One integer and nothing else, as nearly every stat that is of interest.
        let mut cursor = Cursor::new(self.fields);
        let of: Option<fn(u64) -> StatValue<'a>> = match self.fields.first() {
            Some(0x18) => Some(StatValue::Uint),
            Some(0x20) => Some(|v| StatValue::Int(v as i64)),
            Some(0x38) => Some(StatValue::Ref),
            _ => None,
        };
        if let Some(of) = of
            && cursor.chunk(1).is_ok()
            && let Ok(value) = cursor.wide_varint()
            && cursor.rest().is_empty()
        {
            return Some(of(value));
        }
        StatRef::parse(self.fields).map(|s| s.value)
    }
}

/// The stats among the fields of an event (field 4) or of event metadata (field 5), values unread; malformed ones end
/// the iteration.
#[derive(Debug, Clone)]
pub struct RawStats<'a> {
    rest: &'a [u8],
    tag: u8,
}

impl<'a> RawStats<'a> {
    /// Stats in field `number` of a message, 1 to 15.
    #[must_use]
    pub fn new(message: &'a [u8], number: u32) -> RawStats<'a> {
        RawStats { rest: message, tag: (number << 3 | 2) as u8 }
    }

    /// A stat written in another way than [`RawStats::next`] looks for first.
    #[cold]
    fn other(&mut self) -> Option<RawStat<'a>> {
        let mut fields = Cursor::new(self.rest);
        while let Ok(Some((number, value))) = fields.field() {
            if number == u32::from(self.tag >> 3) {
                self.rest = fields.rest();
                let body = value.bytes();
                let metadata_id = StatRef::parse(body).map_or(0, |s| s.metadata_id);
                return Some(RawStat { metadata_id, fields: body });
            }
        }
        self.rest = &[];
        None
    }
}

impl<'a> Iterator for RawStats<'a> {
    type Item = RawStat<'a>;

    #[inline]
    fn next(&mut self) -> Option<RawStat<'a>> {
        // Under 128 bytes, the id first and of one or two bytes: so writers put nearly every stat.
        if let [tag, len @ 2..0x80, 0x08, low, tail @ ..] = self.rest
            && *tag == self.tag
            && let Some((body, rest)) = tail.split_at_checked(usize::from(*len) - 2)
        {
            if *low < 0x80 {
                self.rest = rest;
                return Some(RawStat { metadata_id: i64::from(*low), fields: body });
            }
            if let [high @ 0..0x80, fields @ ..] = body {
                self.rest = rest;
                let metadata_id = i64::from(*low & 0x7f) | i64::from(*high) << 7;
                return Some(RawStat { metadata_id, fields });
            }
        }
        if self.rest.is_empty() { None } else { self.other() }
    }
}

/// The stats among the fields of an event (field 4) or of event metadata (field 5); malformed ones end the iteration.
#[derive(Debug, Clone)]
pub struct Stats<'a>(RawStats<'a>);

impl<'a> Stats<'a> {
    /// Stats in field `number` of a message, 1 to 15.
    #[must_use]
    pub fn new(message: &'a [u8], number: u32) -> Stats<'a> {
        Stats(RawStats::new(message, number))
    }
}

impl<'a> Iterator for Stats<'a> {
    type Item = StatRef<'a>;

    fn next(&mut self) -> Option<StatRef<'a>> {
        self.0.find_map(|raw| Some(StatRef { metadata_id: raw.metadata_id, value: raw.value()? }))
    }
}

impl<'a> StatRef<'a> {
    /// One `XStat` message; `None` where it has no value.
    #[inline]
    #[must_use]
    pub fn parse(body: &'a [u8]) -> Option<StatRef<'a>> {
        let mut metadata_id = 0;
        let mut found = None;
        for (number, value) in Cursor::new(body) {
            match (number, value) {
                (1, Value::Varint(v)) => metadata_id = v as i64,
                (2, Value::Fixed64(v)) => found = Some(StatValue::Double(f64::from_bits(v))),
                (3, Value::Varint(v)) => found = Some(StatValue::Uint(v)),
                (4, Value::Varint(v)) => found = Some(StatValue::Int(v as i64)),
                (5, Value::Bytes(v)) => found = Some(StatValue::Str(v)),
                (6, Value::Bytes(v)) => found = Some(StatValue::Bytes(v)),
                (7, Value::Varint(v)) => found = Some(StatValue::Ref(v)),
                _ => {}
            }
        }
        found.map(|value| StatRef { metadata_id, value })
    }
}

/// A stat's value kept by the index.
#[derive(Debug, Clone, PartialEq)]
pub enum OwnedValue {
    /// A double.
    Double(f64),
    /// An unsigned integer.
    Uint(u64),
    /// A signed integer.
    Int(i64),
    /// Text of moderate length.
    Str(String),
    /// Bytes: where they lie in the file.
    Bytes(Range<u64>),
    /// The value is the name of this stat metadata.
    Ref(u64),
}

impl OwnedValue {
    /// As [`StatValue::as_u64`].
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            OwnedValue::Uint(v) => Some(v),
            OwnedValue::Int(v) => u64::try_from(v).ok(),
            _ => None,
        }
    }

    /// As [`StatValue::as_i64`].
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            OwnedValue::Uint(v) => Some(v as i64),
            OwnedValue::Int(v) => Some(v),
            _ => None,
        }
    }
}

/// A stat of a plane or of event metadata, kept by the index.
#[derive(Debug, Clone, PartialEq)]
pub struct Stat {
    /// Key into the plane's stat names.
    pub metadata_id: i64,
    /// Its value.
    pub value: OwnedValue,
}
