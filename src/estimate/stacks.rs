//! Residuals of scanned models: the forward loop writes each layer's results into stacks `[layers, …]`, the backward loop reads
//! them one layer a round.

use super::flow::{Flow, Op};
use super::picture::{Facts, Home, Picture, Piece};
use super::program::{Program, Scan, sorted};
use super::remat::{Remat, Replaced, Span, needed_again};
use crate::hlo::logical_bytes;
use crate::terms::Role;
use std::collections::{HashMap, HashSet};

/// Finds the stacks that rematerialization of the loop's body would take away, and marks them as taken.
pub(super) fn find(
    flow: &Flow<'_>,
    program: &Program,
    picture: &Picture,
    split: u32,
    taken: &mut [bool],
    remat: &mut Remat,
) {
    let (forward, backward): (Vec<Scan>, Vec<Scan>) = program.scans.iter().partition(|scan| scan.to <= split);
    let mut by_maker: HashMap<u32, Vec<usize>> = HashMap::new();
    for (i, piece) in picture.pieces.iter().enumerate() {
        if let Some(facts) = picture.facts_of(piece) {
            by_maker.entry(facts.maker).or_default().push(i);
        }
    }
    let seeker = Seeker { flow, program, picture, forward: &forward, split };
    for scan in &backward {
        let mut stacks = seeker.read_by(scan, taken);
        if stacks.is_empty() {
            continue;
        }
        stacks.iter().for_each(|&i| mark(taken, i));
        seeker.add_feeders(scan, taken, &mut stacks);
        let bytes: u64 = stacks.iter().map(|&i| seeker.bytes(i)).sum();
        let writer = seeker.writer(scan, &stacks);
        let rounds = scan.rounds.unsigned_abs().max(1);
        // The loop's carry is the input of each round: stacked, it is what remains.
        let carry = writer.map_or(0, |writer| carry(flow, writer)).saturating_mul(rounds);
        let smallest = stacks.iter().map(|&i| seeker.bytes(i)).min().unwrap_or(0);
        let carry = if carry > 0 { carry } else { smallest };
        if carry >= bytes {
            continue;
        }
        let last =
            stacks.iter().filter_map(|&i| picture.pieces.get(i)).map(|p| p.last).max().unwrap_or(scan.to);
        let first = writer.map_or(split.min(last), |writer| writer.from);
        let facts = stacks.iter().max_by_key(|&&i| seeker.bytes(i)).and_then(|&i| picture.pieces.get(i));
        remat.kept.push(Piece {
            first,
            last,
            bytes: carry,
            home: Home::Temp,
            returned: false,
            facts: facts.map_or(u32::MAX, |p| p.facts),
        });
        remat.acts_on = remat.acts_on.saturating_add(bytes);
        remat.boundaries = remat.boundaries.saturating_add(carry);
        remat.scans.push(scan.rounds);
        let again = seeker.needed_again(scan, writer, &stacks);
        for i in stacks {
            seeker.replace(scan, i, &again, &by_maker, taken, remat);
        }
    }
}

struct Seeker<'a> {
    flow: &'a Flow<'a>,
    program: &'a Program,
    picture: &'a Picture,
    forward: &'a [Scan],
    split: u32,
}

impl Seeker<'_> {
    fn bytes(&self, i: usize) -> u64 {
        self.picture.pieces.get(i).map_or(0, |p| p.bytes)
    }

    /// Whether a piece can be a stack of a loop's rounds, and no stack of weights.
    fn is_stack(&self, piece: &Piece, facts: &Facts, scan: &Scan) -> bool {
        !piece.returned
            && facts.dims.len() >= 2
            && facts.dims.contains(&scan.rounds)
            && facts.role != Some(Role::Recomputed)
            && !self.program.weight_shapes.contains(&sorted(&facts.dims))
    }

    /// Forward loops that make what a piece holds.
    fn writers(&self, facts: &Facts) -> impl Iterator<Item = &Scan> {
        self.forward.iter().filter(move |scan| {
            facts.makers.iter().any(|&maker| (scan.from..=scan.to).contains(&self.flow.moment(maker)))
        })
    }

    /// Stacks that a backward loop reads and doesn't write, and that the forward pass itself reads nowhere else: what it does read
    /// (the outputs of a recurrent layer) is kept with or without rematerialization.
    fn read_by(&self, scan: &Scan, taken: &[bool]) -> Vec<usize> {
        let wanted = |&(i, piece): &(usize, &Piece)| {
            // Lives first: they rule out nearly all.
            if piece.first >= scan.from
                || !(scan.from..=scan.to).contains(&piece.last)
                || taken.get(i).copied().unwrap_or(true)
            {
                return false;
            }
            let Some(facts) = self.picture.facts_of(piece).filter(|facts| self.is_stack(piece, facts, scan))
            else {
                return false;
            };
            let written = facts.makers.iter().any(|&maker| {
                let passes =
                    matches!(self.flow.op(maker), Op::Element(_) | Op::Parameter | Op::While | Op::Same);
                !passes && (scan.from..scan.to).contains(&self.flow.moment(maker))
            });
            let own: Vec<&Scan> = self.writers(facts).collect();
            let read_forward = facts.reads.iter().any(|&(moment, reader)| {
                moment <= self.split
                    && self.flow.role(reader) == Some(Role::Forward)
                    && !own.iter().any(|scan| (scan.from..=scan.to).contains(&moment))
            });
            !written && !read_forward
        };
        self.picture.pieces.iter().enumerate().filter(wanted).map(|(i, _)| i).collect()
    }

    /// Adds the stacks whose only readers make stacks that are there already: between the loops XLA rearranges some.
    fn add_feeders(&self, scan: &Scan, taken: &mut [bool], stacks: &mut Vec<usize>) {
        let facts_at = |i: usize| self.picture.pieces.get(i).and_then(|p| self.picture.facts_of(p));
        let mut made: HashSet<u32> =
            stacks.iter().filter_map(|&i| facts_at(i)).flat_map(|f| f.makers.iter().copied()).collect();
        loop {
            let before = stacks.len();
            for (i, piece) in self.picture.pieces.iter().enumerate() {
                let Some(facts) = self.picture.facts_of(piece) else { continue };
                if taken.get(i).copied().unwrap_or(true)
                    || piece.first > scan.from
                    || !self.is_stack(piece, facts, scan)
                {
                    continue;
                }
                let own: Vec<&Scan> = self.writers(facts).filter(|w| w.rounds == scan.rounds).collect();
                let inside = |moment: u32| own.iter().any(|w| (w.from..=w.to).contains(&moment));
                let mut outside = facts.reads.iter().filter(|(moment, _)| !inside(*moment)).peekable();
                let feeds = outside.peek().is_some() && outside.all(|(_, reader)| made.contains(reader));
                if !own.is_empty() && feeds {
                    made.extend(&facts.makers);
                    mark(taken, i);
                    stacks.push(i);
                }
            }
            if stacks.len() == before {
                return;
            }
        }
    }

    /// The forward loop that writes the stacks: the last one with as many rounds that runs while they live.
    fn writer(&self, scan: &Scan, stacks: &[usize]) -> Option<&Scan> {
        let lives: Vec<&Piece> = stacks.iter().filter_map(|&i| self.picture.pieces.get(i)).collect();
        self.forward.iter().rev().find(|writer| {
            writer.rounds == scan.rounds
                && lives.iter().any(|p| writer.from <= p.last && writer.to >= p.first)
        })
    }

    /// The first moment in a round of the backward loop at which a stack is read.
    fn read_first(&self, scan: &Scan, facts: &Facts) -> Option<u32> {
        let inside = |&&(moment, reader): &&(u32, u32)| {
            (scan.from..=scan.to).contains(&moment) && self.flow.op(reader) != Op::While
        };
        facts.reads.iter().filter(inside).map(|r| r.0).min()
    }

    /// When each instruction of the forward loop's body has to be computed again in a round of the backward loop.
    fn needed_again(&self, scan: &Scan, writer: Option<&Scan>, stacks: &[usize]) -> HashMap<u32, u32> {
        let Some(writer) = writer else { return HashMap::new() };
        let mut wanted: HashMap<u32, u32> = HashMap::new();
        for facts in
            stacks.iter().filter_map(|&i| self.picture.pieces.get(i)).filter_map(|p| self.picture.facts_of(p))
        {
            let Some(first) = self.read_first(scan, facts) else { continue };
            for &maker in
                facts.makers.iter().filter(|&&m| (writer.from..writer.to).contains(&self.flow.moment(m)))
            {
                let known = wanted.entry(maker).or_insert(first);
                *known = first.min(*known);
            }
        }
        let body = self.flow.order.get(writer.from as usize..writer.to as usize).unwrap_or(&[]);
        let inside = |_, reader| (writer.from..writer.to).contains(&self.flow.moment(reader));
        needed_again(self.flow, body.iter().copied(), &wanted, inside)
    }

    /// Instead of the stack, one layer of it lives in a round of the backward loop: from the round's start in the worst case,
    /// in the best from when it, or something computed from it, is read first; until its last reader. What a round took out of the
    /// stack is that same layer.
    fn replace(
        &self,
        scan: &Scan,
        stack: usize,
        again: &HashMap<u32, u32>,
        by_maker: &HashMap<u32, Vec<usize>>,
        taken: &mut [bool],
        remat: &mut Remat,
    ) {
        let Some(piece) = self.picture.pieces.get(stack) else { return };
        let Some(facts) = self.picture.facts_of(piece) else { return };
        let rounds = scan.rounds.unsigned_abs().max(1);
        let layer = piece.bytes / rounds;
        let mut last = scan.from;
        for &(moment, reader) in &facts.reads {
            if !(scan.from..=scan.to).contains(&moment) || self.flow.op(reader) == Op::While {
                continue;
            }
            last = last.max(moment);
            for &i in by_maker.get(&reader).into_iter().flatten() {
                let Some(slice) = self.picture.pieces.get(i) else { continue };
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
        let (least, most) = match self.read_first(scan, facts) {
            // The stack is written from its layer, whose other readers compute what may be wanted earlier.
            Some(first) => {
                let sources = facts.makers.iter().flat_map(|&m| self.flow.operands(m));
                let sooner = sources.filter_map(|operand| again.get(operand)).min();
                (vec![span(sooner.map_or(first, |&s| s.min(first)))], vec![span(scan.from)])
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
    let Some(it) = flow.instruction(scan.instruction) else { return 0 };
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
        let unchanged = flow.op(source) == Op::Element(part)
            && flow.operands(source).first().is_some_and(|&of| flow.op(of) == Op::Parameter);
        let shape = flow.instruction(operand)?.shape();
        let stacked = shape.dimensions.len() > 2 && shape.dimensions.contains(&scan.rounds);
        (!unchanged && !stacked && shape.dimensions.len() >= 2).then(|| logical_bytes(&shape)).flatten()
    });
    bytes.fold(0, u64::saturating_add)
}
