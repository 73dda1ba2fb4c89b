//! A module, its plan, and everything that is asked of it.
#![no_main]

#[path = "../mutate.rs"]
mod mutate;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use mutate::{mutate, plan, space};
use oomscope::analysis::{Options, read};
use oomscope::hlo::Hlo;
use oomscope::plan::Plan;

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed, plan::damage)
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(hlo) = Hlo::parse(bytes.to_vec()) else { return };
    let plan = Plan::build(&hlo, None);
    let events = plan.schedule().is_some().then_some([0, 1, 7, u64::MAX]);
    for event in events.into_iter().flatten() {
        plan.live_at(event).count();
        let _ = plan.roles_at(event);
    }
    // Its findings, and what fixes would save.
    if let Ok(mut session) = read(bytes, "module.hlo_proto.pb", |_| {}) {
        std::hint::black_box(session.report(&Options::default()));
    }
});
