//! Residuals of scanned models: the forward loop writes each layer's results into stacks `[layers, …]`, the backward loop reads
//! them one layer a round.

use super::flow::{Flow, NEVER, Op};
use super::order::by_key;
use super::picture::{Class, NONE, Piece};
use super::program::Scan;
use super::remat::{Again, Remat, Replaced, Span, Step};
use crate::arrange::Arrange;
use crate::hlo::logical_bytes;
use crate::terms::Role;
use std::collections::{HashMap, HashSet};

/// Finds the stacks that rematerialization of the loop's body would take away, and marks them as taken.
pub(super) fn find(step: Step<'_>, taken: &mut [bool], remat: &mut Remat) {
    let (forward, backward): (Vec<Scan>, Vec<Scan>) =
        step.program.scans.iter().partition(|scan| scan.to <= step.split);
    let mut seeker = Seeker { step, forward: &forward, ended: Vec::new(), by_maker: Vec::new() };
    seeker.find_ends(&backward);
    let pieces = &step.picture.pieces;
    for scan in &backward {
        let mut stacks = seeker.read_by(scan, taken);
        if stacks.is_empty() {
            continue;
        }
        stacks.iter().for_each(|&i| mark(taken, i));
        seeker.add_feeders(scan, taken, &mut stacks);
        let bytes: u64 = stacks.iter().map(|&i| step.bytes(i)).sum();
        let writer = seeker.writer(scan, &stacks);
        let rounds = scan.rounds.unsigned_abs().max(1);
        // The loop's carry is the input of each round: stacked, it is what remains.
        let carry = writer.map_or(0, |writer| carry(step.flow, writer)).saturating_mul(rounds);
        let smallest = stacks.iter().map(|&i| step.bytes(i)).min().unwrap_or(0);
        let carry = if carry > 0 { carry } else { smallest };
        if carry >= bytes {
            continue;
        }
        let last = stacks.iter().filter_map(|&i| pieces.get(i)).map(|p| p.last).max().unwrap_or(scan.to);
        let first = writer.map_or(step.split.min(last), |writer| writer.from);
        let largest = stacks.iter().max_by_key(|&&i| step.bytes(i)).and_then(|&i| pieces.get(i));
        let class = largest.map_or(NONE, |p| p.class);
        remat.kept.push(Piece { first, last, bytes: carry, home: NONE, class, returned: false });
        remat.acts_on = remat.acts_on.saturating_add(bytes);
        remat.boundaries = remat.boundaries.saturating_add(carry);
        remat.scans.push(scan.rounds);
        let again = seeker.needed_again(scan, writer, &stacks);
        seeker.find_makers();
        for i in stacks {
            seeker.replace(scan, i, &again, taken, remat);
        }
    }
}

/// So many stacks are made of one another at most; more are an attack.
const MOST_FEEDERS: usize = 64;

struct Seeker<'a> {
    step: Step<'a>,
    forward: &'a [Scan],
    /// What may be a stack, ordered by the last moment at which it is needed, with that.
    ended: Vec<(u32, u32)>,
    /// Makers and what they make, in order.
    by_maker: Vec<(u32, u32)>,
}

impl Seeker<'_> {
    /// Notes when each piece ends that may be a stack of one of some loops: so each loop has but a few to look at.
    fn find_ends(&mut self, scans: &[Scan]) {
        let picture = self.step.picture;
        let rounds: HashSet<i64> = scans.iter().map(|scan| scan.rounds).collect();
        let of_class = |class: &Class| class.dims.iter().any(|dim| rounds.contains(dim));
        let may_be: Vec<bool> = picture.classes.iter().map(of_class).collect();
        let pieces = (0..).zip(&picture.pieces).filter(|(_, p)| may_be.get(p.class as usize) == Some(&true));
        self.ended = pieces.map(|(i, piece)| (piece.last, i)).collect();
        by_key(&mut self.ended, |&(last, _)| last.into());
    }

    /// Whether a piece can be a stack of a loop's rounds, and no stack of weights.
    fn is_stack(&self, piece: &Piece, class: &Class, scan: &Scan) -> bool {
        !piece.returned
            && class.dims.len() >= 2
            && class.dims.contains(&scan.rounds)
            && class.role != Some(Role::Recomputed)
            && !class.weight_like
    }

    /// Forward loops that make what a piece holds.
    fn writers(&self, piece: usize) -> impl Iterator<Item = &Scan> {
        let Step { flow, stories, .. } = self.step;
        self.forward.iter().filter(move |scan| {
            stories.makers(piece).iter().any(|&maker| (scan.from..=scan.to).contains(&flow.moment(maker)))
        })
    }

    /// Stacks that a backward loop reads and doesn't write, and that the forward pass itself reads nowhere else: what it does read
    /// (the outputs of a recurrent layer) is kept with or without rematerialization.
    fn read_by(&self, scan: &Scan, taken: &[bool]) -> Vec<usize> {
        let Step { flow, picture, stories, split, .. } = self.step;
        let wanted = |&i: &usize| {
            let Some(piece) = picture.pieces.get(i) else { return false };
            if piece.first >= scan.from
                || taken.get(i).copied().unwrap_or(true)
                || !picture.class_of(piece).is_some_and(|class| self.is_stack(piece, class, scan))
            {
                return false;
            }
            let written = stories.makers(i).iter().any(|&maker| {
                let passes = matches!(flow.op(maker), Op::Element | Op::Parameter | Op::While | Op::Same);
                !passes && (scan.from..scan.to).contains(&flow.moment(maker))
            });
            let own: Vec<&Scan> = self.writers(i).collect();
            let read_forward = stories.reads(i).iter().any(|&(moment, reader)| {
                moment <= split
                    && flow.role(reader) == Some(Role::Forward)
                    && !own.iter().any(|scan| (scan.from..=scan.to).contains(&moment))
            });
            !written && !read_forward
        };
        let from = self.ended.partition_point(|&(last, _)| last < scan.from);
        let in_scan = self.ended.iter().skip(from).take_while(|&&(last, _)| last <= scan.to);
        let mut found: Vec<usize> = in_scan.map(|&(_, i)| i as usize).filter(wanted).collect();
        found.arrange();
        found
    }

    /// Adds the stacks whose only readers make stacks that are there already: between the loops XLA rearranges some.
    fn add_feeders(&self, scan: &Scan, taken: &mut [bool], stacks: &mut Vec<usize>) {
        let Step { picture, stories, .. } = self.step;
        let mut made: HashSet<u32> = stacks.iter().flat_map(|&i| stories.makers(i)).copied().collect();
        let may_feed = |&i: &usize| {
            let Some(piece) = picture.pieces.get(i) else { return false };
            !taken.get(i).copied().unwrap_or(true)
                && piece.first <= scan.from
                && picture.class_of(piece).is_some_and(|class| self.is_stack(piece, class, scan))
        };
        let mut candidates: Vec<usize> =
            self.ended.iter().map(|&(_, i)| i as usize).filter(may_feed).collect();
        candidates.arrange();
        // With the instructions that read each outside of the loops that write it.
        let mut left: Vec<(usize, Vec<u32>)> = candidates
            .into_iter()
            .filter_map(|i| {
                let own: Vec<&Scan> = self.writers(i).filter(|w| w.rounds == scan.rounds).collect();
                let inside = |moment: u32| own.iter().any(|w| (w.from..=w.to).contains(&moment));
                let outside = stories.reads(i).iter().filter(|(moment, _)| !inside(*moment));
                let readers: Vec<u32> = outside.map(|(_, reader)| *reader).collect();
                (!own.is_empty() && !readers.is_empty()).then_some((i, readers))
            })
            .collect();
        for _ in 0..MOST_FEEDERS {
            let before = left.len();
            left.retain(|(i, readers)| {
                let feeds = readers.iter().all(|reader| made.contains(reader));
                if feeds {
                    made.extend(stories.makers(*i));
                    mark(taken, *i);
                    stacks.push(*i);
                }
                !feeds
            });
            if left.len() == before {
                return;
            }
        }
    }

    /// The forward loop that writes the stacks: the last one with as many rounds that runs while they live.
    fn writer(&self, scan: &Scan, stacks: &[usize]) -> Option<&Scan> {
        let lives: Vec<&Piece> = stacks.iter().filter_map(|&i| self.step.picture.pieces.get(i)).collect();
        self.forward.iter().rev().find(|writer| {
            writer.rounds == scan.rounds
                && lives.iter().any(|p| writer.from <= p.last && writer.to >= p.first)
        })
    }

    /// The first moment in a round of the backward loop at which a stack is read.
    fn read_first(&self, scan: &Scan, stack: usize) -> Option<u32> {
        let inside = |&&(moment, reader): &&(u32, u32)| {
            (scan.from..=scan.to).contains(&moment) && self.step.flow.op(reader) != Op::While
        };
        self.step.stories.reads(stack).iter().filter(inside).map(|r| r.0).min()
    }

    /// When each instruction of the forward loop's body has to be computed again in a round of the backward loop.
    fn needed_again(&self, scan: &Scan, writer: Option<&Scan>, stacks: &[usize]) -> Again {
        let Some(writer) = writer else { return Again::default() };
        let Step { flow, stories, .. } = self.step;
        let in_body = |i: u32| (writer.from..writer.to).contains(&flow.moment(i));
        let mut wanted: HashMap<u32, u32> = HashMap::new();
        for &stack in stacks {
            let Some(first) = self.read_first(scan, stack) else { continue };
            for &maker in stories.makers(stack).iter().filter(|&&maker| in_body(maker)) {
                let known = wanted.entry(maker).or_insert(first);
                *known = first.min(*known);
            }
        }
        Again::of(flow, writer.from..writer.to, &wanted, |_, reader| in_body(reader))
    }

    /// Notes what each instruction makes.
    fn find_makers(&mut self) {
        if self.by_maker.is_empty() {
            let pieces = 0..self.step.picture.pieces.len();
            self.by_maker = pieces.map(|i| (self.step.stories.maker(i), i as u32)).collect();
            by_key(&mut self.by_maker, |&(maker, _)| maker.into());
        }
    }

    /// The pieces that an instruction makes.
    fn made_by(&self, maker: u32) -> impl Iterator<Item = usize> {
        let from = self.by_maker.partition_point(|entry| entry.0 < maker);
        let own = self.by_maker.iter().skip(from).take_while(move |entry| entry.0 == maker);
        own.map(|entry| entry.1 as usize)
    }

    /// Instead of the stack, one layer of it lives in a round of the backward loop: from the round's start in the worst case,
    /// in the best from when it, or something computed from it, is read first; until its last reader. What a round took out of the
    /// stack is that same layer.
    fn replace(&self, scan: &Scan, stack: usize, again: &Again, taken: &mut [bool], remat: &mut Remat) {
        let Step { flow, picture, stories, .. } = self.step;
        let Some(piece) = picture.pieces.get(stack) else { return };
        let rounds = scan.rounds.unsigned_abs().max(1);
        let layer = piece.bytes / rounds;
        let mut last = scan.from;
        for &(moment, reader) in stories.reads(stack) {
            if !(scan.from..=scan.to).contains(&moment) || flow.op(reader) == Op::While {
                continue;
            }
            last = last.max(moment);
            for i in self.made_by(reader) {
                let Some(slice) = picture.pieces.get(i) else { continue };
                let same =
                    slice.bytes.abs_diff(layer).saturating_mul(20) <= layer && slice.bytes < piece.bytes;
                if same && !slice.returned && !taken.get(i).copied().unwrap_or(true) {
                    mark(taken, i);
                    last = last.max(slice.last);
                    remat.replaced.push(Replaced { piece: i, least: Vec::new(), most: Vec::new() });
                }
            }
        }
        let span = |first| Span { first, last, divide: rounds };
        let (least, most) = match self.read_first(scan, stack) {
            // The stack is written from its layer, whose other readers compute what may be wanted earlier.
            Some(first) => {
                let sources = stories.makers(stack).iter().flat_map(|&maker| flow.operands(maker));
                let sooner = sources.map(|&operand| again.get(flow, operand)).min().unwrap_or(NEVER);
                (vec![span(sooner.min(first))], vec![span(scan.from)])
            }
            None => (Vec::new(), Vec::new()),
        };
        remat.replaced.push(Replaced { piece: stack, least, most });
    }
}

fn mark(taken: &mut [bool], i: usize) {
    if let Some(taken) = taken.get_mut(i) {
        *taken = true;
    }
}

/// Bytes of the arrays that a loop hands from round to round: of its state the parts that change, without counters and without
/// what it stacks.
fn carry(flow: &Flow<'_>, scan: &Scan) -> u64 {
    let hlo = flow.hlo;
    let it = flow.instruction(scan.instruction);
    let Some(body) = it.called_computation_ids().next().and_then(|id| hlo.computation(id)) else { return 0 };
    let Some(root) = hlo.root_of(body).map(|root| root.at() as u32) else { return 0 };
    if flow.op(root) != Op::Tuple {
        return 0;
    }
    let parts = (0..).zip(flow.operands(root));
    let bytes = parts.filter_map(|(part, &operand)| {
        let mut source = operand;
        while matches!(flow.op(source), Op::Same | Op::Relayout)
            && let Some(&next) = flow.operands(source).first()
        {
            source = next;
        }
        let unchanged = flow.op(source) == Op::Element
            && flow.part(source) == part
            && flow.operands(source).first().is_some_and(|&of| flow.op(of) == Op::Parameter);
        let shape = flow.instruction(operand).shape();
        let stacked = shape.dimensions.len() > 2 && shape.dimensions.contains(&scan.rounds);
        (!unchanged && !stacked && shape.dimensions.len() >= 2).then(|| logical_bytes(&shape)).flatten()
    });
    bytes.fold(0, u64::saturating_add)
}
