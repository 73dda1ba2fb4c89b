//! A text dump of XLA as a report: plan only.

use super::limit;
use super::written::parts;
use crate::evidence::xla_text::{XlaText, module_of_file};
use crate::model::{Backend, Platform, Report, SourceInfo, Verdict, VerdictStatus};
use crate::units::Evidence;

/// The report of a dump.
#[must_use]
pub fn of_dump(source: SourceInfo, dump: &XlaText, top: usize) -> Report {
    let platform =
        Platform { backend: backend(&source.file), vendor: None, jax_version: None, devices: Vec::new() };
    let module = module_of_file(&source.file);
    let plan = dump.plan(top);
    let mut report = Report::of(source, platform);
    let who = module.as_deref().unwrap_or("The module");
    let parts = parts(&plan);
    let sentence = match plan.totals.total {
        Some(total) if parts.is_empty() => format!("{who} needs {total}."),
        Some(total) => format!("{who} needs {total}: {parts}."),
        None => format!("{who} needs {parts}."),
    };
    let evidence = if dump.is_exact() { Evidence::Read } else { Evidence::Inferred };
    report.verdict = Verdict { status: VerdictStatus::CannotTell, sentence, evidence };
    report.module = module;
    report.limits.push(limit(
        "plan-only",
        "A dump of the plan holds no run: not what else was alive, nor how much memory there was. The total counts thread-local \
         allocations, which are no device memory at run time, and all memory spaces.",
    ));
    if dump.peak.is_empty() {
        report.limits.push(limit(
            "dump-without-lives",
            "This form of the dump does not say which values of a temp block are alive at once: the largest are listed, and some \
             of them take turns in the same bytes. The HloProto of the same module says it.",
        ));
    }
    if dump.cut > 0 {
        report.limits.push(limit("dump-cut", "The short form of the dump leaves out small allocations."));
    }
    report.text_plan = Some(plan);
    report
}

/// The kind of device in a dump's name: `….sm_9.0a_gpu_after_optimizations-…`.
fn backend(file: &str) -> Option<Backend> {
    if file.contains("gpu_after") {
        Some(Backend::Gpu)
    } else if file.contains("cpu_after") {
        Some(Backend::Cpu)
    } else if file.contains("tpu") {
        Some(Backend::Tpu)
    } else {
        None
    }
}
