//! The command line: reads the arguments and the disk, prints reports. Exit status 0 read, 1 something could not be
//! read, 2 wrong usage, 3 what `--fail-on` names was found.

pub mod args;
pub mod files;
mod merge;
mod read;
pub mod threads;

use args::{Cli, Command, FailOn};
use clap::{CommandFactory, Parser};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::model::Severity;

/// Everything was read.
const READ: u8 = 0;
/// Something could not be read or written.
const UNREADABLE: u8 = 1;
/// `--fail-on` was met.
const FOUND: u8 = 3;

/// Runs the command line with the process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Some(Command::Merge { reports, json, fail_on }) => merge::merge(&reports, json.as_deref(), fail_on),
        Some(Command::Completions { shell }) => completions(shell),
        Some(Command::Man { of }) => man(of.as_deref()),
        None => read::read(&cli.read),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        // A reader that has seen enough (`| head`) closes the pipe: no failure.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::from(READ),
        Err(e) => {
            eprintln!("oomscope: {}", crate::plain::plain(&e.to_string()));
            ExitCode::from(UNREADABLE)
        }
    }
}

fn completions(shell: clap_complete::Shell) -> std::io::Result<u8> {
    // By way of memory: the generator itself panics where nobody reads on.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "oomscope", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(READ)
}

fn man(of: Option<&str>) -> std::io::Result<u8> {
    let mut all = Cli::command();
    // Names the commands in full: `oomscope-merge`, as their pages are called.
    all.build();
    let command = match of {
        None => all,
        Some(name) => match all.find_subcommand(name) {
            Some(command) => command.clone(),
            None => usage(&format!("there is no command '{name}', see oomscope --help")),
        },
    };
    clap_mangen::Man::new(command).render(&mut std::io::stdout())?;
    Ok(READ)
}

/// Prints a usage error as clap does and ends the process with status 2.
fn usage(message: &str) -> ! {
    Cli::command().error(clap::error::ErrorKind::MissingRequiredArgument, message).exit()
}

/// Writes to a file, or to standard output for `-`.
fn write_to(path: &Path, text: &str) -> std::io::Result<()> {
    if path.as_os_str() == "-" {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        return out.flush();
    }
    std::fs::write(path, text).map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", path.display())))
}

/// Prints to standard output.
fn print(text: &str) -> std::io::Result<()> {
    write_to(Path::new("-"), text)
}

/// Whether a finding of this severity meets `--fail-on`.
fn fails(severity: Severity, fail_on: Option<FailOn>) -> bool {
    match fail_on {
        Some(FailOn::Error) => severity == Severity::Error,
        Some(FailOn::Warning) => severity <= Severity::Warning,
        None => false,
    }
}
