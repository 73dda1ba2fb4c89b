//! Any file, from its first bytes to the texts of its report.
#![no_main]

#[allow(dead_code)]
#[path = "../../tests/damage/plan.rs"]
mod plan;
#[allow(dead_code)]
#[path = "../../tests/damage/space.rs"]
mod space;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use oomscope::analysis::{Options, read};
use oomscope::report::{markdown, text, to_json};
use oomscope::synth::rng::Rng;

// Half of the changes are of the message, half of its bytes.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 2 == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut rng = Rng::of(0xf022, u64::from(seed));
    let changed = if seed % 4 == 1 {
        space::damage(&data[..size], &mut rng)
    } else {
        plan::damage_in_capture(&data[..size], &mut rng)
    };
    let len = changed.len().min(max_size).min(data.len());
    data[..len].copy_from_slice(&changed[..len]);
    len
});

fuzz_target!(|bytes: &[u8]| {
    for name in ["host.xplane.pb", "module.hlo_proto.pb", "memory.prof"] {
        let Ok(mut session) = read(bytes, name, |_| {}) else { continue };
        let options = Options::default();
        let report = session.report(&options);
        assert_eq!(to_json(&report), to_json(&session.report(&options)));
        assert!(!text(&report).is_empty() && !markdown(&report).is_empty());
        let _ = session.plan_at(3, &options);
    }
});
