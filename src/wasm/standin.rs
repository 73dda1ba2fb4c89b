//! Stands in for the analysis until it is there: the shape that the face is written against.

use crate::bytes::{ReadError, Source};
use crate::report::*;
use crate::units::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) struct Analysis {
    name: String,
    size: u64,
    sum: u64,
}

impl Analysis {
    pub(super) fn open(source: &impl Source, name: String) -> Result<Analysis, ReadError> {
        let mut head = [0; 16];
        source.read_at(0, &mut head)?;
        Ok(Analysis { name, size: source.len(), sum: 0 })
    }

    pub(super) fn stream_range(&self) -> Option<Range<u64>> {
        (self.size > 0).then_some(0..self.size)
    }

    pub(super) fn feed(&mut self, _offset: u64, bytes: &[u8]) -> usize {
        let whole = bytes.len() / 7 * 7;
        self.sum += bytes[..whole].iter().map(|b| u64::from(*b)).sum::<u64>();
        whole
    }

    pub(super) fn finish(self, _source: &impl Source) -> Session {
        Session(self)
    }
}

pub(super) struct Session(Analysis);

impl Session {
    pub(super) fn report(&self, _module: Option<&str>) -> Report {
        Report {
            schema: "oomscope/1".into(),
            tool: Tool { name: "oomscope".into(), version: env!("CARGO_PKG_VERSION").into() },
            source: SourceInfo {
                file: self.0.name.clone(),
                size_bytes: Bytes(self.0.size),
                host: None,
                kind: SourceKind::Xspace,
            },
            platform: Platform { backend: None, vendor: None, jax_version: None, devices: vec![] },
            warnings: vec![],
            verdict: Verdict {
                status: VerdictStatus::CannotTell,
                sentence: format!("{} bytes whose sum is {}", self.0.size, self.0.sum),
                evidence: crate::units::Evidence::Measured,
            },
            module: None,
            module_why: None,
            modules: vec![],
            plan: None,
            allocators: vec![],
            executions: vec![],
            retries: vec![],
            live_at_last_start: vec![],
            between_executions: vec![],
            findings: vec![],
            limits: vec![],
            omitted: Omitted { live_at_peak: BTreeMap::new(), ..Default::default() },
        }
    }
}
