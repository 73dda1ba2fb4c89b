//! Counts what a thread allocates.

// A global allocator can't be written without `unsafe`; it is the system's with counters beside it.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a piece of work took from the allocator.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// Calls.
    pub allocations: u64,
    /// Bytes asked for, all together.
    pub bytes: u64,
    /// The most that lived at once.
    pub peak: u64,
    live: u64,
}

struct Counting;

thread_local! {
    static COST: Cell<Cost> = const { Cell::new(Cost { allocations: 0, bytes: 0, peak: 0, live: 0 }) };
}

fn count(more: usize, less: usize) {
    // The thread's own counters are gone when it ends; what it frees then isn't counted.
    let _ = COST.try_with(|cell| {
        let mut cost = cell.get();
        cost.allocations += u64::from(more > 0);
        cost.bytes += more as u64;
        cost.live = (cost.live + more as u64).saturating_sub(less as u64);
        cost.peak = cost.peak.max(cost.live);
        cell.set(cost);
    });
}

// SAFETY: every call is the system allocator's with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, layout.size());
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Does something and says what it took on this thread.
pub fn measure<T>(work: impl FnOnce() -> T) -> (Cost, T) {
    COST.set(Cost::default());
    let result = work();
    (COST.get(), result)
}

#[test]
fn counts_are_of_what_was_done() {
    let (cost, kept) = measure(|| {
        drop(std::hint::black_box(vec![0u8; 1000]));
        std::hint::black_box(vec![0u8; 500])
    });
    assert_eq!((cost.allocations, cost.bytes, cost.peak, kept.len()), (2, 1500, 1000, 500));
}
