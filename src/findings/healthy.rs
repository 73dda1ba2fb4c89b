//! `fits`: nothing speaks of a shortage, and something speaks for enough.

use super::case::{Case, headroom};
use super::draft::Draft;
use super::words::{base, count, name, percent};
use crate::model::{Finding, Outcome, Severity, SourceKind};
use crate::units::{Bytes, Evidence};

/// How much was free at the tightest moment of the tightest pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Headroom<'a> {
    pub pool: usize,
    pub name: &'a str,
    pub peak: Bytes,
    pub capacity: Bytes,
    pub free: Bytes,
    /// What of the rest was reserved for loaded programs (TPU).
    pub reserved: Bytes,
}

impl Headroom<'_> {
    /// `At its peak 15.00 GiB of 31.25 GiB were in use in GPU_0_bfc`.
    pub fn taken(&self, which: &str) -> String {
        let (capacity, pool) = (self.capacity, name(self.name));
        if self.reserved.0 == 0 {
            return format!("{} of {capacity} were in use in {pool}{which}", self.peak);
        }
        let taken = capacity.saturating_sub(self.free);
        format!(
            "{taken} of {capacity} were taken in {pool}{which}, {} of that reserved for loaded programs (their temp)",
            self.reserved
        )
    }
}

/// The device pool with the least free bytes at its peak.
pub(super) fn tightest<'a>(case: &Case<'a>) -> Option<Headroom<'a>> {
    case.device_pools()
        .into_iter()
        .filter_map(|(i, a)| {
            let (capacity, peak) = (a.capacity_bytes?, a.peak_bytes?);
            let reserved = a.least_free.map_or(Bytes::ZERO, |l| l.reserved_bytes);
            Some(Headroom { pool: i, name: &a.name, peak, capacity, free: headroom(a)?, reserved })
        })
        .min_by_key(|h| h.free)
}

/// Executions that ran, and of how many modules; `None` where none did.
pub(super) fn ran(case: &Case) -> Option<(u64, u64)> {
    let executions = || case.report.executions.iter().filter(|e| e.outcome != Outcome::Failed);
    let n = executions().count() as u64;
    let modules: std::collections::HashSet<_> = executions().map(|e| (&e.module, &e.program_id)).collect();
    (n > 0).then_some((n, modules.len() as u64))
}

/// Whether the capture shows that anything was executed, on the host's threads or on a device's own lines.
pub(super) fn executed(case: &Case) -> bool {
    let counted = || case.report.modules.iter().any(|m| m.executions.is_some_and(|n| n > 0));
    !case.report.executions.is_empty() || counted()
}

/// The tightest pool, where the capture shows no execution of the module analysed or any other, and that pool's free bytes
/// would not hold what the plan needs: what was seen need not have had a step in it.
pub(super) fn unseen<'a>(case: &Case<'a>) -> Option<Headroom<'a>> {
    let need = case.need()?;
    tightest(case).filter(|h| need > h.free && !executed(case))
}

/// With no graver finding: the headroom that the allocator measured; else that what the capture shows ran to its end.
///
/// A dump of a plan alone shows neither, and nothing is claimed of it.
pub(super) fn find(case: &Case, above: &[Finding]) -> Option<Finding> {
    let graver = above.iter().any(|f| f.severity < Severity::Note);
    if graver || case.report.source.kind != SourceKind::Xspace || unseen(case).is_some() {
        return None;
    }
    let titled = |title| Draft::new("fits", Severity::Ok, title);
    let draft = match (tightest(case), ran(case)) {
        (Some(h), _) => measured(case, titled("The capture fits"), h),
        (None, Some((n, modules))) => unmeasured(case, titled("No sign of a shortage"), n, modules),
        (None, None) => return None,
    };
    Some(draft.done())
}

fn measured(case: &Case, draft: Draft, h: Headroom) -> Draft {
    let free = h.free.share_of(h.capacity).unwrap_or(0.0);
    let pools = case.device_pools().len();
    let tightest = if pools > 1 { format!(", the fullest of {pools}") } else { String::new() };
    let mut sentence = format!(
        "At {} {}: {} ({}) stayed free.",
        if h.reserved.0 == 0 { "its peak" } else { "the tightest moment" },
        h.taken(&tightest),
        h.free,
        percent(free)
    );
    if let Some((module, need)) = case.module.zip(case.need()) {
        sentence += &format!(" {} needs {need}.", name(&module.name));
    }
    let lifetime = case.report.allocators[h.pool].lifetime_peak_bytes.filter(|l| *l > h.peak);
    let draft = draft
        .bytes("peak_bytes", h.peak, Evidence::Measured)
        .bytes("pool_bytes", h.capacity, Evidence::Measured)
        .bytes("headroom_bytes", h.free, Evidence::Measured)
        .maybe_bytes("reserved_bytes", Some(h.reserved).filter(|r| r.0 > 0), Evidence::Measured)
        .number("headroom_share", free, Evidence::Measured)
        .at("allocator", h.pool, "bytes in use over time");
    let draft = match lifetime {
        Some(before) => {
            sentence += &format!(" Before the capture the process once used {before}.");
            draft.bytes("lifetime_peak_bytes", before, Evidence::Measured)
        }
        None => draft,
    };
    draft.sentence(sentence)
}

fn unmeasured(case: &Case, draft: Draft, n: u64, modules: u64) -> Draft {
    let what = match (modules, case.module) {
        (1, Some(m)) => name(base(&m.name)),
        (1, None) => "one module".to_owned(),
        _ => format!("{modules} modules"),
    };
    let mut sentence = format!("{} of {what} and no sign of a shortage.", count(n, "execution"));
    let mut draft = draft.number("executions", n as f64, Evidence::Measured);
    if let (Some(module), Some(need)) = (case.module, case.need()) {
        sentence += &format!(" {} needs {need} by its plan.", name(&module.name));
        draft = draft.bytes("need_bytes", need, Evidence::Read).at("module", None, "what each module needs");
    }
    sentence += match case.card {
        Some(_) => " The capture has no allocator events, so how much was free is unknown.",
        None => " The capture names no limit of memory, so how much was free is unknown.",
    };
    let draft = match (case.card, case.need()) {
        (Some(card), Some(need)) if need <= card => draft.bytes("card_bytes", card, case.card_evidence()),
        _ => draft,
    };
    draft.sentence(sentence)
}
