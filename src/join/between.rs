//! What the host did between the last two executions.

use super::Joined;
use crate::arrange::Arrange;
use crate::bytes::Source;
use crate::capture::{Checkpoint, Event, Index, Line, LineAt, Plane, Sink, read_lines};
use crate::run::Run;
use crate::run::names::{Class, classify};
use std::collections::HashMap;
use std::ops::Range;

/// Names kept.
const MOST_NAMES: usize = 1 << 16;

/// Host events of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostTime {
    /// The event's name.
    pub name: String,
    /// Whether the Python tracer wrote it.
    pub python: bool,
    /// How many.
    pub count: u64,
    /// Their time within the window together, in picoseconds.
    pub duration: i64,
}

/// The time between the last execution of a module and the execution before it on the same device: from the end of
/// the one to the start of the other. `None` where there is no such time.
#[must_use]
pub fn window(run: &Run, joined: &Joined, module: Option<usize>) -> Option<Range<i64>> {
    let last = joined.last_of(run, module)?;
    let to = run.execution(last)?;
    let here = (to.device(), to.allocator());
    let before = (0..last).rev().find_map(|i| {
        let e = run.execution(i)?;
        ((e.device(), e.allocator()) == here).then_some(e)
    })?;
    (before.end() < to.start()).then(|| before.end()..to.start())
}

/// Host events that start within a window, Python ones first, by their time together. `checkpoints` are those of pass
/// 2: only the parts of lines within the window are read.
#[must_use]
pub fn between(
    run: &Run,
    index: &Index,
    source: &impl Source,
    checkpoints: &[Checkpoint],
    window: Range<i64>,
) -> Vec<HostTime> {
    let mut by_line: HashMap<(u32, u32), Vec<Checkpoint>> = HashMap::new();
    for c in checkpoints {
        by_line.entry((c.plane, c.line)).or_default().push(*c);
    }
    // Looked for among all lines: once, not for each of them.
    let base_ns = index.base_ns();
    let mut parts = Vec::new();
    for (p, plane) in index.planes.iter().enumerate() {
        for (l, line) in plane.lines.iter().enumerate() {
            if !of_host(plane, line) {
                continue;
            }
            let line_at = (p as u32, l as u32);
            let origin = line_origin(run, base_ns, line);
            let points = by_line.get(&line_at).map_or(&[][..], Vec::as_slice);
            let at = |c: &Checkpoint| origin.saturating_add(c.offset_ps);
            let first = points.iter().rev().find(|c| at(c) <= window.start);
            let end = points.iter().find(|c| at(c) > window.end);
            let from = first.or(points.first()).map_or(line.events.start, |c| c.at);
            let to = end.map_or(line.events.end, |c| c.at);
            if from < to {
                parts.push((line_at.0, line_at.1, from..to));
            }
        }
    }
    let mut sink = Times::new(run, base_ns, window);
    // A medium that fails here has failed before, and was reported then.
    let _ = read_lines(source, index, parts, &mut sink);
    sink.times(index)
}

fn of_host(plane: &Plane, line: &Line) -> bool {
    plane.name == "/host:CPU" && !line.name.starts_with("Host Threads/")
}

/// The moment from which a line's offsets count.
fn line_origin(run: &Run, base_ns: i64, line: &Line) -> i64 {
    let ns = i128::from(line.timestamp_ns) - i128::from(base_ns);
    (ns * 1000 - i128::from(run.origin)).clamp(i128::from(i64::MIN / 2), i128::from(i64::MAX / 2)) as i64
}

struct Times<'a> {
    run: &'a Run,
    base_ns: i64,
    window: Range<i64>,
    plane: u32,
    origin: i64,
    found: HashMap<(u32, i64), (u64, i64)>,
}

impl<'a> Times<'a> {
    fn new(run: &'a Run, base_ns: i64, window: Range<i64>) -> Times<'a> {
        Times { run, base_ns, window, plane: 0, origin: 0, found: HashMap::new() }
    }

    fn times(self, index: &Index) -> Vec<HostTime> {
        // Threads of one name in several planes are one.
        let mut by_name: HashMap<&str, HostTime> = HashMap::new();
        for ((plane, id), (count, duration)) in self.found {
            let Some(name) = index.planes.get(plane as usize).and_then(|p| p.event_names.get(id)) else {
                continue;
            };
            let class = classify(name).class;
            let machinery =
                matches!(class, Class::Allocation | Class::Deallocation | Class::Record | Class::StartRegion);
            if machinery || name == "ThreadpoolListener::StopRegion" || name.starts_with("end: ") {
                continue;
            }
            let python = matches!(class, Class::Python | Class::PythonOfJax);
            let one = by_name.entry(name).or_insert_with(|| HostTime {
                name: name.to_owned(),
                python,
                count: 0,
                duration: 0,
            });
            one.count += count;
            one.duration = one.duration.saturating_add(duration);
        }
        let mut all: Vec<HostTime> = by_name.into_values().collect();
        all.arrange_by(|a, b| {
            (b.python, b.duration, b.count)
                .cmp(&(a.python, a.duration, a.count))
                .then_with(|| a.name.cmp(&b.name))
        });
        all
    }
}

impl Sink for Times<'_> {
    fn line(&mut self, at: LineAt<'_>) -> bool {
        self.plane = at.plane_index as u32;
        self.origin = line_origin(self.run, self.base_ns, at.line);
        true
    }

    fn event(&mut self, event: &Event<'_>) {
        let Some(offset) = event.offset_ps else { return };
        let at = self.origin.saturating_add(offset);
        if !self.window.contains(&at) {
            return;
        }
        let key = (self.plane, event.metadata_id);
        if self.found.len() >= MOST_NAMES && !self.found.contains_key(&key) {
            return;
        }
        let duration = event.duration_ps.clamp(0, self.window.end.saturating_sub(at));
        let one = self.found.entry(key).or_insert((0, 0));
        one.0 += 1;
        one.1 = one.1.saturating_add(duration);
    }

    fn end_line(&mut self, _: bool) {}
}
