//! Bytes live over the schedule, by role.

use super::heap::{Part, Schedule};
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
        let mut chosen = vec![0, self.peak_event, self.events.saturating_sub(1)];
        let mut best: Option<(Bytes, u64)> = None;
        self.sweep(|event, roles| {
            let total: Bytes = roles.iter().copied().sum();
            if best.is_none_or(|(most, _)| total > most) {
                best = Some((total, event));
            }
            if (event + 1) % stretch == 0 {
                chosen.extend(best.take().map(|(_, at)| at));
            }
        });
        chosen.extend(best.map(|(_, at)| at));
        chosen.arrange();
        chosen.dedup();
        let mut curve = RoleCurve::default();
        let mut next = chosen.into_iter().peekable();
        self.sweep(|event, roles| {
            if next.next_if_eq(&event).is_some() {
                curve.events.push(event);
                curve.roles.iter_mut().zip(roles).for_each(|(points, bytes)| points.push(*bytes));
            }
        });
        curve
    }

    /// Calls `each` for every event with the bytes of each role live right after it.
    fn sweep(&self, mut each: impl FnMut(u64, &ByRole)) {
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
            let mut deaths: Vec<_> = lives.iter().map(|l| (u64::from(l.last) + 1, l.role, l.bytes)).collect();
            deaths.arrange();
            let (mut births, mut deaths) = (lives.iter().peekable(), deaths.into_iter().peekable());
            for event in part.start..part.start.saturating_add(part.events) {
                while let Some((_, role, bytes)) = deaths.next_if(|(at, ..)| *at <= event) {
                    let sum = of(&mut now, role);
                    *sum = sum.saturating_sub(bytes);
                }
                while let Some(life) = births.next_if(|l| u64::from(l.first) <= event) {
                    *of(&mut now, life.role) += life.bytes;
                }
                each(event, &now);
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

/// `Role::ALL` is in the order of the roles' declaration.
fn of(sums: &mut ByRole, role: Role) -> &mut Bytes {
    &mut sums[role as usize]
}
