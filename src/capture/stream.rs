//! Pass 2: the events of the lines, pushed in chunks.

use super::event::Event;
use super::index::Index;
use super::plane::{Line, Plane};
use crate::arrange::Arrange;
use crate::bytes::wire::{Cursor, Padded};
use crate::bytes::{ReadError, Source};
use crate::terms::Warning;
use std::ops::Range;

/// Largest event read. Events are tens to hundreds of bytes; one with a megabyte of stats is passed over.
const LARGEST_EVENT: u64 = 1 << 20;
/// Bytes of a line between two checkpoints.
const CHECKPOINT_EVERY: u64 = 64 << 10;
/// Warnings kept of a pass.
const MOST_WARNINGS: usize = 100;
/// Bytes read at a time by [`read_lines`].
const CHUNK: usize = 2 << 20;

/// Which line events are coming from.
#[derive(Debug, Clone, Copy)]
pub struct LineAt<'a> {
    /// Its plane.
    pub plane: &'a Plane,
    /// Index of the plane.
    pub plane_index: usize,
    /// The line.
    pub line: &'a Line,
    /// Index of the line in its plane.
    pub line_index: usize,
}

/// Takes events. Lines come in the order of the file, each whole.
pub trait Sink {
    /// A line begins. Returns whether its events are wanted.
    fn line(&mut self, at: LineAt<'_>) -> bool;
    /// An event of the line that began last.
    fn event(&mut self, event: &Event<'_>);
    /// The line is over; `complete` unless it was cut off or damaged.
    fn end_line(&mut self, complete: bool);
}

/// Where in the file a moment of a line lies, for reading part of it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// Index of the plane.
    pub plane: u32,
    /// Index of the line in its plane.
    pub line: u32,
    /// Offset of an event's tag.
    pub at: u64,
    /// That event's start in picoseconds from the line's timestamp.
    pub offset_ps: i64,
}

/// Walks events that are pushed to it. The memory it uses does not depend on the file.
#[derive(Debug, Default)]
pub struct Stream {
    /// (plane, line, events) in the order of the file.
    spans: Vec<(u32, u32, Range<u64>)>,
    next: usize,
    /// Next byte wanted.
    at: u64,
    begun: bool,
    wanted: bool,
    next_checkpoint: u64,
    checkpoints: Vec<Checkpoint>,
    warnings: Vec<Warning>,
}

impl Stream {
    /// A stream over all lines for which `wanted` says so.
    pub fn new(index: &Index, mut wanted: impl FnMut(&Plane, &Line) -> bool) -> Stream {
        let mut spans = Vec::new();
        for (p, plane) in index.planes.iter().enumerate() {
            for (l, line) in plane.lines.iter().enumerate() {
                if wanted(plane, line) {
                    spans.push((p as u32, l as u32, line.events.clone()));
                }
            }
        }
        Stream::over(spans)
    }

    fn over(mut spans: Vec<(u32, u32, Range<u64>)>) -> Stream {
        spans.arrange_by_key(|s| s.2.start);
        let at = spans.first().map_or(0, |s| s.2.start);
        Stream {
            spans,
            next: 0,
            at,
            begun: false,
            wanted: false,
            next_checkpoint: 0,
            checkpoints: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The same lines in as many streams, one behind the other in the file and each of about as many bytes; fewer where one
    /// line has most of them. To be called before any bytes were taken.
    #[must_use]
    pub fn split(self, parts: usize) -> Vec<Stream> {
        let total = self.bytes();
        let mut all: Vec<Vec<(u32, u32, Range<u64>)>> = vec![Vec::new()];
        let mut before = 0;
        for span in self.spans {
            let middle = before + (span.2.end.saturating_sub(span.2.start)) / 2;
            let begun = all.len() as u64;
            // A line goes to the part in which its middle lies.
            if u128::from(middle) * parts as u128 >= u128::from(total) * u128::from(begun)
                && all.last().is_some_and(|spans| !spans.is_empty())
                && all.len() < parts
            {
                all.push(Vec::new());
            }
            before += span.2.end.saturating_sub(span.2.start);
            if let Some(last) = all.last_mut() {
                last.push(span);
            }
        }
        all.into_iter().map(Stream::over).collect()
    }

    /// How many bytes its lines have.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.spans.iter().map(|s| s.2.end.saturating_sub(s.2.start)).sum()
    }

    /// Takes in the checkpoints and warnings of a stream over later lines.
    pub fn absorb(&mut self, later: Stream) {
        self.checkpoints.extend(later.checkpoints);
        self.warnings.extend(later.warnings);
        self.warnings.truncate(MOST_WARNINGS);
    }

    /// The bytes still wanted, from the next one to the end of the last line; `None` when all were had. Between lines
    /// there can be others, which [`Stream::feed`] passes over; whoever can skip in its medium asks again.
    #[must_use]
    pub fn wants(&self) -> Option<Range<u64>> {
        let last = self.spans.last()?;
        (self.next < self.spans.len()).then_some(self.at..last.2.end)
    }

    /// The bytes wanted of the present line.
    #[must_use]
    pub fn wants_of_line(&self) -> Option<Range<u64>> {
        self.spans.get(self.next).map(|s| self.at..s.2.end)
    }

    /// Takes `bytes`, which lie at `offset` of the file, and returns how many of them are done with. The rest has the
    /// beginning of an event: push it again with what follows. `offset` may not lie behind the next byte wanted.
    pub fn feed(&mut self, index: &Index, offset: u64, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let end = offset + bytes.len() as u64;
        while let Some((p, l, span)) = self.spans.get(self.next).cloned() {
            if self.at >= end {
                return bytes.len();
            }
            if !self.begun {
                let place = index
                    .planes
                    .get(p as usize)
                    .and_then(|plane| Some((plane, plane.lines.get(l as usize)?)));
                self.wanted = place.is_some_and(|(plane, line)| {
                    sink.line(LineAt { plane, plane_index: p as usize, line, line_index: l as usize })
                });
                self.begun = true;
                self.next_checkpoint = span.start;
            }
            if self.wanted {
                let chunk = &bytes[self.at.saturating_sub(offset) as usize
                    ..end.min(span.end).saturating_sub(offset) as usize];
                let whole = end >= span.end;
                match self.walk(p, l, chunk, whole, sink) {
                    Walked::All => {}
                    Walked::NeedsMore if whole => {
                        self.warn(self.at, "the last event of a line is cut off");
                        self.end_line(sink, false);
                        continue;
                    }
                    Walked::NeedsMore => return self.at.saturating_sub(offset) as usize,
                    Walked::Malformed => {
                        self.warn(
                            self.at,
                            "a line cannot be read from here on; its earlier events are in the report",
                        );
                        self.end_line(sink, false);
                        continue;
                    }
                }
            } else {
                self.at = span.end;
            }
            if self.at >= span.end {
                self.end_line(sink, true);
            }
        }
        bytes.len()
    }

    fn end_line(&mut self, sink: &mut impl Sink, complete: bool) {
        if self.wanted {
            sink.end_line(complete);
        }
        self.begun = false;
        self.next += 1;
        if let Some(span) = self.spans.get(self.next) {
            self.at = span.2.start;
        }
    }

    /// Ends the pass where the bytes end: a line that is still open was cut off.
    pub fn finish(&mut self, sink: &mut impl Sink) {
        if self.begun && self.wanted {
            self.warn(self.at, "the capture ends inside a line; its earlier events are in the report");
            sink.end_line(false);
        }
        self.next = self.spans.len();
        self.begun = false;
    }

    fn warn(&mut self, at: u64, message: &str) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(Warning::at("malformed", at, format!("byte {at}: {message}")));
        }
    }

    /// Moments of the lines and where they lie.
    #[must_use]
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// What was wrong with the lines so far.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// Walks a part of a line that starts at a field's tag and is at `self.at` of the file.
    #[inline(always)]
    fn walk(&mut self, plane: u32, line: u32, chunk: &[u8], whole: bool, sink: &mut impl Sink) -> Walked {
        let base = self.at;
        let end = base + chunk.len() as u64;
        let mut rest = chunk;
        let mut padded = Vec::new();
        let walked = loop {
            let here = end - rest.len() as u64;
            let (ahead, len) = match *rest {
                // Nearly every event is shorter than 128 bytes.
                [0x22, len @ 0..0x80, ref ahead @ ..] => (ahead, usize::from(len)),
                [] => break Walked::All,
                _ => match other_field(rest, whole) {
                    Field::Event(ahead, len) if len > LARGEST_EVENT && len > ahead.len() as u64 => {
                        self.at = end - ahead.len() as u64;
                        return self.pass_over(len);
                    }
                    Field::Event(ahead, len) => (ahead, len as usize),
                    Field::Other(behind) => {
                        rest = behind;
                        continue;
                    }
                    Field::End(walked) => break walked,
                },
            };
            let Some(behind) = ahead.get(len..) else { break Walked::NeedsMore };
            let message = match ahead.get(..len + Padded::BEHIND) {
                Some(message) => message,
                // The last events of a chunk have not enough behind them.
                None => {
                    padded.clear();
                    padded.extend_from_slice(ahead);
                    padded.truncate(len);
                    padded.resize(len + Padded::BEHIND, 0);
                    &padded
                }
            };
            let Some(event) = Event::parse(Padded::new(message)) else { break Walked::Malformed };
            if here >= self.next_checkpoint {
                self.next_checkpoint = here + CHECKPOINT_EVERY;
                let offset_ps = event.offset_ps.unwrap_or(0);
                self.checkpoints.push(Checkpoint { plane, line, at: here, offset_ps });
            }
            sink.event(&event);
            rest = behind;
        };
        self.at = end - rest.len() as u64;
        walked
    }

    /// Passes over an event whose `len` bytes begin at `self.at`.
    #[cold]
    fn pass_over(&mut self, len: u64) -> Walked {
        self.warn(self.at, "an event of over a mebibyte is passed over");
        let end = self.spans.get(self.next).map_or(self.at, |s| s.2.end);
        let behind = self.at.saturating_add(len);
        self.at = behind.min(end);
        if behind > end { Walked::Malformed } else { Walked::All }
    }
}

/// A field of a line that is no event, or a long one.
enum Field<'a> {
    /// An event: what follows its length, and the length.
    Event(&'a [u8], u64),
    /// Another field: what follows it.
    Other(&'a [u8]),
    /// No whole field.
    End(Walked),
}

#[cold]
fn other_field(bytes: &[u8], whole: bool) -> Field<'_> {
    let mut cursor = Cursor::new(bytes);
    if !cursor.passes(0x22) {
        return match cursor.field() {
            Ok(_) => Field::Other(cursor.rest()),
            Err(_) if !whole && (bytes.len() as u64) < LARGEST_EVENT => Field::End(Walked::NeedsMore),
            Err(_) => Field::End(Walked::Malformed),
        };
    }
    match cursor.varint() {
        Ok(len) => Field::Event(cursor.rest(), len),
        Err(_) if whole || bytes.len() > 11 => Field::End(Walked::Malformed),
        Err(_) => Field::End(Walked::NeedsMore),
    }
}

enum Walked {
    All,
    NeedsMore,
    Malformed,
}

/// Reads parts of lines again, in the order of the file, outside the main pass. Each part names its plane and line
/// and must begin at an event's tag (a line's `events`, or from a [`Checkpoint`] on).
///
/// # Errors
/// Where the medium fails.
pub fn read_lines<S: Source>(
    source: &S,
    index: &Index,
    parts: Vec<(u32, u32, Range<u64>)>,
    sink: &mut impl Sink,
) -> Result<(), ReadError> {
    let mut stream = Stream::over(parts);
    let mut buffer = Vec::new();
    while let Some(range) = stream.wants_of_line() {
        let want = (range.end.saturating_sub(range.start)).min(CHUNK as u64) as usize;
        buffer.resize(want, 0);
        let got = source.read_at(range.start, &mut buffer)?;
        let before = (stream.at, stream.next);
        stream.feed(index, range.start, &buffer[..got], sink);
        // The source is shorter than the index says, or an event never ends: nothing more comes.
        if got == 0 || (stream.at, stream.next) == before {
            stream.end_line(sink, false);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::xspace as x;
    use prost::Message;

    /// What a sink was told.
    #[derive(Debug, Default, PartialEq)]
    struct Log(Vec<String>);

    impl Sink for Log {
        fn line(&mut self, at: LineAt<'_>) -> bool {
            self.0.push(format!("line {}", at.line.name));
            at.line.name != "unwanted"
        }
        fn event(&mut self, e: &Event<'_>) {
            let stats: Vec<_> = e.stats().map(|s| format!("{}={:?}", s.metadata_id, s.value)).collect();
            self.0.push(format!("{} {:?} {} {}", e.metadata_id, e.offset_ps, e.duration_ps, stats.join(",")));
        }
        fn end_line(&mut self, complete: bool) {
            self.0.push(format!("end {complete}"));
        }
    }

    fn space() -> x::XSpace {
        use x::x_event::Data;
        use x::x_stat::Value;
        let event = |id, data, stats: Vec<Value>| x::XEvent {
            metadata_id: id,
            data: Some(data),
            duration_ps: 5,
            stats: stats.into_iter().map(|v| x::XStat { metadata_id: 300, value: Some(v) }).collect(),
        };
        let line = |name: &str, events| x::XLine {
            id: -7,
            name: name.into(),
            timestamp_ns: 1_700_000_000_000_000_000,
            events,
            duration_ps: 99,
            ..Default::default()
        };
        let mut names = std::collections::BTreeMap::new();
        names.insert(1 << 40, x::XEventMetadata { id: 1 << 40, name: "big id".into(), ..Default::default() });
        x::XSpace {
            planes: vec![
                x::XPlane {
                    name: "/host:CPU".into(),
                    lines: vec![
                        line(
                            "a",
                            vec![
                                event(1, Data::OffsetPs(3), vec![Value::Int64Value(-1)]),
                                event(2, Data::NumOccurrences(9), vec![]),
                            ],
                        ),
                        line("unwanted", vec![event(3, Data::OffsetPs(1), vec![])]),
                        line("empty", vec![]),
                        line(
                            "b",
                            vec![event(
                                1 << 40,
                                Data::OffsetPs(1 << 50),
                                vec![Value::StrValue("x".repeat(300)), Value::DoubleValue(f64::NAN)],
                            )],
                        ),
                    ],
                    event_metadata: names,
                    ..Default::default()
                },
                x::XPlane { name: "/device:GPU:3".into(), ..Default::default() },
            ],
            hostnames: vec!["host".into()],
            ..Default::default()
        }
    }

    fn stream_by(bytes: &[u8], step: usize) -> (Log, Vec<Warning>) {
        let index = Index::read(bytes).unwrap();
        let mut stream = Stream::new(&index, |_, _| true);
        let mut log = Log::default();
        let (mut from, mut to) = (0, 0);
        while to < bytes.len() {
            to = (to + step).min(bytes.len());
            from += stream.feed(&index, from as u64, &bytes[from..to], &mut log);
        }
        stream.finish(&mut log);
        (log, stream.take_warnings())
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let bytes = space().encode_to_vec();
        let (whole, warnings) = stream_by(&bytes, bytes.len());
        assert_eq!(warnings, []);
        assert_eq!(whole.0[..4], ["line a", "1 Some(3) 5 300=Int(-1)", "2 None 5 ", "end true"]);
        assert_eq!(whole.0[4..6], ["line unwanted", "line b"]);
        assert!(whole.0[6].starts_with(&format!("{} Some({}) 5 300=Str(", 1i64 << 40, 1i64 << 50)));
        assert!(whole.0[6].ends_with("300=Double(NaN)"));
        for step in 1..60 {
            assert_eq!(stream_by(&bytes, step), (Log(whole.0.clone()), vec![]), "in steps of {step}");
        }
    }

    #[test]
    fn every_cut_of_a_capture_gives_what_stands_before_it() {
        let bytes = space().encode_to_vec();
        let (whole, _) = stream_by(&bytes, bytes.len());
        for cut in 1..bytes.len() {
            let Ok(index) = Index::read(&bytes[..cut]) else { continue };
            let mut stream = Stream::new(&index, |_, _| true);
            let mut log = Log::default();
            stream.feed(&index, 0, &bytes[..cut], &mut log);
            stream.finish(&mut log);
            let seen: Vec<_> =
                log.0.iter().filter(|l| !l.starts_with("end") && !l.starts_with("line")).collect();
            assert!(seen.iter().all(|l| whole.0.contains(l)), "cut at {cut}: {seen:?}");
        }
    }

    #[test]
    fn lines_can_be_read_again_from_a_checkpoint() {
        let bytes = space().encode_to_vec();
        let index = Index::read(&bytes[..]).unwrap();
        let mut stream = Stream::new(&index, |_, _| true);
        stream.feed(&index, 0, &bytes, &mut Log::default());
        let last = *stream.checkpoints().last().unwrap();
        assert_eq!((last.plane, last.line, last.offset_ps), (0, 2, 1 << 50));
        let end = index.planes[0].lines[2].events.end;
        let mut log = Log::default();
        read_lines(&&bytes[..], &index, vec![(0, 2, last.at..end)], &mut log).unwrap();
        assert_eq!(log.0.len(), 3);
        assert_eq!(log.0[2], "end true");
    }

    #[test]
    fn an_event_of_lying_length_ends_its_line_alone() {
        let mut space = space();
        space.planes[0].lines.truncate(1);
        let mut bytes = space.encode_to_vec();
        let index = Index::read(&bytes[..]).unwrap();
        let at = index.planes[0].lines[0].events.start as usize;
        bytes[at + 1] = 0x7f;
        let (log, warnings) = stream_by(&bytes, bytes.len());
        assert_eq!(log.0, ["line a", "end false"]);
        assert_eq!(warnings.len(), 1);
    }

    #[test]
    fn the_index_keeps_names_by_large_ids_and_negative_line_ids() {
        let bytes = space().encode_to_vec();
        let index = Index::read(&bytes[..]).unwrap();
        assert_eq!(index.hostnames, ["host"]);
        let host = index.plane("/host:CPU").unwrap();
        assert_eq!(host.event_names.get(1 << 40), Some("big id"));
        assert_eq!(host.lines[0].id, -7);
        assert_eq!(host.lines.len(), 3, "the line without events is not kept");
        assert_eq!(index.planes[1].ordinal("/device:GPU:"), Some(3));
        assert_eq!(index.base_ns(), 1_700_000_000_000_000_000);
    }
}
