//! The plan of a module as text.

use super::{Page, grouped, or_unknown, percent};
use crate::arrange::Arrange;
use crate::model::{Buffer, BufferKind, Module, ModuleWhy, Report, Role, SourceLine};
use crate::plain::{short, usual_shape};
use crate::units::Bytes;
use std::fmt::Write;

/// Modules shown in the list: a program that runs op by op has hundreds.
const MOST_MODULES: usize = 12;
/// Modules shown of such a program: its sums say more.
const MOST_OPERATIONS: usize = 4;
const BAR: usize = 32;

pub(super) fn modules(out: &mut Page, report: &Report) {
    if report.modules.len() < 2 {
        return;
    }
    let mut order: Vec<&Module> = report.modules.iter().collect();
    let analysed = |m: &Module| report.module.as_deref() == Some(&m.name);
    let idle = |m: &Module| m.executions == Some(0);
    // The one that the report is about has a row; what never ran comes after what did.
    order.arrange_by_key(|m| (!analysed(m), idle(m), std::cmp::Reverse(need(m)), m.name.clone()));
    out.title(&format!("Modules: {}", order.len()), "[read]");
    out.line(&format!("  {:<44} {:>12} {:>12} {:>12} {:>6}", "", "need", "temp", "parameters", "runs"));
    let most = if report.op_by_op.is_some() { MOST_OPERATIONS } else { MOST_MODULES };
    for m in order.iter().take(most) {
        let space = m.spaces.iter().find(|s| s.space == 0);
        let mark = if analysed(m) { "▸" } else { " " };
        out.line(&format!(
            "{mark} {:<44} {:>12} {:>12} {:>12} {:>6}",
            short(&m.name, 44),
            or_unknown(space.map(|s| s.need_bytes)),
            or_unknown(space.map(|s| s.temp_bytes)),
            or_unknown(space.map(|s| s.parameters_bytes)),
            m.executions.map_or_else(|| "?".into(), |n| n.to_string()),
        ));
    }
    if let Some(rest) = order.get(most..).filter(|r| !r.is_empty()) {
        let largest = rest.iter().map(|m| need(m)).max().unwrap_or_default();
        out.line(&format!("  … {} more, none needs more than {largest}", rest.len()));
    }
}

fn need(m: &Module) -> Bytes {
    m.spaces.iter().find(|s| s.space == 0).map_or(Bytes::ZERO, |s| s.need_bytes)
}

pub(super) fn plan(out: &mut Page, report: &Report) {
    let Some(module) = report.modules.iter().find(|m| Some(&m.name) == report.module.as_ref()) else {
        return;
    };
    let why = match report.module_why {
        Some(ModuleWhy::LaunchedNoKernel) => ": its last execution launched no kernel",
        Some(ModuleWhy::LargestExecuted) => ": the largest need of those that were executed",
        Some(ModuleWhy::Largest) => ": the largest need",
        Some(ModuleWhy::ErrorText) => ": the text of the failure is of it",
        Some(ModuleWhy::Asked) | None => "",
    };
    out.title(&format!("Plan of {}", short(&module.name, 60)), &format!("[read]{why}"));
    for space in &module.spaces {
        if space.space != 0 {
            let total =
                space.parameters_bytes + space.outputs_bytes + space.temp_bytes + space.constants_bytes;
            out.line(&format!("  {} (space {}, apart): {total}", short(&space.name, 40), space.space));
            continue;
        }
        let blocks = match space.temp_blocks.len() {
            0 | 1 => String::new(),
            n => format!("in {n} blocks, the largest {}", space.temp_blocks[0]),
        };
        let mut donated = format!("of which donated {}", space.donated_bytes);
        if space.donor_bytes > Bytes::ZERO {
            donated += &format!(", and {} given away for no output", space.donor_bytes);
        }
        for (label, bytes, note) in [
            ("parameters", Some(space.parameters_bytes), donated.as_str()),
            ("outputs", Some(space.outputs_bytes), "not aliased with a parameter"),
            ("temp", Some(space.temp_bytes), &blocks),
            ("constants", Some(space.constants_bytes), ""),
            ("need", Some(space.need_bytes), "the sum: what the device must hold while it runs"),
            (
                "launch need",
                Some(space.launch_need_bytes),
                "outputs + temp: what must be free when it is called",
            ),
            ("heap peak", space.heap_peak_bytes, "most that is live at once inside temp"),
        ] {
            let exact = bytes.map(|b| format!("{} B", grouped(b.0))).unwrap_or_default();
            out.line(&format!("  {label:<12} {:>12} {exact:>20}  {note}", or_unknown(bytes)));
        }
    }
    if let Some(m) = &module.memory_analysis {
        out.line(&format!(
            "  memory_analysis(): argument {} output {} alias {} temp {}",
            grouped(m.argument_size_in_bytes.0),
            grouped(m.output_size_in_bytes.0),
            grouped(m.alias_size_in_bytes.0),
            grouped(m.temp_size_in_bytes.0),
        ));
    }
    if module.rematerialized_instructions > 0 {
        out.line(&format!("  XLA rematerialized {} instructions", module.rematerialized_instructions));
    }
    if let Some(plan) = &report.plan
        && let Some(peak) = &plan.peak
    {
        let at = peak.instruction.as_deref().map(|i| format!(" at {}", short(i, 40))).unwrap_or_default();
        out.title(
            &format!("Heap peak {}, event {} of {}{at}", peak.bytes, peak.event, peak.events),
            "[read]",
        );
        for role in &peak.roles {
            let filled = (role.share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
            let bar: String = "█".repeat(filled) + &"·".repeat(BAR - filled);
            out.line(&format!(
                "  {:<22} {:>12} {:>6}  {bar}",
                role_words(role.role),
                role.bytes.to_string(),
                percent(role.share)
            ));
        }
        out.title("Buffers live at the peak", "[read]");
        for buffer in &peak.buffers {
            row(out, buffer);
        }
        out.omitted(report.omitted.peak_buffers, "buffers");
    }
}

fn row(out: &mut Page, b: &Buffer) {
    let kind = match b.kind {
        BufferKind::Temp => role_words(b.role),
        BufferKind::Parameter => "parameter",
        BufferKind::Donated => "donated parameter",
        BufferKind::Output => "output",
        BufferKind::Constant => "constant",
    };
    let all = Bytes(b.bytes.0.saturating_mul(b.count.max(1)));
    let each = if b.count > 1 { format!("{} × {}", b.count, b.bytes) } else { String::new() };
    out.line(&format!(
        "  {:>12}  {each:<17} {:<36} {kind}",
        all.to_string(),
        short(&usual_shape(&b.shape), 36)
    ));
    let mut by = format!("{} ({})", short(&b.instruction, 44), short(&b.opcode, 16));
    if let Some(at) = b.source.as_ref() {
        let _ = write!(by, "  {}", position(at));
    }
    out.line(&format!("{:20}{by}", ""));
    if let Some(op) = b.op_name.as_deref().filter(|o| !o.is_empty()) {
        out.line(&format!("{:20}{}", "", short(op, 80)));
    }
}

/// `progs.py:84 GPT.__call__`: the end of a path says which file it is.
pub(super) fn position(at: &SourceLine) -> String {
    let file = at.file.rsplit('/').next().unwrap_or(&at.file);
    let mut text = short(file, 30);
    if let Some(line) = at.line {
        let _ = write!(text, ":{line}");
    }
    if let Some(function) = &at.function {
        let _ = write!(text, " {}", short(function, 30));
    }
    text
}

pub(super) fn role_words(role: Role) -> &'static str {
    match role {
        Role::Forward => "forward, kept",
        Role::Backward => "backward",
        Role::Recomputed => "recomputed forward",
        Role::Workspace => "workspace",
        Role::Update => "update",
        Role::Other => "other",
    }
}
