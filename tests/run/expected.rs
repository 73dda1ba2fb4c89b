//! Allocators and executions against the reference values of every capture and scenario, to the byte.

use crate::support::{read, shared};
use oomscope::capture::{Event, Index, LineAt, Sink, Stream};
use oomscope::facts;
use serde_json::Value;
use std::path::PathBuf;

/// The first event of a capture in microseconds of the file's own clock, by the plainest reading.
fn first_event_us(bytes: &[u8], index: &Index) -> f64 {
    struct First(i128, Option<i128>);
    impl Sink for First {
        fn line(&mut self, at: LineAt<'_>) -> bool {
            self.0 = i128::from(at.line.timestamp_ns) * 1000;
            true
        }
        fn event(&mut self, e: &Event<'_>) {
            if let Some(offset) = e.offset_ps {
                let at = self.0 + i128::from(offset);
                self.1 = Some(self.1.map_or(at, |f| f.min(at)));
            }
        }
        fn end_line(&mut self, _: bool) {}
    }
    let mut stream = Stream::new(index, |_, _| true);
    let mut first = First(0, None);
    stream.feed(index, 0, bytes, &mut first);
    stream.finish(&mut first);
    first.1.unwrap() as f64 / 1e6
}

fn captures() -> Vec<(String, PathBuf)> {
    let dir = shared().join("expected");
    let Ok(entries) = std::fs::read_dir(&dir) else {
        eprintln!("skipped: no reference values at {}", dir.display());
        return Vec::new();
    };
    let mut all: Vec<(String, PathBuf)> = entries
        .map(|e| e.unwrap().file_name().to_str().unwrap().trim_end_matches(".json").to_owned())
        .map(|name| {
            let file = format!("{name}.xplane.pb");
            let found = ["captures/public", "captures/made", "scenarios"]
                .iter()
                .map(|d| shared().join(d).join(&file))
                .find(|p| p.exists())
                .unwrap();
            (name, found)
        })
        .collect();
    all.sort();
    all
}

fn expected(name: &str) -> Value {
    let text = std::fs::read_to_string(shared().join("expected").join(format!("{name}.json"))).unwrap();
    // The reference values have NaN where nothing is free.
    serde_json::from_str(&text.replace(": NaN", ": null").replace(" NaN", " null")).unwrap()
}

#[test]
fn executions_are_those_of_the_reference() {
    for (name, path) in captures() {
        let it = read(&path);
        let first = first_event_us(&it.bytes, &it.index);
        let ours = facts::run::executions(&it.run, &it.joined);
        let theirs = expected(&name)["executions"].as_array().unwrap().clone();
        assert_eq!(ours.len(), theirs.len(), "{name}: number of executions");
        let mut theirs: Vec<&Value> = theirs.iter().collect();
        theirs.sort_by(|a, b| a["start_us"].as_f64().partial_cmp(&b["start_us"].as_f64()).unwrap());
        for (i, (o, t)) in ours.iter().zip(theirs).enumerate() {
            let at = format!("{name} execution {i}: {t}");
            let start = (t["start_us"].as_f64().unwrap() - first) * 1e6;
            assert!((o.start_ps.0 as f64 - start).abs() < 2000.0, "{} vs {start}: {at}", o.start_ps.0);
            let duration = t["dur_us"].as_f64().unwrap() * 1e6;
            assert!((o.duration_ps.0 as f64 - duration).abs() < 2000.0, "{at}");
            // The reference knows no allocator of an execution that obtained nothing.
            if !t["alloc"].is_null() || it.run.allocators.is_empty() {
                assert_eq!(o.allocator.as_deref(), t["alloc"].as_str(), "{at}");
                assert_eq!(o.in_use_start_bytes.map(|b| b.0), t["in_use"].as_u64(), "{at}");
            }
            let requested: Vec<u64> = o.requested_bytes.iter().map(|b| b.0).collect();
            let wanted: Vec<u64> = t["req"].as_array().unwrap().iter().map(|r| r.as_u64().unwrap()).collect();
            assert_eq!(requested, wanted, "{at}");
            assert_eq!(o.kernels.unwrap_or(0), t["kernels_dev"].as_u64().unwrap(), "{at}");
            if let Some(module) = t["mod"].as_str() {
                let ours = o.module.as_deref().unwrap_or("");
                assert_eq!(ours.split('(').next(), Some(module), "{at}");
            }
            let kernels_of: Vec<&str> =
                t["kprog"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            if let [program] = kernels_of.as_slice() {
                assert_eq!(o.program_id.as_deref(), Some(*program), "{at}");
            }
            let programs: Vec<&str> =
                t["program"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            if let [program] = programs.as_slice() {
                assert_eq!(o.module.as_deref(), Some(*program), "{at}");
            }
        }
    }
}

#[test]
fn allocators_are_those_of_the_reference() {
    for (name, path) in captures() {
        let it = read(&path);
        let first = first_event_us(&it.bytes, &it.index);
        let ours = facts::run::allocators(&it.run, &it.joined, &it.platform);
        let theirs = expected(&name)["allocators"].as_object().unwrap().clone();
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for o in &ours {
            let at = format!("{name} {}", o.name);
            let t = &theirs[&o.name];
            let capacity = t["capacity"].as_object().unwrap();
            assert_eq!(o.capacity_bytes.unwrap().0.to_string(), *capacity.keys().next().unwrap(), "{at}");
            assert_eq!(o.events, t["events"].as_u64().unwrap(), "{at}");
            assert_eq!(o.in_use_start_bytes.unwrap().0, t["baseline"].as_u64().unwrap(), "{at}");
            assert_eq!(o.in_use_end_bytes.unwrap().0, t["in_use_end"].as_u64().unwrap(), "{at}");
            assert_eq!(o.peak_bytes.unwrap().0, t["peak"].as_u64().unwrap(), "{at}");
            assert_eq!(o.peak_times, t["peak_ties"].as_u64().unwrap(), "{at}");
            assert_eq!(o.lifetime_peak_bytes.unwrap().0, t["lifetime_peak"].as_u64().unwrap(), "{at}");
            assert_eq!(o.chain_breaks, t["chain_breaks"].as_u64().unwrap(), "{at}");
            let peak_at = (t["peak_us"].as_f64().unwrap() - first) * 1e6;
            assert!((o.peak_at_ps.unwrap().0 as f64 - peak_at).abs() < 2000.0, "{at}");
            let live = t["live_at_peak"].as_array().unwrap();
            let find = |address: &str| o.live_at_peak.iter().find(|l| l.address.as_deref() == Some(address));
            for l in live {
                let address = l[2].as_str().unwrap();
                match find(address) {
                    Some(found) => {
                        assert_eq!(found.bytes.unwrap().0, l[0].as_u64().unwrap(), "{at}: {l}");
                        assert_eq!(found.allocated_bytes.0, l[1].as_u64().unwrap(), "{at}: {l}");
                        same_owner(&at, &found.origin, l[3].as_str().unwrap());
                    }
                    // What a later allocation overlaps was freed, though the event of that is lost.
                    None => assert!(o.chain_breaks > 0, "{at}: {l} is missing"),
                }
            }
            let known = |l: &&oomscope::model::LiveArray| {
                l.address.is_some() && !l.origin.starts_with("allocated before")
            };
            if o.chain_breaks == 0 {
                assert_eq!(o.live_at_peak.iter().filter(known).count(), live.len(), "{at}");
                let pre: u64 = t["pre_at_peak"].as_array().unwrap().iter().map(|p| p.as_u64().unwrap()).sum();
                let before = pre + t["unexplained_at_peak"].as_u64().unwrap();
                assert_eq!(o.before_capture_at_peak_bytes.unwrap().0, before, "{at}");
            }
            let sum: u64 = o.live_at_peak.iter().map(|l| l.allocated_bytes.0).sum();
            assert_eq!(sum, o.peak_bytes.unwrap().0, "{at}: the arrays make up the peak");
        }
    }
}

/// The reference names owners as `exec jit_f(17) k=3 output alloc#2`, or by the events around the allocation.
fn same_owner(at: &str, ours: &str, theirs: &str) {
    let Some(rest) = theirs.strip_prefix("exec ") else {
        let innermost = theirs.split([' ', '<', '|']).next().unwrap();
        let plumbing =
            ["DeferredTpuAllocator::Allocate", "Build", "CopyProgramsToSharedMemory", "AllocateRawBuffer"];
        if !plumbing.contains(&innermost) {
            let event = theirs.split(" | ").next().unwrap();
            assert!(
                event.split(" < ").any(|e| ours.starts_with(e)) || ours.contains("lost in part"),
                "{at}: {ours} is not {theirs}"
            );
        }
        return;
    };
    let module = rest.split(['(', ' ']).next().unwrap();
    if module != "None" {
        assert!(ours.contains(module), "{at}: {ours} is not {theirs}");
    }
    if rest.contains(" temp ") {
        assert!(ours.starts_with("temp"), "{at}: {ours} is not {theirs}");
    }
    if rest.contains(" output ") {
        assert!(ours.starts_with("output") || ours.starts_with("table"), "{at}: {ours} is not {theirs}");
    }
}
