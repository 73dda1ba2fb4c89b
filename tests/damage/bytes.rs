//! Damage without regard to structure: crashes, disks, proxies.

use oomscope::synth::rng::Rng;

/// Bytes that break parsers: long varints, tags of groups, huge lengths, field number 0.
const NASTY: [&[u8]; 8] = [
    &[0xff; 12],
    &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
    &[0x0b, 0x0c],
    &[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    &[0x00],
    &[0x0a, 0x00],
    &[0xfa, 0xff, 0xff, 0xff, 0x0f, 0x00],
];

/// Damages a file in one place, or many bits of it.
pub fn damage(file: &mut Vec<u8>, others: &[Vec<u8>], rng: &mut Rng) {
    let len = file.len() as u64;
    if len == 0 {
        return;
    }
    let at = rng.below(len) as usize;
    match rng.below(12) {
        0 => file.truncate(at),
        1 => file[at] ^= 1 << rng.below(8),
        2 => {
            for _ in 0..1 + rng.below(40) {
                let at = rng.below(len) as usize;
                file[at] = rng.u64() as u8;
            }
        }
        // Lengths lie: any byte is one more, one less, or the most that one byte says.
        3 => file[at] = file[at].wrapping_add(1),
        4 => file[at] = file[at].wrapping_sub(1),
        5 => file[at] = 0x7f,
        6 => {
            let to = (at + rng.below(300) as usize).min(file.len());
            file.drain(at..to);
        }
        7 => {
            let to = (at + rng.below(300) as usize).min(file.len());
            let copy = file[at..to].to_vec();
            let into = rng.below(len) as usize;
            file.splice(into..into, copy);
        }
        8 => {
            let nasty = NASTY[rng.below(8) as usize];
            let over = if rng.one_in(2) { at } else { (at + nasty.len()).min(file.len()) };
            file.splice(at..over, nasty.iter().copied());
        }
        9 => {
            let to = (at + rng.below(2000) as usize).min(file.len());
            file[at..to].fill(0);
        }
        10 => {
            let other = &others[rng.below(others.len() as u64) as usize];
            let from = rng.below(other.len() as u64) as usize;
            let to = (from + rng.below(4000) as usize).min(other.len());
            file.splice(at..at, other[from..to].iter().copied());
        }
        // A text conversion: every byte of 0x80 and above became the replacement character.
        _ => {
            let head: Vec<u8> = file.drain(..(at + 1).min(2000).min(file.len())).collect();
            let text = String::from_utf8_lossy(&head).into_owned();
            file.splice(0..0, text.into_bytes());
        }
    }
}
