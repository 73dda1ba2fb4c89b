//! Names of errors that say by themselves that memory ran out, told apart from code and advice that only mention them.

use super::FailureKind;

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
