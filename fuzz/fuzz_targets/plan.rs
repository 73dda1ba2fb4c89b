//! A module, its plan, and everything that is asked of it.
#![no_main]

#[allow(dead_code)]
#[path = "../../tests/damage/plan.rs"]
mod plan;
#[allow(dead_code)]
#[path = "../../tests/damage/space.rs"]
mod space;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use oomscope::hlo::Hlo;
use oomscope::plan::Plan;
use oomscope::synth::rng::Rng;

// Half of the changes are of the message, half of its bytes.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 2 == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut rng = Rng::of(0xf022, u64::from(seed));
    let changed = plan::damage(&data[..size], &mut rng);
    let len = changed.len().min(max_size).min(data.len());
    data[..len].copy_from_slice(&changed[..len]);
    len
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(hlo) = Hlo::parse(bytes.to_vec()) else { return };
    let plan = Plan::build(&hlo, None);
    let events = plan.schedule().is_some().then_some([0, 1, 7, u64::MAX]);
    for event in events.into_iter().flatten() {
        plan.live_at(event).count();
        let _ = plan.roles_at(event);
    }
});
