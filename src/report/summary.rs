//! The reports of many hosts as one: per device, never as a sum, the odd one out first.

use crate::arrange::Arrange;
use crate::capture::modules::split_name;
use crate::findings::RULES;
use crate::model::{AllocatorKind, Report, Severity, Space, Verdict, VerdictStatus};
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Many reports in one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// `oomscope-summary/1`.
    pub schema: String,
    /// How many captures went in.
    pub captures: u64,
    /// Every device of every host: those that differ from their peers first, then by peak.
    pub devices: Vec<DeviceRow>,
    /// The captures by how they ended, gravest first.
    pub verdicts: Vec<CaptureRow>,
    /// Findings over all captures, gravest first.
    pub findings: Vec<FindingRow>,
}

/// One capture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureRow {
    /// The file.
    pub file: String,
    /// The host.
    pub host: Option<String>,
    /// The module analysed.
    pub module: Option<String>,
    /// What its plan needs.
    pub need_bytes: Option<Bytes>,
    /// The capture's verdict.
    pub verdict: Verdict,
}

/// One device of one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceRow {
    /// The file.
    pub file: String,
    /// The host.
    pub host: Option<String>,
    /// The device's allocator.
    pub allocator: String,
    /// Its capacity.
    pub capacity_bytes: Option<Bytes>,
    /// The most in use.
    pub peak_bytes: Option<Bytes>,
    /// In use before the first event.
    pub in_use_start_bytes: Option<Bytes>,
    /// Peak − the median of the peaks of all devices of its kind whose captures analyse the same module, by its name and the
    /// sizes of its parameters and outputs; null where either is unknown, it is alone, or there are several captures of the device: runs one after the other.
    pub over_median_bytes: Option<i64>,
    /// Whether that is more than a hundredth of the capacity.
    pub differs: bool,
}

/// One finding over all captures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingRow {
    /// Its id.
    pub id: String,
    /// The gravest it was.
    pub severity: Severity,
    /// In how many captures.
    pub captures: u64,
    /// The sentence of the capture where it was gravest (the first of them).
    pub example: String,
    /// That capture's file.
    pub file: String,
}

/// Merges reports. The order of the reports does not matter.
#[must_use]
pub fn summarize(reports: &[Report]) -> Summary {
    let mut reports: Vec<&Report> = reports.iter().collect();
    reports.arrange_by(|a, b| (&a.source.host, &a.source.file).cmp(&(&b.source.host, &b.source.file)));
    let mut verdicts: Vec<CaptureRow> = reports
        .iter()
        .map(|r| CaptureRow {
            file: r.source.file.clone(),
            host: r.source.host.clone(),
            module: r.module.clone(),
            need_bytes: need(r),
            verdict: r.verdict.clone(),
        })
        .collect();
    verdicts.arrange_by_key(|row| gravity(row.verdict.status));
    Summary {
        schema: "oomscope-summary/1".into(),
        captures: reports.len() as u64,
        devices: devices(&reports),
        verdicts,
        findings: findings(&reports),
    }
}

/// What the plan of the module analysed needs of the device's memory.
fn need(report: &Report) -> Option<Bytes> {
    space(report).map(|s| s.need_bytes)
}

/// The totals of the module analysed in the device's memory.
fn space(report: &Report) -> Option<&Space> {
    let module = report.modules.iter().find(|m| Some(&m.name) == report.module.as_ref())?;
    module.spaces.iter().find(|s| s.space == 0)
}

fn gravity(status: VerdictStatus) -> u8 {
    match status {
        VerdictStatus::OutOfMemory => 0,
        VerdictStatus::AtRisk => 1,
        VerdictStatus::CannotTell => 2,
        VerdictStatus::Fits => 3,
    }
}

fn devices(reports: &[&Report]) -> Vec<DeviceRow> {
    let mut rows: Vec<DeviceRow> = Vec::new();
    // By row: what it ran, on what kind of device.
    let mut programs = Vec::new();
    for r in reports {
        let sizes = space(r).map(|s| (s.parameters_bytes, s.outputs_bytes));
        let program = (r.platform.backend, r.module.as_deref().map(|name| split_name(name).0), sizes);
        for a in r.allocators.iter().filter(|a| a.kind == AllocatorKind::Device) {
            programs.push(program);
            rows.push(DeviceRow {
                file: r.source.file.clone(),
                host: r.source.host.clone(),
                allocator: a.name.clone(),
                capacity_bytes: a.capacity_bytes,
                peak_bytes: a.peak_bytes,
                in_use_start_bytes: a.in_use_start_bytes,
                over_median_bytes: None,
                differs: false,
            });
        }
    }
    // Several captures of one device are runs one after the other, no peers.
    let device = |r: &DeviceRow| (r.host.clone(), r.allocator.clone());
    let mut times: HashMap<(Option<String>, String), u32> = HashMap::new();
    for row in &rows {
        *times.entry(device(row)).or_default() += 1;
    }
    // Nor are those that ran another program.
    let mut peers: HashMap<_, Vec<usize>> = HashMap::new();
    for (i, row) in rows.iter().enumerate() {
        if row.peak_bytes.is_some() && times.get(&device(row)) == Some(&1) {
            peers.entry(programs[i]).or_default().push(i);
        }
    }
    for peers in peers.into_values().filter(|peers| peers.len() > 1) {
        let mut peaks: Vec<u64> = peers.iter().filter_map(|&i| rows[i].peak_bytes).map(|b| b.0).collect();
        peaks.arrange();
        let median = peaks[(peaks.len() - 1) / 2];
        for i in peers {
            let row = &mut rows[i];
            let Some(peak) = row.peak_bytes else { continue };
            let over = i64::try_from(i128::from(peak.0) - i128::from(median)).unwrap_or(i64::MAX);
            row.over_median_bytes = Some(over);
            row.differs = row.capacity_bytes.is_some_and(|c| over.unsigned_abs() > c.0 / 100);
        }
    }
    rows.arrange_by_key(|r| (!r.differs, std::cmp::Reverse(r.peak_bytes)));
    rows
}

fn findings(reports: &[&Report]) -> Vec<FindingRow> {
    let mut rows: BTreeMap<&str, FindingRow> = BTreeMap::new();
    for r in reports {
        for f in &r.findings {
            let row = rows.entry(&f.id).or_insert_with(|| FindingRow {
                id: f.id.clone(),
                severity: f.severity,
                captures: 0,
                example: f.sentence.clone(),
                file: r.source.file.clone(),
            });
            row.captures += 1;
            if f.severity < row.severity {
                row.severity = f.severity;
                row.example.clone_from(&f.sentence);
                row.file.clone_from(&r.source.file);
            }
        }
    }
    let mut rows: Vec<FindingRow> = rows.into_values().collect();
    // As in one report: causes before what says that something failed.
    let rank = |id: &str| RULES.iter().position(|rule| rule.id == id).unwrap_or(RULES.len());
    rows.arrange_by_key(|r| (r.severity, rank(&r.id), std::cmp::Reverse(r.captures)));
    rows
}
