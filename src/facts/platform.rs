//! Where the program ran: devices from their planes, the jaxlib version from event names.

use crate::arrange::Arrange;
use crate::capture::{Index, modules};
use crate::model::{Backend, Device, Platform};
use crate::units::Bytes;

/// (major, minor, patch) of jaxlib.
type Version = (u16, u16, u16);

/// Names that events had from one version of jaxlib to another: a capture does not say its version, so its event names
/// have to. A bound is the first or last version in which the name was found in the sources; `None` is open.
const DATED: [(&str, Option<Version>, Option<Version>); 14] = [
    ("PjRtStreamExecutorLoadedExecutable::", None, Some((0, 9, 0))),
    ("PjRtStreamExecutorClient::BufferFromHostBuffer", None, Some((0, 7, 2))),
    ("PjRtStreamExecutorClient::LinearizeHostBufferInto", Some((0, 7, 2)), Some((0, 10, 2))),
    ("GpuExecutable::ExecuteThunks", Some((0, 6, 2)), Some((0, 9, 0))),
    ("[0] GpuExecutable::ExecuteThunks", Some((0, 9, 2)), None),
    ("CommonPjRtLoadedExecutable::", Some((0, 8, 2)), None),
    ("ComputeSemaphoreAcquire [", Some((0, 9, 2)), None),
    ("TfrtGpuExecutable::", Some((0, 5, 3)), Some((0, 10, 0))),
    ("AllocatorRetry::AllocateRaw", Some((0, 11, 0)), None),
    ("Arena Allocation", Some((0, 11, 0)), None),
    ("RendezvousAfterExecution", Some((0, 9, 2)), Some((0, 11, 0))),
    ("TfrtCpuExecutable::", None, Some((0, 6, 0))),
    ("PjRtCpuExecutable::", Some((0, 6, 2)), Some((0, 9, 0))),
    ("WARNING: CommandBuffer disabled when profiling", Some((0, 8, 2)), None),
];

/// The platform of a capture.
#[must_use]
pub fn platform(index: &Index) -> Platform {
    let backend = modules::backend(index);
    let prefix = match backend {
        Some(Backend::Gpu) => "/device:GPU:",
        Some(Backend::Tpu) => "/device:TPU:",
        _ => "\0",
    };
    let mut devices: Vec<Device> = Vec::new();
    let mut vendor = None;
    for plane in &index.planes {
        let Some(ordinal) = plane.ordinal(prefix) else { continue };
        let text = |name| plane.stat_text(name).map(str::to_owned);
        vendor = vendor.or_else(|| text("device_vendor"));
        let device = Device {
            ordinal,
            plane: plane.name.clone(),
            name: text("gpu_device_name").or_else(|| text("device_type_string")),
            memory_bytes: plane.stat("memory_size").and_then(|v| v.as_u64()).filter(|b| *b > 0).map(Bytes),
        };
        // Some captures have several planes for one device (streams apart): the one that knows most stays.
        match devices.iter_mut().find(|d| d.ordinal == ordinal) {
            None => devices.push(device),
            Some(old) => {
                old.name = old.name.take().or(device.name);
                old.memory_bytes = old.memory_bytes.or(device.memory_bytes);
            }
        }
    }
    devices.arrange_by_key(|d| d.ordinal);
    if backend == Some(Backend::Tpu) {
        vendor = vendor.or_else(|| Some("Google".into()));
    }
    Platform { backend, vendor, jax_version: version(index), devices }
}

/// What an allocator's events had for an operation that nobody named, up to this version; later ones leave the stat out.
const UNNAMED: (&str, Version) = ("(null)", (0, 6, 0));

/// The range of jaxlib versions in which all the event names of the capture existed.
fn version(index: &Index) -> Option<String> {
    let mut from: Option<Version> = None;
    let mut to: Option<Version> = None;
    let earliest = |a: Option<Version>, b: Version| Some(a.map_or(b, |a| a.min(b)));
    for plane in index.planes.iter().filter(|p| p.name == "/host:CPU") {
        let allocates = plane.event_names.iter().any(|(_, name)| name == "MemoryAllocation");
        if allocates && plane.stat_names.iter().any(|(_, name)| name == UNNAMED.0) {
            to = earliest(to, UNNAMED.1);
        }
        for (_, name) in plane.event_names.iter() {
            for (dated, first, last) in DATED {
                if name.starts_with(dated) {
                    from = from.max(first);
                    to = last.map_or(to, |last| earliest(to, last));
                }
            }
        }
    }
    let print = |(a, b, c): Version| format!("{a}.{b}.{c}");
    match (from, to) {
        // Names that never stood together: made by hand, or by a version that is not known here.
        (Some(a), Some(b)) if a > b => None,
        (Some(a), Some(b)) if a == b => Some(print(a)),
        (Some(a), Some(b)) => Some(format!("{} to {}", print(a), print(b))),
        (Some(a), None) => Some(format!(">= {}", print(a))),
        (None, Some(b)) => Some(format!("<= {}", print(b))),
        (None, None) => None,
    }
}
