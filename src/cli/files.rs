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
        let file = File::open(path)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(std::io::Error::other("this is a folder"));
        }
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
    /// How many other files there were.
    pub passed_over: usize,
}

/// Deepest folder looked into: a run folder lies four below its log directory.
const DEEPEST: usize = 16;

/// The captures below a folder, by their names: `*.xplane.pb`, also as `.gz`, and archives. Links to folders are not
/// followed. Sorted, so that the same folder gives the same report.
///
/// # Errors
/// Where the folder itself cannot be listed; what cannot be listed below it is passed over.
pub fn captures_in(folder: &Path) -> std::io::Result<Found> {
    let mut found = Found::default();
    walk(folder, DEEPEST, &mut found)?;
    found.captures.sort();
    Ok(found)
}

fn walk(folder: &Path, deeper: usize, found: &mut Found) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let Ok(entry) = entry else { continue };
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() {
            if deeper > 0 && walk(&path, deeper - 1, found).is_err() {
                found.passed_over += 1;
            }
        } else if is_capture(&path) {
            found.captures.push(path);
        } else {
            found.passed_over += 1;
        }
    }
    Ok(())
}

fn is_capture(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.ends_with(".xplane.pb") || name.ends_with(".zip") || name.ends_with(".tar") || name.ends_with(".tgz")
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
        assert_eq!(found.passed_over, 2);
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
}
