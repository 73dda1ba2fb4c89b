//! The plan as a picture: which stretch of memory is taken from when to when, and by what.

use super::flow::Flow;
use super::life::Life;
use super::order::by_key;
use crate::arrange::Arrange;
use crate::hlo::{BufIx, LogicalBuffer, Origins};
use crate::plan::Plan;
use crate::terms::{BufferKind, Role};

/// In place of a position: a temp block in place of an output's buffer, nothing in place of a class.
pub(super) const NONE: u32 = u32::MAX;

/// A stretch of memory in use for a stretch of the schedule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub first: u32,
    pub last: u32,
    pub bytes: u64,
    /// Where it lies: [`NONE`] for a temp block, else the position in [`Picture::homes`] of an output's buffer. There it is the
    /// output itself, or scratch while the output isn't made yet.
    pub home: u32,
    /// Position in [`Picture::classes`] of what it holds, or is made from.
    pub class: u32,
    /// Whether it is the output itself.
    pub returned: bool,
}

impl Piece {
    /// Whether it lies in a temp block.
    pub fn is_temp(&self) -> bool {
        self.home == NONE
    }
}

/// What pieces of one kind hold: a shape and a role.
#[derive(Debug, Clone, Default)]
pub(super) struct Class {
    pub dims: Vec<i64>,
    /// `xla.PrimitiveType`.
    pub element: i32,
    pub role: Option<Role>,
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
    pub classes: Vec<Class>,
    /// Indexes of the outputs' allocations.
    pub homes: Vec<i64>,
    pub parameters: u64,
    pub outputs: u64,
    pub constants: u64,
    pub temp: u64,
    /// The most that is live at once in the temp blocks, by the lives computed here.
    pub peak: u64,
    /// By which part of the peak that XLA's own simulation reached the one computed here misses it.
    pub strays: f64,
}

/// Who makes and who reads what is in a piece.
#[derive(Debug, Clone, Copy)]
struct Story {
    /// The instruction that makes it.
    maker: u32,
    /// Where in [`Stories::makers`] those are that make the values in it; one alone is not there.
    makers: (u32, u32),
    /// Where in [`Stories::reads`] its reads are.
    reads: (u32, u32),
}

/// The stories of the pieces of a picture, at their positions.
#[derive(Debug, Default)]
pub(super) struct Stories {
    all: Vec<Story>,
    makers: Vec<u32>,
    reads: Vec<(u32, u32)>,
}

impl Stories {
    /// The instruction that makes a piece.
    pub fn maker(&self, piece: usize) -> u32 {
        self.all.get(piece).map_or(NONE, |story| story.maker)
    }

    /// All instructions that make the values in a piece.
    pub fn makers(&self, piece: usize) -> &[u32] {
        let Some(story) = self.all.get(piece) else { return &[] };
        if story.makers.0 == story.makers.1 {
            return std::slice::from_ref(&story.maker);
        }
        self.makers.get(story.makers.0 as usize..story.makers.1 as usize).unwrap_or(&[])
    }

    /// Moments at which a piece is read, and by what, in order.
    pub fn reads(&self, piece: usize) -> &[(u32, u32)] {
        let reads = self.all.get(piece).map_or(0..0, |s| s.reads.0 as usize..s.reads.1 as usize);
        self.reads.get(reads).unwrap_or(&[])
    }
}

/// A value in an allocation.
#[derive(Debug, Clone, Copy)]
struct Value {
    life: Life,
    buffer: BufIx,
    offset: u64,
    bytes: u64,
    reads: (u32, u32),
}

impl Picture {
    pub fn of(flow: &Flow<'_>, plan: &Plan) -> (Picture, Stories) {
        let space = plan.summary.space(0).cloned().unwrap_or_default();
        let mut picture = Picture {
            moments: flow.moments(),
            pieces: Vec::new(),
            classes: Vec::new(),
            homes: Vec::new(),
            parameters: space.parameters.0,
            outputs: space.outputs.0,
            constants: space.constants.0,
            temp: space.temp.0,
            peak: 0,
            strays: 0.0,
        };
        let stories = picture.take_pieces(flow);
        picture.peak = peak(picture.moments, &picture.pieces, Piece::is_temp);
        // Without a heap trace the blocks are all there is to hold the peak against.
        let known = space.heap_peak.unwrap_or(space.temp).0;
        if known > 0 {
            picture.strays = (picture.peak as f64 - known as f64).abs() / known as f64;
        }
        (picture, stories)
    }

    fn take_pieces(&mut self, flow: &Flow<'_>) -> Stories {
        let hlo = flow.hlo;
        let mut taker = Taker {
            flow,
            origins: Origins::new(hlo),
            class_of: vec![[NONE; Role::ALL.len() + 1]; hlo.shape_count()],
            picture: self,
            // At once: lists that grow past each other leave their old places behind.
            stories: Stories { reads: Vec::with_capacity(flow.readers.len()), ..Stories::default() },
        };
        let mut values = Vec::new();
        for allocation in hlo.allocations() {
            let home = match allocation.kind() {
                Some(BufferKind::Output) => taker.picture.homes.len() as u32,
                Some(BufferKind::Temp) => NONE,
                _ => continue,
            };
            if allocation.color != 0 {
                continue;
            }
            if home != NONE {
                taker.picture.homes.push(allocation.index);
            }
            values.clear();
            values.reserve(hlo.assigned(allocation).len());
            for place in hlo.assigned(allocation) {
                // A damaged plan can give a buffer two places: the first counts.
                let counts = hlo.place_of(place.buffer).is_some_and(|first| std::ptr::eq(first, place));
                if counts && place.size.0 > 0 {
                    values.extend(taker.value(place.buffer, place.offset.0, place.size.0));
                }
            }
            by_key(&mut values, |value| value.offset);
            taker.picture.pieces.reserve(values.len());
            taker.stories.all.reserve(values.len());
            for same in values.chunk_by_mut(|a, b| a.offset == b.offset) {
                if same.len() > 1 {
                    same.arrange_by_key(|v| (v.bytes, v.life.first, v.life.last, v.buffer));
                }
                for same in same.chunk_by_mut(|a, b| a.bytes == b.bytes) {
                    together(same, |group| taker.add_piece(home, group));
                }
            }
        }
        taker.stories
    }

    /// What a piece holds.
    pub fn class_of(&self, piece: &Piece) -> Option<&Class> {
        self.classes.get(piece.class as usize)
    }
}

/// Makes the pieces of a picture.
struct Taker<'a, 'f> {
    flow: &'f Flow<'a>,
    origins: Origins<'a>,
    /// Positions of classes by the number of their shape, and by their role, none first.
    class_of: Vec<[u32; Role::ALL.len() + 1]>,
    picture: &'f mut Picture,
    stories: Stories,
}

impl Taker<'_, '_> {
    /// A value with its life; `None` where it never comes to be.
    #[inline(never)]
    fn value(&mut self, buffer: BufIx, offset: u64, bytes: u64) -> Option<Value> {
        let hlo = self.flow.hlo;
        let it = hlo.buffer(buffer)?;
        let maker = it.instruction()?.at() as u32;
        let index = hlo.shape_index(it).iter().filter_map(|&i| u32::try_from(i).ok()).collect();
        let from = self.stories.reads.len() as u32;
        let life = self.flow.life((maker, index), &mut self.stories.reads)?;
        Some(Value { life, buffer, offset, bytes, reads: (from, self.stories.reads.len() as u32) })
    }

    /// The instruction that makes a value.
    fn maker(&self, value: &Value) -> u32 {
        let it = self.flow.hlo.buffer(value.buffer);
        it.and_then(LogicalBuffer::instruction).map_or(NONE, |maker| maker.at() as u32)
    }

    #[inline(never)]
    fn add_piece(&mut self, home: u32, group: &[Value]) {
        let named = group.iter().find(|value| self.flow.role(self.maker(value)).is_some());
        let (Some(speaker), Some(first)) = (named.or(group.first()), group.first()) else { return };
        let (mut makers, mut reads) = ((0, 0), first.reads);
        if group.len() > 1 {
            let from = self.stories.makers.len() as u32;
            for value in group {
                let maker = self.maker(value);
                self.stories.makers.push(maker);
            }
            makers = (from, self.stories.makers.len() as u32);
            let all_reads = &mut self.stories.reads;
            let of = |value: &Value| value.reads.0 as usize..value.reads.1 as usize;
            let mut own: Vec<(u32, u32)> =
                group.iter().filter_map(|value| all_reads.get(of(value))).flatten().copied().collect();
            own.arrange();
            own.dedup();
            let from = all_reads.len() as u32;
            all_reads.append(&mut own);
            reads = (from, all_reads.len() as u32);
        }
        self.stories.all.push(Story { maker: self.maker(speaker), makers, reads });
        let piece = Piece {
            first: group.iter().map(|value| value.life.first).min().unwrap_or(0),
            last: group.iter().map(|value| value.life.last).max().unwrap_or(0),
            bytes: first.bytes,
            home,
            class: self.class(speaker),
            returned: home != NONE && group.iter().any(|value| value.life.returned),
        };
        self.picture.pieces.push(piece);
    }

    fn class(&mut self, speaker: &Value) -> u32 {
        let role = self.flow.role(self.maker(speaker));
        let shape = self.origins.shape_number(speaker.buffer);
        if self.class_of.len() <= shape as usize {
            self.class_of.resize(shape as usize + 1, [NONE; Role::ALL.len() + 1]);
        }
        let known = &mut self.class_of[shape as usize][role.map_or(0, |role| role as usize + 1)];
        if *known == NONE {
            *known = self.picture.classes.len() as u32;
            let (element, dims) = self.origins.element_and_dims(speaker.buffer);
            self.picture.classes.push(Class { dims, element, role, ..Class::default() });
        }
        *known
    }
}

/// Values of one place that are live together: they are one array (a loop's state, mostly). One that begins where another
/// ends takes over its place, and the other ends a moment earlier, so that the place is never counted twice.
fn together(values: &mut [Value], mut take: impl FnMut(&[Value])) {
    let (mut from, mut end) = (0, 0);
    for at in 0..=values.len() {
        if at > from {
            let next = values.get(at).map(|value| value.life);
            if next.is_some_and(|life| life.first < end) {
                end = end.max(values[at].life.last);
                continue;
            }
            if next.is_some_and(|life| life.first == end) {
                for Value { life, .. } in &mut values[from..at] {
                    life.last = life.last.min(end.saturating_sub(1)).max(life.first);
                }
            }
            take(&values[from..at]);
        }
        from = at;
        end = values.get(at).map_or(0, |value| value.life.last);
    }
}

/// The most bytes of some pieces that are live at once.
pub(super) fn peak(moments: u32, pieces: &[Piece], which: impl Fn(&Piece) -> bool) -> u64 {
    live(moments, pieces, which).into_iter().max().unwrap_or(0)
}

/// The first moment at which most bytes are live.
pub(super) fn fullest(moments: u32, pieces: &[Piece], which: impl Fn(&Piece) -> bool) -> u32 {
    let live = live(moments, pieces, which);
    let most = live.iter().copied().max().unwrap_or(0);
    live.iter().position(|bytes| *bytes == most).map_or(0, |at| at as u32)
}

/// The bytes live at each moment.
fn live(moments: u32, pieces: &[Piece], which: impl Fn(&Piece) -> bool) -> Vec<u64> {
    // Damaged plans can have more bytes than can be counted.
    let most_each = u64::MAX / (pieces.len() as u64 + 1);
    let mut steps = vec![0u64; moments as usize + 2];
    for piece in pieces.iter().filter(|piece| which(piece)) {
        let last = piece.last.min(moments) as usize;
        let first = (piece.first.min(moments) as usize).min(last);
        let bytes = piece.bytes.min(most_each);
        steps[first] = steps[first].wrapping_add(bytes);
        steps[last + 1] = steps[last + 1].wrapping_sub(bytes);
    }
    let mut live = 0u64;
    for step in &mut steps {
        live = live.wrapping_add(*step);
        *step = live;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(first: u32, last: u32, bytes: u64) -> Piece {
        Piece { first, last, bytes, home: NONE, class: 0, returned: false }
    }

    #[test]
    fn the_peak_is_the_most_that_is_live_at_once() {
        let pieces = [piece(0, 2, 10), piece(2, 4, 20), piece(3, 9, 5)];
        assert_eq!(peak(10, &pieces, |_| true), 30);
        assert_eq!(peak(10, &pieces, |piece| piece.bytes < 20), 10);
        assert_eq!(peak(10, &[], |_| true), 0);
        assert_eq!(fullest(10, &pieces, |_| true), 2);
        // Pieces past the end, as a damaged plan may have them, count at the end.
        assert_eq!(peak(3, &[piece(7, 9, 4), piece(0, 3, 1)], |_| true), 5);
        assert!(peak(3, &[piece(0, 1, u64::MAX), piece(1, 3, u64::MAX)], |_| true) > 1 << 60);
    }

    #[test]
    fn values_that_are_live_together_are_one_array() {
        let value = |first, last| {
            let life = Life { first, last, returned: false };
            Value { life, buffer: BufIx::default(), offset: 0, bytes: 8, reads: (0, 0) }
        };
        // The second begins while the first is live, the third where that ends, the fourth after a pause.
        let mut values = [value(0, 4), value(2, 6), value(6, 9), value(11, 12)];
        let mut groups = Vec::new();
        together(&mut values, |group| groups.push(group.iter().map(|v| v.life.last).collect::<Vec<_>>()));
        assert_eq!(groups, [vec![4, 5], vec![9], vec![12]]);
        together(&mut [], |_| panic!("nothing is there"));
    }
}
