//! The self-test of both faces: made captures, one for each finding and more, analysed like any other, their reports held against
//! what was made.

use crate::analysis::{self, Options};
use crate::bytes::Source;
use crate::synth::scenarios::{ALL, Scenario, cut_off};
use crate::synth::{check, scenarios};

/// How one made capture was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The scenario's name.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// What the report gets wrong; empty where all is right.
    pub wrong: Vec<String>,
}

impl Outcome {
    /// Whether all is right.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.wrong.is_empty()
    }
}

/// How many there are.
pub const COUNT: usize = ALL.len() + 1;

/// Makes, analyses and judges them, one at a time as they are asked for.
pub fn outcomes() -> impl Iterator<Item = Outcome> {
    let makes = ALL.iter().map(|(_, make)| *make as scenarios::Make);
    makes.chain(std::iter::once(cut_off as scenarios::Make)).map(|make| judge(&make()))
}

/// Analyses one.
#[must_use]
pub fn judge(scenario: &Scenario) -> Outcome {
    let source: Box<dyn Source + '_> = Box::new(scenario.bytes.as_slice());
    let wrong = match analysis::read(source, "self-test.xplane.pb", |_| {}) {
        Ok(mut session) => check::differences(scenario, &session.report(&Options::default())),
        Err(refusal) => vec![format!("it could not be read: {refusal}")],
    };
    Outcome { name: scenario.name, about: scenario.about, wrong }
}
