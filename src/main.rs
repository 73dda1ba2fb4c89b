//! The command line.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    oomscope::cli::main()
}
