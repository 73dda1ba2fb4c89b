//! One event, from its bytes.

use super::stats::Stats;
use crate::bytes::wire::{Cursor, Padded, short_varint};

/// One event of a line.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// Key into the plane's event names.
    pub metadata_id: i64,
    /// Start in picoseconds from the line's timestamp; `None` for an aggregated event.
    pub offset_ps: Option<i64>,
    /// Length in picoseconds.
    pub duration_ps: i64,
    /// The event's bytes from its first stat on.
    stats: Padded<'a>,
}

impl<'a> Event<'a> {
    /// Its stats.
    #[inline]
    #[must_use]
    pub fn stats(&self) -> Stats<'a> {
        Stats::new(self.stats)
    }

    /// Whether it has any.
    #[inline]
    #[must_use]
    pub fn has_stats(&self) -> bool {
        !self.stats.is_empty()
    }

    /// The bytes of its stats.
    #[inline]
    #[must_use]
    pub fn stats_bytes(&self) -> Padded<'a> {
        self.stats
    }

    /// One `XEvent` message; `None` where it is malformed. Fields are expected in the order of their numbers, as every
    /// protobuf writer puts them: what follows the first stat is taken for stats.
    #[inline(always)]
    pub(super) fn parse(message: Padded<'a>) -> Option<Event<'a>> {
        let head = match usual(message) {
            Some(head) => head,
            None => other(message.own())?,
        };
        // Built here from its parts: an event that came through memory from one of two places would be waited for.
        Some(Event {
            metadata_id: head.metadata_id,
            offset_ps: head.timed.then_some(head.offset),
            duration_ps: head.duration,
            stats: message.split_at(head.stats)?.1,
        })
    }
}

/// What comes before an event's stats.
#[derive(Debug, Clone, Copy)]
struct Head {
    metadata_id: i64,
    timed: bool,
    offset: i64,
    duration: i64,
    /// Where the stats begin.
    stats: usize,
}

/// An event with an id of up to three bytes, then an offset and a length of up to eight, where they are not 0. Numbers are
/// read first: that the event ended before them shows at the end.
#[inline(always)]
fn usual(message: Padded<'_>) -> Option<Head> {
    let window: &[u8; Padded::BEHIND] = message.whole().first_chunk()?;
    let (metadata_id, at) = match *window {
        [0x08, a @ 0..0x80, ..] => (i64::from(a), 2),
        [0x08, a, b @ 0..0x80, ..] => (i64::from(a & 0x7f) | i64::from(b) << 7, 3),
        [0x08, a, b, c @ 0..0x80, ..] => {
            (i64::from(a & 0x7f) | i64::from(b & 0x7f) << 7 | i64::from(c) << 14, 4)
        }
        _ => return None,
    };
    let (offset, at) = number(0x10, window, at)?;
    let (duration, at) = number(0x18, window, at)?;
    if at > message.len() || (at < message.len() && *window.get(at)? != 0x22) {
        return None;
    }
    Some(Head { metadata_id, timed: true, offset, duration, stats: at })
}

/// The integer of the field at `at`, or 0 where another stands there; and where the next field is. Of the fields of
/// [`usual`], the last begins at byte 13 at most.
#[inline(always)]
fn number(tag: u8, window: &[u8; Padded::BEHIND], at: usize) -> Option<(i64, usize)> {
    // So that the compiler knows, too.
    let at = at & 15;
    if window[at] != tag {
        return Some((0, at));
    }
    // One load in the end. A slice of the window is a call where the compiler saves room.
    let w = window;
    let word = [w[at + 1], w[at + 2], w[at + 3], w[at + 4], w[at + 5], w[at + 6], w[at + 7], w[at + 8]];
    let (value, len) = short_varint(word)?;
    Some((value as i64, at + 1 + len))
}

/// An event whose fields stand in another order, or are of other kinds.
#[cold]
#[inline(never)]
fn other(message: &[u8]) -> Option<Head> {
    let mut head = Head { metadata_id: 0, timed: true, offset: 0, duration: 0, stats: 0 };
    let mut cursor = Cursor::new(message);
    loop {
        head.stats = cursor.position();
        if matches!(cursor.rest().first(), None | Some(0x22)) {
            return Some(head);
        }
        let (number, value) = cursor.field().ok()??;
        match number {
            1 => head.metadata_id = value.varint() as i64,
            2 => (head.timed, head.offset) = (true, value.varint() as i64),
            3 => head.duration = value.varint() as i64,
            5 => head.timed = false,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::rng::Rng;

    /// An event's fields, as whoever looks at each of them in turn finds them.
    fn slowly(message: &[u8]) -> Option<(i64, Option<i64>, i64, usize)> {
        let head = other(message)?;
        Some((head.metadata_id, head.timed.then_some(head.offset), head.duration, message.len() - head.stats))
    }

    #[test]
    fn events_read_the_same_at_once_as_field_by_field() {
        let mut rng = Rng::of(3, 1);
        let mut at_once = 0;
        for _ in 0..20_000 {
            // Fields that are expected, with now and then another; any bytes behind the event.
            let mut bytes = Vec::new();
            for tag in [0x08u8, 0x10, 0x18, 0x22] {
                match rng.below(12) {
                    0 => continue,
                    1 => bytes.push(rng.below(256) as u8),
                    _ => bytes.push(tag),
                }
                crate::synth::wire::push_varint(&mut bytes, rng.below(u64::MAX) >> rng.below(64));
            }
            bytes.extend((0..Padded::BEHIND).map(|_| rng.below(256) as u8));
            for len in 0..=bytes.len() - Padded::BEHIND {
                let message = Padded::new(&bytes[..len + Padded::BEHIND]);
                let event = Event::parse(message)
                    .map(|e| (e.metadata_id, e.offset_ps, e.duration_ps, e.stats_bytes().len()));
                assert_eq!(event, slowly(message.own()), "{bytes:02x?}, {len} of them");
                at_once += usize::from(usual(message).is_some());
            }
        }
        assert!(at_once > 20_000, "only {at_once} were read at once");
    }
}
