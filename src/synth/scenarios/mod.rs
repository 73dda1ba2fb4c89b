//! One small capture for each finding, with what its report must say.

mod others;
mod steps;

use super::bfc::NoRoom;
use super::program::{Planned, Program};
use super::run::Ran;

/// A made capture and the truth about it.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// `gradients-kept`.
    pub name: &'static str,
    /// What the program does, in a sentence.
    pub about: &'static str,
    /// Findings that the report must have.
    pub must: Vec<&'static str>,
    /// Findings that the report must not have as error or warning.
    pub must_not: Vec<&'static str>,
    /// Numbers of the simulation.
    pub truth: Truth,
    /// The file.
    pub bytes: Vec<u8>,
}

/// Numbers that the simulation knows; `None` where the capture doesn't hold them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Truth {
    /// The module to be analysed, `jit_train_step(17)`.
    pub module: Option<String>,
    /// Its need.
    pub need: Option<u64>,
    /// Its temporaries.
    pub temp: Option<u64>,
    /// Its outputs that are no donated parameters.
    pub outputs: Option<u64>,
    /// The pool's limit.
    pub capacity: Option<u64>,
    /// Executions of that module on the first device.
    pub executions: Option<u64>,
    /// Bytes in use when the last of them started.
    pub in_use_at_last_start: Option<u64>,
    /// The most in use on the first device while the capture ran.
    pub peak: Option<u64>,
    /// The allocation that failed: its index in the plan, and its size.
    pub failed: Option<(i64, u64)>,
    /// Free bytes and the largest chunk at that moment.
    pub free_at_failure: Option<(u64, u64)>,
}

impl Truth {
    fn of(program: &Program, capacity: u64) -> Truth {
        Truth {
            module: Some(program.full_name()),
            need: Some(program.need),
            temp: Some(program.temp()),
            outputs: Some(program.outputs()),
            capacity: Some(capacity),
            executions: Some(0),
            ..Truth::default()
        }
    }

    fn saw(&mut self, ran: &Ran) {
        *self.executions.get_or_insert(0) += 1;
        self.in_use_at_last_start = Some(ran.in_use_at_start);
        if let Some((Planned { index, bytes, .. }, NoRoom { free, largest, .. })) = ran.failed {
            self.failed = Some((index, bytes));
            self.free_at_failure = Some((free, largest));
        }
    }
}

/// Ways to run out of memory that a report must not mix up.
const DISTINCT: [&str; 7] = [
    "step-does-not-fit",
    "grows-per-execution",
    "not-donated",
    "donation-defeated",
    "live-arrays",
    "allocator-retry",
    "fragmented",
];

/// Makes a scenario; of the distinct ways, those that are neither in `must` nor in `may` must not be reported.
fn scenario(
    name: &'static str,
    about: &'static str,
    (must, may): (&[&'static str], &[&'static str]),
    (truth, bytes): (Truth, Vec<u8>),
) -> Scenario {
    let must_not = DISTINCT.into_iter().filter(|id| !must.contains(id) && !may.contains(id)).collect();
    Scenario { name, about, must: must.to_vec(), must_not, truth, bytes }
}

/// A scenario by its name, made when it is asked for.
pub type Make = fn() -> Scenario;

/// All scenarios. The first three are the page's samples.
pub const ALL: &[(&str, Make)] = &[
    ("attention-too-large", steps::attention_too_large),
    ("gradients-kept", steps::gradients_kept),
    ("nothing-donated", steps::nothing_donated),
    ("fits", steps::fits),
    ("donation-defeated", steps::donation_defeated),
    ("data-set-on-device", steps::data_set_on_device),
    ("wait-rescued", steps::wait_rescued),
    ("fragmented-pool", steps::fragmented_pool),
    ("rematerialized", steps::rematerialized),
    ("checkpointed", steps::checkpointed),
    ("small-pool", steps::small_pool),
    ("growing-pool", steps::growing_pool),
    ("float32-copies", steps::float32_copies),
    ("large-vocabulary", steps::large_vocabulary),
    ("captured-constant", steps::captured_constant),
    ("events-lost", steps::events_lost),
    ("one-device-fuller", steps::one_device_fuller),
    ("scan-residuals", others::scan_residuals),
    ("unsharded-init", others::unsharded_init),
    ("many-shapes", others::many_shapes),
    ("op-by-op", others::op_by_op),
];

/// All scenarios, made; and one that is cut off.
#[must_use]
pub fn scenarios() -> Vec<Scenario> {
    ALL.iter().map(|(_, make)| make()).chain([cut_off()]).collect()
}

/// The file of a process that was killed while it wrote: no line of the host has names any more.
#[must_use]
pub fn cut_off() -> Scenario {
    let mut whole = steps::gradients_kept();
    let end = whole.bytes.len() * 4 / 5;
    whole.bytes.truncate(end);
    let truth = Truth { module: whole.truth.module, need: whole.truth.need, ..Truth::default() };
    let about = "The file ends in the middle of the host's events.";
    scenario("cut-off", about, (&["truncated-capture"], &[]), (truth, whole.bytes))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
