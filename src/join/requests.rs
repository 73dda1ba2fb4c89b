//! The allocations inside executions, by execution.

use super::NONE;
use crate::run::Run;
use std::ops::Range;

/// One allocation inside an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// Index of the allocator.
    pub(super) allocator: u16,
    /// Whether it stands inside `Build buffer allocations`.
    pub(super) in_build: bool,
    /// The number of its event.
    pub(super) event: u32,
    /// Position in the module's launch allocations, `NONE` outside the plan.
    pub(super) planned: u32,
}

/// All of them, those of one execution together, by allocator and in the order of recording.
#[derive(Debug, Default)]
pub(super) struct Requests {
    all: Vec<Request>,
    /// Where those of each execution begin; one more than there are executions.
    begins: Vec<u32>,
}

impl Requests {
    pub(super) fn of(run: &Run) -> Requests {
        let n = run.len_with_lost();
        let mut begins = vec![0u32; n + 2];
        let each = |f: &mut dyn FnMut(usize, Request)| {
            for (a, allocator) in run.allocators.iter().enumerate() {
                for i in 0..allocator.len() as u32 {
                    let Some(event) = allocator.by_number(i) else { continue };
                    if event.context.is_free() {
                        continue;
                    }
                    if let Some(e) = event.context.execution().filter(|e| *e < n) {
                        let in_build = event.context.in_build();
                        f(e, Request { allocator: a as u16, in_build, event: i, planned: NONE });
                    }
                }
            }
        };
        // Counting sort: how many of each, where each begins, then each to its place.
        each(&mut |e, _| {
            if let Some(b) = begins.get_mut(e + 2) {
                *b += 1;
            }
        });
        for i in 2..begins.len() {
            begins[i] = begins[i].saturating_add(begins[i - 1]);
        }
        let total = begins.last().copied().unwrap_or(0) as usize;
        let empty = Request { allocator: u16::MAX, in_build: false, event: NONE, planned: NONE };
        let mut all = vec![empty; total];
        each(&mut |e, request| {
            if let Some(at) = begins.get_mut(e + 1) {
                if let Some(slot) = all.get_mut(*at as usize) {
                    *slot = request;
                }
                *at += 1;
            }
        });
        begins.truncate(n + 1);
        Requests { all, begins }
    }

    fn range(&self, execution: usize) -> Range<usize> {
        let at = |i: usize| self.begins.get(i).map_or(0, |b| *b as usize);
        let from = at(execution);
        from..at(execution + 1).clamp(from, self.all.len().max(from))
    }

    /// Those of one execution.
    pub(super) fn of_execution(&self, execution: usize) -> &[Request] {
        self.all.get(self.range(execution)).unwrap_or(&[])
    }

    pub(super) fn of_execution_mut(&mut self, execution: usize) -> &mut [Request] {
        let range = self.range(execution);
        self.all.get_mut(range).unwrap_or(&mut [])
    }

    /// The planned allocation that an event inside an execution is.
    pub(super) fn planned(&self, execution: usize, allocator: usize, event: u32) -> Option<usize> {
        let requests = self.of_execution(execution);
        let key = (allocator as u16, event);
        let i = requests.binary_search_by_key(&key, |r| (r.allocator, r.event)).ok()?;
        requests.get(i).filter(|r| r.planned != NONE).map(|r| r.planned as usize)
    }
}
