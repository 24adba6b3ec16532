//! Flags of `open`, as numbers of Linux on x86-64 and as words.

use crate::call::NEAREST;

/// Opened for writing alone.
pub const O_WRONLY: u32 = 1;
/// Opened for reading and writing.
pub const O_RDWR: u32 = 2;
/// Made where it is missing.
pub const O_CREAT: u32 = 0o100;
/// Refused where it exists.
pub const O_EXCL: u32 = 0o200;
/// Emptied.
pub const O_TRUNC: u32 = 0o1000;
/// Written at the end.
pub const O_APPEND: u32 = 0o2000;
/// Must be a directory.
pub const O_DIRECTORY: u32 = 0o200_000;
/// Closed by `execve`.
pub const O_CLOEXEC: u32 = 0o2_000_000;
/// A place in the tree alone.
pub const O_PATH: u32 = 0o10_000_000;
/// Permissions to execute: a program gives them to no file.
pub const EXECUTABLE: u32 = 0o111;
/// A file without a name.
pub const O_TMPFILE: u32 = 0o20_200_000;

/// Words of flags, longer masks first.
const WORDS: [(&str, u32); 14] = [
    ("O_TMPFILE", O_TMPFILE),
    ("O_SYNC", 0o4_010_000),
    ("O_WRONLY", O_WRONLY),
    ("O_RDWR", O_RDWR),
    ("O_CREAT", O_CREAT),
    ("O_EXCL", O_EXCL),
    ("O_TRUNC", O_TRUNC),
    ("O_APPEND", O_APPEND),
    ("O_DSYNC", 0o10_000),
    ("O_DIRECT", 0o40_000),
    ("O_DIRECTORY", O_DIRECTORY),
    ("O_NOFOLLOW", 0o400_000),
    ("O_CLOEXEC", O_CLOEXEC),
    ("O_PATH", O_PATH),
];

/// The number of `O_RDWR|O_CREAT`; words that make no difference to files count nothing.
pub fn number(words: &str) -> u32 {
    let one = |word: &str| WORDS.iter().find(|(known, _)| *known == word.trim()).map_or(0, |(_, bits)| *bits);
    words.split('|').map(one).fold(0, |all, bits| all | bits)
}

/// The flags that a program repeats.
const REPEATED: [&str; 9] =
    ["O_TMPFILE", "O_SYNC", "O_CREAT", "O_EXCL", "O_TRUNC", "O_APPEND", "O_DSYNC", "O_DIRECT", "O_NOFOLLOW"];

/// The flags that a program repeats, as the language spells them.
pub fn mode(flags: u32) -> String {
    let access = access(flags);
    let shorter = match flags & !(O_CLOEXEC | O_DIRECTORY | 0o100_000 | NEAREST) {
        0 => Some("r"),
        2 => Some("r+"),
        0o1101 => Some("w"),
        0o2101 => Some("a"),
        0o1102 => Some("w+"),
        0o2102 => Some("a+"),
        _ => None,
    };
    if let Some(short) = shorter {
        return short.to_owned();
    }
    joined(access, flags, false)
}

/// The flags of an open that failed, as the language spells them: it may have, since it was to be a directory.
pub fn failing_mode(flags: u32) -> String {
    if flags & O_DIRECTORY == 0 { mode(flags) } else { joined(access(flags), flags, true) }
}

fn joined(access: &str, flags: u32, with_directory: bool) -> String {
    let (mut words, mut left) = (vec![access], flags);
    let is_repeated = |word: &str| REPEATED.contains(&word) || with_directory && word == "O_DIRECTORY";
    for (word, bits) in WORDS.iter().filter(|(word, _)| is_repeated(word)) {
        if left & bits == *bits {
            words.push(word);
            left &= !bits;
        }
    }
    words.join("|")
}

fn access(flags: u32) -> &'static str {
    match flags & 3 {
        0 => "O_RDONLY",
        1 => "O_WRONLY",
        _ => "O_RDWR",
    }
}

/// The mode of `fallocate`, as the language spells it; nothing for 0.
pub fn allocation_mode(bits: u32) -> String {
    const HOLE: u32 = 3;
    let set = operations::by_name(b"fallocate").and_then(operations::Entry::flags);
    let mut words = Vec::new();
    // A hole keeps the size in any case.
    let bits = if bits & HOLE == HOLE { bits & !1 } else { bits };
    if let Some((_, set)) = set {
        set.words(bits, |word| words.push(word.trim_start_matches("FALLOC_FL_").to_lowercase()));
    }
    words.join("|")
}

/// Whether such an open writes.
pub fn writes(flags: u32) -> bool {
    flags & 3 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_spelt_as_the_language_spells_them() {
        assert_eq!(mode(number("O_RDONLY|O_CLOEXEC")), "r");
        assert_eq!(mode(number("O_WRONLY|O_CREAT|O_TRUNC")), "w");
        assert_eq!(mode(number("O_RDWR|O_CREAT|O_EXCL|O_NOFOLLOW")), "O_RDWR|O_CREAT|O_EXCL|O_NOFOLLOW");
        assert_eq!(mode(number("O_WRONLY|O_SYNC")), "O_WRONLY|O_SYNC");
        assert_eq!(mode(number("O_WRONLY|O_DSYNC")), "O_WRONLY|O_DSYNC");
        assert_eq!(failing_mode(number("O_RDONLY|O_DIRECTORY|O_CLOEXEC")), "O_RDONLY|O_DIRECTORY");
        assert_eq!(failing_mode(number("O_RDONLY")), "r");
    }
}
