//! Units as types, so that a size is never added to a time or to an index.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A number of bytes.
///
/// Arithmetic saturates: a capture can hold any numbers, and a report of a damaged one must not wrap around.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// The largest integer that every reader of JSON holds exactly, 2^53 - 1. Only damaged captures claim more; their
/// numbers saturate there.
pub const MOST_IN_JSON: u64 = (1 << 53) - 1;

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0.min(MOST_IN_JSON))
    }
}

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// A size from a signed protobuf field; negative sizes (only damaged files have them) become zero.
    #[must_use]
    pub fn from_i64(n: i64) -> Bytes {
        Bytes(u64::try_from(n).unwrap_or(0))
    }

    /// The difference, or zero where `other` is larger.
    #[must_use]
    pub fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// `self / whole`, or `None` where `whole` is zero.
    #[must_use]
    pub fn share_of(self, whole: Bytes) -> Option<f64> {
        (whole.0 > 0).then(|| self.0 as f64 / whole.0 as f64)
    }
}

impl std::ops::Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(sizes: I) -> Bytes {
        sizes.fold(Bytes::ZERO, |a, b| a + b)
    }
}

impl fmt::Display for Bytes {
    /// Binary units with two decimals from KiB on (`3.72 GiB`), as people read sizes of memory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];
        for (unit, shift) in UNITS {
            if shift == 0 {
                return write!(f, "{} B", self.0);
            }
            if self.0 >= 1 << shift {
                let n = self.0 as f64 / (1u64 << shift) as f64;
                return if n >= 1000.0 { write!(f, "{n:.0} {unit}") } else { write!(f, "{n:.2} {unit}") };
            }
        }
        Ok(())
    }
}

/// A moment or a length of time in picoseconds.
///
/// Moments count from the first event of the capture: raw line times are Unix nanoseconds, which in picoseconds
/// leave 64 bits (`xplane.proto`, `XLine.timestamp_ns`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Picos(pub i64);

impl Serialize for Picos {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let most = MOST_IN_JSON as i64;
        serializer.serialize_i64(self.0.clamp(-most, most))
    }
}

impl Picos {
    /// The time from `earlier` to `self`, saturating.
    #[must_use]
    pub fn since(self, earlier: Picos) -> Picos {
        Picos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Picos {
    /// The unit that leaves one to three digits before the point: `10.00 s`, `52.4 ms`, `138.5 µs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0 as f64;
        match n.abs() {
            a if a >= 1e12 => write!(f, "{:.2} s", n / 1e12),
            a if a >= 1e9 => write!(f, "{:.1} ms", n / 1e9),
            a if a >= 1e6 => write!(f, "{:.1} µs", n / 1e6),
            a if a >= 1e3 => write!(f, "{:.1} ns", n / 1e3),
            _ => write!(f, "{} ps", self.0),
        }
    }
}

/// How a number came to be known.
///
/// Ordered from strong to weak, so that the class of a sum or a comparison is the maximum over its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// An allocator or trace event of the capture said it.
    Measured,
    /// XLA's plan said it.
    Read,
    /// Computed or guessed from the other two.
    Inferred,
}

impl Evidence {
    /// The class of something made from `self` and `other`: the weaker of the two.
    #[must_use]
    pub fn with(self, other: Evidence) -> Evidence {
        self.max(other)
    }
}

/// A number as it is after it was written with six digits, and its power of ten.
#[must_use]
pub fn six_digits(f: f64) -> (f64, i32) {
    let text = format!("{f:.5e}");
    let (digits, exponent) = text.split_once('e').unwrap_or_default();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // A quotient of integers is as near to the digits as reading them as a fraction, which takes 10 kB of tables.
    let digits: Option<i32> = digits.replace('.', "").parse().ok();
    (digits.map_or(f, |digits| f64::from(digits) / 10f64.powi(5 - exponent)), exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_those_that_would_be_read() {
        for f in [0.1, 0.123_456_7, 1.0 / 3.0, 2.5e-7, 9.999_999, 123_456_789.0, -0.066_666_7, 0.0] {
            let read: f64 = format!("{f:.5e}").parse().unwrap();
            assert_eq!(six_digits(f).0, read);
        }
        assert_eq!(six_digits(0.0375).1, -2);
        assert!(six_digits(f64::NAN).0.is_nan());
    }

    #[test]
    fn sizes_read_as_people_write_them() {
        assert_eq!(Bytes(3_991_235_612).to_string(), "3.72 GiB");
        assert_eq!(Bytes(109_022_876).to_string(), "103.97 MiB");
        assert_eq!(Bytes(0).to_string(), "0 B");
        assert_eq!(Bytes(1023).to_string(), "1023 B");
        assert_eq!(Bytes(u64::MAX).to_string(), "16777216 TiB");
    }

    #[test]
    fn sums_saturate_and_evidence_weakens() {
        assert_eq!(Bytes(u64::MAX) + Bytes(1), Bytes(u64::MAX));
        assert_eq!(Evidence::Measured.with(Evidence::Read), Evidence::Read);
        assert_eq!(Evidence::Inferred.with(Evidence::Measured), Evidence::Inferred);
    }

    #[test]
    fn times_pick_their_unit() {
        assert_eq!(Picos(10_000_381_000_000).to_string(), "10.00 s");
        assert_eq!(Picos(138_500_000).to_string(), "138.5 µs");
    }
}
