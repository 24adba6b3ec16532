//! Open files, and what can be handed to a driver without waiting for it.

use std::ffi::CStr;

/// An open file, by the number that its driver gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub u64);

/// One operation: a call, or open, transfer and close one after another.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the fields are the arguments of the calls named
pub enum Submission<'a> {
    /// `pwrite`.
    Write { file: Handle, from: *const u8, length: u64, offset: u64 },
    /// `pread`.
    Read { file: Handle, into: *mut u8, length: u64, offset: u64 },
    /// `fsync`, or `fdatasync`.
    Sync { file: Handle, data_only: bool },
    /// `fallocate`.
    Allocate { file: Handle, offset: u64, length: u64, mode: i32 },
    /// Open, write, close.
    WriteFile { path: &'a CStr, flags: i32, from: *const u8, length: u64, offset: u64 },
    /// Open, read, close. Fewer bytes than `expected` are a short read. `straight`: ELOOP where a link is on the way or at
    /// the end.
    ReadFile {
        path: &'a CStr,
        flags: i32,
        straight: bool,
        into: *mut u8,
        length: u64,
        offset: u64,
        expected: u64,
    },
    /// Open to create, close.
    Create { path: &'a CStr, flags: i32 },
    /// `stat`; the value is the size.
    Stat { path: &'a CStr },
    /// `unlink`, or `rmdir` of what turns out to be a directory.
    Delete { path: &'a CStr },
    /// `unlink`.
    Unlink { path: &'a CStr },
    /// `rmdir`.
    RemoveDirectory { path: &'a CStr },
    /// `mkdir`.
    MakeDirectory { path: &'a CStr, mode: u32 },
}
