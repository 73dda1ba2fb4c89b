//! The summary of many captures as text.

use super::super::summary::Summary;
use super::{Page, or_unknown};
use crate::arrange::distinct;
use crate::model::{Severity, VerdictStatus};
use crate::plain::short;
use crate::units::Bytes;

/// Rows of each list.
const MOST: usize = 40;

/// The summary as text.
#[must_use]
pub fn summary_text(summary: &Summary) -> String {
    let mut out = Page::default();
    let hosts = distinct(summary.verdicts.iter().map(|r| r.host.as_deref()));
    // Where hosts have several captures, the file says which is which.
    let by_file = hosts.len() < summary.verdicts.len();
    let label = |host: &Option<String>, file: &str| match host {
        Some(host) if !by_file => short(host, 24),
        _ => short(file, 24),
    };
    let head = if by_file { "file" } else { "host" };
    out.title(&format!("{} captures", summary.captures), "");
    out.line(&format!("  {:<12} {:<24} {:<30} {:>12}", "", head, "module", "need"));
    for row in summary.verdicts.iter().take(MOST) {
        out.line(&format!(
            "  {:<13} {:<24} {:<30} {:>12}",
            status_words(row.verdict.status),
            label(&row.host, &row.file),
            row.module.as_deref().map_or_else(|| "none".into(), |m| short(m, 30)),
            or_unknown(row.need_bytes),
        ));
    }
    rest(&mut out, summary.verdicts.len());
    for host in hosts.iter().flatten().take(MOST) {
        let runs = summary.verdicts.iter().filter(|r| r.host.as_deref() == Some(host)).count();
        if runs > 1 {
            out.wrapped(
                "  ",
                &format!("{} has {runs} captures: runs one after the other, not peers.", short(host, 40)),
            );
        }
    }
    if !summary.devices.is_empty() {
        out.title("Devices", "(those that differ from their peers first)");
        out.line(&format!(
            "  {:<24} {:<20} {:>12} {:>12} {:>14}",
            head, "allocator", "capacity", "peak", "to the median"
        ));
        for row in summary.devices.iter().take(MOST) {
            let over = row
                .over_median_bytes
                .map(|o| format!("{}{}", if o < 0 { "−" } else { "+" }, Bytes(o.unsigned_abs())));
            out.line(&format!(
                "  {:<24} {:<20} {:>12} {:>12} {:>14}{}",
                label(&row.host, &row.file),
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
