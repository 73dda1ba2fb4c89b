//! The protobuf wire format over a slice: tags, varints, lengths.
//!
//! Groups (wire types 3 and 4) are not in any file that is read here and count as damage.

/// The bytes are no protobuf from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// Position in the slice.
    pub at: usize,
}

/// How a field's value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 1 to 10 bytes.
    Varint,
    /// 8 bytes, little endian.
    Fixed64,
    /// A length and that many bytes.
    Bytes,
    /// 4 bytes, little endian.
    Fixed32,
}

/// A field's number and how its value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// 1 to 2^29 - 1.
    pub number: u32,
    /// The wire type.
    pub kind: Kind,
}

/// A field with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// An integer, an enum or a bool.
    Varint(u64),
    /// A double.
    Fixed64(u64),
    /// A string, bytes, a message, or packed integers.
    Bytes(&'a [u8]),
    /// A float.
    Fixed32(u32),
}

impl<'a> Value<'a> {
    /// The bytes; empty for a value of another kind.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        if let Value::Bytes(b) = self { b } else { &[] }
    }

    /// The integer; 0 for a value of another kind.
    #[must_use]
    pub fn varint(self) -> u64 {
        if let Value::Varint(v) = self { v } else { 0 }
    }
}

/// A message, or the rest of one, with [`Padded::BEHIND`] bytes behind it that are no part of it: its fields can be
/// loaded eight bytes at a time, and only then looked at for whether they end within it.
#[derive(Debug, Clone, Copy)]
pub struct Padded<'a>(&'a [u8]);

impl<'a> Padded<'a> {
    /// Bytes behind the message.
    pub const BEHIND: usize = 24;
    /// No bytes.
    pub const EMPTY: Padded<'static> = Padded(&[0; Self::BEHIND]);

    /// All of `bytes` but the last [`Padded::BEHIND`], or nothing where there are no more.
    #[inline(always)]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Padded<'a> {
        if bytes.len() < Self::BEHIND { Padded::EMPTY } else { Padded(bytes) }
    }

    /// The message's own bytes.
    #[inline]
    #[must_use]
    pub fn own(self) -> &'a [u8] {
        self.0.get(..self.len()).unwrap_or_default()
    }

    /// With what is behind it.
    #[inline(always)]
    #[must_use]
    pub fn whole(self) -> &'a [u8] {
        self.0
    }

    /// How many bytes are its own.
    #[inline(always)]
    #[must_use]
    pub fn len(self) -> usize {
        self.0.len().saturating_sub(Self::BEHIND)
    }

    /// Whether it has no bytes of its own.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0.len() <= Self::BEHIND
    }

    /// The first `n` bytes, and those that follow; `None` where it has fewer.
    #[inline(always)]
    #[must_use]
    pub fn split_at(self, n: usize) -> Option<(Padded<'a>, Padded<'a>)> {
        Some((Padded(self.0.get(..n.checked_add(Self::BEHIND)?)?), Padded(self.0.get(n..)?)))
    }
}

/// The varint of up to 56 bits that eight bytes begin with, and its length.
#[inline(always)]
#[must_use]
pub fn short_varint(bytes: [u8; 8]) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(bytes);
    let stops = !word & 0x8080_8080_8080_8080;
    if stops == 0 {
        return None;
    }
    // All bits up to the lowest stop, less the stops.
    let kept = word & (stops ^ (stops - 1)) & 0x7f7f_7f7f_7f7f_7f7f;
    // Close the gaps of the continuation bits: pairs of 7, of 14, of 28 bits.
    let pairs = kept - ((kept & 0x7f00_7f00_7f00_7f00) >> 1);
    let quads = pairs - ((pairs & 0x3fff_0000_3fff_0000) >> 2) * 3;
    let value = (quads & 0xffff_ffff) | (quads >> 32) << 28;
    Some((value, stops.trailing_zeros() as usize / 8 + 1))
}

/// Walks over fields.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the first byte.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// Bytes passed.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes left.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Passes the next byte where it is this tag: the order of fields is known, and each nearly always there.
    #[inline(always)]
    pub fn passes(&mut self, tag: u8) -> bool {
        let is = self.bytes.get(self.at) == Some(&tag);
        self.at += usize::from(is);
        is
    }

    /// The next varint. Bits over 64 are dropped, as protobuf's own readers do.
    ///
    /// # Errors
    /// Where the slice ends inside it, or it is longer than 10 bytes.
    #[inline(always)]
    pub fn varint(&mut self) -> Result<u64, Malformed> {
        // Most varints of a capture have one byte; the rest is not worth the room at every call.
        match self.bytes.get(self.at) {
            Some(&b0) if b0 < 0x80 => {
                self.at += 1;
                Ok(u64::from(b0))
            }
            _ => self.long_varint(),
        }
    }

    /// [`Cursor::varint`] for the innermost loops, where most have several bytes: worth its room at the call.
    ///
    /// # Errors
    /// As [`Cursor::varint`].
    #[inline(always)]
    pub fn wide_varint(&mut self) -> Result<u64, Malformed> {
        let word = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<8>());
        if let Some((value, len)) = word.and_then(|word| short_varint(*word)) {
            self.at += len;
            return Ok(value);
        }
        self.slow_varint()
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, Malformed> {
        self.wide_varint()
    }

    #[cold]
    fn slow_varint(&mut self) -> Result<u64, Malformed> {
        let start = self.at;
        let mut value = 0u64;
        for (i, &b) in self.bytes.get(start..).unwrap_or_default().iter().take(10).enumerate() {
            value |= if i == 9 { u64::from(b) << 63 } else { u64::from(b & 0x7f) << (7 * i) };
            if b < 0x80 {
                self.at = start + i + 1;
                return Ok(value);
            }
        }
        Err(Malformed { at: start })
    }

    /// The next field's number and wire type; `None` at the end.
    ///
    /// # Errors
    /// For field number 0, a group, or a cut varint.
    #[inline(always)]
    pub fn head(&mut self) -> Result<Option<Head>, Malformed> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let start = self.at;
        let tag = self.varint()?;
        let kind = match tag & 7 {
            0 => Kind::Varint,
            1 => Kind::Fixed64,
            2 => Kind::Bytes,
            5 => Kind::Fixed32,
            _ => return Err(Malformed { at: start }),
        };
        match u32::try_from(tag >> 3) {
            Ok(number) if number != 0 && number < 1 << 29 => Ok(Some(Head { number, kind })),
            _ => Err(Malformed { at: start }),
        }
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// Where fewer are left.
    #[inline(always)]
    pub fn chunk(&mut self, len: u64) -> Result<&'a [u8], Malformed> {
        let start = self.at;
        let end = usize::try_from(len).ok().and_then(|len| start.checked_add(len));
        let taken = end.and_then(|end| self.bytes.get(start..end)).ok_or(Malformed { at: start })?;
        self.at = start + taken.len();
        Ok(taken)
    }

    /// The next field; `None` at the end.
    ///
    /// # Errors
    /// Where the bytes are no field.
    #[inline]
    pub fn field(&mut self) -> Result<Option<(u32, Value<'a>)>, Malformed> {
        let Some(head) = self.head()? else { return Ok(None) };
        let value = match head.kind {
            Kind::Varint => Value::Varint(self.varint()?),
            Kind::Bytes => {
                let len = self.varint()?;
                Value::Bytes(self.chunk(len)?)
            }
            Kind::Fixed64 => {
                let mut raw = [0; 8];
                raw.copy_from_slice(self.chunk(8)?);
                Value::Fixed64(u64::from_le_bytes(raw))
            }
            Kind::Fixed32 => {
                let mut raw = [0; 4];
                raw.copy_from_slice(self.chunk(4)?);
                Value::Fixed32(u32::from_le_bytes(raw))
            }
        };
        Ok(Some((head.number, value)))
    }
}

/// Iterates over the fields up to the first that is malformed.
impl<'a> Iterator for Cursor<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.field().ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(mut v: u64) -> Vec<u8> {
        let mut out = Vec::new();
        while v >= 0x80 {
            out.push(v as u8 | 0x80);
            v >>= 7;
        }
        out.push(v as u8);
        out
    }

    #[test]
    fn every_length_of_varint_reads_back_by_both_ways() {
        for bits in 0..64 {
            for v in
                [1u64 << bits, (1u64 << bits) - 1, u64::MAX >> (63 - bits), 0x0123_4567_89ab_cdef >> bits]
            {
                let mut bytes = encode(v);
                let len = bytes.len();
                let mut short = Cursor::new(&bytes);
                assert_eq!((short.varint(), short.position()), (Ok(v), len), "at the end of the slice");
                bytes.extend([0xff; 16]);
                let mut long = Cursor::new(&bytes);
                assert_eq!((long.varint(), long.position()), (Ok(v), len), "with bytes behind");
            }
        }
    }

    #[test]
    fn damage_is_an_error_where_it_lies() {
        assert_eq!(Cursor::new(&[0x80; 3]).varint(), Err(Malformed { at: 0 }));
        assert_eq!(Cursor::new(&[0xff; 11]).varint(), Err(Malformed { at: 0 }));
        assert_eq!(Cursor::new(&[0x0b]).head(), Err(Malformed { at: 0 }), "a group");
        assert_eq!(Cursor::new(&[0x02, 0]).head(), Err(Malformed { at: 0 }), "field number 0");
        assert_eq!(Cursor::new(&[0x0a, 5, 1]).field(), Err(Malformed { at: 2 }), "longer than the slice");
        assert_eq!(Cursor::new(&[]).field(), Ok(None));
    }
}
