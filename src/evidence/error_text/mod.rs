//! The text of a failure, pasted or in a log: what was asked for, of whom, and the plan where XLA prints it.
//!
//! All forms from 2022 to today are understood, with the log's prefixes, the traceback and other processes' lines
//! left in, and with lines broken by terminals and mails.

mod escaped;
mod lines;
mod matching;
mod messages;
mod model;
mod plan;
mod pool;
mod prefix;
mod signs;
mod size;
mod words;

pub(super) use escaped::is_json_log;
pub use lines::decode;
pub(super) use lines::is_utf16;
pub use matching::{Candidate, MatchedBy, RequestMatch, TextMatch, TotalDifference, match_failure};
pub(crate) use messages::{CODE, CONSTANT, CONVOLUTION, CPU_WORDS, CUDA_ASYNC};
pub use model::{
    ChunksOfSize, ErrorText, Failure, FailureKind, PlanText, PlanTotals, PoolDump, RematText, TextBuffer,
    UsagePart,
};
pub use size::TextSize;

pub(super) use plan::{opcode as opcode_of, role as role_of_buffer};
pub(super) use words::quoted;

use crate::arrange::Arrange;
use crate::plain::cut;
use lines::{Line, without_escapes, writers};
use std::cmp::Reverse;

/// How many lines after a message can still name its executable or begin its plan.
const NEAR: usize = 12;
/// BFC rounds requests up to this (`kMinAllocationSize`).
const UNIT: u64 = 256;
/// The most failures kept: a log of a loop that catches the error has one for each turn.
const MOST_FAILURES: usize = 500;
/// The most dumps of pools kept, and words of rematerialization, the last ones.
const MOST_TOLD: usize = 100;

impl ErrorText {
    /// What a text says. Nothing at all where it says nothing of memory: see [`ErrorText::is_empty`].
    #[must_use]
    pub fn read(text: &str) -> ErrorText {
        let mut whole = ErrorText::default();
        let text = escaped::plain(text);
        let text = without_escapes(&text);
        for (writer, lines) in writers(&text) {
            let writer = cut(writer);
            let mut one = Reader::default();
            one.read(&lines);
            for failure in one.failures {
                let writers = if writer.is_empty() { Vec::new() } else { vec![writer.clone()] };
                whole.add(Failure { writers, ..failure });
            }
            make_room(&mut whole.failures);
            whole.pools.extend(one.pools.finish());
            whole.rematerialization.extend(one.rematerialization);
        }
        keep_best(&mut whole.failures);
        whole.failures.arrange_by_key(|f| f.line);
        whole.pools.arrange_by_key(|p| p.line);
        keep_last(&mut whole.pools);
        keep_last(&mut whole.rematerialization);
        // The one client for GPUs that has the words of the CPU backend.
        if text.contains("TfrtGpu") || text.contains("tfrt_gpu") {
            let by_words = |f: &&mut Failure| f.what.as_deref() == Some(CPU_WORDS);
            for failure in whole.failures.iter_mut().filter(by_words) {
                (failure.kind, failure.what) = (FailureKind::DevicePool, None);
            }
        }
        whole
    }

    /// Whether the text says nothing of memory.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.failures.is_empty() && self.pools.is_empty() && self.rematerialization.is_empty()
    }

    /// The failure that the report is about: the first that is of the device's memory, one with its plan before others; else
    /// the first at all. Later ones often follow from it: what was not had then is not there for others.
    #[must_use]
    pub fn main(&self) -> Option<&Failure> {
        self.failures.iter().max_by_key(|f| weight(f))
    }

    fn add(&mut self, failure: Failure) {
        // A launcher that marks only some lines leaves one failure with two writers, of which one is unknown.
        let same = self.failures.iter_mut().find(|f| {
            (f.writers.is_empty() != failure.writers.is_empty())
                && same_event(f, &failure)
                && same_chunk(f, &failure)
        });
        match same {
            Some(same) => merge(same, failure),
            None => {
                add(&mut self.failures, failure, None);
            }
        }
    }
}

/// Whether two sizes, one of them rounded by the allocator, can be of one request.
fn same_chunk(a: &Failure, b: &Failure) -> bool {
    let fits = |rounded: &Failure, asked: &Failure| {
        let (Some(rounded), Some(asked)) = (rounded.rounded_bytes, asked.requested.filter(|r| r.is_exact()))
        else {
            return true;
        };
        asked.least_bytes.0.checked_next_multiple_of(UNIT) == Some(rounded.0)
    };
    fits(a, b) && fits(b, a)
}

/// How much a failure matters beside others of its text.
fn weight(f: &Failure) -> (u8, bool, Reverse<u64>) {
    let kind = match f.kind {
        FailureKind::DevicePool | FailureKind::CompileDevice => 3,
        FailureKind::Driver | FailureKind::Unknown => 1,
        FailureKind::DevicePoolOptional => 0,
        _ => 2,
    };
    (kind, f.plan.is_some(), Reverse(f.line))
}

/// Drops the failures that matter least where there are twice too many; whether there were.
fn make_room(failures: &mut Vec<Failure>) -> bool {
    let full = failures.len() >= 2 * MOST_FAILURES;
    if full {
        keep_best(failures);
    }
    full
}

/// Drops the failures that matter least where there are too many. The others keep their order.
fn keep_best(failures: &mut Vec<Failure>) {
    let mut weights: Vec<(u8, bool, Reverse<u64>)> = failures.iter().map(weight).collect();
    let Some(too_many) = weights.len().checked_sub(MOST_FAILURES) else { return };
    weights.arrange();
    let Some(least) = weights.get(too_many) else { return };
    failures.retain(|f| weight(f) >= *least);
    // Several failures of one line can weigh the same.
    failures.truncate(MOST_FAILURES);
}

fn keep_last<T>(told: &mut Vec<T>) {
    told.drain(..told.len().saturating_sub(MOST_TOLD));
}

/// Adds a failure, to an earlier message of the same one where there is one. `near` is how many of the last failures
/// may be another message of it with other words; the same words are found however far back. Returns its index.
fn add(failures: &mut Vec<Failure>, failure: Failure, near: Option<usize>) -> usize {
    let from = failures.len().saturating_sub(near.unwrap_or(failures.len()));
    let same =
        failures.iter().enumerate().rev().find(|(i, f)| {
            same_words(f, &failure) || (*i >= from && near.is_some() && same_event(f, &failure))
        });
    if let Some((i, _)) = same {
        // The sentence with the size and the one with the instruction are two of one message.
        let rest = are_parts(&failures[i], &failure);
        merge(&mut failures[i], Failure { count: if rest { 0 } else { failure.count }, ..failure });
        return i;
    }
    failures.push(failure);
    failures.len() - 1
}

/// Whether two values can be of one thing: equal, or one unknown.
fn agree<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
    a.is_none() || b.is_none() || a == b
}

fn same_words(a: &Failure, b: &Failure) -> bool {
    a.kind == b.kind
        && a.requested == b.requested
        && a.limit == b.limit
        && a.free == b.free
        && a.what == b.what
        && agree(&a.allocator, &b.allocator)
        && agree(&a.device, &b.device)
        && agree(&a.executable, &b.executable)
}

/// Whether two messages can tell of one failure: the allocator's log has its name and the rounded size, the status after
/// it the size to the byte or the executable.
fn same_event(a: &Failure, b: &Failure) -> bool {
    let sizes = match (a.requested, b.requested) {
        (Some(x), Some(y)) => x.overlaps(y),
        _ => false,
    };
    a.kind == b.kind
        && (sizes || are_parts(a, b))
        && agree(&a.allocator, &b.allocator)
        && agree(&a.device, &b.device)
        && agree(&a.executable, &b.executable)
        && agree(&a.limit, &b.limit)
}

/// Whether two are the two sentences of the message on memory inside the chip.
fn are_parts(a: &Failure, b: &Failure) -> bool {
    a.kind == FailureKind::CompileVmem
        && b.kind == FailureKind::CompileVmem
        && a.requested.is_none() != b.requested.is_none()
}

fn merge(into: &mut Failure, other: Failure) {
    into.count += other.count;
    for writer in other.writers {
        // Writers are read one after the other: it was the last one, or is new.
        if into.writers.last() != Some(&writer) {
            into.writers.push(writer);
        }
    }
    let narrower = |s: &TextSize| s.most_bytes.0 - s.least_bytes.0;
    into.requested = [into.requested, other.requested].into_iter().flatten().min_by_key(narrower);
    into.rounded_bytes = into.rounded_bytes.or(other.rounded_bytes);
    into.free = into.free.or(other.free);
    into.limit = into.limit.or(other.limit);
    into.exceeded_by = into.exceeded_by.or(other.exceeded_by);
    into.allocator = into.allocator.take().or(other.allocator);
    into.device = into.device.or(other.device);
    into.executable = into.executable.take().or(other.executable);
    into.error_code = into.error_code.take().or(other.error_code);
    into.what = into.what.take().or(other.what);
    let richer = |p: &PlanText| (p.totals.total.is_some(), p.buffers.len());
    into.plan = [into.plan.take(), other.plan].into_iter().flatten().max_by_key(richer);
}

/// Whether a line has the error that the choice of a convolution's algorithm ended with.
fn is_original(line: &str) -> bool {
    line.contains("Original error: ")
}

/// What the choice of a convolution's algorithm asked for: the error behind it says so, some lines below.
fn with_original(choice: &mut Failure, lines: &[Line<'_>]) {
    let Some(at) = lines.iter().take(NEAR).position(|line| is_original(line.text)) else { return };
    let mut errors = messages::failures(&lines[at..]).into_iter();
    if let Some(asked) = errors.find(|f| f.requested.is_some()) {
        (choice.requested, choice.allocator) = (asked.requested, asked.allocator);
    }
}

/// Reads the lines of one writer.
#[derive(Default)]
struct Reader {
    failures: Vec<Failure>,
    pools: pool::Pools,
    rematerialization: Vec<RematText>,
}

impl Reader {
    fn read(&mut self, lines: &[Line<'_>]) {
        // The failure that a plan below belongs to, and where it stood.
        let mut last: Option<(usize, usize)> = None;
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            if make_room(&mut self.failures) {
                last = None;
            }
            let allocator = self.failures.last().and_then(|f| f.allocator.as_deref());
            if self.pools.line(line, allocator) {
                at += 1;
                continue;
            }
            if plan::begins(line.text) {
                let (plan, taken) = plan::read(&lines[at..]);
                self.plan(plan, line, last.filter(|&(_, stood)| at - stood <= NEAR).map(|(i, _)| i));
                at += taken.max(1);
                continue;
            }
            // A traceback shows the program's text below each place in it, indented: nobody said what stands there.
            let indented = line.text.starts_with([' ', '\t']);
            let is_code = indented && at > 0 && lines[at - 1].text.trim_start().starts_with("File \"");
            let found = if is_code { Vec::new() } else { messages::failures(&lines[at..]) };
            if found.is_empty() && !is_code {
                if let Some(remat) = messages::rematerialization(&lines[at..]) {
                    self.rematerialization.push(remat);
                } else if let Some(unknown) = messages::unknown(line)
                    // The sentence may stand on the next line, where it is found for itself.
                    && lines.get(at + 1).is_none_or(|_| messages::failures(&lines[at + 1..]).is_empty())
                {
                    add(&mut self.failures, unknown, None);
                }
            }
            for mut failure in found {
                if failure.what.as_deref() == Some(CONVOLUTION) {
                    with_original(&mut failure, &lines[at..]);
                } else if is_original(line.text)
                    && last.is_some_and(|(i, stood)| {
                        at - stood <= NEAR && self.failures[i].what.as_deref() == Some(CONVOLUTION)
                    })
                {
                    continue;
                }
                // The messages of one failure stand together: the log, the status, the traceback's last line.
                last = Some((add(&mut self.failures, failure, Some(4)), at));
            }
            at += 1;
        }
    }

    fn plan(&mut self, plan: PlanText, line: &Line<'_>, of: Option<usize>) {
        if plan.is_empty() {
            return;
        }
        let kind = if plan.usage.is_empty() { FailureKind::DevicePool } else { FailureKind::CompileDevice };
        let alone = Failure { plan: Some(plan), ..messages::blank(kind, line) };
        match of.and_then(|i| self.failures.get_mut(i)) {
            Some(failure) => merge(failure, Failure { count: 0, ..alone }),
            // The block alone was pasted, or its message scrolled away.
            None => self.failures.push(alone),
        }
    }
}
