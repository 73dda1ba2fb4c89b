//! Makes the Rust types of `proto/` at build time, without an installed protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = protox::compile(["proto/xspace.proto", "proto/hlo.proto", "proto/pprof.proto"], ["proto"])?;
    prost_build::Config::new()
        // Metadata maps can hold a million entries of a hostile file: ordered maps have no worst case.
        .btree_map(["."])
        .compile_fds(files)?;
    Ok(())
}
