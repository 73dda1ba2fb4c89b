//! The compiled modules of a capture: names, program ids, and where each HloProto lies.

use super::index::Index;
use super::stats::OwnedValue;
use crate::terms::Backend;
use std::ops::Range;

/// One entry of `/host:metadata`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleRef {
    /// `jit_train_step(17)`, as the capture has it.
    pub name: String,
    /// `jit_train_step`.
    pub base_name: String,
    /// The program id: of the stat `program_id`, else the number in the name, else the metadata key (the three agree
    /// in captures of JAX up to 0.9; in 0.10 the key is a mere sequence number). Can be negative or above 2^53.
    pub program_id: i64,
    /// Where its HloProto lies in the file; may reach past the end of a cut file.
    pub hlo: Range<u64>,
}

/// The modules of a capture, in the order of their metadata keys. Sizes and kinds are not checked here: a TPU capture
/// has `Hlo Proto` stats that are none.
///
/// Writers put the names of stats behind the modules: a file that is cut between them has none. Then every stat of bytes is
/// taken for a module; none but modules are known there.
#[must_use]
pub fn modules(index: &Index) -> Vec<ModuleRef> {
    let mut found = Vec::new();
    for plane in index.planes.iter().filter(|p| p.name == "/host:metadata") {
        let unnamed = plane.stat_names.is_empty();
        for (&key, stats) in &plane.event_stats {
            let is =
                |id: i64, name: &str| plane.stat_names.get(id).is_some_and(|n| n.eq_ignore_ascii_case(name));
            let hlo = stats.iter().find_map(|s| match &s.value {
                OwnedValue::Bytes(range)
                    if unnamed || is(s.metadata_id, "Hlo Proto") || is(s.metadata_id, "hlo_proto") =>
                {
                    Some(range.clone())
                }
                _ => None,
            });
            let Some(hlo) = hlo else { continue };
            let name = plane.event_names.get(key).unwrap_or("").to_owned();
            let (base, in_name) = split_name(&name);
            let stat = stats.iter().find(|s| is(s.metadata_id, "program_id")).and_then(|s| s.value.as_i64());
            found.push(ModuleRef {
                base_name: base.to_owned(),
                program_id: stat.or(in_name).unwrap_or(key),
                hlo,
                name,
            });
        }
    }
    found
}

/// `jit_step(17)` → (`jit_step`, 17); a name without a number in brackets at its end stays whole.
#[must_use]
pub fn split_name(name: &str) -> (&str, Option<i64>) {
    let Some((base, rest)) = name.strip_suffix(')').and_then(|n| n.rsplit_once('(')) else {
        return (name, None);
    };
    // Program ids are 64-bit hashes on some backends; written unsigned they can exceed i64.
    match rest.parse::<i64>().or_else(|_| rest.parse::<u64>().map(|v| v as i64)) {
        Ok(id) => (base, Some(id)),
        Err(_) => (name, None),
    }
}

/// The kind of device the capture is of, from its device planes; without one, from what the host's threads name; the host where
/// these name no device.
#[must_use]
pub fn backend(index: &Index) -> Option<Backend> {
    let has = |prefix: &str| index.planes.iter().any(|p| p.name.starts_with(prefix));
    if has("/device:GPU:") {
        return Some(Backend::Gpu);
    }
    if has("/device:TPU:") {
        return Some(Backend::Tpu);
    }
    let hosts = || index.planes.iter().filter(|p| p.name == "/host:CPU");
    hosts().next()?;
    // The device's tracer was off, or its plane was stripped: allocators and launches have names of their own.
    let stats = || hosts().flat_map(|p| p.stat_names.iter()).map(|(_, name)| name);
    let events = || hosts().flat_map(|p| p.event_names.iter()).map(|(_, name)| name);
    if stats().any(is_pool_of_gpu) || events().any(is_launch_on_gpu) {
        Some(Backend::Gpu)
    } else if stats().any(|name| name == "index_on_host") {
        Some(Backend::Tpu)
    } else {
        Some(Backend::Cpu)
    }
}

/// `GPU_0_bfc` (pjrt/gpu/gpu_helpers.cc).
fn is_pool_of_gpu(name: &str) -> bool {
    let number = name.strip_prefix("GPU_").and_then(|rest| rest.strip_suffix("_bfc"));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// `jit_step:XLA GPU module` (gpu_executable.cc).
fn is_launch_on_gpu(name: &str) -> bool {
    name.ends_with(":XLA GPU module") || name.contains("GpuExecutable::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_and_a_launch_tell_a_gpu() {
        for pool in ["GPU_0_bfc", "GPU_13_bfc"] {
            assert!(is_pool_of_gpu(pool), "{pool}");
        }
        for other in ["GPU__bfc", "bfc_cpu_allocator_for_gpu", "xla_gpu_host_bfc", "GPU_x_bfc"] {
            assert!(!is_pool_of_gpu(other), "{other}");
        }
        assert!(
            is_launch_on_gpu("jit_step:XLA GPU module") && is_launch_on_gpu("GpuExecutable::ExecuteThunks")
        );
        assert!(!is_launch_on_gpu("TfrtCpuExecutable::Execute"));
    }

    #[test]
    fn program_ids_are_taken_from_the_end_of_the_name() {
        assert_eq!(split_name("jit_step(17)"), ("jit_step", Some(17)));
        assert_eq!(split_name("jit_f(-3)"), ("jit_f", Some(-3)));
        assert_eq!(split_name("jit_f(18446744073709551615)"), ("jit_f", Some(-1)));
        assert_eq!(split_name("jit_f(x)(5)"), ("jit_f(x)", Some(5)));
        assert_eq!(split_name("module(3)::kernel"), ("module(3)::kernel", None));
        assert_eq!(split_name("plain"), ("plain", None));
    }
}
