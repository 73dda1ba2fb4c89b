//! Files too large to be held: each gets a sentence, and is not read to find out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use oomscope::analysis::{Options, Refusal, read, unpacked};
use oomscope::bytes::{ReadError, Source};
use std::cell::Cell;

/// Some bytes, and zeros between and behind them.
#[derive(Debug)]
struct Sparse {
    parts: Vec<(u64, Vec<u8>)>,
    len: u64,
    read: Cell<u64>,
}

impl Source for Sparse {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        let n = (self.len.saturating_sub(offset)).min(buf.len() as u64) as usize;
        buf[..n].fill(0);
        for (start, bytes) in &self.parts {
            for (at, byte) in (*start..).zip(bytes) {
                if (offset..offset + n as u64).contains(&at) {
                    buf[(at - offset) as usize] = *byte;
                }
            }
        }
        self.read.set(self.read.get() + n as u64);
        Ok(n)
    }
}

fn sparse(parts: Vec<(u64, Vec<u8>)>, len: u64) -> Sparse {
    Sparse { parts, len, read: Cell::new(0) }
}

fn varint(mut n: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while n > 0x7f {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
    bytes
}

/// The head of a length-delimited field.
fn head(number: u64, len: u64) -> Vec<u8> {
    [varint(number << 3 | 2), varint(len)].concat()
}

fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    [head(number, bytes.len() as u64), bytes.to_vec()].concat()
}

/// An HloProto whose module has `zeros` zeros behind its name: the beginning of it and its length.
fn module(zeros: u64) -> (Vec<u8>, u64) {
    let name = field(1, b"jit_step");
    let constant = head(99, zeros);
    let inside = name.len() as u64 + constant.len() as u64 + zeros;
    let begin = [head(1, inside), name, constant].concat();
    let len = begin.len() as u64 + zeros;
    (begin, len)
}

const THREE: u64 = 3 << 30;

#[test]
fn what_is_read_whole_says_that_it_is_too_large_and_what_to_bring() {
    let profile = b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04".to_vec();
    for (bytes, name, what, bring) in [
        (
            module(THREE).0,
            "m.hlo_proto.pb",
            "This is a module with its plan (HloProto) of 3.00 GiB",
            "as it was written",
        ),
        (profile, "memory.prof", "a device memory profile of 3.00 GiB", "as it was written"),
        (vec![b'a'; 2000], "log.txt", "text of 3.00 GiB", "grep"),
        (
            b"BufferAssignment:\nallocation 0: size 4\n".repeat(50),
            "b.txt",
            "a plan as text of 3.00 GiB",
            "*.hlo.pb",
        ),
    ] {
        let file = sparse(vec![(0, bytes)], THREE);
        let refusal = read(&file, name, |_| {}).unwrap_err();
        assert!(matches!(refusal, Refusal::TooLarge { len: THREE, .. }), "{refusal:?}");
        let said = refusal.to_string();
        assert!(said.contains(what) && said.contains("up to 2.00 GiB") && said.contains(bring), "{said}");
        let beside = unpacked(&file, name, 64 << 20).unwrap_err();
        assert!(matches!(beside, Refusal::TooLarge { len: THREE, .. }), "{beside:?}");
        assert!(file.read.get() < 1 << 20, "{} bytes were read", file.read.get());
    }
}

#[test]
fn a_module_too_large_is_left_out_unread_and_the_capture_told() {
    let (begin, len) = module(THREE);
    // An XStat in an XEventMetadata, in an entry of the map, in a plane; each with what stands before it.
    let stat_name = field(5, &[b"\x08\x01".to_vec(), field(2, &field(2, b"Hlo Proto"))].concat());
    let plane = [field(2, b"/host:metadata"), stat_name].concat();
    let mut parts = vec![head(6, len)];
    for (number, before) in
        [(5, b"\x08\x01".to_vec()), (2, field(2, b"jit_step(7)")), (4, b"\x08\x07".to_vec()), (1, plane)]
    {
        let inside = parts.iter().map(Vec::len).sum::<usize>() as u64 + before.len() as u64 + len;
        parts.insert(0, before);
        parts.insert(0, head(number, inside));
    }
    parts.push(begin);
    let front = parts.concat();
    let end = front.len() as u64 + THREE;
    let host = field(4, b"host");
    let file_len = end + host.len() as u64;
    let file = sparse(vec![(0, front), (end, host)], file_len);
    let report = read(&file, "host.xplane.pb", |_| {}).unwrap().report(&Options::default());
    let told: Vec<&str> = report.warnings.iter().map(|w| w.message.as_str()).collect();
    assert!(
        told.iter().any(|w| w.contains("the module jit_step(7) is left out: it is larger than 2 GiB")),
        "{told:?}"
    );
    assert_eq!(report.source.host.as_deref(), Some("host"), "what comes after it was read");
    assert!(file.read.get() < 1 << 20, "{} bytes were read", file.read.get());
}

#[test]
fn what_the_profiler_says_a_million_times_is_told_a_hundred_times() {
    let plane = field(1, &[field(2, b"/host:CPU"), field(4, b"\x08\x01\x12\x03\x12\x01f")].concat());
    for number in [2, 3, 4] {
        let bytes = [plane.clone(), field(number, b"w").repeat(300_000)].concat();
        let report = read(&bytes[..], "host.xplane.pb", |_| {}).unwrap().report(&Options::default());
        let told = report.warnings.iter().filter(|w| w.code == "profiler").count();
        assert_eq!(told, if number == 4 { 0 } else { 100 });
        assert!(
            report.warnings.iter().any(|w| w.message.starts_with("299900 more")),
            "{:?}",
            report.warnings.last()
        );
    }
}

#[test]
fn damage_in_a_million_places_of_a_module_is_told_briefly() {
    let instruction =
        field(2, &[field(1, b"p.1"), field(2, b"parameter"), b"\x98\x02\x01".to_vec()].concat());
    let damaged = field(3, b"\xff").repeat(300_000);
    let module = field(1, &[field(1, b"jit_step"), field(3, &instruction), damaged].concat());
    let hlo = oomscope::hlo::Hlo::parse(module).unwrap();
    assert_eq!(hlo.warnings().len(), 21, "{:?}", hlo.warnings().last());
    assert!(hlo.warnings()[20].contains("more places"));
}
