//! `unsharded`: a buffer of the global shape beside shards of it.

use super::case::Case;
use super::detail::Detail;
use super::draft::Draft;
use super::words::{self, name, percent};
use super::{fixes, peak};
use crate::hlo::Shape;
use crate::model::{Buffer, Finding};
use crate::units::Evidence;

/// The module is partitioned over n devices, and at the peak live buffers that are n times a shard: the shape of a parameter or
/// output but for one dimension, which is n times as long. Gathered weights are left out: that is how FSDP works.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let (detail, module) = (case.detail?, case.module?);
    let n = i64::from(detail.partitions.filter(|&n| n > 1)?);
    let picked = peak::pick(case, |b, dims| !is_gathered(b) && is_whole(detail, dims, n))?;
    let random = picked.buffers.iter().any(|(b, _)| is_random(b));
    let at = picked.made_at().map_or_else(String::new, |at| format!(" Made at {at}."));
    let sentence = format!(
        "{} of the values live at the peak of {} ({}) have the whole shape where the {n} devices hold shards: {}.{at}",
        percent(picked.share),
        name(&module.name),
        picked.bytes,
        picked.in_words()
    );
    let cause = if random {
        "Random numbers of a sharded array are made whole on every device unless they are made in a partitionable way."
    } else {
        "XLA found no sharding for these values, or a closed-over array, and keeps them whole on every device."
    };
    let mut draft = Draft::new("unsharded", peak::severity(case), "Whole arrays lie beside shards")
        .sentence(sentence)
        .bytes("whole_bytes", picked.bytes, Evidence::Read)
        .number("share_of_peak", picked.share, peak::GUESS)
        .number("partitions", n as f64, Evidence::Read)
        .cause(cause);
    if random {
        let mut fix = fixes::plain(
            "threefry-partitionable",
            "Make random numbers in a way that can be partitioned.",
            "Other random numbers than before for the same key.",
            "",
        );
        fix.code = Some("jax.config.update('jax_threefry_partitionable', True)".into());
        draft = draft.fix(fix);
    }
    let function = fixes::function(case);
    let mut constrain = fixes::plain(
        "constrain",
        "Say how these values are sharded, and shard arrays before they go in instead of closing over them.",
        "None, or some communication.",
        &format!("At best one {n}th of the {} stays on each device.", picked.bytes),
    );
    constrain.code = Some(format!(
        "x = jax.lax.with_sharding_constraint(x, sharding)  # inside {}",
        words::name(&function)
    ));
    Some(draft.fix(constrain).at("plan", None, "the whole buffers at the peak").done())
}

fn is_gathered(b: &Buffer) -> bool {
    b.opcode.starts_with("all-gather") || b.instruction.contains("all-gather")
}

fn is_random(b: &Buffer) -> bool {
    b.op_name
        .as_ref()
        .is_some_and(|n| n.contains("random_bits") || n.contains("threefry") || n.contains("_normal"))
}

/// Whether `dims` is a shard of some parameter or output, but for one dimension that is `n` times as long.
fn is_whole(detail: &Detail, dims: &Shape, n: i64) -> bool {
    let shards =
        detail.parameters().map(|p| &p.shape).chain(detail.donation.outputs.iter().map(|o| &o.shape));
    let all: Vec<&Shape> = shards.collect();
    // A shape that some parameter has as it stands is nobody's whole.
    dims.dims.len() >= 2
        && !all.iter().any(|s| s.dims == dims.dims)
        && all.iter().any(|s| is_n_times(&s.dims, &dims.dims, n))
}

fn is_n_times(shard: &[i64], whole: &[i64], n: i64) -> bool {
    let differing: Vec<(i64, i64)> =
        shard.iter().copied().zip(whole.iter().copied()).filter(|(s, w)| s != w).collect();
    shard.len() == whole.len() && matches!(differing.as_slice(), [(s, w)] if s.checked_mul(n) == Some(*w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_is_a_shard_times_the_devices_in_one_dimension() {
        assert!(is_n_times(&[32, 512, 11008], &[32, 4096, 11008], 8));
        assert!(!is_n_times(&[32, 512, 11008], &[32, 4096, 88064], 8));
        assert!(!is_n_times(&[512, 11008], &[32, 4096, 11008], 8));
        assert!(!is_n_times(&[4096], &[4096], 8));
        assert!(!is_n_times(&[i64::MAX], &[7], 8));
    }
}
