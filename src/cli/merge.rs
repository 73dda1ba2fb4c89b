//! `oomscope merge`: the reports of many hosts as one.

use super::args::FailOn;
use super::files::FileSource;
use super::{FOUND, READ, UNREADABLE, fails, print, write_to};
use crate::bytes::Source;
use crate::model::Report;
use crate::plain::plain;
use crate::report::{summarize, summary_text, to_json};
use std::path::{Path, PathBuf};

/// Schemas of this version.
const SCHEMA: &str = "oomscope/1";

/// Merges JSON reports; what cannot be read is named and left out.
pub(super) fn merge(paths: &[PathBuf], json: Option<&Path>, fail_on: Option<FailOn>) -> std::io::Result<u8> {
    let mut reports = Vec::new();
    let mut status = READ;
    for path in paths {
        match load(path) {
            Ok(mut some) => reports.append(&mut some),
            Err(why) => {
                eprintln!("oomscope: {}: {}", plain(&path.display().to_string()), plain(&why));
                status = UNREADABLE;
            }
        }
    }
    if reports.is_empty() {
        return Ok(status);
    }
    let summary = summarize(&reports);
    match json {
        Some(out) => write_to(out, &to_json(&summary))?,
        None => print(&summary_text(&summary))?,
    }
    if status == READ && summary.findings.iter().any(|f| fails(f.severity, fail_on)) {
        status = FOUND;
    }
    Ok(status)
}

/// One report, or an array of them.
fn load(path: &Path) -> Result<Vec<Report>, String> {
    let source = FileSource::open(path).map_err(|e| e.to_string())?;
    let bytes = source.read_range(0..source.len()).map_err(|e| e.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "this is no text, and a JSON report is")?;
    let reports: Vec<Report> = if text.trim_start().starts_with('[') {
        serde_json::from_str(&text)
    } else {
        serde_json::from_str(&text).map(|one| vec![one])
    }
    .map_err(|e| {
        format!("this is no JSON report of oomscope ({e}); bring what `oomscope CAPTURE --json OUT` wrote")
    })?;
    match reports.iter().find(|r| r.schema != SCHEMA) {
        Some(r) => Err(format!("the report has schema {}, this version reads {SCHEMA}", r.schema)),
        None => Ok(reports),
    }
}
