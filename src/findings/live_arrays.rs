//! `live-arrays`: the plan fits an empty pool, but other arrays take the room.

use super::case::Case;
use super::draft::Draft;
use super::room::Span;
use super::words::{count, list, name, percent};
use super::{fixes, fragmented, grows_per_execution, op_by_op};
use crate::arrange::Arrange;
use crate::model::{Finding, Fix, LiveGroup, LiveKind, Severity};
use crate::units::{Bytes, Evidence};
use std::collections::HashMap;

/// A launch failed whose plan fits the pool, for want of free bytes, and no better known cause holds them: a steady growth and
/// a program that runs op by op have findings of their own.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let failure = case.own_failure()?;
    let (module, space, capacity) = (case.module?, case.space?, case.capacity()?);
    let short = case.short_by()?;
    let told_better = space.need_bytes > capacity
        || fragmented::chunk(case).is_some()
        || grows_per_execution::growth(case).is_some()
        || op_by_op::fills_the_pool(case);
    if told_better {
        return None;
    }
    let in_use = case.in_use_at_start()?;
    let others = case.other_live()?;
    let groups = by_origin(&case.report.live_at_last_start);
    let mut sentence = format!(
        "{} needs {} and would fit the empty pool ({capacity}), but {in_use} were in use when it started: at most {} of them \
         its own arguments, {others} something else. The call wanted {} more and found {} free: short by {short}.",
        name(&module.name),
        space.need_bytes,
        space.parameters_bytes.min(in_use),
        space.launch_need_bytes,
        case.free_at_start()?,
    );
    let held = groups.iter().take(3).filter(|g| g.bytes.0 >= in_use.0 / 100).map(Group::in_words);
    let held: Vec<String> = held.collect();
    if !held.is_empty() {
        sentence += &format!(" Held by: {}.", list(&held));
    }
    let mut draft = Draft::new("live-arrays", Severity::Error, "Other live arrays take the room")
        .bytes("need_bytes", space.need_bytes, Evidence::Read)
        .bytes("launch_need_bytes", space.launch_need_bytes, Evidence::Read)
        .bytes("parameters_bytes", space.parameters_bytes, Evidence::Read)
        .bytes("pool_bytes", capacity, case.pool_evidence())
        .bytes("in_use_at_start_bytes", in_use, Evidence::Measured)
        .bytes("free_at_start_bytes", case.free_at_start()?, Evidence::Measured)
        .bytes("other_live_bytes", others, Evidence::Read)
        .bytes("short_by_bytes", short, Evidence::Read)
        .cause(cause(case, &groups))
        .at("execution", failure.execution.map(|(i, _)| i), "the launch that failed")
        .at("live", None, "the arrays alive at its start, by origin");
    if let Some(before) = groups.iter().find(|g| g.kind == LiveKind::BeforeCapture) {
        draft = draft.bytes("before_capture_bytes", before.bytes, Evidence::Measured);
        if let Some((times, hint)) = multiple_of_outputs(case, before.bytes) {
            sentence += &hint;
            draft = draft.number("times_the_outputs", times, Evidence::Inferred);
        }
    }
    let large = groups.iter().take(3).filter(|g| g.bytes.0 >= in_use.0 / 100);
    let fixes: Vec<Option<Fix>> = large.map(|g| fix(case, &groups, g)).collect();
    let draft = draft.sentence(sentence).fixes(fixes::best_first(fixes)).fix(fixes::larger_pool(case));
    Some(draft.done())
}

/// Live arrays of one kind and origin, executions apart.
#[derive(Debug, Clone, PartialEq)]
struct Group {
    kind: LiveKind,
    origin: String,
    frame: Option<String>,
    count: Option<u64>,
    bytes: Bytes,
    /// The size of each array, where all are alike.
    each: Option<Bytes>,
}

impl Group {
    fn in_words(&self) -> String {
        let frame = self.frame.as_ref().map_or_else(String::new, |f| format!(" under `{}`", name(f)));
        let many = self.count.map_or_else(String::new, |n| format!(" in {}", count(n, "array")));
        format!("{}{many} {}{frame}", self.bytes, self.words())
    }

    fn words(&self) -> String {
        match self.kind {
            LiveKind::DevicePut => format!("put on the device by {}", name(&self.origin)),
            LiveKind::BeforeCapture => "allocated before the capture started".into(),
            _ => name(&self.origin),
        }
    }
}

/// The groups of the report with those of equal kind and frame together: twenty blocks of a data set are one matter.
fn by_origin(groups: &[LiveGroup]) -> Vec<Group> {
    let mut all: Vec<Group> = Vec::new();
    let mut known: HashMap<(LiveKind, String, Option<&str>), usize> = HashMap::new();
    for g in groups {
        let origin = match (g.kind, &g.module) {
            (LiveKind::Outputs, Some(module)) => format!("outputs of {module}"),
            (LiveKind::Temp, Some(module)) => format!("temp of {module}"),
            // `BufferFromHostBuffer(s32[4096,4096])` and the like: the shape apart, one origin.
            _ => g.origin.split('(').next().unwrap_or(&g.origin).trim().to_owned(),
        };
        let next = all.len();
        // Of a transfer the origin has the shape, so that its arrays are alike.
        let each =
            g.count.filter(|n| g.kind == LiveKind::DevicePut && *n > 0 && g.bytes.0.is_multiple_of(*n));
        let each = each.map(|n| Bytes(g.bytes.0 / n));
        let at = *known.entry((g.kind, origin.clone(), g.frame.as_deref())).or_insert(next);
        match all.get_mut(at) {
            Some(it) => {
                it.bytes += g.bytes;
                it.each = it.each.filter(|it| Some(*it) == each);
                it.count = it.count.zip(g.count).map(|(a, b)| a.saturating_add(b));
            }
            None => all.push(Group {
                kind: g.kind,
                origin,
                frame: g.frame.clone(),
                count: g.count,
                bytes: g.bytes,
                each,
            }),
        }
    }
    all.arrange_by_key(|g| std::cmp::Reverse(g.bytes));
    all
}

fn cause(case: &Case, groups: &[Group]) -> String {
    let Some(largest) = groups.first() else {
        return "The step is not to blame: arrays that it does not take hold the pool.".into();
    };
    let share = case.in_use_at_start().and_then(|all| largest.bytes.share_of(all));
    let share = share.map_or_else(String::new, |s| format!(" ({} of what was in use)", percent(s)));
    match largest.kind {
        LiveKind::DevicePut => format!(
            "The step is not to blame: most of the room is held by arrays that the program put on the device{share}, such as a \
             whole data set."
        ),
        LiveKind::BeforeCapture => format!(
            "Most of the room is held by arrays older than the capture{share}: it cannot name them, except that the step's \
             own arguments can be among them."
        ),
        _ => format!("The step is not to blame: most of the room is held by {}{share}.", largest.words()),
    }
}

/// Only a hint: what is left of the old bytes after the arguments is a whole number of steps' outputs.
fn multiple_of_outputs(case: &Case, before: Bytes) -> Option<(f64, String)> {
    let space = case.space?;
    let rest = before.saturating_sub(space.parameters_bytes);
    let times = rest.share_of(space.outputs_bytes)?;
    let whole = times.round();
    let near = (times - whole).abs() < 0.05 && whole >= 2.0 && space.outputs_bytes.0 >= 1 << 20;
    near.then(|| {
        let hint = format!(
            " A hint, no more: the old bytes less the arguments are {whole:.0}× the outputs of one execution ({}), as if \
             earlier steps' outputs were kept.",
            space.outputs_bytes
        );
        (times, hint)
    })
}

/// Of a group, the bytes that can be freed: those that are not the step's own arguments. As many of its bytes are arguments as
/// there are more of these than all other groups can hold.
fn freeable(case: &Case, groups: &[Group], group: &Group) -> Option<Bytes> {
    let elsewhere = groups.iter().filter(|g| *g != group && can_be_arguments(case, g)).map(|g| g.bytes).sum();
    let own = case.space?.parameters_bytes.saturating_sub(elsewhere);
    Some(group.bytes.saturating_sub(own).min(case.other_live()?))
}

/// Whether arguments can be among the arrays of a group: not where all of them have a size that no argument has.
fn can_be_arguments(case: &Case, group: &Group) -> bool {
    let (Some(each), Some(detail)) = (group.each, case.detail) else { return true };
    // The allocator rounds sizes up to whole blocks of 256 bytes.
    detail.parameters().any(|p| p.bytes.0.div_ceil(256) == each.0.div_ceil(256))
}

fn fix(case: &Case, groups: &[Group], group: &Group) -> Option<Fix> {
    let freed = freeable(case, groups, group)?;
    let how = format!("Frees at most {freed} of the {} in use at the start.", case.in_use_at_start()?);
    let freed = Span { least: Bytes::ZERO, most: freed };
    Some(match group.kind {
        LiveKind::DevicePut => {
            let text = "Keep the data on the host and put one batch at a time on the device; or store it in a smaller dtype.";
            let mut fix =
                fixes::freeing(case, "keep-on-host", text, "A transfer for each batch.", freed, &how);
            fix.code = Some("for batch in loader:          # numpy arrays\n    state = step(state, jax.device_put(batch))".into());
            fix
        }
        LiveKind::BeforeCapture => Fix { how, ..fixes::name_arrays() },
        LiveKind::Outputs | LiveKind::Temp | LiveKind::Other => {
            let text = format!(
                "Free the {} before the call: drop the references, or `jax.device_get` what is kept.",
                group.words()
            );
            fixes::freeing(case, "release", text, "None, or a copy to the host.", freed, &how)
        }
    })
}
