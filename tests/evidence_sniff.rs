//! What each file of the shared data, and each kind of stray file, is taken for.
#![allow(clippy::unwrap_used)]

use oomscope::evidence::{Foreign, HEAD_BYTES, Kind, sniff};
use std::path::{Path, PathBuf};

const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared");

fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(Path::new(SHARED).join(folder)) else {
        eprintln!("skipped: {folder} is absent");
        return Vec::new();
    };
    entries.flatten().map(|e| e.path()).filter(|p| p.to_string_lossy().ends_with(end)).collect()
}

fn sniff_file(path: &Path, name: &str) -> Kind {
    let bytes = std::fs::read(path).unwrap();
    sniff(&bytes[..bytes.len().min(HEAD_BYTES)], bytes.len() as u64, name)
}

#[test]
fn captures_and_plans_are_known_with_and_without_their_names() {
    for folder in ["captures/public", "captures/made", "scenarios"] {
        for path in files(folder, ".xplane.pb") {
            let own = path.file_name().unwrap().to_string_lossy().into_owned();
            let expected =
                if own.starts_with("mangled") { Kind::Foreign(Foreign::Mangled) } else { Kind::Xspace };
            assert_eq!(sniff_file(&path, &own), expected, "{own}");
            assert_eq!(sniff_file(&path, "download"), expected, "{own} renamed");
        }
    }
    for folder in ["plans/cuda", "plans/cuda-jax0.12", "plans/tpu", "plans/scenarios"] {
        for path in files(folder, ".hlo.pb") {
            assert_eq!(sniff_file(&path, ""), Kind::HloProto, "{}", path.display());
            // The module alone, out of its HloProto: field 1.
            let bytes = std::fs::read(&path).unwrap();
            let mut cursor = oomscope::bytes::wire::Cursor::new(&bytes);
            let (_, module) = cursor.field().unwrap().unwrap();
            let module = module.bytes();
            assert_eq!(
                sniff(&module[..module.len().min(HEAD_BYTES)], module.len() as u64, "x.pb"),
                Kind::Foreign(Foreign::ModuleAlone)
            );
        }
        for path in files(folder, ".json") {
            assert_eq!(sniff_file(&path, ""), Kind::Foreign(Foreign::Json));
        }
    }
    for path in files("plans/tpu", ".txt") {
        assert_eq!(sniff_file(&path, ""), Kind::Text);
    }
    for path in files("captures/made", ".prof") {
        assert_eq!(sniff_file(&path, ""), Kind::Gzip);
    }
}

#[test]
fn a_cut_capture_is_still_a_capture() {
    for path in files("captures/public", "cpu-exla-2024.xplane.pb") {
        let bytes = std::fs::read(&path).unwrap();
        for len in [64, 200, 1000, 1500] {
            assert_eq!(sniff(&bytes[..len.min(HEAD_BYTES)], len as u64, "a"), Kind::Xspace, "cut to {len}");
        }
    }
}

#[test]
fn small_messages() {
    // A capture of a host name alone; one of an empty plane; a bare pprof.
    assert_eq!(sniff(b"\x22\x04host", 6, ""), Kind::Xspace);
    assert_eq!(sniff(b"\x22\x0aabcdefghij", 12, "h.xplane.pb"), Kind::Xspace);
    assert_eq!(sniff(b"\x0a\x02\x08\x01", 4, ""), Kind::Xspace);
    assert_eq!(sniff(b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04", 12, ""), Kind::MemoryProfile);
}

#[test]
fn text_of_all_sorts() {
    for (head, name, expected) in [
        (&b"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3.41GiB."[..], "", Kind::Text),
        (b"\xff\xfeR\0E\0S\0O\0", "err.txt", Kind::Text),
        (b"\x1b[31mE0101 12:00:00 failed\x1b[0m\n", "log", Kind::Text),
        (b"caf\xe9 2026-01-01 12:00:00.1: W external/xla/bfc_allocator.cc:510]", "log", Kind::Text),
        (b"BufferAssignment:\nallocation 0: size 4,", "", Kind::BufferAssignmentText),
        (b"Total bytes used: 524348 (512.1KiB)\n", "", Kind::MemoryUsageText),
        (b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", "x", Kind::Foreign(Foreign::Timeline)),
        (b"{\"cells\":[{\"cell_type\":\"code\"", "a", Kind::Foreign(Foreign::Notebook)),
        (b"{\"a\":1}", "", Kind::Foreign(Foreign::Json)),
        (b"{\"a\":1}", "pasted text", Kind::Text),
        (b"<html><pre>RESOURCE_EXHAUSTED", "pasted text", Kind::Text),
        (b"HloModule jit_f", "pasted text", Kind::Foreign(Foreign::ProgramText)),
        (b"{\"log\":\"step 1\\n\",\"stream\":\"stderr\"}\n", "7f.log", Kind::Text),
        (b"<!DOCTYPE html><html>", "jax.xplane.pb", Kind::Foreign(Foreign::Html)),
        (b"<?xml version='1.0'?><Error>", "x.xplane.pb", Kind::Foreign(Foreign::Xml)),
        (b"version https://git-lfs.github.com/spec/v1\noid", "x.xplane.pb", Kind::Foreign(Foreign::Pointer)),
        (b"\nTotal bytes used: 2 (2B)\n\nUsed values:\n<0 x @0>", "", Kind::Foreign(Foreign::PlanPart)),
        (b"HloLiveRange (max 18):\n", "", Kind::Foreign(Foreign::PlanPart)),
        (b"Memory Space: default (color=0)\nTotal bytes: 4 (4B)", "", Kind::MemoryUsageText),
        (b"HloModule jit_step, is_scheduled=true", "a.txt", Kind::Foreign(Foreign::ProgramText)),
        (b"module @jit_step attributes", "a.mlir", Kind::Foreign(Foreign::ProgramText)),
    ] {
        assert_eq!(sniff(head, head.len() as u64, name), expected, "{}", String::from_utf8_lossy(head));
    }
}

#[test]
fn strays() {
    for (head, name, expected) in [
        (&b""[..], "a.xplane.pb", Foreign::Empty),
        (&[0; 64][..], "a.xplane.pb", Foreign::Zeros),
        (b"%PDF-1.7", "", Foreign::Pdf),
        (b"\x89PNG\r\n", "", Foreign::Image),
        (b"\x80\x04\x95\x10", "snapshot.pickle", Foreign::Pickle),
        (b"\x7fELF\x02", "", Foreign::Executable),
        (b"SQLite format 3\0", "", Foreign::Nsight),
        (b"\x28\xb5\x2f\xfd\x24", "a.zst", Foreign::Compressed),
        (b"\x93NUMPY\x01", "", Foreign::Arrays),
        (b"\x40\0\0\0\0\0\0\0{\"__metadata__\"", "", Foreign::Arrays),
        (
            b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\x80\x1f\x12\xda\x41\x1a\x0dbrain.Event:2",
            "",
            Foreign::TensorBoardEvents,
        ),
        (b"\x12\x04\x08\x01\x10\x02\x0a\x02\x08\x01", "h.op_stats.pb", Foreign::Derived),
        (b"\x0a\x07\x08\x24\x10\x00\x1a\x01a", "m.gpu-memory-usage-report.pb", Foreign::PlanPart),
        (b"\x9c\x11\xfe\x00\x8a\x91\xe0", "", Foreign::Unknown),
        // A gzip file through a text conversion.
        (b"\x1f\xef\xbf\xbd\x08\0\0\0\xef\xbf\xbd\x03", "a.gz", Foreign::Mangled),
    ] {
        assert_eq!(sniff(head, head.len() as u64, name), Kind::Foreign(expected), "{name}");
    }
}

/// Any bytes at all: no panic, whatever the answer.
#[test]
fn no_bytes_break_it() {
    let mut state = 7u64;
    for round in 0..20_000u64 {
        let len = (round % 40) as usize;
        let bytes: Vec<u8> = (0..len)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Small bytes make more protobuf heads.
                (state >> 56) as u8 & if round % 2 == 0 { 0x1f } else { 0xff }
            })
            .collect();
        let _ = sniff(&bytes, bytes.len() as u64 + round % 3, "x");
    }
}
