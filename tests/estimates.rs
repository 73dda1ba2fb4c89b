//! The interval that an estimate gives, made from one compiled program, beside what the program with the fix really needs.
#![allow(clippy::unwrap_used)]

mod support;

use oomscope::estimate::{Estimator, parse_list};
use oomscope::hlo::Hlo;
use oomscope::plan::Plan;
use oomscope::units::Bytes;
use serde_json::Value;
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A program, the same one with fixes, and which fixes.
const COMPILED: [(&str, &str, &str); 9] = [
    ("cuda/gpt_plain", "cuda/gpt_remat", "remat"),
    ("cuda/gpt_scan", "cuda/gpt_scan_remat", "remat"),
    ("cuda/big_attn", "cuda/big_attn_remat", "remat"),
    ("cuda/gpt_nodonate", "cuda/gpt_plain", "donate"),
    ("cuda/gpt_nodonate", "cuda/gpt_remat", "donate,remat"),
    ("cuda/llama7b_noremat", "cuda/llama7b_remat", "remat,batch/4"),
    ("cuda/gpt_plain", "cuda/gpt_bf16", "bf16,bf16-state"),
    ("scenarios/p2_gradients_kept", "scenarios/p2_fixed", "drop-outputs"),
    ("scenarios/p3_no_donation", "scenarios/p3_donated", "donate"),
];

/// No interval may be wider than this part of what is really needed.
const WIDEST: f64 = 0.35;

struct Row {
    program: String,
    fixes: String,
    need: Bytes,
    least: Bytes,
    most: Bytes,
    really: Bytes,
}

impl Row {
    fn of(program: &str, estimator: &Estimator, fixes: &str, really: Bytes) -> Row {
        let it = estimator.what_if(&parse_list(fixes).unwrap());
        assert!(it.applicable, "{program} {fixes}: {}", it.how);
        assert!(
            it.need.saturating_sub(it.least) <= it.acts_on,
            "{program} {fixes} saves more than it acts on"
        );
        let (need, least, most) = (it.need, it.least, it.most);
        Row { program: program.to_owned(), fixes: fixes.to_owned(), need, least, most, really }
    }

    fn width(&self) -> f64 {
        self.most.saturating_sub(self.least).0 as f64 / self.really.0 as f64
    }

    fn check(&self) {
        let Row { program, fixes, least, most, really, .. } = self;
        assert!(
            (least..=most).contains(&really),
            "{program} {fixes}: really {really}, estimated {least} to {most}"
        );
        assert!(self.width() <= WIDEST, "{program} {fixes}: {:.2} of the need wide", self.width());
    }
}

fn estimator(bytes: Vec<u8>) -> Estimator {
    let hlo = Hlo::parse(bytes).unwrap();
    Estimator::new(&hlo, &Plan::build(&hlo, None)).unwrap()
}

/// What a program needs, by `compiled.memory_analysis()`.
fn need(analysis: &Value) -> Bytes {
    let of = |key: &str| analysis[key].as_u64().unwrap();
    let bytes = of("argument_size_in_bytes") + of("output_size_in_bytes") + of("temp_size_in_bytes");
    Bytes(bytes - of("alias_size_in_bytes"))
}

fn compiled() -> Vec<Row> {
    let Some(plans) = support::shared("plans") else { return Vec::new() };
    let row = |&(before, after, fixes): &(&str, &str, &str)| {
        let analysis = support::json(&plans.join(format!("{after}.memory_analysis.json")));
        let before_file = std::fs::read(plans.join(format!("{before}.hlo.pb"))).unwrap();
        let really = need(&analysis["memory_analysis"]);
        let name = before.split('/').next_back().unwrap();
        Row::of(name, &estimator(before_file), fixes, really)
    };
    COMPILED.iter().map(row).collect()
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/estimates")
}

/// Pairs that the rules were not made from.
fn held_out() -> Vec<Row> {
    let pairs: Value = support::json(&fixtures().join("pairs.json"));
    let mut out = Vec::new();
    for (program, fixes) in pairs["programs"].as_object().unwrap() {
        let packed = std::fs::read(fixtures().join(format!("{program}.hlo.pb.gz"))).unwrap();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
        let estimator = estimator(bytes);
        for (fixes, really) in fixes.as_object().unwrap() {
            out.push(Row::of(program, &estimator, fixes, Bytes(really.as_u64().unwrap())));
        }
    }
    out
}

#[test]
fn what_was_compiled_lies_inside() {
    compiled().iter().for_each(Row::check);
}

#[test]
fn what_was_held_out_lies_inside() {
    let rows = held_out();
    assert!(rows.len() >= 20);
    rows.iter().for_each(Row::check);
    let widths: f64 = rows.iter().map(Row::width).sum();
    assert!(widths / (rows.len() as f64) < 0.25, "{} wide on average", widths / rows.len() as f64);
}

/// The lives computed from the schedule give the peak that XLA's own simulation of the heap reached.
#[test]
fn lives_give_the_peak_of_xla() {
    let mut compared = 0;
    for folder in ["plans/cuda", "plans/cuda-jax0.12", "plans/scenarios"] {
        for path in support::files(folder, ".hlo.pb") {
            let hlo = Hlo::parse(std::fs::read(&path).unwrap()).unwrap();
            let plan = Plan::build(&hlo, None);
            let ours = Estimator::new(&hlo, &plan).unwrap().peak();
            let xla = plan.summary.space(0).unwrap().heap_peak.unwrap();
            let off = ours.0.abs_diff(xla.0) as f64 / xla.0 as f64;
            assert!(off < 0.002, "{}: {ours} instead of {xla}", path.display());
            compared += 1;
        }
    }
    assert!(compared == 0 || compared >= 20, "compared {compared}");
}

/// Every fix that is offered saves something, never more than it acts on, and leaves a need above zero.
#[test]
fn offers_hold_what_they_promise() {
    for folder in ["plans/cuda", "plans/scenarios", "plans/tpu"] {
        for path in support::files(folder, ".hlo.pb") {
            let hlo = Hlo::parse(std::fs::read(&path).unwrap()).unwrap();
            let Some(estimator) = Estimator::new(&hlo, &Plan::build(&hlo, None)) else { continue };
            for fix in estimator.offered() {
                let it = estimator.estimate(fix);
                let what = format!("{} {fix}: {it:?}", path.display());
                assert!(it.applicable && it.least < it.need && it.least <= it.most, "{what}");
                assert!(it.need.saturating_sub(it.least) <= it.acts_on, "{what}");
                assert!(
                    it.least > Bytes::ZERO && it.launch_least <= it.least && it.launch_most <= it.most,
                    "{what}"
                );
                assert!(!it.how.is_empty() && !it.cost.is_empty(), "{what}");
            }
        }
    }
}

/// `docs/estimates.md` shows these very numbers. `OOMSCOPE_UPDATE=1 cargo test --test estimates` writes them.
#[test]
fn the_page_shows_these_numbers() {
    let compiled = compiled();
    if compiled.is_empty() {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/estimates.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut made = page.clone();
    for (name, rows) in [("compiled", compiled), ("held out", held_out())] {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let start = made.find(&begin).unwrap() + begin.len();
        let stop = made.find(&end).unwrap();
        made.replace_range(start..stop, &table(&rows));
    }
    if std::env::var_os("OOMSCOPE_UPDATE").is_some() {
        std::fs::write(&path, made).unwrap();
    } else {
        assert!(page == made, "docs/estimates.md: OOMSCOPE_UPDATE=1 cargo test --test estimates");
    }
}

fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "| program | fixes | needs now | at least | at most | really | width |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let Row { program, fixes, need, least, most, really } = row;
        let width = row.width() * 100.0;
        _ = writeln!(out, "| {program} | `{fixes}` | {need} | {least} | {most} | {really} | {width:.0} % |");
    }
    out
}
