//! Makes large captures and modules, for benchmarks and for trying the page with.
//!
//! ```text
//! generate capture 806MB big.xplane.pb [SEED]     one capture
//! generate many 64 1MB folder [SEED]              a folder of captures
//! generate module 200000 big.hlo_proto.pb [SEED]  one module with its plan
//! generate capture-of-module 200000 big.xplane.pb the same inside a capture
//! ```

#![allow(clippy::print_stdout)]

use oomscope::synth::large::{Large, module};
use oomscope::synth::space::{Plane, Space};
use prost::Message;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["capture", size, out, ..] => capture(bytes(size)?, seed(args.get(3))?, Path::new(out)),
        ["many", count, size, folder, ..] => {
            let first = seed(args.get(4))?;
            for n in 0..count.parse()? {
                let folder = Path::new(folder).join(format!("host{n:03}"));
                std::fs::create_dir_all(&folder)?;
                capture(bytes(size)?, first + n, &folder.join(format!("host{n:03}.xplane.pb")))?;
            }
            Ok(())
        }
        ["module", count, out, ..] => {
            Ok(std::fs::write(out, module(count.parse()?, seed(args.get(3))?).encode_to_vec())?)
        }
        ["capture-of-module", count, out, ..] => {
            let hlo = module(count.parse()?, seed(args.get(3))?).encode_to_vec();
            let mut plane = Plane::new("/host:metadata");
            plane.module(17, "jit_train_step(17)", &hlo, Some(17));
            let space = Space { planes: vec![plane], hostname: "synthetic".into(), ..Space::default() };
            Ok(std::fs::write(out, space.encode())?)
        }
        _ => Err("generate capture SIZE OUT | many COUNT SIZE FOLDER | module COUNT OUT | capture-of-module COUNT OUT".into()),
    }
}

fn capture(bytes: u64, seed: u64, out: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(out)?);
    let mut failed = None;
    let mut written = 0u64;
    Large::of_size(bytes, seed).write(&mut |part| {
        written += part.len() as u64;
        failed = failed.take().or(file.write_all(part).err());
    });
    failed.map_or(Ok(()), Err)?;
    file.flush()?;
    println!("{written:>13} {}", out.display());
    Ok(())
}

fn seed(text: Option<&&str>) -> Result<u64, Box<dyn Error>> {
    Ok(text.map_or(Ok(1), |t| t.parse())?)
}

/// `806MB`, `3GB` or a plain number.
fn bytes(text: &str) -> Result<u64, Box<dyn Error>> {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000), ("", 1)];
    for (unit, factor) in units {
        if let Some(number) = text.strip_suffix(unit) {
            return Ok(number.parse::<u64>()? * factor);
        }
    }
    Err(format!("{text} is no size").into())
}
