//! From records to a run: order, times from the first event, and what belongs to which execution.

use super::allocator::{Allocator, kind_of};
use super::executions;
use super::pool::Pool;
use super::recorder::{AllocatorRecord, Recorder};
use super::records::DeviceCopies;
use super::resort;
use super::run::{DeviceRun, Place, Program, Retry, Run, Wait};
use super::tables::NONE;
use crate::bytes::Source;
use crate::capture::{Index, modules};
use crate::terms::Warning;
use std::collections::HashMap;

/// Warnings about jumps of the running total that name the place; more are counted.
const MOST_BREAKS_NAMED: usize = 5;

impl Run {
    /// Makes a run of what was recorded. `source` is read again for lines whose events are out of order, and for the
    /// first event of lines that were not recorded.
    #[must_use]
    pub fn build(mut recorder: Recorder, index: &Index, source: &impl Source) -> Run {
        let mut warnings = resort::read_unsorted(&mut recorder, index, source);
        resort::first_events(&mut recorder, index, source);
        for record in &mut recorder.allocators {
            if let Some((plane, id)) = record.named_by {
                let plane = index.planes.get(plane);
                let name = plane.and_then(|p| p.stat_names.get(id as i64));
                record.name = name.unwrap_or("(an allocator without a name)").to_owned();
            }
        }
        let parts = executions::parts(&mut recorder);
        executions::name_by_calls(&mut recorder);
        executions::name_by_work(&mut recorder);
        executions::allocators(&mut recorder, &parts);
        executions::kernels(&mut recorder, &parts, only_device(index));
        let origin = recorder.first.unwrap_or(0);
        let since = |at: i64| at.saturating_sub(origin);
        let (sorted, listed, rank) = executions::sort(&mut recorder, &parts, origin);
        let rank_of = |e: u32| rank.get(e as usize).copied().filter(|r| *r != NONE).map(|r| r as usize);

        let mut allocators: Vec<Allocator> = std::mem::take(&mut recorder.allocators)
            .into_iter()
            .map(|record| allocator(record, origin, &rank))
            .collect();
        for growth in &recorder.growths {
            if let Some(a) = allocators.get_mut(usize::from(growth.allocator)) {
                a.growths.push(since(growth.at));
            }
        }
        for a in &mut allocators {
            a.settle();
            a.solve_pool();
            warnings.extend(breaks(a));
        }

        let names: Vec<String> = recorder
            .names
            .values
            .iter()
            .map(|&(plane, id, of_stat)| {
                let plane = index.planes.get(plane as usize);
                let name =
                    plane.and_then(|p| if of_stat { p.stat_names.get(id) } else { p.event_names.get(id) });
                name.unwrap_or_default().to_owned()
            })
            .collect();
        let name = |i: u32| names.get(i as usize).filter(|n| !n.is_empty()).cloned();
        let place = |p: &super::records::RawPlace| Place {
            event: name(p.event),
            class: p.class,
            frame: name(p.frame),
            inner_frame: name(p.inner),
            shape: name(p.shape),
        };
        let mut copies: HashMap<usize, DeviceCopies> = HashMap::new();
        for &(e, more) in &recorder.copies {
            if let Some(e) = rank_of(e) {
                copies.entry(e).or_default().add(more.count, more.bytes);
            }
        }
        Run {
            backend: recorder.backend,
            origin,
            places: recorder.places.values.iter().map(place).collect(),
            programs: recorder
                .programs
                .values
                .iter()
                .map(|&(id, module)| Program { id, module: name(module) })
                .collect(),
            device_runs: recorder
                .device_runs
                .iter()
                .filter_map(|(&n, &count)| {
                    let (base, id) = modules::split_name(names.get(n as usize)?);
                    Some(DeviceRun { module: base.to_owned(), program: id, count })
                })
                .collect(),
            host_events: recorder.host_events,
            kernels_recorded: recorder.devices.iter().any(|d| d.labelled),
            retries: recorder
                .retries
                .iter()
                .map(|r| Retry {
                    at: since(r.start),
                    end: since(r.end),
                    execution: rank_of(r.execution),
                    got: r.got.map(|(a, n)| (usize::from(a), n)),
                })
                .collect(),
            waits: recorder
                .builds
                .iter()
                .filter_map(|b| {
                    let gap = (since(b.gap.0), since(b.gap.1));
                    Some(Wait {
                        execution: rank_of(b.execution)?,
                        last: since(b.last),
                        end: since(b.end),
                        gap,
                    })
                })
                .collect(),
            op_waits: recorder.op_waits.iter().map(|w| (since(w.0), since(w.1))).collect(),
            copies,
            labels: recorder.labels.values,
            executions: sorted,
            listed,
            allocators,
            damaged: index.warnings.iter().any(|w| w.code == "truncated" || w.code == "malformed"),
            warnings,
        }
    }
}

/// The ordinal of the GPU, where the capture has one alone.
fn only_device(index: &Index) -> Option<u16> {
    let mut ordinals = index.planes.iter().filter_map(|p| p.ordinal("/device:GPU:"));
    let first = ordinals.next()?;
    ordinals.all(|o| o == first).then(|| u16::try_from(first).ok()).flatten()
}

fn allocator(mut record: AllocatorRecord, origin: i64, rank: &[u32]) -> Allocator {
    for event in record.events.iter_mut() {
        event.at = event.at.saturating_sub(origin);
        if let Some(e) = event.context.execution() {
            event.context = event.context.with_index(rank.get(e).copied().unwrap_or(NONE));
        }
    }
    let (kind, device) = kind_of(&record.name);
    // No pool is of no bytes: events that say so do not know it.
    let capacity = record.capacity.filter(|(_, most)| *most > 0);
    Allocator {
        name: record.name,
        kind,
        device,
        capacity: capacity.map(|c| c.1),
        capacity_was: capacity.and_then(|(least, most)| (least != most).then_some(least)),
        lifetime_peak: record.lifetime_peak,
        reserved: record.reserved.iter().map(|r| (r.0.saturating_sub(origin), r.1)).collect(),
        start: None,
        breaks: Vec::new(),
        growths: Vec::new(),
        pool: Pool::default(),
        events: std::mem::take(&mut record.events),
        order: Vec::new(),
    }
}

/// What the self-checks of an allocator found.
fn breaks(a: &Allocator) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for b in a.breaks.iter().take(MOST_BREAKS_NAMED) {
        let more = if b.jump >= 0 { "more" } else { "less" };
        let message = format!(
            "events of {} were lost between {} and {} from the first event: {} {more} are in use than the events add up to",
            a.name,
            crate::units::Picos(b.since),
            crate::units::Picos(b.at),
            crate::units::Bytes(b.jump.unsigned_abs()),
        );
        warnings.push(Warning::new("chain-break", message));
    }
    if a.breaks.len() > MOST_BREAKS_NAMED {
        let n = a.breaks.len() - MOST_BREAKS_NAMED;
        warnings.push(Warning::new("chain-break", format!("events of {} were lost {n} more times", a.name)));
    }
    if let (Some(was), Some(is)) = (a.capacity_was, a.capacity) {
        let message = format!(
            "the capacity of {} changes between {} and {} within the capture",
            a.name,
            crate::units::Bytes(was),
            crate::units::Bytes(is)
        );
        warnings.push(Warning::new("capacity-changes", message));
    }
    warnings
}
