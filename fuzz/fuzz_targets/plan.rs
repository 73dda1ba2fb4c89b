//! A module, its plan, and everything that is asked of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomscope::hlo::Hlo;
use oomscope::plan::Plan;

fuzz_target!(|bytes: &[u8]| {
    let Ok(hlo) = Hlo::parse(bytes.to_vec()) else { return };
    let plan = Plan::build(&hlo, None);
    let events = plan.schedule().is_some().then_some([0, 1, 7, u64::MAX]);
    for event in events.into_iter().flatten() {
        plan.live_at(event).count();
        plan.roles_at(event);
    }
});
