//! Pass 2: events become compact records, line by line.

use super::chunked::Chunked;
use super::intern::Interner;
use super::kernels::Ids;
use super::labels::Labels;
use super::line::{Kind, LineMark, LineState, Open, Part, part};
use super::meaning::Meaning;
use super::names::Class;
use super::records::{AllocatorEvent, DeviceCopies, Growth, LongBuild, RawExecution, RawPlace, RawRetry};
use super::tables::{NONE, PlaneTables};
use crate::bytes::wire::Padded;
use crate::capture::{Event, Index, Line, LineAt, Plane, Sink};
use crate::terms::Backend;
use std::collections::HashMap;
use std::sync::Arc;

/// A `Build buffer allocations` shorter than this holds no wait worth a look (10 ms).
pub(super) const LONG_BUILD_PS: i64 = 10_000_000_000;
/// Flow ids kept of one execution on a CPU.
pub(super) const MOST_FLOWS: u32 = 8;
/// Allocators kept: a host has some for each of its devices.
const MOST_ALLOCATORS: u16 = 4096;
/// Depth of a line's stack: deeper nesting (recursive Python has a limit of its own) keeps its outer frames.
const DEEPEST: usize = 20_000;

/// One allocator while recording.
#[derive(Debug, Default)]
pub(super) struct AllocatorRecord {
    pub(super) name: String,
    pub(super) events: Chunked<AllocatorEvent>,
    /// In use + available + reserved, least and most.
    pub(super) capacity: Option<(u64, u64)>,
    pub(super) lifetime_peak: Option<u64>,
    /// The stat `bytes_reserved` of each event, in the order of recording; empty while all are 0.
    pub(super) reserved: Vec<(i64, u64)>,
    /// Where its name stands: plane and stat metadata id.
    pub(super) named_by: Option<(usize, u64)>,
}

impl AllocatorRecord {
    /// Gives every event so far its bytes reserved: 0, where none were noted.
    pub(super) fn reserve_from_here(&mut self) {
        let without = self.events.iter().skip(self.reserved.len()).map(|e| (e.at, 0));
        self.reserved.extend(without);
    }

    /// Notes what the event recorded last says besides its own bytes.
    pub(super) fn note(
        &mut self,
        at: i64,
        in_use: u64,
        available: Option<u64>,
        reserved: Option<u64>,
        peak: Option<u64>,
    ) {
        let reserved = reserved.unwrap_or(0);
        if let Some(available) = available {
            let capacity = in_use.saturating_add(available).saturating_add(reserved);
            let (least, most) = self.capacity.unwrap_or((capacity, capacity));
            self.capacity = Some((least.min(capacity), most.max(capacity)));
        }
        if reserved != 0 || !self.reserved.is_empty() {
            self.reserve_from_here();
            if let Some(last) = self.reserved.last_mut() {
                *last = (at, reserved);
            }
        }
        if let Some(peak) = peak {
            self.lifetime_peak = Some(self.lifetime_peak.map_or(peak, |p| p.max(peak)));
        }
    }
}

/// A device's kernels while recording.
#[derive(Debug, Default)]
pub(super) struct DeviceRecord {
    pub(super) ordinal: u32,
    pub(super) kernels: Ids,
    /// Whether any of them has a label.
    pub(super) labelled: bool,
}

/// A call of an executable on the dispatching thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) flow: u64,
    pub(super) module: u32,
    pub(super) named_by: u16,
    pub(super) place: u32,
}

/// Takes the events of pass 2; give it to [`crate::capture::Stream::feed`], then to [`super::Run::build`].
#[derive(Debug)]
pub struct Recorder {
    base_ns: i64,
    pub(super) backend: Option<Backend>,
    pub(super) tables: Arc<[Option<PlaneTables>]>,
    lines_before: Vec<u32>,
    state: Option<Box<LineState>>,
    pub(super) labels: Interner<String>,
    /// Program ids with the number of the module's name.
    pub(super) programs: Interner<(i64, u32)>,
    /// The last label met: plane, program id, reference of the module's name, number.
    pub(super) last_program: Option<(usize, i64, u64, u32)>,
    /// Kernels met before.
    pub(super) known: Labels,
    /// (plane, id, whether the name is a stat's).
    pub(super) names: Interner<(u32, i64, bool)>,
    pub(super) places: Interner<RawPlace>,
    pub(super) allocators: Vec<AllocatorRecord>,
    /// Allocators by (plane, reference or index) of their names.
    pub(super) allocator_keys: HashMap<(usize, u64), u16>,
    /// Allocators by names that stand in their events.
    pub(super) allocator_names: HashMap<String, u16>,
    pub(super) executions: Chunked<RawExecution>,
    pub(super) retries: Vec<RawRetry>,
    pub(super) builds: Vec<LongBuild>,
    pub(super) growths: Vec<Growth>,
    pub(super) calls: Vec<Call>,
    /// Executions with the flow id of their call.
    pub(super) enqueued: Vec<(u32, u64)>,
    /// Executions and parts of them with the launch id and device that tie them.
    pub(super) launch_ids: Vec<((u64, u64), u32)>,
    /// Flow ids of work that executions on a CPU handed out.
    pub(super) work: Vec<(u64, u32)>,
    /// Programs met in regions that took such work up.
    pub(super) regions: Vec<(u64, u32)>,
    /// Launches inside an execution; the tag is the execution.
    pub(super) launches: Ids,
    /// The same, with a label of their own.
    pub(super) labelled: Ids,
    /// Launches on lines of their own; the tag is the program.
    pub(super) far: Ids,
    pub(super) devices: Vec<DeviceRecord>,
    /// Runs of a program on a TPU's cores.
    pub(super) device_runs: HashMap<u32, u64>,
    /// By execution; one that goes on after another inside it has several.
    pub(super) copies: Vec<(u32, DeviceCopies)>,
    /// Waits of 10 s of TensorFlow's eager runtime.
    pub(super) op_waits: Vec<(i64, i64)>,
    /// Lines out of order: (plane, line).
    pub(super) unsorted: Vec<(usize, usize)>,
    /// Whether any thread of the host has events.
    pub(super) host_events: bool,
    pub(super) first: Option<i64>,
}

impl Recorder {
    /// A recorder for the capture of `index`.
    #[must_use]
    pub fn new(index: &Index) -> Recorder {
        let mut labels = Interner::default();
        let of_plane = |plane: &Plane| {
            let read = plane.lines.iter().any(|line| part(plane, line).is_some());
            read.then(|| PlaneTables::new(plane, |name| labels.number(name.to_owned())))
        };
        let tables: Vec<_> = index.planes.iter().map(of_plane).collect();
        let mut recorder = Recorder::over(index, tables.into());
        recorder.labels = labels;
        recorder
    }

    /// A recorder with tables that are made already.
    pub(super) fn over(index: &Index, tables: Arc<[Option<PlaneTables>]>) -> Recorder {
        let mut lines_before = Vec::new();
        let mut lines = 0;
        for plane in &index.planes {
            lines_before.push(lines);
            lines += plane.lines.len() as u32;
        }
        Recorder {
            base_ns: index.base_ns(),
            backend: crate::capture::modules::backend(index),
            tables,
            lines_before,
            state: None,
            labels: Interner::default(),
            programs: Interner::default(),
            last_program: None,
            known: Labels::default(),
            names: Interner::default(),
            places: Interner::default(),
            allocators: Vec::new(),
            allocator_keys: HashMap::new(),
            allocator_names: HashMap::new(),
            executions: Chunked::default(),
            retries: Vec::new(),
            builds: Vec::new(),
            growths: Vec::new(),
            calls: Vec::new(),
            enqueued: Vec::new(),
            launch_ids: Vec::new(),
            work: Vec::new(),
            regions: Vec::new(),
            launches: Ids::default(),
            labelled: Ids::default(),
            far: Ids::default(),
            devices: Vec::new(),
            device_runs: HashMap::new(),
            copies: Vec::new(),
            op_waits: Vec::new(),
            unsorted: Vec::new(),
            host_events: false,
            first: None,
        }
    }

    /// Whether the events of this line say anything about the run.
    #[must_use]
    pub fn wants(plane: &Plane, line: &Line) -> bool {
        part(plane, line).is_some()
    }

    /// Opens a line.
    pub(super) fn open(&mut self, at: LineAt<'_>) -> bool {
        let Some(kind) = part(at.plane, at.line) else { return false };
        let part = match kind {
            Kind::Host => Part::Host,
            Kind::Launches => Part::Launches,
            Kind::Modules => Part::Modules,
            Kind::Device => {
                let ordinal = at.plane.ordinal("/device:GPU:").unwrap_or(0);
                let i = self.device(ordinal);
                Part::Device(i.min(usize::from(u16::MAX)) as u16)
            }
        };
        let base_ns = i128::from(at.line.timestamp_ns) - i128::from(self.base_ns);
        let mark = LineMark {
            executions: self.executions.len(),
            allocators: self.allocators.iter().map(|a| a.events.len()).collect(),
            retries: self.retries.len(),
            builds: self.builds.len(),
            growths: self.growths.len(),
            calls: self.calls.len(),
            enqueued: self.enqueued.len(),
            launch_ids: self.launch_ids.len(),
            op_waits: self.op_waits.len(),
            copies: self.copies.len(),
            work: self.work.len(),
            regions: self.regions.len(),
            launches: self.launches.mark(),
            labelled: self.labelled.mark(),
        };
        let mut stack = self.state.take().map(|s| s.stack).unwrap_or_default();
        stack.clear();
        self.state = Some(Box::new(LineState {
            part,
            plane: at.plane_index,
            line: at.line_index,
            number: self.lines_before.get(at.plane_index).map_or(0, |n| n + at.line_index as u32),
            base: (base_ns * 1000).clamp(i128::from(i64::MIN / 2), i128::from(i64::MAX / 2)) as i64,
            last: i64::MIN,
            sorted: true,
            stack,
            execution: NONE,
            fragment: NONE,
            call: None,
            build: None,
            retry: None,
            growth: None,
            region: None,
            flows_left: 0,
            mark,
        }));
        true
    }

    /// Takes an event whose stats are `stats`.
    #[inline(always)]
    pub(super) fn take(&mut self, id: i64, offset: i64, duration: i64, stats: Padded<'_>) {
        // The state moves out while the records are written, and back.
        let Some(mut line) = self.state.take() else { return };
        if line.sorted {
            self.take_in(&mut line, id, offset, duration, stats);
        }
        // It is empty: to let go of nothing is a call, too.
        std::mem::forget(self.state.replace(line));
    }

    #[inline(always)]
    fn take_in(&mut self, line: &mut LineState, id: i64, offset: i64, duration: i64, stats: Padded<'_>) {
        let at = line.base.saturating_add(offset);
        if line.part != Part::Host {
            return self.take_apart(line, id, at, stats);
        }
        if at < line.last {
            return self.roll_back(line);
        }
        if line.last == i64::MIN {
            self.host_events = true;
            self.note_first(at);
        }
        line.last = at;
        while let Some(&top) = line.stack.last()
            && top.end <= at
        {
            line.stack.pop();
            line.execution = top.outer;
            if top.class == Class::Build {
                self.end_build(line);
            }
        }
        let Some(tables) = self.tables.get(line.plane).and_then(Option::as_ref) else { return };
        let entry = tables.events.get(id);
        let outer = line.execution;
        let end = at.saturating_add(duration.max(0));
        match entry.class {
            Class::Python | Class::PythonOfJax => {}
            Class::Other => {
                if !stats.is_empty() && (outer != NONE || line.region.is_some()) {
                    self.labelled_event(line, at, stats);
                }
            }
            class => self.meaningful(line, Meaning { class, argument: entry.argument, at, end }, stats),
        }
        if end > at && line.stack.len() < DEEPEST {
            line.stack.push(Open { end, id, class: entry.class, outer });
        } else {
            line.execution = outer;
        }
    }

    /// An event of a line whose order does not matter.
    fn take_apart(&mut self, line: &LineState, id: i64, at: i64, stats: Padded<'_>) {
        self.note_first(at);
        match line.part {
            Part::Host => {}
            Part::Device(device) => self.kernel(line, device, id, stats),
            Part::Launches => self.far_launch(line, at, stats),
            Part::Modules => {
                let name = self.names.number((line.plane as u32, id, false));
                *self.device_runs.entry(name).or_insert(0) += 1;
            }
        }
    }

    /// Begins the record of another allocator; `None` where there are too many.
    pub(super) fn new_allocator(&mut self, name: String, named_by: Option<(usize, u64)>) -> Option<u16> {
        let i = u16::try_from(self.allocators.len()).ok().filter(|i| *i < MOST_ALLOCATORS)?;
        if !name.is_empty() {
            self.allocator_names.insert(name.clone(), i);
        }
        self.allocators.push(AllocatorRecord { name, named_by, ..AllocatorRecord::default() });
        Some(i)
    }

    fn note_first(&mut self, at: i64) {
        if self.first.is_none_or(|first| at < first) {
            self.first = Some(at);
        }
    }

    /// Forgets what this line gave: it is out of order and will be read again, sorted.
    fn roll_back(&mut self, line: &mut LineState) {
        line.sorted = false;
        self.unsorted.push((line.plane, line.line));
        let mark = &line.mark;
        self.executions.truncate(mark.executions);
        for (i, allocator) in self.allocators.iter_mut().enumerate() {
            let len = mark.allocators.get(i).copied().unwrap_or(0);
            allocator.events.truncate(len);
            allocator.reserved.truncate(len);
        }
        self.retries.truncate(mark.retries);
        self.builds.truncate(mark.builds);
        self.growths.truncate(mark.growths);
        self.calls.truncate(mark.calls);
        self.enqueued.truncate(mark.enqueued);
        self.launch_ids.truncate(mark.launch_ids);
        self.work.truncate(mark.work);
        self.regions.truncate(mark.regions);
        self.op_waits.truncate(mark.op_waits);
        self.launches.back_to(mark.launches);
        self.labelled.back_to(mark.labelled);
        self.copies.truncate(mark.copies);
    }

    pub(super) fn end_line_state(&mut self) {
        if let Some(mut line) = self.state.take() {
            self.end_build(&mut line);
            // The stack's memory serves the next line.
            self.state = Some(line);
        }
    }
}

impl Sink for Recorder {
    fn line(&mut self, at: LineAt<'_>) -> bool {
        self.open(at)
    }

    #[inline(always)]
    fn event(&mut self, event: &Event<'_>) {
        // Aggregated events have no time.
        if let Some(offset) = event.offset_ps {
            self.take(event.metadata_id, offset, event.duration_ps, event.stats_bytes());
        }
    }

    fn end_line(&mut self, _complete: bool) {
        // A line that was cut off is a warning of the stream's.
        self.end_line_state();
    }
}
