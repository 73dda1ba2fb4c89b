//! Writes the protobuf wire format.

/// A message being written.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// What was written so far.
    pub bytes: Vec<u8>,
}

/// Appends `v` as a varint.
#[inline]
pub fn push_varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// How many bytes `v` takes as a varint.
#[must_use]
pub fn varint_len(v: u64) -> usize {
    (70 - (v | 1).leading_zeros() as usize) / 7
}

impl Message {
    /// A varint field, written even when it is 0, as members of a `oneof` are.
    #[inline]
    pub fn varint(&mut self, number: u32, v: u64) {
        push_varint(&mut self.bytes, u64::from(number) << 3);
        push_varint(&mut self.bytes, v);
    }

    /// An integer field outside a `oneof`: 0 is not written.
    #[inline]
    pub fn int(&mut self, number: u32, v: i64) {
        if v != 0 {
            self.varint(number, v as u64);
        }
    }

    /// A double, written even when it is 0.
    pub fn double(&mut self, number: u32, v: f64) {
        push_varint(&mut self.bytes, u64::from(number) << 3 | 1);
        self.bytes.extend(v.to_le_bytes());
    }

    /// A string, bytes or a message, written even when it is empty.
    #[inline]
    pub fn bytes(&mut self, number: u32, v: &[u8]) {
        push_varint(&mut self.bytes, u64::from(number) << 3 | 2);
        push_varint(&mut self.bytes, v.len() as u64);
        self.bytes.extend_from_slice(v);
    }

    /// A string outside a `oneof`: an empty one is not written.
    pub fn text(&mut self, number: u32, v: &str) {
        if !v.is_empty() {
            self.bytes(number, v.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_varints_are_those_written() {
        for bits in 0..64 {
            for v in [1u64 << bits, (1 << bits) - 1] {
                let mut out = Vec::new();
                push_varint(&mut out, v);
                assert_eq!(varint_len(v), out.len(), "{v}");
            }
        }
    }
}
