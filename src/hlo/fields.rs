//! Walking the fields of a message that may be damaged, as far as they go.

use super::module::Span;
use crate::bytes::wire::{Cursor, Kind, Value};

/// A field of a part of the module's bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Raw {
    /// Where it begins.
    pub at: u32,
    /// Its number.
    pub number: u32,
    /// How its value is written.
    pub kind: Kind,
    /// Its value, where that is an integer; else 0.
    pub integer: u64,
    /// Where its value is, where that is bytes; else empty.
    pub part: Span,
    /// Whether all of its bytes are there.
    pub whole: bool,
}

/// Calls `take` with each field of a message, up to the first that is malformed; says whether there was none. Written out at
/// each call: for messages of which there are hundreds of thousands.
#[inline(always)]
pub(super) fn each(bytes: &[u8], message: Span, take: impl FnMut(Raw)) -> bool {
    scan::<false>(bytes, message, take).is_none()
}

/// As [`each`], in one place.
#[inline(never)]
pub(super) fn each_of_few(bytes: &[u8], message: Span, take: &mut dyn FnMut(Raw)) -> bool {
    scan::<false>(bytes, message, take).is_none()
}

/// As [`each_of_few`] of a message that may be cut off: what is there of the last value is taken too. Says where it is damaged.
#[inline(never)]
pub(super) fn each_of_cut(bytes: &[u8], message: Span, take: &mut dyn FnMut(Raw)) -> Option<usize> {
    scan::<true>(bytes, message, take)
}

#[inline(always)]
fn scan<const CUT: bool>(bytes: &[u8], message: Span, mut take: impl FnMut(Raw)) -> Option<usize> {
    let end = message.start + message.len;
    let mut at = message.start;
    while at < end {
        let field = at;
        let (tag, start) = varint(bytes, at);
        // Numbers from 1 on in 29 bits; behind a damaged varint no end is.
        if start > end || tag.wrapping_sub(8) >> 3 >= (1 << 29) - 1 {
            return Some(field as usize);
        }
        let (mut integer, mut part, mut whole) = (0, Span::default(), true);
        let kind = match tag & 7 {
            2 => {
                let (len, from) = varint(bytes, start);
                part = Span { start: from, len: len as u32 };
                whole = u64::from(from).saturating_add(len) <= u64::from(end);
                if !whole {
                    if !CUT || from > end {
                        return Some(field as usize);
                    }
                    part.len = end - from;
                }
                at = from + part.len;
                Kind::Bytes
            }
            0 => {
                (integer, at) = varint(bytes, start);
                Kind::Varint
            }
            1 => {
                at = start.saturating_add(8);
                Kind::Fixed64
            }
            5 => {
                at = start.saturating_add(4);
                Kind::Fixed32
            }
            _ => return Some(field as usize),
        };
        if at > end {
            return Some(field as usize);
        }
        take(Raw { at: field, number: (tag >> 3) as u32, kind, integer, part, whole });
        if CUT && !whole {
            return Some(part.start as usize);
        }
    }
    None
}

/// The varint at a position, and the position behind it; [`u32::MAX`] where there is none.
#[inline(always)]
fn varint(bytes: &[u8], at: u32) -> (u64, u32) {
    // One byte, or two: tags from field 16 on, and lengths.
    match (bytes.get(at as usize), bytes.get(at as usize + 1)) {
        (Some(&first), _) if first < 0x80 => (first.into(), at + 1),
        (Some(&first), Some(&second)) if second < 0x80 => {
            (u64::from(u32::from(first & 0x7f) | u32::from(second) << 7), at + 2)
        }
        _ => long_varint(bytes, at),
    }
}

#[inline(never)]
fn long_varint(bytes: &[u8], at: u32) -> (u64, u32) {
    let mut cursor = Cursor::new(bytes.get(at as usize..).unwrap_or(&[]));
    let value = cursor.wide_varint();
    value.map_or((0, u32::MAX), |value| (value, at.saturating_add(cursor.position() as u32)))
}

/// Calls `take` with the numbers of one field of a repeated integer, written packed or as one.
#[inline(always)]
pub(super) fn each_integer(bytes: &[u8], field: Raw, mut take: impl FnMut(i64)) {
    if field.kind == Kind::Varint {
        return take(field.integer as i64);
    }
    let end = field.part.start + field.part.len;
    let mut at = field.part.start;
    while at < end {
        let (value, next) = varint(bytes, at);
        if next > end {
            return;
        }
        take(value as i64);
        at = next;
    }
}

/// How often a message has a field.
pub(super) fn count_of(bytes: &[u8], message: Span, number: u32) -> usize {
    let mut count = 0;
    each(bytes, message, |field| count += usize::from(field.number == number));
    count
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

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8], message: Span) -> (Vec<(u32, u64, &[u8], bool)>, Option<usize>) {
        let mut out = Vec::new();
        let damage = each_of_cut(bytes, message, &mut |field| {
            out.push((field.number, field.integer, field.part.of(bytes), field.whole));
        });
        (out, damage)
    }

    #[test]
    fn fields_are_read_up_to_the_first_that_is_damaged() {
        // Around the message stand bytes of others.
        let bytes = [0xff, 0x08, 0xac, 0x02, 0x12, 2, 7, 8, 0x1d, 1, 2, 3, 4, 0x22, 9, 5, 6, 0xff];
        let message = |start, end| Span { start, len: end - start };
        let first = vec![(1, 300, &[][..], true), (2, 0, &[7, 8], true), (3, 0, &[], true)];
        assert_eq!(fields(&bytes, message(1, 13)), (first.clone(), None));
        let cut = [first.clone(), vec![(4, 0, &[5, 6], false)]].concat();
        assert_eq!(fields(&bytes, message(1, 17)), (cut, Some(15)));
        let mut taken = 0;
        assert!(!each(&bytes, message(1, 17), |_| taken += 1));
        assert_eq!(taken, 3);
        // A number that ends behind the message, a fixed one that does, a field of number 0.
        assert_eq!(fields(&bytes, message(1, 3)), (vec![], Some(1)));
        assert_eq!(fields(&bytes, message(8, 12)), (vec![], Some(8)));
        assert_eq!(fields(&[2, 1, 1], message(0, 3)), (vec![], Some(0)));
        assert_eq!(fields(&[0x80; 12], message(0, 12)), (vec![], Some(0)));
    }

    #[test]
    fn numbers_are_read_packed_and_alone() {
        let bytes = [0x12, 4, 1, 0xac, 0x02, 3, 0x10, 7];
        let mut numbers = Vec::new();
        let message = Span { start: 0, len: 8 };
        assert!(each(&bytes, message, |field| each_integer(&bytes, field, |number| numbers.push(number))));
        assert_eq!(numbers, [1, 300, 3, 7]);
        assert_eq!(count_of(&bytes, message, 2), 2);
    }
}
