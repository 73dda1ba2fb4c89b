//! Sizes as XLA prints them: `3666631960`, `3.41GiB`, `54.42G`, `384.0KiB`, `0B`.

use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A size out of a text: the interval of byte counts that are printed so.
///
/// `3.41GiB` stands for any of 3,656,384,512 to 3,666,870,271 bytes. XLA divides by 1024 without remainder until less
/// than 1024 × 1024 are left, and prints that over 1024 with two decimals (KiB with one)
/// (`tsl/platform/numbers.cc`, `HumanReadableNumBytes`; the TPU's `54.42G` is the same without `iB`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct TextSize {
    /// The fewest bytes that are printed so.
    pub least_bytes: Bytes,
    /// The most.
    pub most_bytes: Bytes,
}

impl TextSize {
    /// A size given to the byte.
    #[must_use]
    pub fn exact(bytes: u64) -> TextSize {
        TextSize { least_bytes: Bytes(bytes), most_bytes: Bytes(bytes) }
    }

    /// A size as printed, without spaces; signs of sentences around it are left out. `None` where it is no size, or a
    /// negative one.
    #[must_use]
    pub fn parse(text: &str) -> Option<TextSize> {
        let text = text.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-').trim_end_matches('.');
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        // How often 1024 was divided away before the number that is printed, or None for plain bytes.
        let scale = match unit {
            "" | "B" => None,
            "KiB" | "K" => Some(1u32),
            "MiB" | "M" => Some(2),
            "GiB" | "G" => Some(3),
            "TiB" | "T" => Some(4),
            "PiB" | "P" => Some(5),
            "EiB" | "E" => Some(6),
            _ => return None,
        };
        let Some(scale) = scale else { return number.parse().ok().map(TextSize::exact) };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.len() > 6 {
            return None;
        }
        // In units of the last decimal printed.
        let one = 10u128.pow(fraction.len() as u32);
        let value = whole.parse::<u128>().ok()?.checked_mul(one)?.checked_add(if fraction.is_empty() {
            0
        } else {
            fraction.parse().ok()?
        })?;
        (value <= 1 << 70).then(|| TextSize::of_decimals(value, one, scale))
    }

    /// The sizes that are printed as `value` / `one` of 1024 to the power of `scale`.
    fn of_decimals(value: u128, one: u128, scale: u32) -> TextSize {
        let step = 1024u128.pow(scale - 1);
        // Doubled, so that half a unit of the last decimal is whole. x / 1024 rounds to value / one: x from
        // (2 value - 1) · 1024 / 2 one to (2 value + 1) · 1024 / 2 one. An x halfway goes to the even neighbour.
        let (low, high) = ((2 * value).saturating_sub(1) * 1024, (2 * value + 1) * 1024);
        let halfway = |edge: u128| u128::from(value % 2 == 1 && edge.is_multiple_of(2 * one));
        let low = low.div_ceil(2 * one) + halfway(low);
        let high = high / (2 * one) - halfway(high);
        // Less than 1024 of a unit are printed in the smaller one.
        let low = if high < 1024 { low } else { low.max(1024) };
        let limit = |n: u128| Bytes(u64::try_from(n).unwrap_or(u64::MAX));
        if low > high {
            // More decimals than XLA prints: no whole x has them.
            let bytes = value * 1024 * step;
            return TextSize { least_bytes: limit(bytes / one), most_bytes: limit(bytes.div_ceil(one)) };
        }
        TextSize { least_bytes: limit(low * step), most_bytes: limit((high + 1) * step - 1) }
    }

    /// Whether so many bytes are printed so.
    #[must_use]
    pub fn contains(self, bytes: Bytes) -> bool {
        self.least_bytes <= bytes && bytes <= self.most_bytes
    }

    /// Whether the two can be of the same number of bytes.
    #[must_use]
    pub fn overlaps(self, other: TextSize) -> bool {
        self.least_bytes <= other.most_bytes && other.least_bytes <= self.most_bytes
    }

    /// Whether it is given to the byte.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.least_bytes == self.most_bytes
    }

    /// The number that was printed, for sums and shares, which are about; for what was never printed so (a sum) the middle
    /// of the interval.
    #[must_use]
    pub fn about(self) -> Bytes {
        let middle = self.least_bytes.0 + (self.most_bytes.0 - self.least_bytes.0) / 2;
        if self.is_exact() {
            return Bytes(middle);
        }
        // Two decimals or one are most usual.
        let forms =
            [2u32, 1, 0, 3, 4, 5, 6].into_iter().flat_map(|d| (1..=6u32).map(move |scale| (d, scale)));
        let printed = forms.filter_map(|(decimals, scale)| {
            let (one, unit) = (10u128.pow(decimals), 1024u128.pow(scale));
            let near = (u128::from(middle) * one + unit / 2) / unit;
            let value = (near.saturating_sub(1)..=near + 1)
                .find(|&value| TextSize::of_decimals(value, one, scale) == self)?;
            u64::try_from((value * unit + one / 2) / one).ok()
        });
        Bytes(printed.into_iter().next().unwrap_or(middle))
    }
}

impl fmt::Display for TextSize {
    /// As people read it, `3.41 GiB`, with the bytes where they are known: `3.41 GiB (3666631960 bytes)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_exact() && self.least_bytes.0 >= 1024 {
            return write!(f, "{} ({} bytes)", self.least_bytes, self.least_bytes.0);
        }
        write!(f, "{}", self.about())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XLA's own way of printing, to be inverted.
    fn printed(bytes: u64, suffix: &str) -> String {
        if bytes < 1024 {
            return format!("{bytes}B");
        }
        let (mut n, mut unit) = (bytes, 0);
        while n >= 1024 * 1024 {
            n /= 1024;
            unit += 1;
        }
        let value = n as f64 / 1024.0;
        let letter = ["K", "M", "G", "T", "P", "E"][unit];
        if unit == 0 { format!("{value:.1}{letter}{suffix}") } else { format!("{value:.2}{letter}{suffix}") }
    }

    #[test]
    fn what_was_printed_contains_what_it_was_printed_from() {
        let mut state = 1u64;
        for bits in 0..63 {
            for _ in 0..200 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let bytes = (1u64 << bits) | (state >> (64 - bits.max(1)));
                for suffix in ["iB", ""] {
                    let text = printed(bytes, suffix);
                    let size = TextSize::parse(&text).unwrap();
                    assert!(size.contains(Bytes(bytes)), "{bytes} {text} {size:?}");
                    // And the interval is exactly what is printed so.
                    for edge in [size.least_bytes.0, size.most_bytes.0] {
                        assert_eq!(printed(edge, suffix), text, "{edge}");
                    }
                    assert_ne!(printed(size.most_bytes.0 + 1, suffix), text);
                }
            }
        }
    }

    #[test]
    fn sizes_of_messages() {
        assert_eq!(TextSize::parse("3666631960"), Some(TextSize::exact(3_666_631_960)));
        let size = TextSize::parse("3.41GiB.").unwrap();
        assert!(size.contains(Bytes(3_666_631_960)));
        assert_eq!((size.least_bytes, size.most_bytes), (Bytes(3_656_384_512), Bytes(3_666_870_271)));
        assert_eq!(size.to_string(), "3.41 GiB");
        assert_eq!(TextSize::parse("(54.42G)").unwrap().to_string(), "54.42 GiB");
        assert_eq!(TextSize::parse("0B"), Some(TextSize::exact(0)));
        // The value of a size is the number that was printed, not the middle of what is printed so.
        for (text, bytes) in [
            ("15.75G", 16_911_433_728),
            ("12.00MiB", 12_582_912),
            ("13.4KiB", 13_722),
            ("3.72GiB", 3_994_319_585),
            ("12G", 12 << 30),
            ("2.125G", 2_281_701_376),
        ] {
            assert_eq!(TextSize::parse(text).unwrap().about(), Bytes(bytes), "{text}");
        }
        // XLA prints no such number: still a size, of least and most in order.
        let odd = TextSize::parse("1.23456M").unwrap();
        assert_eq!((odd.least_bytes, odd.most_bytes), (Bytes(1_294_529), Bytes(1_294_530)));
        let sum = TextSize { least_bytes: Bytes(10), most_bytes: Bytes(1000) };
        assert_eq!(sum.about(), Bytes(505));
        assert_eq!(TextSize::exact(3_666_631_960).to_string(), "3.41 GiB (3666631960 bytes)");
        for none in
            ["", "GiB", "-25.62GiB", "unknown", "1.2.3G", "3.41GB", "99999999999999999999", "1.23456789G"]
        {
            assert_eq!(TextSize::parse(none), None, "{none}");
        }
        assert!(TextSize::parse("99999999E").is_some_and(|s| s.most_bytes == Bytes(u64::MAX)));
    }
}
