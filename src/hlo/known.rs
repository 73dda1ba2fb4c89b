//! Numbers for stretches of bytes that repeat: name stacks, shapes, opcodes.

use super::module::Span;

/// Equal stretches under one number, nearly always: what is made of one is then made once and not for each instruction.
///
/// A stretch that cannot be found within a few steps gets a number of its own, so no choice of bytes makes this slow.
#[derive(Debug)]
pub(super) struct Known {
    /// By number. The first is the empty one.
    spans: Vec<Span>,
    /// Numbers, by a hash of the bytes.
    table: Vec<u32>,
}

/// Places at which one stretch may lie in the table.
const STEPS: usize = 4;

impl Known {
    /// With a table for about so many different ones.
    pub fn new(different: usize) -> Known {
        Known { spans: vec![Span::default()], table: vec![0; different.next_power_of_two().max(STEPS)] }
    }

    /// The number of a part of the module's bytes; 0 where it is empty.
    pub fn number(&mut self, bytes: &[u8], span: Span) -> u32 {
        let part = span.of(bytes);
        let hash = hash(part);
        for step in 0..STEPS {
            let at = (hash + step) & (self.table.len() - 1);
            match self.table[at] {
                0 => return self.add(span, at),
                number if same(self.spans[number as usize].of(bytes), part) => return number,
                _ => {}
            }
        }
        self.add(span, hash & (self.table.len() - 1))
    }

    fn add(&mut self, span: Span, at: usize) -> u32 {
        if span.len == 0 {
            return 0;
        }
        let number = self.spans.len() as u32;
        self.spans.push(span);
        self.table[at] = number;
        number
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// The bytes of a number.
    pub fn of<'a>(&self, bytes: &'a [u8], number: u32) -> &'a [u8] {
        self.spans.get(number as usize).map_or(&[], |span| span.of(bytes))
    }

    /// Forgets how to find more.
    pub fn close(&mut self) {
        self.table = Vec::new();
        self.spans.shrink_to_fit();
    }
}

/// By words of eight bytes.
fn hash(bytes: &[u8]) -> usize {
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    };
    let mut hash = bytes.len() as u64;
    for word in bytes.as_chunks::<8>().0 {
        hash = mix(hash, u64::from_le_bytes(*word));
    }
    // What is left, with some of what was.
    hash = match bytes.last_chunk::<8>() {
        Some(last) => mix(hash, u64::from_le_bytes(*last)),
        None => bytes.iter().fold(hash, |hash, &byte| mix(hash, byte.into())),
    };
    (hash >> 20) as usize
}

/// Whether both are equal; by words, which the standard library's way does not do where code is small.
fn same(a: &[u8], b: &[u8]) -> bool {
    let ((a_words, a_rest), (b_words, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut pairs = a_words.iter().zip(b_words);
    a.len() == b.len()
        && pairs.all(|(a, b)| u64::from_le_bytes(*a) == u64::from_le_bytes(*b))
        && a_rest.iter().zip(b_rest).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stretches_have_one_number() {
        let bytes = b"jit(step)/mul jit(step)/add jit(step)/mul jit(step)/mu jit(step)/mul ";
        let span = |start, len| Span { start, len };
        let mut known = Known::new(8);
        let numbers = [span(0, 13), span(14, 13), span(28, 13), span(42, 12), span(55, 13), span(3, 0)];
        let numbers = numbers.map(|span| known.number(bytes, span));
        assert_eq!(numbers, [1, 2, 1, 3, 1, 0]);
        known.close();
        assert_eq!(known.of(bytes, 2), b"jit(step)/add");
        assert_eq!((known.of(bytes, 0), known.len()), (&b""[..], 4));
    }

    #[test]
    fn a_full_table_keeps_what_it_is_told() {
        let bytes: Vec<u8> = (0..2000u32).flat_map(u32::to_le_bytes).collect();
        let mut known = Known::new(1);
        for round in 0..2 {
            for start in (0..bytes.len() as u32).step_by(4) {
                let span = Span { start, len: 4 };
                let number = known.number(&bytes, span);
                assert_eq!(known.of(&bytes, number), span.of(&bytes), "round {round}");
            }
        }
    }
}
