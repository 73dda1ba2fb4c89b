//! Why a capture has no allocator events.

use super::Run;
use crate::terms::Backend;

/// The known reasons that fit this capture, as parts of a sentence; none where there are allocator events.
/// `jax_version` is what dates the capture, if anything does.
#[must_use]
pub fn why_no_allocator_events(run: &Run, jax_version: Option<&str>) -> Vec<String> {
    if run.allocators.iter().any(|a| !a.is_empty()) {
        return Vec::new();
    }
    let mut reasons = Vec::new();
    let mut say = |reason: &str| reasons.push(reason.to_owned());
    match run.backend {
        Some(Backend::Cpu) => say("the program ran on a CPU, whose client records no allocator events"),
        Some(Backend::Tpu) => {
            say("libtpu recorded none; it does where the host tracer runs while arrays are allocated")
        }
        Some(Backend::Gpu) => {
            if !run.host_events {
                say("the host tracer was off (`host_tracer_level=0`), and allocator events are host events");
                return reasons;
            }
            say(
                "`XLA_PYTHON_CLIENT_ALLOCATOR` is `platform` or `cuda_async`: those allocators write no events",
            );
            // jax-ml/jax#22890: the metadata came back with 0.4.31.
            if jax_version.is_none_or(|v| v.contains("0.4.29") || v.contains("0.4.30")) {
                say("jaxlib 0.4.29 and 0.4.30 write none");
            }
            // `TraceMeFilter::kTraceMemory`, bfc_allocator.cc from jaxlib 0.5.0 on.
            say("the profiler's options filter memory events out");
            if run.is_empty() {
                say("nothing was allocated or freed while the capture ran");
            }
        }
        None => say("the capture has no device and no host plane"),
    }
    reasons
}
