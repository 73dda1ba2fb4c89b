//! `devices-differ`: one device holds or reaches more than its peers.

use super::case::{Case, headroom};
use super::draft::Draft;
use super::fixes;
use super::words::{name, percent};
use crate::arrange::Arrange;
use crate::model::{Allocator, Finding, Severity};
use crate::units::{Bytes, Evidence};

/// Less is rounding, seeds and small metrics that live on the first device.
const WORTH: u64 = 64 << 20;
const WORTH_SHARE: f64 = 0.01;

/// One pool's peak is above the median of all by more than a hundredth of its capacity and 64 MiB.
pub(super) fn find(case: &Case) -> Option<Finding> {
    let pools: Vec<(usize, &Allocator)> =
        case.device_pools().into_iter().filter(|(_, a)| a.peak_bytes.is_some()).collect();
    if pools.len() < 2 {
        return None;
    }
    let median = median(pools.iter().filter_map(|(_, a)| a.peak_bytes).collect())?;
    let &(at, odd) = pools.iter().max_by_key(|(_, a)| a.peak_bytes)?;
    let peak = odd.peak_bytes?;
    let more = peak.saturating_sub(median);
    let share = odd.capacity_bytes.and_then(|c| more.share_of(c)).unwrap_or(0.0);
    if more.0 < WORTH || share < WORTH_SHARE {
        return None;
    }
    let start_median = self::median(pools.iter().filter_map(|(_, a)| a.in_use_start_bytes).collect());
    let older = odd.in_use_start_bytes.zip(start_median).map(|(own, others)| own.saturating_sub(others));
    let mut sentence = format!(
        "{} reached {peak}, {more} more than the median of the {} devices ({median}): {} of its pool.",
        name(&odd.name),
        pools.len(),
        percent(share)
    );
    if let Some(older) = older.filter(|o| o.0 >= more.0 / 10 * 9) {
        sentence += &format!(" {older} of it were there before the capture started.");
    }
    let failed_here = case.failure.is_some() && case.pool.is_some_and(|(i, _)| i == at);
    let severity = if failed_here { Severity::Warning } else { Severity::Note };
    // What more it holds may lie where there was room: the tightest moment counts.
    let tightest = self::median(pools.iter().filter_map(|(_, a)| headroom(a)).collect());
    let won = tightest.zip(headroom(odd)).map_or(more, |(others, own)| more.min(others.saturating_sub(own)));
    if won.0 == 0 {
        sentence +=
            " At its tightest moment it had no less free than the others: for the step nothing is won there.";
    }
    let fix = (won.0 > 0).then(|| {
        let mut fix = fixes::plain(
            "spread",
            "Put data and single arrays on all devices, not on the default one: give `jax.device_put` a sharding.",
            "None.",
            &format!("The step is as large as on its fullest device: at most {won} can be won there."),
        );
        fix.code = Some("x = jax.device_put(x, sharding)".into());
        fix
    });
    let draft = Draft::new("devices-differ", severity, "One device holds more than the others")
        .sentence(sentence)
        .bytes("peak_bytes", peak, Evidence::Measured)
        .bytes("median_peak_bytes", median, Evidence::Measured)
        .bytes("more_bytes", more, Evidence::Measured)
        .number("devices", pools.len() as f64, Evidence::Measured)
        .cause(
            "Arrays without a sharding land on one device: evaluation data, random keys, a copy of the state for a checkpoint.",
        )
        .fix(fix)
        .at("allocator", at, "its peak and what was alive there");
    Some(draft.done())
}

/// The lower median.
fn median(mut all: Vec<Bytes>) -> Option<Bytes> {
    all.arrange();
    all.get(all.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_one_of_the_lower_half() {
        assert_eq!(median(vec![Bytes(3), Bytes(1)]), Some(Bytes(1)));
        assert_eq!(median(vec![Bytes(3), Bytes(1), Bytes(2)]), Some(Bytes(2)));
        assert_eq!(median(Vec::new()), None);
    }
}
