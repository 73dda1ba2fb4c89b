//! Live arrays, timelines, host events between executions, and the module to look at first.

use crate::support::{read, shared};
use oomscope::bytes::Source;
use oomscope::facts;
use oomscope::join::{Owner, Why, between, window};
use oomscope::proto::xspace::{XSpace, x_event};
use oomscope::terms::{LiveKind, Outcome};
use oomscope::units::Bytes;
use prost::Message;
use std::collections::BTreeMap;
use std::path::PathBuf;

fn captures(dirs: &[&str]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for dir in dirs {
        let Ok(entries) = std::fs::read_dir(shared().join(dir)) else {
            eprintln!("skipped: no captures in {dir}");
            continue;
        };
        all.extend(
            entries.map(|e| e.unwrap().path()).filter(|p| p.to_str().unwrap().ends_with(".xplane.pb")),
        );
    }
    all.retain(|p| !p.to_str().unwrap().contains("mangled"));
    all.sort();
    all
}

#[test]
fn no_real_capture_shows_a_failure() {
    for path in captures(&["captures/public"]) {
        let it = read(&path);
        let failed = it.joined.executions.iter().filter(|e| e.outcome == Outcome::Failed).count();
        assert_eq!(failed, 0, "{}", path.display());
        assert_eq!(it.joined.retries, [], "{}", path.display());
    }
}

#[test]
fn what_is_live_makes_up_what_is_in_use_at_every_moment() {
    for path in captures(&["captures/public", "scenarios"]) {
        let it = read(&path);
        for (i, a) in it.run.allocators.iter().enumerate() {
            if !a.breaks.is_empty() {
                continue;
            }
            for position in (0..=a.len()).step_by(1 + a.len() / 40) {
                let moment = it.joined.live_after(&it.run, i, position);
                let sum: u64 = moment.arrays.iter().map(|l| l.allocated).sum();
                assert_eq!(
                    sum + moment.before_rest,
                    moment.in_use,
                    "{} {} at {position}",
                    path.display(),
                    a.name
                );
                assert_eq!(moment.unexplained, 0);
            }
        }
    }
}

#[test]
fn timelines_keep_the_peak_and_add_up() {
    for path in captures(&["captures/public", "scenarios", "captures/made"]) {
        let it = read(&path);
        for a in facts::run::allocators(&it.run, &it.joined, &it.platform) {
            let at = format!("{} {}", path.display(), a.name);
            let t = &a.timeline;
            assert!(t.at_ps.len() <= 2004 && t.at_ps.is_sorted(), "{at}: {} points", t.at_ps.len());
            assert_eq!(t.in_use_bytes.iter().max(), a.peak_bytes.as_ref(), "{at}");
            assert_eq!(t.in_use_bytes.last(), a.in_use_end_bytes.as_ref(), "{at}");
            for (i, in_use) in t.in_use_bytes.iter().enumerate() {
                let sum: Bytes = t.owners.iter().map(|o| o.bytes[i]).sum();
                assert_eq!(sum, *in_use, "{at} point {i}");
            }
        }
    }
}

#[test]
fn a_zoomed_timeline_begins_with_what_was_there() {
    let path = shared().join("scenarios/s2_gradients_kept.xplane.pb");
    if !path.exists() {
        eprintln!("skipped: {} is not here", path.display());
        return;
    }
    let it = read(&path);
    let i = it.run.allocators.iter().position(|a| a.name == "GPU_0_bfc").unwrap();
    let third = it.run.execution(3).unwrap();
    let bands = it.joined.timeline(&it.run, i, third.start()..third.end(), 400);
    assert_eq!(bands.in_use[0], it.run.allocators[i].in_use_at(third.start()).unwrap());
    let outputs = bands.bands.iter().find(|b| b.kind == LiveKind::Outputs).unwrap();
    assert_eq!(outputs.owner, "outputs of jit_grad_step");
    // What three executions kept, by the bytes in use at the starts of the first and the fourth (the truth beside it).
    assert_eq!(outputs.bytes[0], 658_330_368 - 331_266_560);
}

#[test]
fn kept_gradients_are_named_execution_by_execution() {
    let path = shared().join("scenarios/s2_gradients_kept.xplane.pb");
    if !path.exists() {
        eprintln!("skipped: {} is not here", path.display());
        return;
    }
    let it = read(&path);
    let module = it.joined.default_module(&it.run).map(|m| m.0);
    let groups = facts::run::live_at_last_start(&it.run, &it.joined, module);
    for execution in 0..9 {
        let origin = format!("outputs of jit_grad_step execution {execution}");
        let group = groups.iter().find(|g| g.origin == origin).unwrap_or_else(|| panic!("no {origin}"));
        assert_eq!(group.kind, LiveKind::Outputs);
        assert_eq!(group.module.as_deref(), Some("jit_grad_step(17)"));
        assert_eq!(group.execution, Some(execution));
        assert_eq!(group.frame.as_deref(), Some("$train.py:97 run_step"));
        assert!(group.bytes.0.abs_diff(109_022_876) < 64 << 10, "{group:?}");
    }
    let last = facts::run::executions(&it.run, &it.joined).pop().unwrap();
    let sum: Bytes = groups.iter().map(|g| g.bytes).sum();
    assert_eq!(Some(sum), last.in_use_start_bytes);
}

#[test]
fn the_shape_and_number_of_each_output_are_told() {
    let path = shared().join("captures/public/rocm-mi355x-fused-attn.xplane.pb");
    if !path.exists() {
        eprintln!("skipped: {} is not here", path.display());
        return;
    }
    let it = read(&path);
    let peak = it.run.allocators[0].peak().unwrap().position.unwrap();
    let moment = it.joined.live_after(&it.run, 0, peak + 1);
    let largest = moment.arrays[0];
    assert!(matches!(largest.owner, Owner::Planned(1, _)));
    assert_eq!(it.joined.describe(&it.run, largest.owner), "temp block of jit_loss_fn execution 1");
    let rest: Vec<String> =
        moment.arrays[1..3].iter().map(|l| it.joined.describe(&it.run, l.owner)).collect();
    assert_eq!(rest[0], "output 1 bf16[2,2048,3,16,128] of jit_loss_fn execution 0");
    assert_eq!(moment.before_rest, 134_219_008);
}

#[test]
fn a_failed_launch_can_keep_what_it_obtained() {
    for (file, kept) in
        [("s3_no_donation_leak", 1_005_882_880), ("s1_plan_too_large", 0), ("s6_fragmentation", 0)]
    {
        let path = shared().join(format!("scenarios/{file}.xplane.pb"));
        if !path.exists() {
            eprintln!("skipped: {} is not here", path.display());
            return;
        }
        let it = read(&path);
        assert_eq!(it.joined.kept_by_failed(&it.run, 1), kept, "{file}");
        assert_eq!(it.joined.kept_by_failed(&it.run, 0), 0, "{file}: it ran");
    }
}

#[test]
fn copies_of_donated_arguments_are_told_from_outputs() {
    let path = shared().join("scenarios/s7_donation_defeated.xplane.pb");
    if !path.exists() {
        eprintln!("skipped: {} is not here", path.display());
        return;
    }
    let it = read(&path);
    let groups = facts::run::live_at_last_start(&it.run, &it.joined, Some(0));
    let copies =
        groups.iter().find(|g| g.origin == "copies of donated arguments of jit_train_step execution 2");
    assert_eq!(copies.unwrap().count, Some(158));
}

#[test]
fn the_module_that_failed_is_looked_at_first() {
    let wanted = [
        ("scenarios/s1_plan_too_large", "jit_train_step(17)", Why::Failed),
        ("scenarios/s9_eager_300_modules", "jit__where(25)", Why::Failed),
        ("scenarios/s12_late_start", "jit_grad_step(17)", Why::Failed),
        ("scenarios/s13_gap", "jit_grad_step(17)", Why::LargestExecuted),
        ("scenarios/s4_fsdp8_fits", "jit_train_step(21)", Why::LargestExecuted),
        ("captures/public/rocm-mi300x-jax0.6-conv", "jit_forward_3d_conv(15)", Why::LargestExecuted),
        ("captures/public/tpu-v6e-inference", "jit_f(12190760917235803885)", Why::LargestExecuted),
    ];
    for (file, module, why) in wanted {
        let path = shared().join(format!("{file}.xplane.pb"));
        if !path.exists() {
            eprintln!("skipped: {} is not here", path.display());
            continue;
        }
        let it = read(&path);
        let (found, because) = it.joined.default_module(&it.run).unwrap();
        assert_eq!((it.joined.modules[found].name.as_str(), because), (module, why), "{file}");
    }
}

/// Host events that start within a window, by the plainest reading.
fn plainly(space: &XSpace, first_ps: i128, from: i64, to: i64) -> BTreeMap<String, (u64, i64)> {
    let mut found: BTreeMap<String, (u64, i64)> = BTreeMap::new();
    for plane in space.planes.iter().filter(|p| p.name == "/host:CPU") {
        for line in plane.lines.iter().filter(|l| !l.name.starts_with("Host Threads/")) {
            for event in &line.events {
                let Some(x_event::Data::OffsetPs(offset)) = event.data else { continue };
                let at = i128::from(line.timestamp_ns) * 1000 + i128::from(offset) - first_ps;
                if at < i128::from(from) || at >= i128::from(to) {
                    continue;
                }
                let name = plane.event_metadata[&event.metadata_id].name.clone();
                if name.starts_with("Memory")
                    || name.starts_with("ThreadpoolListener")
                    || name.starts_with("end: ")
                {
                    continue;
                }
                let one = found.entry(name).or_insert((0, 0));
                one.0 += 1;
                one.1 += event.duration_ps.min(to - at as i64);
            }
        }
    }
    found
}

#[test]
fn host_events_between_the_last_two_executions_are_counted() {
    for path in captures(&["captures/public", "scenarios", "captures/made"]) {
        let it = read(&path);
        let module = it.joined.default_module(&it.run).map(|m| m.0);
        let Some(window) = window(&it.run, &it.joined, module) else { continue };
        let source: &dyn Source = &&it.bytes[..];
        let ours = between(&it.run, &it.index, &source, &it.checkpoints, window.clone());
        let space = XSpace::decode(&it.bytes[..]).unwrap();
        let first = i128::from(it.index.base_ns()) * 1000 + i128::from(it.run.origin);
        let wanted = plainly(&space, first, window.start, window.end);
        let found: BTreeMap<String, (u64, i64)> =
            ours.iter().map(|t| (t.name.clone(), (t.count, t.duration))).collect();
        assert_eq!(found, wanted, "{}", path.display());
        assert!(ours.iter().map(|t| !t.python).is_sorted(), "{}: Python ones first", path.display());
    }
    let path = shared().join("scenarios/s2_gradients_kept.xplane.pb");
    if path.exists() {
        let it = read(&path);
        let window = window(&it.run, &it.joined, Some(0)).unwrap();
        let ours = between(&it.run, &it.index, &&it.bytes[..], &it.checkpoints, window);
        assert!(ours.iter().any(|t| t.name == "$<unknown> append" && t.count == 1), "{ours:?}");
    }
}
