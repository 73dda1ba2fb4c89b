//! Executions: the calls on the host, what they allocate, what they launch.

use super::bfc::NoRoom;
use super::program::Program;
use super::run::{Array, Call, Client, Ran, Session, US};
use super::space::Stat;
use crate::units::Picos;

impl Session {
    /// Calls a program on every device.
    pub fn execute(&mut self, program: &Program, call: Call) -> Vec<Ran> {
        let jit = format!("PjitFunction({})", program.name.trim_start_matches("jit_"));
        let several = self.devices.len() > 1;
        self.link += 2;
        let link = self.link;
        self.enter(&jit, &[]);
        self.enter(&jit, &[]);
        self.event("ParseArguments", 6);
        let linkage = [("_pt", Stat::Int(14)), ("_p", Stat::Int(link))];
        self.enter("PJRT_LoadedExecutable_Execute linkage", &linkage);
        self.leave();
        self.enter("PJRT_LoadedExecutable_Execute", &[("_ct", Stat::Int(14)), ("_c", Stat::Int(link))]);
        match self.client {
            Client::StreamExecutor => {
                let stats = [("_pt", Stat::Int(5)), ("_p", Stat::Int(link))];
                self.enter("PjRtStreamExecutorLoadedExecutable::Execute", &stats);
            }
            Client::Common | Client::CommonWithRetries => {
                let stats = [("run_id", Stat::Int(1_000_000 + link)), ("name", Stat::Ref(&program.name))];
                self.enter(&format!("CommonPjRtLoadedExecutable::Execute ({})", program.name), &stats);
            }
            Client::Tfrt => self.enter("TfrtGpuExecutable::Execute", &[]),
        }
        let (line, start) = (self.line, self.now);
        let mut end = start;
        let mut ran = Vec::new();
        for device in 0..self.devices.len() {
            if several {
                self.line = self.devices[device].thread;
                self.now = start + (3 + 3 * device as i64) * US;
            }
            ran.push(self.launch(device, program, call, link));
            end = end.max(self.now);
        }
        (self.line, self.now) = (line, end);
        for _ in 0..4 {
            self.leave();
        }
        if ran.iter().any(|r| r.failed.is_some()) {
            self.event("$traceback_util.py:195 reraise_with_filtered_traceback", 2);
            self.event("$<unknown> format_exc", 2);
        }
        ran
    }

    fn launch(&mut self, device: usize, program: &Program, call: Call, link: i64) -> Ran {
        let in_use_at_start = self.devices[device].bfc.in_use;
        let mut ran = Ran { in_use_at_start, outputs: Vec::new(), copies: Vec::new(), failed: None };
        let base = self.open.len();
        let name = program.name.as_str();
        let ordinal = [("replica", Stat::Int(0)), ("partition", Stat::Int(device as i64))];
        match self.client {
            Client::StreamExecutor => {
                self.enter("PjRtStreamExecutorLoadedExecutable::ExecuteHelper", &[]);
                let stats = [("_ct", Stat::Int(5)), ("_c", Stat::Int(link))];
                self.enter("PjRtStreamExecutorLoadedExecutable::EnqueueExecution", &stats);
                self.event("ComputeSemaphoreAcquire", 1);
            }
            Client::Common | Client::CommonWithRetries => {
                let prefix = format!("[{device}] ");
                self.enter(&format!("{prefix}CommonPjRtLoadedExecutable::Execute ({name})"), &ordinal);
                self.enter("CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice", &[]);
                self.enter("CommonPjRtLoadedExecutable::ExecutePrepare", &[]);
                self.event("AllocateOutputBuffersWithInputReuse", 8);
                self.leave();
                self.enter(&format!("{prefix}PjRtStreamExecutorRawLoadedExecutable::Execute"), &ordinal);
                self.event("ComputeSemaphoreAcquire [capacity=32, value=31]", 1);
            }
            Client::Tfrt => {
                let ids = [("launch_id", Stat::Int(link)), ("device_id", Stat::Int(device as i64))];
                let named = [ids[0], ids[1], ("name", Stat::Ref(name))];
                self.enter("TfrtGpuExecutable::ExecuteHelper", &named);
                self.event("TfrtGpuExecutable::ExecuteHelper::acquire_semaphore", 1);
                self.event("prepare_inputs", 8);
                self.enter("execute_fn", &ids);
            }
        }
        self.event("Resolve constant globals", 1);
        self.enter("Build buffer allocations", &[]);
        let mut obtained = Vec::new();
        for &planned in &program.launch {
            if planned.color == 5 {
                // Host memory; freed with the temporaries.
                self.settle(self.now);
                if let Ok(block) = self.host.allocate(planned.bytes) {
                    self.memory_event("MemoryAllocation", None, block);
                    obtained.push((planned, Array { device: usize::MAX, block }));
                }
                continue;
            }
            match self.allocate_or_wait(device, planned.bytes, call.rescue) {
                Ok(array) => obtained.push((planned, array)),
                Err(no_room) => {
                    ran.failed = Some((planned, no_room));
                    break;
                }
            }
        }
        self.leave();
        if ran.failed.is_none() {
            if call.not_donatable {
                ran.copies = self.copy_donated(device, program);
            }
            self.run_kernels(device, program);
        }
        for (planned, array) in &obtained {
            if ran.failed.is_some() || !planned.output {
                self.free_planned(*array);
            }
        }
        while self.open.len() > base + 1 {
            self.leave();
        }
        if ran.failed.is_none() {
            for (planned, array) in obtained {
                if planned.table {
                    self.free_planned(array);
                } else if planned.output {
                    ran.outputs.push(array);
                }
            }
        }
        self.leave();
        ran
    }

    fn free_planned(&mut self, array: Array) {
        if array.device < self.devices.len() {
            self.release(array);
            return;
        }
        self.settle(self.now);
        if let Some(block) = self.host.free(array.block.address) {
            self.memory_event("MemoryDeallocation", None, block);
        }
    }

    /// The allocator tries at once, then for ten seconds (`kMaxMillisToWait`, `allocator_retry.cc`).
    fn allocate_or_wait(
        &mut self,
        device: usize,
        bytes: u64,
        rescue: Option<(Array, i64)>,
    ) -> Result<Array, NoRoom> {
        let no_room = match self.allocate(device, bytes) {
            Ok(array) => return Ok(array),
            Err(no_room) => no_room,
        };
        let named = self.client == Client::CommonWithRetries;
        if named {
            self.enter("AllocatorRetry::AllocateRaw", &[]);
        }
        let result = match rescue {
            Some((array, milliseconds)) => {
                self.tick(milliseconds * 1000);
                let line = self.line;
                self.line = self.cpu.line(4471, "python3/4471", 705_441);
                self.enter("$prefetch.py:77 _drop_oldest", &[]);
                self.drop_array(array);
                self.leave();
                self.line = line;
                self.allocate(device, bytes)
            }
            None => {
                self.tick(10_000_000);
                Err(no_room)
            }
        };
        if named {
            self.leave();
        }
        result
    }

    /// Copy protection: a fresh array for each donated parameter that the caller did not give up, and a copy into it
    /// (`AllocateCopyProtectedOutputBuffer`, `xla/service/gpu/gpu_executable.cc`).
    fn copy_donated(&mut self, device: usize, program: &Program) -> Vec<Array> {
        let mut copies = Vec::new();
        for &bytes in &program.donated {
            let Ok(array) = self.allocate(device, bytes) else { break };
            let details = format!("kind_src:device kind_dst:device size:{bytes} dest:0 async:1");
            let stats = [
                ("device_id", Stat::Uint(device as u64)),
                ("correlation_id", Stat::Uint(self.correlation)),
                ("memcpy_details", Stat::Ref(&details)),
            ];
            self.correlation += 1;
            if self.recording {
                let name = if self.amd { "hipMemcpyDtoDAsync" } else { "cuMemcpyDtoDAsync_v2" };
                self.cpu.event(self.line, name, Picos(self.now), Picos(3 * US), &stats);
                let d = &mut self.devices[device];
                let start = d.busy.max(self.now + 5 * US);
                d.busy = start + bytes as i64;
                d.plane.event(d.compute, "MemcpyD2D", Picos(start), Picos(bytes as i64), &stats[1..]);
            }
            self.tick(5);
            copies.push(array);
        }
        copies
    }

    fn run_kernels(&mut self, device: usize, program: &Program) {
        let module = program.name.as_str();
        self.enter("GpuExecutable::ExecuteThunks", &[("module_name", Stat::Ref(module))]);
        self.enter(&format!("{module}:XLA GPU module"), &[]);
        for (n, (op, stack)) in program.kernels.iter().enumerate() {
            let correlation = self.correlation;
            self.correlation += 1;
            let plain = op.replace('.', "_");
            let shared = [
                ("tf_op", Stat::Ref("XlaModule:")),
                ("name", Stat::Ref(stack)),
                ("hlo_op", Stat::Ref(op)),
                ("hlo_module", Stat::Ref(module)),
                ("program_id", Stat::Int(program.id)),
            ];
            let d = &mut self.devices[device];
            let start = d.busy.max(self.now + 5 * US);
            let lasted = (8 + (n as i64 * 37) % 90) * US;
            d.busy = start + lasted + US;
            if self.recording {
                let mut stats = vec![("correlation_id", Stat::Uint(correlation))];
                stats.extend(shared);
                let name = if self.amd { format!("{plain}.kd") } else { plain.clone() };
                d.plane.event(d.compute, &name, Picos(start), Picos(lasted), &stats);
                let ids =
                    [("device_id", Stat::Uint(device as u64)), ("correlation_id", Stat::Uint(correlation))];
                // ROCm's tracer has a line of its own and the driver's name; CUDA's writes the kernel's name beside
                // the runtime's events.
                let (line, name) = if self.amd {
                    (self.launches, "hipModuleLaunchKernel")
                } else {
                    (self.line, plain.as_str())
                };
                self.cpu.event(line, name, Picos(self.now), Picos(4 * US), &ids);
            }
            self.tick(6);
        }
        self.leave();
        self.leave();
    }
}
