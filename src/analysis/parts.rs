//! A capture read in several parts at once, by whoever has threads.

use super::{Analysis, State, stream_all};
use crate::bytes::{ReadError, Source};
use crate::capture::{Index, Stream};
use crate::run::Recorder;

/// A part of a capture: some of its lines, and what is recorded of them.
#[derive(Debug)]
pub struct Part {
    stream: Stream,
    recorder: Recorder,
}

impl Part {
    /// Reads the part. It stops where the medium ends.
    ///
    /// # Errors
    /// Where the medium fails.
    pub fn read<S: Source>(&mut self, index: &Index, source: &S) -> Result<(), ReadError> {
        stream_all(&mut self.stream, index, source, &mut self.recorder, &mut |_| {})?;
        // Before a later part's lines: one that was cut off ends here.
        self.stream.finish(&mut self.recorder);
        Ok(())
    }
}

impl<S: Source> Analysis<S> {
    /// The bytes of events that are to be read; 0 for what is no capture.
    #[must_use]
    pub fn bytes_to_stream(&self) -> u64 {
        match &self.state {
            State::Capture(c) => c.stream.bytes(),
            State::Whole(..) => 0,
        }
    }

    /// Takes the events out, in up to `most` parts of about as many bytes: each is to be read, all at once or one after the
    /// other, with the index given along, and to be brought back with [`Analysis::join`]. `None` for what is no capture.
    #[must_use]
    pub fn split(&mut self, most: usize) -> Option<(&Index, Vec<Part>)> {
        let State::Capture(c) = &mut self.state else { return None };
        let streams = std::mem::take(&mut c.stream).split(most);
        let parts = streams.into_iter().map(|stream| {
            let beside = c.recorder.beside(&c.index);
            Part { stream, recorder: std::mem::replace(&mut c.recorder, beside) }
        });
        let parts = parts.collect();
        Some((&c.index, parts))
    }

    /// Brings the parts back, in their order.
    pub fn join(&mut self, parts: Vec<Part>) {
        let State::Capture(c) = &mut self.state else { return };
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else { return };
        (c.stream, c.recorder) = (first.stream, first.recorder);
        for part in parts {
            c.stream.absorb(part.stream);
            c.recorder.absorb(part.recorder);
        }
    }
}
