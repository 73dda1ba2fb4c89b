//! The driver: opens a source, streams its events, and keeps what the report and the views ask for.
//!
//! Whoever has random access calls [`read`]. Whoever is handed chunks (a browser's stream) drives [`Analysis`]:
//! [`Analysis::open`], then [`Analysis::feed`] until [`Analysis::wants`] is `None` or the bytes end, then
//! [`Analysis::finish`]. Whoever has threads, too, takes the events out in parts ([`Analysis::split`]).

mod events;
pub mod evidence;
mod modules;
mod parts;
mod session;

pub use parts::Part;
pub use session::{Options, Session};

use crate::bytes::{ReadError, Source};
use crate::capture::{Index, Stream, Unreadable};
use crate::evidence::{Foreign, HEAD_BYTES, Kind, archive, sniff};
use crate::run::{Recorder, Run};
use std::ops::Range;
use thiserror::Error;

/// Bytes read at a time by [`read`]: few enough to stay in the processor's nearest memory.
const CHUNK: usize = 256 << 10;
/// Bytes read at a time where an event is longer than that.
const LARGEST_CHUNK: usize = 2 << 20;
/// Largest file of a kind that is read whole: modules alone, profiles, texts. Protobuf writes no longer message.
pub const LARGEST_WHOLE: u64 = 2 << 30;

/// Why a file has no report.
#[derive(Debug, Clone, Error)]
pub enum Refusal {
    /// It is of another kind; the sentence says which, and what to bring.
    #[error("{}", .0.sentence())]
    Foreign(Foreign),
    /// It is damaged from its first bytes on.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The medium failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is of a kind that is read whole, and too large for that.
    #[error(
        "This is {} of {}; files of this kind are read whole, up to {}. {}",
        what_of(*.kind), crate::units::Bytes(*.len), crate::units::Bytes(LARGEST_WHOLE), instead_of(*.kind)
    )]
    TooLarge {
        /// What it is.
        kind: Kind,
        /// Its length.
        len: u64,
    },
    /// It says what it is, and cannot be read as that.
    #[error("{0}")]
    Damaged(String),
}

/// A kind that is read whole, in words.
fn what_of(kind: Kind) -> &'static str {
    match kind {
        Kind::HloProto => "a module with its plan (HloProto)",
        Kind::MemoryProfile => "a device memory profile",
        Kind::BufferAssignmentText | Kind::MemoryUsageText => "a plan as text",
        _ => "text",
    }
}

/// What to bring instead of one that is too large.
fn instead_of(kind: Kind) -> &'static str {
    match kind {
        Kind::HloProto | Kind::MemoryProfile => {
            "Protobuf writes none that is larger: it is damaged, or several in one file. Bring the file as it was written"
        }
        Kind::BufferAssignmentText | Kind::MemoryUsageText => {
            "Bring the `*.hlo.pb` of the same module, which is shorter"
        }
        _ => "Bring the part around the error: `grep -B 50 -A 400 RESOURCE_EXHAUSTED`",
    }
}

/// A file being analysed.
#[derive(Debug)]
pub struct Analysis<S> {
    source: S,
    name: String,
    state: State,
}

#[derive(Debug)]
enum State {
    /// A capture: its events are being streamed.
    Capture(Box<Capturing>),
    /// A kind that is read whole when it is opened.
    Whole(Kind, Vec<u8>),
}

#[derive(Debug)]
struct Capturing {
    index: Index,
    stream: Stream,
    recorder: Recorder,
}

impl<S: Source> Analysis<S> {
    /// Opens a source of any kind but an archive (see [`crate::evidence`] for those), and reads a capture's index.
    ///
    /// # Errors
    /// Where nothing can be read, with a sentence that says what the file is and what to bring.
    pub fn open(source: S, name: &str) -> Result<Analysis<S>, Refusal> {
        let head = source.read_range(0..HEAD_BYTES as u64)?;
        let state = match sniff(&head, source.len(), name) {
            Kind::Foreign(what) => return Err(Refusal::Foreign(what)),
            Kind::Xspace => {
                let index = Index::read(&source)?;
                let stream = Stream::new(&index, Recorder::wants);
                let recorder = Recorder::new(&index);
                State::Capture(Box::new(Capturing { index, stream, recorder }))
            }
            kind => {
                if source.len() > LARGEST_WHOLE {
                    return Err(Refusal::TooLarge { kind, len: source.len() });
                }
                State::Whole(kind, source.read_range(0..source.len())?)
            }
        };
        Ok(Analysis { source, name: name.to_owned(), state })
    }

    /// The bytes still wanted; `None` when all were had.
    #[must_use]
    pub fn wants(&self) -> Option<Range<u64>> {
        match &self.state {
            State::Capture(c) => c.stream.wants(),
            State::Whole(..) => None,
        }
    }

    /// Takes the bytes at `offset` and returns how many are done with; the rest is to be pushed again with what
    /// follows it.
    pub fn feed(&mut self, offset: u64, bytes: &[u8]) -> usize {
        match &mut self.state {
            State::Capture(c) => c.stream.feed(&c.index, offset, bytes, &mut c.recorder),
            State::Whole(..) => bytes.len(),
        }
    }

    /// Ends the reading, wherever it is, and joins what was read.
    ///
    /// # Errors
    /// Where a file that is read whole turns out not to be what it said.
    pub fn finish(self) -> Result<Session<S>, Refusal> {
        match self.state {
            State::Capture(mut c) => {
                c.stream.finish(&mut c.recorder);
                c.index.warnings.append(&mut c.stream.take_warnings());
                let checkpoints = c.stream.checkpoints().to_vec();
                let run = Run::build(c.recorder, &c.index, &self.source);
                Ok(Session::of_capture(self.source, &self.name, c.index, checkpoints, run))
            }
            State::Whole(kind, bytes) => Session::of_whole(self.source, &self.name, kind, bytes),
        }
    }
}

/// Reads a source of any kind but an archive. `progress` is told the bytes done with.
///
/// # Errors
/// As [`Analysis::open`] and [`Analysis::finish`].
pub fn read<S: Source>(source: S, name: &str, mut progress: impl FnMut(u64)) -> Result<Session<S>, Refusal> {
    let mut analysis = Analysis::open(source, name)?;
    if let State::Capture(c) = &mut analysis.state {
        stream_all(&mut c.stream, &c.index, &analysis.source, &mut c.recorder, &mut progress)?;
    }
    analysis.finish()
}

/// Reads a source as the text of a failure, whatever it looks like: who gives it says that it is one.
///
/// # Errors
/// Where it is too large, or holds no failure of memory.
pub fn read_text<S: Source>(source: S, name: &str) -> Result<Session<S>, Refusal> {
    if source.len() > LARGEST_WHOLE {
        return Err(Refusal::TooLarge { kind: Kind::Text, len: source.len() });
    }
    let bytes = source.read_range(0..source.len())?;
    Session::of_whole(source, name, Kind::Text, bytes)
}

/// Reads what a stream wants, to the end or as far as the medium goes.
fn stream_all<S: Source>(
    stream: &mut Stream,
    index: &Index,
    source: &S,
    recorder: &mut Recorder,
    progress: &mut dyn FnMut(u64),
) -> Result<(), ReadError> {
    let mut buffer = Vec::new();
    let mut most = CHUNK;
    while let Some(range) = stream.wants() {
        let want = range.end.saturating_sub(range.start).min(most as u64) as usize;
        buffer.resize(want, 0);
        let got = source.read_at(range.start, &mut buffer)?;
        let done = stream.feed(index, range.start, &buffer[..got], recorder);
        let stuck = done == 0 && stream.wants().is_some_and(|r| r.start == range.start);
        if got == 0 || (stuck && most == LARGEST_CHUNK) {
            break;
        }
        most = if stuck { LARGEST_CHUNK } else { CHUNK };
        progress(range.start + done as u64);
    }
    Ok(())
}

/// The bytes of the one file in a source that may be packed, where they are `most` or fewer.
///
/// # Errors
/// Where the medium fails, nothing is in it, or more than that.
pub fn unpacked(source: &dyn Source, name: &str, most: u64) -> Result<Vec<u8>, Refusal> {
    let mut bytes = None;
    archive::walk(source, name, &archive::Limits::default(), &mut |file| {
        let len = file.source.len();
        bytes = Some(match len > most {
            true => Err(Refusal::TooLarge { kind: file.kind, len }),
            false => file.source.read_range(0..len).map_err(Refusal::from),
        });
        std::ops::ControlFlow::Break(())
    })?;
    match bytes {
        Some(bytes) => bytes,
        None => Err(Refusal::Damaged("nothing is in it".into())),
    }
}

/// What [`each`] tells of one file.
#[allow(missing_debug_implementations)] // sources have none
pub enum Told<'a> {
    /// A file that was read: its path, which begins with the name of the source, and what can be asked of it.
    Session(&'a str, Box<Session<&'a dyn Source>>),
    /// A file that has no report: its path and why.
    Refused(&'a str, Refusal),
    /// A file of an archive that is of no interest: its path and what it is.
    PassedOver(&'a str, String),
    /// Something to know of a file of an archive, in a sentence: it is damaged, or why it was not read.
    Noted(&'a str, String),
}

/// Reads every capture in a source: the source itself, or those of an archive, nested in any way.
///
/// In an archive, files of other kinds are passed over, since run folders hold several kinds; a source that is no
/// archive is refused where it has no report.
pub fn each(source: &dyn Source, name: &str, tell: &mut dyn FnMut(Told<'_>)) {
    let mut seen = false;
    let walked = archive::walk(source, name, &archive::Limits::default(), &mut |file| {
        let alone = file.path == name;
        match file.kind {
            Kind::Foreign(what) if !alone => tell(Told::PassedOver(file.path, what.what().to_owned())),
            Kind::Text if !alone => tell(Told::PassedOver(file.path, "text".into())),
            _ => {
                seen = true;
                let base = file.path.rsplit('/').next().unwrap_or(file.path);
                match read(file.source, base, |_| {}) {
                    Ok(session) => tell(Told::Session(file.path, Box::new(session))),
                    Err(why) => tell(Told::Refused(file.path, why)),
                }
            }
        }
        std::ops::ControlFlow::Continue(())
    });
    match walked {
        Ok(notes) => {
            for note in notes {
                if seen {
                    tell(Told::Noted(&note.path, note.sentence));
                } else {
                    tell(Told::Refused(&note.path, Refusal::Damaged(note.sentence)));
                }
            }
            if !seen {
                let sentence = "no capture is in it. A capture is called <host>.xplane.pb".to_owned();
                tell(Told::Refused(name, Refusal::Damaged(sentence)));
            }
        }
        Err(e) => tell(Told::Refused(name, e.into())),
    }
}
