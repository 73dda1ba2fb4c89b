//! Damaged captures: something is always read, and nothing panics.

use crate::support::{Read, read_bytes, shared};
use oomscope::capture::Index;
use oomscope::proto::xspace::{XSpace, x_stat};
use oomscope::{facts, join};
use prost::Message;

/// Asks for everything that the run can tell.
fn ask(it: &Read) {
    let allocators = facts::run::allocators(&it.run, &it.joined, &it.platform);
    for a in &allocators {
        for (i, in_use) in a.timeline.in_use_bytes.iter().enumerate() {
            let sum: u64 = a.timeline.owners.iter().map(|o| o.bytes[i].0).fold(0, u64::saturating_add);
            assert_eq!(sum, in_use.0, "{}: owners make up what is in use", a.name);
        }
    }
    let executions = facts::run::executions(&it.run, &it.joined);
    for (i, _) in executions.iter().enumerate() {
        let _ = it.joined.kept_by_failed(&it.run, i);
    }
    let _ = facts::run::retries(&it.run, &it.joined);
    let module = it.joined.default_module(&it.run).map(|m| m.0);
    let _ = facts::run::live_at_last_start(&it.run, &it.joined, module);
    if let Some(window) = join::window(&it.run, &it.joined, module) {
        let _ = join::between(&it.run, &it.index, &&it.bytes[..], &it.checkpoints, window);
    }
}

fn bytes(path: &str) -> Option<Vec<u8>> {
    let path = shared().join(path);
    let read = std::fs::read(&path).ok();
    if read.is_none() {
        eprintln!("skipped: {} is not here", path.display());
    }
    read
}

#[test]
fn a_capture_cut_anywhere_is_read_up_to_there() {
    for (path, step) in [
        ("captures/public/cuda-gtx1080ti-xla2025-a.xplane.pb", 97),
        ("captures/made/tf2.21-cpu-bfc-plain.xplane.pb", 7919),
        ("captures/public/rocm-mi355x-fused-attn.xplane.pb", 15013),
    ] {
        let Some(whole) = bytes(path) else { return };
        let mut read = 0;
        for cut in (1..whole.len()).step_by(step) {
            if Index::read(&whole[..cut]).is_ok() {
                ask(&read_bytes(whole[..cut].to_vec()));
                read += 1;
            }
        }
        assert!(read > 10, "{path}: {read} cuts could be read");
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let Some(whole) = bytes("captures/public/cuda-gtx1080ti-xla2025-b.xplane.pb") else { return };
    // A linear congruential generator: the same damage every time.
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for _ in 0..400 {
        let mut damaged = whole.clone();
        for _ in 0..1 + random() % 8 {
            let at = random() as usize % damaged.len();
            damaged[at] = random() as u8;
        }
        if Index::read(&damaged[..]).is_ok() {
            ask(&read_bytes(damaged));
        }
    }
}

#[test]
fn a_pool_of_no_bytes_has_no_size_that_is_known() {
    let Some(whole) = bytes("captures/public/cuda-gtx1080ti-xla2025-a.xplane.pb") else { return };
    let known = read_bytes(whole.clone());
    assert!(known.run.allocators.iter().any(|a| a.capacity.is_some()));
    let mut space = XSpace::decode(&whole[..]).unwrap();
    for plane in &mut space.planes {
        let names = &plane.stat_metadata;
        let is_size = |id: i64| {
            names.get(&id).is_some_and(|m| m.name.contains("bytes") && !m.name.contains("requested"))
        };
        for stat in plane.lines.iter_mut().flat_map(|l| &mut l.events).flat_map(|e| &mut e.stats) {
            if is_size(stat.metadata_id) {
                stat.value = Some(x_stat::Value::Int64Value(0));
            }
        }
    }
    let it = read_bytes(space.encode_to_vec());
    assert_eq!(it.run.allocators.len(), known.run.allocators.len());
    assert!(it.run.allocators.iter().all(|a| a.capacity.is_none()));
}
