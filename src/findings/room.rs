//! Whether a step fits: the one place that holds what it needs against what there is.
//!
//! While a step runs, the pool holds what its plan needs and, beside it, the arrays of others that are alive. Every fix, every
//! combination of fixes and every finding is judged here, so that none forgets the others.

use super::case::Case;
use super::words::{Unit, capital};
use super::{fragmented, grows_per_execution};
use crate::estimate::FixKind;
use crate::terms::{Fits, RetryOutcome};
use crate::units::Bytes;

/// A size that is known to lie between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// It is at least this.
    pub least: Bytes,
    /// It is at most this.
    pub most: Bytes,
}

impl Span {
    /// A size that is known.
    #[must_use]
    pub fn exactly(size: Bytes) -> Span {
        Span { least: size, most: size }
    }

    /// The sum with another.
    #[must_use]
    pub fn plus(self, other: Span) -> Span {
        Span { least: self.least + other.least, most: self.most + other.most }
    }

    /// What is left when so much is taken away; not below nothing.
    #[must_use]
    pub fn less(self, taken: Span) -> Span {
        Span { least: self.least.saturating_sub(taken.most), most: self.most.saturating_sub(taken.least) }
    }

    fn in_unit(self, unit: Unit) -> String {
        let (least, most) = (unit.number(self.least), unit.with_name(self.most));
        if unit.number(self.most) == least { most } else { format!("{least} to {most}") }
    }
}

/// What a need is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The size of the pool, of the card, or what a text says there is.
    pub whole: Bytes,
    /// Which of these it is.
    pub what: &'static str,
    /// The part of the card in percent, for a pool that is wished.
    pub percent: Option<u32>,
    /// What else stays alive beside the step; `None` where no run shows it.
    pub others: Option<Span>,
    /// The largest free piece of a pool that had free bytes enough, but in pieces.
    pub piece: Option<Bytes>,
    /// What happened to a call on a card of which nobody knows how large a part was the pool: `has failed`, `had to wait`.
    pub refused: Option<&'static str>,
}

/// With a larger part of the card the driver's context, cuDNN and NCCL find next to no memory outside the pool.
const STARVING_PERCENT: u32 = 95;
/// Less than this part of the whole is rounding and small change, and not worth a sentence.
const NEGLIGIBLE: f64 = 0.005;

impl Room {
    /// Whether a step fits that needs so much, and of it at most `launch` at the call. The sum alone promises nothing in a pool that
    /// is in pieces, in one that leaves next to nothing outside, and where a call found no room in one of unknown size.
    #[must_use]
    pub fn fits(&self, need: Span, launch: Option<Bytes>) -> Fits {
        let total = self.total(need);
        match Fits::into_room(total.least, total.most, self.whole) {
            Fits::Yes if self.in_pieces(launch).is_some() || self.starves() || self.refused.is_some() => {
                Fits::Maybe
            }
            fits => fits,
        }
    }

    fn total(&self, need: Span) -> Span {
        self.others.map_or(need, |others| need.plus(others))
    }

    /// The largest piece, where the call may need more than that.
    fn in_pieces(&self, launch: Option<Bytes>) -> Option<Bytes> {
        self.piece.filter(|piece| launch.is_none_or(|launch| launch > *piece))
    }

    fn starves(&self) -> bool {
        self.percent.is_some_and(|percent| percent > STARVING_PERCENT)
    }

    /// The arithmetic of [`Room::fits`] in sentences; empty where nothing else is alive and the pool is as it was.
    #[must_use]
    pub fn words(&self, need: Span, launch: Option<Bytes>) -> String {
        let mut said: Vec<String> = Vec::new();
        let has = match self.percent {
            Some(percent) => format!("a pool of {percent} % of the card has"),
            None => format!("the {} has", self.what),
        };
        let total = self.total(need);
        let fits = Fits::into_room(total.least, total.most, self.whole);
        match self.others {
            None => said.push(format!(
                "Held against the whole {}, {}: what else is alive is not known",
                self.what, self.whole
            )),
            Some(others) if others.most.share_of(self.whole).is_none_or(|share| share >= NEGLIGIBLE) => {
                let (over, left) =
                    (total.least.saturating_sub(self.whole), self.whole.saturating_sub(total.most));
                let mut sums = vec![
                    (vec![need.least, others.least], total.least),
                    (vec![need.most, others.most], total.most),
                ];
                match fits {
                    Fits::Yes => sums.push((vec![total.most, left], self.whole)),
                    Fits::No => sums.push((vec![self.whole, over], total.least)),
                    Fits::Maybe => {}
                }
                let unit = Unit::adding_up(total.most.max(self.whole), &sums);
                let mut sentence = format!(
                    "{} and {} of other arrays that stay are {}; {has} {}",
                    need.in_unit(unit),
                    others.in_unit(unit),
                    total.in_unit(unit),
                    unit.with_name(self.whole),
                );
                sentence += &match fits {
                    Fits::Yes => format!(": {left} to spare"),
                    Fits::No => format!(": short by {over}"),
                    Fits::Maybe => String::new(),
                };
                said.push(sentence);
            }
            Some(_) if self.percent.is_some() => said.push(format!("{} {}", capital(&has), self.whole)),
            Some(_) => {}
        }
        if fits != Fits::No {
            if let Some(piece) = self.in_pieces(launch) {
                said.push(format!("The sum fits, but the pool was in pieces, the largest of about {piece}"));
            }
            if let Some(refused) = self.refused {
                said.push(format!("A call {refused} there: the sum alone promises nothing"));
            }
            if self.starves() {
                said.push("Little is left outside the pool for the driver's context and libraries".into());
            }
        }
        said.iter().map(|sentence| format!("{sentence}.")).collect::<Vec<_>>().join(" ")
    }
}

impl Case<'_> {
    /// What is alive beside the step after fixes; `None` where no run shows what is now.
    #[must_use]
    pub fn others_after(&self, fixes: &[FixKind]) -> Option<Span> {
        let now = self.other_live()?;
        // Outputs that are no longer returned cannot pile up.
        let kept =
            fixes.contains(&FixKind::DropOutputs).then(|| grows_per_execution::kept_outputs(self)).flatten();
        Some(Span::exactly(now.saturating_sub(kept.unwrap_or_default())))
    }

    /// The pool after fixes; `None` where its size is unknown.
    #[must_use]
    pub fn pool_room(&self, fixes: &[FixKind]) -> Option<Room> {
        let percent = fixes.iter().find_map(|fix| match fix {
            FixKind::Pool(percent) => Some(*percent),
            _ => None,
        });
        let whole = match percent {
            Some(percent) => part(self.card?, percent),
            None => self.capacity()?,
        };
        let piece = fragmented::chunk(self).map(|chunk| chunk.largest);
        Some(Room { whole, what: "pool", percent, others: self.others_after(fixes), piece, refused: None })
    }

    /// The card after fixes; `None` where its size is unknown.
    #[must_use]
    pub fn card_room(&self, fixes: &[FixKind]) -> Option<Room> {
        let others = self.others_after(fixes);
        let refused = self.refused().filter(|_| self.capacity().is_none());
        Some(Room { whole: self.card?, what: "card", percent: None, others, piece: None, refused })
    }

    /// What a step is held against after fixes: the pool, else the card, else what the text of the failure says there is.
    #[must_use]
    pub fn room(&self, fixes: &[FixKind]) -> Option<Room> {
        let enlarged = fixes.iter().any(|fix| matches!(fix, FixKind::Pool(_)));
        let known = self.pool_room(fixes).or_else(|| self.card_room(fixes).filter(|_| !enlarged));
        known.or_else(|| {
            let (whole, what) = self.text_room().filter(|_| !enlarged)?;
            let (others, refused) = (self.others_after(fixes), self.refused());
            Some(Room { whole, what, percent: None, others, piece: None, refused })
        })
    }

    /// What happened to a call that found no room.
    fn refused(&self) -> Option<&'static str> {
        let waited = || self.report.retries.iter().any(|r| r.outcome == RetryOutcome::Rescued);
        let failed = self.failure.map(|_| "has failed");
        failed.or_else(|| waited().then_some("had to wait"))
    }
}

/// So many percent of a card.
pub(super) fn part(card: Bytes, percent: u32) -> Bytes {
    Bytes(u64::try_from(u128::from(card.0) * u128::from(percent) / 100).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn mib(least: u64, most: u64) -> Span {
        Span { least: Bytes(least * MIB), most: Bytes(most * MIB) }
    }

    fn pool(others: Option<Span>) -> Room {
        Room { whole: Bytes(1000 * MIB), what: "pool", percent: None, others, piece: None, refused: None }
    }

    #[test]
    fn it_fits_where_the_most_does_and_not_where_the_least_does_not() {
        for (need, fits) in
            [(mib(700, 1000), Fits::Yes), (mib(700, 1001), Fits::Maybe), (mib(1001, 1100), Fits::No)]
        {
            assert_eq!(pool(None).fits(need, None), fits);
            assert_eq!(pool(Some(Span::exactly(Bytes::ZERO))).fits(need, None), fits);
        }
    }

    #[test]
    fn what_stays_alive_takes_room() {
        let beside = |least, most| pool(Some(mib(least, most)));
        assert_eq!(beside(300, 300).fits(mib(700, 700), None), Fits::Yes);
        assert_eq!(beside(300, 301).fits(mib(700, 700), None), Fits::Maybe);
        assert_eq!(beside(301, 301).fits(mib(700, 700), None), Fits::No);
        assert_eq!(
            beside(301, 301).words(mib(700, 700), None),
            "700.00 MiB and 301.00 MiB of other arrays that stay are 1001.00 MiB; the pool has 1000.00 MiB: short by 1.00 MiB."
        );
        assert_eq!(
            beside(100, 100).words(mib(600, 700), None),
            "600.00 to 700.00 MiB and 100.00 MiB of other arrays that stay are 700.00 to 800.00 MiB; the pool has 1000.00 MiB: \
             200.00 MiB to spare."
        );
    }

    #[test]
    fn what_is_not_known_is_said_and_what_is_nothing_is_not() {
        assert_eq!(
            pool(None).words(mib(1, 1), None),
            "Held against the whole pool, 1000 MiB: what else is alive is not known."
        );
        assert_eq!(pool(Some(mib(0, 1))).words(mib(1, 1), None), "");
    }

    #[test]
    fn a_sum_promises_nothing_in_a_pool_that_is_in_pieces() {
        let room = Room { piece: Some(Bytes(150 * MIB)), ..pool(Some(mib(0, 0))) };
        assert_eq!(room.fits(mib(500, 500), Some(Bytes(151 * MIB))), Fits::Maybe);
        assert_eq!(room.fits(mib(500, 500), None), Fits::Maybe);
        assert_eq!(room.fits(mib(500, 500), Some(Bytes(150 * MIB))), Fits::Yes);
        assert_eq!(room.fits(mib(1001, 1001), Some(Bytes(151 * MIB))), Fits::No);
        assert!(room.words(mib(500, 500), None).contains("in pieces, the largest of about 150.00 MiB"));
    }

    #[test]
    fn a_pool_of_nearly_the_whole_card_may_fit() {
        let of = |percent| Room { percent: Some(percent), ..pool(Some(mib(0, 0))) };
        assert_eq!(of(95).fits(mib(500, 500), None), Fits::Yes);
        assert_eq!(of(96).fits(mib(500, 500), None), Fits::Maybe);
        assert_eq!(part(Bytes(3_994_375_510), 76), Bytes(3_035_725_387));
    }
}
