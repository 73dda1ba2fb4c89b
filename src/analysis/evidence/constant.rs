//! A request for one of the program's constants that failed: `Failed to allocate … bytes for new constant`.

use super::{finding, fix, with_sizes};
use crate::evidence::error_text::{CONSTANT, Failure};
use crate::model::{Finding, Severity};

/// The finding that a constant found no room; `None` where the request was for something else.
pub(super) fn find(failure: &Failure) -> Option<Finding> {
    let asked = failure.requested.filter(|_| failure.what.as_deref() == Some(CONSTANT))?;
    let sentence = format!(
        "XLA asked for {asked} to hold a constant of the program when it loaded it, and did not get it. The program's temp and \
         outputs were not asked for yet."
    );
    let cause = "A function that is jitted and uses an array from outside takes it in as a constant: beside the array itself, once \
                 for each executable.";
    let mut found = finding(
        "captured-constants",
        Severity::Error,
        "A constant of the program found no room",
        sentence,
        cause,
    );
    found.fixes = vec![fix(
        "pass-as-argument",
        "Pass the array to the function as an argument instead of using it from outside.",
        "None; compilation gets faster too.",
        "The array is then in memory once, and an argument of each call.",
    )];
    Some(with_sizes(found, &[("request_bytes", Some(asked))]))
}
