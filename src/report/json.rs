//! The report as JSON: the same bytes from every face.

use serde::Serialize;

/// A report (or a summary, or several reports) as JSON on one line with a line end. Keys come in the order of the
/// types, lists in the order of the report, so that the same capture gives the same bytes.
#[must_use]
pub fn to_json<T: Serialize>(report: &T) -> String {
    // Serializing plain data to memory has no way to fail; keys are strings, numbers finite or null.
    let mut json = serde_json::to_string(report).unwrap_or_else(|e| format!("{{\"error\":\"{e}\"}}"));
    json.push('\n');
    json
}
