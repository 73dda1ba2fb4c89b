//! Long lists, and what was left out of them.

use super::{PlanReport, Report};
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

impl Report {
    /// Cuts the lists to `top` rows each and says what was left out.
    pub fn cut(&mut self, top: usize) {
        if let Some(plan) = &mut self.plan {
            plan.cut(top, &mut self.omitted);
        }
        for allocator in &mut self.allocators {
            let cut = cut(&mut allocator.live_at_peak, top, |a| a.allocated_bytes);
            if cut.omitted > 0 {
                self.omitted.live_at_peak.insert(allocator.name.clone(), cut);
            }
        }
        self.omitted.live_at_last_start = cut(&mut self.live_at_last_start, top, |g| g.bytes);
        if let Some(ops) = &mut self.op_by_op {
            self.omitted.op_by_op_functions = cut(&mut ops.by_function, top, |s| s.live_bytes);
            self.omitted.op_by_op_lines = cut(&mut ops.by_line, top, |s| s.live_bytes);
        }
        self.omitted.between_executions = cut(&mut self.between_executions, top, |_| Bytes::ZERO);
    }
}

impl PlanReport {
    fn cut(&mut self, top: usize, omitted: &mut Omitted) {
        if let Some(peak) = &mut self.peak {
            omitted.peak_buffers = cut(&mut peak.buffers, top, |b| Bytes(b.bytes.0.saturating_mul(b.count)));
        }
        omitted.donation_pairs = cut(&mut self.donation.pairs, top, |p| p.bytes);
        omitted.donors = cut(&mut self.donation.donors, top, |d| d.bytes);
    }
}

fn cut<T>(rows: &mut Vec<T>, top: usize, bytes: impl Fn(&T) -> Bytes) -> Cut {
    let Some(rest) = rows.get(top..) else { return Cut::default() };
    let cut = Cut { omitted: rest.len() as u64, omitted_bytes: rest.iter().map(bytes).sum() };
    rows.truncate(top);
    cut
}

/// What `--top` cut away, by list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Omitted {
    /// Buffers at the peak.
    pub peak_buffers: Cut,
    /// Live arrays at the peak, by allocator name.
    pub live_at_peak: BTreeMap<String, Cut>,
    /// Donation pairs.
    pub donation_pairs: Cut,
    /// Parameters given away for no output.
    #[serde(default)]
    pub donors: Cut,
    /// Groups live at the last start.
    pub live_at_last_start: Cut,
    /// Functions of a program that runs op by op.
    pub op_by_op_functions: Cut,
    /// Python lines of a program that runs op by op.
    pub op_by_op_lines: Cut,
    /// Host events between executions.
    pub between_executions: Cut,
}

/// How much of one list was cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cut {
    /// Rows left out.
    pub omitted: u64,
    /// Their bytes; 0 for rows without bytes.
    pub omitted_bytes: Bytes,
}
