//! The sentences in which XLA, its allocators, the TPU compiler and the libraries say that memory ran out.
//!
//! Sources: `xla/stream_executor/integrations/tf_allocator_adapter.cc` (`Out of memory while trying to allocate`),
//! `xla/tsl/framework/bfc_allocator.cc` (`Allocator (…) ran out of memory`), `xla/stream_executor/cuda/cuda_executor.cc`
//! (`failed to allocate … from device`), `xla/stream_executor/gpu/gpu_cudamallocasync_allocator.cc`, `xla/service/gpu/gpu_executable.cc` (`Failed to
//! allocate … for new constant`), XLA's pages on error codes E0100, E1000 and E1001, and messages in public reports from
//! 2022 on.

use super::lines::{Line, without_log_prefix};
use super::words::{Words, bare, number_in, size_in};
use super::{Failure, FailureKind, MOST_FAILURES, RematText, TextSize, signs};
use crate::plain::cut;
use crate::units::Bytes;

/// The driver's own pool (`XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async`).
pub(crate) const CUDA_ASYNC: &str = "cuda_async";

/// What a request for one of the program's constants is called.
pub(crate) const CONSTANT: &str = "a constant of the program";

/// What is tried out before a program with a convolution runs.
pub(crate) const CONVOLUTION: &str = "choice of a convolution's algorithm";

/// What the driver is asked for when a program is loaded.
pub(crate) const CODE: &str = "the code of kernels";

/// The words of JAX's CPU backend (`MaybeOwningCpuMemory`), which name no memory.
pub(crate) const CPU_WORDS: &str = "Out of memory allocating";

/// What a TPU's request for the memory that a program reserves is called.
pub(super) const LOADING: &str = "the program itself";

/// A sentence and what it means. `{}` are words that are read by `fill`.
struct Rule {
    pattern: &'static str,
    kind: FailureKind,
    fill: fn(&mut Failure, &[&str]),
}

const RULES: &[Rule] = &[
    Rule {
        pattern: "Out of memory while trying to allocate {}",
        kind: FailureKind::DevicePool,
        fill: |f, w| f.requested = size(w, 0),
    },
    Rule {
        pattern: "Out of host memory while trying to allocate {}",
        kind: FailureKind::HostPool,
        fill: |f, w| f.requested = size(w, 0),
    },
    Rule {
        pattern: "Out of memory allocating {} bytes",
        kind: FailureKind::Host,
        fill: |f, w| (f.requested, f.what) = (size(w, 0), Some(CPU_WORDS.into())),
    },
    Rule {
        pattern: "Allocator {} ran out of memory trying to allocate {} rounded to {}",
        kind: FailureKind::DevicePool,
        fill: |f, w| {
            (f.allocator, f.requested) = (name(w, 0), size(w, 1));
            f.rounded_bytes = w.get(2).and_then(|w| number_in(w)).map(Bytes);
        },
    },
    Rule {
        pattern: "Allocator {} ran out of memory trying to allocate {} with {}",
        kind: FailureKind::DevicePoolOptional,
        fill: |f, w| (f.allocator, f.requested) = (name(w, 0), size(w, 1)),
    },
    Rule {
        pattern: "Allocator {} ran out of memory trying to allocate {} from the {} end with {}",
        kind: FailureKind::DevicePoolOptional,
        fill: |f, w| (f.allocator, f.requested) = (name(w, 0), size(w, 1)),
    },
    Rule {
        pattern: "Allocator {} ran out of memory trying to allocate {}",
        kind: FailureKind::DevicePool,
        fill: |f, w| (f.allocator, f.requested) = (name(w, 0), size(w, 1)),
    },
    Rule {
        pattern: "Failed to allocate request for {} {} on device ordinal {}",
        kind: FailureKind::Driver,
        fill: |f, w| {
            f.requested = w.get(1).and_then(|w| number_in(w)).map(TextSize::exact).or(size(w, 0));
            f.device = ordinal(w, 2);
        },
    },
    Rule {
        pattern: "failed to allocate {} {} bytes from device {}",
        kind: FailureKind::Driver,
        fill: |f, w| f.requested = w.get(1).and_then(|w| number_in(w)).map(TextSize::exact),
    },
    Rule {
        pattern: "cuMemAllocAsync failed to allocate {} bytes",
        kind: FailureKind::Driver,
        fill: |f, w| (f.requested, f.allocator) = (size(w, 0), Some(CUDA_ASYNC.into())),
    },
    Rule {
        pattern: "Ran out of memory in memory space {} Used {} of {} {} Exceeded {} capacity by {}",
        kind: FailureKind::CompileDevice,
        fill: |f, w| {
            (f.requested, f.limit, f.exceeded_by) = (size(w, 1), size(w, 2), size(w, 5));
            if w.first().is_some_and(|space| bare(space) != "hbm") {
                f.kind = FailureKind::CompileVmem;
            }
        },
    },
    Rule {
        pattern: "Ran out of memory in memory space vmem while allocating on stack for {}",
        kind: FailureKind::CompileVmem,
        fill: |f, w| f.what = name(w, 0),
    },
    Rule {
        pattern: "Scoped allocation with size {} and limit {} exceeded scoped vmem limit by {}",
        kind: FailureKind::CompileVmem,
        fill: |f, w| (f.requested, f.limit, f.exceeded_by) = (size(w, 0), size(w, 1), size(w, 2)),
    },
    Rule {
        pattern: "Ran out of memory on HBM the total memory required for HLO temporaries {} exceeds available HBM {}",
        kind: FailureKind::CompileDevice,
        fill: |f, w| {
            (f.requested, f.limit) = (size(w, 0), size(w, 1));
            f.what = Some("HLO temporaries".into());
        },
    },
    Rule {
        pattern: "TPU TensorCore Hbm usage {} SparseCore Hbm usage {} exceeding available bytes {}",
        kind: FailureKind::CompileDevice,
        fill: |f, w| {
            f.requested = size(w, 0).zip(size(w, 1)).map(|(a, b)| TextSize {
                least_bytes: a.least_bytes + b.least_bytes,
                most_bytes: a.most_bytes + b.most_bytes,
            });
            f.limit = size(w, 2);
        },
    },
    Rule {
        pattern: "Allocation {} would exceed memory {}",
        kind: FailureKind::CompileDevice,
        fill: |f, w| (f.requested, f.limit) = (size(w, 0), size(w, 1)),
    },
    Rule {
        pattern: "Attempting to allocate {} That was not possible There are {} free",
        kind: FailureKind::DevicePool,
        fill: |f, w| (f.requested, f.free) = (size(w, 0), size(w, 1)),
    },
    Rule {
        pattern: "Attempting to reserve {} at the bottom of memory That was not possible There are {} free",
        kind: FailureKind::DevicePool,
        fill: |f, w| {
            (f.requested, f.free) = (size(w, 0), size(w, 1));
            f.what = Some(LOADING.into());
        },
    },
    Rule {
        pattern: "Failed to allocate {} bytes for new constant",
        kind: FailureKind::DevicePool,
        fill: |f, w| (f.requested, f.what) = (size(w, 0), Some(CONSTANT.into())),
    },
    Rule {
        pattern: "OOM when allocating tensor with {} and type {} on {} by allocator {}",
        kind: FailureKind::DevicePool,
        fill: |f, w| {
            f.what = name(w, 0).zip(name(w, 1)).map(|(shape, dtype)| format!("{dtype} {shape}"));
            f.device = w.get(2).and_then(|w| w.rsplit(':').next()).and_then(|n| n.parse().ok());
            f.allocator = name(w, 3);
        },
    },
    Rule {
        pattern: "Unable to allocate {} {} for an array with shape",
        kind: FailureKind::Host,
        fill: |f, w| f.requested = TextSize::parse(&w.concat()),
    },
    Rule { pattern: "Reason OOMKilled", kind: FailureKind::Host, fill: |_, _| () },
    Rule {
        pattern: "Shared memory size limit exceeded requested {} available {}",
        kind: FailureKind::KernelSharedMemory,
        fill: |f, w| (f.requested, f.limit) = (size(w, 0), size(w, 1)),
    },
    Rule {
        pattern: "Shared memory size limit exceeded",
        kind: FailureKind::KernelSharedMemory,
        fill: |_, _| (),
    },
    Rule {
        pattern: "Failed to allocate a {} pinned host staging {}",
        kind: FailureKind::HostPool,
        fill: |f, w| f.requested = w.first().and_then(|w| number_in(w)).map(TextSize::exact),
    },
    Rule {
        pattern: "Underlying backend ran out of memory trying to instantiate command buffer",
        kind: FailureKind::Graphs,
        fill: |_, _| (),
    },
    Rule {
        pattern: "Failed to determine best cudnn convolution algorithm",
        kind: FailureKind::Library,
        fill: |f, _| f.what = Some(CONVOLUTION.into()),
    },
    Rule {
        pattern: "CUDA out of memory Tried to allocate {} {}",
        kind: FailureKind::PyTorch,
        fill: |f, w| f.requested = TextSize::parse(&w.iter().map(|w| bare(w)).collect::<String>()),
    },
];

fn size(words: &[&str], at: usize) -> Option<TextSize> {
    words.get(at).and_then(|w| size_in(w))
}

fn name(words: &[&str], at: usize) -> Option<String> {
    let name = words.get(at)?.trim_matches(|c: char| "().,:;'\"%".contains(c));
    (!name.is_empty()).then(|| cut(name))
}

fn ordinal(words: &[&str], at: usize) -> Option<u32> {
    words.get(at).and_then(|w| number_in(w)).and_then(|n| n.try_into().ok())
}

/// The failures that the first of `lines` begins to tell.
pub(super) fn failures(lines: &[Line<'_>]) -> Vec<Failure> {
    let Some(line) = lines.first() else { return Vec::new() };
    let text = without_log_prefix(line.text);
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric()) {
        rest = &rest[start..];
        let first = bare(rest.split_whitespace().next().unwrap_or_default());
        let begins = |rule: &&Rule| rule.pattern.strip_prefix(first).is_some_and(|r| r.starts_with(' '));
        for rule in RULES.iter().filter(begins) {
            let mut words = Words::new(lines, rest);
            if let Some(captured) = words.pass(rule.pattern) {
                let mut failure = blank(rule.kind, line);
                (rule.fill)(&mut failure, &captured);
                complete(&mut failure, words);
                found.push(failure);
                break;
            }
        }
        // A line of megabytes could hold any number.
        if found.len() == MOST_FAILURES {
            break;
        }
        // To the next word.
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest = &rest[end..];
    }
    if found.is_empty()
        && let Some((sign, kind)) = signs::find(text)
    {
        let (kind, what) = signs::of_the_driver(text, sign, kind);
        let mut failure = blank(kind, line);
        failure.what = Some(what.to_owned());
        let behind = text.find(sign).map_or("", |at| &text[at + sign.len()..]);
        complete(&mut failure, Words::new(lines, behind));
        found.push(failure);
    }
    // XLA's code stands before the sentence, or behind it.
    if !found.is_empty() {
        let code = line.text.split_whitespace().find_map(error_code);
        found.iter_mut().for_each(|f| f.error_code = code.map(str::to_owned));
    }
    found
}

/// `RESOURCE_EXHAUSTED` in a form that no rule knows, with the words after it. A status has a colon behind its code.
pub(super) fn unknown(line: &Line<'_>) -> Option<Failure> {
    let (_, after) = without_log_prefix(line.text).split_once("RESOURCE_EXHAUSTED:")?;
    if signs::is_code_or_advice(line.text) {
        return None;
    }
    let mut failure = blank(FailureKind::Unknown, line);
    let what: String = after.trim_start_matches([':', ' ']).chars().take(300).collect();
    failure.what = (!what.is_empty()).then_some(what);
    Some(failure)
}

pub(super) fn blank(kind: FailureKind, line: &Line<'_>) -> Failure {
    Failure {
        kind,
        line: line.number,
        count: 1,
        writers: Vec::new(),
        requested: None,
        rounded_bytes: None,
        free: None,
        limit: None,
        exceeded_by: None,
        allocator: None,
        device: None,
        executable: None,
        error_code: None,
        what: None,
        plan: None,
    }
}

/// `E1000` of `E1000:`.
fn error_code(word: &str) -> Option<&str> {
    let code = word.strip_suffix(':')?;
    let digits = code.strip_prefix('E')?;
    (digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit())).then_some(code)
}

/// What stands behind the sentence.
fn complete(failure: &mut Failure, mut words: Words<'_, '_>) {
    if let Some(found) = words.pass("with allocator {}") {
        failure.allocator = name(&found, 0);
        failure.device = words.pass("on device {}").and_then(|w| ordinal(&w, 0));
    }
    if let Some(allocator) = &failure.allocator
        && failure.kind == FailureKind::DevicePool
    {
        // Names: xla/pjrt/gpu/gpu_helpers.cc.
        if allocator.contains("host") {
            failure.kind = FailureKind::HostPool;
        } else if allocator.contains("collective") {
            failure.kind = FailureKind::CollectivePool;
        }
    }
    if failure.allocator.as_deref() == Some(CUDA_ASYNC) {
        (failure.free, failure.limit) = of_the_card(words.clone()).unzip();
    }
    // Payloads of the status, and the description of the buffer (E1001: `:: #allocation7 [shape = '…', space=hbm, …]`).
    for word in words.take(40) {
        if let Some(name) = word.split_once("executable_name='").and_then(|(_, rest)| rest.split('\'').next())
        {
            failure.executable.get_or_insert_with(|| cut(name));
        }
        if word.starts_with("space=") && bare(word) != "space=hbm" {
            failure.kind = FailureKind::CompileVmem;
        }
        // The next message is not this one's.
        if word.contains("RESOURCE_EXHAUSTED") || word == "BufferAssignment" || word == "Allocator" {
            break;
        }
    }
}

/// What is free of the card and what it has in all: ` Reported by CUDA: Free memory/Total memory: 22635544576/85095874560`.
fn of_the_card(words: Words<'_, '_>) -> Option<(TextSize, TextSize)> {
    let mut words = words.take(24).skip_while(|word| *word != "Reported");
    let (free, total) = words.find_map(|word| {
        let (free, total) = word.split_once('/')?;
        Some((free.parse().ok()?, total.parse().ok()?))
    })?;
    Some((TextSize::exact(free), TextSize::exact(total)))
}

/// What XLA's rematerialization says of its limit (`xla/hlo/transforms/simplifiers/hlo_rematerialization.cc`).
pub(super) fn rematerialization(lines: &[Line<'_>]) -> Option<RematText> {
    let line = lines.first()?;
    let at = line.text.find("Can't reduce memory use below")?;
    let mut words = Words::new(lines, &line.text[at..]);
    let target = words.pass("Can't reduce memory use below {}")?;
    // The bytes behind the size came later than the sentence.
    let exact = words.pass("{} bytes by rematerialization only reduced to {}");
    let (target, reached) = match &exact {
        Some(found) => {
            let bytes =
                found.first().filter(|w| !w.contains('-')).and_then(|w| number_in(w)).map(TextSize::exact);
            (bytes, *found.get(1)?)
        }
        None => (size(&target, 0), *words.pass("by rematerialization only reduced to {}")?.first()?),
    };
    let mut reached = size_in(reached)?;
    if let Some(bytes) = words.pass("{} bytes").and_then(|w| number_in(w.first()?)) {
        reached = TextSize::exact(bytes);
    }
    let original =
        words.pass("down from {} {} bytes").and_then(|w| number_in(w.get(1)?)).map(TextSize::exact);
    Some(RematText { line: line.number, target, reached, original })
}
