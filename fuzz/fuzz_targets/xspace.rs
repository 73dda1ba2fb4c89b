//! Index and event stream of a capture; chunks of any size say the same as one.
#![no_main]

#[path = "../mutate.rs"]
mod mutate;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use mutate::{mutate, space};
use oomscope::capture::{Event, Index, LineAt, Sink, Stream};

#[derive(Default)]
struct Count {
    lines: u64,
    events: u64,
    sum: i128,
}

impl Sink for Count {
    fn line(&mut self, _: LineAt<'_>) -> bool {
        self.lines += 1;
        true
    }
    fn event(&mut self, event: &Event<'_>) {
        self.events += 1;
        self.sum += event.stats().count() as i128;
    }
    fn end_line(&mut self, _: bool) {}
}

fn walk(index: &Index, bytes: &[u8], chunk: usize) -> (u64, u64, i128) {
    let mut stream = Stream::new(index, |_, _| true);
    let mut count = Count::default();
    let mut chunk = chunk;
    while let Some(range) = stream.wants() {
        let Ok(start) = usize::try_from(range.start) else { break };
        let end = start.saturating_add(chunk).min(bytes.len());
        let Some(part) = bytes.get(start..end) else { break };
        let done = stream.feed(index, range.start, part, &mut count);
        let stuck = done == 0 && stream.wants().is_some_and(|r| r.start == range.start);
        if stuck && end == bytes.len() {
            break;
        }
        if stuck {
            // An event larger than the chunk is pushed again with what follows.
            chunk *= 2;
        }
    }
    stream.finish(&mut count);
    (count.lines, count.events, count.sum)
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed, space::damage)
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(index) = Index::read(bytes) else { return };
    let whole = walk(&index, bytes, bytes.len().max(1));
    let parts = walk(&index, bytes, 61);
    assert_eq!(whole, parts);
});
