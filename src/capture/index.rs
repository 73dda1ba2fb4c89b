//! Pass 1: what is in the file and where, without its events.

use super::plane::{Line, Plane};
use super::stats::{OwnedValue, Stat};
use crate::bytes::wire::{Cursor, Kind};
use crate::bytes::{FieldAt, ReadError, Source, Window};
use crate::terms::Warning;
use crate::units::Bytes;
use thiserror::Error;

/// Bytes read at a time. Planes are mostly events, which are hopped over: a larger window reads more than it needs.
const WINDOW: usize = 16 << 10;
/// Longest text kept of hostnames, errors and text stats.
const LONGEST_TEXT: usize = 64 << 10;
/// Planes kept. A host has one for each of its devices and a few more.
const MOST_PLANES: usize = 4096;
/// Hostnames, errors and warnings of the profiler that are kept, each.
const MOST_SAID: usize = 100;
/// Warnings kept of one pass; a file with more damage than that is told so once.
const MOST_WARNINGS: usize = 100;

/// What a capture holds, and where.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// Its planes in the order of the file.
    pub planes: Vec<Plane>,
    /// The host that made it; normally one.
    pub hostnames: Vec<String>,
    /// Errors that the profiler wrote into the capture.
    pub errors: Vec<String>,
    /// Warnings that the profiler wrote into the capture.
    pub producer_warnings: Vec<String>,
    /// What was wrong with the file.
    pub warnings: Vec<Warning>,
    /// Length of the file in bytes.
    pub len: u64,
}

/// Nothing could be read.
#[derive(Debug, Clone, Error)]
pub enum Unreadable {
    /// The file has no bytes.
    #[error("the file is empty: the profiler had not written it yet, or the copy was cut off")]
    Empty,
    /// It is no XSpace.
    #[error(
        "byte {offset} is not where a plane of a profiler capture begins: this is no XSpace, or it is damaged"
    )]
    NotACapture {
        /// The byte.
        offset: u64,
    },
    /// The medium failed.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Index {
    /// Reads the index.
    ///
    /// # Errors
    /// Where the file is empty, begins with something else than an XSpace's fields, or cannot be read. Damage further
    /// on is a warning, and the index is of what could be read.
    pub fn read<S: Source>(source: S) -> Result<Index, Unreadable> {
        let len = source.len();
        if len == 0 {
            return Err(Unreadable::Empty);
        }
        let mut reader =
            Reader { window: Window::new(source, WINDOW), index: Index { len, ..Index::default() } };
        reader.space()?;
        for plane in &mut reader.index.planes {
            plane.event_names.seal();
            plane.stat_names.seal();
        }
        Ok(reader.index)
    }

    /// The first plane of this name.
    #[must_use]
    pub fn plane(&self, name: &str) -> Option<&Plane> {
        self.planes.iter().find(|p| p.name == name)
    }

    /// Origin of all times until the first event is known: the earliest timestamp of a line with events, in
    /// nanoseconds. Unix times in picoseconds need more than 64 bits, differences from here do not.
    #[must_use]
    pub fn base_ns(&self) -> i64 {
        let lines = self.planes.iter().flat_map(|p| &p.lines);
        lines.filter(|l| !l.events.is_empty()).map(|l| l.timestamp_ns).min().unwrap_or(0)
    }

    fn warn(&mut self, code: &str, offset: u64, message: impl Into<String>) {
        match self.warnings.len() {
            n if n < MOST_WARNINGS => self.warnings.push(Warning::at(code, offset, message)),
            MOST_WARNINGS => {
                self.warnings.push(Warning::new("more-warnings", "the file is damaged in more places"))
            }
            _ => {}
        }
    }
}

struct Reader<S> {
    window: Window<S>,
    index: Index,
}

impl<S: Source> Reader<S> {
    fn space(&mut self) -> Result<(), Unreadable> {
        let len = self.index.len;
        let (mut at, mut unsaid) = (0, 0u64);
        while at < len {
            let field = self.window.field(at)?;
            let known = field.filter(|f| f.kind == Kind::Bytes || f.number > 4);
            let Some(field) = known else {
                let cut = len - at < 20;
                if at == 0 && !(cut && field.is_none()) {
                    return Err(Unreadable::NotACapture { offset: 0 });
                }
                self.index.warn(
                    if cut { "truncated" } else { "malformed" },
                    at,
                    format!("the capture cannot be read from byte {at} on ({} of {len} bytes were)", at),
                );
                return Ok(());
            };
            if field.end > len {
                self.truncated(at, field.end);
            }
            match field.number {
                1 => self.plane(field.start, field.end)?,
                2..=4 => unsaid += u64::from(!self.said(&field)?),
                _ => {}
            }
            at = field.end;
        }
        if unsaid > 0 {
            let message =
                format!("{unsaid} more errors, warnings and host names of the profiler are left out");
            self.index.warn("more-said", 0, message);
        }
        let planes = &self.index.planes;
        if planes.iter().all(|p| p.name.is_empty() && p.lines.is_empty() && p.event_names.is_empty())
            && self.index.hostnames.is_empty()
        {
            return Err(Unreadable::NotACapture { offset: 0 });
        }
        Ok(())
    }

    /// An error, a warning or a host name; false where there are too many.
    fn said(&mut self, field: &FieldAt) -> Result<bool, ReadError> {
        let index = &self.index;
        let known = match field.number {
            2 => index.errors.len(),
            3 => index.producer_warnings.len(),
            _ => index.hostnames.len(),
        };
        if known == MOST_SAID {
            return Ok(false);
        }
        let text = self.text(field.start, field.end)?;
        match field.number {
            2 => self.index.errors.push(text),
            3 => self.index.producer_warnings.push(text),
            _ => self.index.hostnames.push(text),
        }
        Ok(true)
    }

    fn truncated(&mut self, at: u64, end: u64) {
        let len = self.index.len;
        let missing = end.saturating_sub(len);
        // A lying length can claim anything: only a plausible one is worth a number.
        let how = if missing < 1 << 40 {
            format!("at least {} are missing", Bytes(missing))
        } else {
            "its length cannot be true".into()
        };
        self.index.warn(
            "truncated",
            at,
            format!("the capture ends at byte {len} inside the part that starts at byte {at}: {how}. What can be told from what stands before is in the report"),
        );
    }

    /// Text of a field, cut to a moderate length.
    fn text(&mut self, start: u64, end: u64) -> Result<String, ReadError> {
        let want = end.saturating_sub(start).min(LONGEST_TEXT as u64) as usize;
        let bytes = self.window.at(start, want)?;
        Ok(String::from_utf8_lossy(&bytes[..bytes.len().min(want)]).into_owned())
    }

    fn plane(&mut self, start: u64, end: u64) -> Result<(), ReadError> {
        let end_here = end.min(self.index.len);
        let mut plane = Plane { range: start..end_here, ..Plane::default() };
        let mut at = start;
        while at < end_here {
            let Some(field) = self.window.field(at)?.filter(|f| f.end <= end) else {
                if end_here - at >= 20 || end <= self.index.len {
                    let message = format!("the plane `{}` cannot be read from byte {at} on", plane.name);
                    self.index.warn("malformed", at, message);
                }
                break;
            };
            let body = (field.start, field.end.min(end_here));
            match (field.number, field.kind) {
                (1, Kind::Varint) => plane.id = field.value as i64,
                (2, Kind::Bytes) => plane.name = self.text(body.0, body.1)?,
                (3, Kind::Bytes) => {
                    let line = self.line(body.0, body.1)?;
                    // A line without events says nothing, and costs a hostile file two bytes.
                    if !line.events.is_empty() {
                        plane.lines.push(line);
                    }
                }
                (4, Kind::Bytes) => self.event_metadata(&mut plane, body.0, body.1)?,
                (5, Kind::Bytes) => {
                    let want = (body.1 - body.0).min(LONGEST_TEXT as u64) as usize;
                    let bytes = self.window.at(body.0, want)?;
                    stat_metadata(&mut plane, &bytes[..bytes.len().min(want)]);
                }
                (6, Kind::Bytes) => {
                    if let Some(stat) = self.stat(body.0, body.1)? {
                        plane.stats.push(stat);
                    }
                }
                _ => {}
            }
            at = field.end;
        }
        if self.index.planes.len() < MOST_PLANES {
            self.index.planes.push(plane);
        } else {
            self.index.warn(
                "too-many-planes",
                start,
                format!("only the first {MOST_PLANES} planes are read"),
            );
        }
        Ok(())
    }

    /// The head of a line: everything before its first event. Writers put the fields in the order of their numbers;
    /// a timestamp behind the events is found in pass 2.
    fn line(&mut self, start: u64, end: u64) -> Result<Line, ReadError> {
        let mut line = Line { events: end..end, ..Line::default() };
        let mut at = start;
        while at < end {
            let Some(field) = self.window.field(at)? else { break };
            let body_end = field.end.min(end);
            match (field.number, field.kind) {
                (1, Kind::Varint) => line.id = field.value as i64,
                (2, Kind::Bytes) => line.name = self.text(field.start, body_end)?,
                (3, Kind::Varint) => line.timestamp_ns = field.value as i64,
                (4, Kind::Bytes) => {
                    line.events = at..end;
                    break;
                }
                (11, Kind::Bytes) if line.name.is_empty() => line.name = self.text(field.start, body_end)?,
                _ => {}
            }
            at = field.end;
        }
        Ok(line)
    }

    /// An entry of the map of event metadata. In `/host:metadata` one entry holds a module of up to hundreds of
    /// megabytes: it is walked by windows, and of its bytes only the place is kept.
    fn event_metadata(&mut self, plane: &mut Plane, start: u64, end: u64) -> Result<(), ReadError> {
        let keep_stats = plane.name == "/host:metadata";
        let mut key = 0;
        let mut name = Vec::new();
        let mut stats = Vec::new();
        let mut at = start;
        while let Some(field) = self.field_within(at, end)? {
            match (field.number, field.kind) {
                (1, Kind::Varint) => key = field.value as i64,
                (2, Kind::Bytes) => {
                    let mut inner = field.start;
                    while let Some(f) = self.field_within(inner, field.end)? {
                        match (f.number, f.kind) {
                            (2, Kind::Bytes) => {
                                let want = (f.end - f.start).min(LONGEST_TEXT as u64) as usize;
                                let bytes = self.window.at(f.start, want)?;
                                name = bytes[..bytes.len().min(want)].to_vec();
                            }
                            (5, Kind::Bytes) if keep_stats => stats.extend(self.stat(f.start, f.end)?),
                            // Names stand first: without a need for stats the rest of the entry is passed over.
                            (5, _) => break,
                            _ => {}
                        }
                        inner = f.end;
                    }
                }
                _ => {}
            }
            at = field.end;
        }
        plane.event_names.insert(key, &name);
        if !stats.is_empty() {
            plane.event_stats.insert(key, stats);
        }
        Ok(())
    }

    fn field_within(&mut self, at: u64, end: u64) -> Result<Option<FieldAt>, ReadError> {
        if at >= end {
            return Ok(None);
        }
        Ok(self.window.field(at)?.map(|f| FieldAt { end: f.end.min(end), ..f }).filter(|f| f.start <= end))
    }

    fn stat(&mut self, start: u64, end: u64) -> Result<Option<Stat>, ReadError> {
        let mut metadata_id = 0;
        let mut value = None;
        let mut at = start;
        while let Some(field) = self.field_within(at, end)? {
            match (field.number, field.kind) {
                (1, Kind::Varint) => metadata_id = field.value as i64,
                (2, Kind::Fixed64) => {
                    let bytes = self.window.at(field.start, 8)?;
                    if let Some(raw) = bytes.first_chunk::<8>() {
                        value = Some(OwnedValue::Double(f64::from_le_bytes(*raw)));
                    }
                }
                (3, Kind::Varint) => value = Some(OwnedValue::Uint(field.value)),
                (4, Kind::Varint) => value = Some(OwnedValue::Int(field.value as i64)),
                (5, Kind::Bytes) => value = Some(OwnedValue::Str(self.text(field.start, field.end)?)),
                (6, Kind::Bytes) => value = Some(OwnedValue::Bytes(field.start..field.end)),
                (7, Kind::Varint) => value = Some(OwnedValue::Ref(field.value)),
                _ => {}
            }
            at = field.end;
        }
        Ok(value.map(|value| Stat { metadata_id, value }))
    }
}

/// An entry of the map of stat metadata: small, read at once.
fn stat_metadata(plane: &mut Plane, entry: &[u8]) {
    let mut key = 0;
    let mut name: &[u8] = &[];
    for (number, value) in Cursor::new(entry) {
        match number {
            1 => key = value.varint() as i64,
            2 => name = Cursor::new(value.bytes()).find(|(n, _)| *n == 2).map_or(&[], |(_, v)| v.bytes()),
            _ => {}
        }
    }
    plane.stat_names.insert(key, name);
}
