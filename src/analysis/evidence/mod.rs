//! Reports of evidence that comes alone (the text of a failure, a device memory profile, a text dump of XLA), and the
//! same evidence beside a capture.

mod constant;
mod driver;
mod dump;
mod error_text;
mod fixes;
mod memory_profile;
mod others;
mod outside;
mod written;

pub use dump::of_dump;
pub use error_text::{add_error_text, beside, of_error_text, tell_beside};
pub use memory_profile::{add_memory_profile, of_memory_profile};

use crate::evidence::error_text::TextSize;
use crate::model::{Finding, Fix, Limit, Number, Severity};
use crate::units::Evidence;
use std::collections::BTreeMap;

/// A finding with a title and a sentence.
fn finding(id: &str, severity: Severity, title: &str, sentence: impl Into<String>, cause: &str) -> Finding {
    Finding {
        id: id.into(),
        severity,
        evidence: Evidence::Read,
        title: title.into(),
        sentence: sentence.into(),
        numbers: BTreeMap::new(),
        cause: cause.into(),
        fixes: Vec::new(),
        evidence_at: Vec::new(),
    }
}

/// Adds sizes of a text to a finding: read where the text has them to the byte, inferred where it rounds.
fn with_sizes(mut finding: Finding, sizes: &[(&str, Option<TextSize>)]) -> Finding {
    for &(key, size) in sizes {
        let Some(size) = size else { continue };
        let evidence = if size.is_exact() { Evidence::Read } else { Evidence::Inferred };
        finding.evidence = finding.evidence.with(evidence);
        finding.numbers.insert(key.into(), Number { value: size.about().0 as f64, evidence });
    }
    finding
}

/// A fix without numbers.
fn fix(id: &str, text: &str, cost: &str, how: &str) -> Fix {
    Fix {
        id: id.into(),
        text: text.into(),
        cost: cost.into(),
        need_after_least_bytes: None,
        need_after_most_bytes: None,
        others_after_least_bytes: None,
        others_after_most_bytes: None,
        fits_after: None,
        how: how.into(),
        check: None,
        code: None,
    }
}

fn limit(id: &str, sentence: &str) -> Limit {
    Limit { id: id.into(), sentence: sentence.into() }
}
