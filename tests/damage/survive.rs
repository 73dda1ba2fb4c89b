//! What every file must lead to, whatever its bytes.

use oomscope::analysis::{Options, read};
use oomscope::report::{markdown, text, to_json};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Far more than any of these files needs, on a machine that is busy with other things.
const SLOW: Duration = Duration::from_secs(5);

/// What the file's report comes to, where it has one; what went wrong otherwise.
pub fn check(file: &[u8], name: &str) -> Result<Option<String>, String> {
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| whole(file, name)));
    let took = start.elapsed();
    let outcome = result.map_err(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        let text = text.or_else(|| cause.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        format!("panic: {}", text.unwrap_or_default())
    })??;
    if took > SLOW {
        return Err(format!("{} bytes took {took:?}", file.len()));
    }
    Ok(outcome)
}

/// The whole pipeline with all its texts.
fn whole(file: &[u8], name: &str) -> Result<Option<String>, String> {
    let mut session = match read(file, name, |_| {}) {
        Ok(session) => session,
        Err(refusal) => {
            let sentence = refusal.to_string();
            let said = sentence.len() > 20 && sentence.len() < 1000;
            return if said { Ok(None) } else { Err(format!("no kind sentence: {sentence:?}")) };
        }
    };
    let options = Options::default();
    let report = session.report(&options);
    let again = session.report(&options);
    let json = to_json(&report);
    if json != to_json(&again) {
        return Err("asked twice, the report differs".into());
    }
    if json.len() > 2_000_000 {
        return Err(format!("a report of {} bytes", json.len()));
    }
    let value: Value = serde_json::from_str(&json).map_err(|e| format!("no JSON: {e}"))?;
    sound(&value, "")?;
    for text in [text(&report), markdown(&report)] {
        if text.is_empty() || text.contains("NaN") {
            return Err("an empty text or a NaN in it".into());
        }
    }
    let _ = session.plan_at(0, &options);
    let _ = session.plan_at(u64::MAX, &options);
    let mut codes: Vec<&str> = report.warnings.iter().map(|w| w.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    let findings = report.findings.iter().map(|f| f.id.as_str());
    Ok(Some(codes.into_iter().chain(findings).collect::<Vec<_>>().join(" ")))
}

/// Numbers that JavaScript holds exactly, shares from 0 to 1, and peaks that nothing exceeds.
fn sound(value: &Value, path: &str) -> Result<(), String> {
    match value {
        Value::Number(n) => {
            let key = path.rsplit('.').next().unwrap_or_default();
            match n.as_f64() {
                Some(v) if v.abs() > 9_007_199_254_740_992.0 => Err(format!("{path} is {n}, beyond 2^53")),
                Some(v) if key == "share" && !(-1e-9..=1.0 + 1e-9).contains(&v) => {
                    Err(format!("{path} is {n}"))
                }
                _ => Ok(()),
            }
        }
        Value::Array(items) => items.iter().try_for_each(|item| sound(item, path)),
        Value::Object(fields) => {
            fields.iter().try_for_each(|(key, item)| sound(item, &format!("{path}.{key}")))?;
            roles_add_up(value, path)
        }
        _ => Ok(()),
    }
}

/// The roles of a peak have all its bytes.
fn roles_add_up(value: &Value, path: &str) -> Result<(), String> {
    let (Some(bytes), Some(roles)) = (value["bytes"].as_u64(), value["roles"].as_array()) else {
        return Ok(());
    };
    let sum: u64 = roles.iter().filter_map(|r| r["bytes"].as_u64()).fold(0, u64::saturating_add);
    // What saturates no longer adds up.
    if roles.is_empty() || sum == bytes || bytes == (1 << 53) - 1 {
        Ok(())
    } else {
        Err(format!("{path}: roles of {sum} in a peak of {bytes}"))
    }
}
