//! Bytes live over the schedule, by role.

use super::heap::{Life, Part, Schedule};
use crate::arrange::Arrange;
use crate::terms::Role;
use crate::units::Bytes;

/// Bytes of each role, in the order of [`Role::ALL`].
type ByRole = [Bytes; Role::ALL.len()];

/// Bytes live right after some events of a schedule, split by role.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoleCurve {
    /// The events, ascending.
    pub events: Vec<u64>,
    /// For each role, in the order of [`Role::ALL`], the bytes right after each of `events`.
    pub roles: [Vec<Bytes>; Role::ALL.len()],
}

impl RoleCurve {
    /// All roles together at each of `events`.
    #[must_use]
    pub fn totals(&self) -> Vec<Bytes> {
        (0..self.events.len()).map(|i| self.roles.iter().filter_map(|r| r.get(i).copied()).sum()).collect()
    }
}

impl Schedule {
    /// The live curve in at most about `points` points: of each stretch of the schedule the event with the most bytes, so
    /// that no peak is lost; the first event, the last and the peak's always.
    #[must_use]
    pub fn curve(&self, points: usize) -> RoleCurve {
        let stretch = self.events.div_ceil(points.max(1) as u64).max(1);
        let always = [0, self.peak_event, self.events.saturating_sub(1)];
        let mut chosen: Vec<(u64, ByRole)> = Vec::new();
        let mut best: Option<(Bytes, u64, ByRole)> = None;
        let mut end = stretch;
        self.sweep(|event, total, roles| {
            if always.contains(&event) {
                chosen.push((event, *roles));
            }
            if best.as_ref().is_none_or(|(most, ..)| total > *most) {
                best = Some((total, event, *roles));
            }
            if event + 1 == end {
                end += stretch;
                chosen.extend(best.take().map(|(_, at, roles)| (at, roles)));
            }
        });
        chosen.extend(best.map(|(_, at, roles)| (at, roles)));
        chosen.arrange_by_key(|&(event, _)| event);
        chosen.dedup_by_key(|&mut (event, _)| event);
        let mut curve = RoleCurve::default();
        for (event, roles) in chosen {
            curve.events.push(event);
            curve.roles.iter_mut().zip(roles).for_each(|(points, bytes)| points.push(bytes));
        }
        curve
    }

    /// Calls `each` for every event with the bytes live right after it, together and of each role.
    fn sweep(&self, mut each: impl FnMut(u64, Bytes, &ByRole)) {
        let peaks: Vec<ByRole> = self.parts.iter().map(|p| self.roles_at_peak_of(p)).collect();
        let mut all_peaks = ByRole::default();
        for peak in &peaks {
            all_peaks.iter_mut().zip(peak).for_each(|(sum, p)| *sum += *p);
        }
        for (part, own) in self.parts.iter().zip(&peaks) {
            // While one simulation runs, the others count with their peaks.
            let mut now = all_peaks;
            now.iter_mut().zip(own).for_each(|(sum, p)| *sum = sum.saturating_sub(*p));
            let lives = self.lives.get(part.lives.clone()).unwrap_or(&[]);
            let deaths = by_death(lives, part);
            let mut moment = Moment { lives, deaths: &deaths, born: 0, dead: 0, total: Bytes::ZERO, now };
            moment.total = now.iter().copied().sum();
            for event in part.start..part.start.saturating_add(part.events) {
                moment.advance(event);
                each(event, moment.total, &moment.now);
            }
        }
    }

    fn roles_at_peak_of(&self, part: &Part) -> ByRole {
        let mut sums = ByRole::default();
        for life in
            self.lives.get(part.lives.clone()).unwrap_or(&[]).iter().filter(|l| l.covers(part.peak_event))
        {
            *of(&mut sums, life.role) += life.bytes;
        }
        sums
    }
}

/// What is live at an event, on the way from the first to the last.
struct Moment<'a> {
    lives: &'a [Life],
    /// Positions in `lives`, in the order of their ends.
    deaths: &'a [u32],
    born: usize,
    dead: usize,
    total: Bytes,
    now: ByRole,
}

impl Moment<'_> {
    /// Goes on to an event. Not inlined: a browser makes the functions fast that are called often.
    #[inline(never)]
    fn advance(&mut self, event: u64) {
        let before = (self.born, self.dead);
        let death = |dead: usize| self.lives.get(*self.deaths.get(dead)? as usize);
        while let Some(life) = death(self.dead).filter(|l| u64::from(l.last) < event) {
            let sum = of(&mut self.now, life.role);
            *sum = sum.saturating_sub(life.bytes);
            self.dead += 1;
        }
        while let Some(life) = self.lives.get(self.born).filter(|l| u64::from(l.first) <= event) {
            *of(&mut self.now, life.role) += life.bytes;
            self.born += 1;
        }
        if before != (self.born, self.dead) {
            self.total = self.now.iter().copied().sum();
        }
    }
}

/// The positions of lives in the order of their ends: counted, added up, and filled in from behind.
fn by_death(lives: &[Life], part: &Part) -> Vec<u32> {
    let most = part.events.min(u64::from(u32::MAX)) as usize;
    let end = |life: &Life| (u64::from(life.last).saturating_sub(part.start) as usize).min(most);
    let mut first = vec![0u32; most + 1];
    lives.iter().for_each(|life| first[end(life)] += 1);
    let mut sum = 0;
    for slot in &mut first {
        sum += *slot;
        *slot = sum;
    }
    let mut order = vec![0; lives.len()];
    for (i, life) in lives.iter().enumerate().rev() {
        let slot = &mut first[end(life)];
        *slot -= 1;
        order[*slot as usize] = i as u32;
    }
    order
}

/// `Role::ALL` is in the order of the roles' declaration.
fn of(sums: &mut ByRole, role: Role) -> &mut Bytes {
    &mut sums[role as usize]
}
