//! Numbers of system calls.

pub use of_processor::*;

#[cfg(target_arch = "x86_64")]
mod of_processor {
    use core::ffi::c_long;

    pub const CLOSE: c_long = 3;
    pub const MMAP: c_long = 9;
    pub const MPROTECT: c_long = 10;
    pub const MUNMAP: c_long = 11;
    pub const MADVISE: c_long = 28;
    pub const READ: c_long = 0;
    pub const GETPID: c_long = 39;
    pub const GETPPID: c_long = 110;
    pub const GETTID: c_long = 186;
    pub const FTRUNCATE: c_long = 77;
    pub const FSTATFS: c_long = 138;
    pub const OPENAT: c_long = 257;
    pub const GETDENTS64: c_long = 217;
    pub const GETCWD: c_long = 79;
    pub const NEWFSTATAT: c_long = 262;
    pub const READLINKAT: c_long = 267;
    // These are recorded.
    pub const SETXATTR: i64 = 188;
    pub const LSETXATTR: i64 = 189;
    pub const FSETXATTR: i64 = 190;
    pub const REMOVEXATTR: i64 = 197;
    pub const LREMOVEXATTR: i64 = 198;
    pub const FREMOVEXATTR: i64 = 199;
    pub const MKNODAT: i64 = 259;
    pub const SYNCFS: i64 = 306;
    pub const SYNC_FILE_RANGE: i64 = 277;
}

#[cfg(target_arch = "aarch64")]
mod of_processor {
    use core::ffi::c_long;

    pub const CLOSE: c_long = 57;
    pub const MMAP: c_long = 222;
    pub const MPROTECT: c_long = 226;
    pub const MUNMAP: c_long = 215;
    pub const MADVISE: c_long = 233;
    pub const READ: c_long = 63;
    pub const GETPID: c_long = 172;
    pub const GETPPID: c_long = 173;
    pub const GETTID: c_long = 178;
    pub const FTRUNCATE: c_long = 46;
    pub const FSTATFS: c_long = 44;
    pub const OPENAT: c_long = 56;
    pub const GETDENTS64: c_long = 61;
    pub const GETCWD: c_long = 17;
    pub const NEWFSTATAT: c_long = 79;
    pub const READLINKAT: c_long = 78;
    // These are recorded.
    pub const SETXATTR: i64 = 5;
    pub const LSETXATTR: i64 = 6;
    pub const FSETXATTR: i64 = 7;
    pub const REMOVEXATTR: i64 = 14;
    pub const LREMOVEXATTR: i64 = 15;
    pub const FREMOVEXATTR: i64 = 16;
    pub const MKNODAT: i64 = 33;
    pub const SYNCFS: i64 = 267;
    pub const SYNC_FILE_RANGE: i64 = 84;
}
