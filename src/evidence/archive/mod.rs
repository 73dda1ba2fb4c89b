//! Files inside gzip, zip and tar, nested in any way, without unpacking more than a window at a time.
//!
//! [`walk`] hands every file inside to its caller as a [`Source`]: a stored file is a range of its archive, a small
//! packed one is unpacked to memory, a large packed one is inflated as it is read, from its beginning again when a
//! read goes far back. Reading a capture is two passes, so it costs two inflations and no memory that grows with it.
//! Whoever has a place to keep a capture unpacked, as a browser has, inflates it once by [`Gunzip`].

mod gunzip;
mod gzip;
mod inflate;
mod part;
mod tar;
mod zip;

use super::{HEAD_BYTES, Kind, sniff};
use crate::bytes::{ReadError, Source};
use crate::units::Bytes;
pub use gunzip::Gunzip;
use inflate::Inflate;
use part::Unpacked;
use std::ops::ControlFlow;

/// How far [`walk`] goes.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Packed files up to this length are unpacked to memory, one at a time; larger ones are inflated as they are read.
    pub memory: u64,
    /// How many containers may lie inside each other (`host.xplane.pb.gz` in `run.tar.gz` are three).
    pub depth: u32,
    /// Files of all archives together.
    pub files: u64,
    /// A file may unpack to this length, however small it is packed ...
    pub unpacked: u64,
    /// ... and beyond that to so many times its packed length. A capture packs 5 to 15 times, an archive made to fill
    /// a disk 1000 times.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: 32 << 20, depth: 5, files: 100_000, unpacked: 256 << 20, ratio: 300 }
    }
}

impl Limits {
    /// What `packed` bytes may unpack to.
    fn unpacked_of(&self, packed: u64) -> u64 {
        self.unpacked.saturating_add(packed.saturating_mul(self.ratio))
    }
}

/// A file that is no container, at any depth.
#[allow(missing_debug_implementations)]
pub struct File<'a> {
    /// Where it lies: the archive's name, then the path inside it, joined by `/`. A file that is in no archive has its
    /// own name; one that was gzipped alone has it without `.gz`.
    pub path: &'a str,
    /// What it is.
    pub kind: Kind,
    /// Its bytes, unpacked.
    pub source: &'a dyn Source,
}

/// Something to tell about a file of an archive: it was passed over, or is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The file, as in [`File::path`].
    pub path: String,
    /// What is so, in one sentence.
    pub sentence: String,
}

/// Calls `each` with every file in `source`, which is called `name`: with `source` itself where it is no container.
/// Returns what was passed over or is damaged. `each` ends the walk by breaking.
///
/// Resource forks and folder settings of macOS (`__MACOSX/`, `._*`, `.DS_Store`) are left out without a word.
///
/// # Errors
/// Where the medium of `source` fails.
pub fn walk(
    source: &dyn Source,
    name: &str,
    limits: &Limits,
    each: &mut dyn FnMut(File<'_>) -> ControlFlow<()>,
) -> Result<Vec<Note>, ReadError> {
    let budget = limits.unpacked_of(source.len());
    let mut walk = Walk { limits, each, notes: Vec::new(), files: 0, unpacked: 0, budget };
    // Whether the walk was broken off is the caller's own knowledge.
    let _ = walk.file(source, name, 0)?;
    Ok(walk.notes)
}

/// The most notes kept; an archive of strays has one for each.
const MOST_NOTES: usize = 1000;

struct Walk<'a> {
    limits: &'a Limits,
    each: &'a mut dyn FnMut(File<'_>) -> ControlFlow<()>,
    notes: Vec<Note>,
    files: u64,
    /// Declared lengths of packed files so far.
    unpacked: u64,
    /// The most they may have together: entries of a zip may overlap, so that few bytes make many large files.
    budget: u64,
}

type Walked = Result<ControlFlow<()>, ReadError>;

impl Walk<'_> {
    fn note(&mut self, path: &str, sentence: impl Into<String>) {
        match self.notes.len() {
            n if n < MOST_NOTES => self.notes.push(Note { path: path.to_owned(), sentence: sentence.into() }),
            MOST_NOTES => self.notes.push(Note {
                path: String::new(),
                sentence: "There is more to say of the files in this archive than is kept.".into(),
            }),
            _ => {}
        }
    }

    /// One file: looks inside where it is a container, hands it out where not.
    fn file(&mut self, source: &dyn Source, path: &str, depth: u32) -> Walked {
        let head = source.read_range(0..HEAD_BYTES as u64)?;
        let kind = sniff(&head, source.len(), path);
        if kind.is_archive() && depth >= self.limits.depth {
            self.note(path, format!("It lies in {depth} archives, one inside the other; unpack it first."));
            return Ok(ControlFlow::Continue(()));
        }
        match kind {
            Kind::Gzip => self.gzip(source, path, depth),
            Kind::Zip => zip::entries(self, source, path, depth),
            Kind::Tar => tar::entries(self, source, path, depth),
            _ => Ok((self.each)(File { path, kind, source })),
        }
    }

    /// Counts a file of an archive; false where there are too many, which is noted once.
    fn count(&mut self, archive: &str) -> bool {
        self.files += 1;
        if self.files == self.limits.files + 1 {
            self.note(
                archive,
                format!("It holds more than {} files; the rest was not read.", self.limits.files),
            );
        }
        self.files <= self.limits.files
    }

    fn gzip(&mut self, source: &dyn Source, path: &str, depth: u32) -> Walked {
        let inner = inside(path);
        let most = self.limits.unpacked_of(source.len());
        let declared = gzip::declared_length(source)?;
        self.packed(Inflate::gzip(source, declared, most), &inner, depth)
    }

    /// A packed file: unpacks it to memory where it is small, else hands it out as it is inflated.
    fn packed(&mut self, inflate: Inflate<'_>, path: &str, depth: u32) -> Walked {
        self.unpacked = self.unpacked.saturating_add(inflate.len());
        let refusal = if inflate.is_over() {
            too_large("It unpacks to", inflate.most())
        } else if inflate.len() > inflate.most() {
            too_large(&format!("It would unpack to {},", Bytes(inflate.len())), inflate.most())
        } else if self.unpacked > self.budget {
            let sum = Bytes(self.unpacked);
            too_large(&format!("With the files before it, it would unpack to {sum},"), self.budget)
        } else {
            String::new()
        };
        if !refusal.is_empty() {
            self.note(path, refusal);
            return Ok(ControlFlow::Continue(()));
        }
        if inflate.len() <= self.limits.memory {
            if let Some(bytes) = inflate.to_memory(self.limits.memory)? {
                let damage = inflate.damage();
                if let Some(damage) = &damage {
                    self.note(path, damage.as_str());
                }
                return self.file(&Unpacked { bytes, damage }, path, depth + 1);
            }
            // More than it declares.
            inflate.measure()?;
        }
        let flow = self.file(&inflate, path, depth + 1)?;
        if let Some(damage) = inflate.damage() {
            self.note(path, damage);
        }
        Ok(flow)
    }
}

/// The path of the file inside a gzip file.
fn inside(path: &str) -> String {
    let lower = path.to_ascii_lowercase();
    match () {
        () if lower.ends_with(".tgz") => format!("{}.tar", &path[..path.len() - 4]),
        () if lower.ends_with(".gz") => path[..path.len() - 3].to_owned(),
        () => path.to_owned(),
    }
}

fn too_large(what: &str, most: u64) -> String {
    let most = Bytes(most);
    format!("{what} more than the {most} that is taken from so few bytes; unpack it first if that is right.")
}

/// Whether a path is of macOS's own making.
fn is_litter(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    path.starts_with("__MACOSX/")
        || path.contains("/__MACOSX/")
        || name.starts_with("._")
        || name == ".DS_Store"
}
