//! The join of plan and run: which module an execution was of, which planned allocation each request is, and whose
//! every live array is.
//!
//! Inside an execution the runtime asks for outputs and temp blocks in the order of their allocation indices
//! (`gpu_executable_buffer_allocator.cc`, `GenerateBufferAllocations`), each with the size of the plan. This join needs
//! no guess; a request that fits no plan is kept as such.

mod between;
mod live;
mod matching;
mod module;
mod outcome;
mod owner;
mod requests;
mod resolve;
mod retries;
mod timeline;

pub use between::{HostTime, between, window};
pub use live::{LiveArray, Moment};
pub use module::Module;
pub use owner::{Group, Owner};
pub use retries::{FreedBy, JoinedRetry, Missing};
pub use timeline::{Band, Bands};

use crate::run::{Run, UNKNOWN};
use crate::terms::{Outcome, Warning};
use requests::Requests;
use std::collections::{HashMap, HashSet};

/// Index of something that is absent.
const NONE: u32 = u32::MAX;

/// What is known of one execution beyond the run itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinedExecution {
    module: u32,
    /// Its number among those of this module on this device, from 0.
    pub number: u32,
    /// The first planned allocation without an event, of an execution that did not launch.
    missing: u32,
    /// Planned allocations obtained.
    pub obtained: u32,
    /// How it ended.
    pub outcome: Outcome,
}

impl JoinedExecution {
    /// Its module: index into [`Joined::modules`].
    #[must_use]
    pub fn module(&self) -> Option<usize> {
        (self.module != NONE).then_some(self.module as usize)
    }

    /// Position in [`Module::launch`] of the first planned allocation that was not obtained.
    #[must_use]
    pub fn missing(&self) -> Option<usize> {
        (self.missing != NONE).then_some(self.missing as usize)
    }
}

/// Plan and run together.
#[derive(Debug)]
pub struct Joined {
    /// The modules of the capture.
    pub modules: Vec<Module>,
    /// For each execution of the run, and behind them those that were lost in part.
    pub executions: Vec<JoinedExecution>,
    /// Waits for memory, by time.
    pub retries: Vec<JoinedRetry>,
    /// What was left undone.
    pub warnings: Vec<Warning>,
    requests: Requests,
}

/// Joins a run with the plans of its modules.
#[must_use]
pub fn join(run: &Run, mut modules: Vec<Module>) -> Joined {
    let mut names: HashMap<String, u32> = HashMap::new();
    for module in &modules {
        *names.entry(module.base_name.clone()).or_default() += 1;
    }
    for module in &mut modules {
        module.shares_name = names.get(&module.base_name).is_some_and(|n| *n > 1);
    }
    let mut requests = Requests::of(run);
    let (mut executions, warnings) = resolve::resolve(run, &modules, &mut requests);
    outcome::judge(run, &mut executions);
    let retries = retries::retries(run, &requests, &executions);
    Joined { modules, executions, retries, warnings, requests }
}

/// Why a module is the one to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Its last execution failed.
    Failed,
    /// The largest of those that ran.
    LargestExecuted,
    /// The largest; the capture has no executions.
    Largest,
}

impl Joined {
    /// The module to look at first: the one whose last execution failed; without one, the largest that ran; without
    /// executions, the largest. Of several failed ones, the last to fail.
    #[must_use]
    pub fn default_module(&self, run: &Run) -> Option<(usize, Why)> {
        let mut last: Vec<Option<(usize, Outcome)>> = vec![None; self.modules.len()];
        for (i, e) in self.executions.iter().take(run.len()).enumerate() {
            if let Some(slot) = e.module().and_then(|m| last.get_mut(m)) {
                // On several devices the executions of one call belong together: one failure is enough.
                let starts_with = |before: &(usize, Outcome)| {
                    let start = |i: usize| run.execution(i).map_or(0, |e| e.end());
                    before.1 == Outcome::Failed
                        && run.execution(i).is_some_and(|e| e.start() < start(before.0))
                };
                if !slot.as_ref().is_some_and(starts_with) {
                    *slot = Some((i, e.outcome));
                }
            }
        }
        let failed = last
            .iter()
            .enumerate()
            .filter_map(|(m, l)| l.filter(|l| l.1 == Outcome::Failed).map(|l| (l.0, m)))
            .max();
        if let Some((_, m)) = failed {
            return Some((m, Why::Failed));
        }
        let on_devices: HashSet<(&str, Option<i64>)> =
            run.device_runs.iter().map(|r| (r.module.as_str(), r.program)).collect();
        let on_device = |m: &Module| {
            [None, Some(m.program_id)].iter().any(|p| on_devices.contains(&(m.base_name.as_str(), *p)))
        };
        let ran =
            |(m, module): &(usize, &Module)| last.get(*m).is_some_and(Option::is_some) || on_device(module);
        // Of equal ones the first.
        let size = |(m, module): &(usize, &Module)| (module.need, std::cmp::Reverse(*m));
        let all = || self.modules.iter().enumerate();
        if let Some((m, _)) = all().filter(ran).max_by_key(size) {
            return Some((m, Why::LargestExecuted));
        }
        all().max_by_key(size).map(|(m, _)| (m, Why::Largest))
    }

    /// How often each module was executed, over all devices.
    #[must_use]
    pub fn counts(&self, run: &Run) -> Vec<u64> {
        let mut counts = vec![0; self.modules.len()];
        for e in self.executions.iter().take(run.len()) {
            if let Some(n) = e.module().and_then(|m| counts.get_mut(m)) {
                *n += 1;
            }
        }
        // A TPU's own lines count what its host's threads do not show.
        let (mut by_program, mut by_name) = (HashMap::new(), HashMap::new());
        for r in &run.device_runs {
            let sum: &mut u64 = match r.program {
                Some(program) => by_program.entry(program).or_default(),
                None => by_name.entry(r.module.as_str()).or_default(),
            };
            *sum = sum.saturating_add(r.count);
        }
        for (count, module) in counts.iter_mut().zip(&self.modules) {
            let of_program = by_program.get(&module.program_id).copied().unwrap_or(0);
            let of_name = by_name.get(module.base_name.as_str()).copied().unwrap_or(0);
            *count = (*count).max(of_program.saturating_add(of_name));
        }
        counts
    }

    /// The allocations inside an execution, in order: allocator, number of the event, and position in the module's
    /// launch allocations where it is a planned one.
    pub fn requests_of(&self, execution: usize) -> impl Iterator<Item = (usize, u32, Option<usize>)> {
        self.requests
            .of_execution(execution)
            .iter()
            .map(|r| (usize::from(r.allocator), r.event, (r.planned != NONE).then_some(r.planned as usize)))
    }

    /// What an execution asked its device's allocator for, in order.
    #[must_use]
    pub fn requested(&self, run: &Run, execution: usize) -> Vec<u64> {
        let allocator = run.execution(execution).and_then(|e| e.allocator());
        self.requests_of(execution)
            .filter(|r| Some(r.0) == allocator)
            .filter_map(|(a, event, _)| run.allocators.get(a)?.by_number(event))
            .map(|e| e.requested)
            .filter(|r| *r != UNKNOWN)
            .collect()
    }

    /// Bytes that a failed execution obtained before it failed and that the rest of the capture does not give back. The
    /// runtime keeps them for the life of the process where nothing frees them (`gpu_executable_buffer_allocator.cc`),
    /// but a capture that ends soon after shows frees of no kind.
    #[must_use]
    pub fn kept_by_failed(&self, run: &Run, execution: usize) -> u64 {
        if self.executions.get(execution).is_none_or(|e| e.outcome != Outcome::Failed) {
            return 0;
        }
        let mut kept: HashMap<(usize, u64), (i64, u64)> = HashMap::new();
        for (allocator, event, _) in self.requests_of(execution) {
            let request = run.allocators.get(allocator).and_then(|a| a.by_number(event));
            if let Some(r) = request.filter(|r| r.allocated != UNKNOWN) {
                kept.insert((allocator, r.address), (r.at, r.allocated));
            }
        }
        for (i, a) in run.allocators.iter().enumerate() {
            let obtained = kept.iter().filter(|(k, _)| k.0 == i).map(|(_, v)| v.0);
            let Some(first) = obtained.min() else { continue };
            for event in (a.position_after(first)..a.len()).filter_map(|p| a.event(p)) {
                let key = (i, event.address);
                if event.context.is_free() && kept.get(&key).is_some_and(|k| k.0 <= event.at) {
                    kept.remove(&key);
                }
            }
        }
        kept.values().fold(0, |sum, k| sum.saturating_add(k.1))
    }

    /// The last execution of a module (of any, for `None`), as index into the run's executions. Of those that are the last on
    /// their device one that failed: devices go on a little after one of them has found no room.
    #[must_use]
    pub fn last_of(&self, run: &Run, module: Option<usize>) -> Option<usize> {
        let of =
            |i: &usize| module.is_none() || self.executions.get(*i).is_some_and(|e| e.module() == module);
        let mut devices = HashSet::new();
        let last_here = |i: &usize| {
            let place = run.execution(*i).map(|e| e.allocator().ok_or(e.device()));
            devices.insert(place)
        };
        let failed = |i: &usize| self.executions.get(*i).is_some_and(|e| e.outcome == Outcome::Failed);
        let all = || (0..run.len()).rev().filter(of);
        all().filter(last_here).find(failed).or_else(|| all().next())
    }
}
