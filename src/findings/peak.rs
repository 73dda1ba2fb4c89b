//! The buffers live at the peak, for rules that look at shapes.

use super::case::Case;
use super::detail::parse_shape;
use super::words;
use crate::arrange::Arrange;
use crate::hlo::Shape;
use crate::model::{Buffer, BufferKind, Severity};
use crate::units::{Bytes, Evidence};

/// Buffers that a rule picked out, largest first.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Picked<'a> {
    /// The buffers; each can stand for several equal ones.
    pub buffers: Vec<(&'a Buffer, Shape)>,
    /// Their bytes.
    pub bytes: Bytes,
    /// Their part of the bytes live inside temp at the peak.
    pub share: f64,
}

/// Below this part of the peak a rule keeps quiet.
const WORTH: f64 = 0.10;

/// The temp buffers at the peak that `wanted` picks, where they are a good part of it.
pub(super) fn pick<'a>(case: &Case<'a>, wanted: impl Fn(&Buffer, &Shape) -> bool) -> Option<Picked<'a>> {
    let peak = case.plan()?.peak.as_ref()?;
    let mut buffers: Vec<(&Buffer, Shape)> = peak
        .buffers
        .iter()
        .filter(|b| b.kind == BufferKind::Temp)
        .filter_map(|b| Some((b, parse_shape(&b.shape)?)))
        .filter(|(b, dims)| wanted(b, dims))
        .collect();
    buffers.arrange_by_key(|(b, _)| std::cmp::Reverse(total(b)));
    let bytes: Bytes = buffers.iter().map(|(b, _)| total(b)).sum();
    let share = bytes.share_of(peak.bytes)?;
    (share >= WORTH).then_some(Picked { buffers, bytes, share })
}

fn total(b: &Buffer) -> Bytes {
    Bytes(b.bytes.0.saturating_mul(b.count))
}

impl Picked<'_> {
    /// `f32[32,1,32,2048,2048] (16.00 GiB), bf16[32,1,2048,11008] ×2 (2.75 GiB)`, the three largest, and how many are left out.
    pub fn in_words(&self) -> String {
        let mut parts: Vec<String> = self
            .buffers
            .iter()
            .take(3)
            .map(|(b, _)| {
                let times = if b.count > 1 { format!(" ×{}", b.count) } else { String::new() };
                format!("`{}`{times} ({})", words::shape(&b.shape), total(b))
            })
            .collect();
        if self.buffers.len() > 3 {
            parts.push(format!("{} more", self.buffers.len() - 3));
        }
        words::list(&parts)
    }

    /// Where the program makes the largest: `model.py:41 block`.
    pub fn made_at(&self) -> Option<String> {
        self.buffers.iter().find_map(|(b, _)| b.source.as_ref()).map(words::position)
    }
}

/// How grave something is that makes a plan large: a warning where the plan doesn't fit, else worth knowing.
pub(super) fn severity(case: &Case) -> Severity {
    if case.over().is_some() { Severity::Warning } else { Severity::Note }
}

/// What a guess from shapes and names is.
pub(super) const GUESS: Evidence = Evidence::Inferred;
