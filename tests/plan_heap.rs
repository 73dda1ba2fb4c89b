//! The rules of the heap simulation, each on the smallest plan that shows it.

// A helper that can't go on fails its test.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "support/made.rs"]
mod made;

use made::*;
use oomscope::plan::Schedule;
use oomscope::proto::hlo::HloProto;
use oomscope::units::Bytes;

fn schedule(hlo: &HloProto) -> Schedule {
    made::read(hlo).1.schedule().unwrap().clone()
}

/// Peak and its event.
fn peak(hlo: &HloProto) -> (u64, u64) {
    let it = schedule(hlo);
    (it.peak.0, it.peak_event)
}

#[test]
fn the_earliest_of_equal_peaks_counts() {
    let events = vec![alloc(1), alloc(2), free(2), alloc(3), free(3), free(1)];
    let it = schedule(&heap(&[10, 5, 5], events));
    assert_eq!((it.peak, it.peak_event, it.events), (Bytes(15), 1, 6));
    assert_eq!(it.peak_instruction.as_deref(), Some("make.2"));
}

#[test]
fn a_shared_place_counts_once_until_the_last_sharer_dies() {
    let events = vec![alloc(1), share(2, 1), free(1), alloc(3), free(2), free(3)];
    let it = schedule(&heap(&[10, 10, 1], events));
    assert_eq!((it.peak, it.peak_event), (Bytes(11), 3));
    let life = it.lives[0];
    assert_eq!((life.first, life.last, life.bytes), (0, 3, Bytes(10)), "freed by event 4");
    assert_eq!(it.lives.len(), 2, "the sharer has no life of its own");
}

#[test]
fn a_sharer_of_a_dead_buffer_takes_its_place_anew() {
    let events = vec![alloc(1), free(1), alloc(3), share(2, 1), free(2), free(3)];
    let it = schedule(&heap(&[10, 10, 7], events));
    assert_eq!((it.peak, it.peak_event), (Bytes(17), 3));
    assert_eq!(it.lives.len(), 3);
}

#[test]
fn a_buffer_never_freed_lives_to_the_end() {
    let it = schedule(&heap(&[10, 5], vec![alloc(1), alloc(2), free(2)]));
    assert_eq!((it.lives[0].first, it.lives[0].last), (0, 2));
    assert_eq!((it.lives[1].first, it.lives[1].last), (1, 1));
}

#[test]
fn freeing_or_making_twice_changes_nothing() {
    let events = vec![alloc(1), alloc(1), free(2), alloc(2), free(1), free(1), free(2)];
    assert_eq!(peak(&heap(&[10, 5], events)), (15, 3));
}

#[test]
fn one_trace_over_two_blocks_is_one_schedule() {
    let mut hlo = heap(&[10, 20], vec![alloc(1), alloc(2), free(1), free(2)]);
    assignment(&mut hlo).buffer_allocations = vec![temp(0, 10, &[(1, 0, 10)]), temp(1, 20, &[(2, 0, 20)])];
    assert_eq!(peak(&hlo), (30, 1));
    let (_, plan) = made::read(&hlo);
    assert_eq!(plan.summary.spaces[0].temp_blocks, [Bytes(20), Bytes(10)]);
    assert_eq!(plan.summary.spaces[0].heap_peak, Some(Bytes(30)));
}

#[test]
fn a_trace_written_once_for_each_block_counts_once() {
    let mut hlo = heap(&[10, 20], vec![alloc(1), alloc(2), free(1), free(2)]);
    let plan = assignment(&mut hlo);
    plan.buffer_allocations = vec![temp(0, 10, &[(1, 0, 10)]), temp(1, 20, &[(2, 0, 20)])];
    let mut again = plan.heap_simulator_traces[0].clone();
    again.buffer_allocation_index = 1;
    plan.heap_simulator_traces.push(again);
    let it = schedule(&hlo);
    assert_eq!((it.peak, it.events), (Bytes(30), 4));
}

#[test]
fn a_trace_names_its_block_wrongly_and_is_joined_by_its_buffers() {
    let mut hlo = heap(&[10], vec![alloc(1), free(1)]);
    let plan = assignment(&mut hlo);
    plan.buffer_allocations[0].index = 7;
    plan.heap_simulator_traces[0].buffer_allocation_index = 3;
    assert_eq!(peak(&hlo), (10, 0));
}

#[test]
fn computations_simulated_one_by_one_have_their_blocks_apart() {
    let mut hlo = heap(&[10, 4, 6], vec![alloc(1), free(1)]);
    let plan = assignment(&mut hlo);
    plan.buffer_allocations = vec![temp(0, 10, &[(1, 0, 10)]), temp(1, 10, &[(2, 0, 4), (3, 4, 6)])];
    plan.heap_simulator_traces[0].whole_module_simulation = false;
    let mut body = trace(vec![alloc(2), alloc(3), free(2), free(3)]);
    body.whole_module_simulation = false;
    plan.heap_simulator_traces.push(body);
    let it = schedule(&hlo);
    assert_eq!((it.peak, it.peak_event, it.events), (Bytes(20), 0, 6));
    let live = |event| it.live_at(event).map(|l| l.bytes.0).collect::<Vec<_>>();
    assert_eq!(live(0), [10, 4, 6]);
    assert_eq!(live(1), [4, 6], "the body counts with its peak while the rest runs");
    assert_eq!(live(2), [10, 4]);
    assert_eq!(it.curve(100).totals(), [20, 10, 14, 20, 16, 10].map(Bytes));
}

#[test]
fn memory_spaces_have_schedules_of_their_own() {
    let mut hlo = heap(&[10, 20], vec![alloc(1), alloc(2), free(1), free(2)]);
    let plan = assignment(&mut hlo);
    plan.buffer_allocations = vec![temp(0, 10, &[(1, 0, 10)]), temp(1, 20, &[(2, 0, 20)])];
    plan.buffer_allocations[1].color = 5;
    plan.logical_buffers[1].color = 5;
    let (_, plan) = made::read(&hlo);
    let peaks: Vec<_> = plan.summary.spaces.iter().map(|s| (s.color, s.temp.0, s.heap_peak)).collect();
    assert_eq!(peaks, [(0, 10, Some(Bytes(10))), (5, 20, Some(Bytes(20)))]);
    assert_eq!(plan.summary.need(), Some(Bytes(10)), "host memory is not the device's");
    assert!(plan.summary.launch[1].is_host() && !plan.summary.launch[0].is_host());
}

#[test]
fn what_lies_in_no_temp_block_is_no_part_of_the_heap() {
    let mut hlo = heap(&[10, 20], vec![alloc(1), alloc(2), free(1), free(2)]);
    let plan = assignment(&mut hlo);
    plan.buffer_allocations = vec![temp(0, 10, &[(1, 0, 10)]), temp(1, 20, &[(2, 0, 20)])];
    plan.buffer_allocations[1].maybe_live_out = true;
    assert_eq!(peak(&hlo), (10, 0));
}

#[test]
fn without_a_trace_the_peak_is_unknown() {
    let mut hlo = heap(&[10], Vec::new());
    assignment(&mut hlo).heap_simulator_traces.clear();
    let (_, plan) = made::read(&hlo);
    assert_eq!(plan.summary.spaces[0].heap_peak, None);
    assert!(plan.schedule().is_none());
    assert_eq!(plan.live_at(0).count(), 0);
    assert_eq!(plan.summary.need(), Some(Bytes(10)), "the totals are known all the same");
}

#[test]
fn without_a_buffer_assignment_there_are_no_totals() {
    let mut hlo = heap(&[10], Vec::new());
    hlo.buffer_assignment = None;
    let (_, plan) = made::read(&hlo);
    assert!(!plan.summary.has_plan);
    assert_eq!((plan.summary.need(), plan.summary.memory_analysis), (None, None));
    assert_eq!(plan.summary.instructions, 1);
}
