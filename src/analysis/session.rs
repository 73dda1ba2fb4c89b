//! A file that was read: makes its report, and answers the questions of views.

use super::Refusal;
use super::modules::Modules;
use crate::bytes::Source;
use crate::capture::{Index, modules::backend};
use crate::evidence::Kind;
use crate::report::{
    self, Module, ModuleWhy, Omitted, PlanMoment, Platform, Report, SourceInfo, SourceKind, Tool,
};
use crate::run::Run;
use crate::terms::Warning;
use crate::units::Bytes;

/// What the user chooses.
#[derive(Debug, Clone)]
pub struct Options {
    /// The module to analyse, `jit_step(123)` or `jit_step`; `None` for the one that failed or needs most.
    pub module: Option<String>,
    /// Rows of a list at most.
    pub top: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { module: None, top: 25 }
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
    run: Option<Run>,
}

impl<S: Source> Session<S> {
    pub(super) fn of_capture(source: S, name: &str, index: Index, run: Run) -> Session<S> {
        let info = SourceInfo {
            file: name.to_owned(),
            size_bytes: Bytes(index.len),
            host: index.hostnames.first().cloned(),
            kind: SourceKind::Xspace,
        };
        let platform = report::platform(&index);
        let mut warnings = index.warnings.clone();
        let said = index.errors.iter().chain(&index.producer_warnings);
        warnings.extend(
            said.map(|e| Warning::new("profiler", format!("the profiler wrote into the capture: {e}"))),
        );
        warnings.extend(run.warnings.iter().cloned());
        let modules = Modules::of_capture(&source, &index, backend(&index), &mut warnings);
        Session { source, info, platform, warnings, modules, run: Some(run) }
    }

    pub(super) fn of_whole(source: S, name: &str, kind: Kind, bytes: Vec<u8>) -> Result<Session<S>, Refusal> {
        let size_bytes = Bytes(bytes.len() as u64);
        let info = |kind| SourceInfo { file: name.to_owned(), size_bytes, host: None, kind };
        let platform = Platform { backend: None, vendor: None, jax_version: None, devices: Vec::new() };
        match kind {
            Kind::HloProto => Ok(Session {
                source,
                info: info(SourceKind::HloProto),
                platform,
                warnings: Vec::new(),
                modules: Modules::of_dump(bytes).map_err(|e| Refusal::Damaged(e.to_string()))?,
                run: None,
            }),
            _ => Err(Refusal::Damaged("this kind of file has no report yet".into())),
        }
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
            _ => format!("there is no module {name}; the largest are {}", names.join(", ")),
        }
    }

    /// The report.
    pub fn report(&mut self, options: &Options) -> Report {
        let asked = options.module.as_deref().and_then(|name| self.modules.find(name));
        let (chosen, why) = match asked {
            Some(i) => (Some(i), Some(ModuleWhy::Asked)),
            None => match self.modules.largest() {
                Some(i) => (Some(i), Some(ModuleWhy::Largest)),
                None => (None, None),
            },
        };
        let mut omitted = Omitted::default();
        let mut warnings = self.warnings.clone();
        let plan = chosen.and_then(|i| match self.modules.detail(&self.source, i) {
            Ok(detail) => {
                let mut plan = detail.report();
                report::cut_plan(&mut plan, options.top, &mut omitted);
                Some(plan)
            }
            Err(sentence) => {
                warnings.push(Warning::new("module", sentence));
                None
            }
        });
        let modules: Vec<Module> = self.modules.reports();
        Report {
            schema: "oomscope/1".into(),
            tool: Tool { name: "oomscope".into(), version: env!("CARGO_PKG_VERSION").into() },
            source: self.info.clone(),
            platform: self.platform.clone(),
            warnings,
            verdict: report::Verdict {
                status: report::VerdictStatus::CannotTell,
                sentence: match chosen.and_then(|i| modules.get(i)) {
                    Some(m) => format!("{} is the largest module of the file.", m.name),
                    None => "The file holds no module.".into(),
                },
                evidence: crate::units::Evidence::Read,
            },
            module: chosen.and_then(|i| modules.get(i)).map(|m| m.name.clone()),
            module_why: why,
            modules,
            plan,
            allocators: Vec::new(),
            executions: Vec::new(),
            retries: Vec::new(),
            live_at_last_start: Vec::new(),
            between_executions: Vec::new(),
            findings: Vec::new(),
            limits: Vec::new(),
            omitted,
        }
    }

    /// What is live at an event of a module's schedule.
    ///
    /// # Errors
    /// Where there is no such module, or its plan has no schedule.
    pub fn plan_at(&mut self, event: u64, options: &Options) -> Result<PlanMoment, String> {
        let module = options.module.as_deref().and_then(|name| self.modules.find(name));
        let i = module.or_else(|| self.modules.largest()).ok_or("the file holds no module")?;
        self.modules.detail(&self.source, i)?.moment(event)
    }
}
