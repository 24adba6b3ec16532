//! The functions of the C library that ours stand before, as one table and the few that need more.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::life::{counted, has_transferred};
use crate::sight::{look, opened, sight, sight_of_open};
use crate::submissions::{closing, mapped};
use crate::{
    AT_FDCWD, Kind, LONGEST_NAME, Names, O_CLOEXEC, O_DIRECTORY, abort, dirfd, dlsym, done, now, put, ring, text,
};

pub const AT_SYMLINK_NOFOLLOW: c_int = 0x100;
const AT_REMOVEDIR: c_int = 0x200;
/// Linux: `struct stat` has so many bytes at most.
pub const STAT_BYTES: usize = 144;

/// The address of the next function of a name behind ours.
pub fn found(known: &AtomicUsize, name: &[u8]) -> usize {
    let mut address = known.load(Relaxed);
    if address == 0 {
        // SAFETY: RTLD_NEXT; the name ends in NUL.
        address = unsafe { dlsym(usize::MAX as *mut c_void, name.as_ptr().cast()) } as usize;
        if address == 0 {
            // SAFETY: the name ends in NUL.
            address = unsafe { crate::older::found(name) };
        }
        if address == 0 {
            // SAFETY: the function does not exist, so nobody can call it.
            unsafe { abort() }
        }
        known.store(address, Relaxed);
    }
    address
}

/// The function of the C library that ours stands before.
macro_rules! real {
    ($name:literal as $kind:ty) => {{
        static KNOWN: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
        let known = $crate::functions::found(&KNOWN, concat!($name, "\0").as_bytes());
        // SAFETY: the C library's function of this name has this type.
        #[allow(unused_unsafe)]
        let function = unsafe { core::mem::transmute::<usize, $kind>(known) };
        function
    }};
}

/// Functions of the C library. Each calls the real one and writes a record with numbers and names.
macro_rules! stands_before {
    ($($name:literal $own:ident ($($argument:ident: $kind:ty),*) -> $result:ty
        $(, before $before:expr)? ; $record:expr => $numbers:expr, $names:expr;)*) => { $(
        #[unsafe(export_name = $name)]
        pub unsafe extern "C" fn $own($($argument: $kind),*) -> $result {
            let real = real!($name as unsafe extern "C" fn($($kind),*) -> $result);
            $( #[allow(unused_unsafe)] unsafe { $before }; )?
            let start = now();
            // SAFETY: the arguments are the caller's.
            let result = unsafe { real($($argument),*) };
            let value = result as i64;
            #[allow(unused_unsafe, unused_variables)]
            // SAFETY: names and structures are the caller's, and the call has accepted them.
            unsafe {
                done($record, start, value, ($numbers)(value), ($names)(value));
            }
            result
        }
    )* };
}

pub type Path = *const c_char;
pub type Buffer = *mut c_void;
pub const NO: Names<'static> = [&[], &[]];

pub fn n(value: impl Into<i64>) -> i64 {
    value.into()
}

pub const HERE: i64 = AT_FDCWD as i64;

stands_before! {
    "open" open(path: Path, flags: c_int, mode: c_uint) -> c_int, before sight_of_open(AT_FDCWD, path, flags);
        Kind::Open => |r| opened(r, [HERE, n(flags), n(mode), 0], path), |r| [text(path), &[]];
    "open64" open64(path: Path, flags: c_int, mode: c_uint) -> c_int, before sight_of_open(AT_FDCWD, path, flags);
        Kind::Open => |r| opened(r, [HERE, n(flags), n(mode), 0], path), |r| [text(path), &[]];
    "openat" openat(at: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int, before sight_of_open(at, path, flags);
        Kind::Open => |r| opened(r, [n(at), n(flags), n(mode), 0], path), |r| [text(path), &[]];
    "openat64" openat64(at: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int, before sight_of_open(at, path, flags);
        Kind::Open => |r| opened(r, [n(at), n(flags), n(mode), 0], path), |r| [text(path), &[]];
    "__open_2" open_2(path: Path, flags: c_int) -> c_int, before sight_of_open(AT_FDCWD, path, flags);
        Kind::Open => |r| opened(r, [HERE, n(flags), 0, 0], path), |r| [text(path), &[]];
    "__open64_2" open64_2(path: Path, flags: c_int) -> c_int, before sight_of_open(AT_FDCWD, path, flags);
        Kind::Open => |r| opened(r, [HERE, n(flags), 0, 0], path), |r| [text(path), &[]];
    "__openat_2" openat_2(at: c_int, path: Path, flags: c_int) -> c_int, before sight_of_open(at, path, flags);
        Kind::Open => |r| opened(r, [n(at), n(flags), 0, 0], path), |r| [text(path), &[]];
    "__openat64_2" openat64_2(at: c_int, path: Path, flags: c_int) -> c_int, before sight_of_open(at, path, flags);
        Kind::Open => |r| opened(r, [n(at), n(flags), 0, 0], path), |r| [text(path), &[]];
    "creat" creat(path: Path, mode: c_uint) -> c_int, before sight(AT_FDCWD, path);
        Kind::Open => |_| [HERE, 0o1101, n(mode), 0], |r| [text(path), &[]];
    "creat64" creat64(path: Path, mode: c_uint) -> c_int, before sight(AT_FDCWD, path);
        Kind::Open => |_| [HERE, 0o1101, n(mode), 0], |r| [text(path), &[]];
    // They write the name into what they are given.
    "mkstemp" mkstemp(path: Path) -> c_int; Kind::Open => |_| temporary(0), |r| [text(path), &[]];
    "mkstemp64" mkstemp64(path: Path) -> c_int; Kind::Open => |_| temporary(0), |r| [text(path), &[]];
    "mkostemp" mkostemp(path: Path, flags: c_int) -> c_int; Kind::Open => |_| temporary(flags), |r| [text(path), &[]];
    "mkostemp64" mkostemp64(path: Path, flags: c_int) -> c_int; Kind::Open => |_| temporary(flags), |r| [text(path), &[]];
    "mkstemps" mkstemps(path: Path, tail: c_int) -> c_int; Kind::Open => |_| temporary(0), |r| [text(path), &[]];
    "mkostemps" mkostemps(path: Path, tail: c_int, flags: c_int) -> c_int;
        Kind::Open => |_| temporary(flags), |r| [text(path), &[]];
    "close" close(file: c_int) -> c_int, before closing(file); Kind::Close => |_| [n(file), 0, 0, 0], |_| NO;
    "read" read(file: c_int, buffer: Buffer, count: usize) -> isize; Kind::Read => |_| [n(file), -1, 0, 0], |_| NO;
    "__read_chk" read_chk(file: c_int, buffer: Buffer, count: usize, size: usize) -> isize;
        Kind::Read => |_| [n(file), -1, 0, 0], |_| NO;
    "pread" pread(file: c_int, buffer: Buffer, count: usize, at: i64) -> isize;
        Kind::Read => |_| [n(file), at, 0, 0], |_| NO;
    "pread64" pread64(file: c_int, buffer: Buffer, count: usize, at: i64) -> isize;
        Kind::Read => |_| [n(file), at, 0, 0], |_| NO;
    "__pread64_chk" pread64_chk(file: c_int, buffer: Buffer, count: usize, at: i64, size: usize) -> isize;
        Kind::Read => |_| [n(file), at, 0, 0], |_| NO;
    "readv" readv(file: c_int, parts: Buffer, count: c_int) -> isize; Kind::Read => |_| [n(file), -1, 0, 0], |_| NO;
    "preadv" preadv(file: c_int, parts: Buffer, count: c_int, at: i64) -> isize;
        Kind::Read => |_| [n(file), at, 0, 0], |_| NO;
    "preadv64" preadv64(file: c_int, parts: Buffer, count: c_int, at: i64) -> isize;
        Kind::Read => |_| [n(file), at, 0, 0], |_| NO;
    "preadv2" preadv2(file: c_int, parts: Buffer, count: c_int, at: i64, flags: c_int) -> isize;
        Kind::Read => |_| [n(file), at, n(flags), 0], |_| NO;
    "preadv64v2" preadv64v2(file: c_int, parts: Buffer, count: c_int, at: i64, flags: c_int) -> isize;
        Kind::Read => |_| [n(file), at, n(flags), 0], |_| NO;
    "write" write(file: c_int, buffer: *const c_void, count: usize) -> isize;
        Kind::Write => |_| [n(file), -1, 0, 0], |_| NO;
    "pwrite" pwrite(file: c_int, buffer: *const c_void, count: usize, at: i64) -> isize;
        Kind::Write => |_| [n(file), at, 0, 0], |_| NO;
    "pwrite64" pwrite64(file: c_int, buffer: *const c_void, count: usize, at: i64) -> isize;
        Kind::Write => |_| [n(file), at, 0, 0], |_| NO;
    "writev" writev(file: c_int, parts: Buffer, count: c_int) -> isize; Kind::Write => |_| [n(file), -1, 0, 0], |_| NO;
    "pwritev" pwritev(file: c_int, parts: Buffer, count: c_int, at: i64) -> isize;
        Kind::Write => |_| [n(file), at, 0, 0], |_| NO;
    "pwritev64" pwritev64(file: c_int, parts: Buffer, count: c_int, at: i64) -> isize;
        Kind::Write => |_| [n(file), at, 0, 0], |_| NO;
    "pwritev2" pwritev2(file: c_int, parts: Buffer, count: c_int, at: i64, flags: c_int) -> isize;
        Kind::Write => |_| [n(file), at, n(flags), 0], |_| NO;
    "pwritev64v2" pwritev64v2(file: c_int, parts: Buffer, count: c_int, at: i64, flags: c_int) -> isize;
        Kind::Write => |_| [n(file), at, n(flags), 0], |_| NO;
    "sendfile" sendfile(to: c_int, from: c_int, at: *mut i64, count: usize) -> isize;
        Kind::Copy => |r| [n(from), n(to), before(at, r), -1], |_| NO;
    "sendfile64" sendfile64(to: c_int, from: c_int, at: *mut i64, count: usize) -> isize;
        Kind::Copy => |r| [n(from), n(to), before(at, r), -1], |_| NO;
    "copy_file_range" copy_file_range(from: c_int, at: *mut i64, to: c_int, there: *mut i64, count: usize, flags: c_uint) -> isize;
        Kind::Copy => |r| [n(from), n(to), before(at, r), before(there, r)], |_| NO;
    "splice" splice(from: c_int, at: *mut i64, to: c_int, there: *mut i64, count: usize, flags: c_uint) -> isize;
        Kind::Copy => |r| [n(from), n(to), before(at, r), before(there, r)], |_| NO;
    "lseek" lseek(file: c_int, offset: i64, whence: c_int) -> i64; Kind::Seek => |_| [n(file), 0, 0, 0], |_| NO;
    "lseek64" lseek64(file: c_int, offset: i64, whence: c_int) -> i64; Kind::Seek => |_| [n(file), 0, 0, 0], |_| NO;
    "fsync" fsync(file: c_int) -> c_int; Kind::Sync => |_| [n(file), 0, 0, 0], |_| NO;
    "fdatasync" fdatasync(file: c_int) -> c_int; Kind::Sync => |_| [n(file), 1, 0, 0], |_| NO;
    "ftruncate" ftruncate(file: c_int, to: i64) -> c_int; Kind::Truncate => |_| [n(file), to, 0, 0], |_| NO;
    "ftruncate64" ftruncate64(file: c_int, to: i64) -> c_int; Kind::Truncate => |_| [n(file), to, 0, 0], |_| NO;
    "truncate" truncate(path: Path, to: i64) -> c_int, before sight(AT_FDCWD, path);
        Kind::TruncateName => |_| [HERE, to, 0, 0], |r| [text(path), &[]];
    "truncate64" truncate64(path: Path, to: i64) -> c_int, before sight(AT_FDCWD, path);
        Kind::TruncateName => |_| [HERE, to, 0, 0], |r| [text(path), &[]];
    "fallocate" fallocate(file: c_int, mode: c_int, at: i64, count: i64) -> c_int;
        Kind::Allocate => |_| [n(file), at, count, n(mode)], |_| NO;
    "fallocate64" fallocate64(file: c_int, mode: c_int, at: i64, count: i64) -> c_int;
        Kind::Allocate => |_| [n(file), at, count, n(mode)], |_| NO;
    "dup" dup(file: c_int) -> c_int; Kind::Duplicate => |_| [n(file), 0, 0, 0], |_| NO;
    "dup2" dup2(file: c_int, new: c_int) -> c_int; Kind::Duplicate => |_| [n(file), 0, 0, 0], |_| NO;
    "dup3" dup3(file: c_int, new: c_int, flags: c_int) -> c_int;
        Kind::Duplicate => |_| [n(file), n(flags & O_CLOEXEC), 0, 0], |_| NO;
    "stat" stat(path: Path, out: Buffer) -> c_int; Kind::Stat => |r| stated(HERE, 1, r, out), |r| [text(path), &[]];
    "stat64" stat64(path: Path, out: Buffer) -> c_int; Kind::Stat => |r| stated(HERE, 1, r, out), |r| [text(path), &[]];
    "lstat" lstat(path: Path, out: Buffer) -> c_int; Kind::Stat => |r| stated(HERE, 0, r, out), |r| [text(path), &[]];
    "lstat64" lstat64(path: Path, out: Buffer) -> c_int; Kind::Stat => |r| stated(HERE, 0, r, out), |r| [text(path), &[]];
    "fstat" fstat(file: c_int, out: Buffer) -> c_int; Kind::StatOpen => |r| stated(n(file), 1, r, out), |_| NO;
    "fstat64" fstat64(file: c_int, out: Buffer) -> c_int; Kind::StatOpen => |r| stated(n(file), 1, r, out), |_| NO;
    "fstatat" fstatat(at: c_int, path: Path, out: Buffer, flags: c_int) -> c_int;
        at_kind(path) => |r| stated(n(at), n(flags & AT_SYMLINK_NOFOLLOW == 0), r, out), |r| [text(path), &[]];
    "fstatat64" fstatat64(at: c_int, path: Path, out: Buffer, flags: c_int) -> c_int;
        at_kind(path) => |r| stated(n(at), n(flags & AT_SYMLINK_NOFOLLOW == 0), r, out), |r| [text(path), &[]];
    "statx" statx(at: c_int, path: Path, flags: c_int, mask: c_uint, out: Buffer) -> c_int;
        at_kind(path) => |r| extended(n(at), n(flags & AT_SYMLINK_NOFOLLOW == 0), r, out), |r| [text(path), &[]];
    "access" access(path: Path, mode: c_int) -> c_int; Kind::Lookup => |_| [HERE, 0, 0, 0], |r| [text(path), &[]];
    "faccessat" faccessat(at: c_int, path: Path, mode: c_int, flags: c_int) -> c_int;
        Kind::Lookup => |_| [n(at), 0, 0, 0], |r| [text(path), &[]];
    "euidaccess" euidaccess(path: Path, mode: c_int) -> c_int; Kind::Lookup => |_| [HERE, 0, 0, 0], |r| [text(path), &[]];
    "eaccess" eaccess(path: Path, mode: c_int) -> c_int; Kind::Lookup => |_| [HERE, 0, 0, 0], |r| [text(path), &[]];
    "unlink" unlink(path: Path) -> c_int, before sight(AT_FDCWD, path);
        Kind::Unlink => |_| [HERE, 0, 0, 0], |r| [text(path), &[]];
    "remove" remove(path: Path) -> c_int, before look(AT_FDCWD, path);
        Kind::Unlink => |_| [HERE, 0, 0, 0], |r| [text(path), &[]];
    "unlinkat" unlinkat(at: c_int, path: Path, flags: c_int) -> c_int, before sight(at, path);
        if flags & AT_REMOVEDIR != 0 { Kind::Rmdir } else { Kind::Unlink } => |_| [n(at), 0, 0, 0], |r| [text(path), &[]];
    "rmdir" rmdir(path: Path) -> c_int; Kind::Rmdir => |_| [HERE, 0, 0, 0], |r| [text(path), &[]];
    "mkdir" mkdir(path: Path, mode: c_uint) -> c_int; Kind::Mkdir => |_| [HERE, n(mode), 0, 0], |r| [text(path), &[]];
    "mkdirat" mkdirat(at: c_int, path: Path, mode: c_uint) -> c_int;
        Kind::Mkdir => |_| [n(at), n(mode), 0, 0], |r| [text(path), &[]];
    "rename" rename(from: Path, to: Path) -> c_int, before { sight(AT_FDCWD, from); sight(AT_FDCWD, to) };
        Kind::Rename => |_| [HERE, HERE, 0, 0], |r| [text(from), text(to)];
    "renameat" renameat(at: c_int, from: Path, there: c_int, to: Path) -> c_int,
        before { sight(at, from); sight(there, to) };
        Kind::Rename => |_| [n(at), n(there), 0, 0], |r| [text(from), text(to)];
    "renameat2" renameat2(at: c_int, from: Path, there: c_int, to: Path, flags: c_uint) -> c_int,
        before { sight(at, from); sight(there, to) };
        Kind::Rename => |_| [n(at), n(there), n(flags), 0], |r| [text(from), text(to)];
    "link" hard_link(from: Path, to: Path) -> c_int, before sight(AT_FDCWD, from);
        Kind::Link => |_| [HERE, HERE, 0, 0], |r| [text(from), text(to)];
    "linkat" linkat(at: c_int, from: Path, there: c_int, to: Path, flags: c_int) -> c_int, before sight(at, from);
        Kind::Link => |_| [n(at), n(there), n(flags), 0], |r| [text(from), text(to)];
    "symlink" symlink(target: Path, path: Path) -> c_int;
        Kind::Symlink => |_| [HERE, 0, 0, 0], |r| [text(path), text(target)];
    "symlinkat" symlinkat(target: Path, at: c_int, path: Path) -> c_int;
        Kind::Symlink => |_| [n(at), 0, 0, 0], |r| [text(path), text(target)];
    "readlink" readlink(path: Path, out: Buffer, size: usize) -> isize;
        Kind::Readlink => |_| [HERE, 0, 0, 0], |r| [text(path), target(out, r)];
    "readlinkat" readlinkat(at: c_int, path: Path, out: Buffer, size: usize) -> isize;
        Kind::Readlink => |_| [n(at), 0, 0, 0], |r| [text(path), target(out, r)];
    "chdir" chdir(path: Path) -> c_int; Kind::Chdir => |_| [HERE, 0, 0, 0], |r| [text(path), &[]];
    "fchdir" fchdir(file: c_int) -> c_int; Kind::ChdirOpen => |_| [n(file), 0, 0, 0], |_| NO;
    "pipe" pipe(ends: *mut c_int) -> c_int; Kind::Pipe => |r| both(r, ends), |_| NO;
    "pipe2" pipe2(ends: *mut c_int, flags: c_int) -> c_int; Kind::Pipe => |r| both(r, ends), |_| NO;
    "socket" socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int; Kind::Socket => |_| [0; 4], |_| NO;
    "socketpair" socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int;
        Kind::SocketPair => |r| both(r, ends), |_| NO;
    "bind" bind(file: c_int, address: Buffer, size: c_uint) -> c_int;
        Kind::Bind => |_| [HERE, 0, 0, 0], |r| [bound(address, size), &[]];
    "accept" accept(file: c_int, address: Buffer, size: Buffer) -> c_int; Kind::Socket => |_| [0; 4], |_| NO;
    "accept4" accept4(file: c_int, address: Buffer, size: Buffer, flags: c_int) -> c_int; Kind::Socket => |_| [0; 4], |_| NO;
    "wait" wait(status: Buffer) -> c_int; Kind::Wait => |_| [0; 4], |_| NO;
    "waitpid" waitpid(which: c_int, status: Buffer, options: c_int) -> c_int; Kind::Wait => |_| [0; 4], |_| NO;
    "wait3" wait3(status: Buffer, options: c_int, usage: Buffer) -> c_int; Kind::Wait => |_| [0; 4], |_| NO;
    "wait4" wait4(which: c_int, status: Buffer, options: c_int, usage: Buffer) -> c_int; Kind::Wait => |_| [0; 4], |_| NO;
    "close_range" close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
        Kind::CloseRange => |_| [n(first), n(last), n(flags), 0], |_| NO;
    "mmap" mmap(address: Buffer, size: usize, access: c_int, flags: c_int, file: c_int, at: i64) -> Buffer;
        Kind::Map => |_| mapped(file, size, flags & 1 != 0 && access & 2 != 0, at), |_| NO;
    "mmap64" mmap64(address: Buffer, size: usize, access: c_int, flags: c_int, file: c_int, at: i64) -> Buffer;
        Kind::Map => |_| mapped(file, size, flags & 1 != 0 && access & 2 != 0, at), |_| NO;
}

/// The offset that a call found at an address and moved on by its result; -1 where it used the file's position.
unsafe fn before(at: *const i64, result: i64) -> i64 {
    if at.is_null() || result < 0 {
        return -1;
    }
    // SAFETY: the call has read and written it.
    unsafe { at.read() - result }
}

/// Where, how and with which permissions a temporary file is opened: `O_RDWR|O_CREAT|O_EXCL`.
fn temporary(flags: c_int) -> [i64; 4] {
    [HERE, n(flags | 0o302), 0o600, 0]
}

/// `st_mode` and `st_size` of a `struct stat`.
pub unsafe fn attributes(stat: *const c_void) -> (i64, i64) {
    let bytes: *const u8 = stat.cast();
    #[cfg(target_arch = "x86_64")]
    const MODE: usize = 24;
    #[cfg(target_arch = "aarch64")]
    const MODE: usize = 16;
    // SAFETY: the kernel filled the structure.
    unsafe {
        (
            i64::from(bytes.add(MODE).cast::<u32>().read_unaligned()),
            bytes.add(48).cast::<i64>().read_unaligned(),
        )
    }
}

pub fn at_kind(path: Path) -> Kind {
    // SAFETY: the path is the caller's; an empty one means the open file itself.
    if unsafe { text(path) }.is_empty() { Kind::StatOpen } else { Kind::Stat }
}

pub unsafe fn stated(at: i64, follow: i64, result: i64, out: Buffer) -> [i64; 4] {
    // SAFETY: the call has filled the structure where it succeeded.
    let (mode, size) = if result == 0 { unsafe { attributes(out) } } else { (-1, 0) };
    [at, follow, mode, size]
}

/// `stx_mode` and `stx_size` of a `struct statx`.
unsafe fn extended(at: i64, follow: i64, result: i64, out: Buffer) -> [i64; 4] {
    let bytes: *const u8 = out.cast();
    if result != 0 {
        return [at, follow, -1, 0];
    }
    // SAFETY: the call has filled the structure.
    unsafe {
        let mode = i64::from(bytes.add(28).cast::<u16>().read_unaligned());
        [at, follow, mode, bytes.add(40).cast::<i64>().read_unaligned()]
    }
}

unsafe fn both(result: i64, ends: *mut c_int) -> [i64; 4] {
    // SAFETY: the call has filled both ends where it succeeded.
    if result == 0 { unsafe { [n(*ends), n(*ends.add(1)), 0, 0] } } else { [-1, -1, 0, 0] }
}

/// The name to which a socket is bound, if it is one of the file system.
unsafe fn bound<'a>(address: Buffer, size: c_uint) -> &'a [u8] {
    const AF_UNIX: u16 = 1;
    const FAMILY: usize = size_of::<u16>();
    let size = (size as usize).min(110);
    if address.is_null() || size <= FAMILY {
        return &[];
    }
    // SAFETY: the application gives so many bytes.
    let bytes: &[u8] = unsafe { core::slice::from_raw_parts(address.cast(), size) };
    if u16::from_ne_bytes([bytes[0], bytes[1]]) != AF_UNIX {
        return &[];
    }
    let name = &bytes[FAMILY..];
    name.split(|byte| *byte == 0).next().unwrap_or(name)
}

unsafe fn target<'a>(out: Buffer, count: i64) -> &'a [u8] {
    // SAFETY: the call has written so many bytes.
    unsafe { core::slice::from_raw_parts(out.cast(), usize::try_from(count).unwrap_or(0).min(LONGEST_NAME)) }
}

/// It comes back in the child as well, whose parent tells of it.
#[unsafe(export_name = "fork")]
pub unsafe extern "C" fn fork() -> c_int {
    let real = real!("fork" as unsafe extern "C" fn() -> c_int);
    let start = now();
    // SAFETY: as the caller's call.
    let child = unsafe { real() };
    if child != 0 {
        done(Kind::Spawn, start, n(child), [0; 4], NO);
    }
    child
}

/// A process that shares its parent's memory would write its parent's records: it becomes a child by `fork`.
#[unsafe(export_name = "vfork")]
pub unsafe extern "C" fn vfork() -> c_int {
    // SAFETY: as the caller's call.
    unsafe { fork() }
}

#[unsafe(export_name = "fcntl")]
pub unsafe extern "C" fn fcntl(file: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the arguments are the caller's.
    unsafe {
        controlled(
            real!("fcntl" as unsafe extern "C" fn(c_int, c_int, usize) -> c_int),
            file,
            command,
            argument,
        )
    }
}

#[unsafe(export_name = "fcntl64")]
pub unsafe extern "C" fn fcntl64(file: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the arguments are the caller's.
    unsafe {
        controlled(
            real!("fcntl64" as unsafe extern "C" fn(c_int, c_int, usize) -> c_int),
            file,
            command,
            argument,
        )
    }
}

unsafe fn controlled(
    real: unsafe extern "C" fn(c_int, c_int, usize) -> c_int,
    file: c_int,
    command: c_int,
    argument: usize,
) -> c_int {
    let start = now();
    // SAFETY: the arguments are the caller's.
    let result = unsafe { real(file, command, argument) };
    // F_DUPFD, F_DUPFD_CLOEXEC, F_SETFD
    match command {
        0 => done(Kind::Duplicate, start, n(result), [n(file), 0, 0, 0], NO),
        1030 => done(Kind::Duplicate, start, n(result), [n(file), 1, 0, 0], NO),
        2 => done(Kind::CloseOnExec, start, n(result), [n(file), (argument & 1) as i64, 0, 0], NO),
        _ => {}
    }
    result
}

#[unsafe(export_name = "opendir")]
pub unsafe extern "C" fn opendir(path: Path) -> Buffer {
    let real = real!("opendir" as unsafe extern "C" fn(Path) -> Buffer);
    let start = now();
    // SAFETY: the path is the caller's; the stream is a new one.
    unsafe {
        let stream = real(path);
        let file = if stream.is_null() { -1 } else { dirfd(stream) };
        done(Kind::Open, start, n(file), [HERE, n(O_DIRECTORY | O_CLOEXEC), 0, 0], [text(path), &[]]);
        if file >= 0 {
            done(Kind::Readdir, now(), 0, [n(file), 0, 0, 0], NO);
        }
        stream
    }
}

#[unsafe(export_name = "readdir")]
pub unsafe extern "C" fn readdir(stream: Buffer) -> Buffer {
    // SAFETY: the stream is the caller's.
    unsafe { listed(real!("readdir" as unsafe extern "C" fn(Buffer) -> Buffer), stream) }
}

#[unsafe(export_name = "readdir64")]
pub unsafe extern "C" fn readdir64(stream: Buffer) -> Buffer {
    // SAFETY: the stream is the caller's.
    unsafe { listed(real!("readdir64" as unsafe extern "C" fn(Buffer) -> Buffer), stream) }
}

/// Entries lie one behind the other in memory that the C library fills by a call of the system: it made one where an entry does
/// not lie behind the last one.
unsafe fn listed(real: unsafe extern "C" fn(Buffer) -> Buffer, stream: Buffer) -> Buffer {
    let start = now();
    // SAFETY: the stream is the caller's; the ring belongs to this thread.
    unsafe {
        let entry = real(stream);
        let ring = ring();
        if !ring.is_null() {
            let (last, before) = (*ring).listed;
            (*ring).listed = (stream as usize, entry as usize);
            let is_next = before != 0 && entry as usize > before;
            if last != stream as usize || !is_next {
                done(Kind::Readdir, start, 0, [n(dirfd(stream)), 0, 0, 0], NO);
            }
        }
        entry
    }
}

#[unsafe(export_name = "fdopendir")]
pub unsafe extern "C" fn fdopendir(file: c_int) -> Buffer {
    let real = real!("fdopendir" as unsafe extern "C" fn(c_int) -> Buffer);
    let start = now();
    // SAFETY: the descriptor is the caller's.
    let stream = unsafe { real(file) };
    if !stream.is_null() {
        done(Kind::Readdir, start, 0, [n(file), 0, 0, 0], NO);
    }
    stream
}

#[unsafe(export_name = "closedir")]
pub unsafe extern "C" fn closedir(stream: Buffer) -> c_int {
    let real = real!("closedir" as unsafe extern "C" fn(Buffer) -> c_int);
    // SAFETY: the stream is the caller's.
    unsafe {
        let file = dirfd(stream);
        let start = now();
        let result = real(stream);
        done(Kind::Close, start, n(result), [n(file), 0, 0, 0], NO);
        result
    }
}

fn executes() {
    crate::submissions::ending();
    let (count, took) = if has_transferred() { counted() } else { (0, 0) };
    put(Kind::Executes, (now(), 0), (0, 0), [count, took, 0, 0], NO);
}

#[unsafe(export_name = "execve")]
pub unsafe extern "C" fn execve(path: Path, words: Buffer, environment: Buffer) -> c_int {
    let real = real!("execve" as unsafe extern "C" fn(Path, Buffer, Buffer) -> c_int);
    executes();
    // SAFETY: the arguments are the caller's.
    unsafe { real(path, words, environment) }
}

#[unsafe(export_name = "execv")]
pub unsafe extern "C" fn execv(path: Path, words: Buffer) -> c_int {
    let real = real!("execv" as unsafe extern "C" fn(Path, Buffer) -> c_int);
    executes();
    // SAFETY: the arguments are the caller's.
    unsafe { real(path, words) }
}

#[unsafe(export_name = "execvp")]
pub unsafe extern "C" fn execvp(path: Path, words: Buffer) -> c_int {
    let real = real!("execvp" as unsafe extern "C" fn(Path, Buffer) -> c_int);
    executes();
    // SAFETY: the arguments are the caller's.
    unsafe { real(path, words) }
}

#[unsafe(export_name = "_exit")]
pub unsafe extern "C" fn exit_now(status: c_int) -> ! {
    let real = real!("_exit" as unsafe extern "C" fn(c_int) -> !);
    crate::life::ended();
    // SAFETY: as the caller's call.
    unsafe { real(status) }
}
