//! Flags of calls: their words, their numbers, and what a program makes of them.

/// The processor by whose numbers a call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// x86-64; also of all words.
    X86,
    /// ARM64, where some flags of `open` have other numbers.
    Arm,
}

impl Processor {
    /// The one for which this was compiled.
    pub const HERE: Self = if cfg!(target_arch = "aarch64") { Self::Arm } else { Self::X86 };
}

/// What becomes of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// It is repeated, or makes another operation of the call.
    Repeated,
    /// It makes no difference to files.
    NoMatter,
    /// A program cannot give it, and does nearly the same without it.
    Less,
    /// No program does what a call does that has it.
    Beyond,
}

/// One flag.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Its word.
    pub word: &'static str,
    /// Its bits on x86-64.
    pub x86: u32,
    /// Its bits on ARM64.
    pub arm: u32,
    /// What becomes of it.
    pub of: Of,
}

/// The flags of one call that are understood. Those of several bits stand before their parts.
#[derive(Clone, Copy, Debug)]
pub struct FlagSet(pub &'static [Flag]);

impl FlagSet {
    /// The bits of all flags of which that becomes, as on x86-64.
    pub fn bits(&self, what: impl Fn(Of) -> bool) -> u32 {
        self.0.iter().filter(|flag| what(flag.of)).fold(0, |all, flag| all | flag.x86)
    }

    /// Flags of a processor as those of x86-64.
    pub fn of_processor(&self, flags: u32, processor: Processor) -> u32 {
        if processor == Processor::X86 || self.0.iter().all(|flag| flag.x86 == flag.arm) {
            return flags;
        }
        let (mut left, mut out) = (flags, 0);
        for flag in self.0.iter().filter(|flag| flags & flag.arm == flag.arm) {
            left &= !flag.arm;
            out |= flag.x86;
        }
        // What is not understood must not become what is.
        out | left & !self.bits(|_| true) | if left & self.bits(|_| true) == 0 { 0 } else { UNKNOWN }
    }

    /// The number of words and numbers that bars join: `O_RDWR|O_CREAT`, `0x42`, `MODE|0x10`. A word that is not known
    /// counts as a flag that is not understood.
    pub fn number(&self, words: &str) -> u32 {
        let one = |word: &str| match self.0.iter().find(|flag| flag.word == word) {
            Some(flag) => flag.x86,
            None => number(word).unwrap_or(UNKNOWN),
        };
        words.split('|').map(str::trim).filter(|word| !word.is_empty()).fold(0, |all, word| all | one(word))
    }

    /// The words of the flags in `bits`, each given to `to`; what has no word counts as `others`.
    pub fn words(&self, bits: u32, mut to: impl FnMut(&'static str)) -> u32 {
        let mut left = bits;
        for flag in self.0.iter().filter(|flag| flag.x86 != 0) {
            if left & flag.x86 == flag.x86 {
                to(flag.word);
                left &= !flag.x86;
            }
        }
        left
    }
}

/// A bit that no call of Linux has: a word that is not known.
pub const UNKNOWN: u32 = 1 << 31;

/// A whole number as strace writes it.
fn number(word: &str) -> Option<u32> {
    // A comment says what it might mean: `0x20 /* O_??? */`.
    let word = word.split(' ').next().unwrap_or(word);
    let (digits, base) = match word.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if word.len() > 1 && word.starts_with('0') => (word, 8),
        None => (word, 10),
    };
    u64::from_str_radix(digits, base).ok().map(|number| number as u32)
}

macro_rules! flags {
    ($($(#[$doc:meta])* $set:ident { $($word:ident $x86:literal $($arm:literal)? $of:ident,)* })*) => {
        $($(#[$doc])* pub const $set: FlagSet = FlagSet(&[$(Flag {
            word: stringify!($word),
            x86: $x86,
            arm: flags!(@ $x86 $($arm)?),
            of: Of::$of,
        },)*]);)*
    };
    (@ $x86:literal $arm:literal) => { $arm };
    (@ $x86:literal) => { $x86 };
}

flags! {
    /// `open`; the access mode lies in the two lowest bits.
    OPEN {
        O_TMPFILE 0o20_200_000 0o20_040_000 Repeated,
        O_SYNC 0o4_010_000 Repeated,
        O_RDONLY 0 Repeated,
        O_WRONLY 1 Repeated,
        O_RDWR 2 Repeated,
        O_CREAT 0o100 Repeated,
        O_EXCL 0o200 Repeated,
        O_NOCTTY 0o400 NoMatter,
        O_TRUNC 0o1000 Repeated,
        O_APPEND 0o2000 Repeated,
        O_NONBLOCK 0o4000 NoMatter,
        O_DSYNC 0o10_000 Repeated,
        FASYNC 0o20_000 NoMatter,
        O_DIRECT 0o40_000 0o200_000 Repeated,
        O_LARGEFILE 0o100_000 0o400_000 NoMatter,
        O_DIRECTORY 0o200_000 0o40_000 Repeated,
        O_NOFOLLOW 0o400_000 0o100_000 Repeated,
        O_NOATIME 0o1_000_000 NoMatter,
        O_CLOEXEC 0o2_000_000 Repeated,
        O_PATH 0o10_000_000 Repeated,
    }
    /// `preadv2` and `pwritev2`.
    TRANSFER {
        RWF_HIPRI 1 NoMatter,
        RWF_DSYNC 2 Less,
        RWF_SYNC 4 Less,
        RWF_NOWAIT 8 NoMatter,
        RWF_APPEND 0x10 Beyond,
        RWF_NOAPPEND 0x20 Beyond,
        RWF_ATOMIC 0x40 Beyond,
        RWF_DONTCACHE 0x80 Less,
    }
    /// `fallocate`.
    ALLOCATE {
        FALLOC_FL_KEEP_SIZE 1 Repeated,
        FALLOC_FL_PUNCH_HOLE 2 Repeated,
        FALLOC_FL_COLLAPSE_RANGE 8 Repeated,
        FALLOC_FL_ZERO_RANGE 0x10 Repeated,
        FALLOC_FL_INSERT_RANGE 0x20 Repeated,
        FALLOC_FL_UNSHARE_RANGE 0x40 Repeated,
    }
    /// `renameat2`.
    RENAME {
        RENAME_NOREPLACE 1 Repeated,
        RENAME_EXCHANGE 2 Repeated,
        RENAME_WHITEOUT 4 Beyond,
    }
    /// `linkat`.
    LINK {
        AT_SYMLINK_FOLLOW 0x400 NoMatter,
        AT_EMPTY_PATH 0x1000 Repeated,
    }
    /// `close_range`.
    CLOSE_RANGE {
        CLOSE_RANGE_UNSHARE 2 Repeated,
        CLOSE_RANGE_CLOEXEC 4 Repeated,
    }
    /// `unlinkat`.
    UNLINK {
        AT_REMOVEDIR 0x200 Repeated,
    }
    /// Calls that may mean a link itself, or an open file.
    AT {
        AT_SYMLINK_NOFOLLOW 0x100 Repeated,
        AT_NO_AUTOMOUNT 0x800 NoMatter,
        AT_EMPTY_PATH 0x1000 NoMatter,
        AT_STATX_SYNC_AS_STAT 0 NoMatter,
        AT_STATX_FORCE_SYNC 0x2000 NoMatter,
        AT_STATX_DONT_SYNC 0x4000 NoMatter,
        AT_EACCESS 0x200 NoMatter,
    }
    /// `dup3`.
    DUP {
        O_CLOEXEC 0o2_000_000 Repeated,
    }
}
