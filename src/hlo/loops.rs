//! While loops: a `scan` of JAX is one.

use super::fields::integers;
use super::instruction::{InstrIx, Instruction};
use super::module::{Computation, Hlo};
use crate::units::Evidence;

/// A while loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// The `while` instruction.
    pub instruction: InstrIx,
    /// Id of the body's computation, where there is one.
    pub body: Option<i64>,
    /// How often the body runs, where that can be told.
    pub trip_count: Option<TripCount>,
}

/// How often a loop's body runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TripCount {
    /// So often.
    pub n: u64,
    /// `Read` where XLA wrote it down, `Inferred` where it is the bound that the condition compares with.
    pub evidence: Evidence,
}

impl Hlo {
    /// The while loops of the module.
    #[must_use]
    pub fn loops(&self) -> Vec<Loop> {
        self.whiles
            .iter()
            .map(|&at| {
                let it = self.instruction(at);
                // Called computations of a while: the body, then the condition (`HloInstruction::CreateWhile`).
                let mut called = it.called_computation_ids();
                let body = called.next();
                let known =
                    known_trip_count(it.backend_config).map(|n| TripCount { n, evidence: Evidence::Read });
                let trip_count = known.or_else(|| {
                    let condition = self.computation(called.next()?)?;
                    Some(TripCount { n: self.bound(condition)?, evidence: Evidence::Inferred })
                });
                Loop { instruction: at, body, trip_count }
            })
            .collect()
    }

    /// The one integer that a loop's condition compares with: JAX counts from 0 up to it. `None` where the condition has
    /// several, and so is no plain count.
    fn bound(&self, condition: &Computation) -> Option<u64> {
        let mut bound = None;
        let mut look = |it: &Instruction<'_>| {
            if let Some(n) = integer_constant(it) {
                let first = *bound.get_or_insert(n);
                return first == n;
            }
            true
        };
        for at in self.instructions_of(condition) {
            let it = self.instruction(at);
            let inside = it.called_computation_ids().filter_map(|id| self.computation(id));
            let mut inside = inside.flat_map(|called| self.instructions_of(called));
            if !look(&it) || !inside.all(|at| look(&self.instruction(at))) {
                return None;
            }
        }
        u64::try_from(bound?).ok()
    }
}

/// `known_trip_count` of a while's backend config (`WhileLoopBackendConfig`): `{"known_trip_count":{"n":"24"}}`.
fn known_trip_count(backend_config: &[u8]) -> Option<u64> {
    let n = member(member(backend_config, "known_trip_count")?, "n")?;
    // 64-bit numbers are strings in protobuf's JSON; some writers leave them numbers.
    std::str::from_utf8(n.trim_ascii()).ok()?.trim_matches('"').parse().ok()
}

/// The text of a member of a JSON object. serde_json would bring 17 kB into the page for this one number.
fn member<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    if object.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let (mut depth, mut at) = (0u32, 0);
    let (mut name, mut value) = (None, None);
    while let Some(&byte) = object.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => {
                while *object.get(at)? != b'"' {
                    at += if object[at] == b'\\' { 2 } else { 1 };
                }
                if depth == 1 && value.is_none() {
                    name = object.get(start + 1..at);
                }
                at += 1;
            }
            b':' if depth == 1 => value = Some(at),
            b'{' | b'[' => depth += 1,
            b',' | b'}' | b']' => {
                if depth == 1
                    && let Some(from) = value.take()
                    && name == Some(key.as_bytes())
                {
                    return object.get(from..start);
                }
                if byte != b',' {
                    depth = depth.checked_sub(1)?;
                }
            }
            _ => {}
        }
    }
    None
}

/// The value of a scalar integer constant (`LiteralProto`: `s32s` 4, `s64s` 5).
fn integer_constant(it: &Instruction<'_>) -> Option<i64> {
    if it.opcode != "constant" {
        return None;
    }
    let literal = it.literal();
    let mut values = integers(literal, 4).chain(integers(literal, 5));
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trip_counts_are_strings_or_numbers_or_unknown() {
        assert_eq!(known_trip_count(br#"{"known_trip_count":{"n":"24"},"other":[]}"#), Some(24));
        assert_eq!(known_trip_count(br#"{"known_trip_count":{"n":3}}"#), Some(3));
        assert_eq!(known_trip_count(br#"{"known_trip_count":null}"#), None);
        assert_eq!(
            known_trip_count(br#" { "a\"}" : [{}, "\\"], "known_trip_count" : { "n" : "7" } } "#),
            Some(7)
        );
        assert_eq!(known_trip_count(br#"{"a":{"known_trip_count":{"n":"7"}}}"#), None);
        assert_eq!(known_trip_count(br#"{"a":"known_trip_count","b":{"n":"7"}}"#), None);
        assert_eq!(known_trip_count(br#"{"known_trip_count":{"n":"18446744073709551616"}}"#), None);
        assert_eq!(known_trip_count(br#"{"known_trip_count":{"n":"7"#), None);
        assert_eq!(known_trip_count(b"{}"), None);
        assert_eq!(known_trip_count(b"\x08\x01"), None);
    }
}
