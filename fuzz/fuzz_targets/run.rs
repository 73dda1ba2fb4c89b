//! The run of a capture: every event of the host and the devices, without a plan.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomscope::capture::{Index, Stream};
use oomscope::run::{Recorder, Run};

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
