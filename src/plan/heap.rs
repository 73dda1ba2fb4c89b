//! The heap simulation: what is live when, inside the temp blocks.
//!
//! The rules are those of XLA's `ComputePeakMemoryLogicalBuffers` (`xla/service/buffer_assignment.cc`): events in order;
//! buffers that share a place count once, from the first of them to the last; the peak is the earliest maximum.

use crate::arrange::Arrange;
use crate::hlo::{BufIx, HeapEvent, HeapEventKind, HeapTrace, Hlo};
use crate::terms::{BufferKind, Role};
use crate::units::{Bytes, Evidence};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A place in the temp blocks that is taken for a while: by one buffer, or by several that share it.
#[derive(Debug, Clone, Copy)]
pub struct Life {
    /// The buffer that took the place.
    pub buffer: BufIx,
    /// Position of the allocation in [`Hlo::allocations`].
    pub allocation: u32,
    /// First event after which it is live.
    pub first: u32,
    /// Last event after which it is live.
    pub last: u32,
    /// Its size.
    pub bytes: Bytes,
    /// The part of the step that it belongs to ([`super::Plan::build`] finds it).
    pub role: Role,
    /// `Read` where the defining instruction says the role.
    pub role_evidence: Evidence,
}

impl Life {
    fn new(buffer: BufIx, allocation: u32, bytes: Bytes, first: u64) -> Life {
        Life {
            buffer,
            allocation,
            first: narrow(first),
            last: u32::MAX,
            bytes,
            role: Role::Other,
            role_evidence: Evidence::Inferred,
        }
    }

    /// Whether it is live right after an event.
    #[must_use]
    pub fn covers(&self, event: u64) -> bool {
        (u64::from(self.first)..=u64::from(self.last)).contains(&event)
    }
}

/// The schedule of one memory space.
///
/// Nearly always one simulation of the whole module. Where XLA simulated computations one by one, their events follow each
/// other here, and while one runs the others count with their peaks: XLA keeps their blocks apart for just that case.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// The memory space.
    pub color: i64,
    /// Events.
    pub events: u64,
    /// The most bytes live at once.
    pub peak: Bytes,
    /// The first event after which that much is live.
    pub peak_event: u64,
    /// The instruction of that event.
    pub peak_instruction: Option<String>,
    /// The computation of `peak_instruction`.
    pub peak_computation: Option<String>,
    /// All lives, in order of their first event.
    pub lives: Vec<Life>,
    /// The simulations.
    pub(super) parts: Vec<Part>,
}

/// One simulation of a schedule.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Its first event in the schedule.
    pub start: u64,
    /// Its events.
    pub events: u64,
    /// The event of the schedule at which its own peak is.
    pub peak_event: u64,
    /// Its position in [`Hlo::heap_traces`].
    pub trace: usize,
    /// Its lives.
    pub lives: std::ops::Range<usize>,
}

impl Schedule {
    fn new(color: i64) -> Schedule {
        Schedule {
            color,
            events: 0,
            peak: Bytes::ZERO,
            peak_event: 0,
            peak_instruction: None,
            peak_computation: None,
            lives: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// The instruction of an event, where the plan names it.
    #[must_use]
    pub fn instruction_at<'a>(&self, hlo: &'a Hlo, event: u64) -> Option<&'a str> {
        let part = self.parts.iter().find(|p| (p.start..p.start + p.events).contains(&event))?;
        let events = hlo.heap_events(hlo.heap_traces().get(part.trace)?);
        let event = events.get(usize::try_from(event - part.start).ok()?)?;
        Some(hlo.heap_event_names(event).1).filter(|name| !name.is_empty())
    }

    /// What is live right after an event.
    pub fn live_at(&self, event: u64) -> impl Iterator<Item = &Life> {
        self.parts.iter().flat_map(move |part| {
            let inside = (part.start..part.start + part.events).contains(&event);
            let moment = if inside { event } else { part.peak_event };
            self.lives.get(part.lives.clone()).unwrap_or(&[]).iter().filter(move |l| l.covers(moment))
        })
    }
}

/// The schedule of every memory space that has temp blocks with heap traces, in order of their numbers.
pub(super) fn simulate(hlo: &Hlo) -> Vec<Schedule> {
    let buffers = hlo.buffers().count();
    let mut simulator = Simulator {
        hlo,
        group_of: vec![NONE; buffers],
        live_in: vec![NONE; buffers],
        groups: Vec::new(),
        births: 0,
        spaces: Vec::new(),
        spaces_by_color: HashMap::new(),
    };
    for trace in distinct_traces(hlo) {
        simulator.run(trace);
    }
    let mut schedules: Vec<Schedule> = simulator.spaces.into_iter().map(|space| space.schedule).collect();
    schedules.arrange_by_key(|s| s.color);
    schedules.iter_mut().for_each(|s| s.lives.shrink_to_fit());
    schedules
}

/// The positions of the traces, equal ones once: XLA writes the one trace of a heap of several blocks for each block.
fn distinct_traces(hlo: &Hlo) -> Vec<usize> {
    let same = |a: &HeapTrace, b: &HeapTrace| {
        let (a, b) = (hlo.heap_events(a), hlo.heap_events(b));
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| key(x) == key(y))
    };
    if hlo.heap_traces().len() == 1 {
        return vec![0];
    }
    let mut seen: HashMap<u64, Vec<&HeapTrace>> = HashMap::new();
    let mut out = Vec::new();
    for (position, trace) in hlo.heap_traces().iter().enumerate() {
        let mut hasher = DefaultHasher::new();
        hlo.heap_events(trace).iter().for_each(|e| key(e).hash(&mut hasher));
        let alike = seen.entry(hasher.finish()).or_default();
        if !alike.iter().any(|other| same(other, trace)) {
            alike.push(trace);
            out.push(position);
        }
    }
    out
}

fn key(event: &HeapEvent) -> (u8, Option<BufIx>, Option<BufIx>) {
    (event.kind as u8, event.buffer(), event.canonical())
}

const NONE: u32 = u32::MAX;

/// Buffers that share one place.
#[derive(Clone, Copy)]
struct Group {
    /// Position of their memory space in [`Simulator::spaces`].
    space: u32,
    /// How many of them are live.
    live: u32,
    /// Position of the current life in its schedule.
    life: u32,
}

/// One memory space during one simulation.
struct Space {
    schedule: Schedule,
    /// The rest is of the simulation that runs; whether it has an event of the space.
    runs: bool,
    first_life: usize,
    live: Bytes,
    peak: Bytes,
    peak_at: usize,
}

impl Space {
    fn new(color: i64) -> Space {
        let (live, peak) = (Bytes::ZERO, Bytes::ZERO);
        Space { schedule: Schedule::new(color), runs: false, first_life: 0, live, peak, peak_at: 0 }
    }

    fn start(&mut self) {
        self.runs = true;
        self.first_life = self.schedule.lives.len();
        (self.live, self.peak, self.peak_at) = (Bytes::ZERO, Bytes::ZERO, 0);
    }
}

struct Simulator<'a> {
    hlo: &'a Hlo,
    /// The group that each buffer belongs to, or last belonged to.
    group_of: Vec<u32>,
    /// The group in which each buffer is live.
    live_in: Vec<u32>,
    groups: Vec<Group>,
    /// Buffers that the present simulation allocates.
    births: usize,
    /// In the order in which they are met.
    spaces: Vec<Space>,
    spaces_by_color: HashMap<i64, usize>,
}

impl Simulator<'_> {
    fn run(&mut self, trace: usize) {
        let hlo = self.hlo;
        let events = hlo.heap_traces().get(trace).map(|t| hlo.heap_events(t)).unwrap_or(&[]);
        self.spaces.iter_mut().for_each(|space| space.runs = false);
        // At once: lists that grow past each other leave their old places behind, and never give those back to a browser.
        self.births = events.iter().filter(|e| e.kind == HeapEventKind::Alloc).count();
        self.groups.reserve_exact(self.births);
        let mut space = 0;
        for (i, event) in events.iter().enumerate() {
            self.step(i, event, &mut space);
        }
        for event in events {
            for buffer in [event.buffer(), event.canonical()].into_iter().flatten() {
                set(&mut self.group_of, buffer, NONE);
                set(&mut self.live_in, buffer, NONE);
            }
        }
        self.groups.clear();
        for space in self.spaces.iter_mut().filter(|space| space.runs) {
            finish(hlo, space, trace, events);
        }
    }

    /// The memory space and the allocation of a buffer in a temp block.
    ///
    /// A trace names its allocation, wrongly in most plans up to JAX 0.10.2: what its buffers are assigned to counts.
    fn place(&self, buffer: BufIx) -> Option<(i64, u32)> {
        let place = self.hlo.place_of(buffer)?;
        let allocation = self.hlo.allocations().get(place.allocation as usize)?;
        (allocation.kind() == Some(BufferKind::Temp)).then_some((allocation.color, place.allocation))
    }

    /// `last` is the space of the event before. A function of its own: a browser makes those fast that are called often.
    #[inline(never)]
    fn step(&mut self, i: usize, event: &HeapEvent, last: &mut usize) {
        let Some(buffer) = event.buffer() else { return };
        let Some((color, allocation)) = self.place(buffer) else { return };
        if self.spaces.get(*last).is_none_or(|s| s.schedule.color != color) {
            *last = self.space(color);
        }
        let Some(running) = self.spaces.get_mut(*last) else { return };
        if !running.runs {
            running.start();
            // Mostly there is the one.
            if self.spaces_by_color.len() == 1 {
                running.schedule.lives.reserve_exact(self.births);
            }
        }
        let schedule = &mut running.schedule;
        let at = schedule.events.saturating_add(i as u64);
        match event.kind {
            HeapEventKind::Alloc | HeapEventKind::ShareWith => {
                if get(&self.live_in, buffer) != NONE {
                    return;
                }
                let owner = event.canonical().unwrap_or(buffer);
                let known = get(&self.group_of, owner);
                // A buffer that is allocated anew starts anew; a sharer joins even where the owner is dead already.
                let joins = event.kind == HeapEventKind::ShareWith
                    && self.groups.get(known as usize).is_some_and(|g| g.space as usize == *last);
                let group = if joins {
                    known
                } else {
                    self.groups.push(Group { space: *last as u32, live: 0, life: NONE });
                    self.groups.len() as u32 - 1
                };
                set(&mut self.group_of, owner, group);
                set(&mut self.group_of, buffer, group);
                set(&mut self.live_in, buffer, group);
                let Some(group) = self.groups.get_mut(group as usize) else { return };
                group.live += 1;
                if group.live == 1 {
                    group.life = schedule.lives.len() as u32;
                    let bytes = self.hlo.buffer(buffer).map_or(Bytes::ZERO, |b| b.size);
                    schedule.lives.push(Life::new(buffer, allocation, bytes, at));
                    running.live += bytes;
                }
            }
            HeapEventKind::Free => {
                let group = get(&self.live_in, buffer);
                set(&mut self.live_in, buffer, NONE);
                let Some(group) = self.groups.get_mut(group as usize) else { return };
                group.live = group.live.saturating_sub(1);
                if group.live == 0
                    && let Some(life) = schedule.lives.get_mut(group.life as usize)
                {
                    life.last = narrow(at.saturating_sub(1));
                    running.live = running.live.saturating_sub(life.bytes);
                }
            }
            HeapEventKind::Unknown => {}
        }
        if running.live > running.peak {
            (running.peak, running.peak_at) = (running.live, i);
        }
    }

    /// The position of a memory space.
    fn space(&mut self, color: i64) -> usize {
        // A hostile plan can have as many as allocations.
        if let Some(at) = self.spaces_by_color.get(&color) {
            return *at;
        }
        self.spaces.push(Space::new(color));
        self.spaces_by_color.insert(color, self.spaces.len() - 1);
        self.spaces.len() - 1
    }
}

/// Adds a simulation to its schedule.
fn finish(hlo: &Hlo, running: &mut Space, trace: usize, events: &[HeapEvent]) {
    let schedule = &mut running.schedule;
    let start = schedule.events;
    let peak_event = start.saturating_add(running.peak_at as u64);
    schedule.events = start.saturating_add(events.len() as u64);
    let end = narrow(schedule.events.saturating_sub(1));
    for life in schedule.lives.iter_mut().skip(running.first_life) {
        life.last = life.last.min(end);
    }
    if schedule.parts.is_empty() {
        schedule.peak_event = peak_event;
        if let Some(event) = events.get(running.peak_at) {
            let (computation, instruction) = hlo.heap_event_names(event);
            let known = |name: &str| (!name.is_empty()).then(|| name.to_owned());
            schedule.peak_instruction = known(instruction);
            schedule.peak_computation = known(computation);
        }
    }
    schedule.peak += running.peak;
    schedule.parts.push(Part {
        start,
        events: events.len() as u64,
        peak_event,
        trace,
        lives: running.first_life..schedule.lives.len(),
    });
}

fn get(table: &[u32], at: BufIx) -> u32 {
    table.get(at.at()).copied().unwrap_or(NONE)
}

fn set(table: &mut [u32], at: BufIx, value: u32) {
    if let Some(slot) = table.get_mut(at.at()) {
        *slot = value;
    }
}

/// Events are counted in 32 bits: each takes bytes of a file of less than 4 GiB.
fn narrow(event: u64) -> u32 {
    u32::try_from(event).unwrap_or(u32::MAX)
}
