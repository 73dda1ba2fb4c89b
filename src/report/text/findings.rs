//! The findings as text.

use super::super::model::{Fits, Report, Severity};
use super::{Page, tag};

pub(super) fn findings(out: &mut Page, report: &Report) {
    if report.findings.is_empty() {
        return;
    }
    out.title("Findings", "");
    for f in &report.findings {
        let severity = match f.severity {
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
            Severity::Note => "note",
            Severity::Ok => "ok",
        };
        out.gap();
        out.wrapped("", &format!("{severity}  {}  ({})", f.title, f.id));
        out.wrapped("  ", &format!("{} {}", f.sentence, tag(f.evidence)));
        if !f.cause.is_empty() {
            out.wrapped("  Why: ", &f.cause);
        }
        for fix in &f.fixes {
            out.wrapped("  → ", &format!("{} ({})", fix.text, fix.id));
            if !fix.cost.is_empty() {
                out.wrapped("    Cost: ", &fix.cost);
            }
            if let (Some(least), Some(most)) = (fix.need_after_least_bytes, fix.need_after_most_bytes) {
                let fits = match fix.fits_after {
                    Some(Fits::Yes) => ": fits",
                    Some(Fits::No) => ": does not fit",
                    Some(Fits::Maybe) => ": may fit",
                    None => "",
                };
                let need = if least == most { format!("{least}") } else { format!("{least} to {most}") };
                out.wrapped("    Need after it: ", &format!("{need}{fits} [inferred]"));
            }
            if !fix.how.is_empty() {
                out.wrapped("    ", &fix.how);
            }
            if let Some(code) = &fix.code {
                for line in code.lines() {
                    out.line(&format!("      {}", super::plain(line)));
                }
            }
        }
    }
}
