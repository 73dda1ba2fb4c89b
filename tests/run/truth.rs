//! The scenarios against their `.truth.json`: what the simulation knew, to the byte.

use crate::support::{Read, read, shared};
use oomscope::facts;
use oomscope::model::{Execution, Retry};
use oomscope::terms::{BufferKind, Outcome, RetryOutcome};
use serde_json::Value;
use std::path::PathBuf;

fn scenarios(dir: &str, prefix: &str) -> Vec<(String, PathBuf, Value)> {
    let dir = shared().join(dir);
    let Ok(entries) = std::fs::read_dir(&dir) else {
        eprintln!("skipped: no scenarios at {}", dir.display());
        return Vec::new();
    };
    let mut all: Vec<_> = entries
        .map(|e| e.unwrap().file_name().to_str().unwrap().to_owned())
        .filter_map(|f| Some(f.strip_suffix(".truth.json")?.to_owned()))
        .filter(|name| name.starts_with(prefix))
        .map(|name| {
            let truth = std::fs::read_to_string(dir.join(format!("{name}.truth.json"))).unwrap();
            (name.clone(), dir.join(format!("{name}.xplane.pb")), serde_json::from_str(&truth).unwrap())
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn failed_retry(retries: &[Retry], execution: usize) -> &Retry {
    let of = |r: &&Retry| r.execution == Some(execution as u64) && r.outcome == RetryOutcome::Failed;
    retries.iter().find(of).unwrap()
}

/// An execution that failed in the simulation, against what is known of it.
fn same_failure(at: &str, failed: &Value, ours: &Execution, retry: &Retry) {
    assert_eq!(ours.outcome, Outcome::Failed, "{at}");
    let missing = retry.missing.as_ref().unwrap_or_else(|| panic!("{at}: nothing is missing"));
    assert_eq!(missing.allocation, failed["allocation_index"].as_i64(), "{at}");
    assert_eq!(missing.bytes.0, failed["bytes"].as_u64().unwrap(), "{at}");
    let role = if missing.kind == BufferKind::Temp { "temp" } else { "output" };
    assert_eq!(role, failed["role"].as_str().unwrap(), "{at}");
    assert_eq!(missing.obtained, failed["obtained_before"].as_u64().unwrap(), "{at}");
    assert_eq!(missing.planned, failed["of"].as_u64().unwrap(), "{at}");
    assert_eq!(retry.in_use_bytes.unwrap().0, failed["in_use"].as_u64().unwrap(), "{at}");
    assert_eq!(retry.free_bytes.unwrap().0, failed["free_bytes"].as_u64().unwrap(), "{at}");
    let chunk = failed["largest_free_chunk"].as_u64().unwrap();
    let off = retry.largest_free_bytes.unwrap().0.abs_diff(chunk);
    let error = retry.largest_free_error_bytes.map_or(0, |e| e.0);
    assert!(off <= error, "{at}: {off} off, more than {error}");
    assert!(error < 1 << 20, "{at}: an error of {error} bytes says nothing");
}

#[test]
fn executions_of_the_scenarios_are_as_simulated() {
    for (name, path, truth) in scenarios("scenarios", "") {
        let it = read(&path);
        let ours = facts::run::executions(&it.run, &it.joined);
        let retries = facts::run::retries(&it.run, &it.joined);
        let truths: Vec<&Value> = truth["executions"].as_array().unwrap().iter().collect();
        let starts: Vec<i64> = ours.iter().map(|e| e.start_ps.0).collect();
        let base = truths[0]["start_ps"].as_i64().unwrap() - starts[0];
        let mut seen = 0;
        for t in truths.iter().filter(|t| t.is_object()) {
            let at = format!("{name} execution {}", t["exec"]);
            let start = t["start_ps"].as_i64().unwrap() - base;
            let device = t["device"].as_u64().map(|d| d as u32);
            let found = ours.iter().position(|e| (e.start_ps.0 - start).abs() < 1000 && e.device == device);
            let Some(i) = found else {
                assert_eq!(name, "s13_gap", "{at} is missing");
                continue;
            };
            seen += 1;
            let o = &ours[i];
            assert_eq!(o.in_use_start_bytes.unwrap().0, t["in_use_at_start"].as_u64().unwrap(), "{at}");
            assert_eq!(o.program_id.as_deref(), Some(t["program_id"].to_string().as_str()), "{at}");
            let module = format!("{}({})", t["module"].as_str().unwrap(), t["program_id"]);
            assert_eq!(o.module.as_ref(), Some(&module), "{at}");
            if let Some(kernels) = t["kernels"].as_u64() {
                assert_eq!(o.kernels, Some(kernels), "{at}");
            }
            if t["failed"].is_null() {
                assert_eq!(o.outcome, Outcome::Ran, "{at}");
            } else {
                same_failure(&at, &t["failed"], o, failed_retry(&retries, i));
            }
            copies(&at, &it, i, t);
        }
        let listed = truths.iter().all(|t| t.is_object());
        if listed && name != "s13_gap" {
            assert_eq!(seen, ours.len(), "{name}: executions that were not simulated");
        }
        let failed = truths.iter().filter(|t| !t["failed"].is_null() && t.is_object()).count();
        let ours_failed = ours.iter().filter(|e| e.outcome == Outcome::Failed).count();
        assert_eq!(ours_failed, failed, "{name}: failed executions");
        assert_eq!(ours.iter().filter(|e| e.outcome == Outcome::Unknown).count(), 0, "{name}");
    }
}

/// Copies of arguments that were donated and not given away.
fn copies(at: &str, it: &Read, execution: usize, truth: &Value) {
    let outside: Vec<u64> = it
        .joined
        .requests_of(execution)
        .filter(|r| r.2.is_none())
        .map(|(a, event, _)| it.run.allocators[a].by_number(event).unwrap().requested)
        .collect();
    let wanted = &truth["copy_protection"];
    if wanted.is_null() {
        assert_eq!(outside, Vec::<u64>::new(), "{at}: requests outside the plan");
        return;
    }
    assert_eq!(outside.len() as u64, wanted["allocations"].as_u64().unwrap(), "{at}");
    assert_eq!(outside.iter().sum::<u64>(), wanted["bytes"].as_u64().unwrap(), "{at}");
    let copied = it.run.copies[&execution];
    assert_eq!((copied.count, copied.bytes), (outside.len() as u64, outside.iter().sum()), "{at}");
}

#[test]
fn allocators_of_the_scenarios_are_as_simulated() {
    for (name, path, truth) in scenarios("scenarios", "") {
        let it = read(&path);
        for ours in facts::run::allocators(&it.run, &it.joined, &it.platform) {
            let at = format!("{name} {}", ours.name);
            let t = &truth["allocators"][&ours.name];
            if t.is_null() {
                continue;
            }
            assert_eq!(ours.in_use_end_bytes.unwrap().0, t["in_use_at_end"].as_u64().unwrap(), "{at}");
            let peak = t["peak"].as_u64().or(t["peak_in_window_or_before"].as_u64()).unwrap();
            let highest = ours.peak_bytes.unwrap().max(ours.lifetime_peak_bytes.unwrap()).0;
            assert!(ours.peak_bytes.unwrap().0 <= peak && highest >= peak, "{at}: {highest} is not {peak}");
            if let Some(capacity) = t["capacity"].as_u64() {
                assert_eq!(ours.capacity_bytes.unwrap().0, capacity, "{at}");
            }
            if let Some(mapped) = t["mapped"].as_u64() {
                let a = it.run.allocators.iter().find(|a| a.name == ours.name).unwrap();
                let last = a.pool.mapped.last().unwrap().1;
                eprintln!("{at}: mapped {mapped}, solved {last:?}, preallocated {:?}", ours.preallocated);
                if let Some(found) = last {
                    assert!(found.bytes.abs_diff(mapped) <= found.error.unwrap(), "{at}: {found:?}");
                }
                let whole = Some(mapped) == t["capacity"].as_u64();
                assert!(ours.preallocated.is_none_or(|p| p == whole), "{at}: {:?}", ours.preallocated);
            }
        }
    }
}

#[test]
fn a_pool_that_grows_is_solved_stretch_by_stretch() {
    for (name, path, truth) in scenarios("scenarios", "s10") {
        let it = read(&path);
        let a = it.run.allocators.iter().find(|a| a.name == "GPU_0_bfc").unwrap();
        let ours = facts::run::executions(&it.run, &it.joined);
        let mut solved = 0;
        for (e, t) in ours.iter().zip(truth["executions"].as_array().unwrap()) {
            let after = a.pool.mapped_at(e.start_ps.0 + e.duration_ps.0);
            let wanted = t["mapped"].as_u64().unwrap();
            if let Some(found) = after {
                solved += 1;
                assert!(
                    found.bytes.abs_diff(wanted) <= found.error.unwrap(),
                    "{name}: {found:?} is not {wanted}"
                );
            }
        }
        assert_eq!(solved, ours.len(), "{name}: {:?}", a.pool);
        assert_eq!(a.pool.preallocated, Some(false));
        assert_eq!(a.growths.len(), 2);
    }
}

#[test]
fn the_largest_free_chunk_is_known_all_along() {
    let mut curves = 0;
    for (name, path, truth) in scenarios("scenarios", "") {
        let it = read(&path);
        let retries = facts::run::retries(&it.run, &it.joined);
        for a in facts::run::allocators(&it.run, &it.joined, &it.platform) {
            let (t, at) = (&a.timeline, format!("{name} {}", a.name));
            if t.largest_free_bytes.is_empty() {
                continue;
            }
            curves += 1;
            assert_eq!(t.largest_free_bytes.len(), t.at_ps.len(), "{at}");
            let capacity = a.capacity_bytes.unwrap();
            for (largest, in_use) in t.largest_free_bytes.iter().zip(&t.in_use_bytes) {
                let error = t.largest_free_error_bytes.unwrap_or_default();
                assert!(
                    largest.is_none_or(|l| l.0 <= capacity.0 - in_use.0 + error.0),
                    "{at}: {largest:?} free"
                );
            }
            let peak = t.at_ps.iter().rposition(|at| Some(*at) == a.peak_at_ps);
            assert_eq!(
                t.largest_free_bytes[peak.unwrap()],
                a.largest_free_at_peak_bytes,
                "{at}: at the peak"
            );
            for r in retries.iter().filter(|r| r.allocator.as_ref() == Some(&a.name)) {
                let before = t.at_ps.iter().rposition(|at| *at <= r.at_ps).unwrap();
                assert_eq!(t.largest_free_bytes[before], r.largest_free_bytes, "{at}: at a wait");
            }
        }
        // What the simulation knew: of 1873 MiB that are free, the largest chunk has 150 MiB.
        if name == "s6_fragmentation" {
            let truth = truth["expected"]["failed"]["largest_free_chunk"].as_u64().unwrap();
            let device = &facts::run::allocators(&it.run, &it.joined, &it.platform)[0];
            let said = device.timeline.largest_free_bytes.iter().flatten();
            let error = device.timeline.largest_free_error_bytes.unwrap().0;
            assert!(said.clone().any(|l| l.0.abs_diff(truth) <= error), "{name}");
            assert!(error < 4 << 20, "{name}: an error of {error} bytes");
        }
    }
    assert!(curves >= 10 || !shared().join("scenarios").exists(), "only {curves} curves");
}
