//! The plan as a picture: which stretch of memory is taken from when to when, and by what.

use super::flow::{Flow, Life};
use crate::arrange::Arrange;
use crate::hlo::{BufIx, Origins};
use crate::plan::Plan;
use crate::terms::{BufferKind, Role};
use std::collections::HashMap;

/// Where a piece lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Home {
    /// In a temp block.
    Temp,
    /// In the buffer of an output (index of the allocation): as the output itself, or as scratch while the output
    /// isn't made yet.
    Output(i64),
}

/// A stretch of memory in use for a stretch of the schedule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub first: u32,
    pub last: u32,
    pub bytes: u64,
    pub home: Home,
    /// Whether it is the output itself.
    pub returned: bool,
    /// Position in [`Picture::facts`] of what it holds, or is made from.
    pub facts: u32,
}

/// What a piece holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub dims: Vec<i64>,
    /// `xla.PrimitiveType`.
    pub element: i32,
    pub role: Option<Role>,
    /// The instruction that makes it.
    pub maker: u32,
    /// All instructions that make the values in it.
    pub makers: Vec<u32>,
    /// Moments at which it is read, and by what.
    pub reads: Vec<(u32, u32)>,
    /// How its size depends on the inputs'; see [`super::scale`].
    pub scaling: Scaling,
    /// Whether it has the shape of a parameter: a gradient, a cast, a copy.
    pub weight_like: bool,
    /// Whether it has the shape of one layer of a stacked parameter.
    pub slice_like: bool,
    /// Whether it has the shape of a whole stacked parameter.
    pub stack_like: bool,
}

/// With which powers a size shrinks with the batch and with the sequence: at least, and at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Scaling {
    pub batch: (u32, u32),
    pub sequence: (u32, u32),
    /// Whether it has the scores of an attention: two dimensions of the sequence.
    pub scores: bool,
}

/// The memory of a step over its schedule.
#[derive(Debug, Clone)]
pub(super) struct Picture {
    pub moments: u32,
    pub pieces: Vec<Piece>,
    pub facts: Vec<Facts>,
    pub parameters: u64,
    pub outputs: u64,
    pub constants: u64,
    pub temp: u64,
    /// The most that is live at once in the temp blocks, by the lives computed here.
    pub peak: u64,
    /// By which part of the peak that XLA's own simulation reached the one computed here misses it.
    pub strays: f64,
}

impl Picture {
    pub fn of(flow: &Flow<'_>, plan: &Plan) -> Picture {
        let space = plan.summary.space(0).cloned().unwrap_or_default();
        let mut picture = Picture {
            moments: flow.moments(),
            pieces: Vec::new(),
            facts: Vec::new(),
            parameters: space.parameters.0,
            outputs: space.outputs.0,
            constants: space.constants.0,
            temp: space.temp.0,
            peak: 0,
            strays: 0.0,
        };
        picture.take_pieces(flow);
        picture.peak = peak(picture.moments, picture.pieces.iter().filter(|p| p.home == Home::Temp));
        // Without a heap trace the blocks are all there is to hold the peak against.
        let known = space.heap_peak.unwrap_or(space.temp).0;
        if known > 0 {
            picture.strays = (picture.peak as f64 - known as f64).abs() / known as f64;
        }
        picture
    }

    fn take_pieces(&mut self, flow: &Flow<'_>) {
        let hlo = flow.hlo;
        let mut origins = Origins::new(hlo);
        let mut places: HashMap<(u32, u64, u64), Vec<(Life, BufIx)>> = HashMap::new();
        for (at, buffer) in hlo.buffers() {
            let Some(place) = hlo.place_of(at) else { continue };
            let Some(allocation) = hlo.allocations().get(place.allocation as usize) else { continue };
            let kind = allocation.kind();
            if allocation.color != 0
                || place.size.0 == 0
                || !matches!(kind, Some(BufferKind::Temp | BufferKind::Output))
            {
                continue;
            }
            let Some(maker) = buffer.instruction() else { continue };
            let index = hlo.shape_index(buffer).iter().filter_map(|&i| u32::try_from(i).ok()).collect();
            if let Some(life) = flow.life((maker.at() as u32, index)) {
                places.entry((place.allocation, place.offset.0, place.size.0)).or_default().push((life, at));
            }
        }
        let mut places: Vec<_> = places.into_iter().collect();
        places.arrange_by_key(|(place, _)| *place);
        for ((allocation, _, bytes), mut lives) in places {
            let home = match hlo.allocations().get(allocation as usize) {
                Some(a) if a.kind() == Some(BufferKind::Output) => Home::Output(a.index),
                _ => Home::Temp,
            };
            lives.arrange_by_key(|(life, at)| (life.first, life.last, *at));
            for group in together(lives) {
                self.add_piece(flow, &mut origins, home, bytes, &group);
            }
        }
    }

    fn add_piece(
        &mut self,
        flow: &Flow<'_>,
        origins: &mut Origins<'_>,
        home: Home,
        bytes: u64,
        group: &[(Life, BufIx)],
    ) {
        let hlo = flow.hlo;
        let maker = |at: BufIx| hlo.buffer(at).and_then(|b| b.instruction()).map(|i| i.at() as u32);
        let makers: Vec<u32> = group.iter().filter_map(|(_, at)| maker(*at)).collect();
        let named =
            group.iter().map(|(_, at)| *at).find(|at| maker(*at).and_then(|i| flow.role(i)).is_some());
        let Some(speaker) = named.or(group.first().map(|(_, at)| *at)) else { return };
        let shape = origins.decoded(speaker);
        let mut reads: Vec<(u32, u32)> =
            group.iter().flat_map(|(life, _)| life.reads.iter().copied()).collect();
        reads.arrange();
        reads.dedup();
        let who = maker(speaker).unwrap_or(0);
        self.facts.push(Facts {
            dims: shape.dims.clone(),
            element: shape.element,
            role: flow.role(who),
            maker: who,
            makers,
            reads,
            ..Facts::default()
        });
        self.pieces.push(Piece {
            first: group.iter().map(|(life, _)| life.first).min().unwrap_or(0),
            last: group.iter().map(|(life, _)| life.last).max().unwrap_or(0),
            bytes,
            home,
            returned: home != Home::Temp && group.iter().any(|(life, _)| life.returned),
            facts: self.facts.len() as u32 - 1,
        });
    }

    /// What a piece holds.
    pub fn facts_of(&self, piece: &Piece) -> Option<&Facts> {
        self.facts.get(piece.facts as usize)
    }
}

/// Values of one place that are live together: they are one array (a loop's state, mostly). One that begins where another
/// ends takes over its place, and the other ends a moment earlier, so that the place is never counted twice.
fn together(lives: Vec<(Life, BufIx)>) -> Vec<Vec<(Life, BufIx)>> {
    let mut out: Vec<Vec<(Life, BufIx)>> = Vec::new();
    let mut end = 0;
    for (life, at) in lives {
        match out.last_mut() {
            Some(group) if life.first < end => {
                end = end.max(life.last);
                group.push((life, at));
            }
            last => {
                if let Some(group) = last
                    && life.first == end
                {
                    for (earlier, _) in group.iter_mut() {
                        earlier.last = earlier.last.min(end.saturating_sub(1)).max(earlier.first);
                    }
                }
                end = life.last;
                out.push(vec![(life, at)]);
            }
        }
    }
    out
}

/// The most bytes live at once.
pub(super) fn peak<'a>(moments: u32, pieces: impl Iterator<Item = &'a Piece>) -> u64 {
    let mut steps: Vec<i128> = vec![0; moments as usize + 2];
    for piece in pieces {
        let last = piece.last.min(moments) as usize;
        let first = (piece.first.min(moments) as usize).min(last);
        steps[first] += i128::from(piece.bytes);
        steps[last + 1] -= i128::from(piece.bytes);
    }
    let (mut live, mut most) = (0i128, 0i128);
    for step in steps {
        live += step;
        most = most.max(live);
    }
    u64::try_from(most).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(first: u32, last: u32, bytes: u64) -> Piece {
        Piece { first, last, bytes, home: Home::Temp, returned: false, facts: 0 }
    }

    #[test]
    fn the_peak_is_the_most_that_is_live_at_once() {
        let pieces = [piece(0, 2, 10), piece(2, 4, 20), piece(3, 9, 5)];
        assert_eq!(peak(10, pieces.iter()), 30);
        assert_eq!(peak(10, [].iter()), 0);
        // Pieces past the end, as a damaged plan may have them, count at the end.
        assert_eq!(peak(3, [piece(7, 9, 4), piece(0, 3, 1)].iter()), 5);
    }
}
