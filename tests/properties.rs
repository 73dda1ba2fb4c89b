//! Properties that hold for every capture: what must not matter doesn't, and what is scaled scales.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use oomscope::analysis::{Options, read};
use oomscope::model::Report;
use oomscope::proto::hlo::HloProto;
use oomscope::proto::xspace::{XPlane, XSpace, x_event::Data, x_stat::Value};
use oomscope::synth::rng::Rng;
use oomscope::synth::scenarios::{Scenario, scenarios};
use prost::Message;
use serde_json::Value as Json;

fn report(bytes: &[u8]) -> Report {
    read(bytes, "host.xplane.pb", |_| {})
        .expect("a made capture")
        .report(&Options { top: 10_000, ..Options::default() })
}

/// As JSON, without where in the file things lie.
fn json(report: &Report) -> Json {
    let mut value = serde_json::to_value(report).unwrap();
    value["source"]["size_bytes"] = Json::Null;
    for warning in value["warnings"].as_array_mut().unwrap() {
        warning["offset"] = Json::Null;
    }
    value
}

/// The first place where two reports differ; `None` where they are the same by `same`.
fn difference(a: &Json, b: &Json, path: &str, same: &dyn Fn(&str, &Json, &Json) -> bool) -> Option<String> {
    match (a, b) {
        (Json::Object(x), Json::Object(y)) if x.len() == y.len() => {
            x.iter().find_map(|(key, item)| difference(item, &b[key], &format!("{path}.{key}"), same))
        }
        (Json::Array(x), Json::Array(y)) if x.len() == y.len() => x
            .iter()
            .zip(y)
            .enumerate()
            .find_map(|(i, (x, y))| difference(x, y, &format!("{path}[{i}]"), same)),
        _ => (!same(path, a, b)).then(|| format!("{path}: {a} and {b}")),
    }
}

fn assert_same(a: &Report, b: &Report, what: &str) {
    if let Some(difference) = difference(&json(a), &json(b), "", &|_, a, b| a == b) {
        panic!("{what} changes {difference}");
    }
}

/// Scenarios whose file is whole.
fn whole() -> Vec<(Scenario, XSpace)> {
    let all = scenarios().into_iter().filter(|s| s.name != "cut-off");
    all.map(|s| (XSpace::decode(&*s.bytes).unwrap(), s)).map(|(space, s)| (s, space)).collect()
}

fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

#[test]
fn the_order_of_planes_and_lines_does_not_matter() {
    for (scenario, space) in whole() {
        let before = report(&scenario.bytes);
        for seed in 0..3 {
            let mut rng = Rng(seed);
            let mut space = space.clone();
            shuffle(&mut space.planes, &mut rng);
            for plane in &mut space.planes {
                shuffle(&mut plane.lines, &mut rng);
            }
            assert_same(&before, &report(&space.encode_to_vec()), &format!("shuffling {}", scenario.name));
        }
    }
}

#[test]
fn the_numbering_of_names_does_not_matter() {
    for (scenario, mut space) in whole() {
        for plane in &mut space.planes {
            // Modules' keys are ids.
            if plane.name == "/host:metadata" {
                continue;
            }
            let new = |id: i64| 5_000_000_000 - 3 * id;
            plane.event_metadata = std::mem::take(&mut plane.event_metadata)
                .into_iter()
                .map(|(k, mut m)| {
                    m.id = new(k);
                    (new(k), m)
                })
                .collect();
            for event in plane.lines.iter_mut().flat_map(|l| &mut l.events) {
                event.metadata_id = new(event.metadata_id);
            }
        }
        let renumbered = report(&space.encode_to_vec());
        assert_same(&report(&scenario.bytes), &renumbered, &format!("renumbering {}", scenario.name));
    }
}

#[test]
fn the_origins_of_lines_do_not_matter() {
    for (scenario, mut space) in whole() {
        for (n, line) in space.planes.iter_mut().flat_map(|p| &mut p.lines).enumerate() {
            // Each line counts from an earlier moment than before.
            let earlier = (n as i64 * 7919) % line.timestamp_ns.max(1);
            line.timestamp_ns -= earlier;
            for event in &mut line.events {
                if let Some(Data::OffsetPs(offset)) = &mut event.data {
                    *offset += earlier * 1000;
                }
            }
        }
        let moved = report(&space.encode_to_vec());
        assert_same(&report(&scenario.bytes), &moved, &format!("moving the origins of {}", scenario.name));
    }
}

fn is_memory_event(plane: &XPlane, metadata: i64) -> bool {
    plane.event_metadata.get(&metadata).is_some_and(|m| m.name.starts_with("Memory"))
}

/// Splits the allocator events of every host line over three lines, in turn.
fn split(space: &mut XSpace) {
    let Some(plane) = space.planes.iter_mut().find(|p| p.name == "/host:CPU") else { return };
    let mut parts = Vec::new();
    for line in plane.lines.clone() {
        for part in 0..3 {
            let mut copy = line.clone();
            copy.id = line.id.wrapping_add(part);
            let mut n = 0;
            copy.events.retain(|e| {
                let memory = is_memory_event(plane, e.metadata_id);
                n += i64::from(memory);
                if memory { n % 3 == part } else { part == 0 }
            });
            parts.push(copy);
        }
    }
    plane.lines = parts;
}

#[test]
fn allocator_events_may_be_spread_over_lines() {
    for (scenario, mut space) in whole() {
        split(&mut space);
        let (before, after) = (json(&report(&scenario.bytes)), json(&report(&space.encode_to_vec())));
        // Whose an array is shows only on its own line; how many bytes live when does not depend on it.
        let same = |path: &str, a: &Json, b: &Json| {
            a == b || [".live_at_peak", ".owners", ".before_capture"].iter().any(|p| path.contains(p))
        };
        let name = scenario.name;
        if let Some(difference) = difference(&before["allocators"], &after["allocators"], "allocators", &same)
        {
            panic!("spreading the allocator events of {name} changes {difference}");
        }
    }
}

/// Doubles every size of a plan: of buffers, allocations, offsets.
fn double_plan(bytes: &mut Vec<u8>) {
    let mut hlo = HloProto::decode(&**bytes).unwrap();
    let plan = hlo.buffer_assignment.as_mut().unwrap();
    plan.logical_buffers.iter_mut().for_each(|b| b.size *= 2);
    for allocation in &mut plan.buffer_allocations {
        allocation.size *= 2;
        for assigned in &mut allocation.assigned {
            assigned.size *= 2;
            assigned.offset *= 2;
        }
    }
    *bytes = hlo.encode_to_vec();
}

#[test]
fn twice_the_sizes_are_twice_the_bytes() {
    for (scenario, mut space) in whole() {
        for plane in &mut space.planes {
            let names = plane.stat_metadata.clone();
            let metadata = plane.event_metadata.values_mut().flat_map(|m| &mut m.stats);
            let events = plane.lines.iter_mut().flat_map(|l| &mut l.events).flat_map(|e| &mut e.stats);
            for stat in metadata.chain(events).chain(&mut plane.stats) {
                let name = names[&stat.metadata_id].name.as_str();
                match (&mut stat.value, name) {
                    (Some(Value::BytesValue(plan)), "Hlo Proto") => double_plan(plan),
                    (Some(Value::Uint64Value(v)), "memory_size") => *v *= 2,
                    (Some(Value::Int64Value(v)), _) if name.contains("bytes") => *v *= 2,
                    // Chunks of twice the size at the old addresses would overlap.
                    (Some(Value::Int64Value(v)), "addr") => *v *= 2,
                    (Some(Value::Uint64Value(v)), "addr") => *v *= 2,
                    _ => {}
                }
            }
        }
        let (before, after) = (json(&report(&scenario.bytes)), json(&report(&space.encode_to_vec())));
        let same = |path: &str, a: &Json, b: &Json| {
            // Keys that end in bytes, or lists of such; sentences have numbers in them, and fixes that are worth it
            // change with sizes.
            let key = path.trim_end_matches(|c: char| c == '[' || c == ']' || c.is_ascii_digit());
            let key = key.rsplit('.').next().unwrap_or_default();
            let of_sizes =
                key.ends_with("bytes") || path.contains(".curve.roles.") || path.contains("temp_blocks");
            match (a.as_f64(), b.as_f64()) {
                // The limits of what a rounded fraction leaves open aren't exact.
                (Some(a), Some(b)) if key.contains("error") || key.contains("largest") => {
                    (b - 2.0 * a).abs() <= 1024.0 + a.abs() / 1000.0
                }
                (Some(a), Some(b)) if of_sizes => b == 2.0 * a,
                _ => a == b || (a.is_string() && b.is_string()),
            }
        };
        for part in ["modules", "plan", "allocators", "executions", "retries", "live_at_last_start"] {
            if let Some(difference) = difference(&before[part], &after[part], part, &same) {
                panic!("{}: twice the sizes: {difference}", scenario.name);
            }
        }
    }
}

#[test]
fn a_curve_reaches_its_peak_and_never_exceeds_it() {
    let mut curves = 0;
    for (scenario, _) in whole() {
        let report = report(&scenario.bytes);
        let Some(plan) = &report.plan else { continue };
        let (Some(curve), Some(peak)) = (&plan.curve, &plan.peak) else { continue };
        let at = |i: usize| curve.roles.values().map(|bytes| bytes[i].0).sum::<u64>();
        let most = (0..curve.events.len()).map(at).max().unwrap();
        assert_eq!(most, peak.bytes.0, "{}", scenario.name);
        curves += 1;
    }
    assert!(curves > 10, "{curves} curves");
}

/// Hashed collections hand out their items in another order each time; no report may show it.
#[test]
fn the_same_file_gives_the_same_report_each_time() {
    let shared = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared"));
    let mut files: Vec<(String, Vec<u8>)> =
        scenarios().into_iter().map(|s| (s.name.to_owned(), s.bytes)).collect();
    for folder in ["captures/made", "captures/public", "scenarios", "plans/cuda", "plans/tpu"] {
        let Ok(entries) = std::fs::read_dir(shared.join(folder)) else {
            eprintln!("skipped: ../shared/{folder} is not here");
            continue;
        };
        let paths = entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "pb"));
        files.extend(paths.map(|p| (p.display().to_string(), std::fs::read(p).unwrap())));
    }
    for (name, bytes) in files {
        let text = || {
            Some(oomscope::report::to_json(
                &read(&*bytes, "host.xplane.pb", |_| {}).ok()?.report(&Options::default()),
            ))
        };
        let first = text();
        for _ in 0..3 {
            assert!(first == text(), "{name} gives another report the next time");
        }
    }
}
