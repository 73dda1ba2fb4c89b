//! The summary of many captures as text.

use super::super::summary::Summary;
use super::{Page, or_unknown};
use crate::model::{Severity, VerdictStatus};
use crate::plain::short;
use crate::units::Bytes;

/// Rows of each list.
const MOST: usize = 40;

/// The summary as text.
#[must_use]
pub fn summary_text(summary: &Summary) -> String {
    let mut out = Page::default();
    out.title(&format!("{} captures", summary.captures), "");
    out.line(&format!("  {:<12} {:<24} {:<30} {:>12}", "", "host", "module", "need"));
    for row in summary.verdicts.iter().take(MOST) {
        out.line(&format!(
            "  {:<13} {:<24} {:<30} {:>12}",
            status_words(row.verdict.status),
            short(row.host.as_deref().unwrap_or(&row.file), 24),
            row.module.as_deref().map_or_else(|| "none".into(), |m| short(m, 30)),
            or_unknown(row.need_bytes),
        ));
    }
    rest(&mut out, summary.verdicts.len());
    if !summary.devices.is_empty() {
        out.title("Devices", "(those that differ from their peers first)");
        out.line(&format!(
            "  {:<24} {:<20} {:>12} {:>12} {:>14}",
            "host", "allocator", "capacity", "peak", "to the median"
        ));
        for row in summary.devices.iter().take(MOST) {
            let over = row
                .over_median_bytes
                .map(|o| format!("{}{}", if o < 0 { "−" } else { "+" }, Bytes(o.unsigned_abs())));
            out.line(&format!(
                "  {:<24} {:<20} {:>12} {:>12} {:>14}{}",
                short(row.host.as_deref().unwrap_or(&row.file), 24),
                short(&row.allocator, 20),
                or_unknown(row.capacity_bytes),
                or_unknown(row.peak_bytes),
                over.unwrap_or_default(),
                if row.differs { "  differs" } else { "" },
            ));
        }
        rest(&mut out, summary.devices.len());
    }
    out.title("Findings over all captures", "");
    for row in &summary.findings {
        let severity = match row.severity {
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
            Severity::Note => "note",
            Severity::Ok => "ok",
        };
        out.wrapped(
            "  ",
            &format!("{severity} {} in {}: {} ({})", row.id, row.captures, row.example, row.file),
        );
    }
    out.text
}

/// How a verdict's status reads.
#[must_use]
pub fn status_words(status: VerdictStatus) -> &'static str {
    match status {
        VerdictStatus::OutOfMemory => "OUT OF MEMORY",
        VerdictStatus::AtRisk => "AT RISK",
        VerdictStatus::Fits => "FITS",
        VerdictStatus::CannotTell => "CANNOT TELL",
    }
}

fn rest(out: &mut Page, rows: usize) {
    if rows > MOST {
        out.line(&format!("  … {} more (all of them are in the JSON)", rows - MOST));
    }
}
