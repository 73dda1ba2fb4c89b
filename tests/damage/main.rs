//! Twenty thousand damaged captures, the same every time: each gives a report or a sentence, soon.
//!
//! A failure names its number; `DAMAGE_ONE=12345 cargo test --test damage` makes that one alone, and keeps it in
//! `target/damage`. A crash that takes the process with it is found with `DAMAGE_TRACE=1`, which says each number first.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bytes;
mod cut;
mod plan;
mod space;
mod survive;

use oomscope::synth::rng::Rng;
use oomscope::synth::scenarios::scenarios;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Damaged captures of each run.
const COUNT: u64 = 20_000;

/// What is damaged, and how many different sets of warnings and findings that leads to at the least.
const KINDS: [(&str, usize); 4] =
    [("bytes", 200), ("captures", 150), ("modules in captures", 70), ("modules alone", 6)];

fn kind(n: u64) -> usize {
    match n % 10 {
        0..4 => 0,
        4..7 => 1,
        7..9 => 2,
        _ => 3,
    }
}

/// The captures that are damaged: all small ones.
fn seeds() -> Vec<Vec<u8>> {
    scenarios().into_iter().map(|s| s.bytes).filter(|b| b.len() < 60_000).collect()
}

/// Damaged capture number `n`, and the name of its file.
fn damaged(seeds: &[Vec<u8>], n: u64) -> (Vec<u8>, &'static str) {
    let mut rng = Rng::of(0xdead, n);
    let seed = &seeds[(n % seeds.len() as u64) as usize];
    let mut file = match n % 10 {
        0..4 => seed.clone(),
        4..7 => space::damage(seed, &mut rng),
        7..9 => plan::damage_in_capture(seed, &mut rng),
        // A dump of a module alone.
        _ => return (plan::damage_alone(seed, &mut rng), "dump.hlo_proto.pb"),
    };
    // Bytes are damaged in all of the first kind and in some of the others.
    if n % 10 < 4 || rng.one_in(8) {
        for _ in 0..1 + rng.below(3) {
            bytes::damage(&mut file, seeds, &mut rng);
        }
    }
    (file, "host.xplane.pb")
}

#[test]
fn twenty_thousand_damaged_captures_give_a_report_or_a_sentence() {
    let seeds = seeds();
    assert!(seeds.len() > 8, "{} seeds", seeds.len());
    if let Some(n) = std::env::var("DAMAGE_ONE").ok().and_then(|n| n.parse().ok()) {
        let (file, name) = damaged(&seeds, n);
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/target/damage");
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(format!("{folder}/{n}-{name}"), &file).unwrap();
        survive::check(&file, name).unwrap();
        return;
    }
    let trace = std::env::var_os("DAMAGE_TRACE").is_some();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let (next, reports) = (AtomicU64::new(0), AtomicU64::new(0));
    let outcomes: [Mutex<HashSet<String>>; KINDS.len()] = Default::default();
    let mut failures: Vec<String> = std::thread::scope(|scope| {
        let worker = || {
            let mut failures = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= COUNT {
                    return failures;
                }
                if trace {
                    eprintln!("{n}");
                }
                let (file, name) = damaged(&seeds, n);
                match survive::check(&file, name) {
                    Ok(Some(outcome)) => {
                        reports.fetch_add(1, Ordering::Relaxed);
                        outcomes[kind(n)].lock().unwrap().insert(outcome);
                    }
                    Ok(None) => {}
                    Err(why) => failures.push(format!("{n}: {why}")),
                }
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|w| w.join().unwrap()).collect()
    });
    failures.sort();
    let first: Vec<&String> = failures.iter().take(12).collect();
    assert!(failures.is_empty(), "{} of {COUNT} failed: {first:#?}", failures.len());
    // Damage is small: most of a capture can still be read, and is.
    let reports = reports.into_inner();
    assert!(reports > COUNT / 10 * 7, "only {reports} reports");
    // What is damaged changes what is said: damage that comes nowhere would leave the few reports of the seeds.
    for ((what, least), had) in KINDS.iter().zip(outcomes) {
        let had = had.into_inner().unwrap().len();
        assert!(had >= *least, "damage to {what} led to {had} sets of warnings and findings only");
    }
}
