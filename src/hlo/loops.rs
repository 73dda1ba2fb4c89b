//! While loops: a `scan` of JAX is one.

use super::instruction::InstrIx;
use super::module::Hlo;
use serde::Deserialize;

/// A while loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// The `while` instruction.
    pub instruction: InstrIx,
    /// Id of the body's computation, where there is one.
    pub body: Option<i64>,
    /// How often the body runs, where XLA knows.
    pub trip_count: Option<u64>,
}

#[derive(Deserialize)]
struct Config {
    known_trip_count: Option<TripCount>,
}

#[derive(Deserialize)]
struct TripCount {
    n: Number,
}

/// 64-bit numbers are strings in protobuf's JSON; some writers leave them numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Text(String),
    Plain(u64),
}

impl Hlo {
    /// The while loops of the module.
    #[must_use]
    pub fn loops(&self) -> Vec<Loop> {
        self.instructions()
            .filter(|(_, it)| it.opcode == "while")
            .map(|(at, it)| Loop {
                instruction: at,
                // Called computations of a while: the body, then the condition (`HloWhileInstruction`).
                body: it.called_computation_ids().next(),
                trip_count: trip_count(it.backend_config),
            })
            .collect()
    }
}

/// `known_trip_count` of a while's backend config (`WhileLoopBackendConfig`).
fn trip_count(backend_config: &[u8]) -> Option<u64> {
    match serde_json::from_slice::<Config>(backend_config).ok()?.known_trip_count?.n {
        Number::Text(text) => text.parse().ok(),
        Number::Plain(n) => Some(n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trip_counts_are_strings_or_numbers_or_unknown() {
        assert_eq!(trip_count(br#"{"known_trip_count":{"n":"24"},"other":[]}"#), Some(24));
        assert_eq!(trip_count(br#"{"known_trip_count":{"n":3}}"#), Some(3));
        assert_eq!(trip_count(br#"{"known_trip_count":null}"#), None);
        assert_eq!(trip_count(b"{}"), None);
        assert_eq!(trip_count(b"\x08\x01"), None);
    }
}
