//! The compact records of pass 2. Times are picoseconds; while recording from [`crate::capture::Index::base_ns`],
//! in a finished [`super::Run`] from the capture's first event.

use super::tables::NONE;

/// Where an event of an allocator stands: inside an execution, or at a place of the host program.
///
/// Packed, since a capture has hundreds of thousands of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context(u32);

const FREE: u32 = 1 << 31;
const IN_EXECUTION: u32 = 1 << 30;
const IN_BUILD: u32 = 1 << 29;
const INDEX: u32 = IN_BUILD - 1;

impl Context {
    /// An event of which nothing is known but the time.
    pub(super) const NOWHERE: Context = Context(INDEX);

    pub(super) fn in_execution(execution: u32, in_build: bool) -> Context {
        let build = if in_build { IN_BUILD } else { 0 };
        Context(execution.min(INDEX) | IN_EXECUTION | build)
    }

    pub(super) fn at_place(place: u32) -> Context {
        Context(place.min(INDEX))
    }

    pub(super) fn freeing(self) -> Context {
        Context(self.0 | FREE)
    }

    /// The same with another execution, or another place.
    pub(super) fn with_index(self, index: u32) -> Context {
        Context((self.0 & !INDEX) | index.min(INDEX))
    }

    /// Whether this is a deallocation.
    #[must_use]
    pub fn is_free(self) -> bool {
        self.0 & FREE != 0
    }

    /// Whether it stands inside `Build buffer allocations`, where outputs and temp of an execution are allocated.
    #[must_use]
    pub fn in_build(self) -> bool {
        self.0 & IN_BUILD != 0
    }

    /// The execution it stands in: index into [`super::Run::executions`].
    #[must_use]
    pub fn execution(self) -> Option<usize> {
        let index = self.0 & INDEX;
        (self.0 & IN_EXECUTION != 0 && index != INDEX).then_some(index as usize)
    }

    /// Its place in the host program, outside executions: index into [`super::Run::places`].
    #[must_use]
    pub fn place(self) -> Option<usize> {
        let index = self.0 & INDEX;
        (self.0 & IN_EXECUTION == 0 && index != INDEX).then_some(index as usize)
    }
}

/// One allocation or deallocation.
#[derive(Debug, Clone, Copy)]
pub struct AllocatorEvent {
    /// When.
    pub at: i64,
    /// Bytes in use right after it.
    pub in_use: u64,
    /// What the caller asked for, [`UNKNOWN`] where the event has none.
    pub requested: u64,
    /// The chunk handed out or taken back, [`UNKNOWN`] where the event has none.
    pub allocated: u64,
    /// Its address.
    pub address: u64,
    /// The stat `fragmentation` (six digits): NaN where nothing is free, below zero where the event has none.
    pub fragmentation: f32,
    /// Where it stands.
    pub context: Context,
}

/// A size that an event does not say.
pub const UNKNOWN: u64 = u64::MAX;

/// Where in the host program something was allocated, outside executions. Indices into [`super::Run::names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RawPlace {
    /// The host event that says most about it.
    pub(super) event: u32,
    /// What kind of event that is.
    pub(super) class: super::names::Class,
    /// The innermost Python frame that is none of JAX's own.
    pub(super) frame: u32,
    /// The innermost Python frame.
    pub(super) inner: u32,
    /// The stat `shape` of the allocation.
    pub(super) shape: u32,
}

/// Bits of [`RawExecution::flags`].
pub(super) mod flag {
    /// `Build buffer allocations` is in it.
    pub(crate) const BUILD: u16 = 1;
    /// Its launch is in it.
    pub(crate) const LAUNCHED: u16 = 2;
    /// It handed work to a thread pool.
    pub(crate) const WORK: u16 = 4;
    /// A part of an execution whose own span is on another thread, or lost.
    pub(crate) const FRAGMENT: u16 = 8;
    /// The module's name is the launch's own.
    pub(crate) const NAMED_BY_LAUNCH: u16 = 16;
    /// The module's name is the call's.
    pub(crate) const NAMED_BY_CALL: u16 = 32;
    /// The module's name is made from `PjitFunction(…)`.
    pub(crate) const NAMED_BY_JIT: u16 = 64;
    /// It is on a CPU.
    pub(crate) const HOST: u16 = 128;
    /// Its number of kernels is known.
    pub(crate) const COUNTED: u16 = 256;
}

/// An execution as it was recorded; [`super::Execution`] shows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawExecution {
    pub(super) start: i64,
    pub(super) end: i64,
    /// The module's name: index into the labels.
    pub(super) module: u32,
    /// The program that launches or kernels name: index into the programs.
    pub(super) program: u32,
    pub(super) kernels: u32,
    /// Where it was called: index into the places.
    pub(super) place: u32,
    pub(super) line: u32,
    /// In flight at launch, `u16::MAX` where the capture does not say.
    pub(super) in_flight: u16,
    pub(super) flags: u16,
    /// The allocator it took from, `u16::MAX` where unknown.
    pub(super) allocator: u16,
    /// The device, `u16::MAX` where unknown.
    pub(super) device: u16,
}

impl RawExecution {
    pub(super) fn new(start: i64, end: i64, line: u32) -> RawExecution {
        RawExecution {
            start,
            end,
            module: NONE,
            program: NONE,
            kernels: 0,
            place: NONE,
            line,
            in_flight: u16::MAX,
            flags: 0,
            allocator: u16::MAX,
            device: u16::MAX,
        }
    }
}

/// An allocator that waits (`AllocatorRetry::AllocateRaw`).
#[derive(Debug, Clone, Copy)]
pub(super) struct RawRetry {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) execution: u32,
    /// The allocator and the event that ended the wait.
    pub(super) got: Option<(u16, u32)>,
}

/// A `Build buffer allocations` that took long.
#[derive(Debug, Clone, Copy)]
pub(super) struct LongBuild {
    pub(super) execution: u32,
    pub(super) end: i64,
    /// The end of the last event inside.
    pub(super) last: i64,
    /// The longest time without an event, up to an allocation.
    pub(super) gap: (i64, i64),
}

/// A pool that grew, told by the allocation that follows on the same thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth {
    pub(super) at: i64,
    pub(super) allocator: u16,
}

/// Device-to-device copies inside an execution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCopies {
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl DeviceCopies {
    pub(super) fn add(&mut self, count: u64, bytes: u64) {
        self.count = self.count.saturating_add(count);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_keep_what_was_put_in() {
        let c = Context::in_execution(5, true).freeing();
        assert!(c.is_free() && c.in_build());
        assert_eq!((c.execution(), c.place()), (Some(5), None));
        assert_eq!(c.with_index(9).execution(), Some(9));
        let p = Context::at_place(3);
        assert_eq!((p.execution(), p.place(), p.is_free()), (None, Some(3), false));
        assert_eq!((Context::NOWHERE.execution(), Context::NOWHERE.place()), (None, None));
    }

    #[test]
    fn an_event_takes_48_bytes() {
        assert_eq!(size_of::<AllocatorEvent>(), 48);
        assert_eq!(size_of::<RawExecution>(), 48);
    }
}
