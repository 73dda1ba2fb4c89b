//! Archives: gzip, zip and tar, inside each other.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomscope::analysis::each;

fuzz_target!(|bytes: &[u8]| {
    for name in ["run.zip", "run.tar.gz"] {
        each(&bytes, name, &mut |told| {
            std::hint::black_box(&told);
        });
    }
});
