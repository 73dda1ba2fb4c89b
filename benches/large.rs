//! Large captures, natively: the time of the whole analysis beside the floor of adding up the file's bytes and beside
//! a decode of the whole schema, and the memory of each.
//!
//! ```text
//! cargo bench --bench large                      # 50, 193 and 806 MB, a large module, many small captures
//! cargo bench --bench large -- 3GB               # another size; files are kept in target/bench
//! cargo bench --bench large -- big.xplane.pb     # a file of your own
//! cargo bench --bench large -- --json benches/results/native.json
//! ```
//! `ours` is one thread; `cores` the command line's way, all of them. Every run is a process of its own, runs of different kinds take turns, and medians are printed. Where Python has
//! `xprof`, its two memory tools run on the same file, once.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use oomscope::analysis::{Options, read};
use oomscope::cli::files::FileSource;
use oomscope::cli::threads;
use oomscope::synth::large::{Large, module};
use prost::Message;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Runs of each kind.
const RUNS: usize = 5;

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [flag, kind, file] = args.as_slice()
        && flag == "--child"
    {
        return child(kind, Path::new(file));
    }
    let json =
        args.iter().position(|a| a == "--json").map(|at| args.drain(at..at + 2).nth(1).expect("a file"));
    println!(
        "{:<24} {:>9} {:>9} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "file", "floor ms", "ours ms", "ratio", "cores ms", "prost ms", "ours MiB", "per file", "prost MiB"
    );
    let mut results = Vec::new();
    if args.is_empty() {
        for size in ["50MB", "193MB", "806MB"] {
            results.push(compare(&capture(size)));
        }
        results.push(compare(&large_module()));
        results.push(many_small());
    }
    for arg in &args {
        results.push(compare(&if Path::new(arg).exists() { PathBuf::from(arg) } else { capture(arg) }));
    }
    println!("{}", machine());
    if let Some(path) = json {
        let all = json!({ "machine": machine(), "results": results });
        std::fs::create_dir_all(Path::new(&path).parent().expect("a folder"))
            .expect("a folder for the results");
        std::fs::write(path, serde_json::to_string_pretty(&all).expect("JSON") + "\n")
            .expect("room on the disk");
    }
}

/// The processor, its cores and the system, where it says so.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{model}, {cores} cores, {}", std::env::consts::OS)
}

/// Where made files are kept.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench");
    std::fs::create_dir_all(&folder).expect("a folder for the captures");
    folder
}

fn capture(size: &str) -> PathBuf {
    let path = folder().join(format!("{size}.xplane.pb"));
    if !path.exists() {
        let (number, unit) = size.split_at(size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len()));
        let factor = match unit {
            "GB" => 1_000_000_000,
            "MB" => 1_000_000,
            _ => panic!("{size} is neither a file nor a size such as 193MB"),
        };
        write(&path, number.parse::<u64>().expect("a number") * factor, 1);
    }
    path
}

fn write(path: &Path, bytes: u64, seed: u64) {
    // Under another name until it is whole.
    let part = path.with_extension("part");
    let mut file = BufWriter::new(File::create(&part).expect("a file"));
    Large::of_size(bytes, seed).write(&mut |bytes| file.write_all(bytes).expect("room on the disk"));
    file.flush().expect("room on the disk");
    std::fs::rename(part, path).expect("the same folder");
}

fn large_module() -> PathBuf {
    let path = folder().join("200k-instructions.hlo_proto.pb");
    if !path.exists() {
        std::fs::write(&path, module(200_000, 1).encode_to_vec()).expect("room on the disk");
    }
    path
}

/// 64 captures of 1 MB in one call of the command line.
fn many_small() -> Value {
    let folder = folder().join("many");
    for n in 0..64 {
        let host = folder.join(format!("host{n:02}"));
        std::fs::create_dir_all(&host).expect("a folder");
        let path = host.join(format!("host{n:02}.xplane.pb"));
        if !path.exists() {
            write(&path, 1_000_000, n);
        }
    }
    let times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            let status =
                Command::new(env!("CARGO_BIN_EXE_oomscope")).arg(&folder).output().expect("the command line");
            assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    println!("{:<24} {:>9} {:>9.0}", "64 captures of 1 MB", "", median(&mut times.clone()));
    json!({ "file": "64 captures of 1 MB", "bytes": 64_000_000, "ours": times })
}

fn compare(path: &Path) -> Value {
    let mut times = [const { Vec::new() }; 4];
    let mut peaks = [0f64; 4];
    for run in 0..RUNS {
        for (k, kind) in ["floor", "ours", "cores", "prost"].into_iter().enumerate() {
            // The decode of the whole schema takes gigabytes and seconds: one run shows it.
            if kind == "prost" && (run > 0 || path.metadata().is_ok_and(|m| m.len() > 1 << 30)) {
                continue;
            }
            let me = std::env::current_exe().expect("a path");
            let out = Command::new(me).args(["--child", kind]).arg(path).output().expect("a process");
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            let numbers: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
            let [time, peak] = numbers[..] else {
                panic!("{kind}: {text}{}", String::from_utf8_lossy(&out.stderr))
            };
            times[k].push(time);
            peaks[k] = peaks[k].max(peak);
        }
    }
    let [floor, ours, cores, prost] = times.clone().map(|mut t| median(&mut t));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let size = path.metadata().map_or(0, |m| m.len()) as f64 / 1048576.0;
    println!(
        "{name:<24} {floor:>9.1} {ours:>9.1} {:>6.2} {cores:>9.1} {prost:>9.0} {:>9.1} {:>9.3} {:>9.0}",
        ours / floor,
        peaks[1],
        peaks[1] / size,
        peaks[3]
    );
    let xprof = xprof(path);
    if let Some(time) = xprof {
        println!("{:<24} {:>9} XProf {time:.0} ms, {:.0} times ours on all cores", "", "", time / cores);
    }
    let [floor, ours, cores, prost] = times;
    json!({
        "file": name,
        "bytes": path.metadata().map_or(0, |m| m.len()),
        "floor": floor,
        "ours": ours,
        "cores": cores,
        "memory": peaks[1].max(peaks[2]) * 1048576.0,
        "whole_decode": prost,
        "whole_decode_memory": peaks[3] * 1048576.0,
        "xprof": xprof,
    })
}

/// The milliseconds of XProf's memory tools on the same file, where it is installed.
fn xprof(path: &Path) -> Option<f64> {
    // As its pages do it: the names first, which writes the modules beside the capture, then the two views of memory,
    // that of a plan for the largest module.
    const SCRIPT: &str = "
import os, sys, tempfile, time
from xprof.convert import raw_to_tool_data as r
with tempfile.TemporaryDirectory() as session:
    path = os.path.join(session, 'host.xplane.pb')
    os.symlink(os.path.abspath(sys.argv[1]), path)
    start = time.time()
    r.xspace_to_tool_names([path])
    assert r.xspace_to_tool_data([path], 'memory_profile', {})[0]
    end = '.hlo_proto.pb'
    modules = [f for f in os.listdir(session) if f.endswith(end) and f != 'NO_MODULE' + end]
    largest = max(modules, key=lambda f: os.path.getsize(os.path.join(session, f)))
    asked = {'module_name': largest[:-len(end)], 'memory_space': '0'}
    assert r.xspace_to_tool_data([path], 'memory_viewer', asked)[0]
    print(1000 * (time.time() - start))
";
    if !path.to_string_lossy().ends_with(".xplane.pb") {
        return None;
    }
    let out = Command::new("python3").args(["-c", SCRIPT]).arg(path).output().ok()?;
    String::from_utf8_lossy(&out.stdout).trim().parse().ok()
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// One run: prints milliseconds and the most memory in MiB.
fn child(kind: &str, path: &Path) {
    let mut file = File::open(path).expect("the file");
    let before = peak();
    let start = Instant::now();
    match kind {
        "floor" => {
            let mut buffer = vec![0; 4 << 20];
            let mut sum = 0u64;
            loop {
                let n = file.read(&mut buffer).expect("bytes");
                if n == 0 {
                    break;
                }
                sum += buffer[..n].iter().map(|b| u64::from(*b)).sum::<u64>();
            }
            std::hint::black_box(sum);
        }
        "ours" => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let source = FileSource::open(path).expect("the file");
            let mut session = read(source, &name, |_| {}).expect("a capture");
            std::hint::black_box(session.report(&Options::default()));
        }
        "cores" => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let source = FileSource::open(path).expect("the file");
            let mut session = threads::read(&source, &name).expect("a capture");
            std::hint::black_box(session.report(&Options::default()));
        }
        _ => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).expect("bytes");
            if path.to_string_lossy().contains("hlo") {
                std::hint::black_box(oomscope::proto::hlo::HloProto::decode(&*bytes).expect("a module"));
            } else {
                std::hint::black_box(oomscope::proto::xspace::XSpace::decode(&*bytes).expect("a capture"));
            }
        }
    }
    println!("{} {}", start.elapsed().as_secs_f64() * 1000.0, peak() - before.min(2.0));
}

/// The most memory that this process ever had, in MiB; 0 where the system doesn't say.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.and_then(|l| l.split_whitespace().nth(1)).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
