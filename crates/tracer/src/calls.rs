//! The system calls that are recorded, by the table of operations, and what each asks for.

use operations::{At, Entry, Name, Operation, Processor, Stops};
use trace::asked::Told;
use trace::event::{Asked, Attributes};

use crate::memory::{string, value};

/// Calls in which a thread sleeps for as long as it asks. They are not recorded, but the recorder is told of them: such a
/// thread does not wait for others.
pub const SLEEPS: [libc::c_long; 2] = [libc::SYS_nanosleep, libc::SYS_clock_nanosleep];

/// Calls by which a thread works with processors. They are not recorded.
pub const PROCESSORS: [libc::c_long; 2] = [libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity];

/// What debuggers and other recorders call. It is not recorded.
pub const TRACES: libc::c_long = libc::SYS_ptrace;

/// Calls in which a thread sleeps so if it waits for no descriptor.
#[cfg(target_arch = "x86_64")]
pub const SELECTS: &[libc::c_long] = &[libc::SYS_select, libc::SYS_pselect6];
#[cfg(not(target_arch = "x86_64"))]
pub const SELECTS: &[libc::c_long] = &[libc::SYS_pselect6];

/// `FICLONE`, of a whole file, and `FICLONERANGE`: requests of `ioctl` by which files share what they hold.
const CLONE: u64 = 0x4004_9409;
const CLONE_RANGE: u64 = 0x4020_940d;
pub const CLONES: [u64; 2] = [CLONE, CLONE_RANGE];

/// The numbers of calls at which the filter stops in any case.
pub fn listed() -> impl Iterator<Item = u16> {
    let stops = |entry: &&Entry| entry.stops == Stops::Always && entry.number() != operations::NO_NUMBER;
    operations::ENTRIES.iter().filter(stops).map(Entry::number)
}

/// A call that began.
#[derive(Clone, Debug)]
pub struct Begun {
    pub entry: &'static Entry,
    pub arguments: [u64; 6],
    /// Its first and its second name, read when it began.
    pub one: Vec<u8>,
    pub two: Vec<u8>,
    /// When, in nanoseconds since the recording began.
    pub start: u64,
    /// For how long its thread had been held by the recorder until then, in nanoseconds.
    pub held: u64,
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

/// The names of a call. What `execve` and `getcwd` name is told otherwise.
pub fn names(entry: &Entry) -> [Option<Name>; 2] {
    if entry.operation == Operation::Exec { [None; 2] } else { entry.names() }
}

/// A call at its entry: names are read now, since the application may change its memory.
pub fn begun(thread: libc::pid_t, entry: &'static Entry, mut arguments: [u64; 6]) -> Begun {
    let [one, two] = names(entry)
        .map(|name| name.map_or_else(Vec::new, |name| string(thread, arguments[usize::from(name.name)])));
    // `openat2` has a structure of three numbers in place of flags and permissions.
    if entry.name == "openat2" {
        let [flags, mode, _] = value::<[u64; 3]>(thread, arguments[2]).unwrap_or_default();
        (arguments[2], arguments[3]) = (flags, mode);
    }
    let submitted = match entry.operation {
        Operation::Submit => submitted(thread, arguments[1], arguments[2]),
        _ => Vec::new(),
    };
    let one = match entry.operation {
        Operation::Bind => bound(thread, arguments[1], arguments[2]),
        _ => one,
    };
    Begun { entry, arguments, one, two, submitted, start: 0, held: 0 }
}

fn attributes(thread: libc::pid_t, address: u64) -> Option<Attributes> {
    let found: libc::stat = value(thread, address)?;
    Some(Attributes { mode: found.st_mode, size: found.st_size as u64 })
}

fn extended(thread: libc::pid_t, address: u64) -> Option<Attributes> {
    let found: libc::statx = value(thread, address)?;
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
    let (entry, arguments, done) = (call.entry, &call.arguments, result >= 0);
    // How programs begin, and what threads begin, is told by stops of its own.
    if matches!(entry.operation, Operation::Exec) {
        return None;
    }
    if entry.operation == Operation::Control {
        return if done { cloned(thread, arguments) } else { None };
    }
    let mut told = Told { names: [&call.one, &call.two], result, ..Told::default() };
    let mut pointed = told.pointed.iter_mut();
    for at in entry.at {
        match *at {
            At::Pointed(at) => {
                if let Some(place) = pointed.next() {
                    *place = offset_before(thread, arguments[usize::from(at)], result);
                }
            }
            At::Memory(at) if done => {
                let address = arguments[usize::from(at)];
                match entry.operation {
                    Operation::Readlink => {
                        *target = crate::memory::bytes(thread, address, usize::try_from(result).unwrap_or(0));
                    }
                    Operation::Pipe | Operation::SocketPair => {
                        told.pair = value::<[i32; 2]>(thread, address).map(|[one, other]| (one, other));
                    }
                    _ if entry.name == "statx" => told.found = extended(thread, address),
                    _ => told.found = attributes(thread, address),
                }
            }
            _ => {}
        }
    }
    if entry.operation == Operation::Readlink && done {
        told.target = Some(target.as_slice());
    }
    trace::asked::asked(entry, arguments, Processor::HERE, &told)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_the_table_are_those_of_the_system() {
        macro_rules! same {
            ($($name:ident $number:ident)*) => { $(
                let entry = operations::by_name(stringify!($name).as_bytes()).expect(stringify!($name));
                assert_eq!(libc::c_long::from(entry.number()), libc::$number, stringify!($name));
            )* };
        }
        same! {
            openat SYS_openat openat2 SYS_openat2 open_by_handle_at SYS_open_by_handle_at close SYS_close
            close_range SYS_close_range read SYS_read readv SYS_readv pread64 SYS_pread64 preadv SYS_preadv
            preadv2 SYS_preadv2 write SYS_write writev SYS_writev pwrite64 SYS_pwrite64 pwritev SYS_pwritev
            pwritev2 SYS_pwritev2 sendfile SYS_sendfile copy_file_range SYS_copy_file_range splice SYS_splice
            ioctl SYS_ioctl lseek SYS_lseek fsync SYS_fsync fdatasync SYS_fdatasync
            sync_file_range SYS_sync_file_range syncfs SYS_syncfs sync SYS_sync ftruncate SYS_ftruncate
            truncate SYS_truncate fallocate SYS_fallocate dup SYS_dup dup3 SYS_dup3 fcntl SYS_fcntl
            newfstatat SYS_newfstatat statx SYS_statx fstat SYS_fstat faccessat SYS_faccessat
            faccessat2 SYS_faccessat2 unlinkat SYS_unlinkat mkdirat SYS_mkdirat mknodat SYS_mknodat
            getdents64 SYS_getdents64 renameat SYS_renameat renameat2 SYS_renameat2 linkat SYS_linkat
            symlinkat SYS_symlinkat readlinkat SYS_readlinkat fchmodat SYS_fchmodat fchmodat2 SYS_fchmodat2
            fchmod SYS_fchmod fchownat SYS_fchownat fchown SYS_fchown utimensat SYS_utimensat
            setxattr SYS_setxattr lsetxattr SYS_lsetxattr fsetxattr SYS_fsetxattr removexattr SYS_removexattr
            lremovexattr SYS_lremovexattr fremovexattr SYS_fremovexattr getxattr SYS_getxattr
            lgetxattr SYS_lgetxattr fgetxattr SYS_fgetxattr listxattr SYS_listxattr llistxattr SYS_llistxattr
            flistxattr SYS_flistxattr mmap SYS_mmap chdir SYS_chdir fchdir SYS_fchdir getcwd SYS_getcwd
            clone SYS_clone clone3 SYS_clone3 execve SYS_execve execveat SYS_execveat wait4 SYS_wait4
            waitid SYS_waitid pipe2 SYS_pipe2 socket SYS_socket accept SYS_accept accept4 SYS_accept4
            eventfd2 SYS_eventfd2 timerfd_create SYS_timerfd_create signalfd4 SYS_signalfd4
            inotify_init1 SYS_inotify_init1 memfd_create SYS_memfd_create socketpair SYS_socketpair bind SYS_bind
            io_uring_setup SYS_io_uring_setup io_uring_enter SYS_io_uring_enter io_submit SYS_io_submit
            io_getevents SYS_io_getevents
        }
        #[cfg(target_arch = "x86_64")]
        same! {
            open SYS_open creat SYS_creat dup2 SYS_dup2 stat SYS_stat lstat SYS_lstat access SYS_access
            unlink SYS_unlink rmdir SYS_rmdir mkdir SYS_mkdir mknod SYS_mknod getdents SYS_getdents
            rename SYS_rename link SYS_link symlink SYS_symlink readlink SYS_readlink chmod SYS_chmod
            chown SYS_chown lchown SYS_lchown utime SYS_utime utimes SYS_utimes futimesat SYS_futimesat
            fork SYS_fork vfork SYS_vfork pipe SYS_pipe eventfd SYS_eventfd
        }
    }

    #[test]
    fn flags_of_the_table_are_those_of_the_system() {
        let (_, open) = operations::by_name(b"openat").and_then(Entry::flags).unwrap();
        let same = |word: &str, bits: i32| {
            assert_eq!(open.of_processor(bits.cast_unsigned(), Processor::HERE), open.number(word), "{word}");
        };
        same("O_DIRECT", libc::O_DIRECT);
        same("O_DIRECTORY", libc::O_DIRECTORY);
        same("O_NOFOLLOW", libc::O_NOFOLLOW);
        same("O_TMPFILE", libc::O_TMPFILE);
        same("O_SYNC", libc::O_SYNC);
        same("O_CREAT|O_EXCL|O_TRUNC", libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC);
    }
}
