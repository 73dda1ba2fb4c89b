//! Names of a capture are anyone's bytes: in a terminal they move no cursor and hide nothing, in Markdown they are no markup.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use oomscope::analysis::{Options, read};
use oomscope::proto::hlo::HloProto;
use oomscope::proto::xspace::{XSpace, x_stat::Value};
use oomscope::report::{markdown, text};
use oomscope::synth::scenarios::scenarios;
use prost::Message;

/// An escape sequence, one of a single character, overrides, what nobody sees, and markup of every kind.
const EVIL: &str = "\u{1b}]0;t\u{7}\u{1b}[31m\u{9b}2J\r\n\u{202e}\u{61c}\u{200b}\u{e0041}|`<b>![i](https://evil.example)*#1 @all $x$";

fn worse(name: &mut String) {
    // What stands at the end of a name may be its meaning: an id in brackets.
    let at = name.rfind('(').filter(|&at| at > 0).unwrap_or(name.len());
    name.insert_str(at, EVIL);
}

fn worse_plan(bytes: &mut Vec<u8>) {
    let Ok(mut hlo) = HloProto::decode(&**bytes) else { return };
    let Some(module) = &mut hlo.hlo_module else { return };
    worse(&mut module.name);
    for computation in &mut module.computations {
        for i in &mut computation.instructions {
            i.name.push_str(EVIL);
            if let Some(metadata) = &mut i.metadata {
                metadata.op_name.push_str(EVIL);
                metadata.source_file.push_str(EVIL);
            }
        }
    }
    if let Some(frames) = &mut module.stack_frame_index {
        frames.file_names.iter_mut().chain(&mut frames.function_names).for_each(|name| name.push_str(EVIL));
    }
    *bytes = hlo.encode_to_vec();
}

/// A capture with such a name for whatever is not a word of the profiler's own.
fn worse_capture(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut space = XSpace::decode(bytes).ok()?;
    space.hostnames.iter_mut().for_each(worse);
    for plane in &mut space.planes {
        let of_modules = plane.name == "/host:metadata";
        for metadata in plane.event_metadata.values_mut() {
            if of_modules || metadata.name.starts_with('$') {
                worse(&mut metadata.name);
            }
        }
        let stats = plane.event_metadata.values_mut().flat_map(|m| &mut m.stats);
        let events = plane.lines.iter_mut().flat_map(|l| &mut l.events).flat_map(|e| &mut e.stats);
        for stat in stats.chain(events).chain(&mut plane.stats) {
            match &mut stat.value {
                Some(Value::StrValue(name)) => name.push_str(EVIL),
                Some(Value::BytesValue(plan)) => worse_plan(plan),
                _ => {}
            }
        }
    }
    Some(space.encode_to_vec())
}

/// What moves a cursor or is not seen.
fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n') || "\u{202e}\u{61c}\u{200b}\u{e0041}".contains(c)
}

/// A line of Markdown without its pieces of code and its escapes, and whether the last piece of code ends.
fn without_code(line: &str) -> (String, bool) {
    let (mut bare, mut in_code) = (String::new(), false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '`' => in_code = !in_code,
            '\\' if !in_code => {
                chars.next();
            }
            c if !in_code => bare.push(c),
            _ => {}
        }
    }
    (bare, !in_code)
}

#[test]
fn texts_of_captures_with_hostile_names() {
    let mut told = 0;
    for scenario in scenarios() {
        let Some(capture) = worse_capture(&scenario.bytes) else { continue };
        let name = format!("host{EVIL}.xplane.pb");
        let report =
            read(capture.as_slice(), &name, |_| {}).expect("a made capture").report(&Options::default());
        let (text, markdown) = (text(&report), markdown(&report));
        for (form, page) in [("text", &text), ("Markdown", &markdown)] {
            let hidden = page.chars().find(|c| is_hidden(*c));
            assert_eq!(hidden, None, "{} as {form}", scenario.name);
            told += page.matches("\\u{202e}").count();
        }
        let (mut cells, mut fenced) = (None, false);
        for line in markdown.lines() {
            if line.starts_with("```") {
                fenced = !fenced;
                continue;
            }
            if fenced {
                continue;
            }
            let (bare, ends) = without_code(line);
            let own = ["<details><summary>", "</summary>", "</details>", "<!-- -->"];
            let bare = own.iter().fold(bare, |line, tag| line.replace(tag, "\0"));
            let markup = ["<", "](", "://", "@a", "#1", "$"].into_iter().find(|sign| bare.contains(sign));
            assert_eq!(markup, None, "{}: {line}", scenario.name);
            assert!(ends, "{}: {line}", scenario.name);
            let bars = bare.matches('|').count();
            cells = line.starts_with('|').then(|| *cells.get_or_insert(bars));
            assert!(cells.is_none_or(|n| n == bars), "{}: {line}", scenario.name);
        }
    }
    assert!(told > 150, "the names are shown {told} times");
}
