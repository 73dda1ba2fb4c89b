//! The command line with evidence beside captures, and with folders of all kinds of files.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

fn oomscope(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_oomscope"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_text_from_standard_input() {
    let text = "[rank3]: jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3.41GiB.\n";
    let alone = oomscope(&["--error", "-", "--quiet"], text);
    assert_eq!(alone.status.code(), Some(0));
    assert_eq!(
        out(&alone),
        "standard input: OUT OF MEMORY: The program asked for 3.41 GiB and did not get it.\n"
    );
    // Who gives a text says what it is, whatever it looks like.
    let in_json = format!("{{\n\"cells\": [\n\"{}\"\n]\n}}\n", text.trim_end());
    let page = format!("<html>\n{text}");
    for text in [in_json, page] {
        let alone = oomscope(&["--error", "-", "--quiet"], &text);
        assert_eq!(
            out(&alone),
            "standard input: OUT OF MEMORY: The program asked for 3.41 GiB and did not get it.\n"
        );
    }
    let nothing = oomscope(&["--error", "-"], "step 3 loss 2.71\n");
    assert_eq!(nothing.status.code(), Some(1));
    assert!(err(&nothing).contains("text without a failure of memory"), "{}", err(&nothing));
}

#[test]
fn a_text_beside_a_plan() {
    let plan = format!("{FIXTURES}/xla_text/jax0.7.2/jit_step.hlo.pb");
    // The temp block of that plan, from JAX's own memory_analysis(): 2,097,152 bytes.
    let beside = oomscope(&[&plan, "--error", "-"], "Out of memory while trying to allocate 2097152 bytes.");
    assert_eq!(beside.status.code(), Some(0));
    let shown = out(&beside).replace('\n', " ").replace("  ", " ");
    assert!(
        shown.contains(
            "The 2.00 MiB (2097152 bytes) of your error is the temp block of jit_step (2097152 bytes)"
        ),
        "{shown}"
    );
    let other = oomscope(&[&plan, "--error", "-"], "Out of memory while trying to allocate 2097153 bytes.");
    assert!(out(&other).contains("Your error is not in this capture"), "{}", out(&other));
}

#[test]
fn two_profiles() {
    let of = |name: &str| format!("{FIXTURES}/memory_profile/{name}");
    let both =
        oomscope(&[&of("keep-after.prof"), "--memory-profile", &of("keep-before.prof"), "--quiet"], "");
    assert!(
        out(&both).contains("grew from 20.51 MiB to 50.52 MiB between the two profiles"),
        "{}",
        out(&both)
    );
    let alone = oomscope(&["--memory-profile", &of("keep-before.prof"), "--quiet"], "");
    assert!(out(&alone).contains("7 arrays of 20.51 MiB were alive on cpu:0"), "{}", out(&alone));
}

fn copy(from: &str, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::copy(from, to).unwrap();
}

#[test]
fn a_folder_names_what_it_passed_over() {
    let top = tempfile::tempdir().unwrap();
    let plan = format!("{FIXTURES}/xla_text/jax0.7.2/jit_step.hlo.pb");
    copy(&plan, &top.path().join("dump/module_0001.jit_step.cpu_after_optimizations.hlo.pb"));
    let text = format!("{FIXTURES}/xla_text/jax0.7.2/jit_step-buffer-assignment.txt");
    copy(&text, &top.path().join("dump/module_0001.jit_step.cpu_after_optimizations-buffer-assignment.txt"));
    std::fs::write(top.path().join("notes.md"), "hello").unwrap();
    let folder = top.path().to_str().unwrap();
    let read = oomscope(&[folder], "");
    assert_eq!(read.status.code(), Some(0), "{}", err(&read));
    assert!(out(&read).contains("23,601,180 B"), "{}", out(&read));
    assert!(err(&read).contains("2 other files: "), "{}", err(&read));
    assert!(err(&read).contains("notes.md"), "{}", err(&read));

    let empty = tempfile::tempdir().unwrap();
    std::fs::write(empty.path().join("notes.md"), "hello").unwrap();
    let refused = oomscope(&[empty.path().to_str().unwrap()], "");
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("1 other file, notes.md"), "{}", err(&refused));
}

/// An archive of many files of no interest and two plans, of which one is packed and cut.
#[test]
fn what_is_passed_over_in_an_archive_is_told_briefly_and_what_is_damaged_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let plan = std::fs::read(format!("{FIXTURES}/xla_text/jax0.7.2/jit_step.hlo.pb")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(&plan).unwrap();
    let packed = packed.finish().unwrap();
    let mut tar = tar::Builder::new(Vec::new());
    let mut put = |name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, bytes).unwrap();
    };
    for i in 0..30 {
        put(&format!("notes-{i}.txt"), b"hello");
    }
    put("whole.hlo.pb", &plan);
    put("cut.hlo.pb.gz", &packed[..packed.len() - 4]);
    let path = folder.path().join("run.tar");
    std::fs::write(&path, tar.into_inner().unwrap()).unwrap();

    let read = oomscope(&[path.to_str().unwrap()], "");
    assert_eq!(read.status.code(), Some(0));
    let said = err(&read);
    assert_eq!(said.matches("/notes-").count(), 20, "{said}");
    assert!(said.contains("run.tar: 10 more files"), "{said}");
    let damaged = said.lines().find(|line| line.contains("cut.hlo.pb")).unwrap();
    assert!(damaged.contains("the packed bytes end; what comes before was read"), "{said}");
    assert!(!damaged.contains("passed over"), "{said}");
    assert_eq!(err(&oomscope(&[path.to_str().unwrap(), "--quiet"], "")), "");

    // It is in the report too, of the damaged one alone.
    let read = oomscope(&[path.to_str().unwrap(), "--quiet", "--json", "-"], "");
    let reports: serde_json::Value = serde_json::from_slice(&read.stdout).unwrap();
    let told = |report: &serde_json::Value| -> Vec<String> {
        let warnings = report["warnings"].as_array().unwrap().iter();
        let of_packing = warnings.filter(|w| w["code"] == "archive-damaged");
        of_packing.map(|w| w["message"].as_str().unwrap().to_owned()).collect()
    };
    let file = |name: &str| reports.as_array().unwrap().iter().find(|r| r["source"]["file"] == name).unwrap();
    let cut = file("cut.hlo.pb");
    assert!(told(cut)[0].starts_with("after "), "{:?}", told(cut));
    assert!(told(cut)[0].ends_with("the packed bytes end; what comes before was read."), "{:?}", told(cut));
    assert_eq!(told(file("whole.hlo.pb")), [""; 0]);
    let finding =
        cut["findings"].as_array().unwrap().iter().find(|f| f["id"] == "truncated-capture").unwrap();
    assert!(finding["sentence"].as_str().unwrap().contains("the packed bytes end"), "{finding}");
}
