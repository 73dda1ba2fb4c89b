//! The command line as scripts use it: exit statuses, what goes to which stream, and the same output for the same input.

use oomscope::synth::scenarios::{Scenario, scenarios};
use std::path::Path;
use std::process::{Command, Output};
use std::{fs, str};

/// Captures of one run each: one that failed, one that fits.
fn captures(folder: &Path) -> (String, String) {
    let put = |scenario: &Scenario| {
        let run = folder.join(scenario.name).join("plugins/profile/2026_01_01_00_00_00");
        fs::create_dir_all(&run).unwrap();
        let path = run.join("host.xplane.pb");
        fs::write(&path, &scenario.bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let all = scenarios();
    let named = |name: &str| all.iter().find(|s| s.name == name).unwrap();
    (put(named("attention-too-large")), put(named("fits")))
}

fn oomscope(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oomscope")).args(args).output().unwrap()
}

/// Status, standard output, standard error.
fn run(args: &[&str]) -> (i32, String, String) {
    let out = oomscope(args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code().unwrap(), text(&out.stdout), text(&out.stderr))
}

#[test]
fn exit_statuses() {
    let folder = tempfile::tempdir().unwrap();
    let (failed, fits) = captures(folder.path());
    let absent = folder.path().join("absent.xplane.pb").to_str().unwrap().to_owned();
    for (args, wanted) in [
        (vec![failed.as_str()], 0),
        (vec!["--quiet", &failed, &fits], 0),
        (vec![&absent], 1),
        // What cannot be read outweighs what was found.
        (vec![&failed, &absent, "--fail-on", "error"], 1),
        (vec![&failed, "--module", "no_such_module"], 1),
        (vec![], 2),
        (vec!["--no-such-option"], 2),
        (vec!["--fail-on", "note", &failed], 2),
        (vec![&failed, "--fail-on", "error"], 3),
        (vec![&fits, "--fail-on", "warning"], 0),
        (vec![&fits, &failed, "--fail-on", "error"], 3),
        (vec!["--self-test"], 0),
    ] {
        let (status, _, err) = run(&args);
        assert_eq!(status, wanted, "{args:?}: {err}");
        assert_eq!(err.is_empty(), matches!(wanted, 0 | 3), "{args:?}: {err}");
    }
}

#[test]
fn quiet_says_the_verdict_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (failed, fits) = captures(folder.path());
    let (_, out, _) = run(&["--quiet", &failed, &fits]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert!(lines[0].starts_with(&format!("{failed}: OUT OF MEMORY: ")), "{out}");
    assert!(lines[1].starts_with(&format!("{fits}: FITS: ")), "{out}");
}

#[test]
fn json_on_standard_output_stands_alone_and_is_always_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (failed, _) = captures(folder.path());
    let (_, one, _) = run(&[&failed, "--json", "-"]);
    let report: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert_eq!(report["schema"], "oomscope/1");
    assert_eq!(report["verdict"]["status"], "out_of_memory");

    let all = folder.path().to_str().unwrap();
    let (_, many, _) = run(&[all, "--json", "-"]);
    let reports: Vec<serde_json::Value> = serde_json::from_str(&many).unwrap();
    assert_eq!(reports.len(), 2);
    for _ in 0..3 {
        assert_eq!(run(&[all, "--json", "-"]).1, many);
    }
}

#[test]
fn hosts_are_merged_from_their_reports() {
    let folder = tempfile::tempdir().unwrap();
    let (failed, fits) = captures(folder.path());
    let json = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (a, b, sum) = (json("a.json"), json("b.json"), json("sum.json"));
    for (capture, report) in [(&failed, &a), (&fits, &b)] {
        assert_eq!(run(&[capture, "--quiet", "--json", report]).0, 0);
    }
    let (status, text, _) = run(&["merge", &a, &b]);
    assert_eq!(status, 0);
    assert!(text.starts_with("2 captures\n"), "{text}");
    // The order of the files is no matter, and a folder in one call says the same.
    assert_eq!(run(&["merge", &b, &a]).1, text);
    assert!(run(&[folder.path().to_str().unwrap()]).1.ends_with(&text));

    assert_eq!(run(&["merge", &a, &b, "--json", &sum]).0, 0);
    let summary: serde_json::Value = serde_json::from_str(&fs::read_to_string(&sum).unwrap()).unwrap();
    assert_eq!((&summary["schema"], &summary["captures"]), (&"oomscope-summary/1".into(), &2.into()));

    assert_eq!(run(&["merge", &a, &b, "--fail-on", "error"]).0, 3);
    assert_eq!(run(&["merge", &b, "--fail-on", "error"]).0, 0);
    // A summary is no report; what could be read is merged all the same.
    let (status, text, err) = run(&["merge", &sum, &a]);
    assert_eq!(status, 1);
    assert!(text.starts_with("1 captures\n") || text.starts_with("1 capture\n"), "{text}");
    assert!(err.contains("no JSON report of oomscope"), "{err}");
}

#[test]
fn completions_and_manual_pages_name_every_option() {
    let (_, help, _) = run(&["--help"]);
    let options: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().split([' ', ',']).find(|word| word.starts_with("--")))
        .filter(|word| !matches!(*word, "--help" | "--version"))
        .collect();
    assert!(options.contains(&"--fail-on") && options.len() > 8, "{options:?}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (status, script, _) = run(&["completions", shell]);
        assert_eq!(status, 0);
        for option in &options {
            let name = if shell == "fish" { &option[2..] } else { option };
            assert!(script.contains(name), "{shell}: {option}");
        }
    }
    let (status, page, _) = run(&["man"]);
    assert_eq!(status, 0);
    for option in &options {
        assert!(page.contains(&option.replace('-', "\\-")), "{option}");
    }
    assert!(page.contains("Exit status"), "{page}");
    assert!(run(&["man", "merge"]).1.contains("REPORT"));
    assert_eq!(run(&["man", "no-such-command"]).0, 2);
}

#[cfg(unix)]
#[test]
fn names_of_files_are_text() {
    let folder = tempfile::tempdir().unwrap();
    let (failed, _) = captures(folder.path());
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let evil = "a\u{1b}[31m\n\u{202e}|`<b>";
    let capture = put(&format!("{evil}.xplane.pb"), &fs::read(failed).unwrap());
    let damaged = put(&format!("{evil}.damaged.xplane.pb"), b"\xff\xff\xff");
    let absent = folder.path().join(format!("{evil}.absent")).to_str().unwrap().to_owned();
    let empty = folder.path().join(evil);
    fs::create_dir(&empty).unwrap();
    for args in [
        vec![capture.as_str()],
        vec!["--quiet", &capture],
        vec!["--format", "markdown", &capture],
        vec![&damaged],
        vec![&absent],
        vec![empty.to_str().unwrap()],
        vec!["--error", &absent],
        vec!["--memory-profile", &absent],
        vec!["--memory-profile", &damaged, &capture],
        vec!["merge", &capture],
        vec!["merge", &absent],
        vec![&capture, "--quiet", "--json", &format!("{absent}/x")],
        vec![&capture, "--module", evil],
        vec![&capture, "--what-if", evil],
    ] {
        let (_, out, err) = run(&args);
        let hidden = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!out.contains(hidden) && !err.contains(hidden), "{args:?}: {out:?} {err:?}");
        assert!(!out.is_empty() || !err.is_empty(), "{args:?}");
    }
}
