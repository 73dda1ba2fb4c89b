//! A large capture must be a capture: readable by the whole schema, with allocators that add up.

use super::*;
use crate::proto::xspace::{XSpace, x_event::Data, x_stat::Value};
use prost::Message as _;
use std::collections::BTreeMap;

fn made(large: &Large) -> Vec<u8> {
    let mut bytes = Vec::new();
    large.write(&mut |part| bytes.extend_from_slice(part));
    bytes
}

#[test]
fn size_lines_and_allocators_are_as_asked() {
    for bytes in [1_000_000, 9_000_000] {
        let large = Large::of_size(bytes, 3);
        let file = made(&large);
        assert!(file.len().abs_diff(bytes as usize) < bytes as usize / 20, "{} for {bytes}", file.len());
        let space = XSpace::decode(&*file).unwrap();
        assert_eq!(space.planes.len(), 2 + large.devices);
        let host = space.planes.last().unwrap();
        assert_eq!(host.lines.len(), 9 + large.devices);
        let mut memory = Vec::new();
        let (mut events, mut bytes) = (0, 0);
        for plane in &space.planes {
            for line in &plane.lines {
                let mut before = i64::MIN;
                for event in &line.events {
                    let Some(Data::OffsetPs(offset)) = event.data else { panic!("an event without a start") };
                    assert!(offset >= before, "{} is in order", line.name);
                    before = offset;
                    events += 1;
                    bytes += event.encoded_len() + 2;
                    let name = &plane.event_metadata[&event.metadata_id].name;
                    if name.starts_with("Memory") && plane.name == "/host:CPU" {
                        let of = |stat: &str| {
                            let found =
                                event.stats.iter().find(|s| plane.stat_metadata[&s.metadata_id].name == stat);
                            match found.and_then(|s| s.value.clone()) {
                                Some(Value::Int64Value(v)) => v,
                                Some(Value::RefValue(v)) => v as i64,
                                other => panic!("{stat}: {other:?}"),
                            }
                        };
                        let sign = if name == "MemoryAllocation" { 1 } else { -1 };
                        let at = line.timestamp_ns * 1000 + offset;
                        memory.push((
                            at,
                            of("allocator_name"),
                            of("bytes_allocated"),
                            sign * of("allocation_bytes"),
                        ));
                    }
                }
            }
        }
        memory.sort_by_key(|e| e.0);
        let mut totals = BTreeMap::new();
        for (_, allocator, in_use, change) in memory {
            if let Some(before) = totals.insert(allocator, in_use) {
                assert_eq!(before + change, in_use);
            }
        }
        assert_eq!(totals.len(), large.devices + 1);
        let mean = bytes as f64 / f64::from(events);
        assert!((25.0..40.0).contains(&mean), "an event has {mean} bytes");
    }
}

#[test]
fn a_module_has_the_instructions_that_were_asked_for() {
    let hlo = module(5000, 1);
    let count: usize =
        hlo.hlo_module.as_ref().unwrap().computations.iter().map(|c| c.instructions.len()).sum();
    assert!((4500..6000).contains(&count), "{count}");
    assert!(!hlo.buffer_assignment.as_ref().unwrap().heap_simulator_traces.is_empty());
    assert_eq!(module(5000, 1), hlo, "the same every time");
    assert_ne!(module(5000, 2), hlo);
}
