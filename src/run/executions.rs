//! What belongs to which execution: parts on other threads, the call's name, the allocator, launches and kernels.

use super::allocator::kind_of;
use super::chunked::Chunked;
use super::kernels::Kernels;
use super::recorder::Recorder;
use super::records::{RawExecution, flag};
use super::tables::NONE;
use crate::arrange::Arrange;
use crate::terms::AllocatorKind;
use std::collections::HashMap;

/// Executions that started before a launch and are looked at for it.
const NEAR: usize = 8;

/// Parts of executions, by number, with the execution they belong to.
pub(super) type Parts = HashMap<u32, u32>;

fn main_of(parts: &Parts, e: u32) -> u32 {
    parts.get(&e).copied().unwrap_or(e)
}

/// Ties parts to their executions by launch id. Where the client's executions are known by their parts alone, those
/// become the executions.
pub(super) fn parts(recorder: &mut Recorder) -> Parts {
    let mut wholes: HashMap<(u64, u64), u32> = HashMap::new();
    let mut parts = Parts::new();
    let is_part =
        |r: &Recorder, e: u32| r.executions.get(e as usize).is_some_and(|e| e.flags & flag::FRAGMENT != 0);
    for &(id, e) in &recorder.launch_ids {
        if !is_part(recorder, e) {
            wholes.insert(id, e);
        }
    }
    for &(id, e) in &recorder.launch_ids {
        if is_part(recorder, e)
            && let Some(&whole) = wholes.get(&id)
        {
            parts.insert(e, whole);
        }
    }
    for (&part, &whole) in &parts {
        let Some(part) = recorder.executions.get(part as usize).copied() else { continue };
        if let Some(e) = recorder.executions.get_mut(whole as usize) {
            take_over(e, &part);
        }
    }
    let works = |e: &RawExecution| e.flags & (flag::BUILD | flag::LAUNCHED | flag::WORK) != 0;
    let wholes_work = recorder.executions.iter().any(|e| e.flags & flag::FRAGMENT == 0 && works(e));
    let parts_work = recorder.executions.iter().any(|e| e.flags & flag::FRAGMENT != 0 && works(e));
    if !wholes_work && parts_work && parts.is_empty() {
        // A client whose names are not in the table, or one that launches on threads of its own.
        for e in recorder.executions.iter_mut() {
            e.flags ^= flag::FRAGMENT;
        }
    }
    parts
}

fn take_over(e: &mut RawExecution, part: &RawExecution) {
    e.flags |= part.flags & (flag::BUILD | flag::LAUNCHED);
    if part.flags & flag::NAMED_BY_LAUNCH != 0 {
        e.module = part.module;
        e.flags |= flag::NAMED_BY_LAUNCH;
    }
    if e.program == NONE {
        e.program = part.program;
    }
    if e.in_flight == u16::MAX {
        e.in_flight = part.in_flight;
    }
}

/// Names executions on threads of their own by the call whose flow id they carry.
pub(super) fn name_by_calls(recorder: &mut Recorder) {
    recorder.calls.arrange_by_key(|c| c.flow);
    for &(e, flow) in &recorder.enqueued {
        let Ok(i) = recorder.calls.binary_search_by_key(&flow, |c| c.flow) else { continue };
        let Some(call) = recorder.calls.get(i) else { continue };
        let Some(e) = recorder.executions.get_mut(e as usize) else { continue };
        if e.module == NONE && call.module != NONE {
            e.module = call.module;
            e.flags |= call.named_by;
        }
        // The thread of the execution has no Python frames: the call's does.
        e.place = call.place;
    }
    recorder.calls = Vec::new();
    recorder.enqueued = Vec::new();
}

/// Finds the programs of executions on a CPU by the work that they handed to threads.
pub(super) fn name_by_work(recorder: &mut Recorder) {
    recorder.regions.arrange();
    for &(flow, e) in &recorder.work {
        let i = recorder.regions.partition_point(|r| r.0 < flow);
        let Some(&(found, program)) = recorder.regions.get(i) else { continue };
        if found == flow
            && let Some(e) = recorder.executions.get_mut(e as usize)
            && e.program == NONE
        {
            e.program = program;
        }
    }
    recorder.work = Vec::new();
    recorder.regions = Vec::new();
}

/// Finds the allocator of each execution: that of its first allocation, else that of its thread's others.
pub(super) fn allocators(recorder: &mut Recorder, parts: &Parts) {
    let kinds: Vec<_> = recorder.allocators.iter().map(|a| kind_of(&a.name)).collect();
    for (i, record) in recorder.allocators.iter().enumerate() {
        let Some(&(AllocatorKind::Device, device)) = kinds.get(i) else { continue };
        for event in record.events.iter().filter(|e| !e.context.is_free()) {
            let Some(e) = event.context.execution() else { continue };
            let e = main_of(parts, e as u32);
            if let Some(e) = recorder.executions.get_mut(e as usize)
                && e.allocator == u16::MAX
            {
                e.allocator = i as u16;
                e.device = device.map_or(u16::MAX, |d| d as u16);
            }
        }
    }
}

/// Devices that no kernel told: that of the others which took from the same allocator, whose name need not have the number of
/// the plane; without an allocator that of the thread's others, else the only one there is.
fn other_devices(recorder: &mut Recorder, only: Option<u16>) {
    let mut of_allocators = HashMap::new();
    let mut of_lines = HashMap::new();
    for e in recorder.executions.iter().filter(|e| e.kernels > 0 && e.device != u16::MAX) {
        agree(&mut of_allocators, e.allocator, e.device);
        agree(&mut of_lines, e.line, e.device);
    }
    for e in recorder.executions.iter_mut().filter(|e| e.kernels == 0 && e.flags & flag::HOST == 0) {
        let device = match e.allocator {
            u16::MAX if e.device == u16::MAX => of_lines.get(&e.line).copied().flatten().or(only),
            u16::MAX => None,
            allocator => of_allocators.get(&allocator).copied().flatten(),
        };
        e.device = device.unwrap_or(e.device);
    }
}

/// Notes a value under a key; nothing where two differ.
fn agree<K: Eq + std::hash::Hash>(all: &mut HashMap<K, Option<u16>>, key: K, value: u16) {
    all.entry(key).and_modify(|v| *v = v.filter(|v| *v == value)).or_insert(Some(value));
}

/// Where no allocation told: the device's allocator, the one of the same thread, the only one there is.
fn other_allocators(recorder: &mut Recorder) {
    let kinds: Vec<_> = recorder.allocators.iter().map(|a| kind_of(&a.name)).collect();
    let of_devices: Vec<usize> =
        (0..kinds.len()).filter(|&i| kinds.get(i).is_some_and(|k| k.0 == AllocatorKind::Device)).collect();
    let mut of_lines: HashMap<u32, Option<u16>> = HashMap::new();
    for e in recorder.executions.iter().filter(|e| e.allocator != u16::MAX) {
        agree(&mut of_lines, e.line, e.allocator);
    }
    for e in recorder.executions.iter_mut().filter(|e| e.allocator == u16::MAX && e.flags & flag::HOST == 0) {
        let by_device = of_devices.iter().copied().find(|&i| {
            kinds.get(i).is_some_and(|k| k.1.map(|d| d as u16) == Some(e.device)) && e.device != u16::MAX
        });
        let by_line = of_lines.get(&e.line).copied().flatten().map(usize::from);
        let only = (of_devices.len() == 1).then(|| of_devices.first().copied()).flatten();
        if let Some(i) = by_device.or(by_line).or(only) {
            e.allocator = i as u16;
            if e.device == u16::MAX {
                e.device = kinds.get(i).and_then(|k| k.1).map_or(u16::MAX, |d| d as u16);
            }
        }
    }
}

/// Counts the kernels of each execution, and takes their program. `only` is the device where the capture has one alone.
pub(super) fn kernels(recorder: &mut Recorder, parts: &Parts, only: Option<u16>) {
    let devices: Vec<_> = recorder.devices.iter().enumerate().map(|(i, d)| (i as u16, &d.kernels)).collect();
    let kernels = Kernels::new(&devices);
    let ordinals: Vec<u16> = recorder.devices.iter().map(|d| d.ordinal as u16).collect();
    for device in &mut recorder.devices {
        device.kernels = Default::default();
    }
    // Launches of one part stand together.
    let mut last = (NONE, NONE);
    let mut add = |executions: &mut Chunked<RawExecution>, e: u32, id: u64, own: u32| {
        let launched = kernels.get(id);
        if last.0 != e {
            last = (e, main_of(parts, e));
        }
        let program = if own == NONE { launched.and_then(|l| l.program) } else { Some(own) };
        let (Some(program), Some(e)) = (program, executions.get_mut(last.1 as usize)) else {
            return;
        };
        // A launch whose kernel was dropped was one all the same.
        e.kernels = e.kernels.saturating_add(launched.map_or(1, |l| l.count));
        e.program = program;
        e.flags |= flag::LAUNCHED;
        if let Some(&ordinal) = launched.and_then(|l| ordinals.get(usize::from(l.device))) {
            e.device = ordinal;
        }
    };
    let executions = &mut recorder.executions;
    std::mem::take(&mut recorder.launches).each(|id, _, e| add(executions, e, id, NONE));
    std::mem::take(&mut recorder.labelled).each(|id, _, e| {
        let own = executions.get(e as usize).map_or(NONE, |e| e.program);
        add(executions, e, id, own);
    });
    let far = std::mem::take(&mut recorder.far);
    if far.len() > 0 {
        let open = OpenAt::new(executions);
        far.each(|id, at, own| {
            let launched = kernels.get(id);
            let ordinal = launched.and_then(|l| ordinals.get(usize::from(l.device)).copied());
            if let Some(e) = open.find(ordinal, at) {
                add(executions, e, id, own);
            }
        });
    }
    other_allocators(recorder);
    other_devices(recorder, only);
    for e in recorder.executions.iter_mut() {
        // A launch without a kernel: those of CUDA graphs have no label, and the profiler drops some.
        let recorded = recorder.devices.iter().any(|d| d.ordinal as u16 == e.device && d.labelled);
        if e.kernels > 0 || (recorded && e.flags & flag::LAUNCHED == 0) {
            e.flags |= flag::COUNTED;
        }
    }
}

/// The execution that is open on a device at a moment.
struct OpenAt {
    by_device: HashMap<u16, Vec<(i64, i64, u32)>>,
}

impl OpenAt {
    fn new(executions: &Chunked<RawExecution>) -> OpenAt {
        let mut by_device: HashMap<u16, Vec<(i64, i64, u32)>> = HashMap::new();
        for (i, e) in executions.iter().enumerate() {
            by_device.entry(e.device).or_default().push((e.start, e.end, i as u32));
        }
        for list in by_device.values_mut() {
            list.arrange();
        }
        OpenAt { by_device }
    }

    fn find(&self, device: Option<u16>, at: i64) -> Option<u32> {
        let within = |device: u16| {
            let list = self.by_device.get(&device)?;
            let after = list.partition_point(|e| e.0 <= at);
            list[..after].iter().rev().take(NEAR).find(|e| e.1 > at).map(|e| e.2)
        };
        match device {
            Some(device) => within(device).or_else(|| within(u16::MAX)),
            // Which device a launch without a kernel went to is known only where there is one.
            None if self.by_device.len() == 1 => self.by_device.keys().next().and_then(|d| within(*d)),
            None => None,
        }
    }
}

/// Executions by start, and behind them those that are parts of lost ones; how many are executions; and for each
/// number of recording its place.
pub(super) fn sort(
    recorder: &mut Recorder,
    parts: &Parts,
    origin: i64,
) -> (Vec<RawExecution>, usize, Vec<u32>) {
    let recorded = std::mem::take(&mut recorder.executions);
    let mut order: Vec<u32> = (0..recorded.len() as u32).filter(|e| !parts.contains_key(e)).collect();
    let key = |&i: &u32| {
        recorded.get(i as usize).map_or((true, 0, 0), |e| (e.flags & flag::FRAGMENT != 0, e.start, e.line))
    };
    order.sort_by_key(key);
    let listed = order.partition_point(|i| !key(i).0);
    let mut rank = vec![NONE; recorded.len()];
    let mut sorted = Vec::with_capacity(order.len());
    for &i in &order {
        let Some(&e) = recorded.get(i as usize) else { continue };
        if let Some(r) = rank.get_mut(i as usize) {
            *r = sorted.len() as u32;
        }
        let start = e.start.saturating_sub(origin);
        sorted.push(RawExecution { start, end: e.end.saturating_sub(origin), ..e });
    }
    for (&part, &whole) in parts {
        let whole = rank.get(whole as usize).copied().unwrap_or(NONE);
        if let Some(r) = rank.get_mut(part as usize) {
            *r = whole;
        }
    }
    (sorted, listed, rank)
}
