//! The line that is being read: what for, and what is open on it.

use super::kernels::Mark;
use super::names::Class;
use crate::capture::{Line, Plane};

/// Open spans looked at for naming a place.
const FRAMES_LOOKED_AT: usize = 256;

/// What a line is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// A thread of the host.
    Host,
    /// Launches that the profiler recorded apart from the threads' own events.
    Launches,
    /// A device's stream; the device's index.
    Device(u16),
    /// A TPU's modules.
    Modules,
}

/// A span that is open on the present line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub(super) end: i64,
    pub(super) id: i64,
    pub(super) class: Class,
    /// The execution that was open before it.
    pub(super) outer: u32,
}

/// The spans that are open. Places are written again: to push is a call where the compiler saves room.
#[derive(Debug, Default)]
pub(super) struct Stack {
    /// The first `depth` of them are open.
    spans: Vec<Open>,
    depth: usize,
}

impl Stack {
    pub(super) fn clear(&mut self) {
        self.depth = 0;
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.depth
    }

    /// The innermost.
    #[inline(always)]
    pub(super) fn last(&self) -> Option<&Open> {
        self.spans.get(self.depth.wrapping_sub(1))
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    #[inline(always)]
    pub(super) fn push(&mut self, open: Open) {
        match self.spans.get_mut(self.depth) {
            Some(place) => *place = open,
            None => self.grow(open),
        }
        self.depth += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, open: Open) {
        self.spans.push(open);
    }

    /// From the innermost outwards.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Open> {
        self.spans.iter().take(self.depth).rev()
    }
}

/// The state of the line being read.
#[derive(Debug)]
pub(super) struct LineState {
    pub(super) part: Part,
    pub(super) plane: usize,
    pub(super) line: usize,
    /// Number of the line over all planes.
    pub(super) number: u32,
    pub(super) base: i64,
    pub(super) last: i64,
    pub(super) sorted: bool,
    pub(super) stack: Stack,
    /// The innermost execution that is open.
    pub(super) execution: u32,
    /// A part of an execution whose launch is still to come, on this line.
    pub(super) fragment: u32,
    /// The last call, while it has no execution on this line: index into the calls, and its end.
    pub(super) call: Option<(usize, i64)>,
    pub(super) build: Option<Build>,
    pub(super) retry: Option<usize>,
    pub(super) growth: Option<i64>,
    /// Flow id of the work that a thread of a pool is at.
    pub(super) region: Option<u64>,
    pub(super) flows_left: u32,
    pub(super) mark: LineMark,
}

impl LineState {
    /// The plane's index.
    pub(super) fn plane(&self) -> usize {
        self.plane
    }

    /// The open spans from the innermost outwards, as far as they matter for naming a place.
    pub(super) fn stack_from_inside(&self) -> impl Iterator<Item = &Open> {
        self.stack.iter().take(FRAMES_LOOKED_AT)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Build {
    pub(super) execution: u32,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) last: i64,
    pub(super) gap: (i64, i64),
}

/// Lengths to go back to when a line turns out to be out of order.
#[derive(Debug, Clone, Default)]
pub(super) struct LineMark {
    pub(super) executions: usize,
    pub(super) allocators: Vec<usize>,
    pub(super) retries: usize,
    pub(super) builds: usize,
    pub(super) growths: usize,
    pub(super) calls: usize,
    pub(super) enqueued: usize,
    pub(super) launch_ids: usize,
    pub(super) op_waits: usize,
    pub(super) copies: usize,
    pub(super) work: usize,
    pub(super) regions: usize,
    pub(super) launches: Mark,
    pub(super) labelled: Mark,
}

/// What a line is read for, before its device is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Host,
    Launches,
    Device,
    Modules,
}

/// Lines that XProf derives from others and writes into the captures it processes.
const DERIVED: &[&str] = &[
    "Steps",
    "XLA Modules",
    "XLA Ops",
    "XLA TraceMe",
    "Framework Name Scope",
    "Framework Ops",
    "Source code",
    "TensorFlow Name Scope",
    "TensorFlow Ops",
];

/// What a line is read for; `None` for lines that say nothing of the run.
pub(super) fn part(plane: &Plane, line: &Line) -> Option<Kind> {
    if plane.name == "/host:CPU" {
        // `Host Threads/7`: calls of the driver, recorded by ROCm's tracer apart from the threads themselves.
        return Some(if line.name.starts_with("Host Threads/") { Kind::Launches } else { Kind::Host });
    }
    if plane.name.starts_with("/device:GPU:") {
        return (!DERIVED.contains(&line.name.as_str())).then_some(Kind::Device);
    }
    (plane.name.starts_with("/device:TPU:") && line.name == "XLA Modules").then_some(Kind::Modules)
}
