//! The text of a failure beside plans: which allocation it asked for, with the true sizes of real XLA compilations.
#![allow(clippy::unwrap_used, clippy::panic)]

use oomscope::evidence::error_text::{Candidate, ErrorText, MatchedBy, TextMatch, match_failure};
use oomscope::hlo::Hlo;
use oomscope::plan::Summary;
use oomscope::terms::{Backend, BufferKind};

const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/plans/scenarios");

/// The plans of the scenarios, named as in a capture.
fn plans() -> Vec<(String, Summary)> {
    let names = ["p1_attention_too_large", "p2_gradients_kept", "p3_no_donation", "p3_donated"];
    if !std::path::Path::new(PLANS).exists() {
        eprintln!("skipped: {PLANS} is absent");
        return Vec::new();
    }
    let read = |(i, name): (usize, &&str)| {
        let bytes = std::fs::read(format!("{PLANS}/{name}.hlo.pb")).unwrap();
        let summary = Summary::of(&Hlo::parse(bytes).unwrap(), Some(Backend::Gpu));
        (format!("{}({})", summary.name, i + 1), summary)
    };
    names.iter().enumerate().map(read).collect()
}

fn matched(text: &str, plans: &[(String, Summary)]) -> TextMatch {
    let read = ErrorText::read(text);
    let candidates: Vec<_> =
        plans.iter().map(|(name, summary)| Candidate { name, summary, refused: None }).collect();
    match_failure(read.main().unwrap(), &candidates)
}

/// A size as XLA prints it.
fn printed(bytes: u64) -> String {
    let (mut n, mut unit) = (bytes, 0);
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    while n >= 1024 * 1024 {
        n /= 1024;
        unit += 1;
    }
    let unit_name = ["KiB", "MiB", "GiB"][unit];
    if unit == 0 {
        format!("{:.1}{unit_name}", n as f64 / 1024.0)
    } else {
        format!("{:.2}{unit_name}", n as f64 / 1024.0)
    }
}

#[test]
fn the_request_is_the_temp_block() {
    let plans = plans();
    if plans.is_empty() {
        return;
    }
    for request in ["3.41GiB", "3666631960 bytes", "3.41GiB with allocator GPU_0_bfc on device 0"] {
        let found = matched(
            &format!("RESOURCE_EXHAUSTED: Out of memory while trying to allocate {request}."),
            &plans,
        );
        assert_eq!((found.module.as_deref(), found.by), (Some("jit_train_step(1)"), MatchedBy::Request));
        let [one] = found.request.as_slice() else { panic!("{found:#?}") };
        assert_eq!((one.kind, one.bytes.0), (BufferKind::Temp, 3_666_631_960));
        assert!(
            found.sentence.contains("is the temp block of jit_train_step(1) (3666631960 bytes)"),
            "{}",
            found.sentence
        );
    }
    // The rounded size narrows the interval to 256 bytes.
    let log = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.41GiB (rounded to 3666632192)requested by op";
    assert_eq!(matched(log, &plans).by, MatchedBy::Request);
    let other = log.replace("3666632192", "3666632448");
    assert_eq!(matched(&other, &plans).by, MatchedBy::Nothing);
}

#[test]
fn the_request_is_an_output() {
    let plans = plans();
    if plans.is_empty() {
        return;
    }
    let (name, summary) = &plans[1];
    let largest =
        summary.launch.iter().filter(|a| a.kind == BufferKind::Output).max_by_key(|a| a.size).unwrap();
    let text = format!("Out of memory while trying to allocate {} bytes.", largest.size.0);
    let found = matched(&text, &plans[1..2]);
    assert_eq!(found.module.as_ref(), Some(name));
    assert!(
        found.request.iter().any(|r| r.allocation == largest.index && r.what.starts_with("output")),
        "{found:#?}"
    );
}

#[test]
fn the_request_is_nothing_here() {
    let plans = plans();
    if plans.is_empty() {
        return;
    }
    let found = matched("Out of memory while trying to allocate 7.77GiB.", &plans);
    assert_eq!((found.module, found.by), (None, MatchedBy::Nothing));
    assert!(found.sentence.contains("no output and no temp block of the 4 modules"), "{}", found.sentence);
    let found =
        matched("Out of memory while trying to allocate 3.41GiB. [executable_name='jit_other']", &plans);
    assert_eq!(found.module, None);
    assert_eq!(found.sentence, "The capture holds no plan of jit_other, which your error is of.");
}

#[test]
fn totals_tell_the_module_and_its_differences() {
    let plans = plans();
    if plans.is_empty() {
        return;
    }
    // From memory_analysis.json of p3_no_donation, which JAX printed: argument, output, temp.
    let json: serde_json::Value = serde_json::from_slice(
        &std::fs::read(format!("{PLANS}/p3_no_donation.memory_analysis.json")).unwrap(),
    )
    .unwrap();
    let number = |key: &str| json["memory_analysis"][key].as_u64().unwrap();
    let [argument, output, temp] =
        ["argument_size_in_bytes", "output_size_in_bytes", "temp_size_in_bytes"].map(number);
    let text = format!(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate {}.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n\
         \x20            parameter allocation: {:>10}\n        maybe_live_out allocation: {:>10}\n\
         \x20    preallocated temp allocation: {:>10}\nPeak buffers:\n",
        printed(temp),
        printed(argument),
        printed(output),
        printed(temp)
    );
    let found = matched(&text, &plans);
    assert_eq!((found.module.as_deref(), found.by), (Some(plans[2].0.as_str()), MatchedBy::Totals));
    assert_eq!(found.differences, []);
    assert_eq!(found.request[0].bytes.0, temp);
    // The same text beside the donated compilation: another temp, as the names of both are one.
    let named = text.replace(".\nBuffer", ". [executable_name='jit_train_step']\nBuffer");
    let found = matched(&named, &plans[3..]);
    assert_eq!(found.by, MatchedBy::Name);
    let differing: Vec<_> = found.differences.iter().map(|d| d.what.as_str()).collect();
    assert_eq!(differing, ["preallocated temp allocation"]);
    assert!(found.sentence.contains("it is not the same compilation"), "{}", found.sentence);
}
