//! What was moved, copied or changed is found and told; what belongs there is not.

use super::*;

/// A generator for the tests.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        (samples::random::split_mix(&mut self.0) % most as u64) as usize
    }
}

fn named(name: &str) -> FileName {
    let mut catalogue = Catalogue::default();
    catalogue.file(&std::ffi::CString::new(name).expect("no NUL"), false)
}

fn author(run: u64, rank: u32) -> Author {
    Author { run, rank, ranks: 8, ..Author::default() }
}

fn file(author: Author, name: &str, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    author.stream(named(name), ContentKind::Placed).fill(author.rank, 0, &mut bytes);
    bytes
}

fn check(bytes: &[u8], offset: usize, known: &mut Known) -> Option<Wrong> {
    verify(author(9, 0).reader(None), named("d/f"), known, (bytes, offset as u64))
}

#[test]
fn what_belongs_there_is_accepted_however_it_is_read() {
    let mut draw = Draw(1);
    for run in [9, 4] {
        for round in 0..200 {
            let whole = file(author(run, 3), "d/f", 1 + draw.below(20_000));
            let mut known = Known::default();
            for _ in 0..20 {
                let begin = draw.below(whole.len());
                let length = 1 + draw.below([40, 700, 20_000][round % 3]);
                let part = &whole[begin..(begin + length).min(whole.len())];
                assert_eq!(check(part, begin, &mut known), None, "{} bytes at {begin}", part.len());
            }
        }
    }
}

#[test]
fn any_changed_byte_is_found_where_it_is() {
    let mut draw = Draw(2);
    for run in [9, 4] {
        let (whole, mut missed) = (file(author(run, 3), "d/f", 5 * 512 + 300), 0);
        // Every place of a sector once.
        for at in 512..1024 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << draw.below(8);
            let wrong = check(&changed, 0, &mut Known::default());
            // The first and the last of the bytes for the writer can be another rank's by chance.
            let in_writer = (552..560).contains(&at);
            missed += usize::from(in_writer && wrong.is_none());
            let Some(wrong) = wrong.filter(|_| !in_writer) else {
                assert!(in_writer, "run {run}: byte {at}");
                continue;
            };
            assert_eq!((wrong.at as usize, wrong.found), (at, Found::Changed), "run {run}");
        }
        assert!(missed <= 2, "{missed} of 8");
    }
}

#[test]
fn blocks_that_moved_or_come_from_elsewhere_are_told_with_what_they_are() {
    let mut draw = Draw(3);
    for _ in 0..300 {
        let block = 512 * (1 + draw.below(8));
        let count = 20;
        let mut whole = file(author(9, 3), "d/f", count * block);
        let (from, to) = (draw.below(count), draw.below(count));
        let (other, described) = match draw.below(5) {
            _ if from == to => continue,
            0 => (file(author(9, 3), "d/f", count * block), (from, false, 3, None)),
            1 => (file(author(9, 5), "e/f", count * block), (from, true, 5, None)),
            2 => (file(author(9, 5), "d/g", count * block), (to, true, 5, None)),
            _ => (file(author(4, 1), "d/f", count * block), (to, false, 1, Some(4))),
        };
        let (source, is_other, rank, run) = described;
        whole[to * block..(to + 1) * block].copy_from_slice(&other[source * block..(source + 1) * block]);
        // As this rank knows that it wrote it, and as one that reads for the first time.
        let mut known = Known::default();
        known.own.add(0, whole.len() as u64);
        let wrong = check(&whole, 0, &mut known).expect("told");
        let Found::Other(found) = wrong.found else { panic!("{wrong}") };
        assert_eq!(wrong.at as usize, to * block, "{wrong}");
        assert_eq!(found.offset as usize, source * block, "{wrong}");
        assert_eq!((found.name.is_some(), found.rank, found.run), (is_other, Some(rank), run), "{wrong}");
        assert!(check(&whole, 0, &mut Known::default()).is_some(), "{wrong}");
        // Each block alone, by who knows only which it wrote.
        let alone = &whole[to * block..(to + 1) * block];
        assert!(check(alone, to * block, &mut known).is_some(), "{wrong}");
    }
}

#[test]
fn several_writers_of_one_sector_are_no_mismatch() {
    let mut draw = Draw(4);
    for round in 0..200 {
        let element = 1 + draw.below([60, 600, 5000][round % 3]).max(8);
        let mut whole = vec![0; 30 * element];
        for (number, part) in whole.chunks_mut(element).enumerate() {
            let own = author(9, (number % 5) as u32);
            own.stream(named("d/f"), ContentKind::Placed).fill(own.rank, (number * element) as u64, part);
        }
        assert_eq!(check(&whole, 0, &mut Known::default()), None, "blocks of {element}");
    }
}

#[test]
fn memory_of_the_program_and_appended_bytes_are_known_as_such() {
    let author = author(9, 2);
    let stream = author.stream(FileName::of_memory(2, 0), ContentKind::Memory);
    let mut buffer = vec![0; 3000];
    stream.fill(2, 0, &mut buffer);
    // Three times the buffer, behind 100 bytes of another one.
    let mut whole = vec![0; 100];
    author.stream(FileName::of_memory(2, 1), ContentKind::Memory).fill(2, 0, &mut whole);
    (0..3).for_each(|_| whole.extend(&buffer));
    assert_eq!(check(&whole, 0, &mut Known::default()), None);
    whole[4000] ^= 1;
    assert_eq!(check(&whole, 0, &mut Known::default()).map(|wrong| wrong.at), Some(4000));
    let mut appended = vec![0; 10_000];
    author.stream(named("d/f"), ContentKind::Appended).fill(2, 0, &mut appended);
    assert_eq!(check(&appended, 512, &mut Known::default()), None);
}

#[test]
fn compressible_and_duplicate_content_is_verified_by_a_later_run() {
    let dials = Dials { compressible: 40, dedupe: 50 };
    let own = Author { dials, ..author(4, 1) };
    let mut whole = vec![0; 4 << 20];
    own.stream(named("d/f"), ContentKind::Placed).fill(1, 0, &mut whole);
    assert_eq!(check(&whole, 0, &mut Known::default()), None);
    whole[3 << 20] ^= 1;
    assert!(check(&whole, 0, &mut Known::default()).is_some_and(|wrong| wrong.at >> 9 == (3 << 20) >> 9));
}

#[test]
fn what_nobody_wrote_is_told_and_what_is_too_short_is_not_judged() {
    let mut known = Known::default();
    assert_eq!(check(&[0; 5000], 0, &mut known).map(|wrong| wrong.found), Some(Found::Zeros));
    let text = b"something else altogether, by somebody else".repeat(30);
    assert_eq!(check(&text, 0, &mut known).map(|wrong| wrong.found), Some(Found::Unknown));
    assert_eq!(check(&text[..100], 1000, &mut known), None);
    assert!(known.unverified);
    // Where this rank wrote, it is judged.
    known.own.add(0, 5000);
    assert!(check(&text[..100], 1000, &mut known).is_some());
}

#[test]
fn a_renamed_file_keeps_the_name_under_which_it_was_written() {
    let mut catalogue = Catalogue::default();
    let path = |text: &str| std::ffi::CString::new(text).expect("no NUL");
    let old = catalogue.file(&path("d/old"), false);
    catalogue.renamed(&path("d/old"), &path("d/new"), false);
    assert_eq!(catalogue.file(&path("./d/new"), false), old);
    // A directory takes what lies in it along.
    let inside = catalogue.file(&path("d/sub/f"), false);
    catalogue.renamed(&path("d/sub"), &path("e"), false);
    assert_eq!(catalogue.file(&path("e/f"), false), inside);
    catalogue.removed(&path("d/new"), false);
    assert_ne!(catalogue.file(&path("d/new"), false), old);
}
