//! The plan of every module of every shared capture, against values that an independent program computed.

// A helper that can't go on fails its test.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oomscope::hlo::Hlo;
use oomscope::plan::{Describer, Plan, PlanBuffer};
use oomscope::terms::BufferKind;
use oomscope::units::Bytes;
use serde_json::Value;

struct Case {
    name: String,
    hlo: Hlo,
    plan: Plan,
    expected: Value,
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    for path in support::files("expected", ".json") {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let capture = support::capture(&stem).unwrap();
        let mut expected = support::json(&path)["modules"].as_array().unwrap().clone();
        for (module, bytes) in support::hlo_protos(&capture) {
            let Ok(hlo) = Hlo::parse(bytes) else { continue };
            let at = expected
                .iter()
                .position(|e| e["module"] == module.name.as_str() && e["hlo_bytes"] == hlo.size() as u64)
                .unwrap_or_else(|| panic!("{stem}: {} is not among the expected", module.name));
            let plan = Plan::build(&hlo, None);
            out.push(Case {
                name: format!("{stem} {}", module.name),
                hlo,
                plan,
                expected: expected.remove(at),
            });
        }
        assert!(
            expected.is_empty(),
            "{stem}: not read: {:?}",
            expected.iter().map(|e| &e["module"]).collect::<Vec<_>>()
        );
    }
    out
}

fn bytes(value: &Value) -> Bytes {
    Bytes(value.as_u64().unwrap())
}

#[test]
fn totals_agree() {
    for Case { name, plan, expected, .. } in cases() {
        assert_eq!(expected["n_instr"], plan.summary.instructions, "{name}");
        assert_eq!(expected["donors"], plan.summary.donors, "{name}");
        let colors = expected["colors"].as_object().unwrap();
        assert_eq!(colors.len(), plan.summary.spaces.len(), "{name}");
        for (color, e) in colors {
            let space = plan.summary.space(color.parse().unwrap()).unwrap();
            let ours = [
                space.parameters,
                space.donated,
                space.outputs,
                space.constants,
                space.thread_local,
                space.temp,
                space.need(),
                space.launch_need(),
                space.temp_blocks.iter().copied().sum(),
                space.heap_peak.unwrap_or_default(),
            ];
            let theirs = [
                "param",
                "donated",
                "output",
                "constant",
                "thread_local",
                "temp",
                "required",
                "new_per_run",
                "temp",
                "heap_peak",
            ];
            assert_eq!(ours, theirs.map(|key| bytes(&e[key])), "{name} space {color}: {theirs:?}");
            let traced = !e["heap"].as_array().unwrap().is_empty();
            assert_eq!(space.heap_peak.is_some(), traced, "{name} space {color}: unknown is no 0");
        }
    }
}

#[test]
fn the_launch_list_agrees() {
    for Case { name, plan, expected, .. } in cases() {
        for (color, e) in expected["colors"].as_object().unwrap() {
            let ours: Vec<(i64, &str, u64)> = plan
                .summary
                .launch
                .iter()
                .filter(|a| a.color == color.parse::<i64>().unwrap())
                .map(|a| (a.index, if a.kind == BufferKind::Temp { "temp" } else { "output" }, a.size.0))
                .collect();
            let theirs: Vec<(i64, &str, u64)> = e["runtime_allocs"]
                .as_array()
                .unwrap()
                .iter()
                .map(|a| (a[0].as_i64().unwrap(), a[1].as_str().unwrap(), a[2].as_u64().unwrap()))
                .collect();
            assert_eq!(ours, theirs, "{name} space {color}");
        }
    }
}

#[test]
fn the_peak_agrees() {
    for Case { name, plan, expected, .. } in cases() {
        for schedule in &plan.schedules {
            let heap = &expected["colors"][schedule.color.to_string()]["heap"][0];
            assert_eq!(heap["peak"], schedule.peak.0, "{name}");
            assert_eq!(heap["pos"], schedule.peak_event, "{name}");
            assert_eq!(heap["n"], schedule.events, "{name}");
            assert_eq!(heap["at"][1], schedule.peak_instruction.as_deref().unwrap_or_default(), "{name}");
            assert_eq!(heap["at"][0], schedule.peak_computation.as_deref().unwrap_or_default(), "{name}");
        }
    }
}

fn kind(kind: BufferKind) -> &'static str {
    match kind {
        BufferKind::Temp => "temp",
        BufferKind::Parameter => "param",
        BufferKind::Donated => "param+donated",
        BufferKind::Output => "output",
        BufferKind::Constant => "constant",
    }
}

#[test]
fn the_buffers_at_the_peak_agree() {
    for Case { name, hlo, plan, expected } in cases() {
        let mut describer = Describer::new(&hlo);
        for space in &plan.summary.spaces {
            let schedule = plan.schedules.iter().find(|s| s.color == space.color);
            let mut ours = schedule.map(|s| describer.lives(s.live_at(s.peak_event))).unwrap_or_default();
            ours.extend(describer.lasting(space.color));
            let mut theirs = expected["colors"][space.color.to_string()]["live"].as_array().unwrap().clone();
            // Zero-sized constants are no buffers to anyone.
            theirs.retain(|e| e["size"] != 0);
            for buffer in &ours {
                let what = format!("{name}: {} {}", buffer.id, buffer.instruction);
                let at = theirs
                    .iter()
                    .position(|e| e["id"] == buffer.id)
                    .unwrap_or_else(|| panic!("{what} is ours alone"));
                compare(&what, &mut describer, buffer, &theirs.remove(at));
            }
            assert!(theirs.is_empty(), "{name}: not ours: {theirs:?}");
        }
    }
}

fn compare(what: &str, describer: &mut Describer<'_>, ours: &PlanBuffer, e: &Value) {
    assert_eq!(e["size"], ours.bytes.0, "{what}");
    assert_eq!(e["instr"], ours.instruction.as_str(), "{what}");
    assert_eq!(e["opcode"], ours.opcode.as_str(), "{what}");
    assert_eq!(e["shape"], ours.shape.text.as_str(), "{what}");
    assert_eq!(e["alloc"], ours.allocation, "{what}");
    assert_eq!(e["kind"], kind(ours.kind), "{what}");
    let op_name = e["op_name"].as_str().unwrap();
    if !op_name.is_empty() {
        assert_eq!(Some(op_name), ours.op_name.as_deref(), "{what}");
    }
    let source = e["source"].as_str().unwrap();
    if !source.is_empty() {
        let it = ours.source.as_ref().unwrap_or_else(|| panic!("{what}: {source}"));
        assert_eq!(source, format!("{}:{}", it.file, it.line.unwrap()), "{what}");
    }
    let frames = describer.frames(ours.buffer);
    for (i, e) in e["stack"].as_array().unwrap().iter().enumerate() {
        // file:line:column function
        let e = e.as_str().unwrap();
        let it = frames.get(i).unwrap_or_else(|| panic!("{what}: no frame {e}"));
        let rest = e.strip_prefix(format!("{}:{}:", it.file, it.line.unwrap()).as_str());
        let function = rest.and_then(|rest| rest.split_once(' ')).map(|(_column, function)| function);
        assert_eq!(function, it.function.as_deref(), "{what}: {e} is not {it:?}");
    }
}
