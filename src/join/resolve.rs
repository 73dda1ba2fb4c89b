//! The module of each execution: by its kernels' program, by its name, by the sizes it asked for.

use super::matching::{Match, match_plan};
use super::module::Module;
use super::requests::{Request, Requests};
use super::{JoinedExecution, NONE};
use crate::run::{Execution, NamedBy, Run};
use crate::terms::Outcome;
use std::collections::HashMap;

/// Modules looked at for one execution whose name and program are unknown, or whose name many have.
const MOST_CANDIDATES: usize = 4096;

/// Finds the module of every execution and the plan's allocation of every request.
pub(super) fn resolve(run: &Run, modules: &[Module], requests: &mut Requests) -> Vec<JoinedExecution> {
    let finder = Finder::new(run, modules);
    let mut joined = Vec::with_capacity(run.len_with_lost());
    // The module that ran last under a name: a tie between plans that fit equally goes to it.
    let mut last_of_name: HashMap<&str, u32> = HashMap::new();
    for i in 0..run.len_with_lost() {
        let Some(execution) = run.execution(i) else { break };
        let name = execution.module().map(|m| m.0);
        let before = name.and_then(|n| last_of_name.get(n).copied());
        let (module, found) = finder.find(&execution, requests.of_execution(i), before);
        let mut one =
            JoinedExecution { module, number: 0, missing: NONE, obtained: 0, outcome: Outcome::Unknown };
        if let Some(found) = found {
            for (request, planned) in requests.of_execution_mut(i).iter_mut().zip(&found.planned) {
                request.planned = *planned;
            }
            one.obtained = found.obtained;
            one.missing = found.missing;
        }
        if let (Some(name), true) = (name, module != NONE) {
            last_of_name.insert(name, module);
        }
        joined.push(one);
    }
    number(run, modules, &mut joined);
    joined
}

/// Numbers executions within their module and device.
fn number(run: &Run, modules: &[Module], joined: &mut [JoinedExecution]) {
    #[derive(PartialEq, Eq, Hash)]
    enum Key<'a> {
        Module(u32),
        Program(i64),
        Name(&'a str),
        Nothing,
    }
    let mut counts: HashMap<(Key<'_>, Option<u32>, Option<usize>), u32> = HashMap::new();
    for (i, one) in joined.iter_mut().enumerate().take(run.len()) {
        let Some(e) = run.execution(i) else { break };
        let key = match (one.module, e.program(), e.module()) {
            (m, _, _) if (m as usize) < modules.len() => Key::Module(m),
            (_, Some(program), _) => Key::Program(program.id),
            (_, _, Some((name, _))) => Key::Name(name),
            _ => Key::Nothing,
        };
        let n = counts.entry((key, e.device(), e.allocator())).or_insert(0);
        one.number = *n;
        *n += 1;
    }
}

struct Finder<'a> {
    run: &'a Run,
    modules: &'a [Module],
    by_program: HashMap<i64, Vec<u32>>,
    by_name: HashMap<&'a str, Vec<u32>>,
    with_plan: Vec<u32>,
}

impl<'a> Finder<'a> {
    fn new(run: &'a Run, modules: &'a [Module]) -> Finder<'a> {
        let mut finder = Finder {
            run,
            modules,
            by_program: HashMap::new(),
            by_name: HashMap::new(),
            with_plan: Vec::new(),
        };
        for (i, module) in (0..).zip(modules) {
            finder.by_program.entry(module.program_id).or_default().push(i);
            finder.by_name.entry(&module.base_name).or_default().push(i);
            if !module.launch.is_empty() {
                finder.with_plan.push(i);
            }
        }
        finder
    }

    /// The module of an execution and how its requests match; `before` is the one that ran last under this name.
    fn find(&self, e: &Execution<'_>, requests: &[Request], before: Option<u32>) -> (u32, Option<Match>) {
        let only_build = e.has_build();
        let matched = |m: u32| {
            let module = self.modules.get(m as usize)?;
            Some(match_plan(self.run, requests, module, only_build))
        };
        let named = e.module();
        if let Some(program) = e.program()
            && let Some(candidates) = self.by_program.get(&program.id)
        {
            // Program ids are unique within a process; a name beside it settles what two processes would share.
            let of_name = |m: &&u32| {
                let base = self.modules.get(**m as usize).map(|m| m.base_name.as_str());
                program.module.as_deref().or(named.map(|n| n.0)).is_none_or(|name| base == Some(name))
            };
            if let Some(&m) = candidates.iter().find(of_name) {
                return (m, matched(m));
            }
        }
        if let Some((name, by)) = named {
            let Some(candidates) = self.by_name.get(name) else {
                // A name made from that of the Python function may be another's.
                return if by == NamedBy::Jit { self.by_sizes(e, requests) } else { (NONE, None) };
            };
            if let [only] = candidates.as_slice() {
                let found = matched(*only);
                let fits = found.as_ref().is_some_and(|f| f.obtained > 0 || requests.is_empty());
                if by > NamedBy::Jit || fits {
                    return (*only, found);
                }
                return self.by_sizes(e, requests);
            }
            return self.best(candidates, &matched, requests, before);
        }
        self.by_sizes(e, requests)
    }

    /// The only module whose plan these requests are.
    fn by_sizes(&self, e: &Execution<'_>, requests: &[Request]) -> (u32, Option<Match>) {
        if requests.is_empty() {
            return (NONE, None);
        }
        let fits = |m: &u32| {
            let module = self.modules.get(*m as usize)?;
            let found = match_plan(self.run, requests, module, e.has_build());
            let whole = found.is_complete() || (found.is_prefix() && !e.launched());
            (found.obtained > 0 && whole).then_some((*m, found))
        };
        let mut fitting = self.with_plan.iter().take(MOST_CANDIDATES).filter_map(fits);
        match (fitting.next(), fitting.next()) {
            (Some((m, found)), None) => (m, Some(found)),
            _ => (NONE, None),
        }
    }

    /// Of several modules of one name, the one whose plan fits best.
    fn best(
        &self,
        candidates: &[u32],
        matched: &dyn Fn(u32) -> Option<Match>,
        requests: &[Request],
        before: Option<u32>,
    ) -> (u32, Option<Match>) {
        let grade = |m: u32, found: &Match| {
            let outside = requests.len() as u32 - found.obtained.min(requests.len() as u32);
            let kind =
                if found.is_complete() { 2 } else { u32::from(found.is_prefix() && found.obtained > 0) };
            // Without a single request nothing speaks for the one that ran last: a program that runs op by op has
            // hundreds of modules of one name, each for another shape.
            let again = !requests.is_empty() && Some(m) == before;
            (std::cmp::Reverse(outside), kind, found.obtained, again)
        };
        let mut best: Option<(_, u32, Match)> = None;
        let mut tie = false;
        for &m in candidates.iter().take(MOST_CANDIDATES) {
            let Some(found) = matched(m) else { continue };
            let grade = grade(m, &found);
            match &best {
                Some(b) if grade < b.0 => {}
                Some(b) if grade == b.0 => tie = true,
                _ => {
                    tie = false;
                    best = Some((grade, m, found));
                }
            }
        }
        match best {
            Some((_, m, found)) if !tie => (m, Some(found)),
            // Plans that fit equally: which it was is unknown.
            _ => (NONE, None),
        }
    }
}
