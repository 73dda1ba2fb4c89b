//! The report as text for a terminal of 100 columns.

mod evidence;
mod findings;
mod op_by_op;
mod plan;
mod run;
mod summary;

pub use findings::what_if_text;
pub use summary::{status_words, summary_text};

use crate::arrange::distinct;
use crate::model::{Backend, Report, SourceKind};
use crate::plain::{plain, short};
use crate::units::{Bytes, Evidence};
use std::fmt::Write;

/// Columns of the report.
const WIDTH: usize = 100;

/// The report as text: the verdict, the plan, the run, what cannot be told, and the findings last, where a terminal
/// leaves the eye.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut out = Page::default();
    head(&mut out, report);
    verdict(&mut out, report);
    warnings(&mut out, report);
    evidence::error_text(&mut out, report);
    evidence::dump(&mut out, report);
    plan::modules(&mut out, report);
    plan::plan(&mut out, report);
    op_by_op::op_by_op(&mut out, report);
    run::allocators(&mut out, report);
    run::executions(&mut out, report);
    run::retries(&mut out, report);
    run::live(&mut out, report);
    run::between(&mut out, report);
    evidence::memory_profile(&mut out, report);
    limits(&mut out, report);
    findings::findings(&mut out, report);
    out.text
}

fn head(out: &mut Page, report: &Report) {
    let source = &report.source;
    let kind = match source.kind {
        SourceKind::Xspace => "profiler capture",
        SourceKind::HloProto if report.text_plan.is_some() => "text dump of a plan",
        SourceKind::HloProto => "HloProto dump",
        SourceKind::ErrorText => "error text",
        SourceKind::MemoryProfile => "device memory profile",
    };
    out.line(&format!(
        "{} {} · {} · {kind}, {}{}",
        report.tool.name,
        report.tool.version,
        short(&source.file, 60),
        source.size_bytes,
        source.host.as_deref().map(|h| format!(", host {}", short(h, 40))).unwrap_or_default(),
    ));
    let platform = &report.platform;
    let backend = match platform.backend {
        Some(Backend::Gpu) => "GPU",
        Some(Backend::Tpu) => "TPU",
        Some(Backend::Cpu) => "CPU",
        None => return,
    };
    let mut line = backend.to_owned();
    if let Some(vendor) = &platform.vendor {
        let _ = write!(line, " · {}", short(vendor, 20));
    }
    for name in distinct(platform.devices.iter().filter_map(|d| d.name.as_deref())) {
        let _ = write!(line, " · {}", short(name, 40));
    }
    if !platform.devices.is_empty() {
        let memory = distinct(platform.devices.iter().filter_map(|d| d.memory_bytes));
        let each: Vec<String> = memory.iter().map(ToString::to_string).collect();
        let count = platform.devices.len();
        let _ = write!(line, " · {count} device{}", if count == 1 { "" } else { "s" });
        if !each.is_empty() {
            let _ = write!(line, " of {}", each.join(" or "));
        }
    }
    if let Some(version) = &platform.jax_version {
        let _ = write!(line, " · jaxlib {}", short(version, 30));
    }
    out.line(&line);
}

fn verdict(out: &mut Page, report: &Report) {
    out.gap();
    out.wrapped(
        &format!("{}: ", status_words(report.verdict.status)),
        &format!("{} {}", report.verdict.sentence, tag(report.verdict.evidence)),
    );
}

fn warnings(out: &mut Page, report: &Report) {
    if report.warnings.is_empty() {
        return;
    }
    out.title("Warnings", "");
    for w in &report.warnings {
        out.wrapped("  ! ", &w.message);
    }
}

fn limits(out: &mut Page, report: &Report) {
    if report.limits.is_empty() {
        return;
    }
    out.title("What this cannot tell", "");
    for limit in &report.limits {
        out.wrapped("  - ", &limit.sentence);
    }
}

/// `[measured]`.
fn tag(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Measured => "[measured]",
        Evidence::Read => "[read]",
        Evidence::Inferred => "[inferred]",
    }
}

/// `12,345,678`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `57 %`, `< 1 %`, `100 %` only where nothing is missing.
fn percent(share: f64) -> String {
    let p = share * 100.0;
    match p {
        p if !p.is_finite() => "?".into(),
        p if p > 0.0 && p < 1.0 => "< 1 %".into(),
        p if p > 99.0 && p < 100.0 => format!("{p:.1} %"),
        _ => format!("{p:.0} %"),
    }
}

/// A size or `unknown`.
fn or_unknown(bytes: Option<Bytes>) -> String {
    bytes.map_or_else(|| "unknown".into(), |b| b.to_string())
}

/// The text being made.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    /// One line as it is. What comes from a capture must have gone through [`plain`].
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A section's title and the class of its numbers.
    fn title(&mut self, title: &str, note: &str) {
        self.gap();
        self.line(&if note.is_empty() { title.to_owned() } else { format!("{title}  {note}") });
    }

    /// Text wrapped to the width, its further lines indented below the first.
    fn wrapped(&mut self, lead: &str, text: &str) {
        let text = plain(text);
        let indent = " ".repeat(lead.chars().count().min(12));
        let options =
            textwrap::Options::new(WIDTH).initial_indent(lead).subsequent_indent(&indent).break_words(true);
        for line in textwrap::wrap(&text, options) {
            self.line(&line);
        }
    }

    /// How much of a list was left out.
    fn omitted(&mut self, cut: crate::model::Cut, what: &str) {
        if cut.omitted > 0 {
            let bytes = if cut.omitted_bytes > Bytes::ZERO {
                format!(", {}", cut.omitted_bytes)
            } else {
                String::new()
            };
            self.line(&format!("  … {} more {what}{bytes} (--top shows more)", cut.omitted));
        }
    }
}
