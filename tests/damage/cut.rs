//! Captures that end early: what stands before the end is told, the end is named, and nothing is made up.

use oomscope::analysis::{Options, read};
use oomscope::model::{Report, Severity, Space, VerdictStatus};
use oomscope::synth::scenarios::scenarios;
use std::path::Path;

fn report(bytes: &[u8]) -> Option<Report> {
    Some(read(bytes, "host.xplane.pb", |_| {}).ok()?.report(&Options::default()))
}

/// Scenarios, and the shared captures where they are.
fn captures() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = scenarios()
        .into_iter()
        .filter(|s| s.name != "cut-off" && s.bytes.len() < 200_000)
        .map(|s| (s.name.to_owned(), s.bytes))
        .collect();
    let shared = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared"));
    for folder in ["captures/made", "captures/public", "scenarios"] {
        let Ok(entries) = std::fs::read_dir(shared.join(folder)) else {
            eprintln!("skipped: ../shared/{folder} is not here");
            continue;
        };
        let paths =
            entries.map(|e| e.unwrap().path()).filter(|p| p.to_string_lossy().ends_with(".xplane.pb"));
        all.extend(paths.map(|p| (p.display().to_string(), std::fs::read(p).unwrap())));
    }
    all
}

/// Fifty places: half of them over the whole file, half where its last names stand.
fn places(len: usize) -> Vec<usize> {
    let all = (1..=25).map(|k| len * k / 26);
    let last = (1..=25).map(|k| len - len * k / 1300 - 1);
    all.chain(last).filter(|at| *at > 0).collect()
}

/// Whether the sums of a module in a cut capture are those of the whole. The peak of a schedule that is cut is unknown, and so
/// is, without the planes behind it, what kind of device it was, which names the memory.
fn alike(cut: &Report, is: &[Space], was: &[Space]) -> bool {
    let kind_is_lost = cut.platform.backend.is_none();
    let same = |(is, was): (&Space, &Space)| {
        let mut was = was.clone();
        if kind_is_lost {
            was.name.clone_from(&is.name);
        }
        was.heap_peak_bytes = was.heap_peak_bytes.filter(|_| is.heap_peak_bytes.is_some());
        *is == was
    };
    is.len() == was.len() && is.iter().zip(was).all(same)
}

/// What a cut capture says that it cannot know.
fn made_up(whole: &Report, cut: &Report, at: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let grave = |r: &Report| -> Vec<String> {
        let all = r.findings.iter().filter(|f| matches!(f.severity, Severity::Error | Severity::Warning));
        all.map(|f| f.id.clone()).collect()
    };
    let known = grave(whole);
    for id in grave(cut) {
        // What grows in a program that runs op by op is said in other words where its modules are lost.
        let other_words = id == "grows-per-execution" && whole.findings.iter().any(|f| f.id == "op-by-op");
        if id != "truncated-capture" && !known.contains(&id) && !other_words {
            wrong.push(format!("{id} is said of a part alone"));
        }
    }
    let (was, is) = (whole.verdict.status, cut.verdict.status);
    let worse = |s| matches!(s, VerdictStatus::OutOfMemory | VerdictStatus::AtRisk);
    if worse(is) && !worse(was) {
        wrong.push(format!("the part is {is:?}, the whole {was:?}"));
    }
    // Sums of a plan whose end is missing are unknown, all of them or the peak of its schedule.
    for m in cut.modules.iter().filter(|m| !m.spaces.is_empty()) {
        let same = whole.modules.iter().find(|w| w.program_id == m.program_id && w.name == m.name);
        let Some(same) = same else { continue };
        if !alike(cut, &m.spaces, &same.spaces) {
            wrong.push(format!("the plan of {} has other sums", m.name));
        }
    }
    let told =
        |w: &oomscope::terms::Warning| w.message.contains("byte") && w.offset.is_none_or(|o| o <= at as u64);
    if !cut.warnings.iter().any(told) {
        wrong.push("no warning says where it ends".into());
    }
    wrong
}

/// The modules of a capture that is cut among them are told as far as they stand: the names that say which stat is a module
/// come behind all modules.
#[test]
fn modules_before_the_cut_are_told() {
    let path =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/scenarios/s9_eager_300_modules.xplane.pb"));
    let Ok(bytes) = std::fs::read(path) else {
        eprintln!("skipped: {} is not here", path.display());
        return;
    };
    let whole = report(&bytes).unwrap();
    let cut = report(&bytes[..bytes.len() / 2]).unwrap();
    let known = |name: &str| whole.modules.iter().find(|m| m.name == name).unwrap();
    let (told, lost): (Vec<_>, Vec<_>) = cut.modules.iter().partition(|m| !m.spaces.is_empty());
    assert_eq!((told.len(), lost.len()), (271, 1));
    assert!(told.iter().all(|m| alike(&cut, &m.spaces, &known(&m.name).spaces)));
    let finding = cut.findings.iter().find(|f| f.id == "truncated-capture").unwrap();
    assert_eq!(finding.fixes[0].id, "copy-again");
    assert_eq!(cut.verdict.status, VerdictStatus::CannotTell);
    assert!(cut.verdict.sentence.contains("needs 256.00 MiB by its plan"), "{}", cut.verdict.sentence);
}

#[test]
fn a_capture_cut_anywhere_says_where_and_makes_nothing_up() {
    let (mut reports, mut wrong) = (0, Vec::new());
    for (name, bytes) in captures() {
        let Some(whole) = report(&bytes) else { continue };
        for at in places(bytes.len()) {
            let Some(cut) = report(&bytes[..at]) else { continue };
            reports += 1;
            // Between two planes a file ends as a whole one does.
            if oomscope::capture::Index::read(&bytes[..at]).unwrap().warnings.is_empty() {
                continue;
            }
            let found = made_up(&whole, &cut, at);
            wrong.extend(found.into_iter().map(|w| format!("{name} cut at {at} of {}: {w}", bytes.len())));
        }
    }
    assert!(reports > 500, "only {reports} reports");
    assert!(wrong.is_empty(), "{} times: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}
