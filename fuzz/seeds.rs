//! Writes what the fuzzers start from: made captures and their modules, and the fixtures.

use oomscope::proto::xspace::{XSpace, x_stat::Value};
use oomscope::synth::scenarios::scenarios;
use prost::Message;
use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let write = |target: &str, name: &str, bytes: &[u8]| {
        fs::create_dir_all(corpus.join(target))?;
        fs::write(corpus.join(target).join(name), bytes)
    };
    for s in scenarios() {
        // Small seeds make fast fuzzers.
        if s.bytes.len() > 90_000 {
            continue;
        }
        for target in ["wire", "xspace", "run", "pipeline"] {
            write(target, s.name, &s.bytes)?;
        }
        let Ok(space) = XSpace::decode(&*s.bytes) else { continue };
        let stats = space.planes.iter().flat_map(|p| p.event_metadata.values()).flat_map(|m| &m.stats);
        for (n, stat) in stats.enumerate() {
            if let Some(Value::BytesValue(plan)) = &stat.value {
                write("plan", &format!("{}-{n}", s.name), plan)?;
                write("wire", &format!("{}-{n}", s.name), plan)?;
            }
        }
    }
    const TEXTS: [&str; 4] = [
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3661631960 bytes.",
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3.41GiB with \
         allocator GPU_0_bfc on device 0. [executable_name='jit_step'] [tf-allocator-allocation-error='']",
        "BufferAssignment OOM Debugging.\nBufferAssignment stats:\n             parameter allocation:    1.86GiB\n\
         preallocated temp allocation:    3.41GiB\n                 total allocation:    5.27GiB\nPeak buffers:\n\
         \tBuffer 1:\n\t\tSize: 256.00MiB\n\t\tXLA Label: fusion\n\t\tShape: f32[8,8,1024,1024]\n",
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 5.05GiB (rounded to 5423155712)requested by op",
    ];
    for (n, text) in TEXTS.iter().enumerate() {
        write("error_text", &format!("text-{n}"), text.as_bytes())?;
    }
    // The files of the tests, sorted by their names.
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut folders = vec![fixtures];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let target = match &name {
                n if n.ends_with(".prof") => "memory_profile",
                n if n.ends_with(".zip") || n.ends_with(".gz") || n.ends_with(".tar") => "archive",
                n if n.ends_with(".txt") => "error_text",
                n if n.ends_with(".hlo.pb") || n.ends_with(".hlo_proto.pb") => "plan",
                n if n.ends_with(".xplane.pb") => "pipeline",
                _ => continue,
            };
            let bytes = fs::read(&path)?;
            if bytes.len() < 500_000 {
                write(target, &name, &bytes)?;
            }
        }
    }
    Ok(())
}
