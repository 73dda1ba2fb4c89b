//! What a capture's run was.

use super::allocator::Allocator;
use super::names::Class;
use super::records::{DeviceCopies, RawExecution, flag};
use super::tables::NONE;
use crate::terms::{AllocatorKind, Backend, Warning};
use std::collections::HashMap;

/// The run: allocators and executions. Times are picoseconds from the first event of the capture.
#[derive(Debug)]
pub struct Run {
    /// The kind of device.
    pub backend: Option<Backend>,
    /// The first event, in picoseconds from [`crate::capture::Index::base_ns`].
    pub origin: i64,
    /// Every allocator with events.
    pub allocators: Vec<Allocator>,
    /// Waits that an event names.
    pub retries: Vec<Retry>,
    /// Long `Build buffer allocations`, which may hold waits.
    pub waits: Vec<Wait>,
    /// Waits of 10 s of TensorFlow's eager runtime: start and end.
    pub op_waits: Vec<(i64, i64)>,
    /// Places of the host program.
    pub places: Vec<Place>,
    /// Programs that launches and kernels name.
    pub programs: Vec<Program>,
    /// What ran on a TPU's cores, by the devices' own lines.
    pub device_runs: Vec<DeviceRun>,
    /// Whether the host tracer recorded anything.
    pub host_events: bool,
    /// Whether the profiler recorded any kernel with a label.
    pub kernels_recorded: bool,
    /// Copies within the device, by execution.
    pub copies: HashMap<usize, DeviceCopies>,
    /// Whether parts of the file could not be read: what is not there may have been there.
    pub damaged: bool,
    /// What was wrong.
    pub warnings: Vec<Warning>,
    pub(super) labels: Vec<String>,
    pub(super) executions: Vec<RawExecution>,
    pub(super) listed: usize,
}

/// A wait of an allocator that an event names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// When it began.
    pub at: i64,
    /// When it ended.
    pub end: i64,
    /// The execution it was in.
    pub execution: Option<usize>,
    /// The allocation that ended it: allocator, and number of its event.
    pub got: Option<(usize, u32)>,
}

/// A long `Build buffer allocations`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Its execution.
    pub execution: usize,
    /// The end of the last event inside.
    pub last: i64,
    /// Its end.
    pub end: i64,
    /// The longest time without an event, up to an allocation.
    pub gap: (i64, i64),
}

/// A place of the host program, outside executions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The host event that says most about it.
    pub event: Option<String>,
    /// What kind of event that is.
    pub class: Class,
    /// The innermost Python frame that is none of JAX's own, `$train.py:97 run_step`.
    pub frame: Option<String>,
    /// The innermost Python frame.
    pub inner_frame: Option<String>,
    /// The shape that the allocation's event gives.
    pub shape: Option<String>,
}

/// A program as launches and kernels name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program id.
    pub id: i64,
    /// The module's name.
    pub module: Option<String>,
}

/// Runs of one program on the cores of a TPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRun {
    /// The module's name.
    pub module: String,
    /// The program id.
    pub program: Option<i64>,
    /// How many, over all cores.
    pub count: u64,
}

/// How the module's name of an execution is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamedBy {
    /// By nothing.
    Nothing,
    /// Made from `PjitFunction(…)`: a module of this name need not exist.
    Jit,
    /// The call says it.
    Call,
    /// The launch or its kernels say it.
    Launch,
}

/// One execution of one module on one device.
#[derive(Debug, Clone, Copy)]
pub struct Execution<'a> {
    run: &'a Run,
    raw: &'a RawExecution,
}

impl Run {
    /// How many executions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.listed
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.listed == 0
    }

    /// An execution. Those are numbered by their start; behind [`Run::len`] come those whose own span was lost, of
    /// which only a part is known.
    #[must_use]
    pub fn execution(&self, i: usize) -> Option<Execution<'_>> {
        self.executions.get(i).map(|raw| Execution { run: self, raw })
    }

    /// How many executions there are with those that were lost in part.
    #[must_use]
    pub fn len_with_lost(&self) -> usize {
        self.executions.len()
    }

    /// The executions in the order of their start.
    pub fn executions(&self) -> impl Iterator<Item = Execution<'_>> {
        self.executions.iter().take(self.listed).map(|raw| Execution { run: self, raw })
    }

    /// Allocators of devices, in the order of their names.
    pub fn device_allocators(&self) -> impl Iterator<Item = (usize, &Allocator)> {
        self.allocators.iter().enumerate().filter(|(_, a)| a.kind == AllocatorKind::Device)
    }
}

impl<'a> Execution<'a> {
    /// When the call started on the host.
    #[must_use]
    pub fn start(&self) -> i64 {
        self.raw.start
    }

    /// When it ended on the host.
    #[must_use]
    pub fn end(&self) -> i64 {
        self.raw.end
    }

    /// The program that its launches or kernels name.
    #[must_use]
    pub fn program(&self) -> Option<&'a Program> {
        self.run.programs.get(self.raw.program as usize)
    }

    /// The module's name and how it is known.
    #[must_use]
    pub fn module(&self) -> Option<(&'a str, NamedBy)> {
        if let Some(name) = self.run.labels.get(self.raw.module as usize) {
            let flags = self.raw.flags;
            let by = if flags & flag::NAMED_BY_LAUNCH != 0 {
                NamedBy::Launch
            } else if flags & flag::NAMED_BY_CALL != 0 {
                NamedBy::Call
            } else {
                NamedBy::Jit
            };
            if by > NamedBy::Jit || self.raw.program == NONE {
                return Some((name, by));
            }
        }
        let named = self.program().and_then(|p| p.module.as_deref()).map(|m| (m, NamedBy::Launch));
        named.or_else(|| self.run.labels.get(self.raw.module as usize).map(|m| (m.as_str(), NamedBy::Jit)))
    }

    /// The index of the allocator it took from.
    #[must_use]
    pub fn allocator(&self) -> Option<usize> {
        (self.raw.allocator != u16::MAX).then_some(usize::from(self.raw.allocator))
    }

    /// The ordinal of its device.
    #[must_use]
    pub fn device(&self) -> Option<u32> {
        (self.raw.device != u16::MAX).then_some(u32::from(self.raw.device))
    }

    /// Kernels it launched; `None` where the profiler recorded none of its device at that time.
    #[must_use]
    pub fn kernels(&self) -> Option<u64> {
        (self.raw.kernels > 0 || self.raw.flags & flag::COUNTED != 0).then_some(u64::from(self.raw.kernels))
    }

    /// Executions in flight when it was launched.
    #[must_use]
    pub fn in_flight(&self) -> Option<u64> {
        (self.raw.in_flight != u16::MAX).then_some(u64::from(self.raw.in_flight))
    }

    /// Whether its launch was recorded, or kernels of it, or work that it handed to a thread pool.
    #[must_use]
    pub fn launched(&self) -> bool {
        self.raw.flags & (flag::LAUNCHED | flag::WORK) != 0 || self.raw.kernels > 0
    }

    /// Whether `Build buffer allocations` was recorded in it.
    #[must_use]
    pub fn has_build(&self) -> bool {
        self.raw.flags & flag::BUILD != 0
    }

    /// Where it was called.
    #[must_use]
    pub fn place(&self) -> Option<&'a Place> {
        self.run.places.get(self.raw.place as usize)
    }

    /// The thread it ran on, as the number of its line over all planes.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.raw.line
    }
}
