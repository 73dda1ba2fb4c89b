//! The modules of a file: totals of all, and the details of the one that is looked at.

use crate::arrange::Arrange;
use crate::bytes::Source;
use crate::capture::modules::{modules, split_name};
use crate::capture::{Index, ModuleRef};
use crate::estimate::{Estimator, OnDemand};
use crate::evidence::error_text::Candidate;
use crate::facts;
use crate::findings;
use crate::hlo::{Hlo, NotHlo};
use crate::join;
use crate::model::{Module, PlanMoment, PlanReport};
use crate::plan::{Plan, Summary};
use crate::terms::{Backend, Warning};
use crate::units::Bytes;
use std::sync::OnceLock;

/// Modules named in warnings; of more it is told how many.
const MOST_NAMED: usize = 8;
/// Places where modules are damaged that are told; of more it is told how many.
const MOST_PLACES: usize = 100;

/// The modules of a file.
#[derive(Debug)]
pub(super) struct Modules {
    backend: Option<Backend>,
    entries: Vec<Entry>,
    /// The module looked at last: going through its views asks for it again and again.
    detail: Option<(usize, Box<Detail>)>,
}

#[derive(Debug)]
struct Entry {
    name: ModuleRef,
    summary: Summary,
}

/// One module with everything that is known of it.
#[derive(Debug)]
pub(super) struct Detail {
    pub name: String,
    pub hlo: Hlo,
    pub plan: Plan,
    /// What the rules of the findings want of it.
    pub facts: findings::Detail,
    estimator: OnceLock<Option<Estimator>>,
}

impl Modules {
    /// Reads the totals of every module of a capture, one at a time.
    pub(super) fn of_capture<S: Source>(
        source: &S,
        index: &Index,
        backend: Option<Backend>,
        warnings: &mut Vec<Warning>,
    ) -> Modules {
        let mut entries = Vec::new();
        let mut refused: Vec<(String, String, u64)> = Vec::new();
        let names = modules(index);
        // In the order of the file: a packed one is inflated again for each step back.
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.arrange_by_key(|&i| names[i].hlo.start);
        let mut read: Vec<(usize, Result<Summary, String>)> = order
            .into_iter()
            .map(|i| (i, read_hlo(source, &names[i]).map(|hlo| Summary::of(&hlo, backend))))
            .collect();
        read.arrange_by_key(|(i, _)| *i);
        let mut places = 0;
        for (name, (_, read)) in names.into_iter().zip(read) {
            match read {
                Ok(summary) => {
                    let room = MOST_PLACES.saturating_sub(places);
                    for w in summary.warnings.iter().take(room) {
                        warnings.push(Warning::at("module", name.hlo.start, format!("{}: {w}", name.name)));
                    }
                    places += summary.warnings.len();
                    entries.push(Entry { name, summary });
                }
                Err(why) => refused.push((name.name, why, name.hlo.start)),
            }
        }
        if places > MOST_PLACES {
            let more = places - MOST_PLACES;
            warnings.push(Warning::new("module", format!("modules are damaged in {more} more places")));
        }
        let more = refused.len().saturating_sub(MOST_NAMED);
        for (name, why, offset) in refused.into_iter().take(MOST_NAMED) {
            warnings.push(Warning::at("module", offset, format!("the module {name} is left out: {why}")));
        }
        if more > 0 {
            warnings.push(Warning::new("module", format!("{more} more modules are left out for the like")));
        }
        Modules { backend, entries, detail: None }
    }

    /// No modules at all.
    pub(super) fn none() -> Modules {
        Modules { backend: None, entries: Vec::new(), detail: None }
    }

    /// What the modules are compiled for.
    pub(super) fn backend(&self) -> Option<Backend> {
        self.backend
    }

    /// Every module, to be matched with the text of a failure.
    pub(super) fn candidates(&self) -> Vec<Candidate<'_>> {
        self.entries
            .iter()
            .map(|e| Candidate { name: &e.name.name, summary: &e.summary, refused: None })
            .collect()
    }

    /// The one module of a dump, and what is damaged in it.
    pub(super) fn of_dump(bytes: Vec<u8>) -> Result<(Modules, Vec<Warning>), NotHlo> {
        let len = bytes.len() as u64;
        let hlo = Hlo::parse(bytes)?;
        let backend = hlo.guess_backend();
        let name = hlo.name().to_owned();
        let detail = Detail::new(&name, hlo, backend);
        let entry = Entry {
            name: ModuleRef {
                name: name.clone(),
                base_name: name.clone(),
                program_id: detail.hlo.id(),
                hlo: 0..len,
            },
            summary: detail.plan.summary.clone(),
        };
        let warnings = entry.summary.warnings.iter().map(|w| Warning::new("module", w.clone())).collect();
        Ok((Modules { backend, entries: vec![entry], detail: Some((0, Box::new(detail))) }, warnings))
    }

    /// The module of this name, or the largest of those with this base name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let exact = self.entries.iter().position(|e| e.name.name == name);
        exact.or_else(|| {
            self.largest_of(|e| e.name.base_name == name || split_name(name).1 == Some(e.name.program_id))
        })
    }

    /// The names of the largest modules.
    pub(super) fn names(&self, most: usize) -> Vec<String> {
        let mut all: Vec<&Entry> = self.entries.iter().collect();
        all.arrange_by_key(|e| std::cmp::Reverse(e.summary.need()));
        all.into_iter().take(most).map(|e| e.name.name.clone()).collect()
    }

    /// The module with the largest need.
    pub(super) fn largest(&self) -> Option<usize> {
        self.largest_of(|_| true)
    }

    fn largest_of(&self, accept: impl Fn(&Entry) -> bool) -> Option<usize> {
        let accepted = self.entries.iter().enumerate().filter(|(_, e)| accept(e));
        // Of equal ones the first.
        accepted
            .max_by_key(|(i, e)| (e.summary.need().unwrap_or(Bytes::ZERO), std::cmp::Reverse(*i)))
            .map(|(i, _)| i)
    }

    /// The details of a module; reads it where it is not the one looked at last.
    pub(super) fn detail<S: Source>(&mut self, source: &S, i: usize) -> Result<&Detail, String> {
        if self.detail.as_ref().is_none_or(|(at, _)| *at != i) {
            let entry = self.entries.get(i).ok_or("there is no such module")?;
            let hlo = read_hlo(source, &entry.name)?;
            let detail = Detail::new(&entry.name.name, hlo, self.backend);
            self.detail = Some((i, Box::new(detail)));
        }
        self.detail.as_ref().map(|(_, d)| &**d).ok_or_else(|| "there is no such module".into())
    }

    /// Every module for the report.
    pub(super) fn reports(&self, executions: Option<&[u64]>) -> Vec<Module> {
        let executions = |i: usize| executions.and_then(|n| n.get(i).copied());
        let all = self.entries.iter().enumerate();
        all.map(|(i, e)| facts::module(&e.name, &e.summary, executions(i))).collect()
    }

    /// Every module for the join with the run, in the same order.
    pub(super) fn joinable(&self) -> Vec<join::Module> {
        self.entries.iter().map(|e| join::Module::new(&e.name, &e.summary)).collect()
    }
}

fn read_hlo<S: Source>(source: &S, name: &ModuleRef) -> Result<Hlo, String> {
    // Before it is read.
    if name.hlo.end.min(source.len()).saturating_sub(name.hlo.start) > Hlo::LARGEST {
        return Err(NotHlo::TooLarge.to_string());
    }
    let bytes = source.read_range(name.hlo.clone()).map_err(|e| e.to_string())?;
    Hlo::parse(bytes).map_err(|e| e.to_string())
}

impl Detail {
    fn new(name: &str, hlo: Hlo, backend: Option<Backend>) -> Detail {
        let plan = Plan::build(&hlo, backend);
        let facts = findings::Detail::of(&hlo, &plan);
        Detail { name: name.to_owned(), hlo, plan, facts, estimator: OnceLock::new() }
    }

    /// Says what fixes would save.
    pub(super) fn estimator(&self) -> OnDemand<'_> {
        OnDemand::new(&self.hlo, &self.plan, &self.estimator)
    }

    /// For the report, whole.
    pub(super) fn report(&self) -> PlanReport {
        facts::plan_report(&self.name, &self.hlo, &self.plan)
    }

    /// What is live at an event.
    pub(super) fn moment(&self, event: u64) -> Result<PlanMoment, String> {
        facts::plan_moment(&self.hlo, &self.plan, event).ok_or_else(|| "the plan has no schedule".into())
    }
}
