//! A capture read in parts has the report of one that is read from one end to the other.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oomscope::analysis::{Analysis, Options, read};
use oomscope::report::to_json;
use oomscope::synth::large::Large;

fn whole() -> Options {
    Options { top: usize::MAX, ..Options::default() }
}

/// The report of `bytes`, read in up to `most` parts, and how many there were.
fn in_parts(bytes: &[u8], most: usize) -> (String, usize) {
    let mut analysis = Analysis::open(bytes, "capture.xplane.pb").unwrap();
    let (index, mut parts) = analysis.split(most).unwrap();
    // The last first: none waits for another.
    for part in parts.iter_mut().rev() {
        part.read(index, &bytes).unwrap();
    }
    let count = parts.len();
    analysis.join(parts);
    (to_json(&analysis.finish().unwrap().report(&whole())), count)
}

fn same(name: &str, bytes: &[u8]) -> usize {
    let Ok(mut session) = read(bytes, "capture.xplane.pb", |_| {}) else { return 0 };
    let wanted = to_json(&session.report(&whole()));
    let mut most = 0;
    for parts in [1, 2, 3, 5, 64] {
        let (report, count) = in_parts(bytes, parts);
        assert!(count <= parts.max(1), "{name}: {count} parts of {parts}");
        assert!(report == wanted, "{name}: another report in {count} parts");
        most = most.max(count);
    }
    most
}

#[test]
fn captures_in_parts_have_the_same_report() {
    let mut most = 0;
    for folder in ["captures/public", "captures/made", "scenarios"] {
        for path in support::files(folder, ".xplane.pb") {
            let bytes = std::fs::read(&path).unwrap();
            if oomscope::evidence::sniff(&bytes, bytes.len() as u64, "capture.xplane.pb")
                == oomscope::evidence::Kind::Xspace
            {
                most = most.max(same(&path.display().to_string(), &bytes));
            }
        }
    }
    assert!(most >= 8 || support::shared("scenarios").is_none(), "only {most} parts");
}

/// Devices, threads and streams of a larger one, and what is cut off in one part.
#[test]
fn a_made_capture_in_parts_has_the_same_report() {
    let mut bytes = Vec::new();
    Large { bytes: 4_000_000, seed: 5, devices: 4, layers: 2, frames: 80 }
        .write(&mut |part| bytes.extend_from_slice(part));
    assert!(same("a large one", &bytes) >= 5);
    for cut in [bytes.len() / 3, bytes.len() / 2, bytes.len() - 1000] {
        same(&format!("cut at {cut}"), &bytes[..cut]);
    }
    // Another byte here and there: damaged lines, warnings, numbers that lie.
    for i in 0..40 {
        let mut damaged = bytes.clone();
        for at in (i * 7919..damaged.len()).step_by(97 * 1013) {
            damaged[at] ^= 0x55;
        }
        same(&format!("damaged {i}"), &damaged);
    }
}
