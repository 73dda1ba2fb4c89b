//! Launches and kernels, one to two bytes each, and their join by correlation id.
//!
//! A launch is an event of the host (`hipModuleLaunchKernel`, or on CUDA an event named after the kernel), a kernel
//! one of the device; the same `correlation_id` ties them, and one id can carry several kernels. The module's label
//! may stand on either. Copies have no label and are no kernels.

use crate::arrange::Arrange;
use std::collections::HashMap;
use std::sync::Arc;

/// A label that is absent.
const UNLABELLED: u32 = u32::MAX;

/// A list of correlation ids, each with a time and a tag, written as differences.
#[derive(Debug, Clone)]
pub(super) struct Ids {
    /// Lists that this one goes on after.
    before: Vec<Part>,
    bytes: Vec<u8>,
    last: (u64, i64, u32),
    count: usize,
    /// The least and the largest id; of ids taken back too.
    span: (u64, u64),
}

impl Default for Ids {
    fn default() -> Ids {
        Ids { before: Vec::new(), bytes: Vec::new(), last: (0, 0, 0), count: 0, span: (u64::MAX, 0) }
    }
}

/// A list that is written to its end.
#[derive(Debug, Clone)]
struct Part {
    bytes: Vec<u8>,
    count: usize,
    tags: Tags,
}

/// What the tags of a list are in another one.
#[derive(Debug, Clone)]
pub(super) enum Tags {
    /// So much more.
    From(u32),
    /// New numbers by old ones; `u32::MAX` stays.
    Renumbered(Arc<[u32]>),
}

impl Tags {
    fn of(&self, tag: u32) -> u32 {
        match self {
            Tags::From(first) => tag.saturating_add(*first),
            Tags::Renumbered(new) => new.get(tag as usize).copied().unwrap_or(UNLABELLED),
        }
    }
}

/// A place in [`Ids`] to go back to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mark {
    len: usize,
    last: (u64, i64, u32),
    count: usize,
}

impl Ids {
    pub(super) fn mark(&self) -> Mark {
        Mark { len: self.bytes.len(), last: self.last, count: self.count }
    }

    pub(super) fn back_to(&mut self, mark: Mark) {
        self.bytes.truncate(mark.len);
        self.last = mark.last;
        self.count = mark.count;
    }

    /// Adds an id; `time` and `tag` cost nothing while they do not change.
    #[inline]
    pub(super) fn push(&mut self, id: u64, time: i64, tag: u32) {
        let (last_id, last_time, last_tag) = self.last;
        self.last = (id, time, tag);
        self.count += 1;
        self.span = (self.span.0.min(id), self.span.1.max(id));
        let difference = id.wrapping_sub(last_id) as i64;
        let zigzag = ((difference << 1) ^ (difference >> 63)) as u64;
        if zigzag < 16 && (time, tag) == (last_time, last_tag) {
            self.bytes.push((zigzag << 3) as u8);
        } else {
            self.push_whole(id, zigzag, time.wrapping_sub(last_time), (tag != last_tag).then_some(tag));
        }
    }

    #[inline(never)]
    fn push_whole(&mut self, id: u64, zigzag: u64, moved: i64, tag: Option<u32>) {
        let head = u64::from(tag.is_some()) | u64::from(moved != 0) << 1;
        // Two bits of the head are flags: a difference of more than 61 bits is written in full behind it.
        if zigzag < 1 << 60 {
            self.varint(zigzag << 3 | head);
        } else {
            self.varint(4 | head);
            self.varint(id);
        }
        if let Some(tag) = tag {
            // `UNLABELLED` becomes 0: copies stand between kernels.
            self.varint(u64::from(tag.wrapping_add(1)));
        }
        if moved != 0 {
            self.varint(((moved << 1) ^ (moved >> 63)) as u64);
        }
    }

    fn varint(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.bytes.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.bytes.push(v as u8);
    }

    /// Adds another list behind this one, its tags as `tags` says.
    pub(super) fn absorb(&mut self, later: Ids, tags: &Tags) {
        let here = Part { bytes: std::mem::take(&mut self.bytes), count: self.count, tags: Tags::From(0) };
        self.before.push(here);
        debug_assert!(later.before.is_empty());
        self.before.push(Part { bytes: later.bytes, count: later.count, tags: tags.clone() });
        (self.count, self.last) = (0, (0, 0, 0));
        self.span = (self.span.0.min(later.span.0), self.span.1.max(later.span.1));
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.before.iter().map(|part| part.count).sum::<usize>() + self.count
    }

    /// Calls `take` with every id, its time and its tag.
    #[inline]
    pub(super) fn each(&self, mut take: impl FnMut(u64, i64, u32)) {
        for part in &self.before {
            each(&part.bytes, part.count, |tag| part.tags.of(tag), &mut take);
        }
        each(&self.bytes, self.count, |tag| tag, &mut take);
    }
}

#[inline(always)]
fn each(bytes: &[u8], count: usize, named: impl Fn(u32) -> u32, take: &mut impl FnMut(u64, i64, u32)) {
    let mut at = crate::bytes::wire::Cursor::new(bytes);
    let mut next = || at.varint().unwrap_or(0);
    let unzigzag = |v: u64| (v >> 1) as i64 ^ -((v & 1) as i64);
    let (mut id, mut time, mut tag) = (0u64, 0i64, named(0));
    for _ in 0..count {
        let head = next();
        id = if head & 4 != 0 { next() } else { id.wrapping_add(unzigzag(head >> 3) as u64) };
        if head & 1 != 0 {
            tag = named((next() as u32).wrapping_sub(1));
        }
        if head & 2 != 0 {
            time = time.wrapping_add(unzigzag(next()));
        }
        take(id, time, tag);
    }
}

/// A device's kernels with one correlation id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Launched {
    /// Index of the device.
    pub(super) device: u16,
    /// The program that labels them, `None` for copies.
    pub(super) program: Option<u32>,
    /// How many.
    pub(super) count: u32,
}

/// Kernels by correlation id.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    first: u64,
    /// Index into `kinds` plus one, by id from `first` on; 0 for ids without kernels.
    dense: Vec<u16>,
    /// Where ids lie too far apart for that: ids and kinds, sorted by id.
    sparse: Vec<(u64, u16)>,
    /// (device, program) pairs.
    kinds: Vec<(u16, u32)>,
    /// Kernels beyond the first, of ids that have several.
    more: HashMap<u64, u32>,
}

/// Set in the kind of an id that has several kernels.
const SEVERAL: u16 = 1 << 15;

impl Kernels {
    /// From the kernels of each device, whose tags are program indices or `u32::MAX`.
    pub(super) fn new(devices: &[(u16, &Ids)]) -> Kernels {
        let count = devices.iter().map(|(_, ids)| ids.len()).sum::<usize>();
        let spans = devices.iter().map(|(_, ids)| ids.span);
        let (first, last) = spans.fold((u64::MAX, 0), |all, s| (all.0.min(s.0), all.1.max(s.1)));
        let mut kernels = Kernels { first, ..Kernels::default() };
        if count == 0 {
            return kernels;
        }
        let span = last - first;
        if span < 16 * count as u64 + 4096 {
            kernels.dense = vec![0; span as usize + 1];
        }
        let mut seen = HashMap::new();
        for (device, ids) in devices {
            // Kernels of one program stand together: the last kind is nearly always the next one too.
            let mut last = None;
            ids.each(|id, _, program| {
                let kind = match last {
                    Some((p, kind)) if p == program => kind,
                    _ => *seen.entry((*device, program)).or_insert_with(|| {
                        kernels.kinds.push((*device, program));
                        kernels.kinds.len()
                    }),
                };
                last = Some((program, kind));
                if let Some(kind) = u16::try_from(kind).ok().filter(|k| *k < SEVERAL) {
                    kernels.add(id, kind);
                }
            });
        }
        kernels.sparse.arrange();
        kernels.sparse.dedup_by(|b, a| {
            let same = a.0 == b.0;
            if same {
                a.1 |= SEVERAL;
                *kernels.more.entry(a.0).or_insert(0) += 1;
            }
            same
        });
        kernels
    }

    #[inline]
    fn add(&mut self, id: u64, kind: u16) {
        let Some(cell) = self.dense.get_mut(id.wrapping_sub(self.first) as usize) else {
            self.sparse.push((id, kind));
            return;
        };
        if *cell == 0 {
            *cell = kind;
            return;
        }
        // A labelled kernel says more than an unlabelled one beside it.
        let kinds = &self.kinds;
        let labelled = |k: u16| kinds.get(usize::from(k & !SEVERAL) - 1).is_some_and(|k| k.1 != UNLABELLED);
        if !labelled(*cell) && labelled(kind) {
            *cell = kind;
        }
        *cell |= SEVERAL;
        *self.more.entry(id).or_insert(0) += 1;
    }

    /// The kernels with this id.
    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<Launched> {
        let kind = if self.dense.is_empty() {
            let i = self.sparse.binary_search_by_key(&id, |s| s.0).ok()?;
            self.sparse[i].1
        } else {
            let i = usize::try_from(id.checked_sub(self.first)?).ok()?;
            *self.dense.get(i)?
        };
        let &(device, program) = self.kinds.get(usize::from(kind & !SEVERAL).checked_sub(1)?)?;
        let more = if kind & SEVERAL == 0 { 0 } else { self.more.get(&id).copied().unwrap_or(0) };
        Some(Launched { device, program: (program != UNLABELLED).then_some(program), count: 1 + more })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_and_take_a_byte_or_two_each() {
        let mut ids = Ids::default();
        let mut wanted = Vec::new();
        for i in 0..1000u64 {
            let item = (100 + 3 * i, 0, (i / 100) as u32);
            ids.push(item.0, item.1, item.2);
            wanted.push(item);
        }
        assert!(ids.bytes.len() < 1100, "{} bytes for 1000 ids", ids.bytes.len());
        for item in [(u64::MAX, -5, 7), (0, i64::MAX, 7), (1 << 62, i64::MIN, 0), (5, 5, u32::MAX)] {
            ids.push(item.0, item.1, item.2);
            wanted.push(item);
        }
        let read = |ids: &Ids| {
            let mut all = Vec::new();
            ids.each(|id, time, tag| all.push((id, time, tag)));
            all
        };
        assert_eq!(read(&ids), wanted);
        assert_eq!(ids.len(), wanted.len());
        let mark = ids.mark();
        ids.push(9, 9, 9);
        ids.back_to(mark);
        assert_eq!(read(&ids), wanted);
    }

    #[test]
    fn kernels_are_found_by_id_dense_or_sparse() {
        for step in [1u64, 1 << 40] {
            let mut a = Ids::default();
            let mut b = Ids::default();
            a.push(7 * step, 0, 0);
            a.push(8 * step, 0, UNLABELLED);
            a.push(8 * step, 0, UNLABELLED);
            b.push(9 * step, 0, 1);
            let kernels = Kernels::new(&[(0, &a), (3, &b)]);
            assert_eq!(kernels.get(7 * step), Some(Launched { device: 0, program: Some(0), count: 1 }));
            assert_eq!(kernels.get(8 * step), Some(Launched { device: 0, program: None, count: 2 }));
            assert_eq!(kernels.get(9 * step), Some(Launched { device: 3, program: Some(1), count: 1 }));
            assert_eq!(kernels.get(10 * step), None);
            assert_eq!(kernels.get(0), None);
        }
        assert_eq!(Kernels::new(&[]).get(0), None);
    }
}
