//! `docs/findings.md` has every finding with its rule, evidence, example and fix, and the examples are what the program
//! says. After a change of a sentence: `OOMSCOPE_UPDATE=1 cargo test --test docs`.
use oomscope::analysis::evidence::{of_error_text, of_memory_profile};
use oomscope::analysis::{self, Options};
use oomscope::evidence::error_text::ErrorText;
use oomscope::evidence::memory_profile::MemoryProfile;
use oomscope::findings::{FITS, RULES};
use oomscope::model::{Finding, Report, SourceInfo, SourceKind};
use oomscope::synth::scenarios::scenarios;
use oomscope::units::Bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A finding of each id, of the capture that was made for it.
fn examples() -> BTreeMap<String, Finding> {
    let mut chosen = BTreeMap::new();
    for scenario in scenarios() {
        let mut session = analysis::read(scenario.bytes.as_slice(), "made.xplane.pb", |_| {}).unwrap();
        let mut found = session.report(&Options::default()).findings;
        found.retain(|f| scenario.must.contains(&f.id.as_str()));
        if scenario.name == "attention-too-large" {
            session
                .add_error_text("Out of memory while trying to allocate 129.00GiB with allocator GPU_0_bfc");
            found.extend(
                session.report(&Options::default()).findings.into_iter().filter(|f| f.id == "error-text"),
            );
        }
        for finding in found {
            chosen.entry(finding.id.clone()).or_insert(finding);
        }
    }
    let text = of_text("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3666631960 bytes.");
    let library = of_text("RESOURCE_EXHAUSTED: Could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED");
    let driver = of_text(
        "failed to allocate 17.71G (19015245824 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    );
    let two = of_text(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3666631960 bytes.\n\
         INTERNAL: NCCL operation ncclGroupEnd() failed: Cuda failure 'out of memory'",
    );
    for report in [text, library, driver, two, of_profiles()] {
        for finding in report.findings {
            chosen.entry(finding.id.clone()).or_insert(finding);
        }
    }
    chosen
}

fn info(kind: SourceKind) -> SourceInfo {
    SourceInfo { file: "made".into(), size_bytes: Bytes(1), host: None, kind }
}

fn of_text(text: &str) -> Report {
    of_error_text(info(SourceKind::ErrorText), ErrorText::read(text))
}

fn of_profiles() -> Report {
    let read = |name: &str| {
        let bytes = fs::read(Path::new(ROOT).join("tests/fixtures/memory_profile").join(name)).unwrap();
        let source = bytes.as_slice();
        let plain = analysis::unpacked(&source, name, 1 << 20).unwrap();
        MemoryProfile::read(&plain).unwrap().0
    };
    let (before, after) = (read("keep-before.prof"), read("keep-after.prof"));
    of_memory_profile(info(SourceKind::MemoryProfile), &after, Vec::new(), Some(&before), 25)
}

/// The ids that the sources give to findings: the first text after one is begun.
fn ids_in_sources() -> Vec<String> {
    let mut ids: Vec<String> = RULES.iter().map(|r| r.id.to_owned()).chain([FITS.to_owned()]).collect();
    for file in rust_files(&Path::new(ROOT).join("src/analysis/evidence")) {
        let source = fs::read_to_string(file).unwrap();
        for (at, begin) in source.match_indices("finding(") {
            let rest = source[at + begin.len()..].trim_start();
            ids.extend(rest.strip_prefix('"').and_then(|r| r.split('"').next()).map(str::to_owned));
        }
    }
    ids.sort();
    ids.dedup();
    ids
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|e| e == "rs")).collect()
}

/// The sections `### `id`` of the page, each to the next heading.
fn sections(page: &str) -> BTreeMap<String, String> {
    let parts = page.split("\n### `").skip(1);
    parts
        .map(|part| {
            let (id, rest) = part.split_once('`').unwrap();
            (id.to_owned(), rest.split("\n## ").next().unwrap().to_owned())
        })
        .collect()
}

#[test]
fn every_finding_is_documented() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/findings.md")).unwrap();
    let sections = sections(&page);
    let ids = ids_in_sources();
    assert_eq!(sections.keys().cloned().collect::<Vec<_>>(), ids, "the page's findings, and the program's");
    let examples = examples();
    for (id, section) in &sections {
        let found = examples.get(id).unwrap_or_else(|| panic!("no made capture shows {id}"));
        let paragraph = |begin: &str| {
            let paragraph = section.split("\n\n").find(|p| p.starts_with(begin));
            paragraph.unwrap_or_else(|| panic!("{id}: nothing begins with {begin}"))
        };
        paragraph("**Fix");
        let severity = format!("{:?}", found.severity).to_lowercase();
        let (rule, evidence) = (paragraph("**Rule**"), paragraph("**Evidence**"));
        let plan_group = page[..page.find(section.as_str()).unwrap()]
            .contains("\n## What makes a plan large")
            && !rule.contains('(');
        assert!(plan_group || rule.contains(&severity), "{id} can be a {severity}: {rule}");
        let class = format!("{:?}", found.evidence).to_lowercase();
        assert!(evidence.contains(&class), "{id} can be {class}: {evidence}");
    }
}

#[test]
fn every_limit_is_documented() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/limits.md")).unwrap();
    let documented = |id: &str| page.contains(&format!("\n| `{id}` | "));
    for scenario in scenarios() {
        let mut session = analysis::read(scenario.bytes.as_slice(), "made.xplane.pb", |_| {}).unwrap();
        for limit in session.report(&Options::default()).limits {
            assert!(documented(&limit.id), "{}: {}", limit.id, limit.sentence);
        }
    }
    // Those of which no made capture has an example.
    let rules = fs::read_to_string(Path::new(ROOT).join("src/findings/limits.rs")).unwrap();
    for id in rules
        .split('"')
        .filter(|text| text.contains('-') && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
    {
        assert!(documented(id), "{id}");
    }
}

#[test]
fn the_examples_are_what_the_program_says() {
    let path = Path::new(ROOT).join("docs/findings.md");
    let page = fs::read_to_string(&path).unwrap();
    let examples = examples();
    let mut made = page.clone();
    for (id, section) in sections(&page) {
        let Some(found) = examples.get(&id) else { continue };
        let (before, after) = section.split_once("\n> ").unwrap_or_else(|| panic!("{id}: no example"));
        let rest = after.split_once('\n').map_or("", |(_, rest)| rest);
        made =
            made.replace(&section, &format!("{before}\n> **{}**: {}\n{rest}", found.title, found.sentence));
    }
    if env::var_os("OOMSCOPE_UPDATE").is_some() {
        fs::write(&path, made).unwrap();
    } else {
        for (kept, made) in page.lines().zip(made.lines()) {
            assert_eq!(
                kept, made,
                "docs/findings.md is not what is said: OOMSCOPE_UPDATE=1 cargo test --test docs"
            );
        }
    }
}
