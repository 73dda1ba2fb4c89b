//! The report as JSON: the same bytes from every face.

use crate::units::MOST_IN_JSON;
use serde::Serialize;
use serde_json::ser::Formatter;
use std::io;

/// Compact JSON whose integers every reader holds exactly: only damaged captures have larger ones, which saturate.
struct Exact;

impl Formatter for Exact {
    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        write!(writer, "{}", value.min(MOST_IN_JSON))
    }

    fn write_i64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        write!(writer, "{}", value.clamp(-(MOST_IN_JSON as i64), MOST_IN_JSON as i64))
    }
}

/// A report (or a summary, or several reports) as JSON on one line with a line end. Keys come in the order of the
/// types, lists in the order of the report, so that the same capture gives the same bytes.
#[must_use]
pub fn to_json<T: Serialize>(report: &T) -> String {
    let mut json = Vec::new();
    // Serializing plain data to memory has no way to fail; keys are strings, numbers finite or null.
    let done = report.serialize(&mut serde_json::Serializer::with_formatter(&mut json, Exact));
    if let Err(e) = done {
        json = format!("{{\"error\":\"{e}\"}}").into_bytes();
    }
    json.push(b'\n');
    String::from_utf8_lossy(&json).into_owned()
}
