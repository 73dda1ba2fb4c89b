//! A text dump as the plan that a message prints.

use super::{TextAllocation, XlaText};
use crate::arrange::Arrange;
use crate::evidence::error_text::{PlanText, PlanTotals, TextBuffer, TextSize, role_of_buffer};
use crate::units::Bytes;
use std::collections::HashSet;

impl XlaText {
    /// Totals and the largest buffers, `top` of them, as in the message of a failure: those live at the peak where the dump
    /// says which these are, else all values of the plan, of which the ones of a temp block take turns.
    #[must_use]
    pub fn plan(&self, top: usize) -> PlanText {
        let peak: HashSet<&str> =
            self.peak.iter().map(|(name, _)| name.strip_suffix("{}").unwrap_or(name)).collect();
        let mut buffers: Vec<TextBuffer> = self
            .allocations
            .iter()
            .filter(|a| !a.thread_local)
            .flat_map(|a| a.values.iter().map(move |v| (a, v)))
            .filter(|(_, v)| {
                // Live ranges name a value with its shape index, `dot.1{}`; the assignment leaves out an empty one.
                peak.is_empty() || peak.contains(v.name.strip_suffix("{}").unwrap_or(&v.name))
            })
            .map(|(allocation, value)| TextBuffer {
                size: value.size,
                shape: Some(value.shape.clone()).filter(|s| !s.is_empty()),
                opcode: value.opcode.clone(),
                instruction: Some(value.name.clone()).filter(|n| !n.is_empty()),
                parameter: allocation.parameter.is_some(),
                allocation_type: Some(kind(allocation).to_owned()),
                op_name: value.op_name.clone(),
                source: value.source.clone(),
                ..TextBuffer::default()
            })
            .collect();
        for buffer in &mut buffers {
            (buffer.role, buffer.role_evidence) = role_of_buffer(buffer).unzip();
        }
        buffers.arrange_by_key(|b| std::cmp::Reverse(b.size));
        buffers.truncate(top);
        PlanText { totals: self.totals(), buffers, usage: Vec::new() }
    }

    /// XLA's totals; sums that the short form cut are unknown.
    #[must_use]
    pub fn totals(&self) -> PlanTotals {
        let has_kinds = self.allocations.iter().any(|a| a.index.is_some());
        let sum = |which: fn(&TextAllocation) -> bool| {
            (has_kinds && self.cut == 0).then(|| add(self.allocations.iter().filter(|a| which(a))))
        };
        PlanTotals {
            parameter: sum(|a| a.parameter.is_some()),
            constant: sum(|a| a.constant),
            maybe_live_out: sum(|a| a.live_out),
            temp: sum(|a| a.temp),
            total: self.total.or_else(|| sum(|_| true)),
            ..PlanTotals::default()
        }
    }
}

fn add<'a>(allocations: impl Iterator<Item = &'a TextAllocation>) -> TextSize {
    allocations.filter_map(|a| a.size).fold(TextSize::exact(0), |sum, size| TextSize {
        least_bytes: sum.least_bytes + size.least_bytes,
        most_bytes: sum.most_bytes + size.most_bytes,
    })
}

fn kind(a: &TextAllocation) -> &'static str {
    match (a.parameter.is_some(), a.live_out) {
        (true, true) => "donated",
        (true, false) => "parameter",
        (false, true) => "output",
        _ if a.constant => "constant",
        _ if a.temp => "temp",
        _ => "",
    }
}

/// The module and the device that the name of a dump names: `module_0010.jit_step.sm_9.0a_gpu_after_optimizations-…`.
#[must_use]
pub fn module_of_file(name: &str) -> Option<String> {
    let name = name.rsplit(['/', '\\']).next()?;
    let rest = match name.strip_prefix("module_") {
        Some(rest) => rest.split_once('.')?.1,
        None => name,
    };
    let end = [
        ".sm_",
        ".gfx",
        ".cpu_after",
        ".gpu_after",
        ".tpu",
        ".before_optimizations",
        "-buffer-assignment",
        "-memory-usage",
    ]
    .iter()
    .filter_map(|stop| rest.find(stop))
    .min()?;
    (end > 0).then(|| rest[..end].to_owned())
}

impl XlaText {
    /// Bytes of one kind in one memory space, where every size is known to the byte.
    #[must_use]
    pub fn bytes_of(&self, color: i64, which: fn(&TextAllocation) -> bool) -> Option<Bytes> {
        let size = add(self.allocations.iter().filter(|a| a.color == color && which(a)));
        self.is_exact().then_some(size.least_bytes)
    }

    /// The memory spaces with allocations, ascending.
    #[must_use]
    pub fn colors(&self) -> Vec<i64> {
        let mut colors: Vec<i64> = self.allocations.iter().map(|a| a.color).collect();
        colors.arrange();
        colors.dedup();
        colors
    }
}
