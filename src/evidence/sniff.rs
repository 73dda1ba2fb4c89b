//! What a file is, from its first bytes, its length and its name.
//!
//! The bytes decide; the name only where they leave a choice. Names alone mislead: browsers and chats rename files.

use super::Foreign;
use super::error_text::{is_json_log, is_utf16};
use crate::bytes::wire::{Cursor, Kind as Wire};

/// How many first bytes [`sniff`] wants; more do no harm, fewer make it less sure.
pub const HEAD_BYTES: usize = 1024;

/// The name that the page gives to text that was pasted.
const PASTED: &str = "pasted text";

/// The kinds of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A profiler capture (`XSpace`).
    Xspace,
    /// A module with its plan (`HloProto`).
    HloProto,
    /// A device memory profile: a bare pprof `Profile`. `memory.prof` is one inside gzip.
    MemoryProfile,
    /// XLA's `*-buffer-assignment.txt`.
    BufferAssignmentText,
    /// XLA's `*-memory-usage-report.txt`.
    MemoryUsageText,
    /// Other text: the text of a failure, if it has one.
    Text,
    /// gzip: look inside.
    Gzip,
    /// A zip archive: look inside.
    Zip,
    /// A tar archive: look inside.
    Tar,
    /// Nothing to analyse.
    Foreign(Foreign),
}

impl Kind {
    /// Whether what counts is inside.
    #[must_use]
    pub fn is_archive(self) -> bool {
        matches!(self, Kind::Gzip | Kind::Zip | Kind::Tar)
    }
}

/// What a file is. `head` are its first bytes ([`HEAD_BYTES`] of them where it has so many), `len` its length, `name`
/// its name with or without folders (may be empty).
#[must_use]
pub fn sniff(head: &[u8], len: u64, name: &str) -> Kind {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    if len == 0 || head.is_empty() {
        return Kind::Foreign(Foreign::Empty);
    }
    if let Some(kind) = by_magic(head, &name) {
        return kind;
    }
    if is_mangled(head) {
        return Kind::Foreign(Foreign::Mangled);
    }
    let whole = head.len() as u64 >= len;
    let proto = by_protobuf(head, whole);
    // A name that says capture settles the rare tiny message that reads as text too.
    if let Some(kind @ (Kind::Xspace | Kind::HloProto)) = proto
        && name.ends_with(".pb")
        && !is_derived(&name)
    {
        return kind;
    }
    if is_text(head, whole) {
        return match by_text(head, &name) {
            // Who pastes a page or JSON pastes the error in it.
            Kind::Foreign(Foreign::Json | Foreign::Notebook | Foreign::Html | Foreign::Xml)
                if name == PASTED =>
            {
                Kind::Text
            }
            kind => kind,
        };
    }
    if is_derived(&name) {
        return Kind::Foreign(Foreign::Derived);
    }
    if name.ends_with("memory-usage-report.pb") {
        return Kind::Foreign(Foreign::PlanPart);
    }
    if head.windows(12).any(|w| w == b"brain.Event:") {
        return Kind::Foreign(Foreign::TensorBoardEvents);
    }
    if [".perfetto-trace", ".pftrace", ".perfetto"].iter().any(|end| name.ends_with(end)) {
        return Kind::Foreign(Foreign::Timeline);
    }
    if let Some(kind) = proto {
        return kind;
    }
    if head.iter().all(|&b| b == 0) {
        return Kind::Foreign(Foreign::Zeros);
    }
    Kind::Foreign(Foreign::Unknown)
}

/// Files with a signature.
fn by_magic(head: &[u8], name: &str) -> Option<Kind> {
    let foreign = |f| Some(Kind::Foreign(f));
    // The length of a safetensors header is followed by that header, which is JSON.
    if head.len() > 9 && head[8..].starts_with(b"{\"") && head[4..8] == [0; 4] {
        return foreign(Foreign::Arrays);
    }
    // Pickle protocols 2 to 5 begin with their number; protocol 4 on adds a frame.
    if head.len() > 2 && head[0] == 0x80 && (2..=5).contains(&head[1]) {
        return foreign(Foreign::Pickle);
    }
    if head.get(257..262) == Some(b"ustar") {
        return Some(Kind::Tar);
    }
    const MAGIC: [(&[u8], Kind); 29] = [
        (b"\x1f\x8b", Kind::Gzip),
        (b"PK\x03\x04", Kind::Zip),
        (b"PK\x05\x06", Kind::Zip),
        (b"PK\x07\x08", Kind::Zip),
        (b"%PDF", Kind::Foreign(Foreign::Pdf)),
        (b"\x89PNG", Kind::Foreign(Foreign::Image)),
        (b"\xff\xd8\xff", Kind::Foreign(Foreign::Image)),
        (b"GIF8", Kind::Foreign(Foreign::Image)),
        (b"RIFF", Kind::Foreign(Foreign::Image)),
        (b"\x7fELF", Kind::Foreign(Foreign::Executable)),
        (b"MZ\x90", Kind::Foreign(Foreign::Executable)),
        (b"\xcf\xfa\xed\xfe", Kind::Foreign(Foreign::Executable)),
        (b"\xca\xfe\xba\xbe", Kind::Foreign(Foreign::Executable)),
        (b"\0asm", Kind::Foreign(Foreign::Executable)),
        (b"SQLite format 3", Kind::Foreign(Foreign::Nsight)),
        (b"NVIDIA Tegra Profiler Report", Kind::Foreign(Foreign::Nsight)),
        (b"\x89HDF", Kind::Foreign(Foreign::Arrays)),
        (b"\x93NUMPY", Kind::Foreign(Foreign::Arrays)),
        (b"\x28\xb5\x2f\xfd", Kind::Foreign(Foreign::Compressed)),
        (b"\xfd7zXZ\0", Kind::Foreign(Foreign::Compressed)),
        (b"BZh", Kind::Foreign(Foreign::Compressed)),
        (b"7z\xbc\xaf\x27\x1c", Kind::Foreign(Foreign::Compressed)),
        (b"Rar!", Kind::Foreign(Foreign::Compressed)),
        (b"\x04\x22\x4d\x18", Kind::Foreign(Foreign::Compressed)),
        (b"version https://git-lfs", Kind::Foreign(Foreign::Pointer)),
        (b"/annex/objects/", Kind::Foreign(Foreign::Pointer)),
        (b"../.git/annex/objects/", Kind::Foreign(Foreign::Pointer)),
        (b".git/annex/objects/", Kind::Foreign(Foreign::Pointer)),
        // Bytecode of MLIR: the program alone.
        (b"ML\xefR", Kind::Foreign(Foreign::ProgramText)),
    ];
    if name.ends_with(".nsys-rep") || name.ends_with(".qdrep") {
        return foreign(Foreign::Nsight);
    }
    MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|&(_, kind)| kind)
}

/// Names of what XProf writes beside a capture.
fn is_derived(name: &str) -> bool {
    let stem = name.strip_suffix(".gz").unwrap_or(name);
    [
        "op_stats",
        "kernel_stats",
        "overview_page",
        "tf_stats",
        "input_pipeline",
        "dcn_collective_stats",
        "smart_suggestion",
    ]
    .iter()
    .any(|part| stem.contains(part))
        || stem == "cache_version.txt"
        || (stem.ends_with(".json") && (stem.contains("memory_profile") || stem.contains("memory_viewer")))
}

/// Whether `head` is a binary file of which a text conversion replaced every byte above 0x7f.
fn is_mangled(head: &[u8]) -> bool {
    let replaced = head.windows(3).filter(|w| *w == b"\xef\xbf\xbd").count();
    replaced >= 2 && utf8_prefix(head).is_some() && head.iter().any(|&b| is_control(b))
}

/// The bytes as UTF-8, a character that is cut at the end left out; `None` where they are none.
fn utf8_prefix(bytes: &[u8]) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        // `error_len` is None where the end cuts a character, which is fine if it is the end of the head alone.
        Err(e) if e.error_len().is_none() => std::str::from_utf8(&bytes[..e.valid_up_to()]).ok(),
        Err(_) => None,
    }
}

/// Control characters that text does not have. Logs have colours (ESC), titles of terminals (BEL ends them), form feeds
/// and backspaces.
fn is_control(b: u8) -> bool {
    b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b | 0x07 | 0x08)
}

fn is_text(head: &[u8], whole: bool) -> bool {
    // As the redirection of PowerShell writes logs.
    if is_utf16(head) {
        return true;
    }
    let text = if whole { std::str::from_utf8(head).ok() } else { utf8_prefix(head) };
    match text {
        Some(text) => !text.bytes().any(is_control),
        // Logs in an 8-bit encoding: no control characters, and mostly ASCII.
        None => {
            !head.iter().any(|&b| is_control(b))
                && head.iter().filter(|b| b.is_ascii()).count() * 10 > head.len() * 9
        }
    }
}

/// What kind of text it is.
fn by_text(head: &[u8], name: &str) -> Kind {
    let text = String::from_utf8_lossy(head);
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let foreign = Kind::Foreign;
    let lower: String = start.chars().take(64).collect::<String>().to_ascii_lowercase();
    if start.starts_with("BufferAssignment:") {
        return Kind::BufferAssignmentText;
    }
    if start.starts_with("HloLiveRange (")
        || start.starts_with("buffer_id,buffer_name,offset,size,")
        || (start.starts_with("Total bytes used:") && start.contains("Used values:"))
    {
        return foreign(Foreign::PlanPart);
    }
    if start.starts_with("Memory Space: ") && start.contains("Total bytes:") {
        return Kind::MemoryUsageText;
    }
    if start.starts_with("Total bytes used:")
        || (name.contains("memory-usage-report") && start.contains("cumulative_size"))
    {
        return Kind::MemoryUsageText;
    }
    if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        return foreign(Foreign::Html);
    }
    if lower.starts_with("<?xml") || lower.starts_with("<error>") {
        return foreign(Foreign::Xml);
    }
    if lower.starts_with("<svg") {
        return foreign(Foreign::Image);
    }
    if lower.starts_with("hlomodule ") || lower.starts_with("module @") || lower.starts_with("#loc") {
        return foreign(Foreign::ProgramText);
    }
    if start.starts_with('{') || start.starts_with("[{") || start.starts_with("[\n") {
        return foreign(
            if start.contains("traceEvents")
                || start.contains("displayTimeUnit")
                || name.contains("trace.json")
            {
                Foreign::Timeline
            } else if is_derived(name) {
                Foreign::Derived
            } else if name.ends_with(".ipynb")
                || start.contains("\"nbformat\"")
                || start.contains("\"cell_type\"")
            {
                Foreign::Notebook
            } else if is_json_log(start) {
                return Kind::Text;
            } else {
                Foreign::Json
            },
        );
    }
    if is_derived(name) {
        return foreign(Foreign::Derived);
    }
    Kind::Text
}

/// Which of the protobuf messages it is, by the numbers and wire types of its first fields.
///
/// All begin with field 1 of length-delimited type. In it an `XPlane` has its id (1) as a varint and its name (2) as
/// bytes, an `HloModuleProto` its name (1) and entry computation (2) as bytes, a pprof `ValueType` two varints.
fn by_protobuf(head: &[u8], whole: bool) -> Option<Kind> {
    let mut cursor = Cursor::new(head);
    let mut plausible = false;
    let mut first = true;
    loop {
        let field = match cursor.head() {
            Ok(Some(field)) => field,
            // A whole file that ends on a field's end is a message; one field at least has been seen.
            Ok(None) => break,
            Err(_) => return (!whole && plausible).then_some(Kind::Foreign(Foreign::Protobuf)),
        };
        let body = match field.kind {
            Wire::Bytes => {
                let Ok(len) = cursor.varint() else { return None };
                // A field may be longer than the head, or than the file, where that is cut.
                let rest = cursor.rest();
                let have = usize::try_from(len).map_or(rest.len(), |len| len.min(rest.len()));
                let Ok(body) = cursor.chunk(have as u64) else { return None };
                Some((body, have as u64 == len))
            }
            Wire::Varint => cursor.varint().ok().map(|_| (&[][..], true)),
            Wire::Fixed64 => cursor.chunk(8).ok().map(|_| (&[][..], true)),
            Wire::Fixed32 => cursor.chunk(4).ok().map(|_| (&[][..], true)),
        };
        let (body, complete) = body?;
        match (field.number, field.kind) {
            (1, Wire::Bytes) => match by_first_field(body) {
                Inner::XPlane => return Some(Kind::Xspace),
                Inner::Module => return Some(Kind::HloProto),
                Inner::ValueType => return Some(Kind::MemoryProfile),
                // The name of a module, when the module itself is the file.
                Inner::Name if first => return by_module_alone(cursor.rest()),
                Inner::Name | Inner::None => return None,
                Inner::Empty => {}
            },
            // Errors, warnings and host names of a capture without planes.
            (2..=4, Wire::Bytes) if std::str::from_utf8(body).is_ok_and(|s| !s.bytes().any(is_control)) => {}
            // The buffer assignment of an HloProto whose module is empty.
            (3, Wire::Bytes) => return Some(Kind::HloProto),
            _ => return plausible.then_some(Kind::Foreign(Foreign::Protobuf)),
        }
        plausible = true;
        first = false;
        if !complete {
            break;
        }
    }
    (plausible && whole).then_some(Kind::Xspace)
}

/// What the first length-delimited field of a message is.
enum Inner {
    XPlane,
    Module,
    ValueType,
    Name,
    Empty,
    None,
}

fn by_first_field(body: &[u8]) -> Inner {
    if body.is_empty() {
        return Inner::Empty;
    }
    let mut cursor = Cursor::new(body);
    let Ok(Some(head)) = cursor.head() else { return Inner::None };
    match (head.number, head.kind) {
        (1, Wire::Varint) => {
            if cursor.varint().is_err() {
                return Inner::None;
            }
            match cursor.head() {
                // Nothing follows the two, which tells it from other messages of numbers.
                Ok(Some(next)) if next.number == 2 && next.kind == Wire::Varint => {
                    let ends = cursor.varint().is_ok() && matches!(cursor.head(), Ok(None));
                    if ends { Inner::ValueType } else { Inner::None }
                }
                Ok(Some(next)) if (2..=6).contains(&next.number) && next.kind == Wire::Bytes => Inner::XPlane,
                Ok(None) => Inner::XPlane,
                _ => Inner::None,
            }
        }
        // An id of 0 is not written: the plane begins with its name, or with a line.
        (2..=6, Wire::Bytes) => Inner::XPlane,
        (1, Wire::Bytes) => {
            let name = cursor.varint().ok().and_then(|len| cursor.chunk(len).ok());
            match name {
                Some(name) if std::str::from_utf8(name).is_ok_and(|s| !s.bytes().any(is_control)) => {
                    Inner::Module
                }
                _ => Inner::None,
            }
        }
        _ if std::str::from_utf8(body).is_ok_and(|s| !s.bytes().any(is_control)) => Inner::Name,
        _ => Inner::None,
    }
}

/// `rest` follows a name. An `HloModuleProto` goes on with the name of its entry computation (2) and computations (3).
fn by_module_alone(rest: &[u8]) -> Option<Kind> {
    let mut cursor = Cursor::new(rest);
    let head = cursor.head().ok().flatten()?;
    (head.number == 2 && head.kind == Wire::Bytes).then_some(Kind::Foreign(Foreign::ModuleAlone))
}
