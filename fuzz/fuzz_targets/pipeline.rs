//! Any file, from its first bytes to the texts of its report.
#![no_main]

#[path = "../mutate.rs"]
mod mutate;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use mutate::{mutate, plan, space};
use oomscope::analysis::{Options, read};
use oomscope::evidence::sniff;
use oomscope::report::{markdown, text, to_json};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    // A capture, or the largest module in it.
    let damage = if seed % 4 == 1 { space::damage } else { plan::damage_in_capture };
    mutate(data, size, max_size, seed, damage)
});

fuzz_target!(|bytes: &[u8]| {
    let mut kinds = Vec::new();
    for name in ["host.xplane.pb", "module.hlo_proto.pb", "memory.prof"] {
        // Most bytes are of one kind, whatever their name.
        let kind = sniff(bytes, bytes.len() as u64, name);
        if kinds.contains(&kind) {
            continue;
        }
        kinds.push(kind);
        let Ok(mut session) = read(bytes, name, |_| {}) else { continue };
        let options = Options::default();
        let report = session.report(&options);
        assert_eq!(to_json(&report), to_json(&session.report(&options)));
        assert!(!text(&report).is_empty() && !markdown(&report).is_empty());
        let _ = session.plan_at(3, &options);
    }
});
