//! Captures that are well-formed and say what no profiler would.

use oomscope::proto::xspace::{XEvent, XLine, XPlane, XSpace, XStat, x_event::Data, x_stat::Value};
use oomscope::synth::rng::Rng;
use prost::Message;

/// Numbers at the edges.
pub fn edge(rng: &mut Rng) -> i64 {
    const EDGES: [i64; 16] = [
        0,
        1,
        -1,
        2,
        255,
        256,
        i32::MAX as i64,
        i32::MIN as i64,
        1 << 32,
        (1 << 53) - 1,
        1 << 53,
        1 << 62,
        i64::MAX,
        i64::MAX - 1,
        i64::MIN,
        1_700_000_000_000_000_000,
    ];
    if rng.one_in(3) { rng.u64() as i64 } else { EDGES[rng.below(16) as usize] }
}

/// Names that mean something, or break what prints them.
pub fn name(rng: &mut Rng) -> String {
    const NAMES: [&str; 22] = [
        "",
        "MemoryAllocation",
        "MemoryDeallocation",
        "Build buffer allocations",
        "AllocatorRetry::AllocateRaw",
        "jit_train_step:XLA GPU module",
        ":XLA GPU module",
        "CommonPjRtLoadedExecutable::Execute (",
        "[99999999999999999999] CommonPjRtLoadedExecutable::Execute (jit_train_step)",
        "ComputeSemaphoreAcquire [capacity=-1, value=99999999999999999999]",
        "GPU_18446744073709551616_bfc",
        "GPU_-1_bfc",
        "/device:GPU:4294967296",
        "/host:CPU",
        "/host:metadata",
        "/device:TPU:0",
        "$:0 ",
        "jit_train_step(17",
        "jit_train_step(-9223372036854775809)",
        "<script>alert(1)</script>",
        "\u{202e}\u{0}\u{7f}\n\r\t\"\\",
        "Hlo Proto",
    ];
    if rng.one_in(30) {
        "é".repeat(1 + rng.below(20_000) as usize)
    } else {
        NAMES[rng.below(22) as usize].to_owned()
    }
}

/// Decodes, damages in a few places, and encodes again.
pub fn damage(seed: &[u8], rng: &mut Rng) -> Vec<u8> {
    let Ok(mut space) = XSpace::decode(seed) else { return seed.to_vec() };
    for _ in 0..1 + rng.below(4) {
        once(&mut space, rng);
    }
    space.encode_to_vec()
}

fn once(space: &mut XSpace, rng: &mut Rng) {
    let planes = space.planes.len() as u64;
    if planes == 0 {
        return;
    }
    let at = rng.below(planes) as usize;
    match rng.below(14) {
        0 => {
            let copy = space.planes[at].clone();
            space.planes.push(copy);
        }
        1 => {
            space.planes.remove(at);
        }
        2 => space.planes.swap(at, 0),
        3 => space.planes[at].name = name(rng),
        4 => {
            space.errors.push(name(rng));
            space.hostnames = vec![name(rng); rng.below(4) as usize];
        }
        5 => space.planes.push(XPlane { name: name(rng), ..XPlane::default() }),
        _ => plane(&mut space.planes[at], rng),
    }
}

fn plane(plane: &mut XPlane, rng: &mut Rng) {
    match rng.below(12) {
        0 => plane.id = edge(rng),
        1 => {
            let key = plane
                .event_metadata
                .keys()
                .nth(rng.below(plane.event_metadata.len() as u64) as usize)
                .copied();
            if let Some(metadata) = key.and_then(|k| plane.event_metadata.remove(&k)) {
                plane.event_metadata.insert(edge(rng), metadata);
            }
        }
        2 => {
            let key =
                plane.stat_metadata.keys().nth(rng.below(plane.stat_metadata.len() as u64) as usize).copied();
            if let Some(metadata) = key.and_then(|k| plane.stat_metadata.remove(&k)) {
                plane.stat_metadata.insert(edge(rng), metadata);
            }
        }
        3 => {
            let nth = rng.below(plane.event_metadata.len() as u64) as usize;
            if let Some(metadata) = plane.event_metadata.values_mut().nth(nth) {
                metadata.name = name(rng);
            }
        }
        4 => {
            let nth = rng.below(plane.stat_metadata.len() as u64) as usize;
            if let Some(metadata) = plane.stat_metadata.values_mut().nth(nth) {
                metadata.name = name(rng);
            }
        }
        5 => plane.stats.iter_mut().for_each(|s| stat(s, rng)),
        6 => {
            let line = plane.lines.first().cloned();
            plane.lines.extend(line);
        }
        7 => plane.lines.reverse(),
        _ => {
            let nth = rng.below(plane.lines.len() as u64) as usize;
            if let Some(found) = plane.lines.get_mut(nth) {
                line(found, rng);
            }
        }
    }
}

fn line(line: &mut XLine, rng: &mut Rng) {
    match rng.below(9) {
        0 => line.timestamp_ns = edge(rng),
        1 => line.id = edge(rng),
        2 => line.name = name(rng),
        3 => line.duration_ps = edge(rng),
        4 => line.events.reverse(),
        5 => {
            let copy = line.events.clone();
            line.events.extend(copy);
        }
        6 => {
            let keep = rng.below(line.events.len() as u64 + 1) as usize;
            line.events.truncate(keep);
        }
        // Few events, or all of one line.
        _ => {
            let each = if rng.one_in(4) { 1 } else { 1 + rng.below(line.events.len() as u64) };
            for found in &mut line.events {
                if rng.one_in(each) {
                    event(found, rng);
                }
            }
        }
    }
}

fn event(event: &mut XEvent, rng: &mut Rng) {
    match rng.below(9) {
        0 => event.metadata_id = edge(rng),
        1 => event.data = Some(Data::OffsetPs(edge(rng))),
        2 => event.data = Some(Data::NumOccurrences(edge(rng))),
        3 => event.data = None,
        4 => event.duration_ps = edge(rng),
        5 => event.stats.clear(),
        6 => {
            let copy = event.stats.clone();
            event.stats.extend(copy);
        }
        7 => event.metadata_id = 1 + rng.below(40) as i64,
        _ => {
            let nth = rng.below(event.stats.len() as u64) as usize;
            if let Some(found) = event.stats.get_mut(nth) {
                stat(found, rng);
            }
        }
    }
}

fn stat(stat: &mut XStat, rng: &mut Rng) {
    match rng.below(9) {
        0 => stat.metadata_id = edge(rng),
        1 => stat.value = None,
        2 => {
            const DOUBLES: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e300, 0.5];
            stat.value = Some(Value::DoubleValue(DOUBLES[rng.below(6) as usize]));
        }
        3 => stat.value = Some(Value::Uint64Value(edge(rng) as u64)),
        4 => stat.value = Some(Value::StrValue(name(rng))),
        5 => stat.value = Some(Value::BytesValue(vec![0x0a; rng.below(100) as usize])),
        6 => stat.value = Some(Value::RefValue(edge(rng) as u64)),
        _ => stat.value = Some(Value::Int64Value(edge(rng))),
    }
}
