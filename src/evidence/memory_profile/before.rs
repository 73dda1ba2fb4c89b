//! Names for the arrays that a capture knows only by size, because they were allocated before it started.

use super::MemoryProfile;
use crate::arrange::Arrange;
use crate::terms::SourceLine;
use crate::units::{Bytes, Evidence};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Arrays of one size and the stacks of a profile that can have made them. Evidence: inferred, since only sizes and
/// counts are compared, and the profile is of another moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeforeMatch {
    /// The size of the allocator's chunk.
    pub chunk_bytes: Bytes,
    /// How many of the capture's arrays have it.
    pub count: u64,
    /// How many arrays of the profile have it, over all stacks named here.
    pub profile_count: u64,
    /// The places in the program that made them, the one with the most arrays first, with their counts.
    pub places: Vec<(SourceLine, u64)>,
    /// How this is known.
    pub evidence: Evidence,
}

/// Arrays that the capture knows as one sum only, since it saw neither their allocation nor their end, and what of a profile
/// they can be. Evidence: inferred.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestMatch {
    /// The allocator.
    pub allocator: String,
    /// Their sum, in chunks.
    pub bytes: Bytes,
    /// The profile's arrays that are not larger than the sum.
    pub profile_count: u64,
    /// Their sum, in chunks.
    pub profile_bytes: Bytes,
    /// Whether the two sums are the same: then these are they.
    pub exact: bool,
    /// The places in the program that made them, the most bytes first, with their counts and bytes.
    pub places: Vec<(SourceLine, u64, Bytes)>,
    /// How this is known.
    pub evidence: Evidence,
}

/// Looks in a profile for arrays that a sum can consist of: those of the device that are not larger than it. `None` where there
/// are none.
#[must_use]
pub fn match_rest(
    profile: &MemoryProfile,
    device: Option<&str>,
    allocator: &str,
    rest: Bytes,
) -> Option<RestMatch> {
    let mut of_place: BTreeMap<Option<&SourceLine>, (u64, u64)> = BTreeMap::new();
    for stack in &profile.stacks {
        let elsewhere = device.is_some() && stack.device.as_deref() != device;
        if stack.kind != "buffer" || elsewhere {
            continue;
        }
        for arrays in &stack.sizes {
            let Some(chunk) = arrays.bytes.0.checked_next_multiple_of(UNIT) else { continue };
            if chunk > 0 && chunk <= rest.0 {
                let sum = of_place.entry(profile.place(stack)).or_default();
                sum.0 = sum.0.saturating_add(arrays.count);
                sum.1 = sum.1.saturating_add(chunk.saturating_mul(arrays.count));
            }
        }
    }
    let profile_count = of_place.values().fold(0u64, |sum, (n, _)| sum.saturating_add(*n));
    let profile_bytes = Bytes(of_place.values().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes)));
    let mut places: Vec<(SourceLine, u64, Bytes)> = of_place
        .into_iter()
        .filter_map(|(place, (count, bytes))| Some((place?.clone(), count, Bytes(bytes))))
        .collect();
    places.arrange_by_key(|(_, _, bytes)| std::cmp::Reverse(*bytes));
    (profile_count > 0).then(|| RestMatch {
        allocator: allocator.to_owned(),
        bytes: rest,
        profile_count,
        profile_bytes,
        exact: profile_bytes == rest,
        places,
        evidence: Evidence::Inferred,
    })
}

/// BFC rounds requests up to this (`kMinAllocationSize`), and hands out the chunk so rounded unless a larger free one is
/// not worth splitting.
const UNIT: u64 = 256;

/// Matches arrays that were allocated before a capture, given as (chunk size, count), with the stacks of a profile of the
/// same process. Sizes that no stack has are left out; a size that several places have names them all.
#[must_use]
pub fn match_sizes(
    profile: &MemoryProfile,
    device: Option<&str>,
    sizes: &[(Bytes, u64)],
) -> Vec<BeforeMatch> {
    let mut of_size: BTreeMap<u64, BTreeMap<&SourceLine, u64>> = BTreeMap::new();
    for stack in &profile.stacks {
        let elsewhere = device.is_some() && stack.device.as_deref() != device;
        if stack.kind != "buffer" || elsewhere {
            continue;
        }
        let Some(place) = profile.place(stack) else { continue };
        for arrays in &stack.sizes {
            if let Some(chunk) = arrays.bytes.0.checked_next_multiple_of(UNIT).filter(|&c| c > 0) {
                let count = of_size.entry(chunk).or_default().entry(place).or_default();
                *count = count.saturating_add(arrays.count);
            }
        }
    }
    let mut wanted: BTreeMap<u64, u64> = BTreeMap::new();
    for &(size, count) in sizes {
        let sum = wanted.entry(size.0).or_default();
        *sum = sum.saturating_add(count);
    }
    let mut found: Vec<BeforeMatch> = wanted
        .into_iter()
        .filter_map(|(chunk_bytes, count)| {
            let places = of_size.get(&chunk_bytes)?;
            let mut places: Vec<(SourceLine, u64)> =
                places.iter().map(|(&place, &n)| (place.clone(), n)).collect();
            places.arrange_by_key(|(_, n)| std::cmp::Reverse(*n));
            let profile_count = places.iter().fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
            let chunk_bytes = Bytes(chunk_bytes);
            Some(BeforeMatch { chunk_bytes, count, profile_count, places, evidence: Evidence::Inferred })
        })
        .collect();
    found.arrange_by_key(|m| std::cmp::Reverse(m.chunk_bytes.0.saturating_mul(m.count)));
    found
}
