//! A file that was read: makes its report, and answers the questions of views.

use super::events::Events;
use super::modules::{Detail, Modules};
use super::{Refusal, evidence};
use crate::bytes::Source;
use crate::capture::{Checkpoint, Index, modules::backend};
use crate::evidence::Kind;
use crate::evidence::error_text::{ErrorText, MatchedBy, decode};
use crate::evidence::memory_profile::MemoryProfile;
use crate::evidence::xla_text::XlaText;
use crate::facts;
use crate::findings;
use crate::model::{
    Given, LiveMoment, Module, ModuleWhy, PlanMoment, Platform, Report, SourceInfo, SourceKind, WhatIf,
};
use crate::run::Run;
use crate::terms::{RetryOutcome, Warning};
use crate::units::{Bytes, Picos};
use std::collections::HashMap;

/// What the user chooses.
#[derive(Debug, Clone)]
pub struct Options {
    /// The module to analyse, `jit_step(123)` or `jit_step`; `None` for the one that failed or needs most.
    pub module: Option<String>,
    /// Rows of a list at most.
    pub top: usize,
    /// Sizes of pool and card, for what does not have them: a plan alone, a capture without allocator events. What was measured
    /// stands.
    pub given: Given,
}

impl Default for Options {
    fn default() -> Options {
        Options { module: None, top: 25, given: Given::default() }
    }
}

/// A file that was read.
#[derive(Debug)]
pub struct Session<S> {
    source: S,
    info: SourceInfo,
    platform: Platform,
    warnings: Vec<Warning>,
    modules: Modules,
    /// What the events gave; `None` for a plan alone.
    events: Option<Events>,
    /// What the file is, where it is neither a capture nor a module.
    alone: Option<Alone>,
    /// The text of a failure that was given beside it.
    error_text: Option<ErrorText>,
    /// A memory profile of the same process that was given beside it.
    memory_profile: Option<MemoryProfile>,
}

/// A file without modules and events.
#[derive(Debug)]
enum Alone {
    Text(ErrorText),
    Dump(XlaText),
    Profile(MemoryProfile, Vec<Warning>),
}

impl<S: Source> Session<S> {
    pub(super) fn of_capture(
        source: S,
        name: &str,
        index: Index,
        checkpoints: Vec<Checkpoint>,
        run: Run,
    ) -> Session<S> {
        let info = SourceInfo {
            file: name.to_owned(),
            size_bytes: Bytes(index.len),
            host: index.hostnames.first().cloned(),
            kind: SourceKind::Xspace,
        };
        let platform = facts::platform(&index);
        let mut warnings = index.warnings.clone();
        let said = index.errors.iter().chain(&index.producer_warnings);
        warnings.extend(
            said.map(|e| Warning::new("profiler", format!("the profiler wrote into the capture: {e}"))),
        );
        warnings.extend(run.warnings.iter().cloned());
        let modules = Modules::of_capture(&source, &index, backend(&index), &mut warnings);
        let events = Some(Events::new(index, checkpoints, run, modules.joinable()));
        Session { platform, warnings, events, ..Session::of(source, info, modules) }
    }

    pub(super) fn of_whole(source: S, name: &str, kind: Kind, bytes: Vec<u8>) -> Result<Session<S>, Refusal> {
        let size_bytes = Bytes(bytes.len() as u64);
        let info = |kind| SourceInfo { file: name.to_owned(), size_bytes, host: None, kind };
        let alone = match kind {
            Kind::HloProto => {
                let (modules, warnings) =
                    Modules::of_dump(bytes).map_err(|e| Refusal::Damaged(e.to_string()))?;
                return Ok(Session { warnings, ..Session::of(source, info(SourceKind::HloProto), modules) });
            }
            Kind::MemoryProfile => {
                let (profile, warnings) =
                    MemoryProfile::read(&bytes).map_err(|e| Refusal::Damaged(e.to_string()))?;
                Alone::Profile(profile, warnings)
            }
            Kind::BufferAssignmentText | Kind::MemoryUsageText => {
                let text = decode(&bytes);
                let dump = XlaText::read(&text).ok_or_else(|| {
                    Refusal::Damaged("This begins like a text dump of XLA and holds no allocation".into())
                })?;
                Alone::Dump(dump)
            }
            _ => {
                let text = ErrorText::read(&decode(&bytes));
                if text.is_empty() {
                    return Err(Refusal::Damaged(
                        "This is text without a failure of memory in it. Bring the profiler's <host>.xplane.pb, or the text of \
                         the RESOURCE_EXHAUSTED error"
                            .into(),
                    ));
                }
                Alone::Text(text)
            }
        };
        let kind = match &alone {
            Alone::Text(_) => SourceKind::ErrorText,
            Alone::Dump(_) => SourceKind::HloProto,
            Alone::Profile(..) => SourceKind::MemoryProfile,
        };
        Ok(Session { alone: Some(alone), ..Session::of(source, info(kind), Modules::none()) })
    }

    fn of(source: S, info: SourceInfo, modules: Modules) -> Session<S> {
        Session {
            source,
            info,
            platform: Platform { backend: None, vendor: None, jax_version: None, devices: Vec::new() },
            warnings: Vec::new(),
            modules,
            events: None,
            alone: None,
            error_text: None,
            memory_profile: None,
        }
    }

    /// Puts the text of the failure beside the capture: the report then says which part of the plan it is about.
    pub fn add_error_text(&mut self, text: &str) {
        self.error_text = Some(ErrorText::read(text));
    }

    /// Puts a memory profile of the same process (unpacked) beside the capture: the report then has places in the
    /// program for arrays that are older than the capture. Beside another profile it is the earlier one: the report then
    /// says what changed since.
    ///
    /// # Errors
    /// Where the bytes are no profile.
    pub fn add_memory_profile(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let (profile, warnings) = MemoryProfile::read(bytes).map_err(|e| Refusal::Damaged(e.to_string()))?;
        self.warnings.extend(warnings);
        self.memory_profile = Some(profile);
        Ok(())
    }

    /// The report of a memory profile with what changed since an earlier one (unpacked) of the same process.
    ///
    /// # Errors
    /// Where this file is no memory profile, or the bytes are none.
    pub fn since(&self, earlier: &[u8], options: &Options) -> Result<Report, Refusal> {
        let Some(Alone::Profile(profile, warnings)) = &self.alone else {
            return Err(Refusal::Damaged("only a memory profile can be compared with an earlier one".into()));
        };
        let (before, more) = MemoryProfile::read(earlier).map_err(|e| Refusal::Damaged(e.to_string()))?;
        let warnings = warnings.iter().cloned().chain(self.packing()).chain(more).collect();
        Ok(evidence::of_memory_profile(self.info.clone(), profile, warnings, Some(&before), options.top))
    }

    /// Whether there is a module of this name (`jit_step(17)`, or `jit_step` for the largest of that name).
    #[must_use]
    pub fn has_module(&self, name: &str) -> bool {
        self.modules.find(name).is_some()
    }

    /// A sentence for a module that is not there.
    #[must_use]
    pub fn unknown_module(&self, name: &str) -> String {
        let names = self.modules.names(8);
        match names.as_slice() {
            [] => format!("there is no module {name}: the file holds none"),
            [one] => format!("there is no module {name}; the only one is {one}"),
            _ => format!("there is no module {name}; the largest are {}", names.join(", ")),
        }
    }

    /// The report.
    pub fn report(&mut self, options: &Options) -> Report {
        let mut report = match &self.alone {
            None => self.whole_report(options),
            Some(Alone::Text(text)) => evidence::of_error_text(self.info.clone(), text.clone()),
            Some(Alone::Dump(dump)) => evidence::of_dump(self.info.clone(), dump, options.top),
            Some(Alone::Profile(profile, warnings)) => {
                let (warnings, earlier) = (warnings.clone(), self.memory_profile.as_ref());
                evidence::of_memory_profile(self.info.clone(), profile, warnings, earlier, options.top)
            }
        };
        if self.alone.is_some() {
            report.warnings.extend(self.packing());
        }
        match (&self.alone, &self.error_text) {
            // The report of modules was made with the text in it: its findings know of it.
            (None, Some(_)) => evidence::tell_beside(&mut report),
            (Some(_), Some(text)) => evidence::add_error_text(&mut report, text.clone(), &[]),
            (_, None) => {}
        }
        if let (Some(profile), None) = (&self.memory_profile, &self.alone) {
            evidence::add_memory_profile(&mut report, profile, options.top);
        }
        report.cut(options.top);
        report
    }

    /// The report with all rows of its lists.
    fn whole_report(&mut self, options: &Options) -> Report {
        let (chosen, why) = self.choose(options);
        let mut warnings: Vec<Warning> = self.warnings.iter().cloned().chain(self.packing()).collect();
        let detail = match chosen.map(|i| self.modules.detail(&self.source, i)) {
            Some(Ok(detail)) => Some(detail),
            Some(Err(sentence)) => {
                warnings.push(Warning::new("module", sentence));
                None
            }
            None => None,
        };
        let plan = detail.map(Detail::report);
        let counts = self.events.as_ref().and_then(Events::counts);
        let modules: Vec<Module> = self.modules.reports(counts.as_deref());
        let mut report = Report {
            warnings,
            module: chosen.and_then(|i| modules.get(i)).map(|m| m.name.clone()),
            module_why: why,
            modules,
            plan,
            ..Report::of(self.info.clone(), self.platform.clone())
        };
        let mut silent = Vec::new();
        if let Some(events) = &self.events {
            events.fill(&self.source, chosen, &mut report);
            silent = events.silent(report.platform.jax_version.as_deref());
        }
        report.error_text = self.error_text.clone().map(|text| {
            let refused = refused(&report);
            let mut candidates = self.modules.candidates();
            for candidate in &mut candidates {
                candidate.refused = refused.get(candidate.name).copied();
            }
            evidence::beside(text, &candidates)
        });
        findings::give(&mut report, options.given, self.modules.backend());
        let detail = chosen.and_then(|i| self.modules.detail(&self.source, i).ok());
        findings::conclude(&mut report, detail.map(|d| &d.facts), detail.map(Detail::estimator), &silent);
        report
    }

    /// What is wrong with the packing that the file came in.
    fn packing(&self) -> Option<Warning> {
        let mut sentence = self.source.damage()?;
        // It stands behind a colon.
        sentence.get_mut(..1)?.make_ascii_lowercase();
        Some(Warning::new("archive-damaged", sentence))
    }

    /// The module to analyse, and why that.
    fn choose(&self, options: &Options) -> (Option<usize>, Option<ModuleWhy>) {
        if let Some(asked) = options.module.as_deref().and_then(|name| self.modules.find(name)) {
            return (Some(asked), Some(ModuleWhy::Asked));
        }
        let by_run = self.events.as_ref().and_then(Events::default_module);
        let failed = by_run.filter(|(_, why)| *why == ModuleWhy::LaunchedNoKernel);
        let chosen = failed
            .or_else(|| self.told().map(|i| (i, ModuleWhy::ErrorText)))
            .or(by_run)
            .or_else(|| self.modules.largest().map(|i| (i, ModuleWhy::Largest)));
        chosen.unzip()
    }

    /// The module that the text of the failure is of, where more than the size of one request says so.
    fn told(&self) -> Option<usize> {
        let found = evidence::beside(self.error_text.clone()?, &self.modules.candidates()).matched?;
        let sure = matches!(found.by, MatchedBy::Name | MatchedBy::Totals | MatchedBy::Need);
        self.modules.find(&found.module.filter(|_| sure)?)
    }

    /// The need of the module after several fixes together, by their ids.
    ///
    /// # Errors
    /// Where there is no plan, or an id is none.
    pub fn what_if(&mut self, fixes: &[String], options: &Options) -> Result<WhatIf, String> {
        let i = self.choose(options).0.ok_or("the file holds no module")?;
        // Before the report: to make it takes memory for a while.
        self.modules.detail(&self.source, i)?.estimator().get().ok_or("the module has no plan")?;
        let report = self.whole_report(options);
        let detail = self.modules.detail(&self.source, i)?;
        let estimator = detail.estimator().get().ok_or("the module has no plan")?;
        let case = findings::Case::new(&report, Some(&detail.facts), None);
        findings::what_if(&case, estimator, fixes)
    }

    /// What is live in an allocator at a moment.
    ///
    /// # Errors
    /// Where there is no such allocator.
    pub fn live_at(&self, allocator: &str, at: Picos) -> Result<LiveMoment, String> {
        let moment = self.events.as_ref().and_then(|e| e.live_at(allocator, at));
        moment.ok_or_else(|| format!("the capture has no allocator {allocator}"))
    }

    /// What is live at an event of a module's schedule.
    ///
    /// # Errors
    /// Where there is no such module, or its plan has no schedule.
    pub fn plan_at(&mut self, event: u64, options: &Options) -> Result<PlanMoment, String> {
        let i = self.choose(options).0.ok_or("the file holds no module")?;
        self.modules.detail(&self.source, i)?.moment(event)
    }
}

/// The allocations that launches did not get in the run, by module; of several the last.
fn refused(report: &Report) -> HashMap<String, i64> {
    let failed = report.retries.iter().filter(|r| r.outcome == RetryOutcome::Failed);
    let of_module = failed.filter_map(|r| {
        let execution = report.executions.get(usize::try_from(r.execution?).ok()?)?;
        Some((execution.module.clone()?, r.missing.as_ref()?.allocation?))
    });
    of_module.collect()
}
