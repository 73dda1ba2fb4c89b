//! What the tests of several rooms need: the shared data, and modules from captures.

// Each test file is a program of its own and uses a part.
#![allow(dead_code)]
// A helper that can't go on fails its test.
#![allow(clippy::unwrap_used, clippy::panic)]

use oomscope::capture::Index;
use oomscope::capture::modules::{ModuleRef, modules};
use std::path::{Path, PathBuf};

/// The shared data; `None`, said aloud, where it is absent.
pub fn shared(what: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")).join(what);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is absent", path.display());
    None
}

/// The files of a shared folder whose names end so, in order.
pub fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let Some(folder) = shared(folder) else { return Vec::new() };
    let mut out: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    out.sort();
    out
}

/// The shared capture with a name, wherever it lies.
pub fn capture(name: &str) -> Option<PathBuf> {
    ["captures/public", "captures/made", "scenarios"]
        .iter()
        .filter_map(|folder| shared(&format!("{folder}/{name}.xplane.pb")))
        .next()
}

/// The modules of a capture with the bytes of their HloProtos.
pub fn hlo_protos(capture: &Path) -> Vec<(ModuleRef, Vec<u8>)> {
    let bytes = std::fs::read(capture).unwrap();
    let index = Index::read(bytes.as_slice()).unwrap();
    modules(&index)
        .into_iter()
        .map(|module| {
            let hlo = bytes.get(module.hlo.start as usize..module.hlo.end as usize).unwrap().to_vec();
            (module, hlo)
        })
        .collect()
}

/// A JSON file; the reference values have Python's NaN for "unknown".
pub fn json(path: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(&text.replace(" NaN", " null")).unwrap()
}
