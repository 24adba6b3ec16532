//! The system calls that are recorded, and what each asks for.

use trace::event::{Asked, AttributeChange, Attributes, From, Given};

use crate::memory::{string, value};

/// The kind of a system call, with the positions of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Open,
    OpenAt,
    OpenAt2,
    Creat,
    Close,
    CloseRange,
    Read,
    ReadAt,
    Write,
    WriteAt,
    SendFile,
    CopyRange,
    Seek,
    Sync,
    DataSync,
    Truncate,
    Allocate,
    Dup,
    Dup2,
    Dup3,
    Fcntl,
    Stat,
    Lstat,
    Fstat,
    StatAt,
    Statx,
    Access,
    AccessAt,
    Unlink,
    UnlinkAt,
    Rmdir,
    Mkdir,
    MkdirAt,
    Readdir,
    Rename,
    RenameAt,
    Link,
    LinkAt,
    Symlink,
    SymlinkAt,
    Readlink,
    ReadlinkAt,
    Chmod,
    ChmodAt,
    ChmodAt2,
    ChmodOpen,
    Map,
    Clone,
    Exec,
    Chdir,
    ChdirOpen,
    Pipe,
    Socket,
    SocketPair,
    Wait,
    WaitId,
    RingSetup,
    Rings,
    Submit,
    Reap,
    Bind,
    TruncateName,
    Chown,
    Lchown,
    ChownAt,
    ChownOpen,
    Utimes,
    UtimesAt,
    FutimesAt,
}

/// Calls in which a thread sleeps for as long as it asks. They are not recorded, but the recorder is told of them: such a
/// thread does not wait for others.
pub const SLEEPS: [libc::c_long; 2] = [libc::SYS_nanosleep, libc::SYS_clock_nanosleep];

/// Calls by which a thread works with processors. They are not recorded.
pub const PROCESSORS: [libc::c_long; 2] = [libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity];

/// Calls in which a thread sleeps so if it waits for no descriptor.
#[cfg(target_arch = "x86_64")]
pub const SELECTS: &[libc::c_long] = &[libc::SYS_select, libc::SYS_pselect6];
#[cfg(not(target_arch = "x86_64"))]
pub const SELECTS: &[libc::c_long] = &[libc::SYS_pselect6];

/// `FICLONE`, of a whole file, and `FICLONERANGE`: requests of `ioctl` by which files share what they hold.
const CLONE: u64 = 0x4004_9409;
const CLONE_RANGE: u64 = 0x4020_940d;
pub const CLONES: [u64; 2] = [CLONE, CLONE_RANGE];

macro_rules! listed {
    ($($number:ident $kind:ident,)* ; $($old:ident $old_kind:ident,)*) => {
        /// The recorded calls by number. The filter stops these, `mmap` of a file, and [`CLONES`].
        pub const LISTED: &[(libc::c_long, Kind)] = &[
            $((libc::$number, Kind::$kind),)*
            $(#[cfg(target_arch = "x86_64")] (libc::$old, Kind::$old_kind),)*
        ];
    };
}

listed! {
    SYS_openat OpenAt, SYS_openat2 OpenAt2, SYS_close Close, SYS_close_range CloseRange, SYS_read Read,
    SYS_readv Read, SYS_pread64 ReadAt, SYS_preadv ReadAt, SYS_preadv2 ReadAt, SYS_write Write, SYS_writev Write,
    SYS_pwrite64 WriteAt, SYS_pwritev WriteAt, SYS_pwritev2 WriteAt, SYS_sendfile SendFile,
    SYS_copy_file_range CopyRange, SYS_splice CopyRange, SYS_lseek Seek, SYS_fsync Sync, SYS_fdatasync DataSync,
    SYS_ftruncate Truncate, SYS_fallocate Allocate, SYS_dup Dup, SYS_dup3 Dup3, SYS_fcntl Fcntl, SYS_fstat Fstat,
    SYS_newfstatat StatAt, SYS_statx Statx, SYS_faccessat AccessAt, SYS_faccessat2 AccessAt, SYS_unlinkat UnlinkAt,
    SYS_mkdirat MkdirAt, SYS_getdents64 Readdir, SYS_renameat RenameAt, SYS_renameat2 RenameAt, SYS_linkat LinkAt,
    SYS_symlinkat SymlinkAt, SYS_readlinkat ReadlinkAt, SYS_fchmodat ChmodAt, SYS_fchmod ChmodOpen,
    SYS_chdir Chdir, SYS_fchdir ChdirOpen, SYS_pipe2 Pipe, SYS_socket Socket, SYS_accept Socket, SYS_accept4 Socket,
    SYS_socketpair SocketPair, SYS_wait4 Wait, SYS_waitid WaitId, SYS_io_uring_setup RingSetup, SYS_io_uring_enter Rings, SYS_io_submit Submit, SYS_io_getevents Reap, SYS_bind Bind,
    SYS_execve Exec, SYS_execveat Exec, SYS_truncate TruncateName, SYS_fchownat ChownAt, SYS_fchown ChownOpen,
    SYS_utimensat UtimesAt, SYS_fchmodat2 ChmodAt2,
    ;
    SYS_open Open, SYS_creat Creat, SYS_dup2 Dup2, SYS_stat Stat, SYS_lstat Lstat, SYS_access Access,
    SYS_unlink Unlink, SYS_rmdir Rmdir, SYS_mkdir Mkdir, SYS_getdents Readdir, SYS_rename Rename, SYS_link Link,
    SYS_symlink Symlink, SYS_readlink Readlink, SYS_chmod Chmod, SYS_pipe Pipe, SYS_chown Chown, SYS_lchown Lchown,
    SYS_utime Utimes, SYS_utimes Utimes, SYS_futimesat FutimesAt,
}

/// The kind of a call that stopped.
pub fn kind(number: u64) -> Option<Kind> {
    if number == libc::SYS_mmap as u64 {
        return Some(Kind::Map);
    }
    if number == libc::SYS_ioctl as u64 {
        return Some(Kind::Clone);
    }
    LISTED.iter().find(|(known, _)| *known as u64 == number).map(|(_, kind)| *kind)
}

/// A call that began.
#[derive(Clone, Debug)]
pub struct Begun {
    pub kind: Kind,
    pub arguments: [u64; 6],
    /// Its first and its second name, read when it began.
    pub one: Vec<u8>,
    pub two: Vec<u8>,
    /// When, in nanoseconds since the recording began.
    pub start: u64,
    /// For how long its thread had been held by the recorder until then, in nanoseconds.
    pub held: u64,
    /// Numbers in memory: `open_how` of `openat2`.
    pub how: [u64; 3],
    /// What `io_submit` submits.
    pub submitted: Vec<Submitted>,
}

/// A transfer that `io_submit` submits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    pub descriptor: i32,
    pub writes: bool,
    pub bytes: u64,
    pub offset: u64,
}

/// Most transfers of one `io_submit` that are read.
const MOST_SUBMITTED: u64 = 4096;

/// The transfers of an `io_submit`; `None` in place of what is no transfer (struct iocb of linux/aio_abi.h).
fn submitted(thread: libc::pid_t, count: u64, pointers: u64) -> Vec<Submitted> {
    const TRANSFERS: [(u16, bool, bool); 4] =
        [(0, false, false), (1, true, false), (7, false, true), (8, true, true)];
    let one = |at: u64| -> Option<Submitted> {
        let pointer: [u64; 1] = value(thread, pointers + at * 8)?;
        let control: [u64; 8] = value(thread, pointer[0])?;
        let (code, descriptor) = (control[2] as u16, (control[2] >> 32) as i32);
        let (_, writes, vector) = TRANSFERS.into_iter().find(|(known, ..)| *known == code)?;
        let bytes = if vector {
            let part = |at: u64| value::<[u64; 2]>(thread, control[3] + at * 16).map_or(0, |part| part[1]);
            (0..control[4].min(1024)).map(part).sum()
        } else {
            control[4]
        };
        Some(Submitted { descriptor, writes, bytes, offset: control[5] })
    };
    (0..count.min(MOST_SUBMITTED)).filter_map(one).collect()
}

/// The name to which `bind` binds a socket, if it is one of the file system.
fn bound(thread: libc::pid_t, address: u64, length: u64) -> Vec<u8> {
    let bytes = crate::memory::bytes(thread, address, usize::try_from(length.min(110)).unwrap_or(0));
    let is_local =
        bytes.first_chunk().is_some_and(|family| i32::from(u16::from_ne_bytes(*family)) == libc::AF_UNIX);
    let name = if is_local { bytes.get(2..).unwrap_or(&[]) } else { &[] };
    name.split(|byte| *byte == 0).next().unwrap_or(&[]).to_vec()
}

/// The positions of a name: the argument with the directory's descriptor, if there is one, and that with the name.
pub fn names(kind: Kind) -> [Option<(Option<usize>, usize)>; 2] {
    let here = |name| Some((None, name));
    let at = |base: usize| Some((Some(base), base + 1));
    match kind {
        Kind::Open
        | Kind::Creat
        | Kind::Stat
        | Kind::Lstat
        | Kind::Access
        | Kind::Unlink
        | Kind::Rmdir
        | Kind::Mkdir
        | Kind::Readlink
        | Kind::Chmod
        | Kind::Chown
        | Kind::Lchown
        | Kind::Utimes
        | Kind::TruncateName
        | Kind::Chdir => [here(0), None],
        Kind::OpenAt
        | Kind::OpenAt2
        | Kind::StatAt
        | Kind::Statx
        | Kind::AccessAt
        | Kind::UnlinkAt
        | Kind::MkdirAt
        | Kind::ReadlinkAt
        | Kind::ChmodAt
        | Kind::ChmodAt2
        | Kind::ChownAt
        | Kind::FutimesAt
        | Kind::UtimesAt => [at(0), None],
        Kind::Rename | Kind::Link => [here(0), here(1)],
        Kind::RenameAt | Kind::LinkAt => [at(0), at(2)],
        // The text of the link comes second.
        Kind::Symlink => [here(1), here(0)],
        Kind::SymlinkAt => [at(1), here(0)],
        Kind::Close
        | Kind::CloseRange
        | Kind::Read
        | Kind::ReadAt
        | Kind::Write
        | Kind::WriteAt
        | Kind::SendFile
        | Kind::CopyRange
        | Kind::Seek
        | Kind::Sync
        | Kind::DataSync
        | Kind::Truncate
        | Kind::Allocate
        | Kind::Dup
        | Kind::Dup2
        | Kind::Dup3
        | Kind::Fcntl
        | Kind::Fstat
        | Kind::Readdir
        | Kind::ChmodOpen
        | Kind::ChownOpen
        | Kind::Map
        | Kind::Clone
        | Kind::Exec
        | Kind::ChdirOpen
        | Kind::Pipe
        | Kind::Socket
        | Kind::SocketPair
        | Kind::Wait
        | Kind::WaitId
        | Kind::RingSetup
        | Kind::Rings
        | Kind::Submit
        | Kind::Reap
        | Kind::Bind => [None, None],
    }
}

/// The directory from which a relative name is resolved.
pub fn from(arguments: &[u64; 6], base: Option<usize>) -> From {
    match base.map(|base| arguments[base] as i32) {
        Some(number) if number != libc::AT_FDCWD => From::Descriptor(number),
        _ => From::Here,
    }
}

/// A call at its entry: names are read now, since the application may change its memory.
pub fn begun(thread: libc::pid_t, kind: Kind, arguments: [u64; 6], start: u64) -> Begun {
    let [one, two] = names(kind);
    let read = |at: Option<(Option<usize>, usize)>| at.map(|(_, name)| string(thread, arguments[name]));
    let how = match kind {
        Kind::OpenAt2 => value(thread, arguments[2]).unwrap_or_default(),
        _ => [0; 3],
    };
    let submitted = match kind {
        Kind::Submit => submitted(thread, arguments[1], arguments[2]),
        _ => Vec::new(),
    };
    let one = match kind {
        Kind::Bind => bound(thread, arguments[1], arguments[2]),
        _ => read(one).unwrap_or_default(),
    };
    Begun { kind, arguments, one, submitted, two: read(two).unwrap_or_default(), start, held: 0, how }
}

fn attributes(thread: libc::pid_t, address: u64, done: bool) -> Option<Attributes> {
    let found: libc::stat = done.then(|| value(thread, address)).flatten()?;
    Some(Attributes { mode: found.st_mode, size: found.st_size as u64 })
}

fn extended(thread: libc::pid_t, address: u64, done: bool) -> Option<Attributes> {
    let found: libc::statx = done.then(|| value(thread, address)).flatten()?;
    Some(Attributes { mode: u32::from(found.stx_mode), size: found.stx_size })
}

/// The offset at an address, which a call has moved on by what it copied; `None`: the call used the file's position.
fn offset_before(thread: libc::pid_t, address: u64, result: i64) -> Option<u64> {
    if address == 0 {
        return None;
    }
    let bytes = <[u8; 8]>::try_from(crate::memory::bytes(thread, address, 8)).ok()?;
    u64::from_ne_bytes(bytes).checked_sub(result.max(0).cast_unsigned())
}

/// The event of a call that ended; `target` receives the result of `readlink`.
pub fn asked<'a>(
    thread: libc::pid_t,
    call: &'a Begun,
    result: i64,
    target: &'a mut Vec<u8>,
) -> Option<Asked<'a>> {
    let arguments = &call.arguments;
    let descriptor = |at: usize| arguments[at] as i32;
    let bits = |at: usize| arguments[at] as u32;
    let done = result >= 0;
    let [one, two] = names(call.kind);
    let path = Given { from: from(arguments, one.and_then(|(base, _)| base)), name: &call.one };
    if let Some(changed) = changed(call, path) {
        return Some(changed);
    }
    let to = Given { from: from(arguments, two.and_then(|(base, _)| base)), name: &call.two };
    Some(match call.kind {
        Kind::Open => Asked::Open { path, flags: bits(1), permissions: bits(2) },
        Kind::Creat => Asked::Open { path, flags: 0o1101, permissions: bits(1) },
        Kind::OpenAt => Asked::Open { path, flags: bits(2), permissions: bits(3) },
        Kind::OpenAt2 => Asked::Open { path, flags: call.how[0] as u32, permissions: call.how[1] as u32 },
        Kind::Close => Asked::Close { descriptor: descriptor(0) },
        Kind::CloseRange => Asked::CloseRange { first: bits(0), last: bits(1) },
        Kind::Read => Asked::Read { descriptor: descriptor(0), offset: None },
        Kind::ReadAt => Asked::Read { descriptor: descriptor(0), offset: Some(arguments[3]) },
        Kind::Write => Asked::Write { descriptor: descriptor(0), offset: None },
        Kind::WriteAt => Asked::Write { descriptor: descriptor(0), offset: Some(arguments[3]) },
        Kind::SendFile => {
            let offsets = (offset_before(thread, arguments[2], result), None);
            Asked::Copy { from: descriptor(1), to: descriptor(0), offsets }
        }
        Kind::CopyRange => {
            let offset = |at: usize| offset_before(thread, arguments[at], result);
            Asked::Copy { from: descriptor(0), to: descriptor(2), offsets: (offset(1), offset(3)) }
        }
        Kind::Seek => Asked::Seek { descriptor: descriptor(0) },
        Kind::Sync => Asked::Sync { descriptor: descriptor(0), data_only: false },
        Kind::DataSync => Asked::Sync { descriptor: descriptor(0), data_only: true },
        Kind::Truncate => Asked::Truncate { descriptor: descriptor(0), length: arguments[1] },
        Kind::Allocate => {
            Asked::Allocate { descriptor: descriptor(0), offset: arguments[2], length: arguments[3] }
        }
        Kind::Dup | Kind::Dup2 => Asked::Duplicate { descriptor: descriptor(0), close_on_exec: false },
        Kind::Dup3 => Asked::Duplicate {
            descriptor: descriptor(0),
            close_on_exec: bits(2) & libc::O_CLOEXEC as u32 != 0,
        },
        Kind::Fcntl => return fcntl(arguments),
        Kind::Stat | Kind::Lstat => Asked::Stat {
            path,
            follow: call.kind == Kind::Stat,
            found: attributes(thread, arguments[1], done),
        },
        Kind::Fstat => {
            Asked::StatOpen { descriptor: descriptor(0), found: attributes(thread, arguments[1], done) }
        }
        Kind::StatAt | Kind::Statx => stat_at(thread, call, path, done),
        Kind::Access | Kind::AccessAt => Asked::Lookup { path },
        Kind::UnlinkAt if descriptor(2) & libc::AT_REMOVEDIR != 0 => Asked::Rmdir { path },
        Kind::Unlink | Kind::UnlinkAt => Asked::Unlink { path },
        Kind::Rmdir => Asked::Rmdir { path },
        Kind::Mkdir => Asked::Mkdir { path, permissions: bits(1) },
        Kind::MkdirAt => Asked::Mkdir { path, permissions: bits(2) },
        Kind::Readdir => Asked::Readdir { descriptor: descriptor(0) },
        Kind::Rename | Kind::RenameAt => Asked::Rename { from: path, to },
        Kind::Link | Kind::LinkAt => Asked::Link { from: path, to },
        Kind::Symlink | Kind::SymlinkAt => Asked::Symlink { target: &call.two, path },
        Kind::Readlink | Kind::ReadlinkAt => {
            let buffer = if call.kind == Kind::Readlink { 1 } else { 2 };
            *target = crate::memory::bytes(thread, arguments[buffer], usize::try_from(result).unwrap_or(0));
            Asked::Readlink { path, target: done.then_some(target.as_slice()) }
        }
        Kind::Clone if done => cloned(thread, arguments)?,
        Kind::Map => Asked::Map {
            descriptor: descriptor(4),
            length: arguments[1],
            shared_write: bits(3) & 1 != 0 && bits(2) & 2 != 0,
        },
        Kind::Chdir => Asked::Chdir { path },
        Kind::ChdirOpen => Asked::ChdirOpen { descriptor: descriptor(0) },
        Kind::Pipe => {
            let [read, write] = value::<[i32; 2]>(thread, arguments[0])?;
            Asked::Pipe { read, write }
        }
        Kind::SocketPair => {
            let [one, other] = value::<[i32; 2]>(thread, arguments[3])?;
            Asked::SocketPair { one, other }
        }
        Kind::Socket => Asked::Socket,
        Kind::Wait => Asked::Wait,
        Kind::Bind if !call.one.is_empty() => Asked::Bind { path },
        Kind::Rings => Asked::Other { why: "submissions of io_uring, whose transfers are not recorded" },
        Kind::TruncateName => Asked::TruncateName { path, length: arguments[1] },
        // The others are told otherwise, or not at all.
        _ => return None,
    })
}

fn fcntl<'a>(arguments: &[u64; 6]) -> Option<Asked<'a>> {
    let descriptor = arguments[0] as i32;
    match arguments[1] as i32 {
        libc::F_DUPFD => Some(Asked::Duplicate { descriptor, close_on_exec: false }),
        libc::F_DUPFD_CLOEXEC => Some(Asked::Duplicate { descriptor, close_on_exec: true }),
        libc::F_SETFD => Some(Asked::CloseOnExec { descriptor, on: arguments[2] & 1 != 0 }),
        _ => None,
    }
}

/// A clone that succeeded.
fn cloned<'a>(thread: libc::pid_t, arguments: &[u64; 6]) -> Option<Asked<'a>> {
    let to = arguments[0] as i32;
    let (from, offsets, length) = match arguments[1] {
        CLONE => (arguments[2] as i32, (0, 0), 0),
        _ => {
            let [from, offset, length, there] = value::<[u64; 4]>(thread, arguments[2])?;
            (from as i32, (offset, there), length)
        }
    };
    // Up to the end of a file, which now has another name here.
    let whole =
        || Some(std::fs::metadata(format!("/proc/{thread}/fd/{from}")).ok()?.len().saturating_sub(offsets.0));
    let length = if length > 0 { Some(length) } else { whole() };
    Some(Asked::Clone { from, to, offsets, length })
}

/// A change of an attribute. Where a directory comes before the name, an empty name, or none, means what is open there.
fn changed<'a>(call: &Begun, path: Given<'a>) -> Option<Asked<'a>> {
    let arguments = &call.arguments;
    let permissions = |at: usize| AttributeChange::Permissions(arguments[at] as u32);
    // With its flags, and whether the first argument is a descriptor.
    let (change, flags, by_descriptor) = match call.kind {
        Kind::Chmod => (permissions(1), 0, false),
        Kind::ChmodAt => (permissions(2), 0, true),
        Kind::ChmodAt2 => (permissions(2), arguments[3], true),
        Kind::ChmodOpen => (permissions(1), 0, true),
        Kind::Chown => (AttributeChange::Owner, 0, false),
        Kind::Lchown => (AttributeChange::Owner, libc::AT_SYMLINK_NOFOLLOW as u64, false),
        Kind::ChownAt => (AttributeChange::Owner, arguments[4], true),
        Kind::ChownOpen => (AttributeChange::Owner, 0, true),
        Kind::Utimes => (AttributeChange::Times, 0, false),
        Kind::UtimesAt => (AttributeChange::Times, arguments[3], true),
        Kind::FutimesAt => (AttributeChange::Times, 0, true),
        _ => return None,
    };
    if by_descriptor && call.one.is_empty() {
        return Some(Asked::ChangeOpen { descriptor: arguments[0] as i32, change });
    }
    Some(Asked::Change { path, follow: flags as i32 & libc::AT_SYMLINK_NOFOLLOW == 0, change })
}

/// `newfstatat` or `statx`; with an empty name they refer to an open file.
fn stat_at<'a>(thread: libc::pid_t, call: &'a Begun, path: Given<'a>, done: bool) -> Asked<'a> {
    let arguments = &call.arguments;
    let (flags, found) = match call.kind {
        Kind::Statx => (arguments[2] as i32, extended(thread, arguments[4], done)),
        _ => (arguments[3] as i32, attributes(thread, arguments[2], done)),
    };
    if call.one.is_empty() {
        Asked::StatOpen { descriptor: arguments[0] as i32, found }
    } else {
        Asked::Stat { path, follow: flags & libc::AT_SYMLINK_NOFOLLOW == 0, found }
    }
}
