//! The evidence that the rules read, gathered once.

use super::detail::Detail;
use super::words::base;
use crate::estimate::OnDemand;
use crate::model::{
    Allocator, AllocatorKind, Backend, Execution, MissingAllocation, Module, Outcome, PlanReport, Report,
    Retry, RetryOutcome, Space,
};
use crate::units::{Bytes, Evidence};
use std::collections::HashSet;

/// What is known of one capture, for the rules.
///
/// The report holds all that was read and joined, its lists whole; findings, verdict and limits are made from it. Beside it
/// stands what only the rules want of the module analysed.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The report so far.
    pub report: &'a Report,
    /// The module analysed.
    pub module: Option<&'a Module>,
    /// Its totals in the device's memory.
    pub space: Option<&'a Space>,
    /// More about its plan.
    pub detail: Option<&'a Detail>,
    /// The pool that it ran in, with its index.
    pub pool: Option<(usize, &'a Allocator)>,
    /// The memory of the card of that pool.
    pub card: Option<Bytes>,
    /// What failed, if anything did.
    pub failure: Option<Failure<'a>>,
    /// Whether a program ran whose plan the capture lacks.
    pub unplanned: bool,
    /// Says what fixes would save, where the plan is there.
    pub estimator: Option<OnDemand<'a>>,
}

/// A launch, or an allocation outside of one, that failed.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    /// The execution, with its index.
    pub execution: Option<(usize, &'a Execution)>,
    /// The wait before it, with its index.
    pub retry: Option<(usize, &'a Retry)>,
}

impl<'a> Failure<'a> {
    /// The planned allocation that was refused.
    #[must_use]
    pub fn request(&self) -> Option<&'a MissingAllocation> {
        self.retry.and_then(|(_, r)| r.missing.as_ref())
    }
}

impl<'a> Case<'a> {
    /// Gathers the evidence. `detail` and `estimator` are of the module that the report names.
    #[must_use]
    pub fn new(report: &'a Report, detail: Option<&'a Detail>, estimator: Option<OnDemand<'a>>) -> Case<'a> {
        let module = report.modules.iter().find(|m| Some(&m.name) == report.module.as_ref());
        let space = module.and_then(device_space);
        let planned = Names::of(report);
        let unplanned = report.executions.iter().any(|e| !planned.have(e));
        let mut case = Case {
            report,
            module,
            space,
            detail,
            pool: None,
            card: None,
            failure: None,
            unplanned,
            estimator,
        };
        case.failure = case.find_failure();
        case.pool = case.find_pool();
        case.card = case.find_card();
        case
    }

    /// The last execution of the module analysed, if that failed; else the last failed execution; else the last failed wait.
    fn find_failure(&self) -> Option<Failure<'a>> {
        let report = self.report;
        let with_retry = |(index, execution): (usize, &'a Execution)| {
            let of_it = |r: &Retry| r.execution == Some(index as u64) && r.outcome == RetryOutcome::Failed;
            let retry = report.retries.iter().enumerate().rfind(|(_, r)| of_it(r));
            Failure { execution: Some((index, execution)), retry }
        };
        let failed = |(_, e): &(usize, &Execution)| e.outcome == Outcome::Failed;
        let own = self.executions().into_iter().rev().find(failed);
        own.or_else(|| report.executions.iter().enumerate().rev().find(failed)).map(with_retry).or_else(
            || {
                let failed = |(_, r): &(usize, &Retry)| r.outcome == RetryOutcome::Failed;
                let (at, retry) = report.retries.iter().enumerate().rev().find(failed)?;
                let execution = retry.execution.and_then(|i| {
                    let i = usize::try_from(i).ok()?;
                    Some((i, report.executions.get(i)?))
                });
                Some(Failure { execution, retry: Some((at, retry)) })
            },
        )
    }

    /// The pool of the failure, else of the last execution, else the fullest one.
    fn find_pool(&self) -> Option<(usize, &'a Allocator)> {
        let pools = || self.device_pools();
        let named = |name: &str| pools().into_iter().find(|(_, a)| a.name == name);
        let of = |e: &Execution| e.allocator.as_deref().and_then(named);
        let failure = self.failure.and_then(|f| {
            let by_wait = f.retry.and_then(|(_, r)| r.allocator.as_deref()).and_then(named);
            by_wait.or_else(|| f.execution.and_then(|(_, e)| of(e)))
        });
        failure
            .or_else(|| self.executions().iter().rev().find_map(|(_, e)| of(e)))
            .or_else(|| pools().into_iter().min_by_key(|(_, a)| headroom(a).unwrap_or(Bytes(u64::MAX))))
    }

    fn find_card(&self) -> Option<Bytes> {
        let devices = &self.report.platform.devices;
        let device = match self.pool.and_then(|(_, a)| a.device) {
            Some(ordinal) => devices.iter().find(|d| d.ordinal == ordinal),
            None => devices.first(),
        };
        let measured = device.or(devices.first()).and_then(|d| d.memory_bytes).filter(|b| b.0 > 0);
        measured.or(self.report.given.card_bytes)
    }

    /// The pools of devices, with their indexes.
    #[must_use]
    pub fn device_pools(&self) -> Vec<(usize, &'a Allocator)> {
        self.report.allocators.iter().enumerate().filter(|(_, a)| a.kind == AllocatorKind::Device).collect()
    }

    /// The plan of the module analysed.
    #[must_use]
    pub fn plan(&self) -> Option<&'a PlanReport> {
        self.report.plan.as_ref()
    }

    /// The executions of the module analysed, in order of start, with their indexes.
    #[must_use]
    pub fn executions(&self) -> Vec<(usize, &'a Execution)> {
        let Some(module) = self.module else { return Vec::new() };
        self.report.executions.iter().enumerate().filter(|(_, e)| is_of(e, module)).collect()
    }

    /// The executions of the module analysed on the device of [`Case::pool`].
    #[must_use]
    pub fn executions_here(&self) -> Vec<(usize, &'a Execution)> {
        self.here(self.executions())
    }

    /// The execution that [`Report::live_at_last_start`] is of: the last of the module analysed (of any, without one); of those that
    /// are the last on their device one that failed.
    #[must_use]
    pub fn last_execution(&self) -> Option<&'a Execution> {
        let all = || self.report.executions.iter().rev().filter(|e| self.module.is_none_or(|m| is_of(e, m)));
        let mut devices = HashSet::new();
        let last_here = all().filter(move |e| devices.insert((e.allocator.as_deref(), e.device)));
        let mut failed = last_here.filter(|e| e.outcome == Outcome::Failed);
        failed.next().or_else(|| all().next())
    }

    /// Of executions, those on the device of the failure, else of [`Case::pool`]. The allocator tells, where it is known: the
    /// number in its name need not be that of the plane.
    fn here(&self, mut all: Vec<(usize, &'a Execution)>) -> Vec<(usize, &'a Execution)> {
        let failed = self.failure.and_then(|f| f.execution).map(|(_, e)| e);
        let pool = self.pool.map(|(_, a)| a);
        let allocator = failed.and_then(|e| e.allocator.as_deref()).or(pool.map(|a| a.name.as_str()));
        let device = failed.and_then(|e| e.device).or(pool.and_then(|a| a.device));
        let device = device.or_else(|| all.last().and_then(|(_, e)| e.device));
        all.retain(|(_, e)| match (e.allocator.as_deref(), allocator) {
            (Some(own), Some(here)) => own == here,
            _ => e.device == device || e.device.is_none() || device.is_none(),
        });
        all
    }

    /// Of the programs that ran here and whose plan the capture lacks, the one that asked for most in one execution: its name and
    /// its executions.
    #[must_use]
    pub fn largest_without_plan(&self) -> Option<(&'a str, Vec<(usize, &'a Execution)>)> {
        if !self.unplanned {
            return None;
        }
        let planned = Names::of(self.report);
        let all = self.report.executions.iter().enumerate();
        let all = self.here(all.filter(|(_, e)| !planned.have(e)).collect());
        let (_, largest) = all.iter().max_by_key(|(i, e)| (asked(e), *i))?;
        let name = largest.module.as_deref()?;
        // A launch that failed has no kernel that tells its program's id.
        let same = |e: &Execution| match (&e.program_id, &largest.program_id) {
            (Some(a), Some(b)) => a == b,
            _ => e.module.as_deref().map(base) == Some(base(name)),
        };
        Some((name, all.iter().copied().filter(|(_, e)| same(e)).collect()))
    }

    /// How many programs ran.
    #[must_use]
    pub fn programs(&self) -> usize {
        let all = self.report.executions.iter().map(|e| (&e.program_id, &e.module));
        all.collect::<HashSet<_>>().len()
    }

    /// The module of the failure, if it is the one analysed.
    #[must_use]
    pub fn own_failure(&self) -> Option<Failure<'a>> {
        let module = self.module?;
        self.failure.filter(|f| f.execution.is_some_and(|(_, e)| is_of(e, module)))
    }

    /// The size of the pool.
    #[must_use]
    pub fn capacity(&self) -> Option<Bytes> {
        self.pool.and_then(|(_, a)| a.capacity_bytes).or(self.report.given.pool_bytes)
    }

    /// The size of the pool, else of the card, else what the text of the failure says there is, with what it is called.
    #[must_use]
    pub fn limit(&self) -> Option<(Bytes, &'static str)> {
        let measured = self.capacity().map(|b| (b, "pool")).or_else(|| self.card.map(|b| (b, "card")));
        measured.or_else(|| self.text_room())
    }

    /// How [`Case::limit`] is known.
    #[must_use]
    pub fn limit_evidence(&self) -> Evidence {
        match (self.capacity(), self.card) {
            (Some(_), _) => self.pool_evidence(),
            (None, Some(_)) => self.card_evidence(),
            // Texts round: `15.75G`.
            (None, None) => Evidence::Inferred,
        }
    }

    /// How [`Case::capacity`] is known: what a user gave was not measured.
    #[must_use]
    pub fn pool_evidence(&self) -> Evidence {
        self.report.given.pool_bytes.map_or(Evidence::Measured, |_| Evidence::Inferred)
    }

    /// How [`Case::card`] is known.
    #[must_use]
    pub fn card_evidence(&self) -> Evidence {
        self.report.given.card_bytes.map_or(Evidence::Measured, |_| Evidence::Inferred)
    }

    /// What memory there is by the text of a failure of the module analysed.
    #[must_use]
    pub fn text_room(&self) -> Option<(Bytes, &'static str)> {
        let text = self.report.error_text.as_ref()?;
        let of_it = text.matched.as_ref()?.module.as_ref() == self.report.module.as_ref();
        let (room, what) = text.room().filter(|_| of_it && self.module.is_some())?;
        Some((room.about(), what))
    }

    /// What the module analysed needs.
    #[must_use]
    pub fn need(&self) -> Option<Bytes> {
        self.space.map(|s| s.need_bytes)
    }

    /// Bytes in use when the failed execution started, else that one of the module analysed which found least room.
    #[must_use]
    pub fn in_use_at_start(&self) -> Option<Bytes> {
        match self.own_failure().and_then(|f| f.execution) {
            Some((_, failed)) => failed.in_use_start_bytes,
            None => self.executions_here().iter().filter_map(|(_, e)| e.in_use_start_bytes).max(),
        }
    }

    /// Bytes live then beyond the arguments and constants of the module analysed. Weakest input: the plan.
    #[must_use]
    pub fn other_live(&self) -> Option<Bytes> {
        let space = self.space?;
        Some(self.in_use_at_start()?.saturating_sub(space.parameters_bytes + space.constants_bytes))
    }

    /// Bytes that were free at that start.
    #[must_use]
    pub fn free_at_start(&self) -> Option<Bytes> {
        Some(self.capacity()?.saturating_sub(self.in_use_at_start()?))
    }

    /// By how much the free part was too small for the launch; `None` where it was not, or is unknown.
    #[must_use]
    pub fn short_by(&self) -> Option<Bytes> {
        let short = self.space?.launch_need_bytes.saturating_sub(self.free_at_start()?);
        (short.0 > 0).then_some(short)
    }

    /// By how much the plan is larger than the pool (else the card), where it is and no execution of it is known to
    /// have run there: a module can be passed one array twice and then needs less than its plan says.
    #[must_use]
    pub fn over(&self) -> Option<Bytes> {
        let over = self.need()?.saturating_sub(self.limit()?.0);
        (over.0 > 0 && (!self.ran() || self.limit_is_given())).then_some(over)
    }

    /// Whether an execution of the module analysed is known to have run.
    #[must_use]
    pub fn ran(&self) -> bool {
        self.executions().iter().any(|(_, e)| e.outcome == Outcome::Ran)
    }

    /// Whether [`Case::limit`] is what a user gave: what ran then ran in another pool.
    #[must_use]
    pub fn limit_is_given(&self) -> bool {
        let given = self.report.given;
        given.pool_bytes.is_some() || (self.capacity().is_none() && given.card_bytes.is_some())
    }

    /// Whether the module failed or cannot run: then what makes it large matters more.
    #[must_use]
    pub fn in_trouble(&self) -> bool {
        self.own_failure().is_some() || self.over().is_some()
    }

    /// Whether the program ran on a GPU.
    #[must_use]
    pub fn on_gpu(&self) -> bool {
        self.report.platform.backend == Some(Backend::Gpu)
    }
}

/// The totals of a module in the device's memory.
#[must_use]
pub fn device_space(module: &Module) -> Option<&Space> {
    module.spaces.iter().find(|s| s.space == 0)
}

/// Whether an execution is one of a module: by program id, else by name.
#[must_use]
pub fn is_of(execution: &Execution, module: &Module) -> bool {
    match (&execution.program_id, &execution.module) {
        (Some(id), _) => *id == module.program_id,
        (None, Some(name)) => *name == module.name || *name == module.base_name,
        (None, None) => false,
    }
}

/// What an execution asked its allocator for.
#[must_use]
pub fn asked(execution: &Execution) -> Bytes {
    execution.requested_bytes.iter().copied().sum()
}

/// The modules of a capture by id and by name, to tell whether an execution is of one, as [`is_of`] does.
#[derive(Debug)]
pub struct Names<'a> {
    ids: HashSet<&'a str>,
    names: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    /// Those of a report.
    #[must_use]
    pub fn of(report: &'a Report) -> Names<'a> {
        let modules = &report.modules;
        Names {
            ids: modules.iter().map(|m| m.program_id.as_str()).collect(),
            names: modules.iter().flat_map(|m| [m.name.as_str(), m.base_name.as_str()]).collect(),
        }
    }

    /// Whether an execution is of one of them.
    #[must_use]
    pub fn have(&self, execution: &Execution) -> bool {
        match (execution.program_id.as_deref(), execution.module.as_deref()) {
            (Some(id), _) => self.ids.contains(id),
            (None, name) => name.is_some_and(|name| self.names.contains(name)),
        }
    }
}

/// What stayed free at the tightest moment of a pool.
#[must_use]
pub fn headroom(pool: &Allocator) -> Option<Bytes> {
    let tightest = pool.least_free.map(|l| l.bytes);
    tightest
        .or(pool.free_at_peak_bytes)
        .or_else(|| Some(pool.capacity_bytes?.saturating_sub(pool.peak_bytes?)))
}

/// The evidence of a comparison of the plan with the pool.
pub(super) const PLAN_WITH_POOL: Evidence = Evidence::Read;
