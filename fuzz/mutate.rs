//! Changes of messages, for the fuzzers of captures and modules.

#[allow(dead_code)]
#[path = "../tests/damage/plan.rs"]
pub mod plan;
#[allow(dead_code)]
#[path = "../tests/damage/space.rs"]
pub mod space;

use libfuzzer_sys::fuzzer_mutate;
use oomscope::synth::rng::Rng;

/// Half of the changes are of the message, half of its bytes: the bytes too where it cannot be decoded, where the change came to
/// nothing, and where the message would no longer fit (cut off it would be a cut file, whatever was changed).
pub fn mutate(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    damage: impl FnOnce(&[u8], &mut Rng) -> Vec<u8>,
) -> usize {
    if seed % 2 == 1 {
        let changed = damage(&data[..size], &mut Rng::of(0xf022, u64::from(seed)));
        let len = changed.len();
        if len <= max_size.min(data.len()) && changed != data[..size] {
            data[..len].copy_from_slice(&changed);
            return len;
        }
    }
    fuzzer_mutate(data, size, max_size)
}
