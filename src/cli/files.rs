//! Files of the disk as sources, and the captures in a folder.

use crate::bytes::{ReadError, Source};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A file read at offsets.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    len: u64,
}

impl FileSource {
    /// Opens a file.
    ///
    /// # Errors
    /// As the system says.
    pub fn open(path: &Path) -> std::io::Result<FileSource> {
        // Before it is opened: a pipe that nobody writes to would never open.
        let meta = std::fs::metadata(path)?;
        if meta.is_dir() {
            return Err(std::io::Error::other("this is a folder"));
        }
        if !meta.is_file() {
            return Err(std::io::Error::other(
                "this is a pipe or a device, and a file is read in several places: save it as a file first",
            ));
        }
        let file = File::open(path)?;
        Ok(FileSource { file, len: meta.len() })
    }
}

impl Source for FileSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        let mut done = 0;
        while done < buf.len() {
            let at = offset + done as u64;
            match read_some(&self.file, &mut buf[done..], at) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(ReadError { offset: at, message: e.to_string() }),
            }
        }
        Ok(done)
    }
}

#[cfg(unix)]
fn read_some(file: &File, buf: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buf, at)
}

#[cfg(windows)]
fn read_some(file: &File, buf: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buf, at)
}

#[cfg(not(any(unix, windows)))]
fn read_some(mut file: &File, buf: &mut [u8], at: u64) -> std::io::Result<usize> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(at))?;
    file.read(buf)
}

/// What lies in a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Captures, sorted by path.
    pub captures: Vec<PathBuf>,
    /// The other files, sorted by path.
    pub passed_over: Vec<PathBuf>,
}

/// Deepest folder looked into: a run folder lies four below its log directory.
const DEEPEST: usize = 16;

/// The captures below a folder, by their names: `*.xplane.pb`, also as `.gz`, and archives; where there are none, XLA's
/// dumps of plans and memory profiles. Links to folders are not followed. Sorted, so that the same folder gives the same
/// report.
///
/// # Errors
/// Where the folder itself cannot be listed; what cannot be listed below it is passed over.
pub fn captures_in(folder: &Path) -> std::io::Result<Found> {
    let mut found = Found::default();
    walk(folder, DEEPEST, &mut found)?;
    for is_it in [is_plan, is_plan_text, is_profile] {
        if found.captures.is_empty() {
            (found.captures, found.passed_over) =
                found.passed_over.into_iter().partition(|path| is_it(&name_of(path)));
        }
    }
    found.captures.sort();
    found.passed_over.sort();
    Ok(found)
}

fn walk(folder: &Path, deeper: usize, found: &mut Found) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let Ok(entry) = entry else { continue };
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() {
            if deeper == 0 || walk(&path, deeper - 1, found).is_err() {
                found.passed_over.push(path);
            }
        } else if is_capture(&name_of(&path)) && std::fs::metadata(&path).is_ok_and(|m| m.is_file()) {
            found.captures.push(path);
        } else {
            found.passed_over.push(path);
        }
    }
    Ok(())
}

/// A file's name in lower case, without `.gz`.
fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    name.strip_suffix(".gz").map(str::to_owned).unwrap_or(name)
}

fn is_capture(name: &str) -> bool {
    [".xplane.pb", ".zip", ".tar", ".tgz"].iter().any(|end| name.ends_with(end))
}

/// `module_0003.jit_step.gpu_after_optimizations.hlo.pb`; what XLA dumps before has no plan yet.
fn is_plan(name: &str) -> bool {
    (name.ends_with(".hlo.pb") || name.ends_with(".hlo_proto.pb")) && !name.contains("before_optimizations")
}

/// The same as text; the shorter forms beside it say less.
fn is_plan_text(name: &str) -> bool {
    name.ends_with("-buffer-assignment.txt")
}

fn is_profile(name: &str) -> bool {
    name.ends_with(".prof")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_found_in_any_folder_above_the_run() {
        let top = tempfile::tempdir().unwrap();
        let run = top.path().join("plugins/profile/2026_01_01_00_00_00");
        std::fs::create_dir_all(&run).unwrap();
        for name in ["b.xplane.pb", "a.xplane.pb.gz", "a.trace.json.gz", "a.memory_profile.json.gz"] {
            std::fs::write(run.join(name), b"x").unwrap();
        }
        let found = captures_in(top.path()).unwrap();
        assert_eq!(found.captures, [run.join("a.xplane.pb.gz"), run.join("b.xplane.pb")]);
        let names: Vec<_> =
            found.passed_over.iter().map(|p| p.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a.memory_profile.json.gz", "a.trace.json.gz"]);
    }

    #[test]
    fn a_folder_without_captures_gives_its_plans_else_their_texts_else_profiles() {
        let top = tempfile::tempdir().unwrap();
        let names = |found: &Found| -> Vec<String> {
            found.captures.iter().map(|p| p.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        let put = |name: &str| std::fs::write(top.path().join(name), b"x").unwrap();
        put("memory.prof");
        assert_eq!(names(&captures_in(top.path()).unwrap()), ["memory.prof"]);
        put("m.jit_f.gpu_after_optimizations-buffer-assignment.txt");
        let found = captures_in(top.path()).unwrap();
        assert_eq!(names(&found), ["m.jit_f.gpu_after_optimizations-buffer-assignment.txt"]);
        assert_eq!(found.passed_over, [top.path().join("memory.prof")]);
        put("m.jit_f.before_optimizations.hlo.pb");
        put("m.jit_f.gpu_after_optimizations.hlo.pb.gz");
        assert_eq!(names(&captures_in(top.path()).unwrap()), ["m.jit_f.gpu_after_optimizations.hlo.pb.gz"]);
        put("h.xplane.pb");
        let found = captures_in(top.path()).unwrap();
        assert_eq!(names(&found), ["h.xplane.pb"]);
        assert_eq!(found.passed_over.len(), 4);
    }

    #[test]
    fn a_file_reads_at_any_offset_and_short_at_its_end() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("f");
        std::fs::write(&path, b"0123456789").unwrap();
        let source = FileSource::open(&path).unwrap();
        let mut buf = [0; 4];
        assert_eq!(source.read_at(8, &mut buf).unwrap(), 2);
        assert_eq!(&buf[..2], b"89");
        assert_eq!(source.read_at(100, &mut buf).unwrap(), 0);
        assert_eq!(source.read_range(2..5).unwrap(), b"234");
        assert!(FileSource::open(top.path()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_refused_and_passed_over() {
        assert!(
            FileSource::open(Path::new("/dev/zero")).unwrap_err().to_string().contains("pipe or a device")
        );
        let top = tempfile::tempdir().unwrap();
        let pipe = top.path().join("host.xplane.pb");
        // Nobody writes to it: opening it would wait for ever.
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(FileSource::open(&pipe).is_err());
        let found = captures_in(top.path()).unwrap();
        assert_eq!((found.captures.len(), found.passed_over.len()), (0, 1));
    }
}
