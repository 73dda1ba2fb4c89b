//! What the text of a failure means: findings out of what it says alone.

use super::driver::{free_them, other_processes, who_holds_it};
use super::error_text::asked_in_words;
use super::fixes::{fixes, is_two_states};
use super::{constant, driver, finding, fix, others, outside, with_sizes};
use crate::arrange::Arrange;
use crate::evidence::error_text::{ErrorText, Failure, FailureKind, PlanText, PoolDump, TextSize};
use crate::findings::{cause_of_role, role_words};
use crate::model::{Finding, Fix, Role, Severity};
use crate::units::{Bytes, Evidence};

/// A step that needs less is small beside any device of today, of which the smallest have some GiB.
const SMALL: u64 = 256 << 20;

/// The failure that the report is about, and what belongs to it.
pub(super) struct Facts<'a> {
    pub text: &'a ErrorText,
    pub main: &'a Failure,
    /// The dump of its allocator.
    pub pool: Option<&'a PoolDump>,
}

impl<'a> Facts<'a> {
    pub fn of(text: &'a ErrorText) -> Option<Facts<'a>> {
        let main = text.main()?;
        let named = |p: &&PoolDump| {
            main.allocator.is_none() || p.allocator.is_none() || p.allocator == main.allocator
        };
        Some(Facts { text, main, pool: text.pools.iter().rfind(named) })
    }

    pub fn who(&self) -> String {
        self.main.executable.clone().unwrap_or_else(|| "the program".into())
    }

    fn plan(&self) -> Option<&'a PlanText> {
        self.main.plan.as_ref()
    }

    /// What the step needs in all: the total of its plan; for a failed compilation what the compiler says.
    pub fn need(&self) -> Option<TextSize> {
        let compiled = self.main.requested.filter(|_| self.main.kind == FailureKind::CompileDevice);
        compiled.or(self.plan().and_then(|p| p.totals.total))
    }

    /// What there is in all.
    pub fn room(&self) -> Option<TextSize> {
        self.main.limit.or(self.pool.and_then(|p| p.limit_bytes).map(|b| TextSize::exact(b.0)))
    }

    /// What was free.
    pub fn free(&self) -> Option<TextSize> {
        self.main.free.or(self.pool.and_then(PoolDump::free_bytes).map(|b| TextSize::exact(b.0)))
    }

    /// What has the room that there is in all.
    fn place(&self) -> &'static str {
        match self.main.kind {
            FailureKind::CompileDevice => "device",
            FailureKind::Driver => "card",
            _ => "pool",
        }
    }

    /// What makes the plan smaller.
    fn fixes(&self) -> Vec<Fix> {
        fixes(self.plan(), self.plan().and_then(largest_role).map(|(role, ..)| role))
    }

    /// Whether the step is small beside what there is, or beside any device where that is not known.
    fn is_small(&self) -> bool {
        let Some(need) = self.need().filter(|_| self.plan().is_some()) else { return false };
        let asked_for_part = self.main.requested.is_some_and(|asked| asked.least_bytes <= need.most_bytes);
        asked_for_part && need.most_bytes.0 <= self.room().map_or(SMALL, |room| room.least_bytes.0 / 10)
    }

    /// The temp block of the plan that the text prints.
    pub fn temp(&self) -> Option<TextSize> {
        self.plan()?.totals.temp.filter(|t| t.most_bytes.0 > 0)
    }

    /// Whether the request is the temp block of the plan that the text prints.
    pub fn asked_for_temp(&self) -> bool {
        self.main.requested.zip(self.temp()).is_some_and(|(asked, temp)| asked.overlaps(temp))
    }

    /// A program that did not compile does not fit, also where what it needs and what there is are printed alike.
    fn does_not_fit(&self) -> bool {
        if self.main.kind == FailureKind::CompileDevice && self.main.limit.is_some() {
            return true;
        }
        self.need().zip(self.room()).is_some_and(|(need, room)| need.least_bytes > room.most_bytes)
    }

    /// What was asked for, where that alone is more than there is.
    fn asked_for_more_than(&self, room: TextSize) -> Option<TextSize> {
        self.main
            .requested
            .filter(|asked| self.main.kind.is_device_memory() && asked.least_bytes > room.most_bytes)
    }

    /// The finding of a request that the driver refused; `None` where it was a pool's.
    pub fn refused_by_the_driver(&self) -> Option<Finding> {
        let is_driver = self.main.kind == FailureKind::Driver;
        is_driver.then(|| does_not_fit(self).or_else(|| driver::find(self.main, self.pool))).flatten()
    }

    fn is_fragmented(&self) -> bool {
        let largest = self.pool.and_then(|p| p.largest_free);
        match (self.main.requested, self.free(), largest) {
            (Some(asked), Some(free), Some(largest)) => {
                free.least_bytes >= asked.most_bytes && asked.least_bytes > largest.most_bytes
            }
            _ => false,
        }
    }
}

/// The findings, gravest first.
pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = [
        outside::find(facts.main),
        constant::find(facts.main),
        does_not_fit(facts).or_else(|| driver::find(facts.main, facts.pool)),
        fragmented(facts),
        others_hold_the_rest(facts),
        budget(facts.text),
    ]
    .into_iter()
    .flatten()
    .collect();
    if found.iter().all(|f| f.severity != Severity::Error) {
        found.extend(request(facts));
    }
    found.extend(others::before(facts));
    found.extend(others::after(facts));
    found.arrange_by_key(|f| f.severity);
    found
}

/// The need is more than there is at all.
fn does_not_fit(facts: &Facts<'_>) -> Option<Finding> {
    let room = facts.room()?;
    if !facts.does_not_fit() {
        return facts.asked_for_more_than(room).map(|asked| one_request(facts, asked, room));
    }
    let need = facts.need()?;
    let short = match facts.main.exceeded_by {
        Some(by) => by.to_string(),
        None => format!("about {}", need.about().saturating_sub(room.about())),
    };
    // Of the one program with its plan beside this message, they were arguments and temp together.
    let of_what = match facts.main.what.as_deref() {
        Some("HLO temporaries") => " (the message says temporaries, and counts arguments with them)",
        _ => "",
    };
    let parts =
        facts.plan().map(parts).filter(|p| !p.is_empty()).map_or_else(String::new, |p| format!(" ({p})"));
    let mut sentence = format!(
        "{} needs {need}{of_what}{parts}, and the {} has {room}: short by {short}.",
        capital(&facts.who()),
        facts.place()
    );
    let largest = facts.plan().and_then(largest_role);
    if let Some((role, bytes, listed)) = largest {
        sentence += &format!(
            " Of the {listed} in the buffers that the text lists, about {bytes} are {}.",
            role_words(role)
        );
    }
    let cause = largest.map_or("", |(role, ..)| cause_of_role(role));
    let mut found = finding("step-does-not-fit", Severity::Error, "The step does not fit", sentence, cause);
    found.fixes = facts.fixes();
    let mut found = with_sizes(found, &[("need_bytes", Some(need)), ("limit_bytes", Some(room))]);
    found.evidence = found.evidence.with(Evidence::Read);
    Some(found)
}

/// One request is more than there is at all: whatever else is alive, it cannot be had.
fn one_request(facts: &Facts<'_>, asked: TextSize, room: TextSize) -> Finding {
    let what = if facts.asked_for_temp() { "its temp block, the scratch of one step," } else { "that" };
    let more = match asked.about().0 / room.about().0.max(1) {
        times @ 3.. => format!("about {times} times that"),
        _ => format!("by about {}", asked.about().saturating_sub(room.about())),
    };
    let mut sentence = format!(
        "{} asked for {asked} in one piece: {what} is more than the {} has in all, {room}, {more}.",
        capital(&facts.who()),
        facts.place()
    );
    if let Some(free) = facts.main.free {
        sentence += &format!(" {free} of it were free.");
    }
    let cause = "Whatever else is alive, it cannot be had: one array, or the temp block of one step, is larger than all there is.";
    let mut found = finding("step-does-not-fit", Severity::Error, "The step does not fit", sentence, cause);
    if facts.plan().is_none() {
        found.fixes.push(fix(
            "find-the-array",
            "Look for the array in the program: one of the product of two long dimensions, or one that is whole on a device where it \
             should be a part (sharding).",
            "",
            "The plan lists it: `jax.jit(step, …).lower(…).compile().memory_analysis()` has its size, an HloProto dump its place.",
        ));
    }
    found.fixes.extend(facts.fixes());
    with_sizes(found, &[("request_bytes", Some(asked)), ("limit_bytes", Some(room))])
}

/// Enough is free, in pieces that are too small.
fn fragmented(facts: &Facts<'_>) -> Option<Finding> {
    if facts.does_not_fit() || !facts.is_fragmented() {
        return None;
    }
    let (asked, free, largest) = (facts.main.requested?, facts.free()?, facts.pool?.largest_free?);
    let sentence = format!(
        "{} asked for {asked} with {free} free, but the largest free piece was {largest}.",
        capital(&facts.who())
    );
    let cause = "Fragmentation: small arrays that live long stand between the holes that larger ones left. It is neither the plan \
                 nor a leak.";
    let mut found = finding(
        "fragmented",
        Severity::Error,
        "Free memory suffices, but no free piece does",
        sentence,
        cause,
    );
    found.fixes = vec![fix(
        "step-first",
        "Run the step once before anything else is loaded, then keep its shapes: its block finds one piece and gets it again \
         each time.",
        "Another order of start-up.",
        "",
    )];
    Some(with_sizes(
        found,
        &[("request_bytes", Some(asked)), ("free_bytes", Some(free)), ("largest_free_bytes", Some(largest))],
    ))
}

/// The step would fit, were the pool empty.
fn others_hold_the_rest(facts: &Facts<'_>) -> Option<Finding> {
    let (need, room, asked, free) = (facts.need()?, facts.room()?, facts.main.requested?, facts.free()?);
    if need.most_bytes > room.least_bytes || asked.least_bytes <= free.most_bytes || facts.is_fragmented() {
        return None;
    }
    let in_use = room.about().saturating_sub(free.about());
    let own = facts.plan()?.totals.parameter.map_or(Bytes::ZERO, TextSize::about);
    let sentence = format!(
        "{} needs {need} and would fit the empty {} of {room}, but {in_use} of it were in use when it asked for {asked}: at \
         most about {own} of them its own arguments, the rest something else.",
        capital(&facts.who()),
        facts.place()
    );
    let cause = "The step is not to blame: arrays that it does not take hold the pool.";
    let mut found =
        finding("live-arrays", Severity::Error, "Other live arrays take the room", sentence, cause);
    found.fixes = vec![who_holds_it(), free_them()];
    Some(with_sizes(
        found,
        &[
            ("need_bytes", Some(need)),
            ("pool_bytes", Some(room)),
            ("request_bytes", Some(asked)),
            ("free_bytes", Some(free)),
        ],
    ))
}

/// XLA worked against its budget and did not reach it.
pub(super) fn budget(text: &ErrorText) -> Option<Finding> {
    let remat = text.rematerialization.last()?;
    let sentence = match remat.target {
        None => format!(
            "XLA's budget for temporaries was zero or less: the program's inputs and outputs alone exceed what it plans for. \
             Rematerialization reached {}.",
            remat.reached
        ),
        Some(target) => format!("XLA aimed at {target} by rematerialization and reached {}.", remat.reached),
    };
    let cause = "XLA plans for 80 % of the card × 95 %, less the program's inputs and outputs, whatever the pool has. It cannot \
                 give up more by itself: the fix has to come from the program.";
    let found = finding(
        "xla-rematerialized",
        Severity::Warning,
        "XLA could not reach its memory budget",
        sentence,
        cause,
    );
    Some(with_sizes(found, &[("budget_bytes", remat.target), ("reached_bytes", Some(remat.reached))]))
}

/// What is known where nothing tells who is to blame.
fn request(facts: &Facts<'_>) -> Option<Finding> {
    let main = facts.main;
    // TensorFlow says the tensor and not its size.
    let is_tensor = main.kind == FailureKind::DevicePool && main.what.is_some();
    if !main.kind.is_device_memory() || (main.requested.is_none() && !is_tensor) {
        return None;
    }
    let mut sentence = format!("{} asked for {}", capital(&facts.who()), asked_in_words(main));
    if facts.asked_for_temp() {
        sentence += ", which is its temp block: the scratch of one step, in one piece";
    }
    sentence += ".";
    if let Some(need) = facts.need() {
        sentence += &format!(
            " In all it needs {need}{}.",
            facts.plan().map(parts).map_or_else(String::new, |p| format!(" ({p})"))
        );
    }
    sentence += &match (facts.room(), facts.free()) {
        (Some(room), Some(free)) => {
            format!(
                " The pool has {room}, of which {free} were free. The text does not say who held the rest."
            )
        }
        (Some(room), None) => format!(" The pool has {room}. The text does not say who held it."),
        (None, Some(free)) => format!(" {free} were free. The text does not say who held the rest."),
        (None, None) => " The text does not say how much the pool has and who held the rest.".to_owned(),
    };
    let two_states = facts.plan().is_some_and(is_two_states);
    let cause = if facts.is_small() {
        "The step is not to blame: it is small beside the memory of any device. Other arrays of the program hold the room, or another \
         process left the pool little."
    } else if two_states {
        "Old and new state stand beside each other: the total is parameters and outputs, which share no memory, and next to nothing \
         else. Whether that alone is larger than the pool, or other arrays are alive, a capture of the failing run tells."
    } else {
        "Either the plan is larger than the pool, or other arrays are alive: a capture of the failing run tells which."
    };
    let severity =
        if main.kind == FailureKind::DevicePoolOptional { Severity::Note } else { Severity::Warning };
    let mut found = finding("failed-request", severity, "An allocation failed", sentence, cause);
    found.fixes = vec![fix(
        "capture",
        "Capture the failing step: `with jax.profiler.trace(\"DIR\"): step(…)`; the context closes the capture when the error \
         passes through it.",
        "",
        "",
    )];
    if facts.is_small() {
        found.fixes.extend([who_holds_it(), free_them(), other_processes()]);
    } else if facts.plan().is_some() {
        found.fixes.extend(facts.fixes());
        // Where the text shows what is wrong, that comes first.
        found.fixes.arrange_by_key(|fix| !(two_states && fix.id == "donate"));
    }
    Some(with_sizes(found, &[("request_bytes", main.requested), ("need_bytes", facts.need())]))
}

/// `309.56 MiB parameters, 309.50 MiB live out, 3.41 GiB temp`.
pub(super) fn parts(plan: &PlanText) -> String {
    let totals = plan.totals;
    let parts = [
        (totals.parameter, "parameters"),
        (totals.constant, "constants"),
        (totals.maybe_live_out, "live out"),
        (totals.temp, "temp"),
    ];
    let seen: Vec<String> = parts
        .into_iter()
        .filter_map(|(size, name)| {
            size.filter(|s| s.most_bytes.0 >= 1 << 20).map(|s| format!("{} {name}", s.about()))
        })
        .collect();
    seen.join(", ")
}

/// The role with the most bytes among the buffers that a text lists, its bytes, and those of all with a role.
fn largest_role(plan: &PlanText) -> Option<(Role, Bytes, Bytes)> {
    let of = |role: Role| -> Bytes {
        plan.buffers.iter().filter(|b| b.role == Some(role)).filter_map(|b| b.size).map(TextSize::about).sum()
    };
    let all: Bytes = Role::ALL.into_iter().map(of).sum();
    let (role, bytes) = Role::ALL.into_iter().map(|r| (r, of(r))).max_by_key(|&(_, b)| b)?;
    (bytes.0 > 0).then_some((role, bytes, all))
}

/// A sentence's first letter.
pub(super) fn capital(text: &str) -> String {
    // Names of executables stay as they are.
    match text.strip_prefix("the ") {
        Some(rest) => format!("The {rest}"),
        None => text.to_owned(),
    }
}
