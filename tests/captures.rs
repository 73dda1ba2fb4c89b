//! The captures kept in the project: `tests/fixtures/captures/NAME.xplane.pb.gz`, with what is right of each in
//! `NAME.json`, from a source other than this program. A new pair of files is a new test.

use oomscope::analysis::{self, Options};
use oomscope::model::{Outcome, Severity, VerdictStatus};
use serde::Deserialize;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What is right of a capture.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Truth {
    /// Who made it, and with what.
    #[serde(rename = "made_by")]
    _made_by: String,
    /// The module analysed, without its number.
    module: String,
    status: VerdictStatus,
    /// Those of the module that ran.
    executions: usize,
    /// Errors and warnings.
    #[serde(default)]
    findings: Vec<String>,
    /// JAX's own numbers of that module.
    memory_analysis: Value,
}

#[test]
fn the_captures_kept_here_are_read_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/captures");
    let mut read = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(stem) = path.to_str().unwrap().strip_suffix(".xplane.pb.gz") else { continue };
        let truth: Truth = serde_json::from_slice(&fs::read(format!("{stem}.json")).unwrap()).unwrap();
        let packed = fs::read(&path).unwrap();
        let bytes = analysis::unpacked(&packed.as_slice(), "capture.xplane.pb.gz", 64 << 20).unwrap();
        let mut session = analysis::read(bytes.as_slice(), "capture.xplane.pb", |_| {}).unwrap();
        let report = session.report(&Options::default());

        let module = report.modules.iter().find(|m| Some(&m.name) == report.module.as_ref()).unwrap();
        assert_eq!(module.base_name, truth.module, "{stem}");
        assert_eq!(report.verdict.status, truth.status, "{stem}");
        let of_it = report.executions.iter().filter(|e| e.program_id.as_ref() == Some(&module.program_id));
        assert_eq!(of_it.filter(|e| e.outcome == Outcome::Ran).count(), truth.executions, "{stem}");
        let loud = report.findings.iter().filter(|f| f.severity < Severity::Note).map(|f| f.id.clone());
        assert_eq!(loud.collect::<Vec<_>>(), truth.findings, "{stem}");
        let ours = serde_json::to_value(module.memory_analysis.as_ref().unwrap()).unwrap();
        for (key, value) in truth.memory_analysis.as_object().unwrap() {
            assert_eq!(&ours[key], value, "{stem}: {key}");
        }
        read += 1;
    }
    assert!(read > 0, "no capture is kept");
}
