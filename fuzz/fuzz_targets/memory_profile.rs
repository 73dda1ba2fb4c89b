//! Device memory profiles: alone, beside an earlier one, and beside a capture.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomscope::analysis::{Options, read};
use oomscope::evidence::memory_profile::{MemoryProfile, Tree, changes};
use oomscope::report::{markdown, text, to_json};
use oomscope::synth::scenarios::scenarios;
use std::sync::LazyLock;

/// The smallest capture.
static CAPTURE: LazyLock<Vec<u8>> =
    LazyLock::new(|| scenarios().into_iter().map(|s| s.bytes).min_by_key(Vec::len).unwrap_or_default());

// Making it is no part of the time that an input takes.
fuzz_target!(init: { LazyLock::force(&CAPTURE); }, |bytes: &[u8]| {
    let Ok((profile, _)) = MemoryProfile::read(bytes) else { return };
    std::hint::black_box((profile.array_bytes(None), Tree::of(&profile, None)));
    if let Ok((earlier, _)) = MemoryProfile::read(&bytes[..bytes.len() / 2]) {
        std::hint::black_box(changes(&earlier, &profile));
    }
    if let Ok(mut session) = read(bytes, "memory.prof", |_| {}) {
        let report = session.report(&Options::default());
        std::hint::black_box((text(&report), markdown(&report), to_json(&report)));
    }
    if let Ok(mut session) = read(CAPTURE.as_slice(), "host.xplane.pb", |_| {}) {
        let _ = session.add_memory_profile(bytes);
        std::hint::black_box(text(&session.report(&Options::default())));
    }
});
