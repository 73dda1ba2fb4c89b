//! Reads a capture as the driver does.

use oomscope::bytes::Source;
use oomscope::capture::{self, Checkpoint, Index, Stream};
use oomscope::facts;
use oomscope::hlo::Hlo;
use oomscope::join::{Joined, Module, join};
use oomscope::model::Platform;
use oomscope::plan::Summary;
use oomscope::run::{Recorder, Run};
use std::path::{Path, PathBuf};

/// The run of a capture with its plans.
pub(crate) struct Read {
    pub(crate) bytes: Vec<u8>,
    pub(crate) index: Index,
    pub(crate) platform: Platform,
    pub(crate) run: Run,
    pub(crate) joined: Joined,
    pub(crate) checkpoints: Vec<Checkpoint>,
}

pub(crate) fn shared() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared"))
}

pub(crate) fn read(path: &Path) -> Read {
    read_bytes(std::fs::read(path).unwrap())
}

pub(crate) fn read_bytes(bytes: Vec<u8>) -> Read {
    let index = Index::read(&bytes[..]).unwrap();
    let mut recorder = Recorder::new(&index);
    let mut stream = Stream::new(&index, Recorder::wants);
    stream.feed(&index, 0, &bytes, &mut recorder);
    stream.finish(&mut recorder);
    let checkpoints = stream.checkpoints().to_vec();
    let run = Run::build(recorder, &index, &&bytes[..]);
    let backend = capture::modules::backend(&index);
    let modules = capture::modules::modules(&index)
        .iter()
        .filter_map(|m| {
            let hlo = Hlo::parse((&bytes[..]).read_range(m.hlo.clone()).unwrap()).ok()?;
            Some(Module::new(m, &Summary::of(&hlo, backend)))
        })
        .collect();
    let joined = join(&run, modules);
    let platform = facts::platform(&index);
    Read { bytes, index, platform, run, joined, checkpoints }
}
