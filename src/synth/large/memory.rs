//! The allocators of a large capture.

use super::super::bfc::{Bfc, Block};
use super::super::program::Program;
use super::{Kind, PERIOD};
use crate::arrange::Arrange;

/// One event of an allocator. Its time counts from the start of its step.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemoryEvent {
    pub step: u64,
    pub at: i64,
    pub freed: bool,
    /// A device's number, or [`HOST`].
    pub allocator: usize,
    pub in_use: u64,
    pub available: u64,
    pub fragmentation: f64,
    pub peak: u64,
    pub block: Block,
}

/// The number of `xla_gpu_host_bfc`.
pub(super) const HOST: usize = usize::MAX;

/// When a device's batch is put there, its launch begins, and its old arrays are dropped: parts of a step that
/// [`super::writer`] uses too. Device by device a bit later.
pub(super) fn put(device: usize) -> i64 {
    PERIOD / 100 * 5 + device as i64 * (PERIOD / 10_000)
}

pub(super) fn launch(device: usize) -> i64 {
    PERIOD / 100 * 17 + device as i64 * (PERIOD / 100_000)
}

/// Host time of one launch of a kernel.
pub(super) const LAUNCH: i64 = 12_000_000;

/// Host time before the first launch of an execution.
pub(super) const PREPARE: i64 = 40_000_000;

fn dropped(device: usize) -> i64 {
    PERIOD / 100 * 92 + device as i64 * 3_000_000
}

/// Runs a training loop against simulated allocators. Times within one allocator ascend.
pub(super) fn simulate(program: &Program, devices: usize, steps: u64) -> Vec<(Kind, Vec<MemoryEvent>)> {
    let mut main = Vec::new();
    let mut pools: Vec<Vec<MemoryEvent>> = vec![Vec::new(); 4];
    let mut launchers: Vec<Vec<MemoryEvent>> = vec![Vec::new(); devices];
    let limit = (program.need * 2).max(1 << 30);
    let mut gpus: Vec<Bfc> =
        (0..devices).map(|d| Bfc::preallocated(&format!("GPU_{d}_bfc"), limit)).collect();
    let mut host = Bfc::growing("xla_gpu_host_bfc", 64 << 30);
    for gpu in &mut gpus {
        // The state, from before the capture.
        for bytes in &program.donated {
            let _ = gpu.allocate(*bytes);
        }
    }
    let note = |step: u64, at: i64, freed: bool, allocator: usize, bfc: &Bfc, block: Block| MemoryEvent {
        step,
        at,
        freed,
        allocator,
        in_use: bfc.in_use,
        available: bfc.available(),
        fragmentation: bfc.fragmentation(),
        peak: bfc.peak,
        block,
    };
    let mut live: Vec<Vec<Block>> = vec![Vec::new(); devices];
    for step in 0..steps {
        let mut staged = Vec::new();
        for (d, gpu) in gpus.iter_mut().enumerate() {
            for n in 0..2 {
                // Batches are of different lengths.
                let bytes = 4096 * (8 + (step * 7 + n) % 5);
                let at = put(d) + n as i64 * (PERIOD / 40_000);
                if let Ok(block) = gpu.allocate(bytes) {
                    main.push(note(step, at, false, d, gpu, block));
                    live[d].push(block);
                }
                if let Ok(block) = host.allocate(bytes) {
                    main.push(note(step, at + 1_000_000, false, HOST, &host, block));
                    staged.push((d, block));
                }
            }
        }
        for (n, (d, block)) in staged.into_iter().enumerate() {
            host.free(block.address);
            let at = put(devices) + PERIOD / 100 + n as i64 * 5_000_000;
            pools[d % 4].push(note(step, at, true, HOST, &host, block));
        }
        for (d, gpu) in gpus.iter_mut().enumerate() {
            let line = &mut launchers[d];
            let end = launch(d) + 2 * PREPARE + program.kernels.len() as i64 * LAUNCH;
            let mut temp = Vec::new();
            for (n, planned) in program.launch.iter().enumerate() {
                let Ok(block) = gpu.allocate(planned.bytes) else { continue };
                line.push(note(step, launch(d) + PREPARE / 2 + n as i64 * 500_000, false, d, gpu, block));
                if planned.output && !planned.table {
                    live[d].push(block);
                } else {
                    temp.push(block);
                }
            }
            for (n, block) in temp.into_iter().rev().enumerate() {
                gpu.free(block.address);
                line.push(note(step, end + n as i64 * 500_000, true, d, gpu, block));
            }
            // A loss is kept now and then, as programs do that log every hundredth.
            let kept = usize::from(step % 100 == 0);
            let blocks: Vec<Block> = live[d].drain(..).collect();
            for (n, block) in blocks.iter().take(blocks.len() - kept.min(blocks.len())).enumerate() {
                gpu.free(block.address);
                main.push(note(step, dropped(d) + n as i64 * 500_000, true, d, gpu, *block));
            }
        }
    }
    main.arrange_by_key(|e| (e.step, e.at));
    let mut lines = vec![(Kind::Main, main)];
    lines.extend(pools.into_iter().enumerate().map(|(n, events)| (Kind::Pool(n), events)));
    lines.extend(launchers.into_iter().enumerate().map(|(d, events)| (Kind::Launcher(d), events)));
    lines
}
