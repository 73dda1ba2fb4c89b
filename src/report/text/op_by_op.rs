//! A program that runs op by op, as sums.

use super::Page;
use crate::model::{Cut, OpSum, Report};
use crate::plain::short;

pub(super) fn op_by_op(out: &mut Page, report: &Report) {
    let Some(ops) = &report.op_by_op else { return };
    let title = format!("Op by op: {} executions of {} modules, summed", ops.executions, ops.modules);
    out.title(&title, "[measured]");
    table(out, "function", &ops.by_function, report.omitted.op_by_op_functions, "functions");
    out.gap();
    table(out, "Python line", &ops.by_line, report.omitted.op_by_op_lines, "lines");
}

fn table(out: &mut Page, of: &str, sums: &[OpSum], omitted: Cut, what: &str) {
    out.line(&format!(
        "  {:<40} {:>8} {:>6} {:>12} {:>8} {:>12}",
        format!("by {of}"),
        "modules",
        "runs",
        "asked for",
        "alive",
        "bytes alive"
    ));
    for sum in sums {
        out.line(&format!(
            "  {:<40} {:>8} {:>6} {:>12} {:>8} {:>12}",
            sum.name.as_deref().map_or_else(|| "unknown".into(), |n| short(n, 40)),
            sum.modules,
            sum.executions,
            sum.requested_bytes.to_string(),
            sum.live_arrays,
            sum.live_bytes.to_string(),
        ));
    }
    out.omitted(omitted, what);
}
