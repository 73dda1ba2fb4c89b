//! The older made captures against their `.truth.json`.

use crate::support::{read, shared};
use oomscope::facts;
use oomscope::terms::{BufferKind, Outcome, RetryOutcome};
use serde_json::Value;

#[test]
fn simulated_runs_are_read_as_they_were_made() {
    let dir = shared().join("captures/made");
    let Ok(entries) = std::fs::read_dir(&dir) else {
        eprintln!("skipped: no captures at {}", dir.display());
        return;
    };
    let names = entries.map(|e| e.unwrap().file_name().to_str().unwrap().to_owned());
    let mut seen = 0;
    for name in names.filter_map(|f| Some(f.strip_suffix(".truth.json")?.to_owned())) {
        seen += 1;
        let text = std::fs::read_to_string(dir.join(format!("{name}.truth.json"))).unwrap();
        let truth: Value = serde_json::from_str(&text).unwrap();
        let it = read(&dir.join(format!("{name}.xplane.pb")));
        let executions = facts::run::executions(&it.run, &it.joined);
        let retries = facts::run::retries(&it.run, &it.joined);
        let steps = truth["steps"].as_array().unwrap();
        assert_eq!(executions.len(), steps.len(), "{name}");
        for (i, (e, step)) in executions.iter().zip(steps).enumerate() {
            assert_eq!(
                e.in_use_start_bytes.unwrap().0,
                step["in_use_at_start"].as_u64().unwrap(),
                "{name} {i}"
            );
            let requested: Vec<u64> = e.requested_bytes.iter().map(|b| b.0).collect();
            let wanted: Vec<u64> =
                step["requested"].as_array().unwrap().iter().map(|r| r.as_u64().unwrap()).collect();
            assert_eq!(requested, wanted, "{name} {i}");
            let Some(failed) = step["failed"].as_array() else {
                assert_eq!(e.outcome, Outcome::Ran, "{name} {i}");
                continue;
            };
            assert_eq!(e.outcome, Outcome::Failed, "{name} {i}");
            let retry = retries.iter().find(|r| r.execution == Some(i as u64)).unwrap();
            assert_eq!(retry.outcome, RetryOutcome::Failed);
            let missing = retry.missing.as_ref().unwrap();
            assert_eq!(missing.allocation, failed[0].as_i64(), "{name} {i}");
            assert_eq!(missing.bytes.0, failed[1].as_u64().unwrap(), "{name} {i}");
            assert_eq!(missing.kind == BufferKind::Temp, failed[2] == "temp", "{name} {i}");
        }
        let allocators = facts::run::allocators(&it.run, &it.joined, &it.platform);
        let ours = allocators.iter().find(|a| a.name == truth["allocator"].as_str().unwrap()).unwrap();
        assert_eq!(ours.peak_bytes.unwrap().0, truth["peak"].as_u64().unwrap(), "{name}");
        assert_eq!(ours.capacity_bytes.unwrap().0, truth["pool_limit"].as_u64().unwrap(), "{name}");
        let pool = &it.run.allocators.iter().find(|a| a.name == ours.name).unwrap().pool;
        if let Some(mapped) = pool.mapped.last().unwrap().1 {
            let wanted = truth["region_total"].as_u64().unwrap();
            assert!(
                mapped.bytes.abs_diff(wanted) <= mapped.error.unwrap(),
                "{name}: {mapped:?} is not {wanted}"
            );
        }
    }
    assert!(seen >= 6, "{seen} captures");
}
