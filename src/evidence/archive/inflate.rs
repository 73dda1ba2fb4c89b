//! A packed file as a source: inflated as it is read.

use crate::bytes::{ReadError, Source};
use crate::units::Bytes;
use flate2::{Decompress, FlushDecompress, Status};
use std::cell::{Cell, RefCell};
use std::ops::Range;

/// Packed bytes read at a time: few at first, as many as came before later on, since a browser takes a millisecond for
/// each read.
const INPUT: Range<u64> = 64 << 10..1 << 20;
/// Unpacked bytes made at a time.
const BLOCK: usize = 128 << 10;
/// Unpacked bytes that a cursor keeps behind it, so that reads may overlap.
const HISTORY: usize = 512 << 10;
/// Places in the file that are followed at once: the first pass over a capture, the second one behind it, and one for
/// what is looked up between (in a tar the next header).
const CURSORS: usize = 3;

/// How many times over a file is inflated. A capture takes two passes and one for each module that lies before the one
/// read before it; an archive inside, whose list of files is in the order that costs most, one for each file.
const MOST_TIMES: u64 = 32;
/// A file as short as this costs nothing to inflate again.
const LEAST_WORK: u64 = 1 << 20;

/// How the bytes are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Members with header and checksum, one after the other.
    Gzip,
    /// Bare deflate, as in a zip.
    Deflate,
}

/// A packed file, inflated as it is read.
///
/// A read behind all cursors starts again at the beginning; one ahead of a cursor inflates up to there.
pub(super) struct Inflate<'a> {
    packed: &'a dyn Source,
    format: Format,
    len: Cell<u64>,
    /// Whether `len` is what it unpacks to, not what it declares.
    measured: Cell<bool>,
    damage: RefCell<Option<String>>,
    most: u64,
    over: Cell<bool>,
    cursors: RefCell<Vec<Cursor>>,
    clock: Cell<u64>,
    /// Bytes inflated by all cursors.
    work: Cell<u64>,
}

impl<'a> Inflate<'a> {
    /// A gzip file; `declared` is what it says to unpack to, and where it says nothing it is measured at once, which
    /// inflates it. It is read up to `most` bytes.
    pub fn gzip(packed: &'a dyn Source, declared: Option<u64>, most: u64) -> Inflate<'a> {
        Inflate::new(packed, Format::Gzip, declared, most)
    }

    /// Deflated bytes that unpack to `declared`.
    pub fn deflate(packed: &'a dyn Source, declared: u64, most: u64) -> Inflate<'a> {
        Inflate::new(packed, Format::Deflate, Some(declared), most)
    }

    fn new(packed: &'a dyn Source, format: Format, declared: Option<u64>, most: u64) -> Inflate<'a> {
        let inflate = Inflate {
            packed,
            format,
            len: Cell::new(declared.unwrap_or(0)),
            measured: Cell::new(false),
            damage: RefCell::new(None),
            most,
            over: Cell::new(false),
            cursors: RefCell::new(Vec::new()),
            clock: Cell::new(0),
            work: Cell::new(0),
        };
        if declared.is_none() && inflate.measure().is_err() {
            // The medium's failure is met again, and reported, by the first read.
            inflate.len.set(0);
        }
        inflate
    }

    /// The most it may unpack to.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Whether it has been seen to unpack to more than that.
    pub fn is_over(&self) -> bool {
        self.over.get()
    }

    /// Inflates all of it, to know its length.
    pub fn measure(&self) -> Result<(), ReadError> {
        self.measured.set(true);
        let mut cursors = self.cursors.borrow_mut();
        let at = self.choose(&mut cursors, u64::MAX);
        if let Some(cursor) = cursors.get_mut(at) {
            while !cursor.ended {
                self.advance(cursor)?;
            }
            self.len.set(cursor.end);
        }
        Ok(())
    }

    /// All of it, where it unpacks to at most `most` bytes; shorter where it is damaged.
    pub fn to_memory(&self, most: u64) -> Result<Option<Vec<u8>>, ReadError> {
        let mut bytes = Vec::new();
        let mut cursor = Cursor::new(self.format);
        while !cursor.ended {
            let before = cursor.end;
            self.advance(&mut cursor)?;
            let fresh = (cursor.end - before) as usize;
            bytes.extend_from_slice(&cursor.history[cursor.history.len() - fresh..]);
            if bytes.len() as u64 > most {
                return Ok(None);
            }
        }
        Ok(Some(bytes))
    }

    /// The cursor that is best placed for `offset`: the nearest at or before it, else one that starts again.
    fn choose(&self, cursors: &mut Vec<Cursor>, offset: u64) -> usize {
        self.clock.set(self.clock.get() + 1);
        let near = cursors
            .iter()
            .enumerate()
            .filter(|(_, c)| c.start() <= offset)
            .max_by_key(|(_, c)| c.end)
            .map(|(i, _)| i);
        let at = match near {
            Some(i) => i,
            None if cursors.len() < CURSORS => {
                cursors.push(Cursor::new(self.format));
                cursors.len() - 1
            }
            None => {
                let oldest = cursors.iter().enumerate().min_by_key(|(_, c)| c.used).map_or(0, |(i, _)| i);
                cursors[oldest] = Cursor::new(self.format);
                oldest
            }
        };
        cursors[at].used = self.clock.get();
        at
    }

    /// Inflates the next block of a cursor, at least one byte unless the end is reached.
    fn advance(&self, cursor: &mut Cursor) -> Result<(), ReadError> {
        cursor.make_room();
        let before = cursor.end;
        if self.work.get() / MOST_TIMES > self.len.get().max(before).max(LEAST_WORK) {
            return Err(ReadError {
                offset: before,
                message: "it is read back and forth too often while it is packed; unpack it first".into(),
            });
        }
        while cursor.end == before && !cursor.ended {
            if cursor.taken == cursor.input.len() {
                cursor.refill(self.packed)?;
            }
            match cursor.step() {
                Step::Made => {}
                Step::End if self.format == Format::Gzip && cursor.another_member(self.packed)? => {
                    cursor.inflate = decompress(self.format);
                }
                Step::End => cursor.ended = true,
                Step::Damaged => self.damaged(cursor, "the packed bytes are damaged"),
                Step::Cut => self.damaged(cursor, "the packed bytes end"),
            }
        }
        self.work.set(self.work.get().saturating_add(cursor.end - before));
        if cursor.end > self.most {
            let excess = (cursor.end - self.most) as usize;
            cursor.history.truncate(cursor.history.len().saturating_sub(excess));
            cursor.end = self.most;
            self.over.set(true);
            self.damaged(cursor, "there is more than is taken from so few bytes");
        }
        if cursor.ended && cursor.end < self.len.get() {
            // Cut off: every cursor finds the same end.
            self.len.set(cursor.end);
        } else if cursor.end > self.len.get() && !self.measured.get() {
            let sentence = format!(
                "It holds more than the {} that it declares; only so much was read.",
                Bytes(self.len.get())
            );
            self.damage.borrow_mut().get_or_insert(sentence);
        }
        Ok(())
    }

    fn damaged(&self, cursor: &mut Cursor, what: &str) {
        cursor.ended = true;
        self.damage.borrow_mut().get_or_insert_with(|| read_up_to(cursor.end, what));
    }
}

/// The sentence for a file that is damaged after `made` unpacked bytes.
pub(super) fn read_up_to(made: u64, what: &str) -> String {
    format!("After {} unpacked, {what}; what comes before was read.", Bytes(made))
}

impl Source for Inflate<'_> {
    fn len(&self) -> u64 {
        self.len.get()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        let left = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let want = left.min(buf.len());
        let mut cursors = self.cursors.borrow_mut();
        let at = self.choose(&mut cursors, offset);
        let Some(cursor) = cursors.get_mut(at) else { return Ok(0) };
        let mut got = 0;
        while got < want {
            let here = offset + got as u64;
            if here < cursor.end {
                let from = (here - cursor.start()) as usize;
                let part = &cursor.history[from..];
                let n = part.len().min(want - got);
                buf[got..got + n].copy_from_slice(&part[..n]);
                got += n;
            } else if cursor.ended {
                break;
            } else {
                self.advance(cursor)?;
            }
        }
        // At the declared end the stream must end too: one more step tells.
        if got == want && offset + got as u64 == cursor.end && cursor.end == self.len() && !cursor.ended {
            self.advance(cursor)?;
        }
        Ok(got)
    }

    fn damage(&self) -> Option<String> {
        self.damage.borrow().clone()
    }
}

/// A place in the packed file.
struct Cursor {
    inflate: Decompress,
    input: Vec<u8>,
    /// Next byte of `input`.
    taken: usize,
    /// Next byte of the packed file after `input`.
    next: u64,
    /// The last unpacked bytes.
    history: Vec<u8>,
    /// Where `history` ends in the unpacked file.
    end: u64,
    ended: bool,
    used: u64,
}

/// What became of a step.
enum Step {
    Made,
    End,
    Damaged,
    Cut,
}

impl Cursor {
    fn new(format: Format) -> Cursor {
        Cursor {
            inflate: decompress(format),
            input: Vec::new(),
            taken: 0,
            next: 0,
            history: Vec::new(),
            end: 0,
            ended: false,
            used: 0,
        }
    }

    /// Where `history` starts in the unpacked file.
    fn start(&self) -> u64 {
        self.end.saturating_sub(self.history.len() as u64)
    }

    fn make_room(&mut self) {
        if self.history.len() + BLOCK > HISTORY {
            self.history.drain(..self.history.len() - HISTORY / 2);
        }
    }

    /// Reads on in the packed file, keeping what is left of `input`.
    fn refill(&mut self, packed: &dyn Source) -> Result<(), ReadError> {
        self.input.drain(..self.taken);
        self.taken = 0;
        let left = self.input.len();
        let most = self.next.clamp(INPUT.start, INPUT.end).min(packed.len().saturating_sub(self.next));
        self.input.resize(left + most as usize, 0);
        let got = packed.read_at(self.next, &mut self.input[left..])?;
        self.input.truncate(left + got);
        self.next += got as u64;
        Ok(())
    }

    /// Inflates into `history`, up to a block.
    fn step(&mut self) -> Step {
        let before = self.history.len();
        self.history.resize(before + BLOCK, 0);
        let (taken, made) = (self.inflate.total_in(), self.inflate.total_out());
        let input = &self.input[self.taken..];
        let status = self.inflate.decompress(input, &mut self.history[before..], FlushDecompress::None);
        let taken = (self.inflate.total_in() - taken) as usize;
        let made = (self.inflate.total_out() - made) as usize;
        self.history.truncate(before + made);
        self.end += made as u64;
        self.taken = (self.taken + taken).min(self.input.len());
        match status {
            Ok(Status::StreamEnd) => Step::End,
            Ok(_) if taken == 0 && made == 0 => Step::Cut,
            Ok(_) => Step::Made,
            Err(_) => Step::Damaged,
        }
    }

    /// Whether a member follows. Zeros and other bytes behind the last one are left alone, as gzip does.
    fn another_member(&mut self, packed: &dyn Source) -> Result<bool, ReadError> {
        if self.input.len() < self.taken + 2 {
            self.refill(packed)?;
        }
        Ok(self.input.get(self.taken..).is_some_and(|rest| rest.starts_with(&[0x1f, 0x8b])))
    }
}

fn decompress(format: Format) -> Decompress {
    match format {
        Format::Gzip => gunzip(),
        Format::Deflate => Decompress::new(false),
    }
}

/// Before a member of a gzip file.
pub(super) fn gunzip() -> Decompress {
    Decompress::new_gzip(15)
}
