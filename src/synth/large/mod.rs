//! Captures of any size, for benchmarks: written line by line, so that one larger than memory can be made.
//!
//! What they hold is what fills real captures: kernels with CUDA's stats on a stream of each device, a launch on the host
//! for each, Python frames by the million, the events of one allocator a device, and a few large modules. No step
//! is like another.

mod memory;
mod module;
mod writer;

pub use module::module;

use super::program::Program;
use super::rng::Rng;
use super::transformer::Transformer;
use super::wire::{Message, varint_len};
use memory::MemoryEvent;
use writer::{Events, Names};

/// A large capture to be made.
#[derive(Debug, Clone)]
pub struct Large {
    /// Bytes of the file, about.
    pub bytes: u64,
    /// Captures of different seeds have nothing but their names in common.
    pub seed: u64,
    /// GPUs.
    pub devices: usize,
    /// Blocks of the transformer whose step is executed.
    pub layers: usize,
    /// Python frames in a step on the main thread; each of four loader threads has a third of that.
    pub frames: u64,
}

impl Large {
    /// A capture of about so many bytes: the larger, the more devices and the larger the model.
    #[must_use]
    pub fn of_size(bytes: u64, seed: u64) -> Large {
        match bytes {
            0..8_000_000 => Large { bytes, seed, devices: 1, layers: 2, frames: 80 },
            8_000_000..100_000_000 => Large { bytes, seed, devices: 2, layers: 8, frames: 220 },
            _ => Large { bytes, seed, devices: 8, layers: 16, frames: 1700 },
        }
    }

    /// Makes it; `sink` gets the file in parts, in order.
    pub fn write(&self, sink: &mut dyn FnMut(&[u8])) {
        let maker = Maker::new(self);
        sink(&maker.modules);
        for device in 0..self.devices {
            maker.plane(
                &format!("/device:GPU:{device}"),
                &maker.device_lines(device),
                &maker.kernel_names,
                sink,
            );
        }
        maker.plane("/host:CPU", &maker.host_lines(), &maker.host_names, sink);
        let mut end = Message::default();
        end.text(4, "synthetic");
        sink(&end.bytes);
    }
}

/// A step lasts this long, more or less.
const PERIOD: i64 = 80_000_000_000;
/// When the first step starts: Unix time would not fit 64 bits of picoseconds, and real lines have small origins too.
const START: i64 = 52_000_000_000;

/// A line of the file: what it is, and from where its times count.
#[derive(Debug, Clone)]
struct LineSpec {
    id: i64,
    name: String,
    timestamp_ns: i64,
    kind: Kind,
}

/// What a line is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The Python thread that runs the loop.
    Main,
    /// A thread that only runs Python.
    Loader(u64),
    /// The thread that launches on a device.
    Launcher(usize),
    /// A thread of the client's pool, which frees staging memory.
    Pool(usize),
    /// A device's stream of kernels.
    Kernels(usize),
    /// A device's stream of copies.
    Copies(usize),
}

struct Maker<'a> {
    of: &'a Large,
    program: Program,
    /// The plane of modules, with its tag.
    modules: Vec<u8>,
    host_names: Names,
    kernel_names: Names,
    /// Allocator events by host line kind: main, launchers, pool.
    memory: Vec<(Kind, Vec<MemoryEvent>)>,
    steps: u64,
}

impl<'a> Maker<'a> {
    fn new(of: &'a Large) -> Maker<'a> {
        let mut rng = Rng::of(of.seed, 1);
        let (modules, program) = modules(of, &mut rng);
        let host_names = Names::host(&program, of.devices, &mut rng);
        let kernel_names = Names::kernels(&program);
        let mut maker =
            Maker { of, program, modules, host_names, kernel_names, memory: Vec::new(), steps: 0 };
        // One step in the middle shows how many fill the file; which one that is, the first step shows.
        for _ in 0..2 {
            let middle = maker.steps / 2;
            let lines =
                maker.host_lines().into_iter().chain((0..of.devices).flat_map(|d| maker.device_lines(d)));
            let step: usize = lines.map(|line| maker.step_events(&line, middle).len()).sum();
            let memory = of.devices * 14 * 110;
            let names = maker.host_names.bytes.len() + of.devices * maker.kernel_names.bytes.len();
            let rest = of.bytes.saturating_sub((maker.modules.len() + names) as u64);
            maker.steps = (rest / (step + memory) as u64).max(1);
        }
        maker.memory = memory::simulate(&maker.program, of.devices, maker.steps);
        maker
    }

    /// When a step starts: steps are of different lengths.
    fn start(&self, step: u64) -> i64 {
        START + step as i64 * PERIOD + Rng::of(self.of.seed, step ^ 0x5eed).below(PERIOD as u64 / 20) as i64
    }

    fn device_lines(&self, device: usize) -> Vec<LineSpec> {
        let stream = 16 + 3 * device as i64;
        let line = |id: i64, name: &str, kind| LineSpec {
            id,
            name: format!("Stream #{id}({name})"),
            timestamp_ns: 1_911_061,
            kind,
        };
        vec![
            line(stream, "Compute", Kind::Kernels(device)),
            line(stream + 1, "MemcpyH2D", Kind::Copies(device)),
        ]
    }

    fn host_lines(&self) -> Vec<LineSpec> {
        let thread = |id: i64, name: &str, timestamp_ns, kind| LineSpec {
            id,
            name: if id == 1 { name.to_owned() } else { format!("{name}/{id}") },
            timestamp_ns,
            kind,
        };
        let mut lines = vec![thread(1, "python3", 364_437, Kind::Main)];
        lines.extend((0..4).map(|n| thread(4471 + n as i64, "python3", 705_441 + n as i64, Kind::Loader(n))));
        lines.extend((0..self.of.devices).map(|d| {
            thread(-6_338_620_429 + 77 * d as i64, "py_xla_execute", 905_441 + d as i64, Kind::Launcher(d))
        }));
        lines.extend(
            (0..4).map(|n| thread(2_418_215 + n as i64, "tf_pjrt_thread_pool", 1_905_441, Kind::Pool(n))),
        );
        lines
    }

    /// Writes a plane whose length must be known before its lines are: all lines are made twice.
    fn plane(&self, name: &str, lines: &[LineSpec], names: &Names, sink: &mut dyn FnMut(&[u8])) {
        let mut head = Message::default();
        head.text(2, name);
        let mut tail = names.bytes.clone();
        if name.starts_with("/device") {
            tail.extend(Names::device_facts());
        }
        let body: usize = lines.iter().map(|line| self.line(line, &mut |_| {})).sum();
        let mut outer = Message::default();
        outer.varint(1, (head.bytes.len() + body + tail.len()) as u64);
        // The tag of a length-delimited field instead of a varint's.
        outer.bytes[0] |= 2;
        sink(&outer.bytes);
        sink(&head.bytes);
        for line in lines {
            self.line(line, sink);
        }
        sink(&tail);
    }

    /// Writes a line; its length with tag and length. A line's events are held in memory.
    fn line(&self, line: &LineSpec, sink: &mut dyn FnMut(&[u8])) -> usize {
        let mut message = Message::default();
        message.int(1, line.id);
        message.text(2, &line.name);
        message.int(3, line.timestamp_ns);
        for step in 0..self.steps {
            message.bytes.append(&mut self.step_events(line, step));
        }
        let mut head = Message::default();
        head.varint(3, message.bytes.len() as u64);
        head.bytes[0] |= 2;
        debug_assert_eq!(head.bytes.len(), 1 + varint_len(message.bytes.len() as u64));
        sink(&head.bytes);
        sink(&message.bytes);
        head.bytes.len() + message.bytes.len()
    }

    /// The events of one step on one line, in the order of their starts.
    fn step_events(&self, line: &LineSpec, step: u64) -> Vec<u8> {
        let start = self.start(step);
        let part = step << 8 ^ (line.id as u64).wrapping_mul(0x2545_f491_4f6c_dd1d);
        let mut events = Events {
            rng: Rng::of(self.of.seed, part),
            origin: line.timestamp_ns * 1000,
            out: Vec::new(),
            body: Vec::new(),
            memory: self.memory_of(line.kind, step),
            bases: self.start(step),
        };
        match line.kind {
            Kind::Main => events.main(start, step, self.of.frames, &self.host_names),
            Kind::Loader(_) => {
                events.python(start, start + PERIOD / 10 * 9, self.of.frames / 3, &self.host_names)
            }
            Kind::Launcher(device) => {
                events.launches(start, device, self.first(step, device), &self.host_names)
            }
            Kind::Pool(n) => events.pool(start, n, &self.host_names),
            Kind::Kernels(device) => {
                events.kernels(start, self.first(step, device), &self.program, &self.kernel_names)
            }
            Kind::Copies(device) => events.copies(start, step, device, &self.kernel_names),
        }
        events.out
    }

    /// The correlation id of the first kernel of a step on a device.
    fn first(&self, step: u64, device: usize) -> u64 {
        (step * self.of.devices as u64 + device as u64) * (self.program.kernels.len() as u64 + 3) + 100
    }

    fn memory_of(&self, kind: Kind, step: u64) -> &[MemoryEvent] {
        let found = self.memory.iter().find(|(k, _)| *k == kind);
        let all = found.map_or(&[][..], |(_, events)| events);
        let (from, to) = (all.partition_point(|e| e.step < step), all.partition_point(|e| e.step <= step));
        all.get(from..to).unwrap_or_default()
    }
}

/// The plane of modules, a fortieth of the file: the step that is executed, and others that are only loaded.
fn modules(of: &Large, rng: &mut Rng) -> (Vec<u8>, Program) {
    let model = Transformer { layers: of.layers, ..Transformer::default() };
    let step = model.train_step();
    let program = Program::of(&step, 17);
    let mut plane = super::space::Plane::new("/host:metadata");
    let mut written = 0;
    let mut add = |plane: &mut super::space::Plane, id: i64, hlo: &crate::proto::hlo::HloProto| {
        let bytes = prost::Message::encode_to_vec(hlo);
        let name = hlo.hlo_module.as_ref().map_or("", |m| &m.name);
        plane.module(id, &format!("{name}({id})"), &bytes, Some(id));
        written += bytes.len() as u64;
        written
    };
    add(&mut plane, 17, &step);
    for id in 18.. {
        let room = of.bytes / 40;
        // From some instructions to a tenth of all, as programs have it: many small modules and a few large.
        let largest = (room / 10 / 100).max(50);
        let small = rng.below(largest).min(rng.below(largest)).min(rng.below(largest)) + 20;
        if add(&mut plane, id, &module(small, rng.u64())) >= room {
            break;
        }
    }
    let space = super::space::Space { planes: vec![plane], ..super::space::Space::default() };
    (space.encode(), program)
}

#[cfg(test)]
#[path = "../large_tests.rs"]
mod tests;
