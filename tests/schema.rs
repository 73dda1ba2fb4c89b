//! The JSON Schemas are made from the Rust types and kept in the project: the documented ones of a report and of
//! a summary of reports, and the page's, from which its TypeScript types are made. After a change of the types:
//! `OOMSCOPE_UPDATE=1 cargo test --test schema && npm run types`.

use oomscope::model::{LiveMoment, PlanMoment, Report, WhatIf};
use oomscope::report::Summary;
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RestrictFormats};
use std::{env, fs, path::Path};

/// Everything the page gets from the core.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Page {
    report: Report,
    plan_moment: PlanMoment,
    live_moment: LiveMoment,
    what_if: WhatIf,
}

fn schema_of<T: JsonSchema>(id: &str) -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(RestrictFormats::default());
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("$id".into(), id.into());
    schema
}

fn check(file: &str, schema: &Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let made = serde_json::to_string_pretty(schema).unwrap() + "\n";
    if env::var_os("OOMSCOPE_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, made).unwrap();
    } else {
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == made, "{file} is not what the types say: OOMSCOPE_UPDATE=1 cargo test --test schema");
    }
}

#[test]
fn report_schema_is_current() {
    check("docs/report.schema.json", &schema_of::<Report>("oomscope/1"));
}

#[test]
fn summary_schema_is_current() {
    check("docs/summary.schema.json", &schema_of::<Summary>("oomscope-summary/1"));
}

#[test]
fn page_schema_is_current() {
    check("www/generated/page.schema.json", &schema_of::<Page>("oomscope/page"));
}
