//! The failures of a text beside the one that its report is about.

use super::error_text::asked_in_words;
use super::written::Facts;
use super::{driver, finding, outside};
use crate::evidence::error_text::Failure;
use crate::model::{Finding, Severity};

/// Failures told one by one; a log of a loop that catches the error has hundreds.
const MOST: usize = 5;

/// Findings of what failed before the main failure outside its pool: it may be the cause.
pub(super) fn before(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for failure in others(facts).filter(|f| f.line < facts.main.line) {
        let Some(mut finding) = outside::find(failure).or_else(|| driver::find(failure, None)) else {
            continue;
        };
        if found.iter().any(|f| f.title == finding.title) {
            continue;
        }
        finding.severity = Severity::Warning;
        finding.sentence = format!(
            "At line {}, before the failure that this report is about: {}",
            failure.line, finding.sentence
        );
        found.push(finding);
    }
    found
}

/// The note that the text has more failures than the one that its report is about.
pub(super) fn after(facts: &Facts<'_>) -> Option<Finding> {
    let told = |f: &&Failure| {
        f.line >= facts.main.line || (outside::find(f).is_none() && driver::find(f, None).is_none())
    };
    let all: Vec<&Failure> = others(facts).filter(told).collect();
    if all.is_empty() {
        return None;
    }
    let mut said: Vec<String> =
        all.iter().take(MOST).map(|f| format!("at line {}: {}", f.line, in_short(f))).collect();
    if all.len() > MOST {
        said.push(format!("{} more", all.len() - MOST));
    }
    let sentence = format!(
        "This report is about the failure of line {}. The text also has, {}.",
        facts.main.line,
        said.join("; ")
    );
    let cause = "Of several failures the first of the device's memory is usually the cause, and later ones follow from it. To read about \
                 another one, give its part of the text alone.";
    Some(finding("other-failures", Severity::Note, "The text has other failures", sentence, cause))
}

/// The other failures, without further messages of the main one: a library says twice that it got nothing.
fn others<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Failure> {
    let main = facts.main;
    let failures: &'a [Failure] = &facts.text.failures;
    failures.iter().filter(move |f| {
        let same = f.kind == main.kind && f.requested.is_none() && f.plan.is_none() && f.what != main.what;
        !std::ptr::eq(*f, main) && !same
    })
}

fn in_short(f: &Failure) -> String {
    let title = outside::find(f).or_else(|| driver::find(f, None)).map(|found| found.title);
    let who = f.executable.as_deref().unwrap_or("the program");
    let mut title = title.unwrap_or_else(|| format!("{who} asked for {}", asked_in_words(f)));
    // A title stands inside the sentence.
    if f.executable.is_none()
        && !title.starts_with("CUDA")
        && !title.starts_with("PyTorch")
        && let Some(first) = title.get_mut(..1)
    {
        first.make_ascii_lowercase();
    }
    title
}
