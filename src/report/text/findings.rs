//! The findings as text.

use super::{Page, tag};
use crate::model::{Fits, Fix, Report, Severity, WhatIf};

pub(super) fn findings(out: &mut Page, report: &Report) {
    if report.findings.is_empty() {
        return;
    }
    out.title("Findings", "");
    let mut told: Vec<(&Fix, &str)> = Vec::new();
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
            if let Some((_, finding)) = told.iter().find(|(other, _)| *other == fix) {
                out.wrapped("  → ", &format!("{}, as with {finding} above", fix.id));
                continue;
            }
            told.push((fix, &f.id));
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
    // All of them are of the one module analysed.
    if let Some(check) = report.findings.iter().flat_map(|f| &f.fixes).find_map(|fix| fix.check.as_ref()) {
        out.gap();
        out.wrapped("", RECKONED);
        out.wrapped("", "What a fix really needs, before anything runs:");
        out.line(&format!("  {}", super::plain(check)));
    }
}

/// How the intervals of all fixes were reached.
const RECKONED: &str =
    "A need after fixes is the peak of the plan's schedule without what they take, at best and at worst.";

/// The answer to `--what-if` as text.
#[must_use]
pub fn what_if_text(answer: &WhatIf) -> String {
    let mut out = Page::default();
    out.title(&format!("What if: {}", answer.fixes.join(", ")), "[inferred]");
    let (least, most) = (answer.need_after_least_bytes, answer.need_after_most_bytes);
    let after = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let mut line = format!("need {} → {after}", answer.need_bytes);
    if least >= answer.need_bytes && most > answer.need_bytes {
        line.push_str(", more than now");
    }
    for (what, fits) in [("pool", answer.fits_pool), ("card", answer.fits_card)] {
        match fits {
            Some(Fits::Yes) => line.push_str(&format!("; fits the {what}")),
            Some(Fits::No) => line.push_str(&format!("; does not fit the {what}")),
            Some(Fits::Maybe) => line.push_str(&format!("; may fit the {what}")),
            None => {}
        }
    }
    if answer.fits_pool.is_none() && answer.fits_card.is_none() {
        line.push_str("; whether that fits cannot be told: the file names neither pool nor card (--pool or --card gives its size)");
    }
    out.wrapped("  ", &line);
    out.wrapped("  ", &answer.how);
    if least != most {
        out.wrapped("  ", RECKONED);
    }
    out.text
}
