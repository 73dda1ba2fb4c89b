//! Device memory profiles that JAX wrote: sums, places, changes, and names for arrays that a capture knows by size alone.
#![allow(clippy::unwrap_used)]

use oomscope::evidence::Kind;
use oomscope::evidence::archive::{Limits, walk};
use oomscope::evidence::memory_profile::{MemoryProfile, NotAProfile, Tree, changes, match_sizes};
use oomscope::proto::pprof;
use oomscope::units::{Bytes, Evidence};
use prost::Message;
use std::ops::ControlFlow;

/// Reads a profile as it is given: gzipped.
fn open(path: &str) -> Option<MemoryProfile> {
    let Ok(packed) = std::fs::read(path) else {
        eprintln!("skipped: {path} is absent");
        return None;
    };
    let mut found = None;
    walk(&packed.as_slice(), path, &Limits::default(), &mut |file| {
        assert_eq!(file.kind, Kind::MemoryProfile);
        let bytes = file.source.read_range(0..file.source.len()).unwrap();
        let (profile, warnings) = MemoryProfile::read(&bytes).unwrap();
        assert_eq!(warnings, []);
        found = Some(profile);
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}

fn fixture(name: &str) -> MemoryProfile {
    open(&format!("{}/tests/fixtures/memory_profile/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn line(profile: &MemoryProfile, at: usize) -> (String, u64, String) {
    let place = profile.place(&profile.stacks[at]).unwrap();
    let file = place.file.rsplit('/').next().unwrap().to_owned();
    (file, place.line.unwrap(), place.function.clone().unwrap())
}

#[test]
fn sums_and_places() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/captures/made/cpu-jax0.10.2-memory.prof");
    let Some(profile) = open(path) else { return };
    let totals: Vec<_> =
        profile.totals.iter().map(|t| (t.device.as_deref(), t.kind.as_str(), t.count, t.bytes.0)).collect();
    assert_eq!(totals, [(Some("cpu:0"), "buffer", 6, 13_631_488), (None, "executable", 6, 0)]);
    assert_eq!(profile.array_bytes(None), Bytes(13_631_488));
    assert_eq!(profile.array_bytes(Some("cpu:1")), Bytes(0));
    let largest: Vec<_> = (0..2).map(|i| line(&profile, i)).collect();
    assert!(largest.contains(&("leak.py".into(), 5, "make_params".into())), "{largest:?}");
    assert!(largest.contains(&("leak.py".into(), 3, "load_dataset".into())), "{largest:?}");
    assert!(profile.frames.iter().any(|f| f.inside_jax) && profile.frames.iter().any(|f| !f.inside_jax));
}

#[test]
fn what_grew_between_two_profiles() {
    let (before, after) = (fixture("keep-before.prof"), fixture("keep-after.prof"));
    assert_eq!(before.array_bytes(None), Bytes(21_504_000));
    let changed = changes(&before, &after);
    // Three results of three arrays were kept by train(), called at line 35; nothing else changed.
    assert_eq!(changed.len(), 1, "{changed:#?}");
    assert_eq!((changed[0].growth(), changed[0].count_before, changed[0].count_after), (31_469_568, 0, 9));
    let stack = after.stacks.iter().find(|s| s.bytes == changed[0].bytes_after).unwrap();
    let sizes: Vec<_> = stack.sizes.iter().map(|a| (a.bytes.0, a.count)).collect();
    assert_eq!(sizes, [(8_388_608, 3), (2_097_152, 3), (4_096, 3)]);
    let place = &changed[0].frames[changed[0].user_frame.unwrap() as usize];
    assert_eq!((place.line, place.function.as_deref()), (Some(27), Some("train")));
    assert_eq!(changed[0].frames.last().unwrap().line, Some(35));
    let total: i64 = changed.iter().map(|c| c.growth()).sum();
    assert_eq!(total, after.array_bytes(None).0 as i64 - before.array_bytes(None).0 as i64);
    // Backwards it shrank.
    assert_eq!(changes(&after, &before)[0].growth(), -31_469_568);
    assert_eq!(changes(&after, &after), []);
}

#[test]
fn the_tree_adds_up() {
    let profile = fixture("keep-after.prof");
    let tree = Tree::of(&profile, None);
    let root = &tree.nodes[0];
    assert_eq!(root.bytes, profile.array_bytes(None));
    for node in &tree.nodes {
        let below: Bytes = node.children.iter().map(|&c| tree.nodes[c as usize].bytes).sum();
        assert_eq!(below + node.own_bytes, node.bytes);
        let sizes: Vec<_> = node.children.iter().map(|&c| tree.nodes[c as usize].bytes).collect();
        assert!(sizes.is_sorted_by(|a, b| a >= b), "largest first");
    }
    // The module's line 35 called train: 31.5 MB, the largest branch.
    let module = &tree.nodes[root.children[0] as usize];
    let frame = &profile.frames[module.frame.unwrap() as usize].at;
    assert_eq!((frame.function.as_deref(), frame.line), (Some("<module>"), Some(35)));
    assert_eq!(module.bytes, Bytes(31_469_568));
    assert!(tree.nodes.iter().skip(1).all(|n| !profile.frames[n.frame.unwrap() as usize].inside_jax));
}

#[test]
fn arrays_from_before_a_capture_get_their_places() {
    let profile = fixture("keep-after.prof");
    let sizes = [(Bytes(8_388_608), 4), (Bytes(524_288), 1), (Bytes(4_096), 2), (Bytes(777 * 256), 1)];
    let found = match_sizes(&profile, Some("cpu:0"), &sizes);
    let told: Vec<_> =
        found.iter().map(|m| (m.chunk_bytes.0, m.count, m.profile_count, m.places.len())).collect();
    // The first 8 MiB arrays: 3 kept and 1 warm by train(), 1 by init().
    assert_eq!(told, [(8_388_608, 4, 5, 2), (524_288, 1, 1, 1), (4_096, 2, 5, 2)]);
    assert_eq!((found[0].places[0].0.function.as_deref(), found[0].places[0].1), (Some("train"), 4));
    assert!(found.iter().all(|m| m.evidence == Evidence::Inferred));
    assert_eq!(match_sizes(&profile, Some("cuda:0"), &sizes), []);
}

#[test]
fn other_profiles_and_damage() {
    let cpu_profile = pprof::Profile {
        sample_type: vec![pprof::ValueType { r#type: 1, unit: 2 }],
        string_table: vec!["".into(), "cpu".into(), "nanoseconds".into()],
        ..Default::default()
    };
    let error = MemoryProfile::read(&cpu_profile.encode_to_vec()).unwrap_err();
    assert!(error.to_string().contains("something else (cpu/nanoseconds)"), "{error}");
    assert!(matches!(MemoryProfile::read(b"\x0a\xff"), Err(NotAProfile::Malformed(_))));

    // Numbers that no profiler writes: ids and strings that are not there, values that are negative or huge.
    let hostile = pprof::Profile {
        sample_type: vec![pprof::ValueType { r#type: 1, unit: 2 }, pprof::ValueType { r#type: 3, unit: 4 }],
        sample: vec![
            pprof::Sample { location_id: vec![9, 1], value: vec![i64::MAX, i64::MAX], label: vec![] },
            pprof::Sample {
                location_id: vec![1],
                value: vec![-1, -1],
                label: vec![pprof::Label { key: 99, str: -4, num: 0 }],
            },
            pprof::Sample { location_id: vec![1, 9], value: vec![i64::MAX, i64::MAX], label: vec![] },
            pprof::Sample { location_id: vec![], value: vec![3], label: vec![] },
        ],
        location: vec![pprof::Location { id: 1, line: vec![pprof::Line { function_id: 77, line: -5 }] }],
        function: vec![],
        string_table: ["", "allocations", "count", "space", "bytes"].map(String::from).to_vec(),
    };
    let (profile, warnings) = MemoryProfile::read(&hostile.encode_to_vec()).unwrap();
    assert_eq!(warnings[0].code, "profile-frames-missing");
    assert_eq!(profile.totals[0].bytes, Bytes(2 * i64::MAX as u64));
    let tree = Tree::of(&profile, None);
    assert_eq!(tree.nodes[0].bytes, profile.array_bytes(None));
    let _ = match_sizes(&profile, None, &[(Bytes(u64::MAX), u64::MAX)]);
    let _ = changes(&profile, &profile);
}
