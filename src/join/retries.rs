//! Waits of an allocator for memory to come back: named by an event (jaxlib 0.11..), or seen as a gap.

use super::outcome::IN_VAIN_PS;
use super::requests::Requests;
use super::{JoinedExecution, NONE};
use crate::arrange::Arrange;
use crate::run::{About, Allocator, Run, UNKNOWN};
use crate::terms::{Outcome, RetryOutcome};
use crate::units::Evidence;
use std::cell::{Cell, OnceCell};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// A gap shorter than this is no wait worth a word (10 ms).
const SHORTEST_GAP_PS: i64 = 10_000_000_000;

/// A planned allocation that was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// Its module: index into [`super::Joined::modules`].
    pub module: usize,
    /// Its position in [`super::Module::launch`].
    pub planned: usize,
    /// Planned allocations obtained before it.
    pub obtained: u64,
}

/// A wait for memory.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinedRetry {
    /// The allocator, where known.
    pub allocator: Option<usize>,
    /// When it began.
    pub at: i64,
    /// When it ended.
    pub end: i64,
    /// The execution it was in.
    pub execution: Option<usize>,
    /// How it ended.
    pub outcome: RetryOutcome,
    /// What was waited for.
    pub missing: Option<Missing>,
    /// Bytes in use when it began.
    pub in_use: Option<u64>,
    /// Bytes free when it began.
    pub free: Option<u64>,
    /// The largest free chunk when it began.
    pub largest_free: Option<About>,
    /// What its allocator got back while it waited, by place, the largest first; `None` where it was not looked up.
    pub freed: Option<Vec<FreedBy>>,
    /// Whether an event names it, or a gap shows it.
    pub evidence: Evidence,
}

/// Memory that came back from one place of the host program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreedBy {
    /// The execution it was freed in: index into the run's executions.
    pub execution: Option<usize>,
    /// The place it was freed at: index into [`Run::places`].
    pub place: Option<usize>,
    /// How many arrays.
    pub count: u64,
    /// Their chunks' bytes.
    pub bytes: u64,
}

/// Every wait of a run, by time.
pub(super) fn retries(run: &Run, requests: &Requests, joined: &[JoinedExecution]) -> Vec<JoinedRetry> {
    let times = run.allocators.iter().map(|_| OnceCell::new()).collect();
    // Waits can overlap, and each looks through all that happened meanwhile.
    let events: usize = run.allocators.iter().map(Allocator::len).sum();
    let budget = Cell::new(4 * events);
    let mut context = Context { run, requests, joined, times, planned: HashMap::new(), budget };
    let mut all: Vec<JoinedRetry> = run.retries.iter().map(|r| context.named(r)).collect();
    // An execution has one `Build buffer allocations`, and what an event names needs no guess.
    let mut known: HashSet<usize> = run.retries.iter().filter_map(|r| r.execution).collect();
    for wait in &run.waits {
        if known.insert(wait.execution) {
            all.extend(context.gap(wait));
        }
    }
    for &(at, end) in &run.op_waits {
        all.extend(context.operation(at, end));
    }
    all.arrange_by_key(|r| (r.at, r.end));
    all
}

struct Context<'a> {
    run: &'a Run,
    requests: &'a Requests,
    joined: &'a [JoinedExecution],
    /// Of each allocator the moments of its allocations and of its frees, made when they are asked for.
    times: Vec<OnceCell<[Vec<i64>; 2]>>,
    /// Events that may still be looked at for what was freed during waits.
    budget: Cell<usize>,
    /// The planned allocations that executions obtained, ascending, of those that were asked for.
    planned: HashMap<usize, Vec<u32>>,
}

impl Context<'_> {
    /// Whether an allocator frees, or else allocates, after `from` and up to `to`.
    fn has_event(&self, allocator: usize, frees: bool, from: i64, to: i64) -> bool {
        let times = self.run.allocators.get(allocator).zip(self.times.get(allocator)).map(|(a, times)| {
            times.get_or_init(|| {
                let of = |free: bool| a.iter().filter(move |e| e.context.is_free() == free).map(|e| e.at);
                [of(false).collect(), of(true).collect()]
            })
        });
        let times = times.map_or(&[][..], |t| &t[usize::from(frees)]);
        let next = times.get(times.partition_point(|at| *at <= from));
        next.is_some_and(|at| *at <= to)
    }

    fn allocator(&self, i: Option<usize>) -> Option<&Allocator> {
        self.run.allocators.get(i?)
    }

    fn outcome_of(&self, execution: Option<usize>) -> Option<Outcome> {
        self.joined.get(execution?).map(|e| e.outcome)
    }

    fn with_state(&self, mut retry: JoinedRetry) -> JoinedRetry {
        if let Some(a) = self.allocator(retry.allocator) {
            retry.in_use = a.in_use_at(retry.at);
            retry.free = a.free_at(retry.at);
            retry.largest_free = a.position_after(retry.at).checked_sub(1).and_then(|p| a.largest_free(p));
            retry.freed = self.freed(a, retry.at, retry.end);
        }
        retry.execution = retry.execution.filter(|e| *e < self.run.len());
        retry
    }

    /// What came back to an allocator in a span of time, by place.
    fn freed(&self, allocator: &Allocator, from: i64, to: i64) -> Option<Vec<FreedBy>> {
        let span = allocator.position_after(from)..allocator.position_after(to);
        self.budget.set(self.budget.get().checked_sub(span.len())?);
        let mut all: HashMap<(Option<usize>, Option<usize>), (u64, u64)> = HashMap::new();
        for e in span.filter_map(|p| allocator.event(p)).filter(|e| e.context.is_free()) {
            let sum = all.entry((e.context.execution(), e.context.place())).or_default();
            let bytes = if e.allocated == UNKNOWN { 0 } else { e.allocated };
            *sum = (sum.0 + 1, sum.1.saturating_add(bytes));
        }
        let mut all: Vec<FreedBy> = all
            .into_iter()
            .map(|((execution, place), (count, bytes))| FreedBy { execution, place, count, bytes })
            .collect();
        all.arrange_by_key(|f| (Reverse(f.bytes), f.execution, f.place));
        Some(all)
    }

    /// The planned allocation that an execution did not obtain.
    fn missing(&self, execution: Option<usize>) -> Option<Missing> {
        let one = self.joined.get(execution?)?;
        Some(Missing { module: one.module()?, planned: one.missing()?, obtained: u64::from(one.obtained) })
    }

    /// The planned allocation that an event is.
    fn obtained(&mut self, execution: Option<usize>, allocator: usize, event: u32) -> Option<Missing> {
        let execution = execution?;
        let module = self.joined.get(execution)?.module()?;
        let planned = self.requests.planned(execution, allocator, event)?;
        let all = self.planned.entry(execution).or_insert_with(|| {
            let all = self.requests.of_execution(execution).iter().map(|r| r.planned);
            let mut all: Vec<u32> = all.filter(|p| *p != NONE).collect();
            all.arrange();
            all
        });
        let obtained = all.partition_point(|p| (*p as usize) < planned) as u64;
        Some(Missing { module, planned, obtained })
    }

    /// `AllocatorRetry::AllocateRaw`: rescued where an allocation ends it, failed where it lasted 10 s without one.
    fn named(&mut self, retry: &crate::run::Retry) -> JoinedRetry {
        let of_execution = || retry.execution.and_then(|e| self.run.execution(e)).and_then(|e| e.allocator());
        let failed = match retry.got {
            Some(_) => false,
            None if retry.end.saturating_sub(retry.at) >= IN_VAIN_PS => true,
            // A short wait whose allocation was lost: what came after tells.
            None => self.outcome_of(retry.execution) != Some(Outcome::Ran),
        };
        let missing = match retry.got {
            Some((allocator, event)) => self.obtained(retry.execution, allocator, event),
            None => self.missing(retry.execution),
        };
        self.with_state(JoinedRetry {
            allocator: retry.got.map(|g| g.0).or_else(of_execution).or_else(|| self.only_device()),
            at: retry.at,
            end: retry.end,
            execution: retry.execution,
            outcome: if failed { RetryOutcome::Failed } else { RetryOutcome::Rescued },
            missing,
            in_use: None,
            free: None,
            largest_free: None,
            freed: None,
            evidence: Evidence::Measured,
        })
    }

    fn only_device(&self) -> Option<usize> {
        let mut all = self.run.device_allocators().map(|(i, _)| i);
        match (all.next(), all.next()) {
            (Some(one), None) => Some(one),
            _ => None,
        }
    }

    /// A wait inside `Build buffer allocations` of clients whose waits have no event (..0.10).
    fn gap(&mut self, wait: &crate::run::Wait) -> Option<JoinedRetry> {
        let execution = Some(wait.execution);
        let e = self.run.execution(wait.execution)?;
        let retry = JoinedRetry {
            allocator: e.allocator().or_else(|| self.only_device()),
            at: wait.last,
            end: wait.end,
            execution,
            outcome: RetryOutcome::Failed,
            missing: None,
            in_use: None,
            free: None,
            largest_free: None,
            freed: None,
            evidence: Evidence::Inferred,
        };
        if self.outcome_of(execution) == Some(Outcome::Failed)
            && wait.end.saturating_sub(wait.last) >= IN_VAIN_PS
        {
            return Some(self.with_state(JoinedRetry { missing: self.missing(execution), ..retry }));
        }
        // Rescued: for a long time nothing, a deallocation, and then an allocation that there had been no room for.
        let (from, to) = wait.gap;
        if to.saturating_sub(from) < SHORTEST_GAP_PS {
            return None;
        }
        let (index, event) = self.requests.of_execution(wait.execution).iter().find_map(|r| {
            let event = self.allocator(Some(usize::from(r.allocator)))?.by_number(r.event)?;
            (event.at == to).then_some((usize::from(r.allocator), r.event))
        })?;
        let allocator = self.allocator(Some(index))?;
        let asked = allocator.by_number(event).map(|e| e.requested).filter(|r| *r != UNKNOWN)?;
        let freed = self.has_event(index, true, from, to);
        if !freed || allocator.free_at(from)? >= asked {
            return None;
        }
        let missing = self.obtained(execution, index, event);
        Some(self.with_state(JoinedRetry {
            allocator: Some(index),
            at: from,
            end: to,
            outcome: RetryOutcome::Rescued,
            missing,
            ..retry
        }))
    }

    /// TensorFlow's eager runtime: an operation of 10 s in which nothing was allocated.
    fn operation(&self, at: i64, end: i64) -> Option<JoinedRetry> {
        if self.run.allocators.len() != 1 || self.has_event(0, false, at.saturating_sub(1), end) {
            return None;
        }
        Some(self.with_state(JoinedRetry {
            allocator: Some(0),
            at,
            end,
            execution: None,
            outcome: RetryOutcome::Failed,
            missing: None,
            in_use: None,
            free: None,
            largest_free: None,
            freed: None,
            evidence: Evidence::Inferred,
        }))
    }
}
