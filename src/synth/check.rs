//! A report against the truth of a scenario.

use super::scenarios::Scenario;
use crate::model::{Report, RetryOutcome, Severity};
use std::fmt::Debug;

/// What the report gets wrong, a sentence each; nothing when all is right. The self-test of both faces.
#[must_use]
pub fn differences(scenario: &Scenario, report: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    let grave = |severity| matches!(severity, Severity::Error | Severity::Warning);
    for id in &scenario.must {
        if !report.findings.iter().any(|f| f.id == *id) {
            wrong.push(format!("the finding {id} is missing"));
        }
    }
    for id in &scenario.must_not {
        if report.findings.iter().any(|f| f.id == *id && grave(f.severity)) {
            wrong.push(format!("the finding {id} is a false alarm"));
        }
    }
    let truth = &scenario.truth;
    let mut compare = |what: &str, truth: &dyn Debug, said: &dyn Debug| {
        let (truth, said) = (format!("{truth:?}"), format!("{said:?}"));
        // What the simulation doesn't know isn't compared.
        if truth != "None" && truth != said {
            wrong.push(format!("{what}: the report says {said}, the truth is {truth}"));
        }
    };
    compare("module analysed", &truth.module, &report.module);

    let module = truth.module.as_ref().and_then(|name| report.modules.iter().find(|m| m.name == *name));
    let space = module.and_then(|m| m.spaces.iter().find(|s| s.space == 0));
    compare("need", &truth.need, &space.map(|s| s.need_bytes.0));
    compare("temp", &truth.temp, &space.map(|s| s.temp_bytes.0));
    compare("outputs", &truth.outputs, &space.map(|s| s.outputs_bytes.0));

    let allocator = report.allocators.iter().find(|a| a.name == "GPU_0_bfc");
    compare("capacity", &truth.capacity, &allocator.and_then(|a| a.capacity_bytes).map(|b| b.0));
    compare("peak", &truth.peak, &allocator.and_then(|a| a.peak_bytes).map(|b| b.0));

    let base = truth.module.as_ref().and_then(|m| m.split('(').next()).unwrap_or_default();
    let executions = || {
        let of_module =
            report.executions.iter().filter(|e| e.module.as_ref().is_some_and(|m| m.starts_with(base)));
        of_module.filter(|e| e.device.is_none_or(|d| d == 0))
    };
    if truth.module.is_some() {
        compare("executions", &truth.executions, &Some(executions().count() as u64));
        let last = executions().next_back().and_then(|e| e.in_use_start_bytes);
        compare("in use at the last start", &truth.in_use_at_last_start, &last.map(|b| b.0));
    }

    let failed = report.retries.iter().find(|r| r.outcome == RetryOutcome::Failed);
    let missing = failed.and_then(|r| r.missing.as_ref());
    if scenario.must.contains(&"allocator-retry") {
        compare(
            "allocation that failed",
            &truth.failed,
            &missing.map(|m| (m.allocation.unwrap_or(-1), m.bytes.0)),
        );
        if let Some((free, largest)) = truth.free_at_failure {
            compare("free when it failed", &Some(free), &failed.and_then(|r| r.free_bytes).map(|b| b.0));
            // Six digits of `fragmentation`; the report carries the error that they leave.
            if let Some(retry) = failed
                && let (Some(said), Some(error)) = (retry.largest_free_bytes, retry.largest_free_error_bytes)
                && said.0.abs_diff(largest) > error.0
            {
                wrong.push(format!(
                    "largest chunk: the report says {} ± {}, the truth is {largest}",
                    said.0, error.0
                ));
            }
        }
    }
    wrong
}
