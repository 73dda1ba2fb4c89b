//! Evidence beside captures that shares one thing among `n`, as [`crate::hostile`] does for captures.

use oomscope::proto::pprof::{Function, Label, Line, Location, Profile, Sample, ValueType};
use prost::Message;
use std::fmt::Write;

/// A profile of these samples; strings 1 to 8 are those of JAX, 9 the file, 10 the function.
fn profile(
    samples: impl Iterator<Item = Sample>,
    locations: impl Iterator<Item = Location>,
    file: String,
    more: impl Iterator<Item = String>,
) -> Vec<u8> {
    let known = ["", "allocations", "count", "space", "bytes", "device", "cuda:0", "kind", "buffer"];
    let strings = known.map(str::to_owned).into_iter().chain([file, "step".to_owned()]).chain(more);
    Profile {
        sample_type: vec![ValueType { r#type: 1, unit: 2 }, ValueType { r#type: 3, unit: 4 }],
        sample: samples.collect(),
        location: locations.collect(),
        function: vec![Function { id: 1, name: 10, filename: 9 }],
        string_table: strings.collect(),
    }
    .encode_to_vec()
}

fn sample(locations: impl Iterator<Item = u64>, bytes: u64, device: i64) -> Sample {
    Sample {
        location_id: locations.collect(),
        value: vec![1, bytes as i64],
        label: vec![Label { key: 5, str: device, num: 0 }, Label { key: 7, str: 8, num: 0 }],
    }
}

fn location(id: u64, lines: impl Iterator<Item = u64>) -> Location {
    Location { id, line: lines.map(|line| Line { function_id: 1, line: line as i64 }).collect() }
}

fn train_py() -> String {
    "/home/u/train.py".into()
}

/// `n` samples end in a place of `n` frames.
pub fn inlined_frames(n: u64) -> Vec<u8> {
    let own = (2..2 + n).map(|id| location(id, std::iter::once(n + id)));
    let shared = location(1, 1..=n);
    let samples = (2..2 + n).map(|id| sample([id, 1].into_iter(), 1000 + id, 6));
    profile(samples, std::iter::once(shared).chain(own), train_py(), std::iter::empty())
}

/// `n` frames of a file with a long name.
pub fn frames_of_long_files(n: u64) -> Vec<u8> {
    let samples = (1..=n).map(|id| sample(std::iter::once(id), 1000 + id, 6));
    let file = format!("/{}/train.py", "a".repeat(20 * n as usize));
    profile(samples, (1..=n).map(|id| location(id, std::iter::once(id))), file, std::iter::empty())
}

/// `n` samples of a device with a long name.
pub fn samples_of_long_devices(n: u64) -> Vec<u8> {
    let samples = (1..=n).map(|id| sample(std::iter::once(id), 1000 + id, 11));
    let device = std::iter::once("d".repeat(20 * n as usize));
    profile(samples, (1..=n).map(|id| location(id, std::iter::once(id))), train_py(), device)
}

/// `n` devices.
pub fn devices(n: u64) -> Vec<u8> {
    let samples = (0..n).map(|i| sample(std::iter::once(1), 1000, 11 + i as i64));
    let devices = (0..n).map(|i| format!("cuda:{i}"));
    profile(samples, std::iter::once(location(1, std::iter::once(1))), train_py(), devices)
}

/// Two stacks of `n` frames.
pub fn deep_stacks(n: u64) -> Vec<u8> {
    let samples = (1..=2).map(|first| sample(first..=n, 1000, 6));
    profile(samples, (1..=n).map(|id| location(id, std::iter::once(id))), train_py(), std::iter::empty())
}

fn text(lines: impl Iterator<Item = String>) -> Vec<u8> {
    lines.fold(String::new(), |text, line| text + &line + "\n").into_bytes()
}

const FAILURE: &str = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3661631960 bytes.";

/// `n` processes with the same failure.
pub fn writers(n: u64) -> Vec<u8> {
    text((0..n).map(|i| {
        format!("[pod/a-job-with-a-name-as-long-as-they-are-in-a-cluster-{}/main] {FAILURE}", 10_000 + i)
    }))
}

/// One line of `n` failures.
pub fn failures_of_one_line(n: u64) -> Vec<u8> {
    let mut line = String::new();
    for i in 0..n {
        let _ = write!(line, "Out of memory while trying to allocate {} bytes. ", 1_000_000 + i);
    }
    line.into_bytes()
}

/// `n` failures with different sizes.
pub fn different_failures(n: u64) -> Vec<u8> {
    text((0..n).map(|i| format!("Out of memory while trying to allocate {} bytes.", 1_000_000 + i)))
}

/// A failure of an allocator with a long name, and `n` other lines.
pub fn lines_after_a_long_name(n: u64) -> Vec<u8> {
    let name = "a".repeat(20 * n as usize);
    let failure =
        format!("Allocator ({name}) ran out of memory trying to allocate 5.05GiB (rounded to 5423155712)");
    text(std::iter::once(failure).chain((0..n).map(|i| format!("step {i} of many"))))
}

/// `n` dumps of an allocator's memory.
pub fn dumps_of_pools(n: u64) -> Vec<u8> {
    let dump = |i| {
        format!(
            "BFCAllocator dump for GPU_{i}_bfc\n22 Chunks of size 256 totalling 5.5KiB\nStats:\nLimit: 100000000"
        )
    };
    text((0..n).map(dump))
}

/// `n` beginnings of plans that do not go on.
pub fn beginnings_of_plans(n: u64) -> Vec<u8> {
    text((0..n).map(|i| format!("Peak buffers:\nBuffer {i}:\nnothing of the kind\nPeak buffers:")))
}

/// `n` accounts of the TPU's compiler, of a program each.
pub fn accounts(n: u64) -> Vec<u8> {
    text((0..n).map(|i| {
        format!(
            "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm.\nLargest program allocations in hbm:\n  1. Size: \
             5.{:02}G\n     Operator: op_name=\"jit(f)/a{i}\"\n     Allocation type: HLO temp",
            i % 100
        )
    }))
}

/// The plan of `n` buffers.
pub fn buffers_of_a_plan(n: u64) -> Vec<u8> {
    let buffer = |i| format!("Buffer {i}:\n\tSize: 256.00MiB\n\tXLA Label: fusion\n\tShape: f32[8,{i}]");
    text([FAILURE.into(), "Peak buffers:".into()].into_iter().chain((0..n).map(buffer)))
}

/// A pool in which chunks of `n` sizes are in use.
pub fn sizes_of_chunks(n: u64) -> Vec<u8> {
    let chunks = |i| format!("{i} Chunks of size {} totalling 5.5KiB", 256 * i);
    text([FAILURE.into(), "BFCAllocator dump for GPU_0_bfc".into()].into_iter().chain((1..n).map(chunks)))
}

/// `n` values of one instruction with a long name stack.
pub fn values_of_one_instruction(n: u64) -> Vec<u8> {
    let mut lines = vec![
        "BufferAssignment:".to_owned(),
        "allocation 0: size 8388608, color 0, preallocated-temp:".to_owned(),
    ];
    lines.extend(
        (0..n).map(|i| format!(" value: <7 add.{i} @0> (size=8192,offset={}): f32[2048]{{0}}", 8192 * i)),
    );
    lines.extend(["Used values:".to_owned(), "<7 add @0>".to_owned()]);
    let name = "f".repeat(20 * n as usize);
    lines.push(format!(
        " from instruction: %add = f32[2048] add(%a, %b), metadata={{op_name=\"jit(f)/{name}\"}}"
    ));
    text(lines.into_iter())
}
