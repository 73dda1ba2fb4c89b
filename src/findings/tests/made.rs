//! Reports made by hand, for the tests of rules: a GPU, a pool, a step, and what the test adds.

use crate::findings::{Case, Detail, detail};
use crate::model::*;
use crate::units::{Bytes, Evidence, Picos};
use std::collections::BTreeMap;

/// One MiB.
pub const MIB: u64 = 1 << 20;

/// A capture of one module `jit_train_step(17)` on one GPU with a card of 4000 MiB and a pool of 3000 MiB.
///
/// The step has 300 MiB of parameters, all donated, 1 KiB of other outputs and 400 MiB of temp.
pub fn report() -> Report {
    let space = Space {
        space: 0,
        name: "HBM".into(),
        parameters_bytes: Bytes(300 * MIB),
        donated_bytes: Bytes(300 * MIB),
        donor_bytes: Bytes(0),
        outputs_bytes: Bytes(1024),
        constants_bytes: Bytes(0),
        thread_local_bytes: Bytes(0),
        temp_bytes: Bytes(400 * MIB),
        temp_blocks: vec![Bytes(400 * MIB)],
        heap_peak_bytes: Some(Bytes(400 * MIB)),
        need_bytes: Bytes(700 * MIB + 1024),
        launch_need_bytes: Bytes(400 * MIB + 1024),
    };
    let module = Module {
        name: "jit_train_step(17)".into(),
        base_name: "jit_train_step".into(),
        program_id: "17".into(),
        instructions: 5000,
        executions: Some(0),
        rematerialized_instructions: 0,
        spaces: vec![space],
        memory_analysis: None,
    };
    Report {
        schema: "oomscope/1".into(),
        tool: Tool { name: "oomscope".into(), version: "0".into() },
        source: SourceInfo {
            file: "made.xplane.pb".into(),
            size_bytes: Bytes(1),
            host: None,
            kind: SourceKind::Xspace,
        },
        platform: Platform {
            backend: Some(Backend::Gpu),
            vendor: Some("Nvidia".into()),
            jax_version: None,
            devices: vec![Device {
                ordinal: 0,
                plane: "/device:GPU:0".into(),
                name: None,
                memory_bytes: Some(Bytes(4000 * MIB)),
            }],
        },
        given: Given::default(),
        warnings: Vec::new(),
        verdict: Verdict {
            status: VerdictStatus::CannotTell,
            sentence: String::new(),
            evidence: Evidence::Read,
        },
        module: Some(module.name.clone()),
        module_why: None,
        modules: vec![module],
        plan: Some(PlanReport {
            module: "jit_train_step(17)".into(),
            peak: None,
            curve: None,
            donation: Donation { pairs: Vec::new(), missed_bytes: Bytes(0), donors: Vec::new() },
        }),
        allocators: vec![pool(0)],
        executions: Vec::new(),
        retries: Vec::new(),
        live_at_last_start: Vec::new(),
        op_by_op: None,
        between_executions: Vec::new(),
        findings: Vec::new(),
        limits: Vec::new(),
        omitted: Omitted::default(),
        error_text: None,
        text_plan: None,
        memory_profile: None,
    }
}

/// The pool of a device: 3000 MiB, at most 700 MiB of it in use.
pub fn pool(device: u32) -> Allocator {
    Allocator {
        name: format!("GPU_{device}_bfc"),
        kind: AllocatorKind::Device,
        device: Some(device),
        capacity_bytes: Some(Bytes(3000 * MIB)),
        card_share: Some(0.75),
        preallocated: Some(true),
        events: 10,
        in_use_start_bytes: Some(Bytes(300 * MIB)),
        in_use_end_bytes: Some(Bytes(300 * MIB)),
        peak_bytes: Some(Bytes(700 * MIB)),
        peak_at_ps: Some(Picos(0)),
        peak_times: 1,
        lifetime_peak_bytes: Some(Bytes(700 * MIB)),
        rounding_loss_bytes: Some(Bytes(0)),
        free_at_peak_bytes: Some(Bytes(2300 * MIB)),
        largest_free_at_peak_bytes: Some(Bytes(2300 * MIB)),
        largest_free_error_bytes: Some(Bytes(0)),
        chain_breaks: 0,
        live_at_peak: Vec::new(),
        before_capture_at_peak_bytes: Some(Bytes(0)),
        timeline: Timeline::default(),
        pool_growths: 0,
        least_free: None,
    }
}

/// Adds an execution of the step that starts with `mib` in use.
pub fn ran(report: &mut Report, mib: u64) {
    let number = report.executions.len() as u64;
    report.executions.push(Execution {
        module: Some("jit_train_step(17)".into()),
        program_id: Some("17".into()),
        device: Some(0),
        allocator: Some("GPU_0_bfc".into()),
        number,
        start_ps: Picos(number as i64 * 1_000_000_000),
        duration_ps: Picos(1_000_000),
        in_use_start_bytes: Some(Bytes(mib * MIB)),
        requested_bytes: vec![Bytes(1024), Bytes(400 * MIB)],
        kernels: Some(300),
        outcome: Outcome::Ran,
        in_flight: None,
    });
}

/// Adds an execution that starts with `mib` in use and fails to get its temp block after a wait of 10 s, with the largest free
/// chunk of `largest` MiB.
pub fn failed(report: &mut Report, mib: u64, largest: u64) {
    ran(report, mib);
    let temp = report.modules[0].spaces[0].temp_bytes;
    let last = report.executions.len() - 1;
    report.executions[last].outcome = Outcome::Failed;
    report.executions[last].requested_bytes.truncate(1);
    report.executions[last].kernels = Some(0);
    report.retries.push(Retry {
        allocator: Some("GPU_0_bfc".into()),
        at_ps: Picos(0),
        duration_ps: Picos(10_000_000_000_000),
        execution: Some(last as u64),
        outcome: RetryOutcome::Failed,
        missing: Some(MissingAllocation {
            allocation: Some(408),
            bytes: temp,
            kind: BufferKind::Temp,
            what: "temp block".into(),
            obtained: 1,
            planned: 2,
            evidence: Evidence::Inferred,
        }),
        in_use_bytes: Some(Bytes(mib * MIB)),
        free_bytes: Some(Bytes(3000 * MIB).saturating_sub(Bytes(mib * MIB))),
        largest_free_bytes: Some(Bytes(largest * MIB)),
        largest_free_error_bytes: Some(Bytes(MIB)),
        freed: None,
        evidence: Evidence::Measured,
    });
}

/// Makes the step need `temp` MiB of temp.
pub fn with_temp(report: &mut Report, temp: u64) {
    let space = &mut report.modules[0].spaces[0];
    space.temp_bytes = Bytes(temp * MIB);
    space.temp_blocks = vec![space.temp_bytes];
    space.need_bytes = space.parameters_bytes + space.outputs_bytes + space.temp_bytes;
    space.launch_need_bytes = space.outputs_bytes + space.temp_bytes;
}

/// Gives the plan a peak of `buffers`: shape, MiB, count, role.
pub fn with_peak(report: &mut Report, buffers: &[(&str, u64, u64, Role)]) {
    let mut roles: BTreeMap<Role, Bytes> = BTreeMap::new();
    for &(_, mib, count, role) in buffers {
        *roles.entry(role).or_default() += Bytes(mib * count * MIB);
    }
    let bytes: Bytes = roles.values().copied().sum();
    let roles = roles
        .into_iter()
        .map(|(role, b)| RoleShare { role, bytes: b, share: b.share_of(bytes).unwrap() })
        .collect();
    let buffers = buffers
        .iter()
        .map(|&(shape, mib, count, role)| Buffer {
            bytes: Bytes(mib * MIB),
            count,
            kind: BufferKind::Temp,
            shape: shape.into(),
            instruction: "fusion.1".into(),
            opcode: "fusion".into(),
            role,
            role_evidence: Evidence::Read,
            op_name: None,
            source: Some(SourceLine {
                file: "/home/me/model.py".into(),
                line: Some(41),
                function: Some("block".into()),
            }),
            frames: Vec::new(),
            allocation: 408,
            offset_bytes: Bytes(0),
            first_event: Some(10),
            last_event: Some(900),
        })
        .collect();
    let peak = Peak { bytes, event: 500, events: 1000, instruction: None, buffers, roles };
    report.plan.as_mut().unwrap().peak = Some(peak);
}

/// Live arrays at the last start.
pub fn live(report: &mut Report, kind: LiveKind, origin: &str, mib: u64, execution: Option<u64>) {
    report.live_at_last_start.push(LiveGroup {
        origin: origin.into(),
        kind,
        module: execution.map(|_| "jit_train_step(17)".into()),
        execution,
        outputs: Vec::new(),
        count: Some(1),
        bytes: Bytes(mib * MIB),
        frame: None,
    });
}

/// The findings of a report, by id.
pub fn findings(report: &Report, detail: &Detail) -> BTreeMap<String, Finding> {
    let case = Case::new(report, Some(detail), None);
    crate::findings::findings(&case).into_iter().map(|f| (f.id.clone(), f)).collect()
}

/// Their ids that are errors or warnings.
pub fn grave(report: &Report, detail: &Detail) -> Vec<String> {
    let all = findings(report, detail);
    all.values().filter(|f| f.severity < Severity::Note).map(|f| f.id.clone()).collect()
}

/// A parameter in one argument.
pub fn parameter(path: &str, shape: &str, bytes: u64, donated: bool) -> crate::plan::Parameter {
    crate::plan::Parameter {
        number: 0,
        index: Vec::new(),
        path: Some(path.into()),
        shape: detail::parse_shape(shape).unwrap(),
        bytes: Bytes(bytes),
        color: 0,
        allocation: Some(0),
        donated,
        donor: false,
    }
}
