//! Lines read a second time: those out of order, sorted; and the first event of those that are not recorded.

use super::names::Class;
use super::recorder::Recorder;
use crate::bytes::Source;
use crate::bytes::wire::Padded;
use crate::capture::{Event, Index, LineAt, Sink, read_lines};
use crate::terms::Warning;

/// Events of a line sorted at once, frames of Python among them.
const MOST_WITH_PYTHON: usize = 1 << 20;
/// Events of a line sorted at once.
const MOST: usize = 1 << 22;
/// Bytes of a line's beginning that hold its first event.
const FIRST_EVENT: u64 = 4096;

/// Events of one line, to be sorted.
#[derive(Debug, Default)]
struct Collector<'a> {
    classes: Option<&'a super::tables::PlaneTables>,
    /// Start, negated length, id, and where its stats lie in `stats`.
    events: Vec<(i64, i64, i64, (usize, usize))>,
    stats: Vec<u8>,
    python: bool,
    dropped: u64,
}

impl Sink for Collector<'_> {
    fn line(&mut self, _: LineAt<'_>) -> bool {
        true
    }

    fn event(&mut self, event: &Event<'_>) {
        let Some(offset) = event.offset_ps else { return };
        let class = self.classes.map_or(Class::Other, |t| t.events.get(event.metadata_id).class);
        let of_python = matches!(class, Class::Python | Class::PythonOfJax);
        if (of_python && !self.python) || (class == Class::Other && !event.has_stats()) {
            return;
        }
        if self.events.len() >= MOST_WITH_PYTHON && self.python {
            self.python = false;
            if let Some(tables) = self.classes {
                self.events
                    .retain(|e| !matches!(tables.events.get(e.2).class, Class::Python | Class::PythonOfJax));
            }
        }
        if self.events.len() >= MOST {
            self.dropped += 1;
            return;
        }
        let from = self.stats.len();
        self.stats.extend_from_slice(event.stats_bytes().whole());
        self.events.push((
            offset,
            event.duration_ps.saturating_neg(),
            event.metadata_id,
            (from, self.stats.len()),
        ));
    }

    fn end_line(&mut self, _: bool) {}
}

/// Reads the lines that were out of order again and records them sorted.
pub(super) fn read_unsorted(recorder: &mut Recorder, index: &Index, source: &impl Source) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (p, l) in std::mem::take(&mut recorder.unsorted) {
        let Some(plane) = index.planes.get(p) else { continue };
        let Some(line) = plane.lines.get(l) else { continue };
        let part = vec![(p as u32, l as u32, line.events.clone())];
        let mut collector = Collector {
            classes: recorder.tables.get(p).and_then(Option::as_ref),
            python: true,
            ..Collector::default()
        };
        let read = read_lines(source, index, part, &mut collector);
        let Collector { mut events, stats, dropped, .. } = collector;
        if let Err(e) = read {
            warnings.push(Warning::at("read-failed", e.offset, e.to_string()));
        }
        events.sort();
        if dropped > 0 {
            warnings.push(Warning::at(
                "line-too-long",
                line.events.start,
                format!(
                    "the line `{}` is out of order and too long to sort: {dropped} events are left out",
                    line.name
                ),
            ));
        }
        recorder.open(LineAt { plane, plane_index: p, line, line_index: l });
        for (offset, length, id, (from, to)) in events {
            let stats = Padded::new(stats.get(from..to).unwrap_or_default());
            recorder.take(id, offset, length.saturating_neg(), stats);
        }
        recorder.end_line_state();
    }
    warnings
}

/// Takes the first event with a time.
#[derive(Debug, Default)]
struct First {
    base_ns: i64,
    origin: i64,
    first: Option<i64>,
    found: bool,
}

impl Sink for First {
    fn line(&mut self, at: LineAt<'_>) -> bool {
        let ns = i128::from(at.line.timestamp_ns) - i128::from(self.base_ns);
        self.origin = (ns * 1000).clamp(i128::from(i64::MIN / 2), i128::from(i64::MAX / 2)) as i64;
        self.found = false;
        true
    }

    fn event(&mut self, event: &Event<'_>) {
        if self.found {
            return;
        }
        if let Some(offset) = event.offset_ps {
            self.found = true;
            let at = self.origin.saturating_add(offset);
            self.first = Some(self.first.map_or(at, |f| f.min(at)));
        }
    }

    fn end_line(&mut self, _: bool) {}
}

/// Looks at the first event of every line that is not recorded: the capture's time begins with the first of all.
pub(super) fn first_events(recorder: &mut Recorder, index: &Index, source: &impl Source) {
    let mut parts = Vec::new();
    for (p, plane) in index.planes.iter().enumerate() {
        for (l, line) in plane.lines.iter().enumerate().filter(|(_, line)| !Recorder::wants(plane, line)) {
            let start = line.events.start;
            parts.push((p as u32, l as u32, start..line.events.end.min(start.saturating_add(FIRST_EVENT))));
        }
    }
    let mut first = First { base_ns: index.base_ns(), ..First::default() };
    // A medium that fails has failed before, and was reported then.
    let _ = read_lines(source, index, parts, &mut first);
    if let Some(at) = first.first
        && recorder.first.is_none_or(|f| at < f)
    {
        recorder.first = Some(at);
    }
}
