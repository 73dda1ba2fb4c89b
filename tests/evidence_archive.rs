//! Files inside archives: found, handed out byte for byte, in bounded memory and time, and damage told.
#![allow(clippy::unwrap_used)]

use flate2::{Compression, write::DeflateEncoder, write::GzEncoder};
use oomscope::bytes::{ReadError, Source};
use oomscope::evidence::archive::{Gunzip, Limits, Note, walk};
use oomscope::evidence::{Foreign, Kind};
use oomscope::synth::rng::Rng;
use std::cell::Cell;
use std::io::Write;
use std::ops::ControlFlow;

/// Bytes that pack about as well as a capture: events of 29 bytes, of which some change.
fn capture_like(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut bytes = b"\x0a\xff\xff\xff\x7f\x12\x09/host:CPU".to_vec();
    while bytes.len() < len {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend([0x22, 0x1b, 0x08, (state >> 60) as u8, 0x10]);
        bytes.extend(&(state >> 20).to_le_bytes()[..5]);
        bytes.extend([0x18; 19]);
    }
    bytes.truncate(len);
    bytes
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn zip(files: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let mut archive = rawzip::ZipArchiveWriter::new(Vec::new());
    for (name, bytes, pack) in files {
        let method =
            if *pack { rawzip::CompressionMethod::DEFLATE } else { rawzip::CompressionMethod::STORE };
        let (mut entry, config) = archive.new_file(*name).compression_method(method).start().unwrap();
        let descriptor = if *pack {
            let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::fast()));
            writer.write_all(bytes).unwrap();
            let (encoder, descriptor) = writer.finish().unwrap();
            encoder.finish().unwrap();
            descriptor
        } else {
            let mut writer = config.wrap(&mut entry);
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap().1
        };
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(Source::len(bytes));
        header.set_mode(0o644);
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

type Found = (String, Kind, Vec<u8>);

/// Every file as (path, kind, bytes).
fn files(source: &dyn Source, name: &str, limits: &Limits) -> (Vec<Found>, Vec<Note>) {
    let mut found: Vec<Found> = Vec::new();
    let notes = walk(source, name, limits, &mut |file| {
        // Two passes forward, as a capture is read, in pieces that overlap.
        let mut passes = Vec::new();
        for piece in [8 << 10, 1 << 20] {
            let mut bytes = Vec::new();
            let mut buffer = vec![0; piece];
            loop {
                let from = bytes.len().saturating_sub(100);
                let got = file.source.read_at(from as u64, &mut buffer).unwrap();
                if from + got <= bytes.len() {
                    break;
                }
                bytes.truncate(from);
                bytes.extend(&buffer[..got]);
            }
            passes.push(bytes);
        }
        assert_eq!(passes[0].len(), passes[1].len(), "{}", file.path);
        assert!(passes[0] == passes[1], "{}: both passes read the same", file.path);
        found.push((file.path.to_owned(), file.kind, passes.swap_remove(0)));
        ControlFlow::Continue(())
    })
    .unwrap();
    (found, notes)
}

/// All inflated as it is read, nothing through memory.
fn streaming() -> Limits {
    Limits { memory: 0, ..Limits::default() }
}

#[test]
fn a_file_that_is_no_archive_is_handed_out_itself() {
    let bytes = capture_like(5000, 1);
    let (found, notes) = files(&bytes.as_slice(), "host.xplane.pb", &Limits::default());
    assert_eq!(found, [("host.xplane.pb".into(), Kind::Xspace, bytes)]);
    assert_eq!(notes, []);
}

#[test]
fn gzip_through_memory_and_as_it_is_read() {
    for len in [0usize, 1, 900, 131_072, 3_000_001] {
        let bytes = capture_like(len.max(20), 2)[..len].to_vec();
        let packed = gz(&bytes);
        for limits in [Limits::default(), streaming()] {
            let (found, notes) = files(&packed.as_slice(), "a/host.xplane.pb.gz", &limits);
            assert_eq!(notes, [], "{len}");
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].0, "a/host.xplane.pb");
            assert!(found[0].2 == bytes, "{len} bytes");
        }
    }
}

/// What a stream of a gzip file gives, handed in by chunks of this length: the bytes, and what is said of them.
fn streamed(packed: &[u8], chunk: usize, limits: &Limits) -> Result<(Vec<u8>, Option<String>), String> {
    let mut bytes = Vec::new();
    let mut gunzip = Gunzip::new(packed.len() as u64, limits);
    for part in packed.chunks(chunk) {
        gunzip.feed(part, &mut |piece| bytes.extend(piece));
        if gunzip.ended() {
            break;
        }
    }
    let said = gunzip.finish(&mut |piece| bytes.extend(piece))?;
    Ok((bytes, said))
}

#[test]
fn a_stream_gives_what_reading_gives() {
    let bytes = capture_like(5_000_001, 2);
    let whole = gz(&bytes);
    let members = [gz(&bytes[..3_000_000]), gz(b""), gz(&bytes[3_000_000..])].concat();
    let followed = |by: &[u8]| [&whole, by].concat();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2..][..64].fill(0xff);
    let mut wrong_sum = whole.clone();
    wrong_sum[whole.len() - 6] ^= 1;
    let begun = followed(&[0x1f, 0x8b]);
    let cases = [
        ("whole", whole.clone(), None),
        ("members", members, None),
        ("zeros behind it", followed(&[0; 700]), None),
        ("half of a beginning behind it", followed(&[0x1f]), None),
        ("other bytes behind it", followed(b"\x1fother"), None),
        ("cut", whole[..whole.len() / 2].to_vec(), Some("the packed bytes end")),
        ("cut in its last bytes", whole[..whole.len() - 3].to_vec(), Some("the packed bytes end")),
        ("cut in a second header", begun, Some("the packed bytes end")),
        ("damaged", damaged, Some("the packed bytes are damaged")),
        ("not what was packed", wrong_sum, Some("the packed bytes are damaged")),
    ];
    for (what, packed, said) in cases {
        let (found, notes) = files(&packed.as_slice(), "x.gz", &streaming());
        for chunk in [997, 64 << 10, packed.len()] {
            let (got, sentence) = streamed(&packed, chunk, &Limits::default()).unwrap();
            assert!(got == found[0].2, "{what} by {chunk}: {} and {} bytes", got.len(), found[0].2.len());
            let right = bytes.iter().zip(&got).take_while(|(a, b)| a == b).count();
            assert!(right > 1_000_000 && (right == got.len() || what == "damaged"), "{what}: {right} bytes");
            assert_eq!(sentence.as_deref(), notes.first().map(|n| n.sentence.as_str()), "{what} by {chunk}");
            assert_eq!(sentence.is_some(), said.is_some(), "{what}: {sentence:?}");
            assert!(sentence.unwrap_or_default().contains(said.unwrap_or_default()), "{what}");
        }
    }
    // Bytes behind the end are not asked for.
    let mut gunzip = Gunzip::new(0, &Limits::default());
    gunzip.feed(&followed(b"xy"), &mut |_| {});
    assert!(gunzip.ended());
}

#[test]
fn a_stream_ends_at_the_limit() {
    let bomb = gz(&vec![0; 60 << 20]);
    let limits = Limits { unpacked: 10 << 20, ratio: 1, ..Limits::default() };
    let mut handed = 0;
    let mut gunzip = Gunzip::new(bomb.len() as u64, &limits);
    for part in bomb.chunks(1000) {
        gunzip.feed(part, &mut |piece| handed += piece.len());
    }
    assert!(gunzip.ended() && handed < 13 << 20, "{handed} bytes were handed out");
    let refusal = gunzip.finish(&mut |_| panic!("nothing more is handed out")).unwrap_err();
    assert!(refusal.starts_with("It unpacks to more than the "), "{refusal}");
}

#[test]
fn a_stream_is_for_what_has_a_report() {
    let capture = capture_like(5000, 1);
    let alone = |bytes: &[u8], name| Gunzip::alone(&gz(bytes)[..1200.min(gz(bytes).len())], name);
    assert_eq!(alone(&capture, "a/host.xplane.pb.gz").as_deref(), Some("a/host.xplane.pb"));
    assert_eq!(alone(&capture, "renamed").as_deref(), Some("renamed"));
    for (inside, name) in [
        (tar(&[("a.xplane.pb", &capture)]), "run.tgz"),
        (gz(&capture), "a.gz.gz"),
        (zip(&[("a.xplane.pb", &capture, true)]), "a.zip.gz"),
        (b"a text ".repeat(1000), "a.log.gz"),
        (b"%PDF-1.4".repeat(1000), "a.pdf.gz"),
        (capture[..1000].to_vec(), "short.xplane.pb.gz"),
    ] {
        assert_eq!(alone(&inside, name), None, "{name}");
    }
    assert_eq!(Gunzip::alone(&gz(&capture)[..15], "cut.gz"), None);
    assert_eq!(Gunzip::alone(&[0x1f, 0x8b, 8, 0xff, 1, 2, 3], "no.gz"), None);
}

#[test]
fn several_members_are_one_file() {
    let (a, b) = (capture_like(2_000_000, 3), capture_like(700, 4));
    let whole = [a.as_slice(), &b].concat();
    for (first, second) in [(&a, &b), (&b, &a)] {
        let whole = [first.as_slice(), second].concat();
        let packed = [gz(first), gz(second), vec![0; 30]].concat();
        let (found, notes) = files(&packed.as_slice(), "x.gz", &streaming());
        assert!(found.len() == 1 && found[0].2 == whole, "{} members' bytes", found[0].2.len());
        assert_eq!(notes, []);
    }
    // Members of a few bytes put their headers at every place relative to the reads of the packed file.
    let many: Vec<u8> = whole.chunks(997).flat_map(gz).collect();
    let (found, notes) = files(&many.as_slice(), "x.gz", &streaming());
    assert!(found[0].2 == whole);
    assert_eq!(notes, []);
}

#[test]
fn a_wrong_length_in_the_trailer_is_told() {
    let bytes = capture_like(3_000_000, 5);
    for (wrong, read) in
        [(1000, 3_000_000), (2_900_000, 2_900_000), (3_000_001, 3_000_000), (500_000_000u32, 3_000_000)]
    {
        let mut packed = gz(&bytes);
        let end = packed.len();
        packed[end - 4..].copy_from_slice(&wrong.to_le_bytes());
        let (found, notes) = files(&packed.as_slice(), "x.gz", &streaming());
        assert_eq!(found.len(), 1, "{wrong}");
        assert!(
            found[0].2.len() == read && bytes.starts_with(&found[0].2),
            "declared {wrong}, read {}",
            found[0].2.len()
        );
        assert_eq!(notes.len(), 1, "{notes:?}");
    }
}

#[test]
fn a_tar_that_ends_within_a_name_says_so() {
    let mut header = tar::Header::new_gnu();
    header.set_path("././@LongLink").unwrap();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(1 << 30);
    header.set_cksum();
    let bytes = [&header.as_bytes()[..], &tar(&[("host.xplane.pb", &[1; 2000])])].concat();
    let (found, notes) = files(&bytes.as_slice(), "run.tar", &Limits::default());
    assert!(found.is_empty());
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].sentence.contains("ends within the name of a file"), "{notes:?}");
}

#[test]
fn a_cut_or_damaged_file_is_read_up_to_there() {
    let bytes = capture_like(3_000_000, 6);
    let packed = gz(&bytes);
    for limits in [Limits::default(), streaming()] {
        let cut = &packed[..packed.len() / 2];
        let (found, notes) = files(&cut, "x.gz", &limits);
        let got = &found[0].2;
        assert!(got.len() > 1_000_000 && bytes.starts_with(got), "{}", got.len());
        assert!(notes[0].sentence.contains("unpacked, the packed bytes end"), "{notes:?}");

        let mut damaged = packed.clone();
        let at = packed.len() / 2;
        damaged[at..at + 64].fill(0xff);
        let (found, notes) = files(&damaged.as_slice(), "x.gz", &limits);
        assert!(found[0].2.len() > 1_000_000);
        assert!(notes[0].sentence.contains("damaged"), "{notes:?}");
    }
}

/// Whoever reads a file can tell its damage in the report of it: in that of the file that is damaged, and of no other.
#[test]
fn damage_goes_with_the_file() {
    let noise = |seed| capture_like(400_000, seed);
    let packed = gz(&tar(&[("whole.xplane.pb", &noise(1)), ("cut.xplane.pb", &noise(2))]));
    for limits in [Limits::default(), streaming()] {
        let mut told = Vec::new();
        let part = &packed[..packed.len() * 3 / 4];
        let notes = walk(&part, "run.tar.gz", &limits, &mut |file| {
            let bytes = file.source.read_range(0..file.source.len()).unwrap();
            told.push((bytes.len(), file.source.damage()));
            ControlFlow::Continue(())
        });
        let [(400_000, None), (short, Some(sentence))] = told.as_slice() else { panic!("{told:?}") };
        assert!((100_000..400_000).contains(short), "{short} bytes");
        assert!(sentence.contains("the packed bytes end"), "{sentence}");
        assert!(notes.unwrap().iter().any(|note| note.sentence == *sentence));
    }
}

#[test]
fn zip_with_stored_and_packed_files() {
    let (a, b) = (capture_like(1_500_000, 7), capture_like(40_000, 8));
    let archive = zip(&[
        ("run/plugins/profile/1/a.xplane.pb", &a, true),
        ("run/plugins/profile/1/b.xplane.pb", &b, false),
        ("__MACOSX/run/._a.xplane.pb", b"\0\x05\x16\x07", false),
        ("run/notes.pdf", b"%PDF-1.4", true),
    ]);
    for limits in [Limits::default(), streaming()] {
        let (found, notes) = files(&archive.as_slice(), "run.zip", &limits);
        let listed: Vec<_> = found.iter().map(|(path, kind, _)| (path.as_str(), *kind)).collect();
        assert_eq!(
            listed,
            [
                ("run.zip/run/plugins/profile/1/a.xplane.pb", Kind::Xspace),
                ("run.zip/run/plugins/profile/1/b.xplane.pb", Kind::Xspace),
                ("run.zip/run/notes.pdf", Kind::Foreign(Foreign::Pdf)),
            ]
        );
        assert!(found[0].2 == a && found[1].2 == b);
        assert_eq!(notes, []);
    }
}

#[test]
fn everything_nested() {
    let a = capture_like(600_000, 9);
    let deep = format!("{}/host.xplane.pb.gz", "long-folder-name".repeat(15));
    let inner = zip(&[("b.xplane.pb", &a, true)]);
    let archive = tar(&[(&deep, &gz(&a)), ("./c.xplane.pb", &a), ("inner.zip", &inner)]);
    for limits in [Limits::default(), streaming()] {
        let (found, notes) = files(&gz(&archive).as_slice(), "run.tgz", &limits);
        let paths: Vec<_> = found.iter().map(|f| f.0.clone()).collect();
        let expected = format!("run.tar/{}", deep.strip_suffix(".gz").unwrap());
        assert_eq!(paths, [expected, "run.tar/c.xplane.pb".into(), "run.tar/inner.zip/b.xplane.pb".into()]);
        assert!(found.iter().all(|f| f.2 == a && f.1 == Kind::Xspace));
        assert_eq!(notes, []);
    }
    let mut nested = a.clone();
    for _ in 0..6 {
        nested = gz(&nested);
    }
    let (found, notes) = files(&nested.as_slice(), "a.gz.gz.gz.gz.gz.gz", &Limits::default());
    assert!(found.is_empty());
    assert!(notes[0].sentence.starts_with("It lies in 5 archives"), "{notes:?}");
}

/// Counts what is read of the packed file.
struct Counting<'a>(&'a [u8], Cell<u64>);

impl Source for Counting<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        let got = self.0.read_at(offset, buf)?;
        self.1.set(self.1.get() + got as u64);
        Ok(got)
    }
}

#[test]
fn two_passes_over_many_captures_inflate_twice() {
    let captures: Vec<_> = (0..12).map(|i| capture_like(500_000, i)).collect();
    let names: Vec<_> = (0..12).map(|i| format!("{i}.xplane.pb")).collect();
    let listed: Vec<_> = names.iter().zip(&captures).map(|(n, c)| (n.as_str(), c.as_slice())).collect();
    let packed = gz(&tar(&listed));
    for (limits, most) in [(streaming(), 3.2), (Limits { memory: 1 << 20, ..Limits::default() }, 2.2)] {
        let counting = Counting(&packed, Cell::new(0));
        let (found, notes) = files(&counting, "run.tar.gz", &limits);
        assert_eq!((found.len(), notes.len()), (12, 0));
        assert!(found.iter().zip(&captures).all(|(f, c)| &f.2 == c));
        let times = counting.1.get() as f64 / packed.len() as f64;
        // Once more than the passes: the search for further members.
        assert!(times <= most, "the packed file was read {times:.1} times");
    }
}

/// A zip with another list of its files: `list` is given the records of the files.
fn relisted(zip: &[u8], list: impl FnOnce(Vec<&[u8]>) -> Vec<&[u8]>) -> Vec<u8> {
    let find = |sign: &[u8]| zip.windows(4).position(|w| w == sign).unwrap();
    let (directory, end) = (find(b"PK\x01\x02"), find(b"PK\x05\x06"));
    let starts: Vec<usize> = (directory..end).filter(|&i| zip[i..].starts_with(b"PK\x01\x02")).collect();
    let ends = starts.iter().skip(1).copied().chain([end]);
    let records = list(starts.iter().zip(ends).map(|(&from, to)| &zip[from..to]).collect());
    let (count, records) = (records.len() as u16, records.concat());
    let mut tail = zip[end..].to_vec();
    tail[8..10].copy_from_slice(&count.to_le_bytes());
    tail[10..12].copy_from_slice(&count.to_le_bytes());
    tail[12..16].copy_from_slice(&(records.len() as u32).to_le_bytes());
    [&zip[..directory], &records, &tail].concat()
}

/// Files of an archive that lie in one place make of few bytes many.
#[test]
fn files_that_overlap_are_read_once() {
    for pack in [true, false] {
        let bytes = capture_like(1 << 20, 3);
        let archive = relisted(&zip(&[("a", &bytes, pack)]), |records| vec![records[0]; 30]);
        let (found, notes) = files(&archive.as_slice(), "x.zip", &Limits::default());
        assert_eq!((found.len(), notes.len()), (1, 1));
        assert_eq!(notes[0].path, "x.zip");
        assert!(notes[0].sentence.starts_with("Its files overlap each other"), "{:?}", notes[0]);
    }
}

/// What is packed is inflated from its beginning for each step back, but not once for each of many files.
#[test]
fn a_packed_archive_in_the_wrong_order_costs_a_multiple_of_its_length() {
    let captures: Vec<_> = (0..400).map(|i| (format!("{i}.xplane.pb"), capture_like(10_000, i))).collect();
    let listed: Vec<_> = captures.iter().map(|(n, c)| (n.as_str(), c.as_slice(), false)).collect();
    let in_order = zip(&listed);
    let mixed = relisted(&in_order, |mut records| {
        let mut rng = Rng(1);
        (1..records.len()).rev().for_each(|i| records.swap(i, rng.below(i as u64 + 1) as usize));
        records
    });
    let limits = Limits { memory: 1 << 10, ..Limits::default() };
    for (archive, most, ends) in [(in_order, 8.0, false), (mixed, 40.0, true)] {
        let packed = gz(&archive);
        let counting = Counting(&packed, Cell::new(0));
        let (mut found, mut refusal) = (0, String::new());
        let walked = walk(&counting, "run.zip.gz", &limits, &mut |file| {
            found += 1;
            match file.source.read_range(0..file.source.len()) {
                Ok(_) => ControlFlow::Continue(()),
                Err(why) => {
                    refusal = why.to_string();
                    ControlFlow::Break(())
                }
            }
        });
        let times = counting.1.get() as f64 / packed.len() as f64;
        assert!(times < most, "the packed file was read {times:.1} times");
        // Whoever reads first after that is told.
        let refusal = walked.err().map_or(refusal, |why| why.to_string());
        assert_eq!(refusal.contains("back and forth too often while it is packed"), ends, "{refusal:?}");
        assert!(ends || found == 400);
    }
}

#[test]
fn what_unpacks_to_absurd_sizes_is_refused() {
    let bomb = gz(&vec![0; 60 << 20]);
    let limits = Limits { unpacked: 1 << 20, ratio: 100, ..streaming() };
    let (found, notes) = files(&bomb.as_slice(), "x.gz", &limits);
    assert!(found.is_empty());
    assert!(notes[0].sentence.starts_with("It unpacks to more than the "), "{notes:?}");
    // The sum of the files of an archive is limited too.
    let zeros = vec![0; 30 << 20];
    let archive = zip(&["a", "b", "c", "d", "e"].map(|name| (name, zeros.as_slice(), true)));
    let (found, notes) =
        files(&archive.as_slice(), "x.zip", &Limits { unpacked: 70 << 20, ratio: 1, ..limits });
    assert_eq!((found.len(), notes.len()), (2, 3));
    assert!(notes[0].sentence.starts_with("With the files before it"), "{:?}", notes[0]);
    // The same behind trailers that lie: one that cannot be, so that it is inflated up to the limit, and one that can.
    let limits = Limits { unpacked: 1 << 20, ratio: 2, ..streaming() };
    for (lie, files_found, said) in
        [(1000u32, 0, "It unpacks to more than"), (1_000_000, 1, "It holds more than")]
    {
        let mut lying = bomb.clone();
        let end = lying.len();
        lying[end - 4..].copy_from_slice(&lie.to_le_bytes());
        let (found, notes) = files(&lying.as_slice(), "x.gz", &limits);
        assert_eq!(found.len(), files_found, "{lie}");
        assert!(found.iter().all(|f| f.2.len() == 1_000_000), "no more than it declares");
        assert!(notes[0].sentence.starts_with(said), "{notes:?}");
    }
    // Many files.
    let small: Vec<_> = (0..50).map(|i| (format!("{i}"), capture_like(40, i))).collect();
    let listed: Vec<_> = small.iter().map(|(n, b)| (n.as_str(), b.as_slice())).collect();
    let limits = Limits { files: 20, ..Limits::default() };
    let (found, notes) = files(&tar(&listed).as_slice(), "x.tar", &limits);
    assert_eq!(found.len(), 20);
    assert_eq!(notes[0].sentence, "It holds more than 20 files; the rest was not read.");
}

#[test]
fn a_broken_walk_ends() {
    let a = capture_like(1000, 1);
    let archive = gz(&tar(&[("a.xplane.pb", &a), ("b.xplane.pb", &a)]));
    let mut seen = 0;
    let notes = walk(&archive.as_slice(), "x.tar.gz", &Limits::default(), &mut |_| {
        seen += 1;
        ControlFlow::Break(())
    });
    assert_eq!((seen, notes.unwrap()), (1, vec![]));
}

/// Fails at every read past a point.
struct Failing<'a>(&'a [u8], u64);

impl Source for Failing<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        if offset + buf.len() as u64 > self.1 {
            return Err(ReadError { offset, message: "the disk broke".into() });
        }
        self.0.read_at(offset, buf)
    }
}

#[test]
fn a_failing_medium_is_an_error() {
    let a = capture_like(100_000, 1);
    for (archive, name) in
        [(gz(&a), "a.gz"), (zip(&[("a", &a, true)]), "a.zip"), (tar(&[("a", &a)]), "a.tar")]
    {
        let failing = Failing(&archive, 3000);
        let result = walk(&failing, name, &Limits::default(), &mut |_| ControlFlow::Continue(()));
        assert!(result.unwrap_err().to_string().contains("the disk broke"), "{name}");
    }
}

/// Archives with bytes changed, cut, and swapped: no panic, and no file longer than the limits allow.
#[test]
fn damaged_archives_break_nothing() {
    let a = capture_like(9000, 1);
    let inner = zip(&[("b.xplane.pb", &a, true), ("c", b"text", false)]);
    let archives = [
        inner.clone(),
        tar(&[("a.xplane.pb", &a), ("i.zip", &inner)]),
        gz(&tar(&[("a.pb", &a)])),
        gz(&inner),
    ];
    let limits = Limits { memory: 4096, unpacked: 1 << 20, ratio: 10, ..Limits::default() };
    let mut state = 99u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    for round in 0..3000 {
        let mut bytes = archives[round % archives.len()].clone();
        for _ in 0..1 + random(4) {
            let at = random(bytes.len());
            match random(4) {
                0 => bytes[at] = random(256) as u8,
                1 => bytes[at] ^= 1 << random(8),
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let end = (at + 8).min(bytes.len());
                    bytes[at..end].fill(0xff);
                }
            }
        }
        if round % 4 > 1 {
            let head = Gunzip::alone(&bytes, "x");
            assert_eq!(head, None, "archives");
            if let Ok((got, _)) = streamed(&bytes, 1 + random(5000), &limits) {
                assert!(got.len() < 2 << 20, "{}", got.len());
            }
        }
        let _ = walk(&bytes.as_slice(), "x", &limits, &mut |file| {
            let len = file.source.len();
            assert!(len < 2 << 20, "{len}");
            let _ = file.source.read_range(0..len);
            ControlFlow::Continue(())
        });
    }
}
