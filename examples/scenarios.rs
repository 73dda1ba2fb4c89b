//! Writes the built-in scenarios to a folder, each beside its truth.

#![allow(clippy::print_stdout)]

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "scenarios".into()));
    std::fs::create_dir_all(&folder)?;
    for s in oomscope::synth::scenarios::scenarios() {
        std::fs::write(folder.join(format!("{}.xplane.pb", s.name)), &s.bytes)?;
        let truth = format!("{}\nmust {:?}\nmust not {:?}\n{:#?}\n", s.about, s.must, s.must_not, s.truth);
        std::fs::write(folder.join(format!("{}.truth.txt", s.name)), truth)?;
        println!("{:>7} {}", s.bytes.len(), s.name);
    }
    Ok(())
}
