//! One plane of a capture, as the index keeps it.

use super::names::NameTable;
use super::stats::{OwnedValue, Stat};
use std::collections::BTreeMap;
use std::ops::Range;

/// One plane: the host, a device, or metadata.
#[derive(Debug, Clone, Default)]
pub struct Plane {
    /// Its id.
    pub id: i64,
    /// `/host:CPU`, `/device:GPU:0`, `/host:metadata`, ….
    pub name: String,
    /// Where it lies in the file.
    pub range: Range<u64>,
    /// Its lines in the order of the file.
    pub lines: Vec<Line>,
    /// Names of events by `metadata_id`.
    pub event_names: NameTable,
    /// Stats of event metadata by `metadata_id`; kept for `/host:metadata` alone, where they hold the modules.
    pub event_stats: BTreeMap<i64, Vec<Stat>>,
    /// Names of stats by `metadata_id`.
    pub stat_names: NameTable,
    /// Stats of the plane.
    pub stats: Vec<Stat>,
}

impl Plane {
    /// The plane's stat of this name.
    #[must_use]
    pub fn stat(&self, name: &str) -> Option<&OwnedValue> {
        self.stats.iter().find(|s| self.stat_names.get(s.metadata_id) == Some(name)).map(|s| &s.value)
    }

    /// The text of the plane's stat of this name.
    #[must_use]
    pub fn stat_text(&self, name: &str) -> Option<&str> {
        match self.stat(name)? {
            OwnedValue::Str(s) => Some(s),
            OwnedValue::Ref(id) => self.stat_names.get(*id as i64),
            _ => None,
        }
    }

    /// The number behind `prefix` in the plane's name: `/device:GPU:3` → 3.
    #[must_use]
    pub fn ordinal(&self, prefix: &str) -> Option<u32> {
        let rest = self.name.strip_prefix(prefix)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    }
}

/// One line: a thread of the host, a stream of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Thread id or stream number; can be a 64-bit hash and negative.
    pub id: i64,
    /// `python3/4471`, `Stream #16(Compute)`.
    pub name: String,
    /// Origin of its events' offsets, in nanoseconds. Differs between the lines of one plane.
    pub timestamp_ns: i64,
    /// Where its events lie in the file: from the first event's tag to the end of the line. Empty without events.
    pub events: Range<u64>,
}
