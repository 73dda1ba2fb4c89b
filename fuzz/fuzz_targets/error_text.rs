//! Texts of failures: alone, and beside a capture. Text dumps of XLA are texts too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomscope::analysis::{Options, read};
use oomscope::evidence::error_text::{ErrorText, decode};
use oomscope::evidence::xla_text::XlaText;
use oomscope::report::{markdown, text, to_json};
use oomscope::synth::scenarios::scenarios;
use std::sync::LazyLock;

/// The smallest capture.
static CAPTURE: LazyLock<Vec<u8>> =
    LazyLock::new(|| scenarios().into_iter().map(|s| s.bytes).min_by_key(Vec::len).unwrap_or_default());

// Making it is no part of the time that an input takes.
fuzz_target!(init: { LazyLock::force(&CAPTURE); }, |bytes: &[u8]| {
    let pasted = decode(bytes);
    if let Some(dump) = XlaText::read(&pasted) {
        std::hint::black_box(dump.plan(25));
    }
    if ErrorText::read(&pasted).is_empty() {
        return;
    }
    if let Ok(mut session) = read(bytes, "log.txt", |_| {}) {
        let report = session.report(&Options::default());
        std::hint::black_box((text(&report), markdown(&report), to_json(&report)));
    }
    if let Ok(mut session) = read(CAPTURE.as_slice(), "host.xplane.pb", |_| {}) {
        session.add_error_text(&pasted);
        std::hint::black_box(text(&session.report(&Options::default())));
    }
});
