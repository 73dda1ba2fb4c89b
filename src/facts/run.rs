//! The run for the report.

use crate::arrange::{Arrange, grouped};
use crate::join::{FreedBy, Group, HostTime, Joined, Moment, Owner};
use crate::model::{
    Allocator, Execution, Freed, HostEvents, LeastFree, LiveArray, LiveGroup, MissingAllocation, OwnerBand,
    Platform, Retry, Timeline,
};
use crate::run::{self, About, Run};
use crate::terms::{AllocatorKind, Backend, BufferKind, LiveKind};
use crate::units::{Bytes, Evidence, Picos};
use std::collections::HashMap;

/// Points of a timeline in the report.
const TIMELINE_POINTS: usize = 2000;

/// Every allocator: those of devices by ordinal, then the others.
#[must_use]
pub fn allocators(run: &Run, joined: &Joined, platform: &Platform) -> Vec<Allocator> {
    allocator_order(run).into_iter().filter_map(|i| allocator(run, joined, platform, i)).collect()
}

/// The indices of a run's allocators in the order of the report.
#[must_use]
pub fn allocator_order(run: &Run) -> Vec<usize> {
    let mut order: Vec<usize> = (0..run.allocators.len()).collect();
    order.arrange_by_key(|&i| {
        run.allocators.get(i).map(|a| {
            let kind = match a.kind {
                AllocatorKind::Device => 0,
                AllocatorKind::Collective => 1,
                AllocatorKind::Host => 2,
            };
            (kind, a.device, &a.name)
        })
    });
    order
}

/// What an allocator is for on this platform: on a CPU the host's memory is the device's.
fn kind_here(kind: AllocatorKind, platform: &Platform) -> AllocatorKind {
    match (kind, platform.backend) {
        (AllocatorKind::Host, Some(Backend::Cpu)) => AllocatorKind::Device,
        _ => kind,
    }
}

fn allocator(run: &Run, joined: &Joined, platform: &Platform, i: usize) -> Option<Allocator> {
    let a = run.allocators.get(i)?;
    let card = match (a.kind, platform.devices.as_slice()) {
        // The number in the name need not be that of the plane: of one device it is that one.
        (AllocatorKind::Device, [one]) => one.memory_bytes,
        (AllocatorKind::Device, devices) => {
            a.device.and_then(|d| devices.iter().find(|p| p.ordinal == d)).and_then(|d| d.memory_bytes)
        }
        _ => None,
    };
    let capacity = a.capacity.map(Bytes);
    let peak = a.peak();
    let position = peak.and_then(|p| p.position);
    let live = joined.live_after(run, i, position.map_or(0, |p| p + 1));
    let largest = position.and_then(|p| a.largest_free(p));
    let loss = live
        .arrays
        .iter()
        .filter(|l| l.owner != Owner::BeforeCapture)
        .try_fold(0u64, |sum, l| Some(sum.saturating_add(l.allocated.saturating_sub(l.requested?))));
    Some(Allocator {
        name: a.name.clone(),
        kind: kind_here(a.kind, platform),
        device: a.device,
        capacity_bytes: capacity,
        card_share: capacity.zip(card).and_then(|(c, card)| c.share_of(card)),
        preallocated: a.pool.preallocated,
        events: a.len() as u64,
        in_use_start_bytes: a.start.map(Bytes),
        in_use_end_bytes: a.end().map(Bytes),
        peak_bytes: peak.map(|p| Bytes(p.bytes)),
        peak_at_ps: peak.map(|p| Picos(p.at)),
        peak_times: peak.map_or(0, |p| p.times),
        lifetime_peak_bytes: a.lifetime_peak.map(Bytes),
        rounding_loss_bytes: loss.map(Bytes),
        free_at_peak_bytes: peak.and_then(|p| free_with(a, &p)).map(Bytes),
        largest_free_at_peak_bytes: largest.map(|l| Bytes(l.bytes)),
        largest_free_error_bytes: largest.and_then(|l| l.error).map(Bytes),
        chain_breaks: a.breaks.len() as u64,
        before_capture_at_peak_bytes: a.start.map(|_| Bytes(live.before())),
        live_at_peak: live_arrays(run, joined, &live),
        timeline: timeline(run, joined, i, 0..i64::MAX, TIMELINE_POINTS),
        pool_growths: a.growths.len() as u64,
        least_free: a.least_free().map(|l| LeastFree {
            at_ps: Picos(l.at),
            bytes: Bytes(l.bytes),
            in_use_bytes: Bytes(l.in_use),
            reserved_bytes: Bytes(l.reserved),
        }),
    })
}

fn free_with(a: &run::Allocator, peak: &run::Peak) -> Option<u64> {
    let taken = peak.bytes.saturating_add(a.reserved_at(peak.at));
    a.capacity.map(|c| c.saturating_sub(taken))
}

/// The arrays of a moment, largest first; what no event tells of is one row.
#[must_use]
pub fn live_arrays(run: &Run, joined: &Joined, moment: &Moment) -> Vec<LiveArray> {
    let row = |l: &crate::join::LiveArray| LiveArray {
        bytes: l.requested.map(Bytes),
        allocated_bytes: Bytes(l.allocated),
        origin: joined.describe(run, l.owner),
        address: l.address.map(|a| format!("{a:#x}")),
    };
    let mut rows: Vec<LiveArray> = moment.arrays.iter().map(row).collect();
    for (bytes, owner) in
        [(moment.before_rest, Owner::BeforeCapture), (moment.unexplained, Owner::Unexplained)]
    {
        if bytes > 0 {
            let origin = joined.describe(run, owner);
            rows.push(LiveArray { bytes: None, allocated_bytes: Bytes(bytes), origin, address: None });
        }
    }
    rows.arrange_by_key(|r| std::cmp::Reverse(r.allocated_bytes));
    rows
}

/// Bytes in use over time of one allocator (by its index in the run), within a range of time.
#[must_use]
pub fn timeline(
    run: &Run,
    joined: &Joined,
    allocator: usize,
    range: std::ops::Range<i64>,
    points: usize,
) -> Timeline {
    let bands = joined.timeline(run, allocator, range, points);
    let a = run.allocators.get(allocator);
    let largest = |p: &Option<usize>| p.and_then(|p| a?.largest_free(p));
    let mut largest: Vec<Option<About>> = bands.positions.iter().map(largest).collect();
    let errors: Option<Vec<u64>> = largest.iter().flatten().map(|about| about.error).collect();
    if largest.iter().all(Option::is_none) {
        largest.clear();
    }
    let reserved = |at: &i64| Bytes(a.map_or(0, |a| a.reserved_at(*at)));
    let mut reserved: Vec<Bytes> = bands.at.iter().map(reserved).collect();
    if reserved.iter().all(|r| *r == Bytes::ZERO) {
        reserved.clear();
    }
    Timeline {
        reserved_bytes: reserved,
        largest_free_error_bytes: errors.and_then(|e| e.into_iter().max()).map(Bytes),
        largest_free_bytes: largest.into_iter().map(|about| about.map(|a| Bytes(a.bytes))).collect(),
        at_ps: bands.at.into_iter().map(Picos).collect(),
        in_use_bytes: bands.in_use.into_iter().map(Bytes).collect(),
        owners: bands
            .bands
            .into_iter()
            .map(|b| OwnerBand {
                owner: b.owner,
                kind: b.kind,
                bytes: b.bytes.into_iter().map(Bytes).collect(),
            })
            .collect(),
    }
}

/// Every execution, in the order of start.
#[must_use]
pub fn executions(run: &Run, joined: &Joined) -> Vec<Execution> {
    run.executions()
        .enumerate()
        .map(|(i, e)| {
            let one = joined.executions.get(i);
            let module = one.and_then(|o| o.module()).and_then(|m| joined.modules.get(m));
            let program = module.map(|m| m.program_id).or_else(|| e.program().map(|p| p.id));
            let allocator = e.allocator().and_then(|a| run.allocators.get(a));
            Execution {
                module: joined.module_name(run, i),
                program_id: program.map(|p| p.to_string()),
                device: e.device(),
                allocator: allocator.map(|a| a.name.clone()),
                number: one.map_or(0, |o| u64::from(o.number)),
                start_ps: Picos(e.start()),
                duration_ps: Picos(e.end().saturating_sub(e.start())),
                in_use_start_bytes: allocator.and_then(|a| a.in_use_at(e.start())).map(Bytes),
                requested_bytes: joined.requested(run, i).into_iter().map(Bytes).collect(),
                kernels: e.kernels(),
                outcome: one.map_or(crate::terms::Outcome::Unknown, |o| o.outcome),
                in_flight: e.in_flight(),
            }
        })
        .collect()
}

/// Every wait for memory, by time.
#[must_use]
pub fn retries(run: &Run, joined: &Joined) -> Vec<Retry> {
    joined
        .retries
        .iter()
        .map(|r| Retry {
            allocator: r.allocator.and_then(|a| run.allocators.get(a)).map(|a| a.name.clone()),
            at_ps: Picos(r.at),
            duration_ps: Picos(r.end.saturating_sub(r.at)),
            execution: r.execution.map(|e| e as u64),
            outcome: r.outcome,
            missing: r.missing.and_then(|m| {
                let module = joined.modules.get(m.module)?;
                let allocation = module.launch.get(m.planned)?;
                Some(MissingAllocation {
                    allocation: Some(super::plan::in_json(allocation.index)),
                    bytes: allocation.size,
                    kind: if module.is_temp(m.planned) { BufferKind::Temp } else { BufferKind::Output },
                    what: allocation.what(),
                    obtained: m.obtained,
                    planned: module.launch.len() as u64,
                    evidence: Evidence::Inferred,
                })
            }),
            in_use_bytes: r.in_use.map(Bytes),
            free_bytes: r.free.map(Bytes),
            largest_free_bytes: r.largest_free.map(|l: About| Bytes(l.bytes)),
            largest_free_error_bytes: r.largest_free.and_then(|l| l.error).map(Bytes),
            freed: r.freed.as_ref().map(|all| all.iter().map(|f| freed(run, joined, f)).collect()),
            evidence: r.evidence,
        })
        .collect()
}

fn freed(run: &Run, joined: &Joined, f: &FreedBy) -> Freed {
    let (by, frame) = joined.freeing(run, f);
    Freed { by, frame, count: f.count, bytes: Bytes(f.bytes) }
}

/// The arrays live when the last execution of a module started, by origin, largest group first.
#[must_use]
pub fn live_at_last_start(run: &Run, joined: &Joined, module: Option<usize>) -> Vec<LiveGroup> {
    let Some(e) = joined.last_of(run, module).and_then(|i| run.execution(i)) else { return Vec::new() };
    let Some(allocator) = e.allocator() else { return Vec::new() };
    groups(run, joined, &joined.live_at(run, allocator, e.start()))
}

/// The arrays of one group.
#[derive(Debug, Default)]
struct Sum {
    count: u64,
    bytes: u64,
    outputs: Vec<u64>,
    /// Bytes are among them of which the capture does not say how many arrays they are.
    uncounted: bool,
}

/// The arrays of a moment by origin, largest group first; groups that differ by less than half a percent are of one size.
#[must_use]
pub fn groups(run: &Run, joined: &Joined, moment: &Moment) -> Vec<LiveGroup> {
    let mut by_owner: HashMap<Owner, Sum> = HashMap::new();
    for array in &moment.arrays {
        // All planned allocations of an execution but its temp are one group: its outputs.
        let sum = by_owner.entry(joined.representative(array.owner)).or_default();
        sum.count += 1;
        sum.bytes = sum.bytes.saturating_add(array.allocated);
        sum.outputs.extend(joined.output_numbers(array.owner));
    }
    // Ordered, so that groups of the same bytes and words stand in the same order each time.
    let mut found: Vec<(Group, Sum)> =
        by_owner.into_iter().map(|(owner, sum)| (joined.group(run, owner), sum)).collect();
    for (bytes, owner) in
        [(moment.before_rest, Owner::BeforeCapture), (moment.unexplained, Owner::Unexplained)]
    {
        if bytes > 0 {
            found.push((joined.group(run, owner), Sum { bytes, uncounted: true, ..Sum::default() }));
        }
    }
    let mut all: Vec<LiveGroup> = grouped(found.into_iter())
        .into_iter()
        .map(|(group, sums)| {
            let mut sum = Sum::default();
            for mut of_owner in sums {
                sum.count += of_owner.count;
                sum.bytes = sum.bytes.saturating_add(of_owner.bytes);
                sum.outputs.append(&mut of_owner.outputs);
                sum.uncounted |= of_owner.uncounted;
            }
            sum.outputs.arrange();
            LiveGroup {
                origin: group.origin,
                kind: group.kind,
                module: group.module,
                execution: group.execution,
                outputs: sum.outputs,
                count: (!sum.uncounted).then_some(sum.count),
                bytes: Bytes(sum.bytes),
                frame: group.frame,
            }
        })
        .collect();
    all.arrange_by(|a, b| {
        let key = |g: &LiveGroup| (g.kind == LiveKind::BeforeCapture, g.module.clone(), g.execution);
        (about(b.bytes).cmp(&about(a.bytes)))
            .then_with(|| key(a).cmp(&key(b)))
            .then_with(|| b.bytes.cmp(&a.bytes))
            .then_with(|| a.origin.cmp(&b.origin))
    });
    all
}

/// A size without its last digits: chunks of the same arrays differ by a few hundred bytes, and executions that hold the same
/// stand in the order in which they ran.
fn about(bytes: Bytes) -> u64 {
    const KEPT: u32 = 9;
    let below = (u64::BITS - bytes.0.leading_zeros()).saturating_sub(KEPT);
    bytes.0 >> below << below
}

/// Host events between the last two executions.
#[must_use]
pub fn between_executions(times: &[HostTime]) -> Vec<HostEvents> {
    times
        .iter()
        .map(|t| HostEvents {
            name: t.name.clone(),
            python: t.python,
            count: t.count,
            duration_ps: Picos(t.duration),
        })
        .collect()
}
