//! System calls as a recorder or a parser gives them: descriptors are numbers, names may be relative.

use std::borrow::Cow;

use crate::call::Op;

/// The directory from which a relative name counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The working directory.
    Here,
    /// The directory behind a descriptor.
    Descriptor(i32),
}

/// A name as the application gave it.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// From where it counts.
    pub from: From,
    /// Its bytes, without escapes.
    pub name: &'a [u8],
}

/// What `stat` told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// `st_mode`, with the type.
    pub mode: u32,
    /// `st_size`.
    pub size: u64,
}

/// What a call changes of a file besides its content and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeChange {
    /// Its permissions, to these.
    Permissions(u32),
    /// Its owner, or its group.
    Owner,
    /// Its times of access and of change.
    Times,
}

impl AttributeChange {
    /// What the model calls it.
    pub fn op(self) -> Op {
        match self {
            Self::Permissions(_) => Op::Chmod,
            Self::Owner => Op::Chown,
            Self::Times => Op::Utimes,
        }
    }
}

/// What a system call was asked to do.
#[allow(missing_docs, reason = "fields are named after the arguments in the manual pages")]
#[derive(Clone, Debug)]
pub enum Asked<'a> {
    /// `open` and its kin; flags by the numbers of x86-64. `less`: it has flags that a program cannot give.
    Open { path: Given<'a>, flags: u32, permissions: u32, less: bool },
    /// `close`
    Close { descriptor: i32 },
    /// `close_range`; `on_exec`: at the next `execve`. `unshares`: of this thread alone.
    CloseRange { first: u32, last: u32, on_exec: bool, unshares: bool },
    /// `read` and its kin; `offset` where the call names one. `less`: it has flags that a program cannot give.
    Read { descriptor: i32, offset: Option<u64>, less: bool },
    /// `write` and its kin.
    Write { descriptor: i32, offset: Option<u64>, less: bool },
    /// `sendfile`, `copy_file_range`, `splice`; `offsets` in both where the call names them.
    Copy { from: i32, to: i32, offsets: (Option<u64>, Option<u64>) },
    /// `ioctl(FICLONE)` and `FICLONERANGE`: what lies in one file lies in another as well; `offsets` in both. The
    /// length may have to be found out: without it, what `fstat` told last of the file counts.
    Clone { from: i32, to: i32, offsets: (u64, u64), length: Option<u64> },
    /// `lseek`
    Seek { descriptor: i32 },
    /// `fsync`, `fdatasync`
    Sync { descriptor: i32, data_only: bool },
    /// `ftruncate`
    Truncate { descriptor: i32, length: u64 },
    /// `truncate` by name.
    TruncateName { path: Given<'a>, length: u64 },
    /// `fallocate`; `mode` by the numbers of Linux.
    Allocate { descriptor: i32, offset: u64, length: u64, mode: u32 },
    /// `dup` and its kin; the result is the new number.
    Duplicate { descriptor: i32, close_on_exec: bool },
    /// `fcntl(F_SETFD)`
    CloseOnExec { descriptor: i32, on: bool },
    /// `stat` by name.
    Stat { path: Given<'a>, follow: bool, found: Option<Attributes> },
    /// `fstat`
    StatOpen { descriptor: i32, found: Option<Attributes> },
    /// `access` and its kin.
    Lookup { path: Given<'a> },
    /// `unlink`
    Unlink { path: Given<'a> },
    /// `rmdir`
    Rmdir { path: Given<'a> },
    /// `mkdir`
    Mkdir { path: Given<'a>, permissions: u32 },
    /// `getdents64`
    Readdir { descriptor: i32 },
    /// `rename`; `new`: it fails where something has the new name (`RENAME_NOREPLACE`).
    Rename { from: Given<'a>, to: Given<'a>, new: bool },
    /// `renameat2(RENAME_EXCHANGE)`
    Exchange { from: Given<'a>, to: Given<'a> },
    /// `link`
    Link { from: Given<'a>, to: Given<'a> },
    /// `linkat` of what is open.
    LinkOpen { descriptor: i32, to: Given<'a> },
    /// `symlink`
    Symlink { target: &'a [u8], path: Given<'a> },
    /// `readlink`; what it gave.
    Readlink { path: Given<'a>, target: Option<&'a [u8]> },
    /// `chmod`, `chown`, `utimensat` and their kin; `follow`: of what a symbolic link leads to.
    Change { path: Given<'a>, follow: bool, change: AttributeChange },
    /// `fchmod`, `fchown`, `futimens`
    ChangeOpen { descriptor: i32, change: AttributeChange },
    /// `setxattr`, `removexattr` and their kin; by a name or a descriptor, with the size of the value that is set.
    Extended { path: Option<Given<'a>>, descriptor: i32, follow: bool, key: &'a [u8], size: Option<u64> },
    /// `mmap` of a file.
    Map { descriptor: i32, length: u64, shared_write: bool },
    /// `chdir`
    Chdir { path: Given<'a> },
    /// `fchdir`
    ChdirOpen { descriptor: i32 },
    /// `getcwd`; what it gave.
    WorkingDirectory { path: &'a [u8] },
    /// `fork`, `clone`; the result is the child.
    Spawn { shares_memory: bool, shares_descriptors: bool, shares_directory: bool },
    /// `execve`
    Exec { path: &'a [u8] },
    /// The thread ended.
    Exit,
    /// `wait4` and its kin; the result is the child.
    Wait,
    /// `pipe`: the ends.
    Pipe { read: i32, write: i32 },
    /// `bind` of a socket to a name.
    Bind { path: Given<'a> },
    /// A transfer that was submitted, and completes later; `depth`: how many are in flight with it.
    Submit { descriptor: i32, writes: bool, offset: u64, depth: u32 },
    /// `socket`, `accept`: the result is the new number.
    Socket,
    /// `socketpair`: the ends.
    SocketPair { one: i32, other: i32 },
    /// A call, or `count` of them, that no program repeats: what it is called, what it is about, whether files are others
    /// afterwards, and the bytes that it moves or changes, where known.
    Unrepeated { what: Cow<'static, str>, place: Concerns<'a>, changes: bool, count: u64, bytes: u64 },
    /// A call of which the trace does not tell what came of it; `reads`: it may have read what a file holds.
    Lost { what: Cow<'static, str>, place: Concerns<'a>, changes: bool, reads: bool },
}

/// What a call that no program repeats is about.
#[derive(Clone, Copy, Debug)]
pub enum Concerns<'a> {
    /// That is not known.
    Unknown,
    /// An open file.
    File(i32),
    /// A name.
    Name(Given<'a>),
    /// Two names.
    Names(Given<'a>, Given<'a>),
}

/// One system call.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    /// The thread's number in the traced system.
    pub thread: u32,
    /// When it began, in nanoseconds.
    pub start: u64,
    /// How long it took, in nanoseconds.
    pub duration: u64,
    /// What it gave; -1 where it failed.
    pub result: i64,
    /// The errno with which it failed, 0 where it succeeded.
    pub errno: u16,
    /// Where its descriptor results lead, if the trace says so (`strace -y`).
    pub leads_to: Option<&'a [u8]>,
    /// What it was asked to do.
    pub asked: Asked<'a>,
}

impl Asked<'_> {
    /// Whether a name that was given is empty: that is no file, and no call on one.
    pub fn has_an_empty_name(&self) -> bool {
        let names = match self {
            Self::Open { path, .. }
            | Self::TruncateName { path, .. }
            | Self::Stat { path, .. }
            | Self::Lookup { path }
            | Self::Unlink { path }
            | Self::Rmdir { path }
            | Self::Mkdir { path, .. }
            | Self::Symlink { path, .. }
            | Self::Readlink { path, .. }
            | Self::Change { path, .. } => [path, path],
            Self::Rename { from, to, .. } | Self::Exchange { from, to } | Self::Link { from, to } => {
                [from, to]
            }
            _ => return false,
        };
        names.iter().any(|given| given.name.is_empty())
    }
}
