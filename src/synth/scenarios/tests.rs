//! The captures must be what their truths say, before anything else reads them.

use super::*;
use crate::proto::xspace::{XEvent, XPlane, XSpace, x_event::Data, x_stat::Value};
use prost::Message as _;
use std::collections::{BTreeMap, BTreeSet};

fn stat(plane: &XPlane, event: &XEvent, name: &str) -> Option<i64> {
    event.stats.iter().find(|s| plane.stat_metadata[&s.metadata_id].name == name).and_then(|s| {
        match s.value {
            Some(Value::Int64Value(v)) => Some(v),
            Some(Value::RefValue(v)) => Some(v as i64),
            _ => None,
        }
    })
}

/// Name and allocator events (in absolute time) of the host plane.
fn host_events(space: &XSpace) -> Vec<(i64, String, Option<(i64, i64, i64, i64)>)> {
    let plane = space.planes.iter().find(|p| p.name == "/host:CPU").unwrap();
    let mut events = Vec::new();
    for line in &plane.lines {
        for event in &line.events {
            let Some(Data::OffsetPs(offset)) = event.data else { panic!("an event without a start") };
            let name = plane.event_metadata[&event.metadata_id].name.clone();
            let memory = stat(plane, event, "allocator_name").map(|allocator| {
                let of = |name| stat(plane, event, name).unwrap();
                (allocator, of("bytes_allocated"), of("bytes_available"), of("allocation_bytes"))
            });
            assert!(offset >= 0 && event.duration_ps >= 0);
            events.push((line.timestamp_ns * 1000 + offset, name, memory));
        }
    }
    events.sort_by_key(|e| e.0);
    events
}

#[test]
fn every_finding_has_a_scenario() {
    let covered: BTreeSet<&str> = scenarios().iter().flat_map(|s| s.must.clone()).collect();
    let all = [
        "allocator-retry",
        "captured-constants",
        "devices-differ",
        "donation-defeated",
        "fits",
        "float32-copies",
        "fragmented",
        "grows-per-execution",
        "live-arrays",
        "many-executables",
        "not-donated",
        "op-by-op",
        "pool-smaller-than-card",
        "stacked-residuals",
        "step-does-not-fit",
        "truncated-capture",
        "unsharded",
        "vocabulary-logits",
        "xla-budget",
        "xla-rematerialized",
    ];
    assert_eq!(covered.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn captures_are_small_and_named_as_they_are_listed() {
    for &(name, make) in ALL {
        let scenario = make();
        assert_eq!(scenario.name, name);
        assert!(scenario.bytes.len() < 200_000, "{name} has {} bytes", scenario.bytes.len());
        assert_eq!(make().bytes, scenario.bytes, "{name} is not the same twice");
    }
}

#[test]
fn allocators_add_up_in_absolute_time() {
    for scenario in scenarios().into_iter().filter(|s| s.name != "cut-off") {
        let space = XSpace::decode(&*scenario.bytes).unwrap();
        assert_eq!(space.hostnames, ["synthetic"]);
        let mut totals: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        let mut breaks = 0;
        for (_, name, memory) in host_events(&space) {
            let Some((allocator, in_use, available, chunk)) = memory else { continue };
            let before = in_use - if name == "MemoryAllocation" { chunk } else { -chunk };
            if let Some((total, capacity)) = totals.insert(allocator, (in_use, in_use + available)) {
                breaks += u64::from(total != before);
                assert_eq!(capacity, in_use + available, "{}", scenario.name);
            }
        }
        // Lost events break the chain of the device's allocator, and nothing else does.
        assert_eq!(breaks, u64::from(scenario.name == "events-lost"), "{}", scenario.name);
    }
}

#[test]
fn what_fails_fails_for_the_reason_that_the_name_says() {
    let truth = |name: &str| ALL.iter().find(|(n, _)| *n == name).unwrap().1().truth;
    for name in [
        "attention-too-large",
        "nothing-donated",
        "small-pool",
        "float32-copies",
        "large-vocabulary",
        "scan-residuals",
    ] {
        let t = truth(name);
        assert!(t.need > t.capacity && t.failed.is_some(), "{name}: {t:?}");
    }
    for name in ["gradients-kept", "data-set-on-device"] {
        let t = truth(name);
        let ((_, bytes), (free, largest)) = (t.failed.unwrap(), t.free_at_failure.unwrap());
        assert!(
            t.need.unwrap_or(0) < t.capacity.unwrap() && free < bytes && largest <= free,
            "{name}: {t:?}"
        );
    }
    let t = truth("fragmented-pool");
    let ((_, bytes), (free, largest)) = (t.failed.unwrap(), t.free_at_failure.unwrap());
    assert!(largest < bytes && bytes < free && t.need < t.capacity, "{t:?}");
    for name in [
        "fits",
        "donation-defeated",
        "wait-rescued",
        "rematerialized",
        "checkpointed",
        "growing-pool",
        "captured-constant",
        "events-lost",
        "one-device-fuller",
        "unsharded-init",
        "many-shapes",
    ] {
        let t = truth(name);
        assert!(t.failed.is_none() && t.peak < t.capacity && t.need <= t.capacity, "{name}: {t:?}");
    }
}
