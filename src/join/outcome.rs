//! How executions ended, on evidence alone.

use super::{JoinedExecution, NONE};
use crate::run::{Execution, Run};
use crate::terms::Outcome;

/// A wait in vain lasts 10 s (`kMaxMillisToWait`, allocator_retry.cc).
pub(super) const IN_VAIN_PS: i64 = 9_990_000_000_000;

/// Judges every execution.
///
/// It ran if its launch was recorded, or kernels of it. It failed if an allocator waited 10 s inside it without an
/// allocation at the end, or if it came to allocating and never to launching, where no events were lost around it and
/// the whole file could be read. Otherwise the capture does not say.
pub(super) fn judge(run: &Run, joined: &mut [JoinedExecution]) {
    let others_launched = run.executions().any(|e| e.launched());
    let mut waited = vec![false; joined.len()];
    for retry in &run.retries {
        if retry.got.is_none() && retry.end.saturating_sub(retry.at) >= IN_VAIN_PS {
            mark(&mut waited, retry.execution);
        }
    }
    for wait in &run.waits {
        if wait.end.saturating_sub(wait.last) >= IN_VAIN_PS {
            mark(&mut waited, Some(wait.execution));
        }
    }
    for (i, one) in joined.iter_mut().enumerate() {
        let Some(e) = run.execution(i) else { break };
        one.outcome = if i >= run.len() {
            Outcome::Unknown
        } else if e.launched() {
            Outcome::Ran
        } else if waited.get(i).copied().unwrap_or(false) {
            Outcome::Failed
        } else if !run.damaged && e.has_build() && !lost_around(run, &e) && (missing(one) || others_launched)
        {
            Outcome::Failed
        } else {
            Outcome::Unknown
        };
        // What a launched execution has no event for came from elsewhere, or its event was lost: it is not missing.
        if one.outcome != Outcome::Failed {
            one.missing = NONE;
        }
    }
}

fn mark(waited: &mut [bool], execution: Option<usize>) {
    if let Some(w) = execution.and_then(|e| waited.get_mut(e)) {
        *w = true;
    }
}

fn missing(one: &JoinedExecution) -> bool {
    one.missing().is_some()
}

/// Whether events of the execution's allocator were lost while it ran.
fn lost_around(run: &Run, e: &Execution<'_>) -> bool {
    match e.allocator().and_then(|a| run.allocators.get(a)) {
        Some(allocator) => allocator.broken_between(e.start(), e.end()),
        None => false,
    }
}
