//! What the events that matter leave in the records.

use super::line::{Build, LineState};
use super::names::Class;
use super::recorder::{Call, LONG_BUILD_PS, MOST_FLOWS, Recorder};
use super::records::{
    AllocatorEvent, Context, Growth, LongBuild, RawExecution, RawPlace, RawRetry, UNKNOWN, flag,
};
use super::tables::{NONE, StatKind};
use crate::bytes::wire::Padded;
use crate::capture::{StatValue, Stats};
use crate::plain::cut;
use crate::terms::Backend;

/// After a wait the allocation that it was for follows at once (1 ms).
const AFTER_RETRY_PS: i64 = 1_000_000_000;
/// `kMaxMillisToWait` of allocator_retry.cc is 10 s: what waited in vain lasts a little longer.
pub(super) const WAITED_IN_VAIN_PS: i64 = 9_990_000_000_000;
/// An operation that ends this much later did something else too.
const WAITED_AT_MOST_PS: i64 = 10_600_000_000_000;

/// An event that means something, with its times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meaning {
    pub(super) class: Class,
    pub(super) argument: u32,
    pub(super) at: i64,
    pub(super) end: i64,
}

impl Recorder {
    /// Records an event that means something.
    pub(super) fn meaningful(&mut self, line: &mut LineState, event: Meaning, stats: Padded<'_>) {
        let Meaning { class, argument, at, end, .. } = event;
        match class {
            Class::Allocation | Class::Deallocation => {
                self.allocator_event(line, class == Class::Deallocation, at, stats);
            }
            Class::Execution => self.execution(line, at, end, stats),
            Class::Call => self.call(line, event, stats),
            Class::Enqueue => {
                let named = flag::NAMED_BY_LAUNCH | flag::NAMED_BY_CALL | flag::NAMED_BY_JIT;
                if let Some(e) = self.open_execution(line, at)
                    && self.executions.get(e as usize).is_some_and(|e| e.flags & named == 0)
                    && let Some(flow) = self.stat(line, stats, StatKind::Consumes)
                {
                    self.enqueued.push((e, flow));
                }
            }
            Class::Body if self.open_execution(line, at).is_none() => {
                let e = self.fragment(line, at, end);
                self.tie(line, e, stats);
            }
            Class::InFlight => {
                if let Some(e) = self.open_execution(line, at)
                    && let Some(e) = self.executions.get_mut(e as usize)
                    && argument != NONE
                {
                    e.in_flight = argument.min(u32::from(u16::MAX - 1)) as u16;
                }
            }
            Class::Build => {
                let e = match self.open_execution(line, at) {
                    Some(e) => e,
                    None => self.fragment(line, at, end),
                };
                if let Some(e) = self.executions.get_mut(e as usize) {
                    e.flags |= flag::BUILD;
                }
                line.build = Some(Build { execution: e, start: at, end, last: at, gap: (at, at) });
            }
            Class::Launch => self.launch(line, event),
            Class::Returned => {
                if let Some(e) = self.open_execution(line, at)
                    && let Some(e) = self.executions.get_mut(e as usize)
                {
                    e.flags |= flag::LAUNCHED;
                }
            }
            Class::Retry => {
                line.retry = Some(self.retries.len());
                let execution = self.open_execution(line, at).unwrap_or(NONE);
                self.retries.push(RawRetry { start: at, end, execution, got: None });
                if let Some(build) = &mut line.build {
                    build.last = end;
                }
            }
            Class::PoolGrowth => {
                line.growth = Some(at);
                if let Some(build) = &mut line.build {
                    build.last = end;
                }
            }
            Class::OpRun if (WAITED_IN_VAIN_PS..WAITED_AT_MOST_PS).contains(&end.saturating_sub(at)) => {
                self.op_waits.push((at, end));
            }
            Class::Record => {
                if self.backend == Some(Backend::Cpu)
                    && let Some(e) = self.open_execution(line, at)
                {
                    if let Some(e) = self.executions.get_mut(e as usize) {
                        e.flags |= flag::WORK;
                    }
                    if line.flows_left > 0
                        && let Some(flow) = self.stat(line, stats, StatKind::Produces)
                    {
                        line.flows_left -= 1;
                        self.work.push((flow, e));
                    }
                }
            }
            Class::StartRegion if self.backend == Some(Backend::Cpu) => {
                line.region = self.stat(line, stats, StatKind::Consumes);
            }
            _ => {}
        }
    }

    /// The execution that is open on this line.
    pub(super) fn open_execution(&self, line: &LineState, at: i64) -> Option<u32> {
        let e = self.executions.get(line.execution as usize)?;
        // Spans of one thread can overlap without nesting: what is over is not open, wherever it stands.
        (e.end > at).then_some(line.execution)
    }

    fn execution(&mut self, line: &mut LineState, at: i64, end: i64, stats: Padded<'_>) {
        let mut e = RawExecution::new(at, end, line.number);
        if self.backend == Some(Backend::Cpu) {
            e.flags |= flag::HOST;
        }
        (e.module, e.flags) = match self.called(line) {
            (module, named_by) => (module, e.flags | named_by),
        };
        e.place = self.place(line, NONE);
        let number = self.executions.len() as u32;
        self.executions.push(e);
        line.execution = number;
        line.fragment = NONE;
        line.flows_left = MOST_FLOWS;
        if line.call.take().is_some_and(|(i, end)| i + 1 == self.calls.len() && end > at) {
            // The call is on this line, which the stack tells: its flow id is not needed.
            self.calls.pop();
        }
        self.tie(line, number, stats);
    }

    /// A part of an execution that stands alone on its line.
    fn fragment(&mut self, line: &mut LineState, at: i64, end: i64) -> u32 {
        let mut e = RawExecution::new(at, end, line.number);
        e.flags = flag::FRAGMENT;
        e.place = self.place(line, NONE);
        let number = self.executions.len() as u32;
        self.executions.push(e);
        line.execution = number;
        line.fragment = number;
        number
    }

    /// Keeps the launch id that ties an execution to its parts on other threads (TFRT's GPU client).
    fn tie(&mut self, line: &LineState, execution: u32, stats: Padded<'_>) {
        if stats.is_empty() {
            return;
        }
        if let Some(launch) = self.stat(line, stats, StatKind::LaunchId) {
            let device = self.stat(line, stats, StatKind::DeviceId).unwrap_or(0);
            self.launch_ids.push(((launch, device), execution));
        }
    }

    /// The module of the innermost call that is open, and how its name is known.
    fn called(&self, line: &LineState) -> (u32, u16) {
        let Some(tables) = self.tables_of(line) else { return (NONE, 0) };
        let mut jit = NONE;
        for open in line.stack.iter() {
            match open.class {
                Class::Call => {
                    let module = tables.events.get(open.id).argument;
                    if module != NONE {
                        return (module, flag::NAMED_BY_CALL);
                    }
                }
                Class::Jit if jit == NONE => jit = tables.events.get(open.id).argument,
                _ => {}
            }
        }
        (jit, if jit == NONE { 0 } else { flag::NAMED_BY_JIT })
    }

    fn call(&mut self, line: &mut LineState, event: Meaning, stats: Padded<'_>) {
        if stats.is_empty() {
            return;
        }
        let Some(flow) = self.stat(line, stats, StatKind::Produces) else { return };
        let (module, named_by) = match event.argument {
            NONE => self.called(line),
            module => (module, flag::NAMED_BY_CALL),
        };
        let place = self.place(line, NONE);
        line.call = Some((self.calls.len(), event.end));
        self.calls.push(Call { flow, module, named_by, place });
    }

    fn launch(&mut self, line: &mut LineState, event: Meaning) {
        let Meaning { argument: module, at, end, .. } = event;
        let open = self.open_execution(line, at);
        let e = match open {
            Some(e) => e,
            // A TPU's launches name no module: alone they say nothing.
            None if module == NONE => return,
            None => {
                // After `Build buffer allocations` without a parent comes its launch.
                let waiting = self
                    .executions
                    .get(line.fragment as usize)
                    .is_some_and(|f| f.flags & flag::LAUNCHED == 0 && f.end <= at);
                if waiting { line.fragment } else { self.fragment(line, at, end) }
            }
        };
        line.execution = e;
        let Some(e) = self.executions.get_mut(e as usize) else { return };
        if e.flags & flag::FRAGMENT != 0 {
            e.end = e.end.max(end);
        }
        e.flags |= flag::LAUNCHED;
        if module != NONE {
            e.module = module;
            e.flags |= flag::NAMED_BY_LAUNCH;
        }
    }

    pub(super) fn end_build(&mut self, line: &mut LineState) {
        let Some(build) = line.build.take() else { return };
        if build.end.saturating_sub(build.start) >= LONG_BUILD_PS {
            self.builds.push(LongBuild {
                execution: build.execution,
                end: build.end,
                last: build.last,
                gap: build.gap,
            });
        }
    }

    fn allocator_event(&mut self, line: &mut LineState, free: bool, at: i64, stats: Padded<'_>) {
        let Some(tables) = self.tables_of(line) else { return };
        let mut event = AllocatorEvent {
            at,
            in_use: 0,
            requested: UNKNOWN,
            allocated: UNKNOWN,
            address: 0,
            fragmentation: -1.0,
            context: Context::NOWHERE,
        };
        let (mut reserved, mut available, mut peak) = (None, None, None);
        let mut allocated = None;
        let mut shape = NONE;
        let mut name = Name::Missing;
        let mut shape_ref = None;
        for stat in Stats::new(stats) {
            let value = stat.value.as_u64();
            match tables.stats.get(stat.metadata_id) {
                StatKind::AllocatorName => {
                    name = match stat.value {
                        StatValue::Ref(id) => Name::Ref(id),
                        StatValue::Str(text) => Name::Text(text),
                        _ => Name::Missing,
                    };
                }
                StatKind::IndexOnHost => name = value.map_or(Name::Missing, Name::OnHost),
                StatKind::Reserved => reserved = value,
                StatKind::Allocated => allocated = value,
                StatKind::Available => available = value,
                StatKind::Fragmentation => {
                    event.fragmentation = stat.value.as_f64().map_or(-1.0, |f| f as f32);
                }
                StatKind::LifetimePeak => peak = value,
                StatKind::Requested => event.requested = value.unwrap_or(UNKNOWN),
                StatKind::ChunkBytes => event.allocated = value.unwrap_or(UNKNOWN),
                StatKind::Address => event.address = stat.value.as_i64().map_or(0, |a| a as u64),
                StatKind::Shape => {
                    if let StatValue::Ref(id) = stat.value {
                        shape_ref = Some(id);
                    }
                }
                _ => {}
            }
        }
        let Some(in_use) = allocated else { return };
        event.in_use = in_use;
        let Some(allocator) = self.allocator(line.plane(), name) else { return };
        if let Some(id) = shape_ref {
            shape = self.names.number((line.plane() as u32, id as i64, true));
        }
        let build = line.build.filter(|b| b.end >= at);
        event.context = match self.open_execution(line, at) {
            Some(e) => Context::in_execution(e, build.is_some()),
            None => Context::at_place(self.place(line, shape)),
        };
        if free {
            event.context = event.context.freeing();
        }
        let Some(record) = self.allocators.get_mut(usize::from(allocator)) else { return };
        let number = record.events.len() as u32;
        record.events.push(event);
        record.note(at, in_use, available, reserved, peak);
        if free {
            return;
        }
        if let Some(build) = &mut line.build {
            if at.saturating_sub(build.last) > build.gap.1.saturating_sub(build.gap.0) {
                build.gap = (build.last, at);
            }
            build.last = at;
        }
        if let Some(i) = line.retry.take()
            && let Some(retry) = self.retries.get_mut(i)
            && at <= retry.end.saturating_add(AFTER_RETRY_PS)
        {
            retry.got = Some((allocator, number));
        }
        if let Some(at) = line.growth.take() {
            self.growths.push(Growth { at, allocator });
        }
    }

    /// The number of an allocator.
    fn allocator(&mut self, plane: usize, name: Name<'_>) -> Option<u16> {
        let key = match name {
            Name::Missing => return None,
            Name::Ref(id) => Some((plane, id << 1)),
            Name::OnHost(i) => Some((usize::MAX, i << 1 | 1)),
            Name::Text(_) => None,
        };
        if let Some(i) = key.and_then(|key| self.allocator_keys.get(&key)) {
            return Some(*i);
        }
        let (name, named_by) = match name {
            // The name of a reference is resolved when the index is at hand again.
            Name::Ref(id) => (String::new(), Some((plane, id))),
            Name::OnHost(i) => (format!("index_on_host {i}"), None),
            Name::Text(text) => {
                let name = cut(&String::from_utf8_lossy(text));
                if let Some(i) = self.allocator_names.get(&name) {
                    return Some(*i);
                }
                (name, None)
            }
            Name::Missing => return None,
        };
        let i = self.new_allocator(name, named_by)?;
        if let Some(key) = key {
            self.allocator_keys.insert(key, i);
        }
        Some(i)
    }

    /// Where in the host program the line is now.
    fn place(&mut self, line: &LineState, shape: u32) -> u32 {
        let (mut frame, mut inner) = (None, None);
        let (mut telling, mut nearest) = (None, None);
        for open in line.stack_from_inside() {
            match open.class {
                Class::Python => frame = frame.or(Some(open.id)),
                Class::PythonOfJax => {}
                Class::Transfer | Class::Compile | Class::Autotune | Class::Outputs => {
                    telling = telling.or(Some((open.id, open.class)));
                }
                Class::Plumbing | Class::Retry | Class::PoolGrowth => {}
                class => nearest = nearest.or(Some((open.id, class))),
            }
            if inner.is_none() && matches!(open.class, Class::Python | Class::PythonOfJax) {
                inner = Some(open.id);
            }
        }
        let plane = line.plane() as u32;
        let mut name = |id: Option<i64>| id.map_or(NONE, |id| self.names.number((plane, id, false)));
        let event = telling.or(nearest);
        let place = RawPlace {
            event: name(event.map(|e| e.0)),
            class: event.map_or(Class::Other, |e| e.1),
            frame: name(frame),
            inner: name(inner),
            shape,
        };
        self.places.number(place)
    }
}

/// How an event names its allocator.
#[derive(Debug, Clone, Copy)]
enum Name<'a> {
    Missing,
    Ref(u64),
    Text(&'a [u8]),
    OnHost(u64),
}
