//! Several fixes together: the need after them, what stays alive beside it, and whether that fits.

use super::case::Case;
use super::fixes::sentences;
use super::room::{Room, Span};
use super::{grows_per_execution, op_by_op};
use crate::estimate::{Estimator, FixKind, parse_list};
use crate::model::{Fix, WhatIf};
use crate::units::Bytes;

/// What fixes, by their ids, do together. Beside those that the plan answers for, an id may be of any fix that the report of
/// `case` offers with a number, such as arrays to be freed.
///
/// # Errors
/// A sentence where an id is none, is there twice, or has no number, and where a batch cannot be divided so.
pub fn what_if(case: &Case, estimator: &Estimator, ids: &[String]) -> Result<WhatIf, String> {
    let (mut named, mut offered) = (Vec::new(), Vec::new());
    for id in ids.iter().flat_map(|id| id.split(',')).map(str::trim).filter(|id| !id.is_empty()) {
        match id.parse::<FixKind>().is_err().then(|| offer(case, id)).flatten() {
            Some(fix) if offered.iter().any(|other: &&Fix| other.id == fix.id) => {}
            Some(fix) => offered.push(fix),
            None => named.push(id),
        }
    }
    let kinds = parse_list(&named.join(",")).map_err(|e| e.to_string())?;
    if let Some((fix, batch, parts)) = kinds.iter().find_map(|fix| uneven(*fix, estimator)) {
        return Err(format!(
            "`{fix}` cannot be: the batch of {batch} does not divide into {parts} equal parts"
        ));
    }
    let done = estimator.what_if(&kinds);
    let (now, others_now) = (Span::exactly(done.need), case.others_after(&[]));
    let (mut need, mut freed) = (Span { least: done.least, most: done.most }, Span::exactly(Bytes::ZERO));
    let mut how = vec![done.how];
    for fix in &offered {
        let (Some(least), Some(most)) = (fix.need_after_least_bytes, fix.need_after_most_bytes) else {
            return Err(format!("`{}` has no number to reckon with", fix.id));
        };
        need = need.less(now.less(Span { least, most }));
        if let (Some(now), Some(least), Some(most)) =
            (others_now, fix.others_after_least_bytes, fix.others_after_most_bytes)
        {
            freed = freed.plus(now.less(Span { least, most }));
        }
    }
    let without = |room: Room| Room { others: room.others.map(|others| others.less(freed)), ..room };
    let (pool, card) = (case.pool_room(&kinds).map(without), case.card_room(&kinds).map(without));
    let said = pool.or_else(|| case.room(&kinds).map(without));
    let launch = Some(done.launch_most);
    match (said, kinds.iter().find(|kind| matches!(kind, FixKind::Pool(_)))) {
        (Some(room), _) => how.push(room.words(need, launch)),
        (None, Some(_)) => {
            how.push("How large that part of the card is cannot be said: its size is not known.".into())
        }
        (None, None) => {}
    }
    let ends_growth = kinds.contains(&FixKind::DropOutputs) || freed.most > Bytes::ZERO;
    let growth = grows_per_execution::growth(case).filter(|_| !ends_growth && !op_by_op::runs_op_by_op(case));
    if let Some(growth) = growth {
        how.push(format!("Memory grows by {} with each execution: this only delays the end.", growth.step));
    }
    let others = case.others_after(&kinds).map(|others| others.less(freed));
    let text = said.filter(|room| pool.is_none() && card.is_none() && room.percent.is_none());
    Ok(WhatIf {
        fixes: kinds
            .iter()
            .map(ToString::to_string)
            .chain(offered.iter().map(|fix| fix.id.clone()))
            .collect(),
        need_bytes: done.need,
        need_after_least_bytes: need.least,
        need_after_most_bytes: need.most,
        others_after_least_bytes: others.map(|others| others.least),
        others_after_most_bytes: others.map(|others| others.most),
        pool_after_bytes: pool.map(|room| room.whole),
        fits_pool: pool.map(|room| room.fits(need, launch)),
        fits_card: card.or(text).map(|room| room.fits(need, launch)),
        how: sentences(&how.iter().map(String::as_str).collect::<Vec<_>>()),
    })
}

/// A fix that would divide the batch into parts that are not equal, with the size of the batch and how many parts.
fn uneven(fix: FixKind, estimator: &Estimator) -> Option<(FixKind, i64, u32)> {
    let (FixKind::Batch(parts) | FixKind::Accumulate(parts)) = fix else { return None };
    let batch = estimator.batch().filter(|batch| batch % i64::from(parts) != 0)?;
    Some((fix, batch, parts))
}

/// The fix of that id in the report.
fn offer<'a>(case: &Case<'a>, id: &str) -> Option<&'a Fix> {
    case.report.findings.iter().flat_map(|finding| &finding.fixes).find(|fix| fix.id == id)
}
