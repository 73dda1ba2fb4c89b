//! The run of a capture: every event of the host and the devices, without a plan.
#![no_main]

#[path = "../mutate.rs"]
mod mutate;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use mutate::{mutate, space};
use oomscope::capture::{Index, Stream};
use oomscope::run::{Recorder, Run};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed, space::damage)
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(index) = Index::read(bytes) else { return };
    let mut recorder = Recorder::new(&index);
    let mut stream = Stream::new(&index, Recorder::wants);
    while let Some(range) = stream.wants() {
        let Some(rest) = usize::try_from(range.start).ok().and_then(|at| bytes.get(at..)) else { break };
        if stream.feed(&index, range.start, rest, &mut recorder) == 0 {
            break;
        }
    }
    stream.finish(&mut recorder);
    std::hint::black_box(Run::build(recorder, &index, &bytes));
});
