//! The findings of the scenarios: what each must say and what none may cry.

use oomscope::analysis::{self, Options};
use oomscope::model::{Report, Severity};
use oomscope::proto::xspace::XSpace;
use prost::Message;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The parts of a `.truth.json` that name findings.
#[derive(Deserialize)]
struct Truth {
    must: Vec<String>,
    must_not: Vec<String>,
}

fn shared(folder: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")).join(folder);
    if !path.is_dir() {
        eprintln!("skipped: {} is not here", path.display());
        return None;
    }
    Some(path)
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    all.sort();
    all
}

fn report(path: &Path) -> Report {
    let bytes = std::fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    analysis::read(bytes.as_slice(), &name, |_| {}).unwrap().report(&Options::default())
}

/// A scenario as a process writes it whose allocator writes no events (`platform`, `cuda_async`).
fn without_allocator_events(scenario: &str) -> Option<Report> {
    let path = shared("scenarios")?.join(scenario);
    let mut space = XSpace::decode(&std::fs::read(&path).unwrap()[..]).unwrap();
    for plane in &mut space.planes {
        let of_allocator = |id: &i64| {
            let name = plane.event_metadata.get(id).map(|m| m.name.as_str());
            matches!(name, Some("MemoryAllocation" | "MemoryDeallocation"))
        };
        for line in &mut plane.lines {
            line.events.retain(|e| !of_allocator(&e.metadata_id));
        }
    }
    let bytes = space.encode_to_vec();
    Some(analysis::read(&bytes[..], scenario, |_| {}).unwrap().report(&Options::default()))
}

#[test]
fn a_failure_without_allocator_events_says_what_the_plan_needs_and_what_makes_it_smaller() {
    let Some(report) = without_allocator_events("s1_plan_too_large.xplane.pb") else { return };
    assert!(report.allocators.is_empty());
    assert_eq!(
        report.verdict.sentence,
        "jit_train_step(17) ran out of memory at execution 0. Its plan needs 3.72 GiB, the card has 3.72 GiB. How large the \
         pool was, and what else was alive, is not in the capture: it holds no allocator events."
    );
    let finding = report.findings.iter().find(|f| f.id == "allocator-retry").unwrap();
    assert_eq!(report.verdict.evidence, finding.evidence);
    let ids: Vec<&str> = finding.fixes.iter().map(|f| f.id.as_str()).collect();
    assert_eq!((ids.first(), ids.last()), (Some(&"remat"), Some(&"capture-earlier")));
    // Nobody knows how much of the card there was.
    assert!(finding.fixes.iter().all(|f| f.fits_after != Some(oomscope::model::Fits::Yes)));

    let small = without_allocator_events("s5_other_live.xplane.pb").unwrap();
    assert_eq!(
        small.verdict.sentence,
        "jit_train_step(17) ran out of memory at execution 0. Its plan needs 717.84 MiB, 19 % of the card (3.72 GiB). How large \
         the pool was, and what else was alive, is not in the capture: it holds no allocator events. Unless the pool was \
         smaller than the plan, other arrays were in the way."
    );
    // What makes a small plan smaller is no answer.
    let finding = small.findings.iter().find(|f| f.id == "allocator-retry").unwrap();
    let ids: Vec<&str> = finding.fixes.iter().map(|f| f.id.as_str()).collect();
    assert_eq!(ids, ["capture-earlier"]);
}

fn grave(report: &Report) -> Vec<&str> {
    let grave = |s| matches!(s, Severity::Error | Severity::Warning);
    report.findings.iter().filter(|f| grave(f.severity)).map(|f| f.id.as_str()).collect()
}

fn show(report: &Report) -> String {
    let findings: Vec<String> = report
        .findings
        .iter()
        .map(|f| {
            let fixes: Vec<String> = f
                .fixes
                .iter()
                .map(|x| {
                    let need = x.need_after_least_bytes.zip(x.need_after_most_bytes);
                    let need =
                        need.map_or_else(String::new, |(a, b)| format!(" {a} to {b} {:?}", x.fits_after));
                    format!("\n      → {}:{need} {} {:?}", x.id, x.text, x.code)
                })
                .collect();
            format!(
                "  {:?} {} [{:?}] {} | {}{}",
                f.severity,
                f.id,
                f.evidence,
                f.title,
                f.sentence,
                fixes.concat()
            )
        })
        .collect();
    format!("{:?}: {}\n{}", report.verdict.status, report.verdict.sentence, findings.join("\n"))
}

#[test]
fn scenarios_have_what_they_must_and_nothing_they_must_not() {
    let Some(folder) = shared("scenarios") else { return };
    let mut wrong = Vec::new();
    for path in files(&folder, ".xplane.pb") {
        let truth = path.to_string_lossy().replace(".xplane.pb", ".truth.json");
        let truth: Truth = serde_json::from_str(&std::fs::read_to_string(truth).unwrap()).unwrap();
        let report = report(&path);
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        println!("== {name}\n{}", show(&report));
        for id in &truth.must {
            if !report.findings.iter().any(|f| f.id == *id) {
                wrong.push(format!("{name}: {id} is missing"));
            }
        }
        for id in grave(&report) {
            if truth.must_not.iter().any(|m| m == id) {
                wrong.push(format!("{name}: {id} is a false alarm"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn healthy_captures_fit() {
    let (Some(made), Some(public)) = (shared("captures/made"), shared("captures/public")) else { return };
    let sick = ["synthetic-a", "synthetic-b", "synthetic-c", "mangled"];
    let mut wrong = Vec::new();
    for path in files(&made, ".xplane.pb").into_iter().chain(files(&public, ".xplane.pb")) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if sick.iter().any(|s| name.starts_with(s)) {
            continue;
        }
        let report = report(&path);
        println!("== {name}\n{}", show(&report));
        if !report.findings.iter().any(|f| f.id == "fits") {
            wrong.push(format!("{name}: fits is missing"));
        }
        wrong.extend(grave(&report).iter().map(|id| format!("{name}: {id} is a false alarm")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn sick_captures_say_of_what() {
    let Some(made) = shared("captures/made") else { return };
    let mut wrong = Vec::new();
    for (file, must) in [
        ("synthetic-a_plan_oom_big_attn", &["step-does-not-fit", "allocator-retry"][..]),
        ("synthetic-a_plan_oom_gpt_small", &["step-does-not-fit", "allocator-retry"]),
        ("synthetic-a_plan_oom_gpt_small_noretryevent", &["step-does-not-fit", "allocator-retry"]),
        ("synthetic-b_keepgrads_gpt_small", &["grows-per-execution", "allocator-retry"]),
        ("synthetic-c_nodonate_475m", &["not-donated"]),
    ] {
        let report = report(&made.join(format!("{file}.xplane.pb")));
        println!("== {file}\n{}", show(&report));
        let mut found = grave(&report);
        found.retain(|id| !matches!(*id, "vocabulary-logits" | "stacked-residuals"));
        found.sort_unstable();
        let mut must = must.to_vec();
        must.sort_unstable();
        if found != must {
            wrong.push(format!("{file}: {found:?} instead of {must:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_self_test_passes() {
    let wrong: Vec<String> = oomscope::self_test::outcomes()
        .filter(|o| !o.passed())
        .map(|o| format!("{}: {:#?}", o.name, o.wrong))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
