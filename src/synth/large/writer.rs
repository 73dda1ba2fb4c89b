//! The events of a large capture, written without anything in between.

use super::super::program::Program;
use super::super::rng::Rng;
use super::super::wire::{Message, push_varint};
use super::PERIOD;
use super::memory::{HOST, LAUNCH, MemoryEvent, PREPARE, launch, put};

/// Stat names of every plane, with ids from 1. References to strings come after them.
const STATS: [&str; 24] = [
    "correlation_id",
    "context_id",
    "kernel_details",
    "tf_op",
    "name",
    "hlo_op",
    "hlo_module",
    "program_id",
    "device_id",
    "memcpy_details",
    "allocator_name",
    "bytes_reserved",
    "bytes_allocated",
    "bytes_available",
    "fragmentation",
    "peak_bytes_in_use",
    "requested_bytes",
    "allocation_bytes",
    "addr",
    "id",
    "data_type",
    "_r",
    "step_num",
    "module_name",
];

fn stat(name: &str) -> u64 {
    STATS.iter().position(|s| *s == name).map_or(0, |i| i as u64 + 1)
}

/// Host events of the runtime, with ids from 1.
const RUNTIME: [&str; 18] = [
    "MemoryAllocation",
    "MemoryDeallocation",
    "train",
    "$train.py:97 run_step",
    "PjitFunction(train_step)",
    "PJRT_LoadedExecutable_Execute",
    "CommonPjRtLoadedExecutable::Execute (jit_train_step)",
    "CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice",
    "Resolve constant globals",
    "Build buffer allocations",
    "GpuExecutable::ExecuteThunks",
    "jit_train_step:XLA GPU module",
    "DevicePutWithSharding",
    "CommonPjRtClient::LinearizeIntoImpl",
    "cuMemcpyHtoDAsync_v2",
    "ThreadpoolListener::StartRegion",
    "ParseArguments",
    "$api.py:3105 block_until_ready",
];

fn runtime(name: &str) -> u64 {
    RUNTIME.iter().position(|s| *s == name).map_or(0, |i| i as u64 + 1)
}

/// The metadata of a plane, and where its names start.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// Fields 4 and 5 of the plane.
    pub bytes: Vec<u8>,
    /// Ids of events: first of the kernels, how many; first of Python's, how many.
    kernels: (u64, u64),
    python: (u64, u64),
    /// Id of the first reference: in the host's plane the devices' allocators, the host's, the module and the context;
    /// in a device's plane a few shared ones and then three a kernel.
    refs: u64,
    devices: u64,
}

fn entry(out: &mut Message, field: u32, id: u64, name: &str) {
    let mut metadata = Message::default();
    metadata.int(1, id as i64);
    metadata.text(2, name);
    let mut entry = Message::default();
    entry.int(1, id as i64);
    entry.bytes(2, &metadata.bytes);
    out.bytes(field, &entry.bytes);
}

/// How many Python functions the program has.
const FUNCTIONS: u64 = 4000;

impl Names {
    /// Names of the host's plane.
    pub fn host(program: &Program, devices: usize, rng: &mut Rng) -> Names {
        let mut out = Message::default();
        let mut id = 0;
        let mut add = |name: &str| {
            id += 1;
            entry(&mut out, 4, id, name);
        };
        RUNTIME.iter().for_each(|name| add(name));
        for (op, _) in &program.kernels {
            add(op);
            add(&op.replace('.', "_"));
        }
        const FILES: [&str; 12] = [
            "core.py",
            "pjit.py",
            "array.py",
            "api.py",
            "tree_util.py",
            "layers.py",
            "train.py",
            "data.py",
            "iter.py",
            "linen.py",
            "optimizer.py",
            "_src/dispatch.py",
        ];
        for n in 0..FUNCTIONS {
            let file = FILES[rng.below(12) as usize];
            add(&format!("${file}:{} fn_{n}", rng.below(3000)));
        }
        let kernels = (RUNTIME.len() as u64 + 1, program.kernels.len() as u64);
        let python = (kernels.0 + 2 * kernels.1, FUNCTIONS);
        let refs = STATS.len() as u64 + 1;
        STATS.iter().enumerate().for_each(|(i, name)| entry(&mut out, 5, i as u64 + 1, name));
        let strings = (0..devices).map(|d| format!("GPU_{d}_bfc"));
        let strings = strings.chain(["xla_gpu_host_bfc".into(), "jit_train_step".into(), "$$1".into()]);
        strings.enumerate().for_each(|(i, name)| entry(&mut out, 5, refs + i as u64, &name));
        Names { bytes: out.bytes, kernels, python, refs, devices: devices as u64 }
    }

    /// Names of a device's plane.
    pub fn kernels(program: &Program) -> Names {
        let mut out = Message::default();
        entry(&mut out, 4, 1, "MemcpyH2D");
        for (i, (op, _)) in program.kernels.iter().enumerate() {
            entry(&mut out, 4, i as u64 + 2, &op.replace('.', "_"));
        }
        let refs = STATS.len() as u64 + 1;
        STATS.iter().enumerate().for_each(|(i, name)| entry(&mut out, 5, i as u64 + 1, name));
        let mut strings = vec!["XlaModule:".to_owned(), "jit_train_step".into(), "$$1".into()];
        for (i, (op, stack)) in program.kernels.iter().enumerate() {
            strings.push(op.clone());
            strings.push(stack.clone());
            let (grid, block) = (1 + i % 977, 32 << (i % 6));
            strings.push(format!(
                "regs:{} static_shared:0 dynamic_shared:{} grid:{grid},1,1 block:{block},1,1 ",
                16 + i % 200,
                i % 7 * 1024
            ));
        }
        strings.iter().enumerate().for_each(|(i, name)| entry(&mut out, 5, refs + i as u64, name));
        Names {
            bytes: out.bytes,
            kernels: (2, program.kernels.len() as u64),
            python: (0, 0),
            refs,
            devices: 0,
        }
    }

    /// Field 6 of a device's plane.
    pub fn device_facts() -> Vec<u8> {
        // Their names have ids after the others'.
        let mut out = Message::default();
        for (id, name, value) in
            [(100_000_001, "device_vendor", None), (100_000_002, "memory_size", Some(85_520_809_984))]
        {
            entry(&mut out, 5, id, name);
            let mut fact = Message::default();
            fact.int(1, id as i64);
            match value {
                Some(bytes) => fact.varint(3, bytes),
                None => fact.bytes(5, b"Nvidia"),
            }
            out.bytes(6, &fact.bytes);
        }
        out.bytes
    }
}

/// The events of one step on one line, being written.
pub(super) struct Events<'a> {
    pub rng: Rng,
    /// Of the line, in picoseconds.
    pub origin: i64,
    pub out: Vec<u8>,
    pub body: Vec<u8>,
    /// Allocator events still to be written.
    pub memory: &'a [MemoryEvent],
    /// When the step starts.
    pub bases: i64,
}

impl Events<'_> {
    /// Begins an event, after the allocator events that come before it.
    fn begin(&mut self, names: &Names, id: u64, at: i64, duration: i64) {
        while let Some((next, rest)) = self.memory.split_first()
            && self.bases + next.at <= at
        {
            self.memory = rest;
            self.memory_event(next, names);
        }
        self.open(id, at, duration);
    }

    fn open(&mut self, id: u64, at: i64, duration: i64) {
        self.body.clear();
        self.body.push(0x08);
        push_varint(&mut self.body, id);
        self.body.push(0x10);
        push_varint(&mut self.body, (at - self.origin).max(0) as u64);
        if duration > 0 {
            self.body.push(0x18);
            push_varint(&mut self.body, duration as u64);
        }
    }

    fn end(&mut self) {
        self.out.push(0x22);
        push_varint(&mut self.out, self.body.len() as u64);
        self.out.extend_from_slice(&self.body);
    }

    /// A stat of the current event; `field` is 3 for an unsigned, 4 for a signed, 7 for a reference.
    fn stat(&mut self, id: u64, field: u8, value: u64) {
        self.body.push(0x22);
        let at = self.body.len();
        self.body.push(0);
        self.body.push(0x08);
        push_varint(&mut self.body, id);
        self.body.push(field << 3);
        push_varint(&mut self.body, value);
        self.body[at] = (self.body.len() - at - 1) as u8;
    }

    fn plain(&mut self, names: &Names, id: u64, at: i64, duration: i64) {
        self.begin(names, id, at, duration);
        self.end();
    }

    fn memory_event(&mut self, event: &MemoryEvent, names: &Names) {
        let allocators = names.refs;
        let name = if event.freed { "MemoryDeallocation" } else { "MemoryAllocation" };
        // References: the devices' allocators, then the host's, the module and the context.
        let host = names.devices;
        let allocator = allocators + if event.allocator == HOST { host } else { event.allocator as u64 };
        self.open(runtime(name), self.bases + event.at, 0);
        self.stat(stat("allocator_name"), 7, allocator);
        self.stat(stat("bytes_reserved"), 4, 0);
        self.stat(stat("bytes_allocated"), 4, event.in_use);
        self.stat(stat("bytes_available"), 4, event.available);
        self.body.extend([0x22, 11, 0x08, stat("fragmentation") as u8, 0x11]);
        let six: f64 = format!("{:.5e}", event.fragmentation).parse().unwrap_or(0.0);
        self.body.extend(six.to_le_bytes());
        self.stat(stat("peak_bytes_in_use"), 4, event.peak);
        self.stat(stat("requested_bytes"), 4, event.block.requested);
        self.stat(stat("allocation_bytes"), 4, event.block.chunk);
        self.stat(stat("addr"), 4, event.block.address);
        self.stat(stat("id"), 4, 0);
        self.stat(stat("data_type"), 4, 0);
        self.end();
    }

    fn rest_of_memory(&mut self, names: &Names) {
        for event in std::mem::take(&mut self.memory) {
            self.memory_event(event, names);
        }
    }

    /// The thread that runs the loop.
    pub fn main(&mut self, start: i64, step: u64, frames: u64, names: &Names) {
        let part = |hundredths: i64| start + PERIOD / 100 * hundredths;
        self.begin(names, runtime("train"), start, PERIOD / 100 * 95);
        self.stat(stat("_r"), 4, 1);
        self.stat(stat("step_num"), 4, step);
        self.end();
        self.plain(names, runtime("$train.py:97 run_step"), start + 4_000_000, PERIOD / 100 * 94);
        self.python(part(1), part(15), frames / 4, names);
        self.plain(names, runtime("PjitFunction(train_step)"), part(16), PERIOD / 100 * 12);
        self.plain(names, runtime("ParseArguments"), part(16) + 3_000_000, 6_000_000);
        self.plain(names, runtime("PJRT_LoadedExecutable_Execute"), part(16) + 60_000_000, PERIOD / 100 * 11);
        let execute = runtime("CommonPjRtLoadedExecutable::Execute (jit_train_step)");
        self.plain(names, execute, part(16) + 62_000_000, PERIOD / 100 * 10);
        self.python(part(29), part(91), frames - frames / 4, names);
        self.plain(names, runtime("$api.py:3105 block_until_ready"), part(91), PERIOD / 100);
        self.rest_of_memory(names);
    }

    /// About `count` nested Python frames between two moments.
    pub fn python(&mut self, from: i64, to: i64, count: u64, names: &Names) {
        // Starts ascend, and each frame ends within the one around it.
        let mut around: Vec<i64> = vec![to];
        let mut at = from;
        let stride = ((to - from) / (count.max(1) as i64)).max(2);
        for _ in 0..count {
            at += 1 + self.rng.below(2 * stride as u64 - 1) as i64;
            while around.len() > 1 && around.last().is_some_and(|end| *end <= at) {
                around.pop();
            }
            let Some(&end) = around.last() else { return };
            if at + 1 >= end {
                return;
            }
            let deep = 1 << (2 * around.len().min(8));
            let longest = ((to - from) / deep).max(stride);
            let duration = (1 + self.rng.below(longest as u64) as i64).min(end - at - 1);
            if duration > 3 * stride && around.len() < 40 {
                around.push(at + duration);
            }
            // Some functions are called far more often than others.
            let function = self.rng.below(names.python.1).min(self.rng.below(names.python.1));
            self.plain(names, names.python.0 + function, at, duration);
        }
    }

    /// The thread that launches a device's kernels.
    pub fn launches(&mut self, start: i64, device: usize, first: u64, names: &Names) {
        let at = start + launch(device);
        let all = names.kernels.1 as i64 * LAUNCH;
        let helper = runtime("CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice");
        self.plain(names, helper, at, all + 4 * PREPARE);
        self.plain(names, runtime("Resolve constant globals"), at + 2_000_000, 1_000_000);
        self.plain(names, runtime("Build buffer allocations"), at + 6_000_000, PREPARE - 8_000_000);
        self.begin(names, runtime("GpuExecutable::ExecuteThunks"), at + PREPARE, all + PREPARE / 2);
        self.stat(stat("module_name"), 7, names.refs + names.devices + 1);
        self.end();
        self.plain(
            names,
            runtime("jit_train_step:XLA GPU module"),
            at + PREPARE + 1_000_000,
            all + PREPARE / 4,
        );
        for n in 0..names.kernels.1 {
            let at = at + PREPARE + 2_000_000 + n as i64 * LAUNCH + self.rng.below(3_000_000) as i64;
            let (thunk, call) = (self.rng.below(2_000_000) as i64, self.rng.below(900_000) as i64);
            self.plain(names, names.kernels.0 + 2 * n, at, 6_000_000 + thunk);
            self.begin(names, names.kernels.0 + 2 * n + 1, at + 900_000, 4_000_000 + call);
            self.stat(stat("device_id"), 3, device as u64);
            self.stat(stat("correlation_id"), 3, first + n);
            self.stat(stat("context_id"), 7, names.refs + names.devices + 2);
            self.end();
        }
        self.rest_of_memory(names);
    }

    /// A thread of the pool: copies from staging memory.
    pub fn pool(&mut self, start: i64, thread: usize, names: &Names) {
        let at = start + put(thread) + PERIOD / 200;
        self.plain(names, runtime("ThreadpoolListener::StartRegion"), at, 0);
        self.plain(names, runtime("cuMemcpyHtoDAsync_v2"), at + 4_000_000, 9_000_000);
        self.rest_of_memory(names);
    }

    /// A device's kernels.
    pub fn kernels(&mut self, start: i64, first: u64, program: &Program, names: &Names) {
        let count = program.kernels.len() as u64;
        let mut at = start + PERIOD / 100 * 18;
        let longest = (PERIOD / 100 * 140 / (count.max(1) as i64)).max(2) as u64;
        for n in 0..count {
            let duration = 1 + self.rng.below(longest) as i64;
            let own = names.refs + 3 + 3 * n;
            self.open(names.kernels.0 + n, at, duration);
            self.stat(stat("correlation_id"), 3, first + n);
            self.stat(stat("context_id"), 7, names.refs + 2);
            self.stat(stat("kernel_details"), 7, own + 2);
            self.stat(stat("tf_op"), 7, names.refs);
            self.stat(stat("name"), 7, own + 1);
            self.stat(stat("hlo_op"), 7, own);
            self.stat(stat("hlo_module"), 7, names.refs + 1);
            self.stat(stat("program_id"), 4, 17);
            self.end();
            at += duration + 1 + self.rng.below(1_000_000) as i64;
        }
    }

    /// A device's copies: the batch of the step.
    pub fn copies(&mut self, start: i64, step: u64, device: usize, names: &Names) {
        for n in 0..2 {
            let at = start + put(device) + PERIOD / 300 + n * 20_000_000;
            let lasted = 2_000_000 + self.rng.below(900_000) as i64;
            self.open(1, at, lasted);
            self.stat(stat("correlation_id"), 3, step * 2 + n as u64 + 1);
            self.stat(stat("context_id"), 7, names.refs + 2);
            self.end();
        }
    }
}
