//! Launches on the host and kernels on the devices: what ties them to executions and programs.

use super::kernels::Ids;
use super::line::LineState;
use super::recorder::Recorder;
use super::records::{DeviceCopies, flag};
use super::tables::{self, NONE, PlaneTables, StatKind};
use crate::bytes::wire::Padded;
use crate::capture::{RawStats, StatValue};

/// What an event's stats say about a launch, a kernel or a copy.
#[derive(Debug, Clone, Copy, Default)]
struct Label {
    correlation: Option<u64>,
    program: Option<i64>,
    /// The module's name, by its stat metadata: names are references in every capture. Where one is a text of its own,
    /// the program's id alone tells.
    module: Option<u64>,
    /// Bytes copied within the device.
    copied: Option<u64>,
}

impl Label {
    /// The label of an event that is a launch or a kernel: what has a program is no copy, and ends the search.
    #[inline]
    fn of_kernel(tables: &PlaneTables, stats: Padded<'_>) -> Label {
        Label::until(tables, stats, |l| l.correlation.is_some() && l.program.is_some() && l.module.is_some())
    }

    #[inline]
    fn read(tables: &PlaneTables, stats: Padded<'_>) -> Label {
        Label::until(tables, stats, |_| false)
    }

    #[inline(always)]
    fn until(tables: &PlaneTables, stats: Padded<'_>, enough: impl Fn(&Label) -> bool) -> Label {
        let mut label = Label::default();
        for stat in RawStats::new(stats) {
            let kind = tables.stats.get(stat.metadata_id);
            if !kind.labels() {
                continue;
            }
            let value = stat.value();
            let number = match value {
                Some(value) => value.bits(),
                None => None,
            };
            match (kind, value) {
                (StatKind::Correlation, _) => label.correlation = number,
                (StatKind::Program, _) => label.program = number.map(|bits| bits as i64),
                (StatKind::Module, Some(StatValue::Ref(id))) => label.module = Some(id),
                (StatKind::MemcpyDetails, Some(StatValue::Ref(id))) => label.copied = tables.device_copy(id),
                (StatKind::MemcpyDetails, Some(StatValue::Str(text))) => {
                    label.copied = std::str::from_utf8(text).ok().and_then(tables::device_copy);
                }
                _ => continue,
            }
            if enough(&label) {
                break;
            }
        }
        label
    }
}

impl Recorder {
    pub(super) fn tables_of(&self, line: &LineState) -> Option<&PlaneTables> {
        self.tables.get(line.plane()).and_then(Option::as_ref)
    }

    /// An event's stat of this kind as a number; ids keep their bits.
    pub(super) fn stat(&self, line: &LineState, stats: Padded<'_>, kind: StatKind) -> Option<u64> {
        let tables = self.tables_of(line)?;
        RawStats::new(stats).find(|s| tables.stats.get(s.metadata_id) == kind)?.value()?.bits()
    }

    /// The number of the program that a label names; `NONE` without a program id.
    #[inline]
    fn program(&mut self, plane: usize, label: &Label) -> u32 {
        let Some(id) = label.program else { return NONE };
        // Labels repeat: the last one of this plane is nearly always the next one too.
        match self.last_program {
            Some((p, i, r, number)) if (p, i, Some(r)) == (plane, id, label.module) => number,
            _ => self.other_program(plane, id, label.module),
        }
    }

    #[inline(never)]
    fn other_program(&mut self, plane: usize, id: i64, module: Option<u64>) -> u32 {
        let name = module.map_or(NONE, |r| self.names.number((plane as u32, r as i64, true)));
        let number = self.programs.number((id, name));
        if let Some(r) = module {
            self.last_program = Some((plane, id, r, number));
        }
        number
    }

    /// A host event without a meaning of its own, inside an execution: a launch, a copy, or an operation of a CPU.
    pub(super) fn labelled_event(&mut self, line: &mut LineState, at: i64, stats: Padded<'_>) {
        let Some(tables) = self.tables_of(line) else { return };
        let label = Label::read(tables, stats);
        let program = self.program(line.plane(), &label);
        let open = self.open_execution(line, at);
        if let Some(flow) = line.region
            && program != NONE
        {
            self.regions.push((flow, program));
            line.region = None;
        }
        let Some(e) = open else { return };
        if let Some(id) = label.correlation {
            let list: &mut Ids = if program == NONE { &mut self.launches } else { &mut self.labelled };
            list.push(id, 0, e);
        }
        if program != NONE
            && let Some(e) = self.executions.get_mut(e as usize)
        {
            e.program = program;
            e.flags |= flag::LAUNCHED;
        }
        if let Some(bytes) = label.copied {
            match self.copies.last_mut() {
                Some((last, copies)) if *last == e => copies.add(1, bytes),
                _ => self.copies.push((e, DeviceCopies { count: 1, bytes })),
            }
        }
    }

    /// A launch on a line of its own.
    pub(super) fn far_launch(&mut self, line: &LineState, at: i64, stats: Padded<'_>) {
        let Some(tables) = self.tables_of(line) else { return };
        let label = Label::of_kernel(tables, stats);
        let Some(id) = label.correlation else { return };
        let program = self.program(line.plane(), &label);
        self.far.push(id, at, program);
    }

    /// An event of a device.
    pub(super) fn kernel(&mut self, line: &LineState, device: u16, id: i64, stats: Padded<'_>) {
        let Some(tables) = self.tables_of(line) else { return };
        // Writers put the correlation id first.
        let mut behind = RawStats::new(stats);
        let first = match behind.next() {
            Some(stat) if tables.stats.get(stat.metadata_id) == StatKind::Correlation => match stat.value() {
                Some(value) => value.bits(),
                None => None,
            },
            _ => None,
        };
        let known = match first {
            Some(_) => self.known.get(line.plane(), id, behind.bytes().own()),
            None => None,
        };
        let (correlation, program) = match known {
            Some(program) => (first, program),
            None => self.new_kernel(line.plane(), id, stats, first.map(|_| behind.bytes())),
        };
        let Some(record) = self.devices.get_mut(usize::from(device)) else { return };
        if let Some(id) = correlation {
            record.kernels.push(id, 0, program);
        }
        record.labelled |= program != NONE;
    }

    /// The correlation id and the program of a kernel whose stats but the first, a correlation id, are `behind`.
    #[inline(never)]
    fn new_kernel(
        &mut self,
        plane: usize,
        id: i64,
        stats: Padded<'_>,
        behind: Option<Padded<'_>>,
    ) -> (Option<u64>, u32) {
        let Some(tables) = self.tables.get(plane).and_then(Option::as_ref) else { return (None, NONE) };
        let label = Label::of_kernel(tables, stats);
        let rest = behind.map(|behind| (behind, Label::of_kernel(tables, behind)));
        let program = self.program(plane, &label);
        // A second correlation id would count instead of the first, which is then not all that changes.
        if let Some((behind, Label { correlation: None, .. })) = rest {
            self.known.put(plane, id, behind.own(), program);
        }
        (label.correlation, program)
    }
}
