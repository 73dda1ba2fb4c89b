//! Stats: the named values of events, planes and metadata (`XStat`).

use crate::bytes::wire::{Cursor, Padded, Value, short_varint};
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
    #[inline(always)]
    #[must_use]
    pub fn bits(self) -> Option<u64> {
        match self {
            StatValue::Uint(v) => Some(v),
            StatValue::Int(v) => Some(v as u64),
            _ => None,
        }
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
    fields: Padded<'a>,
}

impl<'a> RawStat<'a> {
    /// Its value; `None` where it has none.
    #[inline(always)]
    #[must_use]
    pub fn value(self) -> Option<StatValue<'a>> {
        // One integer and nothing else, as nearly every stat that is of interest.
        if let [tag @ (0x18 | 0x20 | 0x38), rest @ ..] = self.fields.whole()
            && let Some(word) = rest.first_chunk()
            && let Some((value, len)) = short_varint(*word)
            && len + 1 == self.fields.len()
        {
            return Some(match tag {
                0x18 => StatValue::Uint(value),
                0x20 => StatValue::Int(value as i64),
                _ => StatValue::Ref(value),
            });
        }
        StatRef::parse(self.fields.own()).map(|s| s.value)
    }
}

/// The stats of an event, values unread; a malformed one ends the iteration.
#[derive(Debug, Clone)]
pub struct RawStats<'a>(Padded<'a>);

/// The tag of an event's stats.
const TAG: u8 = 4 << 3 | 2;

impl<'a> RawStats<'a> {
    /// The stats in `bytes`.
    #[inline(always)]
    #[must_use]
    pub fn new(bytes: Padded<'a>) -> RawStats<'a> {
        RawStats(bytes)
    }

    /// The bytes of those still to come.
    #[inline(always)]
    #[must_use]
    pub fn bytes(&self) -> Padded<'a> {
        self.0
    }
}

/// A stat under 128 bytes, the id first and of one or two bytes, as writers put nearly every one; and what follows it.
#[inline(always)]
fn usual(stats: Padded<'_>) -> Option<(RawStat<'_>, Padded<'_>)> {
    let &[tag, len @ 2..0x80, 0x08, low, high, ..] = stats.whole() else { return None };
    if tag != TAG {
        return None;
    }
    let (metadata_id, head) = match (low, high) {
        (0..0x80, _) => (i64::from(low), 4),
        (_, 0..0x80) if len > 2 => (i64::from(low & 0x7f) | i64::from(high) << 7, 5),
        _ => return None,
    };
    let (stat, behind) = stats.split_at(usize::from(len) + 2)?;
    Some((RawStat { metadata_id, fields: stat.split_at(head)?.1 }, behind))
}

/// The first stat, written in whatever way, and what follows it.
#[cold]
#[inline(never)]
fn other(stats: Padded<'_>) -> Option<(RawStat<'_>, Padded<'_>)> {
    let mut fields = Cursor::new(stats.own());
    while let Ok(Some((number, value))) = fields.field() {
        if number == u32::from(TAG >> 3) {
            let (stat, behind) = stats.split_at(fields.position())?;
            let (_, body) = stat.split_at(fields.position() - value.bytes().len())?;
            let metadata_id = StatRef::parse(value.bytes()).map_or(0, |s| s.metadata_id);
            return Some((RawStat { metadata_id, fields: body }, behind));
        }
    }
    None
}

impl<'a> Iterator for RawStats<'a> {
    type Item = RawStat<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<RawStat<'a>> {
        if self.0.is_empty() {
            return None;
        }
        // Spelled out, as elsewhere on this way: a closure is a call for each stat where the compiler saves room.
        let next = match usual(self.0) {
            None => other(self.0),
            usual => usual,
        };
        let Some((stat, behind)) = next else {
            self.0 = Padded::EMPTY;
            return None;
        };
        self.0 = behind;
        Some(stat)
    }
}

/// The stats of an event; a malformed one ends the iteration.
#[derive(Debug, Clone)]
pub struct Stats<'a>(RawStats<'a>);

impl<'a> Stats<'a> {
    /// The stats in `bytes`.
    #[must_use]
    pub fn new(bytes: Padded<'a>) -> Stats<'a> {
        Stats(RawStats::new(bytes))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::rng::Rng;
    use crate::synth::wire::push_varint;

    /// The stats of a message, by a walk over all its fields.
    fn slowly(message: &[u8]) -> Vec<(i64, Option<StatValue<'_>>)> {
        let mut all = Vec::new();
        for (number, value) in Cursor::new(message) {
            if number == 4 {
                let body = value.bytes();
                let id = Cursor::new(body).filter(|(n, v)| *n == 1 && matches!(v, Value::Varint(_))).last();
                let stat = StatRef::parse(body);
                let id = id.map_or(0, |(_, v)| v.varint() as i64);
                all.push((stat.map_or(0, |_| id), stat.map(|s| s.value)));
            }
        }
        all
    }

    #[test]
    fn stats_read_the_same_at_once_as_field_by_field() {
        let mut rng = Rng::of(4, 1);
        let mut at_once = 0;
        for _ in 0..20_000 {
            let mut bytes = Vec::new();
            for _ in 0..rng.below(4) {
                let mut body = vec![if rng.below(20) == 0 { 0x10 } else { 0x08 }];
                push_varint(&mut body, rng.below(1 << 16) >> rng.below(16));
                match rng.below(6) {
                    0 => body.extend([0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
                    1 => body.extend([0x2a, 3, b'a', b'b', b'c']),
                    tag => {
                        body.push([0x18, 0x20, 0x38, 0x10 + rng.below(240) as u8][tag as usize - 2]);
                        push_varint(&mut body, rng.below(u64::MAX) >> rng.below(64));
                    }
                }
                bytes.push(if rng.below(20) == 0 { rng.below(256) as u8 } else { TAG });
                push_varint(&mut bytes, body.len() as u64 + u64::from(rng.below(20) == 0));
                bytes.extend(body);
            }
            bytes.extend((0..Padded::BEHIND).map(|_| rng.below(256) as u8));
            for len in 0..=bytes.len() - Padded::BEHIND {
                let message = Padded::new(&bytes[..len + Padded::BEHIND]);
                let found: Vec<_> = RawStats::new(message).map(|s| (s.metadata_id, s.value())).collect();
                let wanted = slowly(message.own());
                let same = found.len() == wanted.len()
                    && found.iter().zip(&wanted).all(|(a, b)| a.1 == b.1 && (a.0 == b.0 || b.1.is_none()));
                assert!(same, "{bytes:02x?}, {len} of them: {found:?}, not {wanted:?}");
                at_once += usize::from(usual(message).is_some());
            }
        }
        assert!(at_once > 20_000, "only {at_once} were read at once");
    }
}
