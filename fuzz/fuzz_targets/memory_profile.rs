//! Device memory profiles: pprof, packed or not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oomscope::evidence::memory_profile::MemoryProfile;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((profile, _)) = MemoryProfile::read(bytes) {
        std::hint::black_box(profile.array_bytes(None));
    }
});
