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

    /// The same digits as serde_json's own, without the tables that it has beside the standard library's.
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        if (1e-5..1e-4).contains(&value.abs()) {
            write!(writer, "{value}")
        } else {
            write!(writer, "{value:?}")
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_written_as_serde_json_writes_them() {
        let mut some =
            vec![0.0, -0.0, 1.0, 0.1, 1e15, 1e16, 1e17, 123_456_789.125, f64::MAX, f64::MIN_POSITIVE, 5e-324];
        for exponent in -20..25 {
            for digits in [1.0, 1.5, 9.999_999, 3.333_333_333_333_333] {
                some.push(digits * 10f64.powi(exponent));
                some.push(-digits * 10f64.powi(exponent));
            }
        }
        for value in some {
            let theirs = serde_json::to_string(&value).unwrap().replace("e+", "e");
            assert_eq!(to_json(&value).trim_end(), theirs, "{value:e}");
        }
        assert_eq!(to_json(&f64::NAN), "null\n");
    }
}
