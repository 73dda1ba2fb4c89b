//! Look-up by metadata id, made once per plane: what an event is, and what a stat holds.

use super::names::{self, Class};
use crate::capture::Plane;
use std::collections::HashMap;

/// Values by 64-bit id: dense where ids are small, as they nearly always are.
#[derive(Debug, Default)]
pub(super) struct IdMap<T> {
    dense: Vec<T>,
    sparse: HashMap<i64, T>,
    none: T,
}

impl<T: Copy + PartialEq> IdMap<T> {
    /// From ids and values; what is absent is `none`.
    pub(super) fn new(none: T, count: usize, values: impl Iterator<Item = (i64, T)>) -> IdMap<T> {
        // Ids above this are put aside: a lying id must not cost memory.
        let limit = (4 * count + 1024) as i64;
        let mut map = IdMap { dense: Vec::new(), sparse: HashMap::new(), none };
        for (id, value) in values.filter(|(_, v)| *v != none) {
            if (0..limit).contains(&id) {
                let i = id as usize;
                if map.dense.len() <= i {
                    map.dense.resize(i + 1, none);
                }
                map.dense[i] = value;
            } else {
                map.sparse.insert(id, value);
            }
        }
        map
    }

    /// The value of `id`.
    #[inline(always)]
    pub(super) fn get(&self, id: i64) -> T {
        match self.dense.get(id as usize) {
            Some(&value) if id >= 0 => value,
            _ if self.sparse.is_empty() => self.none,
            _ => self.get_sparse(id),
        }
    }

    #[inline(never)]
    fn get_sparse(&self, id: i64) -> T {
        self.sparse.get(&id).copied().unwrap_or(self.none)
    }
}

/// What a stat holds; names from `xplane_schema.cc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatKind {
    Other,
    AllocatorName,
    IndexOnHost,
    Reserved,
    Allocated,
    Available,
    Fragmentation,
    LifetimePeak,
    Requested,
    ChunkBytes,
    Address,
    Shape,
    Correlation,
    Program,
    Module,
    MemcpyDetails,
    Produces,
    Consumes,
    LaunchId,
    DeviceId,
}

impl StatKind {
    /// Whether it says what a launch, a kernel or a copy is.
    #[inline(always)]
    pub(super) fn labels(self) -> bool {
        matches!(self, StatKind::Correlation | StatKind::Program | StatKind::Module | StatKind::MemcpyDetails)
    }
}

const STATS: &[(&str, StatKind)] = &[
    ("allocator_name", StatKind::AllocatorName),
    ("index_on_host", StatKind::IndexOnHost),
    ("bytes_reserved", StatKind::Reserved),
    ("bytes_allocated", StatKind::Allocated),
    ("bytes_available", StatKind::Available),
    ("fragmentation", StatKind::Fragmentation),
    ("peak_bytes_in_use", StatKind::LifetimePeak),
    ("requested_bytes", StatKind::Requested),
    ("allocation_bytes", StatKind::ChunkBytes),
    ("addr", StatKind::Address),
    ("shape", StatKind::Shape),
    ("correlation_id", StatKind::Correlation),
    ("program_id", StatKind::Program),
    ("hlo_module", StatKind::Module),
    ("memcpy_details", StatKind::MemcpyDetails),
    ("_p", StatKind::Produces),
    ("_c", StatKind::Consumes),
    ("launch_id", StatKind::LaunchId),
    ("device_id", StatKind::DeviceId),
];

/// An event's meaning, and the label its name carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    pub(super) class: Class,
    /// A label (module name), or for [`Class::InFlight`] the number; [`NONE`] without one.
    pub(super) argument: u32,
}

/// No index.
pub(super) const NONE: u32 = u32::MAX;

const OTHER: Entry = Entry { class: Class::Other, argument: NONE };

/// The tables of one plane.
#[derive(Debug)]
pub(super) struct PlaneTables {
    pub(super) events: IdMap<Entry>,
    pub(super) stats: IdMap<StatKind>,
    /// Bytes of copies within the device, by the stat metadata that describes them.
    copies: IdMap<Option<u64>>,
}

impl PlaneTables {
    /// The tables of `plane`; module names go through `label`.
    pub(super) fn new(plane: &Plane, mut label: impl FnMut(&str) -> u32) -> PlaneTables {
        let entries = plane.event_names.iter().map(|(id, name)| {
            let named = names::classify(name);
            let argument = match (named.class, named.argument) {
                (Class::Launch | Class::Call, Some(module)) => label(module),
                (Class::Jit, Some(function)) => label(&names::module_of_call(name, function)),
                (Class::InFlight, Some(text)) => {
                    names::in_flight(text).and_then(|n| u32::try_from(n).ok()).unwrap_or(NONE)
                }
                _ => NONE,
            };
            (id, Entry { class: named.class, argument })
        });
        let kinds = plane
            .stat_names
            .iter()
            .filter_map(|(id, name)| STATS.iter().find(|(n, _)| *n == name).map(|(_, kind)| (id, *kind)));
        PlaneTables {
            events: IdMap::new(OTHER, plane.event_names.len(), entries),
            stats: IdMap::new(StatKind::Other, plane.stat_names.len(), kinds),
            copies: IdMap::new(
                None,
                plane.stat_names.len(),
                plane.stat_names.iter().map(|(id, name)| (id, device_copy(name))),
            ),
        }
    }

    /// The bytes of a copy within the device that this stat metadata describes.
    pub(super) fn device_copy(&self, reference: u64) -> Option<u64> {
        self.copies.get(reference as i64)
    }
}

/// The bytes of a copy within the device, from `kind_src:device kind_dst:device size:4096 dest:0 async:1`
/// (cupti_collector.cc; ROCm writes no kinds, and sizes that are wrong).
pub(super) fn device_copy(details: &str) -> Option<u64> {
    let rest = details.strip_prefix("kind_src:device kind_dst:device size:")?;
    rest.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_copies_within_the_device_count() {
        assert_eq!(
            device_copy("kind_src:device kind_dst:device size:16486400 dest:0 async:1"),
            Some(16_486_400)
        );
        assert_eq!(device_copy("kind_src:pinned kind_dst:device size:8192 dest:0 async:1"), None);
        assert_eq!(device_copy("size:4 dest:1 async:1"), None);
        assert_eq!(device_copy(""), None);
    }

    #[test]
    fn ids_may_be_negative_or_huge() {
        let ids = [(3, 1u8), (-4, 2), (i64::MAX, 3), (1 << 40, 4)];
        let map = IdMap::new(0u8, ids.len(), ids.into_iter());
        for (id, value) in ids {
            assert_eq!(map.get(id), value);
        }
        assert_eq!(map.get(5), 0);
        assert_eq!(map.get(i64::MIN), 0);
        assert!(map.dense.len() < 2000, "a huge id costs no table");
    }
}
