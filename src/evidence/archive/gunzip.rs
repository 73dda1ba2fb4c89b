//! A gzip file that is unpacked as its bytes come: for whoever has a stream and a place for what is inside.

use super::inflate::{gunzip, read_up_to};
use super::{Limits, inside, too_large};
use crate::evidence::{HEAD_BYTES, Kind, sniff};
use flate2::{Decompress, FlushDecompress, Status};

/// Unpacked bytes handed out at a time.
const PIECE: usize = 2 << 20;
/// What a member begins with.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A gzip file, unpacked as its bytes are handed in, once and without knowing its length beforehand.
#[allow(missing_debug_implementations)] // the library's state has none
pub struct Gunzip {
    inflate: Decompress,
    piece: Vec<u8>,
    /// Bytes of `piece` that are not handed out yet.
    filled: usize,
    /// Bytes unpacked.
    made: u64,
    most: u64,
    /// Between members: how many bytes of [`MAGIC`] were seen.
    between: Option<usize>,
    ended: bool,
    damage: Option<String>,
}

impl Gunzip {
    /// The path of the file inside `name`, where `head`, the first bytes of it, tell that it is no archive again and may
    /// have a report. What else there is [`super::walk`] tells.
    #[must_use]
    pub fn alone(head: &[u8], name: &str) -> Option<String> {
        let mut first = [0; HEAD_BYTES];
        let mut inflate = gunzip();
        inflate.decompress(head, &mut first, FlushDecompress::None).ok()?;
        let path = inside(name);
        let full = inflate.total_out() == HEAD_BYTES as u64;
        match sniff(&first, u64::MAX, &path) {
            Kind::Gzip | Kind::Zip | Kind::Tar | Kind::Text | Kind::Foreign(_) => None,
            _ => full.then_some(path),
        }
    }

    /// Before the first byte of a file of `packed` bytes.
    #[must_use]
    pub fn new(packed: u64, limits: &Limits) -> Gunzip {
        Gunzip {
            inflate: gunzip(),
            piece: vec![0; PIECE],
            filled: 0,
            made: 0,
            most: limits.unpacked_of(packed),
            between: None,
            ended: false,
            damage: None,
        }
    }

    /// Whether it ended, whatever follows.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Takes the next bytes, and calls `each` with what became of them, a piece at a time.
    pub fn feed(&mut self, mut packed: &[u8], each: &mut dyn FnMut(&[u8])) {
        // A full piece may have more behind it that needs no more bytes.
        let mut more = true;
        while !self.ended && (more || !packed.is_empty()) {
            if let Some(seen) = self.between {
                // Zeros and other bytes behind the last member are left alone, as gzip does.
                let Some((&byte, rest)) = packed.split_first() else { return };
                packed = rest;
                self.ended = byte != MAGIC[seen];
                self.between = Some(seen + 1);
                if seen + 1 == MAGIC.len() {
                    self.between = None;
                    self.inflate = gunzip();
                    self.step(&MAGIC);
                }
                continue;
            }
            let taken = self.step(packed);
            packed = &packed[taken..];
            more = self.filled == PIECE;
            if more {
                self.hand_out(each);
            }
        }
    }

    /// After the last byte: the sentence of what is damaged.
    ///
    /// # Errors
    /// A sentence, where there is more inside than is taken from so few bytes: what was handed out is not to be used.
    pub fn finish(mut self, each: &mut dyn FnMut(&[u8])) -> Result<Option<String>, String> {
        if self.made > self.most {
            return Err(too_large("It unpacks to", self.most));
        }
        self.hand_out(each);
        if !self.ended && self.between.is_none() {
            self.damaged("the packed bytes end");
        }
        Ok(self.damage)
    }

    fn hand_out(&mut self, each: &mut dyn FnMut(&[u8])) {
        if self.filled > 0 {
            each(&self.piece[..self.filled]);
        }
        self.filled = 0;
    }

    /// Inflates into the rest of the piece, and says how many bytes were taken.
    fn step(&mut self, packed: &[u8]) -> usize {
        let (taken, made) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(packed, &mut self.piece[self.filled..], FlushDecompress::None);
        let made = self.inflate.total_out() - made;
        self.filled += made as usize;
        self.made += made;
        match status {
            Ok(Status::StreamEnd) => self.between = Some(0),
            Ok(_) => {}
            Err(_) => self.damaged("the packed bytes are damaged"),
        }
        self.ended |= self.made > self.most;
        (self.inflate.total_in() - taken) as usize
    }

    fn damaged(&mut self, what: &str) {
        self.ended = true;
        self.damage = Some(read_up_to(self.made, what));
    }
}
