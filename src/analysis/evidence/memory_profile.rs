//! A device memory profile as a report, and beside a capture.

use super::{finding, fix, limit};
use crate::arrange::Arrange;
use crate::evidence::memory_profile::{MemoryProfile, StackChange, Tree, changes, match_rest, match_sizes};
use crate::model::{
    AllocatorKind, Backend, Cut, MemoryProfileReport, Number, Platform, Report, Severity, SourceInfo,
    Verdict, VerdictStatus,
};
use crate::terms::{BEFORE_CAPTURE, SourceLine, Warning};
use crate::units::{Bytes, Evidence};

/// The report of a profile alone, or of what changed since an earlier one of the same process.
#[must_use]
pub fn of_memory_profile(
    source: SourceInfo,
    profile: &MemoryProfile,
    warnings: Vec<Warning>,
    earlier: Option<&MemoryProfile>,
    top: usize,
) -> Report {
    let platform =
        Platform { backend: backend(profile), vendor: None, jax_version: None, devices: Vec::new() };
    let mut report = Report::of(source, platform);
    report.warnings = warnings;
    let changed = earlier.map(|earlier| changes(earlier, profile)).unwrap_or_default();
    report.verdict = Verdict {
        status: VerdictStatus::CannotTell,
        sentence: match earlier {
            Some(earlier) => growth_in_words(earlier, profile, &changed),
            None => in_words(profile),
        },
        evidence: Evidence::Measured,
    };
    if earlier.is_some() {
        report.findings.extend(grew(&changed));
    }
    report.limits = vec![limit(
        "profile-moment",
        "A memory profile shows the arrays alive at one moment and where the program made them; not what a step needs while it \
         runs: its temp block is in none. A capture or an HloProto dump says that.",
    )];
    report.memory_profile = Some(section(profile, changed, top));
    report
}

/// Devices whose arrays are looked for in a profile: more than a host has.
const MOST_DEVICES: usize = 64;

/// Adds a profile of the same process to the report of a capture: places in the program for the arrays that are older than
/// the capture, which knows only their sizes. To be called before the report's lists are cut.
pub fn add_memory_profile(report: &mut Report, profile: &MemoryProfile, top: usize) {
    let mut section = section(profile, Vec::new(), top);
    if let Some(sentence) = of_another_platform(profile, &report.platform) {
        report.warnings.push(Warning::new("memory-profile-platform", sentence));
        report.memory_profile = Some(section);
        return;
    }
    let of_devices = report.allocators.iter().filter(|a| a.kind == AllocatorKind::Device);
    for allocator in of_devices.take(MOST_DEVICES) {
        let Some(device) = device_of(profile, allocator.device) else { continue };
        // An array of before the capture is known by itself, with an address, where it was freed in it.
        let sizes: Vec<(Bytes, u64)> = allocator
            .live_at_peak
            .iter()
            .filter(|a| a.origin == BEFORE_CAPTURE && a.address.is_some())
            .map(|a| (a.allocated_bytes, 1))
            .collect();
        section.before_capture.extend(match_sizes(profile, device, &sizes));
        // What is left of the sum of before the capture has no address: nothing of it ended in the capture.
        let rest = allocator.live_at_peak.iter().filter(|a| a.bytes.is_none() && a.address.is_none());
        let rest = rest.map(|a| a.allocated_bytes).max().filter(|_| allocator.chain_breaks == 0);
        section
            .before_capture_rest
            .extend(rest.and_then(|rest| match_rest(profile, device, &allocator.name, rest)));
    }
    report.memory_profile = Some(section);
}

/// The devices that a profile names.
fn devices(profile: &MemoryProfile) -> impl Iterator<Item = &str> {
    profile.totals.iter().filter_map(|t| t.device.as_deref())
}

/// Why nothing of a profile can be an array of a capture: none of its devices is of the capture's platform.
fn of_another_platform(profile: &MemoryProfile, platform: &Platform) -> Option<String> {
    let vendor = platform.vendor.as_deref().unwrap_or_default().to_ascii_lowercase();
    // A device whose kind is not known can be any.
    let is_other = |name: &str| {
        let other_kind = platform.backend.zip(backend_of(name)).is_some_and(|(a, b)| a != b);
        let name = name.to_ascii_lowercase();
        let other_vendor = (name.starts_with("cuda") && vendor.starts_with("amd"))
            || (name.starts_with("rocm") && vendor.starts_with("nvidia"));
        other_kind || other_vendor
    };
    let first = devices(profile).next().filter(|_| devices(profile).all(is_other))?;
    let of = match platform.backend? {
        Backend::Gpu => "a GPU",
        Backend::Tpu => "a TPU",
        Backend::Cpu => "a CPU",
    };
    let vendor = platform.vendor.as_deref().map_or_else(String::new, |vendor| format!(" ({vendor})"));
    Some(format!(
        "The memory profile is of another platform: its arrays are on {}, the capture is of {of}{vendor}. None of them is \
         looked for in the capture. `jax.profiler.save_device_memory_profile` in the captured process itself writes the one that \
         belongs to it.",
        crate::plain::short(first, 24)
    ))
}

/// The device of a profile that an allocator is of: the one of an accelerator with its ordinal (`cuda:0`, `rocm:0`, `gpu:0`),
/// else the only one there is: a process of many counts its own from 0. `Some(None)` stands for a profile that names no
/// device, `None` for one that has no such device.
fn device_of(profile: &MemoryProfile, ordinal: Option<u32>) -> Option<Option<&str>> {
    if devices(profile).next().is_none() {
        return Some(None);
    }
    let ordinal = ordinal.map(|ordinal| ordinal.to_string());
    let mut accelerators: Vec<&str> =
        devices(profile).filter(|d| backend_of(d) != Some(Backend::Cpu)).collect();
    accelerators.arrange();
    accelerators.dedup();
    let has_ordinal = |name: &&&str| {
        let at = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        ordinal.as_deref() == Some(&name[at..])
    };
    let only = if let [only] = accelerators.as_slice() { Some(only) } else { None };
    accelerators.iter().find(has_ordinal).or(only).map(|name| Some(*name))
}

fn section(profile: &MemoryProfile, changes: Vec<StackChange>, top: usize) -> MemoryProfileReport {
    let kept = profile.stacks.len().min(top);
    let (shown, rest) = profile.stacks.split_at(kept);
    MemoryProfileReport {
        totals: profile.totals.clone(),
        stacks: shown.to_vec(),
        omitted: Cut { omitted: rest.len() as u64, omitted_bytes: rest.iter().map(|s| s.bytes).sum() },
        frames: profile.frames.clone(),
        tree: Tree::of(profile, None),
        changes: changes.into_iter().take(top).collect(),
        before_capture: Vec::new(),
        before_capture_rest: Vec::new(),
    }
}

fn backend(profile: &MemoryProfile) -> Option<Backend> {
    backend_of(devices(profile).next()?)
}

/// The kind of device of a name such as `cuda:0`.
fn backend_of(device: &str) -> Option<Backend> {
    let name = device.to_ascii_lowercase();
    if name.contains("tpu") {
        Some(Backend::Tpu)
    } else if name.contains("cpu") {
        Some(Backend::Cpu)
    } else if ["cuda", "rocm", "gpu"].iter().any(|g| name.contains(g)) {
        Some(Backend::Gpu)
    } else {
        None
    }
}

fn in_words(profile: &MemoryProfile) -> String {
    let arrays = || profile.totals.iter().filter(|t| t.kind == "buffer");
    let Some(fullest) = arrays().next() else { return "No array was alive.".into() };
    let devices = match arrays().count() {
        1 => String::new(),
        n => format!(", the fullest of {n} devices"),
    };
    let mut sentence = format!(
        "{} arrays of {} were alive on {}{devices}.",
        fullest.count,
        fullest.bytes,
        fullest.device.as_deref().unwrap_or("the device")
    );
    let largest = profile.stacks.iter().find(|s| s.kind == "buffer" && s.device == fullest.device);
    if let Some((stack, place)) = largest.and_then(|s| Some((s, profile.place(s)?))) {
        sentence += &format!(
            " The largest part, {} in {} arrays, was made at {}.",
            stack.bytes,
            stack.count,
            position(place)
        );
    }
    sentence
}

fn growth_in_words(earlier: &MemoryProfile, later: &MemoryProfile, changed: &[StackChange]) -> String {
    let (before, after) = (earlier.array_bytes(None), later.array_bytes(None));
    match after.0.cmp(&before.0) {
        std::cmp::Ordering::Equal if changed.is_empty() => "Nothing changed between the two profiles.".into(),
        std::cmp::Ordering::Less | std::cmp::Ordering::Equal => {
            format!("Live arrays went from {before} to {after} between the two profiles: they did not grow.")
        }
        std::cmp::Ordering::Greater => {
            format!(
                "Live arrays grew from {before} to {after} between the two profiles, by {}.",
                after.saturating_sub(before)
            )
        }
    }
}

/// What grew most, where it did.
fn grew(changed: &[StackChange]) -> Option<crate::model::Finding> {
    let most = changed.iter().find(|c| c.kind == "buffer" && c.growth() > 0)?;
    let place = most.user_frame.and_then(|i| most.frames.get(i as usize)).or(most.frames.first())?;
    let sentence = format!(
        "The arrays made at {} went from {} ({}) to {} ({}) between the two profiles.",
        position(place),
        most.count_before,
        most.bytes_before,
        most.count_after,
        most.bytes_after
    );
    let cause = "Something keeps them: a list, a cache, a closure, a traceback. If the two moments are one step apart and it grows \
                 so at each, it ends in an out-of-memory error.";
    let mut found = finding("grows-between-profiles", Severity::Warning, "Live arrays grew", sentence, cause);
    found.evidence = Evidence::Measured;
    for (key, value) in [("before_bytes", most.bytes_before), ("after_bytes", most.bytes_after)] {
        found.numbers.insert(key.into(), Number { value: value.0 as f64, evidence: Evidence::Measured });
    }
    found.fixes = vec![fix(
        "drop-references",
        "Find what holds them: drop the reference, reduce inside the step, or move what is kept to the host with `jax.device_get`.",
        "",
        "Take a profile at each step: the growth ends.",
    )];
    Some(found)
}

/// `train.py:27 train`.
fn position(at: &SourceLine) -> String {
    let file = at.file.rsplit(['/', '\\']).next().unwrap_or(&at.file);
    let line = at.line.map_or_else(String::new, |n| format!(":{n}"));
    let function = at.function.as_ref().map_or_else(String::new, |f| format!(" {f}"));
    crate::plain::short(&format!("{file}{line}{function}"), 72)
}
