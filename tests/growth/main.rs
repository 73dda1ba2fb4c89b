//! Work and memory are linear in the input: twice of anything costs at most 2.2 times the allocations, the bytes
//! allocated and the bytes read, and holds at most 2.2 times the memory. These counts are the same on every machine. Loops that
//! allocate nothing are caught by the time of sixteen times the input, with much room: only a square shows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod counting;
mod evidence;
mod hostile;
mod inputs;

use counting::Cost;
use oomscope::analysis::{Options, Told, each};
use oomscope::bytes::{ReadError, Source};
use oomscope::report::{text, to_json};
use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Counts the bytes that are read.
struct Counted<'a> {
    bytes: &'a [u8],
    read: Cell<u64>,
}

impl Source for Counted<'_> {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        let n = self.bytes.read_at(offset, buf)?;
        self.read.set(self.read.get() + n as u64);
        Ok(n)
    }
}

/// What the whole pipeline costs on one file.
fn cost(file: &[u8], name: &str) -> (Cost, u64, Duration) {
    let source = Counted { bytes: file, read: Cell::new(0) };
    let start = busy();
    let (cost, ()) = counting::measure(|| {
        let mut told = 0;
        each(&source, name, &mut |one| {
            told += 1;
            if let Told::Session(_, mut session) = one {
                let report = session.report(&Options::default());
                std::hint::black_box((to_json(&report).len(), text(&report).len()));
                // What fixes would save is reckoned where a finding offers one, or where it is asked for.
                let fixes = ["remat".to_owned(), "donate".to_owned()];
                std::hint::black_box(session.what_if(&fixes, &Options::default()).is_ok());
            }
        });
        assert!(told > 0, "nothing is said of a made file");
    });
    (cost, source.read.get(), busy().saturating_sub(start))
}

/// How long this thread has been running, without the time in which other programs had the processor; where the system
/// does not tell, the time that has passed.
fn busy() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    // Nanoseconds on the processor come first (Documentation/scheduler/sched-stats.rst).
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|t| t.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

/// Checks one way of growing: `make(n)` is a file with `n` of something, called `name`.
fn linear(what: &str, n: u64, name: &str, make: fn(u64) -> Vec<u8>) {
    let (one, two) = (make(n), make(2 * n));
    let ((a, read_a, _), (b, read_b, _)) = (cost(&one, name), cost(&two, name));
    let pairs = [
        ("bytes of the file", one.len() as u64, two.len() as u64),
        ("allocations", a.allocations, b.allocations),
        ("bytes allocated", a.bytes, b.bytes),
        ("most memory", a.peak, b.peak),
        ("bytes read", read_a, read_b),
    ];
    for (of, one, two) in pairs {
        // What doesn't depend on the size at all, and doubling vectors that just pass a power of two, weigh little here.
        let limit = one as f64 * 2.2 + 64.0 * 1024.0;
        assert!(two as f64 <= limit, "twice the {what}: {of} grow from {one} to {two}");
    }
    // The system tells time on the processor in ticks: less than one is as good as one.
    let large = make(16 * n);
    let fastest = |file: &[u8]| (0..3).map(|_| cost(file, name).2).min().unwrap();
    let (once, sixteen) = (fastest(&one).max(Duration::from_millis(4)), fastest(&large));
    assert!(sixteen < once * 100, "sixteen times the {what} take {sixteen:?} after {once:?}");
}

macro_rules! growth {
    ($file:literal; $($name:ident: $what:literal, $n:literal, $make:path;)*) => {
        $(#[test] fn $name() { linear($what, $n, $file, $make); })*
    };
}

growth! {
    "host.xplane.pb";
    frames_of_python: "Python frames side by side", 4000, inputs::frames;
    frames_inside_frames: "Python frames inside each other", 4000, inputs::nested;
    events_out_of_order: "events in the reverse order of time", 4000, inputs::reversed;
    kernels: "kernels", 4000, inputs::kernels;
    executions: "executions", 100, inputs::executions;
    arrays_that_stay: "arrays that are never freed", 2000, inputs::kept_arrays;
    arrays_that_go: "arrays that come and go", 2000, inputs::passing_arrays;
    frees_without_an_allocation: "frees of arrays from before", 2000, inputs::freed_arrays;
    waits: "waits of the allocator", 500, inputs::waits;
    lines: "lines", 1000, inputs::lines;
    planes: "planes", 500, inputs::planes;
    names: "names of events", 4000, inputs::names;
    modules: "modules", 200, inputs::modules;
    instructions: "instructions of one module", 3000, inputs::instructions;
    live_buffers: "buffers that all live at the peak", 1500, inputs::live_buffers;
    parameters: "parameters and outputs", 1000, inputs::parameters;
    equal_parameters: "parameters and outputs of one shape", 1000, inputs::equal_parameters;
    sharers: "buffers that share one place", 2000, inputs::sharers;
    loops_inside_loops: "loops inside each other", 24, inputs::nested_loops;
    stack: "frames of one Python stack", 300, inputs::stack;
    long_name: "arrays of one instruction and the length of its name", 500, hostile::long_name;
    long_shape: "buffers of one shape and its length", 2000, hostile::long_shape;
    long_paths: "stacks and their depth and the length of their paths", 1500, hostile::long_paths;
    calls: "calls of one computation and its parameters", 1000, hostile::calls;
    fusions: "fusions of one computation and its instructions", 1000, hostile::fusions;
    readers: "readers of one tuple and its parts", 1000, hostile::readers;
    outputs: "outputs that are one array and what lies beside it", 1000, hostile::outputs;
    stacks: "stacks of one loop", 1000, hostile::stacks;
    loops_and_stacks: "loops of a backward pass and stacks that they might read", 500, hostile::loops_and_stacks;
    modules_of_one_name: "executed modules of one name", 500, hostile::modules_of_one_name;
    modules_of_many_names: "executed modules", 500, hostile::modules_of_many_names;
    modules_of_a_tpu: "modules of a TPU", 500, hostile::modules_of_a_tpu;
    lines_out_of_order: "lines out of order", 500, hostile::lines_out_of_order;
}

growth! {
    "memory.prof";
    inlined_frames: "samples and the frames of the place they share", 1000, evidence::inlined_frames;
    frames_of_long_files: "frames and the length of their file's name", 1000, evidence::frames_of_long_files;
    samples_of_long_devices: "samples and the length of their device's name", 1000, evidence::samples_of_long_devices;
    devices_of_a_profile: "devices of a profile", 2000, evidence::devices;
    deep_stacks: "frames of the stacks of a profile", 2000, evidence::deep_stacks;
}

growth! {
    "log.txt";
    writers_of_one_failure: "processes with one failure", 3000, evidence::writers;
    failures_of_one_line: "failures of one line", 1000, evidence::failures_of_one_line;
    different_failures: "different failures", 1000, evidence::different_failures;
    lines_after_a_long_name: "lines and the length of the allocator's name", 1000, evidence::lines_after_a_long_name;
    dumps_of_pools: "dumps of pools", 500, evidence::dumps_of_pools;
    beginnings_of_plans: "beginnings of plans", 1000, evidence::beginnings_of_plans;
    accounts: "accounts of a compiler", 1000, evidence::accounts;
    buffers_of_a_plan: "buffers of a plan", 1000, evidence::buffers_of_a_plan;
    sizes_of_chunks: "sizes of chunks", 1000, evidence::sizes_of_chunks;
}

growth! {
    "module_0001.jit_step.gpu_after_optimizations-buffer-assignment.txt";
    values_of_one_instruction: "values of one instruction and the length of its name", 1000, evidence::values_of_one_instruction;
}
