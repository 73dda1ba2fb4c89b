//! A finding while it is written: its numbers carry their evidence, and the weakest of them is the finding's own.

use crate::model::{EvidenceRef, Finding, Fix, Number, Severity};
use crate::units::{Bytes, Evidence, Picos};
use std::collections::BTreeMap;

/// A finding under way.
#[derive(Debug)]
pub(super) struct Draft(Finding);

impl Draft {
    /// A finding with a title, of which nothing is known yet.
    pub fn new(id: &str, severity: Severity, title: impl Into<String>) -> Draft {
        Draft(Finding {
            id: id.into(),
            severity,
            evidence: Evidence::Measured,
            title: title.into(),
            sentence: String::new(),
            numbers: BTreeMap::new(),
            cause: String::new(),
            fixes: Vec::new(),
            evidence_at: Vec::new(),
        })
    }

    /// What is so, with the numbers.
    pub fn sentence(mut self, sentence: impl Into<String>) -> Draft {
        self.0.sentence = sentence.into();
        self
    }

    /// Why.
    pub fn cause(mut self, cause: impl Into<String>) -> Draft {
        self.0.cause = cause.into();
        self
    }

    /// A number that the finding rests on. Its key ends in its unit.
    pub fn number(mut self, key: &str, value: f64, evidence: Evidence) -> Draft {
        self.0.evidence = self.0.evidence.with(evidence);
        let value = value.min(crate::units::MOST_IN_JSON as f64);
        self.0.numbers.insert(key.into(), Number { value, evidence });
        self
    }

    /// A size that the finding rests on.
    pub fn bytes(self, key: &str, value: Bytes, evidence: Evidence) -> Draft {
        self.number(key, value.0 as f64, evidence)
    }

    /// A size that the finding rests on, where it is known.
    pub fn maybe_bytes(self, key: &str, value: Option<Bytes>, evidence: Evidence) -> Draft {
        match value {
            Some(value) => self.bytes(key, value, evidence),
            None => self,
        }
    }

    /// A time that the finding rests on.
    pub fn time(self, key: &str, value: Picos, evidence: Evidence) -> Draft {
        self.number(key, value.0 as f64, evidence)
    }

    /// Something that can be done.
    pub fn fix(mut self, fix: impl Into<Option<Fix>>) -> Draft {
        self.0.fixes.extend(fix.into());
        self
    }

    /// Several things that can be done.
    pub fn fixes(mut self, fixes: impl IntoIterator<Item = Fix>) -> Draft {
        self.0.fixes.extend(fixes);
        self
    }

    /// Where in the report the evidence stands.
    pub fn at(mut self, view: &str, index: impl Into<Option<usize>>, what: impl Into<String>) -> Draft {
        let index = index.into().map(|i| i as u64);
        self.0.evidence_at.push(EvidenceRef { view: view.into(), index, what: what.into() });
        self
    }

    /// The finding.
    pub fn done(self) -> Finding {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_as_strong_as_its_weakest_number() {
        let it = Draft::new("x", Severity::Note, "t")
            .bytes("a_bytes", Bytes(1), Evidence::Measured)
            .bytes("b_bytes", Bytes(2), Evidence::Read)
            .at("plan", None, "w")
            .done();
        assert_eq!(it.evidence, Evidence::Read);
        assert_eq!(it.numbers.len(), 2);
        assert_eq!(it.evidence_at.len(), 1);
    }
}
