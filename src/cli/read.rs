//! Reading captures from the disk and showing their reports.

use super::args::{Format, Read};
use super::files::{FileSource, captures_in};
use super::{FOUND, READ, UNREADABLE, fails, print, threads, usage, write_to};
use crate::analysis::{self, LARGEST_WHOLE, Options, Refusal, Session, Told};
use crate::bytes::{ReadError, Source};
use crate::evidence::error_text::decode;
use crate::evidence::{HEAD_BYTES, Kind, sniff};
use crate::model::{Given, Report};
use crate::plain;
use crate::report::{markdown, status_words, summarize, summary_text, text, to_json};
use rayon::prelude::*;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Files of an archive that are passed over by name; of more it is told how many.
const MOST_PASSED_OVER: u64 = 20;

/// What was asked for beside the captures.
struct Companions {
    error_text: Option<String>,
    memory_profile: Option<Vec<u8>>,
}

/// One capture's report, or why there is none.
type Outcome = (String, Result<Shown, String>);

/// What is shown of a capture.
struct Shown {
    report: Report,
    what_if: Option<String>,
}

pub(super) fn read(args: &Read) -> std::io::Result<u8> {
    if args.self_test {
        return self_test();
    }
    if args.paths.is_empty() && args.error.is_none() && args.memory_profile.is_none() {
        usage("name a capture or a folder that holds some, or see --help");
    }
    let companions = match companions(args) {
        Ok(c) => c,
        Err(e) => {
            eprintln!("oomscope: {}", plain::plain(&e));
            return Ok(UNREADABLE);
        }
    };
    let (files, mut outcomes) = list(&args.paths, args.quiet);
    outcomes.extend(if files.is_empty() && args.paths.is_empty() {
        alone(args, &companions)
    } else {
        let many: Vec<Vec<Outcome>> = files.par_iter().map(|path| one(path, args, &companions)).collect();
        many.into_iter().flatten().collect()
    });
    show(args, outcomes)
}

/// The files to read, in the order given; what cannot be listed is an outcome of its own.
fn list(paths: &[PathBuf], quiet: bool) -> (Vec<PathBuf>, Vec<Outcome>) {
    let mut files = Vec::new();
    let mut failed = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        match captures_in(path) {
            Ok(found) if found.captures.is_empty() => failed.push((
                path.display().to_string(),
                Err(format!(
                    "no capture lies in this folder or below it ({}). A capture is called <host>.xplane.pb and lies in \
                     plugins/profile/<time>/ of the folder given to jax.profiler.trace",
                    others(&found.passed_over)
                )),
            )),
            Ok(found) => {
                if !quiet && !found.passed_over.is_empty() {
                    let (folder, others) = (path.display().to_string(), others(&found.passed_over));
                    eprintln!("oomscope: passed over in {}: {}", plain::plain(&folder), plain::plain(&others));
                }
                files.extend(found.captures);
            }
            Err(e) => failed.push((path.display().to_string(), Err(e.to_string()))),
        }
    }
    (files, failed)
}

/// `3 other files: a.trace.json.gz, memory.prof and notes.txt`, the first few by name.
fn others(paths: &[PathBuf]) -> String {
    const NAMED: usize = 8;
    let names: Vec<String> = paths.iter().take(NAMED).map(|path| file_name(path)).collect();
    match paths.len() {
        0 => "no other file does either".to_owned(),
        1 => format!("1 other file, {}", names.join("")),
        n if n > NAMED => format!("{n} other files: {} and {} more", names.join(", "), n - NAMED),
        n => format!("{n} other files: {}", names.join(", ")),
    }
}

fn companions(args: &Read) -> Result<Companions, String> {
    let error_text = match &args.error {
        None => None,
        Some(path) => {
            let mut bytes = Vec::new();
            let named = |e: std::io::Error| format!("{}: {e}", path.display());
            if path.as_os_str() == "-" {
                std::io::stdin().take(LARGEST_WHOLE + 1).read_to_end(&mut bytes).map_err(named)?;
            } else {
                std::fs::File::open(path)
                    .and_then(|f| f.take(LARGEST_WHOLE + 1).read_to_end(&mut bytes))
                    .map_err(named)?;
            }
            let len = bytes.len() as u64;
            if len > LARGEST_WHOLE {
                let refusal = Refusal::TooLarge { kind: Kind::Text, len };
                return Err(format!("{}: {refusal}", path.display()));
            }
            Some(decode(&bytes))
        }
    };
    let memory_profile = match &args.memory_profile {
        None => None,
        Some(path) => {
            let unpacked = FileSource::open(path).map_err(|e| e.to_string()).and_then(|f| {
                analysis::unpacked(&f, &file_name(path), LARGEST_WHOLE).map_err(|e| e.to_string())
            });
            Some(unpacked.map_err(|e| format!("{}: {e}", path.display()))?)
        }
    };
    Ok(Companions { error_text, memory_profile })
}

/// Error text or a memory profile without a capture.
fn alone(args: &Read, companions: &Companions) -> Vec<Outcome> {
    let named = |path: &Path| if path.as_os_str() == "-" { "standard input".into() } else { file_name(path) };
    let of = |path: &Path, session: Result<Session<&[u8]>, Refusal>| -> Outcome {
        let report = |mut s: Session<&[u8]>| Shown { report: s.report(&options(args)), what_if: None };
        (named(path), session.map(report).map_err(|e| e.to_string()))
    };
    let text = companions.error_text.as_deref().zip(args.error.as_deref());
    let profile = companions.memory_profile.as_deref().zip(args.memory_profile.as_deref());
    let mut outcomes = Vec::new();
    outcomes.extend(text.map(|(text, path)| of(path, analysis::read_text(text.as_bytes(), &named(path)))));
    outcomes.extend(profile.map(|(bytes, path)| of(path, analysis::read(bytes, &named(path), |_| {}))));
    outcomes
}

fn one(path: &Path, args: &Read, companions: &Companions) -> Vec<Outcome> {
    let name = path.display().to_string();
    let source = match FileSource::open(path) {
        Ok(source) => source,
        Err(e) => return vec![(name, Err(e.to_string()))],
    };
    match is_archive(&source, &name) {
        Ok(true) => {}
        Ok(false) => {
            let read = threads::read(&source, &file_name(path)).map_err(|why| why.to_string());
            return vec![(name, read.and_then(|session| shown(session, args, companions)))];
        }
        Err(e) => return vec![(name, Err(e.to_string()))],
    }
    let mut outcomes = Vec::new();
    let mut passed_over = 0u64;
    analysis::each(&source, &name, &mut |told| match told {
        Told::Session(path, session) => outcomes.push((path.to_owned(), shown(*session, args, companions))),
        Told::Refused(path, why) => outcomes.push((path.to_owned(), Err(why.to_string()))),
        Told::PassedOver(path, what) => {
            passed_over += 1;
            if !args.quiet && passed_over <= MOST_PASSED_OVER {
                eprintln!("oomscope: passed over {}: {}", plain::plain(path), plain::plain(&what));
            }
        }
        Told::Noted(path, sentence) => {
            if !args.quiet {
                eprintln!("oomscope: {}: {}", plain::plain(path), plain::plain(&sentence));
            }
        }
    });
    if !args.quiet && passed_over > MOST_PASSED_OVER {
        let (name, more) = (plain::plain(&name), passed_over - MOST_PASSED_OVER);
        eprintln!("oomscope: passed over in {name}: {more} more files");
    }
    outcomes
}

fn is_archive(source: &FileSource, name: &str) -> Result<bool, ReadError> {
    let head = source.read_range(0..HEAD_BYTES as u64)?;
    Ok(sniff(&head, source.len(), name).is_archive())
}

fn shown<S: Source>(mut session: Session<S>, args: &Read, companions: &Companions) -> Result<Shown, String> {
    if let Some(text) = &companions.error_text {
        session.add_error_text(text);
    }
    if let Some(bytes) = &companions.memory_profile {
        session.add_memory_profile(bytes).map_err(|e| e.to_string())?;
    }
    let options = options(args);
    if let Some(module) = &options.module
        && !session.has_module(module)
    {
        return Err(session.unknown_module(module));
    }
    let report = session.report(&options);
    let what_if = if args.what_if.is_empty() {
        None
    } else {
        Some(session.what_if(&args.what_if, &options).map(|w| crate::report::what_if_text(&w))?)
    };
    Ok(Shown { report, what_if })
}

fn options(args: &Read) -> Options {
    Options {
        module: args.module.clone(),
        top: if args.top == 0 { usize::MAX } else { args.top },
        given: Given { pool_bytes: args.pool, card_bytes: args.card },
    }
}

fn show(args: &Read, outcomes: Vec<Outcome>) -> std::io::Result<u8> {
    let mut status = READ;
    let mut out = String::new();
    let json_on_stdout = args.json.as_deref().is_some_and(|p| p.as_os_str() == "-");
    let mut reports = Vec::new();
    for (name, outcome) in outcomes {
        match outcome {
            Err(why) => {
                eprintln!("oomscope: {}: {}", plain::plain(&name), plain::plain(&why));
                status = UNREADABLE;
            }
            Ok(shown) => {
                let verdict = &shown.report.verdict;
                if args.quiet {
                    let (file, sentence) = (plain::plain(&name), plain::plain(&verdict.sentence));
                    let _ = writeln!(out, "{file}: {}: {sentence}", status_words(verdict.status));
                } else {
                    if !out.is_empty() {
                        out.push_str(&format!("\n{}\n\n", "─".repeat(100)));
                    }
                    out.push_str(&match args.format {
                        Format::Text => text(&shown.report),
                        Format::Markdown => markdown(&shown.report),
                    });
                }
                if let Some(what_if) = &shown.what_if {
                    out.push_str(what_if);
                }
                reports.push(shown.report);
            }
        }
    }
    if reports.len() > 1 && !args.quiet {
        out.push_str(&format!("\n{}\n\n", "─".repeat(100)));
        out.push_str(&summary_text(&summarize(&reports)));
    }
    if !json_on_stdout {
        print(&out)?;
    }
    if let Some(path) = &args.json {
        match reports.as_slice() {
            [] => {}
            [one] => write_to(path, &to_json(one))?,
            many => write_to(path, &to_json(&many))?,
        }
    }
    if status == READ && reports.iter().flat_map(|r| &r.findings).any(|f| fails(f.severity, args.fail_on)) {
        status = FOUND;
    }
    Ok(status)
}

fn self_test() -> std::io::Result<u8> {
    let mut failed = 0;
    for outcome in crate::self_test::outcomes() {
        let mark = if outcome.passed() { "ok    " } else { "FAILED" };
        print(&format!("{mark} {}: {}\n", outcome.name, outcome.about))?;
        for wrong in &outcome.wrong {
            print(&format!("       {wrong}\n"))?;
        }
        failed += usize::from(!outcome.passed());
    }
    print(&format!("{} passed, {failed} failed\n", crate::self_test::COUNT - failed))?;
    Ok(if failed == 0 { READ } else { UNREADABLE })
}

/// The last part of a path.
fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}
