//! The run side of a capture: its events joined with its plans, for the report and for questions about moments.

use crate::bytes::Source;
use crate::capture::{Checkpoint, Index};
use crate::facts;
use crate::join::{self, Joined, Why};
use crate::model::{LiveMoment, ModuleWhy, Report};
use crate::run::{Run, why_no_allocator_events};
use crate::units::{Bytes, Picos};

/// What a capture's events gave.
#[derive(Debug)]
pub(super) struct Events {
    index: Index,
    checkpoints: Vec<Checkpoint>,
    run: Run,
    joined: Joined,
}

impl Events {
    pub(super) fn new(
        index: Index,
        checkpoints: Vec<Checkpoint>,
        run: Run,
        modules: Vec<join::Module>,
    ) -> Events {
        let joined = join::join(&run, modules);
        Events { index, checkpoints, run, joined }
    }

    /// The module to look at first, and why.
    pub(super) fn default_module(&self) -> Option<(usize, ModuleWhy)> {
        let (module, why) = self.joined.default_module(&self.run)?;
        let why = match why {
            Why::Failed => ModuleWhy::LaunchedNoKernel,
            Why::LargestExecuted => ModuleWhy::LargestExecuted,
            Why::Largest => ModuleWhy::Largest,
        };
        Some((module, why))
    }

    /// How often each module was executed; `None` where the capture records no execution at all.
    pub(super) fn counts(&self) -> Option<Vec<u64>> {
        let counts = self.joined.counts(&self.run);
        (!self.run.is_empty() || counts.iter().any(|n| *n > 0)).then_some(counts)
    }

    /// Why there are no allocator events; empty where there are some.
    pub(super) fn silent(&self, jax_version: Option<&str>) -> Vec<String> {
        why_no_allocator_events(&self.run, jax_version)
    }

    /// Puts the run into a report about a module, whole.
    pub(super) fn fill<S: Source>(&self, source: &S, module: Option<usize>, report: &mut Report) {
        let (run, joined) = (&self.run, &self.joined);
        report.allocators = facts::run::allocators(run, joined, &report.platform);
        report.executions = facts::run::executions(run, joined);
        report.retries = facts::run::retries(run, joined);
        report.warnings.extend(joined.warnings.iter().cloned());
        report.live_at_last_start = facts::run::live_at_last_start(run, joined, module);
        report.op_by_op = Some(facts::op_by_op(run, joined, module));
        if let Some(window) = join::window(run, joined, module) {
            let times = join::between(run, &self.index, source, &self.checkpoints, window);
            report.between_executions = facts::run::between_executions(&times);
        }
    }

    /// What is live in an allocator at a moment.
    pub(super) fn live_at(&self, allocator: &str, at: Picos) -> Option<LiveMoment> {
        let i = self.run.allocators.iter().position(|a| a.name == allocator)?;
        let moment = self.joined.live_at(&self.run, i, at.0);
        Some(LiveMoment {
            allocator: allocator.to_owned(),
            at_ps: at,
            in_use_bytes: Bytes(moment.in_use),
            before_capture_bytes: Bytes(moment.before()),
            arrays: facts::run::live_arrays(&self.run, &self.joined, &moment),
        })
    }
}
