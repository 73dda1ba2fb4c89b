//! What was read and where the program ran.

use super::Backend;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The program that made the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `oomscope`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The file read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceInfo {
    /// Its name, without folders.
    pub file: String,
    /// Its size (unpacked, where it came from an archive).
    pub size_bytes: Bytes,
    /// The host that made it, from `XSpace.hostnames`.
    pub host: Option<String>,
    /// What kind of file it is.
    pub kind: SourceKind,
}

/// The kinds of file that have a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A profiler capture.
    Xspace,
    /// A dump of one module and its buffer assignment, as a proto or as text: plan only.
    HloProto,
    /// The text of a failure.
    ErrorText,
    /// A device memory profile (`memory.prof`).
    MemoryProfile,
}

/// Where the program ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Platform {
    /// The kind of device.
    pub backend: Option<Backend>,
    /// `AMD`, `Nvidia`, `Google`, as the device plane says.
    pub vendor: Option<String>,
    /// The JAX version where the capture says one; a range such as `<= 0.6.1` where event names date it.
    pub jax_version: Option<String>,
    /// Every device plane.
    pub devices: Vec<Device>,
}

/// One device plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// The number in the plane's name.
    pub ordinal: u32,
    /// The plane's name, `/device:GPU:0`.
    pub plane: String,
    /// The device's name, where the plane has it.
    pub name: Option<String>,
    /// The card's memory (plane stat `memory_size`).
    pub memory_bytes: Option<Bytes>,
}
