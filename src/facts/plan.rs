//! The plan of a module for the report.

use crate::arrange::Arrange;
use crate::capture::ModuleRef;
use crate::hlo::Hlo;
use crate::model::PlanMoment;
use crate::model::{
    Buffer, Curve, Donation, DonationPair, Donor, Module, Peak, PlanReport, RoleShare, Space,
};
use crate::plan::{Describer, Plan, PlanBuffer, Schedule, SpaceTotals, Summary};
use crate::terms::{BufferKind, Role, SourceLine};
use crate::units::{Bytes, Evidence, MOST_IN_JSON};
use std::collections::HashMap;

/// Points of the live curve: more than a wide screen has columns.
const CURVE_POINTS: usize = 2000;

/// The totals of a module.
#[must_use]
pub fn module(name: &ModuleRef, summary: &Summary, executions: Option<u64>) -> Module {
    let mut spaces: Vec<Space> = summary.spaces.iter().map(space).collect();
    spaces.arrange_by_key(|s| (s.space != 0, s.space));
    Module {
        name: name.name.clone(),
        base_name: name.base_name.clone(),
        program_id: name.program_id.to_string(),
        instructions: summary.instructions,
        executions,
        rematerialized_instructions: summary.rematerialized,
        spaces,
        memory_analysis: summary.memory_analysis,
    }
}

fn space(totals: &SpaceTotals) -> Space {
    Space {
        space: in_json(totals.color),
        name: totals.name.clone(),
        parameters_bytes: totals.parameters,
        donated_bytes: totals.donated,
        donor_bytes: totals.donors,
        outputs_bytes: totals.outputs,
        constants_bytes: totals.constants,
        thread_local_bytes: totals.thread_local,
        temp_bytes: totals.temp,
        temp_blocks: totals.temp_blocks.clone(),
        heap_peak_bytes: totals.heap_peak,
        need_bytes: totals.need(),
        launch_need_bytes: totals.launch_need(),
    }
}

/// A number of the plan as JSON can hold it; only damaged plans have others.
pub(super) fn in_json(n: i64) -> i64 {
    n.clamp(-(MOST_IN_JSON as i64), MOST_IN_JSON as i64)
}

/// The plan of a module in detail, whole: lists are cut by [`cut_plan`], once the findings have seen them.
#[must_use]
pub fn plan_report(name: &str, hlo: &Hlo, plan: &Plan) -> PlanReport {
    let schedule = plan.schedule();
    PlanReport {
        module: name.to_owned(),
        peak: schedule.map(|s| {
            let moment = moment(hlo, plan, s, s.peak_event);
            Peak {
                bytes: s.peak,
                event: s.peak_event,
                events: s.events,
                instruction: s.peak_instruction.clone(),
                buffers: moment.buffers,
                roles: moment.roles,
            }
        }),
        curve: schedule.map(curve),
        donation: donation(plan),
    }
}

/// What is live right after an event of the schedule; `None` where the plan has no schedule. Events past the end count
/// as the last.
#[must_use]
pub fn plan_moment(hlo: &Hlo, plan: &Plan, event: u64) -> Option<PlanMoment> {
    let schedule = plan.schedule()?;
    Some(moment(hlo, plan, schedule, event.min(schedule.events.saturating_sub(1))))
}

fn moment(hlo: &Hlo, plan: &Plan, schedule: &Schedule, event: u64) -> PlanMoment {
    let mut describer = Describer::new(hlo);
    let mut all = plan.temp_buffers_at(event, &mut describer);
    all.extend(plan.lasting_buffers(&mut describer));
    let roles = plan.roles_at(event);
    let bytes: Bytes = roles.iter().map(|(_, b)| *b).sum();
    PlanMoment {
        event,
        bytes,
        instruction: schedule.instruction_at(hlo, event).map(str::to_owned),
        buffers: group(all, &mut describer),
        roles: shares(&roles, bytes),
    }
}

fn shares(roles: &[(Role, Bytes)], whole: Bytes) -> Vec<RoleShare> {
    let share = |bytes: Bytes| bytes.share_of(whole).unwrap_or(0.0);
    roles.iter().map(|&(role, bytes)| RoleShare { role, bytes, share: share(bytes) }).collect()
}

/// What makes two buffers equal for a reader: everything but which layer of the model they belong to.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Likeness {
    bytes: Bytes,
    kind: BufferKind,
    shape: String,
    opcode: String,
    role: Role,
    role_evidence: Evidence,
    op_name: Option<String>,
    source: Option<SourceLine>,
}

/// Bytes of Python stacks in one list. A stack is repeated in each row, and a hostile module's is long: rows beyond this
/// have the innermost frame alone.
const MOST_STACKS: usize = 64 << 20;

/// Equal buffers together, by the bytes they take together, largest first.
fn group(all: Vec<PlanBuffer>, describer: &mut Describer<'_>) -> Vec<Buffer> {
    let mut stacks = MOST_STACKS;
    let mut frames = |buffer| {
        if stacks == 0 {
            return Vec::new();
        }
        let frames: Vec<SourceLine> = describer.frames(buffer);
        let bytes = frames.iter().map(|f| 64 + f.file.len() + f.function.as_ref().map_or(0, String::len));
        stacks = stacks.saturating_sub(bytes.sum());
        frames
    };
    let mut rows: Vec<Buffer> = Vec::new();
    let mut known: HashMap<Likeness, usize> = HashMap::new();
    for b in all {
        // Parameters and outputs keep their own rows: each is an array of the user's, with a name of its own.
        let own_row = !matches!(b.kind, BufferKind::Temp);
        let likeness = Likeness {
            bytes: b.bytes,
            kind: b.kind,
            shape: b.shape.text.clone(),
            opcode: b.opcode.clone(),
            role: b.role,
            role_evidence: b.role_evidence,
            op_name: b.op_name.as_deref().map(without_numbers),
            source: b.source.clone(),
        };
        if !own_row && let Some(row) = known.get(&likeness).and_then(|&at| rows.get_mut(at)) {
            row.count += 1;
            row.first_event = row.first_event.min(b.first_event);
            row.last_event = row.last_event.max(b.last_event);
            continue;
        }
        known.insert(likeness, rows.len());
        rows.push(Buffer {
            bytes: b.bytes,
            count: 1,
            kind: b.kind,
            shape: b.shape.text,
            instruction: b.instruction,
            opcode: b.opcode,
            role: b.role,
            role_evidence: b.role_evidence,
            op_name: b.op_name,
            source: b.source,
            frames: frames(b.buffer),
            allocation: in_json(b.allocation),
            offset_bytes: b.offset,
            first_event: b.first_event,
            last_event: b.last_event,
        });
    }
    rows.arrange_by_key(|r| std::cmp::Reverse(r.bytes.0.saturating_mul(r.count)));
    rows
}

/// A name stack with each run of digits as `#`: `h_3/attn` and `h_4/attn` are layers of one model.
fn without_numbers(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut in_number = false;
    for c in name.chars() {
        let digit = c.is_ascii_digit();
        if !digit {
            out.push(c);
        } else if !in_number {
            out.push('#');
        }
        in_number = digit;
    }
    out
}

fn curve(schedule: &Schedule) -> Curve {
    let sampled = schedule.curve(CURVE_POINTS);
    let with_bytes = Role::ALL.iter().zip(sampled.roles).filter(|(_, bytes)| bytes.iter().any(|b| b.0 > 0));
    Curve {
        roles: with_bytes.map(|(role, bytes)| (role.key().to_owned(), bytes)).collect(),
        events: sampled.events,
    }
}

fn donation(plan: &Plan) -> Donation {
    let donation = &plan.donation;
    let pairs = donation.pairs.iter().filter(|p| p.color == 0).filter_map(|pair| {
        let parameter = donation.parameters.get(pair.parameter)?;
        let output = donation.outputs.get(pair.output)?;
        Some(DonationPair {
            parameter: parameter.what(),
            output: format!("output {}", output.number),
            shape: parameter.shape.text.clone(),
            bytes: pair.bytes,
            aliased: pair.aliased,
        })
    });
    let mut donors: Vec<Donor> = donation
        .donors()
        .map(|p| Donor { parameter: p.what(), shape: p.shape.text.clone(), bytes: p.bytes })
        .collect();
    donors.arrange_by_key(|d| std::cmp::Reverse(d.bytes));
    Donation { pairs: pairs.collect(), missed_bytes: donation.missed(), donors }
}
