//! What the table promises: nothing stands twice, nothing is without a row, and flags mean the same on both processors.

use super::*;

#[test]
fn no_name_and_no_number_stands_twice() {
    for (at, one) in ENTRIES.iter().enumerate() {
        let names = |entry: &'static Entry| core::iter::once(entry.name).chain(entry.older.iter().copied());
        for other in &ENTRIES[at + 1..] {
            assert!(names(one).all(|name| names(other).all(|further| name != further)), "{}", one.name);
            assert!(one.x86 != other.x86 || one.x86 == NO_NUMBER, "{} {}", one.name, other.name);
            assert!(one.arm != other.arm || one.arm == NO_NUMBER, "{} {}", one.name, other.name);
        }
    }
}

#[test]
fn each_operation_has_its_row_and_an_entry_or_is_made_by_a_flag() {
    for (at, row) in ROWS.iter().enumerate() {
        assert_eq!(row.operation as usize, at);
        let made = |entry: &&Entry| {
            entry.operation == row.operation || entry.selects.iter().any(|(_, made)| *made == row.operation)
        };
        assert!(ENTRIES.iter().any(|entry| made(&entry)), "{:?}", row.operation);
    }
    for entry in ENTRIES {
        let set = entry.flags().map_or(0, |(_, set)| set.bits(|of| of == Of::Repeated));
        assert!(entry.selects.iter().all(|(flags, _)| set & flags == *flags), "{}", entry.name);
    }
}

#[test]
fn a_flag_makes_another_operation_or_lies_beyond() {
    let asked =
        |name: &str, registers: [u64; 6]| by_name(name.as_bytes()).unwrap().asked(&registers, Processor::X86);
    let punched = asked("fallocate", [3, 3, 8192, 4096, 0, 0]);
    assert_eq!((punched.operation, punched.files[0], punched.beyond), (Operation::Punch, 3, 0));
    assert_eq!((punched.offset, punched.length), (Some(8192), 4096));
    assert_eq!(asked("fallocate", [3, 1, 0, 1, 0, 0]).operation, Operation::Reserve);
    assert_eq!(asked("fallocate", [3, 0x80, 0, 1, 0, 0]).beyond, 0x80);
    assert_eq!(asked("renameat2", [0, 0, 0, 0, 2, 0]).operation, Operation::Exchange);
    assert_eq!(asked("renameat2", [0, 0, 0, 0, 4, 0]).beyond, 4);
    assert_eq!(asked("preadv2", [3, 0, 1, u64::MAX, 0, 0]).offset, None);
    assert_eq!(asked("pwritev2", [3, 0, 1, 7, 0, 2]).less, 2);
    assert_eq!(asked("pwritev2", [3, 0, 1, 7, 0, 0x10]).beyond, 0x10);
    assert_eq!(asked("unlinkat", [5, 0, 0x200, 0, 0, 0]).operation, Operation::Rmdir);
    assert_eq!(asked("renameat2", [5, 0, 6, 0, 0, 0]).from, [5, 6]);
}

#[test]
fn flags_of_both_processors_are_the_same() {
    let (_, open) = by_name(b"openat").unwrap().flags().unwrap();
    let words =
        ["O_DIRECT", "O_DIRECTORY", "O_NOFOLLOW", "O_RDWR|O_CREAT|O_TRUNC|O_CLOEXEC", "O_TMPFILE|O_WRONLY"];
    for (word, arm) in words.into_iter().zip([0o200_000, 0o40_000, 0o100_000, 0o2_001_102, 0o20_040_001]) {
        assert_eq!(open.of_processor(arm, Processor::Arm), open.number(word), "{word}");
        assert_eq!(open.of_processor(open.number(word), Processor::X86), open.number(word), "{word}");
    }
    let strange = open.of_processor(0x4000_0000, Processor::Arm);
    assert_ne!(strange & !open.bits(|_| true), 0);
    assert_eq!(open.number("O_RDWR|0x40"), 0o102);
    assert_eq!(open.number("O_RDWR|O_NEW"), 2 | flags::UNKNOWN);
}

#[test]
fn names_stand_behind_the_directories_from_which_they_count() {
    let names = |name: &str| by_name(name.as_bytes()).unwrap().names();
    let [from, to] = names("renameat2");
    assert_eq!(from, Some(Name { base: Some(0), name: 1, is_file: true }));
    assert_eq!(to, Some(Name { base: Some(2), name: 3, is_file: true }));
    assert_eq!(names("symlinkat")[1], Some(Name { base: None, name: 0, is_file: false }));
    assert_eq!(names("read"), [None, None]);
}
