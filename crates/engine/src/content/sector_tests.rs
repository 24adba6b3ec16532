//! Sectors say what they are, and look random.

use super::*;

fn stream() -> ContentStream {
    let dials = Dials::default();
    ContentStream {
        run: 17,
        file: 5,
        name: *b"0123456789abcdefghijklmnopqrst/f",
        kind: ContentKind::Placed,
        dials,
    }
}

fn of_form(form: Form) -> ContentStream {
    ContentStream { dials: Dials { form, ..Dials::default() }, ..stream() }
}

#[test]
fn any_pieces_give_the_same_bytes() {
    for stream in Form::ALL.map(of_form) {
        let mut whole = vec![0; 5000];
        stream.fill(3, 0, &mut whole);
        for (offset, length) in [(0, 1), (1, 511), (7, 2000), (511, 2), (512, 512), (4999, 1)] {
            let mut piece = vec![0; length];
            stream.fill(3, offset as u64, &mut piece);
            assert_eq!(piece, whole[offset..offset + length], "at {offset}");
        }
    }
}

#[test]
fn content_of_earlier_versions_stays_known() {
    // FNV-1a of what the first versions of these forms wrote.
    for (form, known) in [(Form::Keyed, 0x0cdc_5854_1711_09a5), (Form::Periodic, 0xfa84_0db0_5282_dfbb)] {
        let mut bytes = vec![0; 5120];
        of_form(form).fill(3, 0, &mut bytes);
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        assert_eq!(hash, known, "{form:?} {hash:#x}");
    }
}

#[test]
fn memory_in_which_facts_are_renewed_holds_what_would_be_written_afresh() {
    let streams = [stream(), ContentStream { file: 6, ..stream() }];
    let dials = Dials { compressible: 30, ..Dials::default() };
    let shortened = ContentStream { dials, ..stream() };
    let (mut made, mut memory) = (vec![0; 40], vec![[0; SECTOR]; 40]);
    let mut drawn = 1;
    for _ in 0..2000 {
        let mut draw = |below: u64| samples::random::split_mix(&mut drawn) % below;
        let stream = [streams[0], streams[1], shortened][draw(3) as usize];
        let (writer, slot) = (stream.written_by(draw(3) as u32), draw(40));
        let first = slot + PERIOD * draw(5);
        let sectors = slot as usize..(slot + 1 + draw(40 - slot)) as usize;
        assert!(writer.renews());
        writer.renew(first, &mut made[sectors.clone()], &mut memory[sectors.clone()]);
        let mut afresh = vec![0; SECTOR * sectors.len()];
        writer.fill(first * SECTOR as u64, &mut afresh);
        assert!(memory[sectors].as_flattened() == afresh);
    }
}

#[test]
fn no_sector_is_another_one_and_none_repeats_but_after_the_period() {
    let sector = |number: u64| {
        let mut bytes = [0; SECTOR];
        stream().fill(3, number * SECTOR as u64, &mut bytes);
        bytes
    };
    let (first, again, next) = (sector(7), sector(7 + PERIOD), sector(8));
    assert_eq!(first[HEAD..], again[HEAD..]);
    let alike = |other: &[u8]| first.iter().zip(other).filter(|(a, b)| a == b).count();
    assert!(alike(&again) < 512 - HEAD + 10 && alike(&next) < 20);
    assert_eq!(facts(&again).map(|facts| facts.number), Some(7 + PERIOD));
}

#[test]
fn a_sector_says_what_it_is_and_the_writer_is_all_that_depends_on_the_writer() {
    let (mut one, mut other) = ([0; 1024], [0; 1024]);
    stream().fill(3, 512 * 9, &mut one);
    stream().fill(4, 512 * 9, &mut other);
    let found = facts(&one[512..]).expect("facts");
    assert_eq!((found.stream, found.number, found.rank), (stream(), 10, Some(3)));
    assert_eq!(runs_of(&one).map(|runs| runs[0]), Some((Form::Periodic, 17)));
    let differing: Vec<usize> = (0..512).filter(|at| one[*at] != other[*at]).collect();
    assert!(differing.iter().all(|at| (WRITER_AT..WRITER_AT + 8).contains(at)), "{differing:?}");
    assert!(!differing.is_empty());
    // One changed bit, and it is none any more; but for the writer's.
    for bit in 0..8 * HEAD {
        let mut changed = one;
        changed[bit / 8] ^= 1 << (bit % 8);
        let found = facts(&changed);
        let in_writer = (WRITER_AT..WRITER_AT + 8).contains(&(bit / 8));
        assert_eq!((found.is_some(), found.and_then(|found| found.rank)), (in_writer, None), "bit {bit}");
    }
}

#[test]
fn content_is_neither_compressible_nor_a_duplicate_unless_asked_for() {
    let mut bytes = vec![0; 1 << 20];
    stream().fill(0, 0, &mut bytes);
    // Each byte value as often as the next, here and at each place of a sector.
    let chi = |bytes: &mut dyn Iterator<Item = u8>| {
        let (mut counts, mut n) = ([0_f64; 256], 0.0);
        bytes.for_each(|byte| {
            counts[usize::from(byte)] += 1.0;
            n += 1.0;
        });
        counts.iter().map(|count| (count - n / 256.0).powi(2) / (n / 256.0)).sum::<f64>()
    };
    // 255 degrees of freedom: mean 255, deviation 22.6.
    assert!(chi(&mut bytes.iter().copied()) < 400.0);
    for at in 0..SECTOR {
        let column = chi(&mut bytes.iter().skip(at).step_by(SECTOR).copied());
        assert!(column < 400.0, "byte {at} of a sector: {column}");
    }
    let (words, _) = bytes.as_chunks::<8>();
    let mut words: Vec<_> = words.iter().collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), (1 << 20) / 8);
}

#[test]
fn dials_make_zeros_and_duplicates() {
    let dials = Dials { compressible: 30, dedupe: 20, ..Dials::default() };
    let (mut zeros, mut kinds) = (0, 0);
    let mut seen = std::collections::HashSet::new();
    let mut unit = vec![0; 512 * UNIT as usize];
    for number in 0..1000 {
        ContentStream { dials, ..stream() }.fill(0, number * unit.len() as u64, &mut unit[..1024]);
        zeros += unit[..1024].iter().filter(|byte| **byte == 0).count();
        kinds += usize::from(facts(&unit).expect("facts").stream.kind == ContentKind::Duplicate);
        seen.insert(unit[..1024].to_vec());
    }
    let share = zeros as f64 / 1_024_000.0;
    assert!((0.29..0.31).contains(&share), "{share} zeros");
    assert!((160..240).contains(&kinds), "{kinds} of 1000 blocks are duplicates");
    assert_eq!(seen.len(), 1000 - kinds + 16);
}
