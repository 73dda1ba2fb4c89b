//! JAX's device memory profile (`jax.profiler.save_device_memory_profile`): live arrays and loaded executables by the
//! Python stack that made them.

mod before;
mod change;
mod tree;

pub use before::{BeforeMatch, RestMatch, match_rest, match_sizes};
pub use change::{StackChange, changes};
pub use tree::{Tree, TreeNode};

use crate::arrange::Arrange;
use crate::plain::{LONGEST_NAME, cut, cut_path};
use crate::proto::pprof as proto;
use crate::terms::{SourceLine, Warning};
use crate::units::Bytes;
use prost::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use thiserror::Error;

/// A device memory profile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryProfile {
    /// Sums by device and kind, the most bytes first.
    pub totals: Vec<ProfileTotal>,
    /// Stacks of equal frames, device and kind, the most bytes first.
    pub stacks: Vec<ProfileStack>,
    /// The frames that the stacks name by index.
    pub frames: Vec<ProfileFrame>,
}

/// The sum of one device and kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileTotal {
    /// The device as the profile names it, `cuda:0`; null for executables, which have none.
    pub device: Option<String>,
    /// `buffer`, `executable`.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// Their bytes. Backends that do not tell the size of their executables have 0 for them.
    pub bytes: Bytes,
}

/// What one Python stack made on one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileStack {
    /// The device.
    pub device: Option<String>,
    /// `buffer`, `executable`.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// Their bytes together.
    pub bytes: Bytes,
    /// Indexes of frames, innermost first.
    pub frames: Vec<u32>,
    /// Which of `frames` is the innermost that is not inside JAX; null where all are.
    pub user_frame: Option<u32>,
    /// The arrays by size, largest first. JAX counts those of each size apart (`HeapProfileKey` of
    /// `jaxlib/py_client.cc`); where a tool has merged them since, their sizes are unknown and they are left out here.
    pub sizes: Vec<ArraysOfSize>,
}

/// Arrays of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArraysOfSize {
    /// The size of one.
    pub bytes: Bytes,
    /// How many.
    pub count: u64,
}

/// A Python frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ProfileFrame {
    /// Where.
    pub at: SourceLine,
    /// Whether the file is JAX's own.
    pub inside_jax: bool,
}

/// The bytes are no device memory profile.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotAProfile {
    /// They are no protobuf message of that kind.
    #[error("this is no pprof profile, or it is damaged: {0}")]
    Malformed(String),
    /// They are a pprof profile of something else.
    #[error(
        "this is a pprof profile of something else ({0}): a device memory profile counts `space/bytes`. \
         `jax.profiler.save_device_memory_profile(\"memory.prof\")` writes one"
    )]
    Other(String),
}

impl MemoryProfile {
    /// Reads a profile, unpacked. What is damaged inside (a frame that is missing) is a warning.
    ///
    /// # Errors
    /// Where the bytes are no profile of memory.
    pub fn read(bytes: &[u8]) -> Result<(MemoryProfile, Vec<Warning>), NotAProfile> {
        let profile = proto::Profile::decode(bytes).map_err(|e| NotAProfile::Malformed(e.to_string()))?;
        let text = |i: i64| {
            usize::try_from(i).ok().and_then(|i| profile.string_table.get(i)).map_or("", String::as_str)
        };
        let types: Vec<(&str, &str)> =
            profile.sample_type.iter().map(|t| (text(t.r#type), text(t.unit))).collect();
        let Some(bytes_at) = types.iter().position(|&(name, unit)| unit == "bytes" && name == "space") else {
            let names: Vec<String> =
                types.iter().take(4).map(|(name, unit)| format!("{name}/{unit}")).collect();
            return Err(NotAProfile::Other(names.join(", ")));
        };
        let count_at = types.iter().position(|&(_, unit)| unit == "count");

        // Sizes of stacks add up to less than the file where each frame stands in it, as in Python's; a location of many
        // frames that many samples share could make any number of them.
        let mut room = bytes.len();
        let mut stacks_cut = 0u64;
        let mut frames = Frames::new(&profile);
        let mut stacks: BTreeMap<StackKey<'_>, StackSum> = BTreeMap::new();
        for sample in &profile.sample {
            let value = |at: usize| sample.value.get(at).copied().unwrap_or(0);
            // Samples share their labels.
            let label =
                |key: &str| sample.label.iter().find(|l| text(l.key) == key).map(|l| beginning(text(l.str)));
            let mut indexes: Vec<u32> = Vec::new();
            for &id in &sample.location_id {
                if room == indexes.len() {
                    stacks_cut += 1;
                    break;
                }
                frames.of_location(id, &mut indexes, room);
            }
            room -= indexes.len();
            let sum =
                stacks.entry((label("device"), label("kind").unwrap_or("buffer"), indexes)).or_default();
            let count = count_at.map_or(0, |at| u64::try_from(value(at)).unwrap_or(0));
            let bytes = Bytes::from_i64(value(bytes_at));
            sum.0 = sum.0.saturating_add(count);
            sum.1 += bytes;
            if count > 0 && bytes.0.is_multiple_of(count) {
                let of_size = sum.2.entry(bytes.0 / count).or_default();
                *of_size = of_size.saturating_add(count);
            }
        }
        let mut warnings = Vec::new();
        if frames.missing > 0 {
            let message = format!("{} frames of the profile's stacks are missing from it.", frames.missing);
            warnings.push(Warning::new("profile-frames-missing", message));
        }
        if stacks_cut > 0 {
            let message = format!(
                "{stacks_cut} of the profile's stacks are cut: together they have more frames than it has bytes."
            );
            warnings.push(Warning::new("profile-stacks-cut", message));
        }
        let made = frames.made;
        let mut stacks: Vec<ProfileStack> = stacks
            .into_iter()
            .map(|((device, kind, frames), (count, bytes, sizes))| ProfileStack {
                device: device.map(cut),
                kind: cut(kind),
                count,
                bytes,
                user_frame: frames
                    .iter()
                    .position(|&f| made.get(f as usize).is_some_and(|f| !f.inside_jax))
                    .and_then(|i| u32::try_from(i).ok()),
                frames,
                sizes: sizes
                    .into_iter()
                    .rev()
                    .map(|(bytes, count)| ArraysOfSize { bytes: Bytes(bytes), count })
                    .collect(),
            })
            .collect();
        stacks.arrange_by_key(|s| std::cmp::Reverse((s.bytes, s.count)));
        let totals = totals(&stacks);
        Ok((MemoryProfile { totals, stacks, frames: made }, warnings))
    }

    /// The innermost frame of a stack that is not inside JAX, else the innermost.
    #[must_use]
    pub fn place(&self, stack: &ProfileStack) -> Option<&SourceLine> {
        let at = stack.user_frame.unwrap_or(0) as usize;
        let frame = *stack.frames.get(at)?;
        self.frames.get(frame as usize).map(|f| &f.at)
    }

    /// Live arrays of one device, or of all, in bytes.
    #[must_use]
    pub fn array_bytes(&self, device: Option<&str>) -> Bytes {
        let of =
            |t: &&ProfileTotal| t.kind == "buffer" && (device.is_none() || t.device.as_deref() == device);
        self.totals.iter().filter(of).map(|t| t.bytes).sum()
    }
}

fn totals(stacks: &[ProfileStack]) -> Vec<ProfileTotal> {
    let mut sums: BTreeMap<(&Option<String>, &str), (u64, Bytes)> = BTreeMap::new();
    for stack in stacks {
        let sum = sums.entry((&stack.device, &stack.kind)).or_default();
        sum.0 = sum.0.saturating_add(stack.count);
        sum.1 += stack.bytes;
    }
    let mut totals: Vec<ProfileTotal> = sums
        .into_iter()
        .map(|((device, kind), (count, bytes))| ProfileTotal {
            device: device.clone(),
            kind: kind.to_owned(),
            count,
            bytes,
        })
        .collect();
    totals.arrange_by_key(|t| std::cmp::Reverse((t.bytes, t.count)));
    totals
}

/// As much of a label as is kept of it, and one character more where there is more.
fn beginning(label: &str) -> &str {
    let mut end = label.len().min(LONGEST_NAME + 1);
    while !label.is_char_boundary(end) {
        end += 1;
    }
    &label[..end]
}

/// Device, kind, frames.
type StackKey<'a> = (Option<&'a str>, &'a str, Vec<u32>);
/// Count, bytes, and the count of each size.
type StackSum = (u64, Bytes, BTreeMap<u64, u64>);

/// Frames by location, each made once.
struct Frames<'a> {
    locations: HashMap<u64, &'a proto::Location>,
    functions: HashMap<u64, &'a proto::Function>,
    strings: &'a [String],
    indexes: HashMap<(u64, i64), u32>,
    made: Vec<ProfileFrame>,
    missing: u64,
}

impl<'a> Frames<'a> {
    fn new(profile: &'a proto::Profile) -> Frames<'a> {
        Frames {
            locations: profile.location.iter().map(|l| (l.id, l)).collect(),
            functions: profile.function.iter().map(|f| (f.id, f)).collect(),
            strings: &profile.string_table,
            indexes: HashMap::new(),
            made: Vec::new(),
            missing: 0,
        }
    }

    /// Adds the frames of a location, as long as there are fewer than `most`.
    fn of_location(&mut self, id: u64, into: &mut Vec<u32>, most: usize) {
        let Some(location) = self.locations.get(&id).copied() else {
            self.missing += 1;
            return;
        };
        let room = most.saturating_sub(into.len());
        into.extend(location.line.iter().take(room).map(|line| self.of_line(line)));
    }

    fn of_line(&mut self, line: &proto::Line) -> u32 {
        if let Some(&index) = self.indexes.get(&(line.function_id, line.line)) {
            return index;
        }
        let text =
            |i: i64| usize::try_from(i).ok().and_then(|i| self.strings.get(i)).filter(|s| !s.is_empty());
        let (file, function) = match self.functions.get(&line.function_id) {
            // Many frames share one name.
            Some(function) => {
                (text(function.filename).map(|s| cut_path(s)), text(function.name).map(|s| cut(s)))
            }
            None => {
                self.missing += 1;
                (None, None)
            }
        };
        let file = file.unwrap_or_else(|| "<unknown>".to_owned());
        let inside_jax = is_inside_jax(&file);
        let line_number = u64::try_from(line.line).ok().filter(|&n| n > 0);
        let index = u32::try_from(self.made.len()).unwrap_or(u32::MAX);
        self.made.push(ProfileFrame { at: SourceLine { file, line: line_number, function }, inside_jax });
        self.indexes.insert((line.function_id, line.line), index);
        index
    }
}

/// Whether a file is one of JAX's own.
fn is_inside_jax(file: &str) -> bool {
    let file = file.replace('\\', "/");
    [
        "/site-packages/jax/",
        "/dist-packages/jax/",
        "/site-packages/jaxlib/",
        "/dist-packages/jaxlib/",
        "/jax/_src/",
    ]
    .iter()
    .any(|part| file.contains(part))
}
