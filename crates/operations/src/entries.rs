//! The system calls by which one asks for operations: names, numbers, and what each argument is.

use crate::flags::{ALLOCATE, AT, CLOSE_RANGE, DUP, FlagSet, LINK, OPEN, RENAME, TRANSFER, UNLINK};
use crate::rows::Operation;

/// What an argument is, by its position from 0.
#[derive(Clone, Copy, Debug)]
pub enum At {
    /// A descriptor.
    File(u8),
    /// The descriptor of a second file.
    OtherFile(u8),
    /// A name that counts from the working directory.
    Here(u8),
    /// The descriptor of a directory, and behind it a name that counts from there.
    Below(u8),
    /// The text of a symbolic link, or what an attribute is called.
    Text(u8),
    /// A number of bytes, a length, or the argument of a request.
    Length(u8),
    /// An offset.
    Offset(u8),
    /// An offset, or -1: where the position of the file is.
    OffsetOrHere(u8),
    /// The address of an offset, or 0: where the position of the file is.
    Pointed(u8),
    /// The address of what the call gives.
    Memory(u8),
    /// Permissions, or a request.
    Mode(u8),
    /// Flags.
    Flags(u8, FlagSet),
    /// Flags that the call has without an argument.
    Fixed(u32),
}

/// Whether the complete recorder stops at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stops {
    /// At each one.
    Always,
    /// Where it is about a file, and not memory alone.
    IfFile,
    /// At some requests.
    IfRequest,
    /// At none: it changes nothing, or is told otherwise.
    Never,
}

/// A system call.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Further names, of 32 bits and of older systems.
    pub older: &'static [&'static str],
    /// Its number on x86-64.
    pub x86: u16,
    /// Its number on ARM64.
    pub arm: u16,
    /// What it asks for.
    pub operation: Operation,
    /// What its arguments are.
    pub at: &'static [At],
    /// Flags that make another operation of it, the first that is there.
    pub selects: &'static [(u32, Operation)],
    /// Whether the complete recorder stops there.
    pub stops: Stops,
}

/// The number of a call that a processor does not have.
pub const NO_NUMBER: u16 = u16::MAX;

impl Entry {
    /// Its number on the processor for which this was compiled.
    pub const fn number(&self) -> u16 {
        if cfg!(target_arch = "aarch64") { self.arm } else { self.x86 }
    }
}

/// The entry of a name.
pub fn by_name(name: &[u8]) -> Option<&'static Entry> {
    let is_named = |entry: &&Entry| {
        entry.name.as_bytes() == name || entry.older.iter().any(|older| older.as_bytes() == name)
    };
    ENTRIES.iter().find(is_named)
}

/// The entry of a number on the processor for which this was compiled.
pub fn by_number(number: u64) -> Option<&'static Entry> {
    let at = usize::try_from(number).ok().and_then(|number| PLACES.get(number))?;
    ENTRIES.get(usize::from(*at))
}

/// Numbers of calls are below this.
const NUMBERS: usize = 512;

/// Where the entry of each number stands: the recorder asks at each stop.
static PLACES: [u8; NUMBERS] = {
    assert!(ENTRIES.len() < 256);
    let (mut places, mut at) = ([u8::MAX; NUMBERS], 0);
    while at < ENTRIES.len() {
        let number = ENTRIES[at].number();
        if number != NO_NUMBER {
            places[number as usize] = at as u8;
        }
        at += 1;
    }
    places
};

macro_rules! entries {
    ($($name:literal [$($older:literal),*] $x86:tt $arm:tt $operation:ident [$($at:expr),*] $({$($flags:literal $other:ident),*})? $($stops:ident)?;)*) => {
        /// All of them.
        pub const ENTRIES: &[Entry] = {
            use At::*;
            &[$(Entry {
                name: $name,
                older: &[$($older),*],
                x86: entries!(# $x86),
                arm: entries!(# $arm),
                operation: Operation::$operation,
                at: &[$($at),*],
                selects: &[$($(($flags, Operation::$other)),*)?],
                stops: entries!(! $($stops)?),
            },)*]
        };
    };
    (# -) => { NO_NUMBER };
    (# $number:literal) => { $number };
    (! $stops:ident) => { Stops::$stops };
    (!) => { Stops::Always };
}

entries! {
    "openat" [] 257 56 Open [Below(0), Flags(2, OPEN), Mode(3)];
    "openat2" [] 437 437 Open [Below(0), Flags(2, OPEN), Mode(3)];
    "open" [] 2 - Open [Here(0), Flags(1, OPEN), Mode(2)];
    "creat" [] 85 - Open [Here(0), Fixed(0o1101), Mode(1)];
    "open_by_handle_at" [] 304 265 OpenHandle [];
    "close" [] 3 57 Close [File(0)];
    "close_range" [] 436 436 CloseRange [Length(0), Offset(1), Flags(2, CLOSE_RANGE)] {4 CloseRangeOnExec};
    "read" [] 0 63 Read [File(0)];
    "readv" [] 19 65 Read [File(0)];
    "pread64" ["pread"] 17 67 Read [File(0), Offset(3)];
    "preadv" [] 295 69 Read [File(0), Offset(3)];
    "preadv2" [] 327 286 Read [File(0), OffsetOrHere(3), Flags(5, TRANSFER)];
    "write" [] 1 64 Write [File(0)];
    "writev" [] 20 66 Write [File(0)];
    "pwrite64" ["pwrite"] 18 68 Write [File(0), Offset(3)];
    "pwritev" [] 296 70 Write [File(0), Offset(3)];
    "pwritev2" [] 328 287 Write [File(0), OffsetOrHere(3), Flags(5, TRANSFER)];
    "sendfile" ["sendfile64"] 40 71 Copy [OtherFile(0), File(1), Pointed(2), Length(3)];
    "copy_file_range" [] 326 285 Copy [File(0), Pointed(1), OtherFile(2), Pointed(3), Length(4)];
    "splice" [] 275 76 Copy [File(0), Pointed(1), OtherFile(2), Pointed(3), Length(4)];
    "ioctl" [] 16 29 Control [File(0), Mode(1)] IfRequest;
    "lseek" ["_llseek", "llseek"] 8 62 Seek [File(0)];
    "fsync" [] 74 82 Sync [File(0)];
    "fdatasync" [] 75 83 DataSync [File(0)];
    "sync_file_range" ["sync_file_range2", "arm_sync_file_range"] 277 84 SyncRange [File(0), Length(2)];
    "syncfs" [] 306 267 SyncAll [File(0)];
    "sync" [] 162 81 SyncAll [];
    "ftruncate" ["ftruncate64"] 77 46 Truncate [File(0), Length(1)];
    "truncate" ["truncate64"] 76 45 TruncateName [Here(0), Length(1)];
    "fallocate" [] 285 47 Allocate [File(0), Flags(1, ALLOCATE), Offset(2), Length(3)] {2 Punch, 8 Collapse, 0x10 Zero, 0x20 Insert, 0x40 Unshare, 1 Reserve};
    "dup" [] 32 23 Duplicate [File(0)];
    "dup2" [] 33 - Duplicate [File(0)];
    "dup3" [] 292 24 Duplicate [File(0), Flags(2, DUP)] {0o2_000_000 DuplicateOnExec};
    "fcntl" ["fcntl64"] 72 25 Descriptor [File(0), Mode(1), Length(2)];
    "newfstatat" ["fstatat64", "fstatat"] 262 79 Stat [Below(0), Memory(2), Flags(3, AT)];
    "statx" [] 332 291 Stat [Below(0), Flags(2, AT), Memory(4)];
    "stat" ["stat64", "oldstat"] 4 - Stat [Here(0), Memory(1)];
    "lstat" ["lstat64", "oldlstat"] 6 - Stat [Here(0), Memory(1), Fixed(0x100)];
    "fstat" ["fstat64", "oldfstat"] 5 80 StatOpen [File(0), Memory(1)];
    "faccessat" [] 269 48 Lookup [Below(0)];
    "faccessat2" [] 439 439 Lookup [Below(0), Flags(3, AT)];
    "access" [] 21 - Lookup [Here(0)];
    "unlinkat" [] 263 35 Unlink [Below(0), Flags(2, UNLINK)] {0x200 Rmdir};
    "unlink" [] 87 - Unlink [Here(0)];
    "rmdir" [] 84 - Rmdir [Here(0)];
    "mkdirat" [] 258 34 Mkdir [Below(0), Mode(2)];
    "mkdir" [] 83 - Mkdir [Here(0), Mode(1)];
    "mknodat" [] 259 33 MakeNode [Below(0), Mode(2)];
    "mknod" [] 133 - MakeNode [Here(0), Mode(1)];
    "getdents64" [] 217 61 Readdir [File(0)];
    "getdents" [] 78 - Readdir [File(0)];
    "renameat2" [] 316 276 Rename [Below(0), Below(2), Flags(4, RENAME)] {1 RenameNew, 2 Exchange};
    "renameat" [] 264 38 Rename [Below(0), Below(2)];
    "rename" [] 82 - Rename [Here(0), Here(1)];
    "linkat" [] 265 37 Link [Below(0), Below(2), Flags(4, LINK)] {0x1000 LinkOpen};
    "link" [] 86 - Link [Here(0), Here(1)];
    "symlinkat" [] 266 36 Symlink [Below(1), Text(0)];
    "symlink" [] 88 - Symlink [Here(1), Text(0)];
    "readlinkat" [] 267 78 Readlink [Below(0), Memory(2)];
    "readlink" [] 89 - Readlink [Here(0), Memory(1)];
    "fchmodat" [] 268 53 Chmod [Below(0), Mode(2)];
    "fchmodat2" [] 452 452 Chmod [Below(0), Mode(2), Flags(3, AT)];
    "chmod" [] 90 - Chmod [Here(0), Mode(1)];
    "fchmod" [] 91 52 ChmodOpen [File(0), Mode(1)];
    "fchownat" [] 260 54 Chown [Below(0), Flags(4, AT)];
    "chown" ["chown32"] 92 - Chown [Here(0)];
    "lchown" ["lchown32"] 94 - Chown [Here(0), Fixed(0x100)];
    "fchown" ["fchown32"] 93 55 ChownOpen [File(0)];
    "utimensat" ["utimensat_time64"] 280 88 Utimes [Below(0), Flags(3, AT)];
    "futimesat" [] 261 - Utimes [Below(0)];
    "utimes" [] 235 - Utimes [Here(0)];
    "utime" [] 132 - Utimes [Here(0)];
    "setxattr" [] 188 5 SetAttribute [Here(0), Text(1), Length(3)];
    "lsetxattr" [] 189 6 SetAttribute [Here(0), Text(1), Length(3), Fixed(0x100)];
    "fsetxattr" [] 190 7 SetAttributeOpen [File(0), Text(1), Length(3)];
    "removexattr" [] 197 14 RemoveAttribute [Here(0), Text(1)];
    "lremovexattr" [] 198 15 RemoveAttribute [Here(0), Text(1), Fixed(0x100)];
    "fremovexattr" [] 199 16 RemoveAttributeOpen [File(0), Text(1)];
    "getxattr" [] 191 8 GetAttribute [Here(0)] Never;
    "lgetxattr" [] 192 9 GetAttribute [Here(0)] Never;
    "fgetxattr" [] 193 10 GetAttributeOpen [File(0)] Never;
    "listxattr" [] 194 11 GetAttribute [Here(0)] Never;
    "llistxattr" [] 195 12 GetAttribute [Here(0)] Never;
    "flistxattr" [] 196 13 GetAttributeOpen [File(0)] Never;
    "mmap" ["mmap2", "old_mmap"] 9 222 Map [File(4), Length(1)] IfFile;
    "chdir" [] 80 49 Chdir [Here(0)];
    "fchdir" [] 81 50 ChdirOpen [File(0)];
    "getcwd" [] 79 17 WorkingDirectory [Here(0)] Never;
    "clone" ["clone2"] 56 220 Spawn [] Never;
    "clone3" [] 435 435 Spawn [] Never;
    "fork" [] 57 - Spawn [] Never;
    "vfork" [] 58 - Spawn [] Never;
    "execve" [] 59 221 Exec [Here(0)];
    "execveat" [] 322 281 Exec [Below(0)];
    "wait4" ["waitpid"] 61 260 Wait [];
    "waitid" [] 247 95 Wait [];
    "pipe2" [] 293 59 Pipe [Memory(0)];
    "pipe" [] 22 - Pipe [Memory(0)];
    "socket" [] 41 198 Socket [];
    "accept" [] 43 202 Socket [];
    "accept4" [] 288 242 Socket [];
    "eventfd2" [] 290 19 Socket [];
    "eventfd" [] 284 - Socket [];
    "timerfd_create" [] 283 85 Socket [];
    "signalfd4" ["signalfd"] 289 74 Socket [];
    "inotify_init1" ["inotify_init"] 294 26 Socket [];
    "memfd_create" [] 319 279 Socket [];
    "socketpair" [] 53 199 SocketPair [Memory(3)];
    "bind" [] 49 200 Bind [File(0)];
    "io_uring_setup" [] 425 425 RingSetup [];
    "io_uring_enter" [] 426 426 RingEnter [File(0), Length(1)];
    "io_submit" [] 209 2 Submit [Length(1)];
    "io_getevents" [] 208 4 Reap [];
    "io_pgetevents" ["io_pgetevents_time64"] 333 292 Reap [];
}
