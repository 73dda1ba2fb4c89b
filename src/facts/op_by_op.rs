//! What ran, summed by function and by Python line: for programs that run op by op, of which hundreds of modules say less
//! than these sums.

use crate::arrange::Arrange;
use crate::join::{Joined, Owner};
use crate::model::{OpByOp, OpSum};
use crate::run::Run;
use crate::terms::LiveKind;
use crate::units::{Bytes, Picos};
use std::collections::{HashMap, HashSet};

/// The sums over all executions. `module` is the one analysed: what is live is told of when its last execution started.
#[must_use]
pub fn op_by_op(run: &Run, joined: &Joined, module: Option<usize>) -> OpByOp {
    let (mut functions, mut lines) = (Sums::default(), Sums::default());
    let mut modules = HashSet::new();
    for i in 0..run.len() {
        let Some(e) = run.execution(i) else { continue };
        let asked = joined.requested(run, i).into_iter().fold(0u64, u64::saturating_add);
        let took = e.end().saturating_sub(e.start());
        let which = Which::of(run, joined, i);
        modules.insert(which);
        for sum in [functions.of(function(run, joined, i)), lines.of(line(run, i))] {
            sum.executions += 1;
            sum.asked = sum.asked.saturating_add(asked);
            sum.took = sum.took.saturating_add(took);
            sum.modules.insert(which);
        }
    }
    let last = joined.last_of(run, module).and_then(|i| run.execution(i));
    if let Some((allocator, at)) = last.and_then(|e| Some((e.allocator()?, e.start()))) {
        for array in joined.live_at(run, allocator, at).arrays {
            let (Owner::Planned(i, _) | Owner::Copied(i) | Owner::Unplanned(i)) = array.owner else {
                continue;
            };
            if joined.kind(run, array.owner) == LiveKind::Outputs {
                for sum in [functions.of(function(run, joined, i)), lines.of(line(run, i))] {
                    sum.arrays += 1;
                    sum.live = sum.live.saturating_add(array.allocated);
                }
            }
        }
    }
    OpByOp {
        modules: modules.len() as u64,
        executions: run.len() as u64,
        by_function: functions.done(),
        by_line: lines.done(),
    }
}

/// The module that an execution is of: the one it was joined with, else what the run gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Which<'a> {
    Joined(usize),
    Named(Option<i64>, Option<&'a str>),
}

impl<'a> Which<'a> {
    fn of(run: &'a Run, joined: &Joined, execution: usize) -> Which<'a> {
        if let Some(module) = joined.executions.get(execution).and_then(|e| e.module()) {
            return Which::Joined(module);
        }
        let e = run.execution(execution);
        let program = e.and_then(|e| e.program()).map(|p| p.id);
        Which::Named(program, e.and_then(|e| e.module()).map(|m| m.0))
    }
}

/// `jit_multiply`, of whatever module of that name.
fn function<'a>(run: &'a Run, joined: &'a Joined, execution: usize) -> Option<&'a str> {
    match Which::of(run, joined, execution) {
        Which::Joined(module) => joined.modules.get(module).map(|m| m.base_name.as_str()),
        Which::Named(_, name) => name,
    }
}

/// The Python line that called it.
fn line(run: &Run, execution: usize) -> Option<&str> {
    run.execution(execution).and_then(|e| e.place()).and_then(|p| p.frame.as_deref())
}

#[derive(Debug, Default)]
struct Sums<'a>(HashMap<Option<&'a str>, Sum<'a>>);

#[derive(Debug, Default)]
struct Sum<'a> {
    modules: HashSet<Which<'a>>,
    executions: u64,
    took: i64,
    asked: u64,
    arrays: u64,
    live: u64,
}

impl<'a> Sums<'a> {
    fn of(&mut self, name: Option<&'a str>) -> &mut Sum<'a> {
        self.0.entry(name).or_default()
    }

    /// The most bytes alive first, and of those that hold none the most executions.
    fn done(self) -> Vec<OpSum> {
        let row = |(name, sum): (Option<&str>, Sum<'_>)| OpSum {
            name: name.map(str::to_owned),
            modules: sum.modules.len() as u64,
            executions: sum.executions,
            duration_ps: Picos(sum.took),
            requested_bytes: Bytes(sum.asked),
            live_arrays: sum.arrays,
            live_bytes: Bytes(sum.live),
        };
        let mut rows: Vec<OpSum> = self.0.into_iter().map(row).collect();
        rows.arrange_by(|a, b| {
            (b.live_bytes, b.executions).cmp(&(a.live_bytes, a.executions)).then_with(|| a.name.cmp(&b.name))
        });
        rows
    }
}
