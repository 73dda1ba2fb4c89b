//! Captures changed by hand: what the run is must not hang on how a profiler wrote it.

use crate::support::{Read, read, read_bytes, shared};
use oomscope::facts;
use oomscope::proto::xspace::{
    XEvent, XEventMetadata, XLine, XPlane, XSpace, XStat, XStatMetadata, x_event, x_stat,
};
use oomscope::terms::{Outcome, RetryOutcome};
use oomscope::units::Evidence;
use prost::Message;

fn space(path: &str) -> Option<XSpace> {
    let path = shared().join(path);
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("skipped: {} is not here", path.display());
        return None;
    };
    Some(XSpace::decode(&bytes[..]).unwrap())
}

fn told(it: &Read) -> String {
    let executions = facts::run::executions(&it.run, &it.joined);
    let allocators = facts::run::allocators(&it.run, &it.joined, &it.platform);
    let retries = facts::run::retries(&it.run, &it.joined);
    serde_json::to_string_pretty(&(executions, allocators, retries)).unwrap()
}

#[test]
fn lines_out_of_order_give_the_same_run() {
    for path in [
        "captures/public/rocm-mi300x-jax0.6-conv.xplane.pb",
        "captures/public/cuda-gtx1080ti-xla2025-a.xplane.pb",
        "scenarios/s8_retry_rescued.xplane.pb",
        "scenarios/s7_donation_defeated.xplane.pb",
    ] {
        let Some(mut space) = space(path) else { return };
        let wanted = told(&read(&shared().join(path)));
        for plane in space.planes.iter_mut().filter(|p| p.name == "/host:CPU") {
            for line in &mut plane.lines {
                line.events.reverse();
            }
        }
        let it = read_bytes(space.encode_to_vec());
        assert!(told(&it) == wanted, "{path}: another run");
    }
}

#[test]
fn the_order_of_planes_and_lines_does_not_matter() {
    for path in ["captures/public/rocm-mi300x-jax0.8-conv.xplane.pb", "scenarios/s4_fsdp8_fits.xplane.pb"] {
        let Some(mut space) = space(path) else { return };
        let wanted = told(&read(&shared().join(path)));
        space.planes.reverse();
        for plane in &mut space.planes {
            plane.lines.reverse();
        }
        let it = read_bytes(space.encode_to_vec());
        assert!(told(&it) == wanted, "{path}: another run");
    }
}

fn rename(space: &mut XSpace, from: &str, to: &str) {
    let host = space.planes.iter_mut().filter(|p| p.name == "/host:CPU");
    for metadata in host.flat_map(|p| p.event_metadata.values_mut()).filter(|m| m.name == from) {
        metadata.name = to.into();
    }
}

#[test]
fn a_rescued_wait_without_an_event_of_its_own_is_inferred() {
    let Some(mut space) = space("scenarios/s8_retry_rescued.xplane.pb") else { return };
    // Clients before 0.11 wait without a word.
    rename(&mut space, "AllocatorRetry::AllocateRaw", "an event of no meaning");
    let it = read_bytes(space.encode_to_vec());
    let retries = facts::run::retries(&it.run, &it.joined);
    assert_eq!(retries.len(), 1, "{retries:?}");
    let retry = &retries[0];
    assert_eq!((retry.outcome, retry.evidence), (RetryOutcome::Rescued, Evidence::Inferred));
    assert_eq!(retry.execution, Some(0));
    assert_eq!(retry.missing.as_ref().unwrap().bytes.0, 425_638_936);
    assert_eq!(retry.free_bytes.unwrap().0, 347_068_928);
    assert!((retry.duration_ps.0 - 1_300_000_000_000).abs() < 10_000_000_000, "{retry:?}");
    // Another thread ended the wait: the scenario's truth has where.
    let freed = retry.freed.as_ref().unwrap();
    assert_eq!(freed.len(), 1, "{freed:?}");
    assert_eq!(freed[0].frame.as_deref(), Some("$prefetch.py:77 _drop_oldest"));
    assert_eq!((freed[0].bytes.0, freed[0].count), (256 << 20, 1));
}

#[test]
fn a_slow_launch_with_room_is_no_wait() {
    // Eight pools that grow take 43 ms inside `Build buffer allocations`, with 150 GB free.
    let path = shared().join("captures/public/rocm-mi300x-jax0.8-conv.xplane.pb");
    if path.exists() {
        let it = read(&path);
        assert!(it.run.waits.len() >= 8, "{:?}", it.run.waits);
        assert_eq!(facts::run::retries(&it.run, &it.joined), []);
    } else {
        eprintln!("skipped: {} is not here", path.display());
    }
}

#[test]
fn executions_of_an_unknown_client_are_known_by_their_launches() {
    let Some(mut space) = space("scenarios/s2_gradients_kept.xplane.pb") else { return };
    let known = facts::run::executions(
        &read_bytes(space.encode_to_vec()).run,
        &read_bytes(space.encode_to_vec()).joined,
    );
    rename(&mut space, "PjRtStreamExecutorLoadedExecutable::ExecuteHelper", "FutureExecutable::Go");
    let it = read_bytes(space.encode_to_vec());
    let executions = facts::run::executions(&it.run, &it.joined);
    assert_eq!(executions.len(), known.len());
    for (ours, wanted) in executions.iter().zip(&known) {
        assert_eq!(ours.module, wanted.module);
        assert_eq!(ours.requested_bytes, wanted.requested_bytes);
        assert_eq!(ours.kernels, wanted.kernels);
        assert_eq!(ours.outcome, Outcome::Ran);
    }
}

/// A capture of TensorFlow's CPU allocator with operations of these lengths, in each of which something is
/// allocated or not.
fn eager_operations(operations: &[(i64, bool)]) -> XSpace {
    let stats = [
        "allocator_name",
        "bytes_allocated",
        "bytes_available",
        "requested_bytes",
        "allocation_bytes",
        "addr",
    ];
    let stat = |id: i64, value| XStat { metadata_id: id, value: Some(value) };
    let allocation = |at: i64, n: i64| XEvent {
        metadata_id: 2,
        data: Some(x_event::Data::OffsetPs(at)),
        duration_ps: 0,
        stats: vec![
            stat(1, x_stat::Value::RefValue(100)),
            stat(2, x_stat::Value::Int64Value(n * 256)),
            stat(3, x_stat::Value::Int64Value(1024 - n * 256)),
            stat(4, x_stat::Value::Int64Value(4)),
            stat(5, x_stat::Value::Int64Value(256)),
            stat(6, x_stat::Value::Int64Value(n * 256)),
        ],
    };
    let mut events = vec![allocation(0, 1)];
    let (mut at, mut n) = (1_000_000, 1);
    for &(length, allocates) in operations {
        events.push(XEvent {
            metadata_id: 1,
            data: Some(x_event::Data::OffsetPs(at)),
            duration_ps: length,
            stats: Vec::new(),
        });
        if allocates {
            n += 1;
            events.push(allocation(at + length - 1000, n));
        }
        at += length + 1_000_000;
    }
    let named = |names: &[&str]| {
        (1..)
            .zip(names)
            .map(|(id, name)| (id, XEventMetadata { id, name: (*name).into(), ..XEventMetadata::default() }))
            .collect()
    };
    let mut stat_metadata: std::collections::BTreeMap<i64, XStatMetadata> = (1..)
        .zip(stats)
        .map(|(id, name)| (id, XStatMetadata { id, name: name.into(), ..XStatMetadata::default() }))
        .collect();
    stat_metadata.insert(100, XStatMetadata { id: 100, name: "mklcpu".into(), ..XStatMetadata::default() });
    XSpace {
        planes: vec![XPlane {
            name: "/host:CPU".into(),
            lines: vec![XLine { id: 1, name: "python".into(), timestamp_ns: 5, events, ..XLine::default() }],
            event_metadata: named(&["KernelAndDeviceFunc::Run", "MemoryAllocation"]),
            stat_metadata,
            ..XPlane::default()
        }],
        ..XSpace::default()
    }
}

#[test]
fn ten_seconds_without_an_allocation_are_a_failed_wait_of_tensorflow() {
    let ten = 10_010_000_000_000;
    let it = read_bytes(
        eager_operations(&[(ten, false), (ten, true), (2 * ten, false), (1_000, false)]).encode_to_vec(),
    );
    let retries = facts::run::retries(&it.run, &it.joined);
    assert_eq!(retries.len(), 1, "{retries:?}");
    assert_eq!((retries[0].outcome, retries[0].evidence), (RetryOutcome::Failed, Evidence::Inferred));
    assert_eq!((retries[0].at_ps.0, retries[0].duration_ps.0), (1_000_000, ten));
    assert_eq!(retries[0].free_bytes.unwrap().0, 768);
}
