//! The arguments. Completions and the manual page are made from them too.

use crate::units::Bytes;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// Says why a JAX program ran out of accelerator memory, from its profiler capture.
///
/// Reads the profiler's `<host>.xplane.pb` (also in .gz, .zip, .tar.gz and folders), an HloProto dump, XLA's text
/// dumps, the text of the failure, or a device memory profile. Nothing leaves this machine, nothing is written beside
/// a capture.
#[derive(Debug, Parser)]
#[command(name = "oomscope", version, args_conflicts_with_subcommands = true, max_term_width = 100)]
#[command(
    after_help = "Exit status: 0 read, 1 something could not be read, 2 wrong usage, 3 --fail-on was met."
)]
pub struct Cli {
    /// What to do besides reading captures.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What to read and show.
    #[command(flatten)]
    pub read: Read,
}

/// What to read and how to show it.
#[derive(Debug, Args)]
pub struct Read {
    /// Captures, plans or profiles, archives of them, or folders: of a folder (the run folder that JAX wrote, or any
    /// above it) the captures in it and below are read, and where there are none, XLA's dumps of plans.
    #[arg(value_name = "CAPTURE", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// The module to analyse, `jit_step(123)` or `jit_step`, instead of the one that failed or needs most.
    #[arg(long, short, value_name = "MODULE")]
    pub module: Option<String>,
    /// How many rows a list shows at most (0: all).
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub top: usize,
    /// Write the report as JSON to a file, or to standard output with `-`; several captures give an array.
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// How to show the report.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The text of the failure (a file, or `-` for standard input), as it stands in the terminal or the log: shown
    /// alone, or matched with the plans of the capture.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub error: Option<PathBuf>,
    /// A device memory profile of the same process (`memory.prof`): names arrays from before the capture. Beside a later
    /// profile (`oomscope later.prof --memory-profile earlier.prof`) it shows what grew between the two.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub memory_profile: Option<PathBuf>,
    /// Fixes to combine, as the findings name them: `donate,remat,batch/2`.
    #[arg(long, value_name = "FIXES", value_delimiter = ',')]
    pub what_if: Vec<String>,
    /// The size of the pool, `60GiB`, to hold a plan against that comes without one, alone or in a capture without allocator
    /// events; a measured size stands.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub pool: Option<Bytes>,
    /// The memory of the card, `80GiB`, likewise. Of a GPU's JAX gives 75 % to the pool unless told otherwise: a plan alone is
    /// held against that part where no pool is given.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub card: Option<Bytes>,
    /// Show only the verdict, one line a capture.
    #[arg(long, short)]
    pub quiet: bool,
    /// Exit with status 3 where a finding is at least this grave.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<FailOn>,
    /// Check the analysis on the captures that are built in, one for each finding.
    #[arg(long)]
    pub self_test: bool,
}

/// A size as people write it: `80GiB`, `80G`, `79.6 GiB`, `85899345920`. Letters without an `i` count in 1024 too, as XLA's do,
/// but for `KB`, `MB`, `GB` and `TB`, which the makers of cards count in 1000.
fn size(text: &str) -> Result<Bytes, String> {
    let no_size = || format!("`{text}` is no size: write it as 80GiB, 512MiB or in bytes");
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let number: f64 = number.parse().map_err(|_| no_size())?;
    let unit = unit.trim().to_ascii_lowercase();
    let power = |letter: Option<char>| "kmgt".find(letter?).map(|power| power as i32 + 1);
    let one = match (power(unit.chars().next()), unit.get(1..)) {
        (None, _) if unit.is_empty() || unit == "b" => 1.0,
        (Some(power), Some("" | "i" | "ib")) => 1024f64.powi(power),
        (Some(power), Some("b")) => 1000f64.powi(power),
        _ => return Err(no_size()),
    };
    let bytes = number * one;
    if (1.0..1e18).contains(&bytes) { Ok(Bytes(bytes as u64)) } else { Err(no_size()) }
}

/// How a report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For an issue tracker.
    Markdown,
}

/// The least severity that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Errors.
    Error,
    /// Errors and warnings.
    Warning,
}

/// Commands besides reading.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Merge the JSON reports of many hosts into one summary.
    Merge {
        /// Reports that `--json` wrote.
        #[arg(required = true, value_name = "REPORT", value_hint = ValueHint::FilePath)]
        reports: Vec<PathBuf>,
        /// Write the summary as JSON to a file, or to standard output with `-`.
        #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
        json: Option<PathBuf>,
        /// Exit with status 3 where a finding is at least this grave.
        #[arg(long, value_enum, value_name = "SEVERITY")]
        fail_on: Option<FailOn>,
    },
    /// Write the completions of a shell to standard output.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual page to standard output.
    Man {
        /// The command whose page it is, instead of that of `oomscope` itself.
        #[arg(value_name = "COMMAND")]
        of: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("85899345920", 80 << 30),
            ("80GiB", 80 << 30),
            ("80g", 80 << 30),
            ("1.5 MiB", 3 << 19),
            ("80GB", 80_000_000_000),
            ("7 B", 7),
        ] {
            assert_eq!(size(text), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "GiB", "80 apples", "-3GiB", "0", "1e99", "80GiBs", "9999999TiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_list_of_fixes_is_split_at_commas() {
        let cli = Cli::parse_from(["oomscope", "a.xplane.pb", "--what-if", "donate,batch/2", "--json", "-"]);
        assert_eq!(cli.read.what_if, ["donate", "batch/2"]);
        assert_eq!(cli.read.json, Some(PathBuf::from("-")));
        assert_eq!(cli.read.top, 25);
    }
}
