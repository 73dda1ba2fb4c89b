//! Evidence that comes alone or beside a capture, as text.

use super::Page;
use super::plan::{position, role_words};
use crate::model::{
    Failure, FailureKind, MemoryProfileReport, PlanText, ProfileStack, Report, RestMatch, SourceLine,
    TextBuffer, TextSize, TreeNode,
};
use crate::plain::{short, usual_shape};
use std::fmt::Write;

/// Failures shown; a log of a loop that catches the error has hundreds.
const MOST_FAILURES: usize = 8;
/// Dumps of pools shown; each failure has one.
const MOST_POOLS: usize = 8;
/// Rows of chunks and stacks.
const MOST_ROWS: usize = 10;
/// Devices and kinds of a profile.
const MOST_TOTALS: usize = 40;
/// Lines of a tree, and how far it goes to the right.
const MOST_NODES: usize = 40;
const DEEPEST: usize = 20;

pub(super) fn error_text(out: &mut Page, report: &Report) {
    let Some(text) = &report.error_text else { return };
    if !text.failures.is_empty() {
        out.title("What the text says", "[read]");
        for failure in text.failures.iter().take(MOST_FAILURES) {
            out.wrapped("  ", &in_words(failure));
        }
        if text.failures.len() > MOST_FAILURES {
            out.line(&format!("  … {} more", text.failures.len() - MOST_FAILURES));
        }
    }
    for pool in text.pools.iter().take(MOST_POOLS) {
        let name = pool.allocator.as_deref().map_or_else(|| "allocator".into(), |a| short(a, 40));
        out.title(&format!("{name} said of itself (line {})", pool.line), "[read]");
        let mut facts = Vec::new();
        let mut add = |what: &str, size: Option<TextSize>| {
            if let Some(size) = size {
                facts.push(format!("{what} {size}"));
            }
        };
        add("limit", pool.limit_bytes.map(|b| TextSize::exact(b.0)));
        add("in use", pool.in_use_bytes.map(|b| TextSize::exact(b.0)));
        add("free", pool.free_bytes().map(|b| TextSize::exact(b.0)));
        add("largest free chunk", pool.largest_free);
        add("most ever in use", pool.peak_in_use_bytes.map(|b| TextSize::exact(b.0)));
        out.wrapped("  ", &facts.join("; "));
        for chunks in pool.in_use.iter().take(MOST_ROWS) {
            out.line(&format!("  {:>12} ×{} in use", chunks.bytes.to_string(), chunks.count));
        }
    }
    if text.pools.len() > MOST_POOLS {
        out.line(&format!("  … {} more dumps of allocators", text.pools.len() - MOST_POOLS));
    }
    let main = text.main.and_then(|i| text.failures.get(usize::try_from(i).ok()?));
    if let Some(plan) = main.and_then(|f| f.plan.as_ref()) {
        text_plan(out, plan);
    }
}

/// `line 1: GPU_0_bfc was asked for 3.41 GiB by jit_step; …`.
fn in_words(f: &Failure) -> String {
    let mut words = format!("line {}: ", f.line);
    words += match f.kind {
        FailureKind::DevicePool => "the device's pool",
        FailureKind::DevicePoolOptional => "the device's pool, which the program can do without",
        FailureKind::HostPool => "pinned host memory",
        FailureKind::CollectivePool => "the pool of collectives",
        FailureKind::CompileDevice => "compilation for the device",
        FailureKind::CompileVmem => "compilation for memory inside the chip",
        FailureKind::KernelSharedMemory => "shared memory of a kernel",
        FailureKind::Library if f.requested.is_some() => "a library",
        FailureKind::Library => "a library beside the pool",
        FailureKind::Collectives => "collectives beside the pool",
        FailureKind::Graphs => "CUDA graphs beside the pool",
        FailureKind::Driver => "the driver",
        FailureKind::Host => "the host's memory",
        FailureKind::PyTorch => "PyTorch",
        FailureKind::Unknown => "a form that is not known here",
    };
    let sizes =
        [("asked for", f.requested), ("free", f.free), ("limit", f.limit), ("exceeded by", f.exceeded_by)];
    for (what, size) in sizes {
        if let Some(size) = size {
            let _ = write!(words, ", {what} {size}");
        }
    }
    for (what, name) in [("of", &f.allocator), ("by", &f.executable), ("for", &f.what)] {
        if let Some(name) = name.as_deref().filter(|name| f.sign() != Some(name)) {
            let _ = write!(words, ", {what} {}", short(name, 60));
        }
    }
    if let Some(sign) = f.sign() {
        let _ = write!(words, ", by the words “{}”", short(sign, 60));
    }
    if let Some(device) = f.device {
        let _ = write!(words, ", device {device}");
    }
    if f.count > 1 {
        let _ = write!(words, "; {} messages of it", f.count);
    }
    if f.writers.len() > 1 {
        let _ = write!(words, " by {} processes", f.writers.len());
    }
    words
}

pub(super) fn dump(out: &mut Page, report: &Report) {
    if let Some(plan) = &report.text_plan {
        text_plan(out, plan);
    }
}

fn text_plan(out: &mut Page, plan: &PlanText) {
    let t = &plan.totals;
    let totals = [
        ("parameters", t.parameter),
        ("constants", t.constant),
        ("live out", t.maybe_live_out),
        ("temp", t.temp),
        ("total", t.total),
        ("packing loss", t.total_fragmentation),
    ];
    if totals.iter().any(|(_, size)| size.is_some()) {
        out.title("Totals of the plan", "[read]");
        for (name, size) in totals {
            if let Some(size) = size {
                out.line(&format!("  {name:<14} {size}"));
            }
        }
    }
    if !plan.usage.is_empty() {
        out.title("What the compiler counts", "[read]");
        for part in &plan.usage {
            let size = part.size.map_or_else(|| "unknown".to_owned(), |s| s.to_string());
            out.line(&format!("  {:<10} {:<26} {size}", short(&part.of, 10), short(&part.name, 26)));
        }
    }
    if !plan.buffers.is_empty() {
        out.title("Buffers that it lists", "[read]");
        for buffer in &plan.buffers {
            row(out, buffer);
        }
    }
}

fn row(out: &mut Page, b: &TextBuffer) {
    let kind = match (b.parameter, b.role) {
        (true, _) => "parameter".to_owned(),
        (false, Some(role)) => role_words(role).to_owned(),
        (false, None) => short(b.allocation_type.as_deref().unwrap_or(""), 24),
    };
    let size = b.size.map_or_else(|| "unknown".to_owned(), |s| s.about().to_string());
    let shape = short(&usual_shape(b.shape.as_deref().unwrap_or("")), 44);
    out.line(&format!("  {size:>12} {shape:<44} {kind}"));
    let mut by = String::new();
    if let Some(instruction) = &b.instruction {
        by += &short(instruction, 44);
    }
    if let Some(opcode) = &b.opcode {
        let _ = write!(by, " ({})", short(opcode, 16));
    }
    if let Some(at) = &b.source {
        let _ = write!(by, "  {}", position(at));
    }
    if !by.trim().is_empty() {
        out.line(&format!("{:15}{}", "", by.trim()));
    }
    if let Some(op_name) = &b.op_name {
        out.line(&format!("{:15}{}", "", short(op_name, 84)));
    }
}

pub(super) fn memory_profile(out: &mut Page, report: &Report) {
    let Some(profile) = &report.memory_profile else { return };
    out.title("Device memory profile", "[measured]");
    for total in profile.totals.iter().take(MOST_TOTALS) {
        let device = short(total.device.as_deref().unwrap_or("all devices"), 24);
        out.line(&format!(
            "  {:>12} {device:<24} {} {}s",
            total.bytes.to_string(),
            total.count,
            short(&total.kind, 20)
        ));
    }
    if profile.totals.len() > MOST_TOTALS {
        out.line(&format!("  … {} more", profile.totals.len() - MOST_TOTALS));
    }
    if !profile.changes.is_empty() {
        out.title("Changed since the earlier profile", "[measured]");
        for change in profile.changes.iter().take(MOST_ROWS) {
            let place =
                change.user_frame.and_then(|i| change.frames.get(i as usize)).or(change.frames.first());
            out.line(&format!(
                "  {:>12} → {:>12} ({} → {})  {}",
                change.bytes_before.to_string(),
                change.bytes_after.to_string(),
                change.count_before,
                change.count_after,
                place.map_or_else(|| "unknown".to_owned(), position)
            ));
        }
    }
    let arrays: Vec<&ProfileStack> = profile.stacks.iter().filter(|s| s.kind == "buffer").collect();
    if !arrays.is_empty() {
        out.title("Live arrays by the place that made them", "[measured]");
        for stack in arrays {
            out.line(&format!(
                "  {:>12} ×{:<6} {}",
                stack.bytes.to_string(),
                stack.count,
                place(profile, stack)
            ));
        }
        out.omitted(profile.omitted, "places");
    }
    tree(out, profile);
    if !profile.before_capture.is_empty() {
        out.title("Arrays from before the capture, by size", "[inferred]");
        for found in &profile.before_capture {
            let places: Vec<String> =
                found.places.iter().take(3).map(|(at, n)| format!("{} (×{n})", position(at))).collect();
            out.line(&format!(
                "  {:>12} ×{:<6} {}",
                found.chunk_bytes.to_string(),
                found.count,
                places.join(" or ")
            ));
        }
    }
    for sum in &profile.before_capture_rest {
        rest(out, sum);
    }
}

/// What the arrays can be that a capture knows as one sum.
fn rest(out: &mut Page, rest: &RestMatch) {
    out.title(
        &format!(
            "{} in {} from before the capture, never freed in it",
            rest.bytes,
            short(&rest.allocator, 40)
        ),
        "[inferred]",
    );
    let (count, bytes) = (rest.profile_count, rest.profile_bytes);
    out.wrapped(
        "  ",
        &match rest.exact {
            true => format!("The profile has {count} arrays of exactly this sum:"),
            false => format!(
                "The profile has {count} arrays of {bytes} that can be part of it, if they are as old:"
            ),
        },
    );
    for (at, count, bytes) in rest.places.iter().take(MOST_ROWS) {
        out.line(&format!("  {:>12} ×{count:<6} {}", bytes.to_string(), position(at)));
    }
}

/// The arrays by call, outermost first, where calls branch: the list above has each place, this the way to it.
fn tree(out: &mut Page, profile: &MemoryProfileReport) {
    let nodes = &profile.tree.nodes;
    if !nodes.iter().any(|n| n.children.len() > 1) {
        return;
    }
    out.title("The same by call, outermost first", "[measured]");
    let whole = nodes.first().map_or(0, |n| n.bytes.0);
    // Depth first; the children stand largest first.
    let children = |n: &TreeNode| n.children.iter().rev().copied().collect::<Vec<u32>>();
    let mut ahead: Vec<(u32, usize)> =
        nodes.first().map_or_else(Vec::new, children).into_iter().map(|c| (c, 0)).collect();
    let mut rows = 0;
    while let Some((index, depth)) = ahead.pop() {
        let Some(node) = nodes.get(index as usize) else { continue };
        // A hundredth of all is the least that matters.
        if node.bytes.0.saturating_mul(100) < whole {
            continue;
        }
        if rows == MOST_NODES {
            out.line("  … more below (all of it is in the JSON)");
            break;
        }
        rows += 1;
        let at = node.frame.and_then(|f| profile.frames.get(f as usize));
        let name = at.map_or_else(|| "unknown".to_owned(), |frame| position(&frame.at));
        let indent = depth.min(DEEPEST) * 2;
        out.line(&format!("  {:>12} ×{:<6} {:indent$}{name}", node.bytes.to_string(), node.count, ""));
        ahead.extend(children(node).into_iter().map(|c| (c, depth + 1)));
    }
}

fn place(profile: &MemoryProfileReport, stack: &ProfileStack) -> String {
    let at = |i: usize| -> Option<&SourceLine> {
        let frame = *stack.frames.get(i)?;
        Some(&profile.frames.get(frame as usize)?.at)
    };
    let first = stack.user_frame.unwrap_or(0) as usize;
    // The caller too: a helper is called from many places.
    let lines: Vec<String> = [at(first), at(first + 1)].into_iter().flatten().map(position).collect();
    if lines.is_empty() { "unknown".to_owned() } else { lines.join(" ← ") }
}
