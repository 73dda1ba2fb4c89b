//! The module of each execution: by its kernels' program, by its name, by the sizes it asked for.

use super::matching::{Match, Plans};
use super::module::Module;
use super::requests::{Request, Requests};
use super::{JoinedExecution, NONE};
use crate::run::{Execution, NamedBy, Run};
use crate::terms::{AllocatorKind, Outcome, Warning};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// Modules looked at for one execution whose name and program are unknown, or whose name many have.
const MOST_CANDIDATES: usize = 4096;
/// Plans held against executions, over all of them: a program that runs op by op has hundreds of modules of one name and
/// executes each thousands of times, but in few ways, and each way is looked at once.
const MOST_MATCHES: u64 = 8_000_000;
/// Answers remembered.
const MOST_KNOWN: usize = 1 << 16;

/// Finds the module of every execution and the plan's allocation of every request.
pub(super) fn resolve(
    run: &Run,
    modules: &[Module],
    requests: &mut Requests,
) -> (Vec<JoinedExecution>, Vec<Warning>) {
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
    let given_up = finder.given_up.get();
    let warnings = (given_up > 0).then(|| {
        let message = format!(
            "too many modules could be those of {given_up} executions: which they were was not looked for"
        );
        Warning::new("too-many-modules", message)
    });
    (joined, warnings.into_iter().collect())
}

/// Numbers executions within their module and device: the allocator tells it, and where none is known the device's number. Of
/// one whose program is not known, all that came before it under its name count.
fn number(run: &Run, modules: &[Module], joined: &mut [JoinedExecution]) {
    #[derive(PartialEq, Eq, Hash)]
    enum Key<'a> {
        Module(u32),
        Program(i64),
        Name(&'a str),
        Nothing,
    }
    let mut counts: HashMap<(Key<'_>, Result<usize, Option<u32>>), u32> = HashMap::new();
    for (i, one) in joined.iter_mut().enumerate().take(run.len()) {
        let Some(e) = run.execution(i) else { break };
        let key = match (one.module, e.program(), e.module()) {
            (m, _, _) if (m as usize) < modules.len() => Key::Module(m),
            (_, Some(program), _) => Key::Program(program.id),
            (_, _, Some((name, _))) => Key::Name(name),
            _ => Key::Nothing,
        };
        let here = e.allocator().ok_or(e.device());
        if let (Key::Program(_), Some((name, _))) = (&key, e.module()) {
            *counts.entry((Key::Name(name), here)).or_insert(0) += 1;
        }
        let n = counts.entry((key, here)).or_insert(0);
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
    plans: Plans,
    /// What was found for executions that asked for the same, where several modules come into question.
    known: RefCell<HashMap<Question, (u32, Option<Match>)>>,
    matches_left: Cell<u64>,
    given_up: Cell<u64>,
}

/// All that the answer depends on where several modules come into question.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Question {
    /// The first of the candidates, which stands for its name; `None` for all modules.
    candidates: Option<u32>,
    only_build: bool,
    launched: bool,
    /// The module that ran last under this name.
    before: Option<u32>,
    /// What was asked for: of what kind of allocator, whether inside `Build buffer allocations`, how much.
    requests: Vec<(AllocatorKind, bool, u64)>,
}

impl<'a> Finder<'a> {
    fn new(run: &'a Run, modules: &'a [Module]) -> Finder<'a> {
        let mut finder = Finder {
            run,
            modules,
            by_program: HashMap::new(),
            by_name: HashMap::new(),
            with_plan: Vec::new(),
            plans: Plans::of(run, modules),
            known: RefCell::default(),
            matches_left: Cell::new(MOST_MATCHES),
            given_up: Cell::new(0),
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
        let matched = |m: u32| self.matched(e, requests, m);
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
            let question = self.question(e, requests, candidates.first().copied(), before);
            return self.once(question, candidates.len(), || self.best(e, candidates, requests, before));
        }
        self.by_sizes(e, requests)
    }

    fn matched(&self, e: &Execution<'_>, requests: &[Request], module: u32) -> Option<Match> {
        self.plans.matched(self.run, requests, self.modules, module as usize, e.has_build())
    }

    fn question(
        &self,
        e: &Execution<'_>,
        requests: &[Request],
        candidates: Option<u32>,
        before: Option<u32>,
    ) -> Question {
        let request = |r: &Request| {
            let a = self.run.allocators.get(usize::from(r.allocator))?;
            Some((a.kind, r.in_build, a.by_number(r.event)?.requested))
        };
        Question {
            candidates,
            only_build: e.has_build(),
            launched: e.launched(),
            before,
            requests: requests.iter().filter_map(request).collect(),
        }
    }

    /// Answers a question once; without an answer where all of them together take too long.
    fn once(
        &self,
        question: Question,
        candidates: usize,
        answer: impl FnOnce() -> (u32, Option<Match>),
    ) -> (u32, Option<Match>) {
        if let Some(known) = self.known.borrow().get(&question) {
            return known.clone();
        }
        let cost =
            (candidates.min(MOST_CANDIDATES) as u64).saturating_mul(1 + question.requests.len() as u64);
        let Some(left) = self.matches_left.get().checked_sub(cost) else {
            self.given_up.set(self.given_up.get() + 1);
            return (NONE, None);
        };
        self.matches_left.set(left);
        let answer = answer();
        let mut known = self.known.borrow_mut();
        if known.len() < MOST_KNOWN {
            known.insert(question, answer.clone());
        }
        answer
    }

    /// The only module whose plan these requests are.
    fn by_sizes(&self, e: &Execution<'_>, requests: &[Request]) -> (u32, Option<Match>) {
        if requests.is_empty() {
            return (NONE, None);
        }
        let question = self.question(e, requests, None, None);
        self.once(question, self.with_plan.len(), || self.only_fitting(e, requests))
    }

    fn only_fitting(&self, e: &Execution<'_>, requests: &[Request]) -> (u32, Option<Match>) {
        let fits = |m: &u32| {
            let found = self.matched(e, requests, *m)?;
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
        e: &Execution<'_>,
        candidates: &[u32],
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
            let Some(found) = self.matched(e, requests, m) else { continue };
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
