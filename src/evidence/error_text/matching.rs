//! The text of a failure beside the modules of a capture: which allocation of which plan was asked for.

use super::messages::LOADING;
use super::{Failure, FailureKind, PlanTotals, TextSize, UNIT};
use crate::arrange::Arrange;
use crate::plan::Summary;
use crate::terms::BufferKind;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A module of a capture.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// `jit_step(17)`.
    pub name: &'a str,
    /// Its plan's totals.
    pub summary: &'a Summary,
    /// Index of the allocation of its plan that the run shows was not had, where a launch failed.
    pub refused: Option<i64>,
}

/// What of a capture a failure is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TextMatch {
    /// The module; null where none of the capture fits.
    pub module: Option<String>,
    /// How it was told.
    pub by: MatchedBy,
    /// The allocations of its plan that are printed as the request is; several where sizes are equal.
    pub request: Vec<RequestMatch>,
    /// Totals of the text that are not those of the plan. None at all means that it is the same plan, or that the text has
    /// no totals.
    pub differences: Vec<TotalDifference>,
    /// What it comes to, in one sentence.
    pub sentence: String,
}

/// How a module was told from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// The text has the executable's name.
    Name,
    /// The text's totals are those of its plan.
    Totals,
    /// The compiler refused as much as its plan needs in all.
    Need,
    /// Its plan has an allocation of the size asked for.
    Request,
    /// Nothing did.
    Nothing,
}

/// An allocation of a plan that the request can be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestMatch {
    /// The module, as `jit_step(17)`.
    pub module: String,
    /// Index of the allocation in its plan.
    pub allocation: i64,
    /// Its size.
    pub bytes: Bytes,
    /// `output` or `temp`.
    pub kind: BufferKind,
    /// In words: `temp block`, `output 3 f32[1280]`.
    pub what: String,
}

/// A total that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TotalDifference {
    /// `parameter allocation`, as XLA's text names it.
    pub what: String,
    /// What the text says.
    pub text: TextSize,
    /// What the plan says.
    pub plan_bytes: Bytes,
}

/// A TPU's reservation for a program is its temp and 16 MiB in the one capture that shows both; up to so much is believed ...
const LOADED_WITH: Bytes = Bytes(32 << 20);
/// ... beside a temp that is much more.
const MUCH: u64 = 256 << 20;

/// Finds what a failure is of, among the modules of a capture.
#[must_use]
pub fn match_failure(failure: &Failure, candidates: &[Candidate<'_>]) -> TextMatch {
    let judged: Vec<Judged<'_>> = candidates.iter().map(|c| judge(failure, *c)).collect();
    let best = judged.into_iter().max_by(|a, b| a.rank().cmp(&b.rank()).then(a.need().cmp(&b.need())));
    let Some(best) = best.filter(|b| b.by != MatchedBy::Nothing) else {
        return TextMatch {
            module: None,
            by: MatchedBy::Nothing,
            request: Vec::new(),
            differences: Vec::new(),
            sentence: not_found(failure, candidates.len()),
        };
    };
    let sentence = best.sentence(failure);
    TextMatch {
        module: Some(best.candidate.name.to_owned()),
        by: best.by,
        request: best.request,
        differences: best.differences,
        sentence,
    }
}

/// What one module has to do with a failure.
struct Judged<'a> {
    candidate: Candidate<'a>,
    by: MatchedBy,
    request: Vec<RequestMatch>,
    differences: Vec<TotalDifference>,
    totals_agree: bool,
    /// The need that the compiler refused, of a program that did not compile.
    refused: Option<Bytes>,
}

fn judge<'a>(failure: &Failure, candidate: Candidate<'a>) -> Judged<'a> {
    let request = requests(failure, candidate);
    let refused = refused_need(failure, candidate);
    let totals = failure.plan.as_ref().map(|p| p.totals).unwrap_or_default();
    let (compared, differences) = compare(&totals, candidate.summary);
    let totals_agree = compared >= 2 && differences.is_empty();
    let named =
        failure.executable.as_deref().is_some_and(|e| e == base(candidate.name) || e == candidate.name);
    let by = match () {
        () if named => MatchedBy::Name,
        () if totals_agree => MatchedBy::Totals,
        () if refused.is_some() && failure.executable.is_none() => MatchedBy::Need,
        // A plan of other totals has the size by chance, or is another compilation of the same program: say so below.
        () if !request.is_empty() && failure.executable.is_none() => MatchedBy::Request,
        () => MatchedBy::Nothing,
    };
    Judged { candidate, by, request, differences, totals_agree, refused }
}

/// The whole need of a plan, where it is what a failed compilation says that the program uses. The compiler counts what it
/// keeps back for itself too, where its account lists it.
fn refused_need(failure: &Failure, candidate: Candidate<'_>) -> Option<Bytes> {
    let need = candidate.summary.need().filter(|need| need.0 > 0)?;
    let used = failure.requested.filter(|_| failure.kind == FailureKind::CompileDevice)?;
    let reserved = failure.plan.as_ref().and_then(super::PlanText::reserved);
    let with_reserved = reserved.is_some_and(|r| {
        used.overlaps(TextSize { least_bytes: need + r.least_bytes, most_bytes: need + r.most_bytes })
    });
    (used.contains(need) || with_reserved).then_some(need)
}

impl Judged<'_> {
    fn rank(&self) -> (bool, bool, bool, bool, bool) {
        (
            self.by != MatchedBy::Nothing,
            self.totals_agree,
            self.by == MatchedBy::Name,
            self.refused_here().is_some(),
            self.refused.is_some() || !self.request.is_empty(),
        )
    }

    /// The request, where the run shows that it is what a launch did not get.
    fn refused_here(&self) -> Option<&RequestMatch> {
        let first = self.request.first()?;
        (self.candidate.refused == Some(first.allocation)).then_some(first)
    }

    fn need(&self) -> Bytes {
        self.candidate.summary.need().unwrap_or_default()
    }

    fn sentence(&self, failure: &Failure) -> String {
        let module = self.candidate.name;
        let asked = failure.requested.map_or_else(|| "request".to_owned(), |r| r.to_string());
        let mut sentence = match (self.refused_here(), self.request.as_slice()) {
            _ if failure.kind == FailureKind::CompileDevice => self.not_compiled(failure, &asked),
            (_, []) if failure.requested.is_none() => format!("The text is of {module}."),
            (_, []) => format!(
                "The text is of {module}, but no output or temp block of its plan is {asked}: it was another allocation, or \
                 another compilation of the program."
            ),
            (_, [one]) if failure.what.as_deref() == Some(LOADING) => format!(
                "The {asked} of your error is what {module} reserves when it is loaded: its temp block ({} bytes) and a little more.",
                one.bytes.0
            ),
            (Some(refused), all) => format!(
                "The {asked} of your error is the {} of {module} ({} bytes): this capture shows the launch that did not get it.{}",
                refused.what,
                refused.bytes.0,
                match all.len() {
                    1 => String::new(),
                    n => format!(" {} other allocations of the plan have its size.", n - 1),
                }
            ),
            (_, [one]) => {
                format!("The {asked} of your error is the {} of {module} ({} bytes).", one.what, one.bytes.0)
            }
            (_, [first, rest @ ..]) => format!(
                "The {asked} of your error is the {} of {module} ({} bytes), or one of {} others of its size.",
                first.what,
                first.bytes.0,
                rest.len()
            ),
        };
        let differ: Vec<String> = self
            .differences
            .iter()
            .map(|d| format!("{} {} in the text and {} in the plan", d.what, d.text, d.plan_bytes))
            .collect();
        if !differ.is_empty() {
            sentence += &format!(
                " Its totals differ from the text's ({}): it is not the same compilation.",
                differ.join(", ")
            );
        }
        sentence
    }

    /// The sentence where the compiler refused the whole program.
    fn not_compiled(&self, failure: &Failure, asked: &str) -> String {
        let module = self.candidate.name;
        let room = failure.limit.map_or_else(String::new, |l| format!(": the device has {l}"));
        match (self.refused, self.need()) {
            (Some(need), _) => format!(
                "The {asked} of your error is the whole need of {module} ({} bytes). It did not compile{room}.",
                need.0
            ),
            (None, Bytes(0)) => format!("The text is of {module}, which did not compile{room}."),
            (None, need) => format!(
                "The text is of {module}, which did not compile{room}. Its {asked} is not the need of this plan ({need}): another \
                 compilation, or the compiler counts more than the plan."
            ),
        }
    }
}

fn not_found(failure: &Failure, modules: usize) -> String {
    let asked =
        failure.requested.map_or_else(|| "The request".to_owned(), |r| format!("The {r} of your error"));
    match (modules, &failure.executable) {
        (0, _) => "The capture holds no plan to find the request in.".to_owned(),
        (_, Some(name)) => format!("The capture holds no plan of {name}, which your error is of."),
        _ if failure.kind == FailureKind::CompileDevice => format!(
            "{asked} is the need of none of the {modules} modules here: a program that did not compile has no plan in a capture."
        ),
        (1, _) => format!(
            "{asked} is no output and no temp block of the one module here: a transfer, an operation outside of it, or another \
             compilation of the program."
        ),
        _ => format!(
            "{asked} is no output and no temp block of the {modules} modules of this capture: a transfer, an operation \
             outside of them, or a run before or after it."
        ),
    }
}

/// The launch allocations of a plan that are printed as the request is. Where the allocator printed the rounded size too,
/// both must agree.
fn requests(failure: &Failure, candidate: Candidate<'_>) -> Vec<RequestMatch> {
    let Some(requested) = failure.requested else { return Vec::new() };
    let loading = failure.what.as_deref() == Some(LOADING);
    // A TPU reserves the temp of a program when it loads it, and some MiB with it.
    let is_asked = |size: Bytes| match loading {
        true => {
            size.0 >= MUCH
                && requested.overlaps(TextSize { least_bytes: size, most_bytes: size + LOADED_WITH })
        }
        false => requested.contains(size),
    };
    let mut found: Vec<RequestMatch> = candidate
        .summary
        .launch
        .iter()
        .filter(|a| !a.is_host() && a.size.0 > 0 && is_asked(a.size))
        .filter(|a| !loading || a.kind == BufferKind::Temp)
        .filter(|a| {
            failure.rounded_bytes.is_none_or(|r| a.size.0.checked_next_multiple_of(UNIT) == Some(r.0))
        })
        .map(|a| RequestMatch {
            module: candidate.name.to_owned(),
            allocation: a.index,
            bytes: a.size,
            kind: a.kind,
            what: a.what(),
        })
        .collect();
    // What the run shows was refused, then the temp block: it is the request that fails most often.
    found.arrange_by_key(|m| {
        (candidate.refused != Some(m.allocation), m.kind != BufferKind::Temp, m.allocation)
    });
    found
}

/// How many totals could be compared, and those that differ. XLA adds up all memory spaces, host memory too
/// (`ComputeSummaryStats`).
fn compare(text: &PlanTotals, plan: &Summary) -> (usize, Vec<TotalDifference>) {
    if !plan.has_plan {
        return (0, Vec::new());
    }
    let sum = |of: fn(&crate::plan::SpaceTotals) -> Bytes| plan.spaces.iter().map(of).sum::<Bytes>();
    let totals = [
        ("parameter allocation", text.parameter, sum(|s| s.parameters)),
        ("constant allocation", text.constant, sum(|s| s.constants)),
        ("maybe_live_out allocation", text.maybe_live_out, sum(|s| s.outputs + s.donated)),
        ("preallocated temp allocation", text.temp, sum(|s| s.temp)),
        (
            "total allocation",
            text.total,
            sum(|s| s.parameters + s.outputs + s.constants + s.thread_local + s.temp),
        ),
    ];
    let compared = totals.iter().filter(|(_, text, _)| text.is_some()).count();
    let differ = totals.into_iter().filter_map(|(what, text, plan_bytes)| {
        let text = text.filter(|t| !t.contains(plan_bytes))?;
        Some(TotalDifference { what: what.to_owned(), text, plan_bytes })
    });
    (compared, differ.collect())
}

/// `jit_step(17)` → `jit_step`.
fn base(module: &str) -> &str {
    match module.rfind('(') {
        Some(at) if at > 0 && module.ends_with(')') => &module[..at],
        _ => module,
    }
}
