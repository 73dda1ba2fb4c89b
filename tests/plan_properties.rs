//! What holds for every plan.

// A helper that can't go on fails its test.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oomscope::hlo::Hlo;
use oomscope::plan::Plan;
use oomscope::proto::hlo::HloProto;
use oomscope::terms::Backend;
use oomscope::units::Bytes;
use prost::Message;

/// Every plan beside the captures, as (name, bytes).
fn plans() -> Vec<(String, Vec<u8>)> {
    ["plans/cuda", "plans/cuda-jax0.12", "plans/scenarios", "plans/tpu"]
        .iter()
        .flat_map(|folder| support::files(folder, ".hlo.pb"))
        .map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()))
        .collect()
}

fn build(bytes: Vec<u8>) -> Plan {
    Plan::build(&Hlo::parse(bytes).unwrap(), None)
}

#[test]
fn the_curve_never_exceeds_its_peak_and_first_reaches_it_there() {
    for (name, bytes) in plans() {
        for schedule in build(bytes).schedules {
            let whole = schedule.curve(usize::MAX);
            assert_eq!(whole.events, (0..schedule.events).collect::<Vec<_>>(), "{name}");
            let totals = whole.totals();
            assert_eq!(totals.iter().max(), Some(&schedule.peak), "{name}");
            let first = totals.iter().position(|&b| b == schedule.peak).unwrap();
            assert_eq!(first as u64, schedule.peak_event, "{name}");
            for event in [0, schedule.peak_event, schedule.events / 2, schedule.events - 1] {
                let live: Bytes = schedule.live_at(event).map(|l| l.bytes).sum();
                assert_eq!(live, totals[event as usize], "{name}: event {event}");
            }
        }
    }
}

#[test]
fn a_thinned_curve_keeps_ends_and_peak_and_lies_on_the_whole() {
    for (name, bytes) in plans() {
        for schedule in build(bytes).schedules {
            let whole = schedule.curve(usize::MAX).totals();
            let thin = schedule.curve(20);
            assert!(thin.events.len() <= 24, "{name}: {}", thin.events.len());
            for must in [0, schedule.peak_event, schedule.events - 1] {
                assert!(thin.events.contains(&must), "{name}: {must}");
            }
            for (event, total) in thin.events.iter().zip(thin.totals()) {
                assert_eq!(total, whole[*event as usize], "{name}: event {event}");
            }
        }
    }
}

#[test]
fn the_peak_fits_its_blocks() {
    for (name, bytes) in plans() {
        // Of a TPU's VMEM the trace counts sliced copies whole, and XLA's own peak exceeds the block.
        let spaces = build(bytes).summary.spaces;
        for space in spaces.iter().filter(|s| s.color != 1) {
            assert!(space.heap_peak.unwrap_or_default() <= space.temp, "{name} space {}", space.color);
        }
    }
}

#[test]
fn twice_the_sizes_give_twice_the_bytes() {
    for (name, bytes) in plans() {
        let mut hlo = HloProto::decode(bytes.as_slice()).unwrap();
        let one = build(hlo.encode_to_vec());
        let plan = hlo.buffer_assignment.as_mut().unwrap();
        plan.logical_buffers.iter_mut().for_each(|b| b.size *= 2);
        for allocation in &mut plan.buffer_allocations {
            allocation.size *= 2;
            for assigned in &mut allocation.assigned {
                assigned.offset *= 2;
                assigned.size *= 2;
            }
        }
        let two = build(hlo.encode_to_vec());
        let double = |b: Bytes| Bytes(b.0 * 2);
        for (a, b) in one.summary.spaces.iter().zip(&two.summary.spaces) {
            assert_eq!((double(a.need()), double(a.launch_need())), (b.need(), b.launch_need()), "{name}");
            assert_eq!(a.heap_peak.map(double), b.heap_peak, "{name}");
        }
        assert_eq!(double(one.donation.missed()), two.donation.missed(), "{name}");
        for (a, b) in one.schedules.iter().zip(&two.schedules) {
            assert_eq!(a.peak_event, b.peak_event, "{name}");
            let doubled: Vec<Bytes> = a.curve(100).totals().into_iter().map(double).collect();
            assert_eq!(doubled, b.curve(100).totals(), "{name}");
        }
    }
}

#[test]
fn a_plan_tells_for_what_device_it_was_compiled() {
    for (name, bytes) in plans() {
        let hlo = Hlo::parse(bytes).unwrap();
        let backend = if name.contains("plans/tpu") { Backend::Tpu } else { Backend::Gpu };
        assert_eq!(hlo.guess_backend(), Some(backend), "{name}");
    }
    let Some(capture) = support::capture("cpu-jax0.10.2-gpt_plain") else { return };
    for (module, bytes) in support::hlo_protos(&capture) {
        assert_eq!(Hlo::parse(bytes).unwrap().guess_backend(), None, "{}", module.name);
    }
}
