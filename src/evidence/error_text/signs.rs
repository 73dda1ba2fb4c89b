//! Names of errors that say by themselves that memory ran out, told apart from code and advice that only mention them.

use super::messages::{CODE, CPU_WORDS};
use super::{Failure, FailureKind};

/// Names, and what kind of memory they are of.
const SIGNS: [(&str, FailureKind); 21] = [
    ("CUDNN_STATUS_ALLOC_FAILED", FailureKind::Library),
    ("CUBLAS_STATUS_ALLOC_FAILED", FailureKind::Library),
    ("CUSOLVER_STATUS_ALLOC_FAILED", FailureKind::Library),
    ("CUSPARSE_STATUS_ALLOC_FAILED", FailureKind::Library),
    ("CUFFT_ALLOC_FAILED", FailureKind::Library),
    ("rocblas_status_memory_error", FailureKind::Library),
    ("miopenStatusAllocFailed", FailureKind::Library),
    ("Failed to CUDA malloc", FailureKind::Collectives),
    ("Failed to CUDA calloc", FailureKind::Collectives),
    ("Cuda failure 'out of memory'", FailureKind::Collectives),
    ("Cuda failure 2 'out of memory'", FailureKind::Collectives),
    ("HIP failure 'out of memory'", FailureKind::Collectives),
    ("CUDA_ERROR_OUT_OF_MEMORY", FailureKind::Driver),
    ("HIP_ERROR_OutOfMemory", FailureKind::Driver),
    ("hipErrorOutOfMemory", FailureKind::Driver),
    ("std::bad_alloc", FailureKind::Host),
    ("Out of memory: Killed process", FailureKind::Host),
    // The kernel's log, and Slurm's.
    ("oom-kill:constraint", FailureKind::Host),
    ("oom-kill event", FailureKind::Host),
    ("oom_kill event", FailureKind::Host),
    ("MemoryError", FailureKind::Host),
];

/// The first name in a line that says that memory ran out.
pub(super) fn find(line: &str) -> Option<(&'static str, FailureKind)> {
    if !may_have(line) || is_code_or_advice(line) {
        return None;
    }
    SIGNS.into_iter().find(|(sign, _)| {
        let Some(at) = line.find(sign) else { return false };
        let rest = &line[at + sign.len()..];
        if *sign == "MemoryError" {
            // Python's last line: `MemoryError`, `numpy.…._ArrayMemoryError: Unable to allocate …`.
            return rest.starts_with(':') || (rest.is_empty() && !line.trim_start().contains(' '));
        }
        // A name in a sentence about it goes on with a comma or a stop; in C++ a reference to it with `&`.
        !rest.starts_with([',', '.', '&', '_']) && !rest.starts_with(|c: char| c.is_alphanumeric())
    })
}

/// What the driver's own name for it is of, by the words around it: CUDA graphs, the code of kernels, else the name itself.
pub(super) fn of_the_driver(
    line: &str,
    sign: &'static str,
    kind: FailureKind,
) -> (FailureKind, &'static str) {
    let line = line.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    match kind {
        FailureKind::Driver if has(&["cuda graph", "gpu graph", "hip graph", "command buffer"]) => {
            (FailureKind::Graphs, sign)
        }
        FailureKind::Driver if has(&["cubin", "ptx", "hsaco", "moduleload"]) => (kind, CODE),
        _ => (kind, sign),
    }
}

impl Failure {
    /// The words by which the kind of memory was told, where they are a name and no sentence.
    #[must_use]
    pub fn sign(&self) -> Option<&str> {
        let what = self.what.as_deref()?;
        (what == CPU_WORDS || SIGNS.iter().any(|(sign, _)| *sign == what)).then_some(what)
    }
}

/// Whether a line has what is in every name: most lines have not, and logs are long.
fn may_have(line: &str) -> bool {
    line.as_bytes()
        .windows(4)
        .any(|part| [b"mory", b"lloc", b"oom-", b"oom_"].iter().any(|p| part.eq_ignore_ascii_case(*p)))
}

/// Whether a line is program text, or tells what to do about errors: it only mentions them.
pub(super) fn is_code_or_advice(line: &str) -> bool {
    const WORDS: [&str; 22] = [
        "if", "elif", "when", "to", "see", "try", "set", "note:", "hint:", "avoid", "except", "catch",
        "raise", "class", "assert", "import", "from", "return", "def", "#", "//", ">>>",
    ];
    let trimmed = line.trim_start();
    let first = trimmed.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    WORDS.contains(&first.as_str())
        || trimmed.starts_with('#')
        || trimmed.starts_with("//")
        || trimmed.contains(" in str(")
        || trimmed.contains("catch (")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found() {
        for (sign, kind) in SIGNS {
            assert_eq!(find(&format!("E0101 {sign} (1)")).is_some(), sign != "MemoryError", "{sign}");
            assert_eq!(find(sign), Some((sign, kind)));
        }
        assert_eq!(find("step 3 loss 2.71"), None);
    }
}
