//! A program that is being profiled: arrays, executions, Python events, in simulated time.
//!
//! The names of events are those of the client generations that JAX has had on GPUs; each comment names the file of
//! openxla/xla that emits them.

use super::bfc::{Bfc, Block, NoRoom};
use super::program::{Planned, Program};
use super::space::{Plane, Space, Stat};
use crate::arrange::Arrange;
use crate::units::{Picos, six_digits};

/// Whose event names a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// JAX up to 0.9.0 (`xla/pjrt/pjrt_stream_executor_client.cc`).
    StreamExecutor,
    /// JAX 0.9.2 to 0.10.2 (`xla/pjrt/common_pjrt_client.cc`).
    Common,
    /// JAX from 0.11 on: as [`Client::Common`], and waits of the allocator have an event of their own
    /// (`xla/tsl/framework/allocator_retry.cc`).
    CommonWithRetries,
    /// The client that `XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT=1` chose up to 0.10.0 (`xla/pjrt/gpu/tfrt`).
    Tfrt,
}

/// The devices of a run.
#[derive(Debug, Clone, Copy)]
pub struct Card {
    /// AMD's event names instead of Nvidia's.
    pub amd: bool,
    /// Memory of each.
    pub memory: u64,
    /// The pool's limit on each.
    pub pool: u64,
    /// Whether the pool is mapped at start.
    pub preallocated: bool,
    /// How many.
    pub count: usize,
}

/// An array on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Array {
    /// Which.
    pub device: usize,
    /// Its bytes.
    pub block: Block,
}

/// Circumstances of an execution.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call {
    /// The arguments cannot be donated although the plan counts on it.
    pub not_donatable: bool,
    /// Another thread frees this array, after so many milliseconds, if the launch has to wait.
    pub rescue: Option<(Array, i64)>,
}

/// What an execution on one device came to.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Bytes in use when it started.
    pub in_use_at_start: u64,
    /// Its outputs that are no donated parameters.
    pub outputs: Vec<Array>,
    /// New arrays for donated parameters that were not donatable.
    pub copies: Vec<Array>,
    /// The allocation that failed.
    pub failed: Option<(Planned, NoRoom)>,
}

#[derive(Debug)]
pub(super) struct Device {
    pub(super) plane: Plane,
    pub(super) compute: usize,
    pub(super) copies: usize,
    pub(super) bfc: Bfc,
    /// The most in use after any recorded event.
    pub(super) peak: u64,
    /// When its last kernel ends.
    pub(super) busy: i64,
    /// The thread that launches on it, where there are several.
    pub(super) thread: usize,
}

/// A run being profiled. Nothing is recorded before [`Session::start`].
#[derive(Debug)]
pub struct Session {
    pub(super) client: Client,
    pub(super) amd: bool,
    pub(super) devices: Vec<Device>,
    pub(super) host: Bfc,
    pub(super) modules: Plane,
    pub(super) cpu: Plane,
    pub(super) main: usize,
    pub(super) pool: usize,
    pub(super) launches: usize,
    pub(super) line: usize,
    /// Picoseconds from the origin of all lines.
    pub(super) now: i64,
    pub(super) began: i64,
    pub(super) recording: bool,
    pub(super) open: Vec<Option<(usize, usize, i64)>>,
    pub(super) correlation: u64,
    pub(super) link: i64,
    pub(super) keys: i64,
    /// Staging buffers in pinned host memory, and when their copies end.
    pub(super) staging: Vec<(i64, Block)>,
}

pub(super) const US: i64 = 1_000_000;

impl Session {
    /// Devices with empty pools, and a host.
    #[must_use]
    pub fn new(client: Client, card: Card) -> Session {
        let mut cpu = Plane::new("/host:CPU");
        let main = cpu.line(1_029_134_407_802_915_441, "python3", 364_437);
        let pool = cpu.line(2_418_215_489, "tf_pjrt_thread_pool/2418215489", 1_905_441);
        let launches = if card.amd { cpu.line(583, "Host Threads/583", 911_061) } else { main };
        let devices = (0..card.count.max(1))
            .map(|n| {
                let mut plane = Plane::new(&format!("/device:GPU:{n}"));
                plane.id = n as i64;
                let stream = 16 + 3 * n as i64;
                let kind = if card.amd { "Kernel" } else { "Compute" };
                let compute = plane.line(stream, &format!("Stream #{stream}({kind})"), 1_911_061);
                let copies = plane.line(stream + 1, &format!("Stream #{}(MemcpyH2D)", stream + 1), 1_911_061);
                plane.stat("device_vendor", Stat::Str(if card.amd { "AMD" } else { "Nvidia" }));
                if !card.amd {
                    plane.stat("gpu_device_name", Stat::Str("NVIDIA H100 80GB HBM3"));
                }
                plane.stat("memory_size", Stat::Uint(card.memory));
                plane.stat("compute_cap_major", Stat::Int(9));
                plane.stat("compute_cap_minor", Stat::Int(if card.amd { 4 } else { 0 }));
                let name = format!("GPU_{n}_bfc");
                let bfc = if card.preallocated {
                    Bfc::preallocated(&name, card.pool)
                } else {
                    Bfc::growing(&name, card.pool)
                };
                let thread = if card.count > 1 {
                    let id = 6_338_620 + 7919 * n as i64;
                    cpu.line(id, &format!("py_xla_execute/{id}"), 905_441)
                } else {
                    main
                };
                Device { plane, compute, copies, bfc, peak: 0, busy: 0, thread }
            })
            .collect();
        Session {
            client,
            amd: card.amd,
            devices,
            host: Bfc::growing("xla_gpu_host_bfc", 64 << 30),
            modules: Plane::new("/host:metadata"),
            cpu,
            main,
            pool,
            launches,
            line: main,
            now: 52_000 * US,
            began: 3000 * US,
            recording: false,
            open: Vec::new(),
            correlation: 100,
            link: 80,
            keys: 0,
            staging: Vec::new(),
        }
    }

    /// Adds a module to what the capture will hold, and loads it.
    pub fn load(&mut self, hlo: &crate::proto::hlo::HloProto, id: i64) -> Program {
        let program = Program::of(hlo, id);
        self.keys += 1;
        let bytes = prost::Message::encode_to_vec(hlo);
        match self.client {
            Client::StreamExecutor => self.modules.module(id, &program.full_name(), &bytes, None),
            _ => self.modules.module(self.keys, &program.full_name(), &bytes, Some(id)),
        }
        program
    }

    /// Starts recording.
    pub fn start(&mut self) {
        self.record(true);
        self.cpu.event(self.main, "$profiler.py:101 start_trace", Picos(self.began), Picos(45_000 * US), &[]);
    }

    /// Whether what follows is recorded: events get lost when the profiler's buffers are full.
    pub fn record(&mut self, on: bool) {
        self.recording = on;
    }

    /// Lets time pass.
    pub fn tick(&mut self, microseconds: i64) {
        self.now += microseconds * US;
    }

    /// The allocator of a device.
    #[must_use]
    pub fn allocator(&self, device: usize) -> &Bfc {
        &self.devices[device].bfc
    }

    /// The most in use on a device after any recorded event.
    #[must_use]
    pub fn recorded_peak(&self, device: usize) -> u64 {
        self.devices[device].peak
    }

    /// Begins a host event that lasts until [`Session::leave`].
    pub fn enter(&mut self, name: &str, stats: &[(&str, Stat<'_>)]) {
        let event = self.recording.then(|| self.cpu.event(self.line, name, Picos(self.now), Picos(0), stats));
        self.open.push(event.map(|event| (self.line, event, self.now)));
        self.tick(1);
    }

    /// Ends the host event that was begun last.
    pub fn leave(&mut self) {
        if let Some(Some((line, event, start))) = self.open.pop() {
            self.cpu.lasted(line, event, Picos(self.now - start));
        }
        self.tick(1);
    }

    /// A host event of `microseconds`.
    pub fn event(&mut self, name: &str, microseconds: i64) {
        self.enter(name, &[]);
        self.tick(microseconds - 1);
        self.leave();
    }

    pub(super) fn memory_event(&mut self, name: &str, device: Option<usize>, block: Block) {
        if !self.recording {
            return;
        }
        let bfc = match device {
            Some(n) => {
                let device = &mut self.devices[n];
                device.peak = device.peak.max(device.bfc.in_use);
                &device.bfc
            }
            None => &self.host,
        };
        // TraceMe writes numbers as text of six digits, and reads 0 back as an integer.
        let fragmentation = match bfc.fragmentation() {
            0.0 => Stat::Int(0),
            f => Stat::Double(six_digits(f).0),
        };
        let stats = [
            ("allocator_name", Stat::Ref(&bfc.name)),
            ("bytes_reserved", Stat::Int(0)),
            ("bytes_allocated", Stat::Int(bfc.in_use as i64)),
            ("bytes_available", Stat::Int(bfc.available() as i64)),
            ("fragmentation", fragmentation),
            ("peak_bytes_in_use", Stat::Int(bfc.peak as i64)),
            ("requested_bytes", Stat::Int(block.requested as i64)),
            ("allocation_bytes", Stat::Int(block.chunk as i64)),
            ("addr", Stat::Int(block.address as i64)),
            ("id", Stat::Int(0)),
            ("data_type", Stat::Int(0)),
        ];
        self.cpu.event(self.line, name, Picos(self.now), Picos(0), &stats);
        self.now += US / 2;
    }

    /// Asks the allocator of a device once.
    ///
    /// # Errors
    /// Where there is no room; nothing is recorded then.
    pub fn allocate(&mut self, device: usize, bytes: u64) -> Result<Array, NoRoom> {
        let bfc = &mut self.devices[device].bfc;
        let mapped = bfc.pool;
        let block = bfc.allocate(bytes)?;
        if bfc.pool > mapped {
            self.event("DeviceMemAllocator::Alloc", 300);
        }
        self.memory_event("MemoryAllocation", Some(device), block);
        Ok(Array { device, block })
    }

    pub(super) fn release(&mut self, array: Array) {
        if let Some(block) = self.devices[array.device].bfc.free(array.block.address) {
            self.memory_event("MemoryDeallocation", Some(array.device), block);
        }
    }

    /// Python drops its last reference to an array.
    pub fn drop_array(&mut self, array: Array) {
        self.event("Wait for donation holds", 1);
        self.event("Wait for usage holds", 1);
        self.release(array);
    }

    /// `jax.device_put` of an array of so many bytes.
    ///
    /// # Errors
    /// Where there is no room.
    pub fn device_put(&mut self, device: usize, bytes: u64) -> Result<Array, NoRoom> {
        self.enter("DevicePutWithSharding", &[]);
        let inner = match self.client {
            Client::StreamExecutor => "PjRtStreamExecutorClient::BufferFromHostBuffer",
            Client::Common | Client::CommonWithRetries => "CommonPjRtClient::LinearizeIntoImpl",
            Client::Tfrt => "TfrtGpuClient::BufferFromHostBuffer",
        };
        self.enter(inner, &[]);
        let array = self.allocate(device, bytes);
        self.settle(self.now);
        if let (Ok(array), Ok(staging)) = (array, self.host.allocate(bytes)) {
            self.memory_event("MemoryAllocation", None, staging);
            self.copy_to_device(array, staging);
        }
        self.tick(5);
        self.leave();
        self.leave();
        array
    }

    /// The copy from pinned host memory, on a thread of the client's pool.
    fn copy_to_device(&mut self, array: Array, staging: Block) {
        let (line, now) = (self.line, self.now);
        (self.line, self.now) = (self.pool, now + 4 * US);
        let device = &mut self.devices[array.device];
        let correlation = self.correlation;
        self.correlation += 1;
        let start = device.busy.max(self.now + 5 * US);
        device.busy = start + array.block.requested as i64 * 20;
        let (lasted, ended) = (device.busy - start, device.busy);
        let details =
            format!("kind_src:pinned kind_dst:device size:{} dest:0 async:1", array.block.requested);
        let stats = [("correlation_id", Stat::Uint(correlation)), ("memcpy_details", Stat::Ref(&details))];
        if self.recording {
            device.plane.event(device.copies, "MemcpyH2D", Picos(start), Picos(lasted), &stats);
            let name = if self.amd { "hipMemcpyHtoDAsync" } else { "cuMemcpyHtoDAsync_v2" };
            self.cpu.event(self.line, name, Picos(self.now), Picos(3 * US), &stats);
        }
        self.staging.push((ended + 3 * US, staging));
        (self.line, self.now) = (line, now);
    }

    /// Frees what staged the copies that ended by `until`, at the times when they did.
    pub(super) fn settle(&mut self, until: i64) {
        let (line, now) = (self.line, self.now);
        self.line = self.pool;
        self.staging.arrange_by_key(|(at, _)| *at);
        let ended = self.staging.partition_point(|(at, _)| *at <= until);
        for (at, block) in self.staging.drain(..ended).collect::<Vec<_>>() {
            self.now = at;
            if let Some(block) = self.host.free(block.address) {
                self.memory_event("MemoryDeallocation", None, block);
            }
        }
        (self.line, self.now) = (line, now);
    }

    /// Waits for the devices, as `block_until_ready` does.
    pub fn block_until_ready(&mut self) {
        self.enter("$api.py:3105 block_until_ready", &[]);
        self.now = self.devices.iter().map(|d| d.busy).max().unwrap_or(0).max(self.now);
        self.leave();
    }

    /// Ends the capture; its bytes.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        while !self.open.is_empty() {
            self.leave();
        }
        self.settle(i64::MAX);
        let mut environment = Plane::new("Task Environment");
        let began = 1_790_000_000_000_000_000;
        environment.stat("profile_start_time", Stat::Uint(began));
        environment.stat("profile_stop_time", Stat::Uint(began + self.now.unsigned_abs() / 1000));
        let mut planes = vec![self.modules];
        planes.extend(self.devices.into_iter().map(|d| d.plane));
        planes.extend([self.cpu, environment]);
        Space { planes, hostname: "synthetic".to_owned(), ..Space::default() }.encode()
    }
}
