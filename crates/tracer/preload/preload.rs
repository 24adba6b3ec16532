//! The library of the quiet recorder: it stands before the C library's functions for file calls, and writes a record for
//! each call into a file of the thread in the directory `LASTRANK_SPOOL`. The file is mapped, so that what a killed process
//! wrote stays. No allocation, no lock, no descriptor that stays open.
//!
//! `functions.rs` holds the functions, `life.rs` what
//! happens when processes and threads begin and end; here are rings and records. A record is a `Head`, the bytes of two names, and zeros up to a multiple of 8. `crates/tracer/src/spool.rs` reads it.
#![no_std]
#![allow(clippy::missing_safety_doc, reason = "these are functions of the C library, called by C programs")]

use core::ffi::{c_char, c_int, c_long, c_uint, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

mod functions;
mod life;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the process; nothing here panics by intention.
    unsafe { abort() }
}

/// The precompiled core names it; nothing unwinds here.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

#[link(name = "c")]
unsafe extern "C" {
    fn abort() -> !;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn syscall(number: c_long, ...) -> c_long;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    fn __errno_location() -> *mut c_int;
    fn pthread_key_create(key: *mut c_uint, done: Option<unsafe extern "C" fn(*mut c_void)>) -> c_int;
    fn pthread_getspecific(key: c_uint) -> *mut c_void;
    fn pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
    // What `pthread_atfork` calls. That is in the static part of the C library, which needs a symbol of the start files.
    fn __register_atfork(
        before: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
        library: *const c_void,
    ) -> c_int;
    fn dirfd(stream: *mut c_void) -> c_int;
}

#[cfg(target_arch = "x86_64")]
mod number {
    use super::c_long;
    pub const CLOSE: c_long = 3;
    pub const MMAP: c_long = 9;
    pub const MUNMAP: c_long = 11;
    pub const READ: c_long = 0;
    pub const GETPID: c_long = 39;
    pub const GETPPID: c_long = 110;
    pub const GETTID: c_long = 186;
    pub const FTRUNCATE: c_long = 77;
    pub const OPENAT: c_long = 257;
    pub const NEWFSTATAT: c_long = 262;
    pub const READLINKAT: c_long = 267;
}

#[cfg(target_arch = "aarch64")]
mod number {
    use super::c_long;
    pub const CLOSE: c_long = 57;
    pub const MMAP: c_long = 222;
    pub const MUNMAP: c_long = 215;
    pub const READ: c_long = 63;
    pub const GETPID: c_long = 172;
    pub const GETPPID: c_long = 173;
    pub const GETTID: c_long = 178;
    pub const FTRUNCATE: c_long = 46;
    pub const OPENAT: c_long = 56;
    pub const NEWFSTATAT: c_long = 79;
    pub const READLINKAT: c_long = 78;
}

const AT_FDCWD: c_int = -100;
const O_CREAT: c_int = 0o100;
const O_CLOEXEC: c_int = 0o2_000_000;
const AT_SYMLINK_NOFOLLOW: c_int = 0x100;
const AT_REMOVEDIR: c_int = 0x200;
const CHUNK: usize = 1 << 20;
const LONGEST_NAME: usize = 4096;
/// Linux: `struct stat` has so many bytes at most.
const STAT_BYTES: usize = 144;

/// What a record says. The numbers are those of `crates/tracer/src/spool.rs`.
#[repr(u16)]
#[derive(Clone, Copy)]
enum Kind {
    Begin = 1,
    Forked,
    Thread,
    ThreadEnd,
    End,
    Executes,
    Inherit,
    Sight,
    Open,
    Close,
    Read,
    Write,
    Copy,
    Seek,
    Sync,
    Truncate,
    Allocate,
    Duplicate,
    CloseOnExec,
    Stat,
    StatOpen,
    Lookup,
    Unlink,
    Rmdir,
    Mkdir,
    Readdir,
    Rename,
    Link,
    Symlink,
    Readlink,
    Chmod,
    ChmodOpen,
    Map,
    Chdir,
    ChdirOpen,
    Wait,
    Pipe,
    Socket,
    CloseRange,
    Spawn,
    Calibration,
}

#[repr(C)]
struct Head {
    kind: u16,
    errno: u16,
    one: u16,
    two: u16,
    start: u64,
    end: u64,
    result: i64,
    a: i64,
    b: i64,
    c: i64,
    d: i64,
}

/// The mapped end of a thread's file. Lies at the beginning of its first chunk.
#[repr(C)]
struct Ring {
    /// The chunk that is written: its address and how much of it is used.
    chunk: *mut u8,
    used: usize,
    chunks: usize,
    process: u32,
    thread: u32,
    /// Whether a record is being written: a signal handler's calls are not recorded then.
    busy: bool,
    path: [u8; 512],
}

/// `spool.rs` knows where the first record lies.
const RING: usize = 576;
const _: () = assert!(size_of::<Ring>().next_multiple_of(64) == RING);

static KEY: AtomicU32 = AtomicU32::new(u32::MAX);
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Where the directory's name lies.
static SPOOL: AtomicUsize = AtomicUsize::new(0);

/// Most bytes of that name, its NUL included.
const LONGEST_SPOOL: usize = 401;

/// The directory's name. A copy: programs write over their environment (setproctitle).
struct SpoolName(core::cell::UnsafeCell<[u8; LONGEST_SPOOL]>);

// SAFETY: it is written once, before the program has a second thread.
unsafe impl Sync for SpoolName {}

static SPOOL_NAME: SpoolName = SpoolName(core::cell::UnsafeCell::new([0; LONGEST_SPOOL]));

/// Keeps the directory's name; false where it is too long.
///
/// # Safety
/// The name ends in NUL, and no other thread runs.
unsafe fn keep_spool(name: *const u8) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let count = length(name, LONGEST_SPOOL);
        if count == LONGEST_SPOOL {
            return false;
        }
        let own = SPOOL_NAME.0.get().cast::<u8>();
        copy(name, own, count);
        SPOOL.store(own as usize, Relaxed);
    }
    true
}

fn now() -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the argument is a valid timespec.
    unsafe { clock_gettime(1, &mut time) };
    (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64)
}

fn errno() -> c_int {
    // SAFETY: the C library gives a valid address for the calling thread.
    unsafe { *__errno_location() }
}

fn set_errno(value: c_int) {
    // SAFETY: as `errno`.
    unsafe { *__errno_location() = value }
}

/// Appends decimal digits; gives the new length.
fn digits(out: &mut [u8], mut at: usize, mut number: u64) -> usize {
    let mut all = [0_u8; 20];
    let mut first = all.len();
    loop {
        first -= 1;
        all[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    for digit in &all[first..] {
        if at < out.len() {
            out[at] = *digit;
            at += 1;
        }
    }
    at
}

unsafe fn length(text: *const u8, most: usize) -> usize {
    let mut count = 0;
    if text.is_null() {
        return 0;
    }
    // SAFETY: the caller gives a string that ends in NUL.
    while count < most && unsafe { *text.add(count) } != 0 {
        count += 1;
    }
    count
}

unsafe fn copy(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: the caller gives two ranges of `count` bytes that do not overlap.
    unsafe { core::ptr::copy_nonoverlapping(from, to, count) }
}

/// Maps chunk `number` of the file at `path`; null where that fails.
unsafe fn chunk(path: *const u8, number: usize) -> *mut u8 {
    // SAFETY: plain system calls on a descriptor of our own.
    unsafe {
        let flags = 2 | O_CREAT | O_CLOEXEC;
        let file = syscall(number::OPENAT, AT_FDCWD as c_long, path, flags as c_long, 0o600 as c_long);
        if file < 0 {
            return null_mut();
        }
        let end = (number + 1) * CHUNK;
        let mut map = -1;
        if syscall(number::FTRUNCATE, file, end) == 0 {
            map = syscall(number::MMAP, 0_usize, CHUNK, 3 as c_long, 1 as c_long, file, number * CHUNK);
        }
        syscall(number::CLOSE, file);
        if map == -1 { null_mut() } else { map as *mut u8 }
    }
}

/// The ring of this thread; null where there is none.
fn ring() -> *mut Ring {
    let key = KEY.load(Relaxed);
    if key == u32::MAX {
        return null_mut();
    }
    // SAFETY: the key exists.
    let known = unsafe { pthread_getspecific(key) };
    if known.is_null() { new_ring(key) } else { known.cast() }
}

fn new_ring(key: c_uint) -> *mut Ring {
    let spool = SPOOL.load(Relaxed) as *const u8;
    let before = errno();
    // SAFETY: the file is our own, and the ring lies in its first chunk, which stays mapped as long as the thread lives.
    unsafe {
        let (process, thread) = (syscall(number::GETPID) as u32, syscall(number::GETTID) as u32);
        PROCESS.store(process, Relaxed);
        let mut path = [0_u8; 512];
        let mut at = length(spool, LONGEST_SPOOL - 1);
        copy(spool, path.as_mut_ptr(), at);
        path[at] = b'/';
        at = digits(&mut path, at + 1, u64::from(process));
        path[at] = b'.';
        at = digits(&mut path, at + 1, u64::from(thread));
        path[at] = b'.';
        digits(&mut path, at + 1, now());
        let base = chunk(path.as_ptr(), 0);
        set_errno(before);
        if base.is_null() {
            return null_mut();
        }
        let ring: *mut Ring = base.cast();
        ring.write(Ring { chunk: base, used: RING, chunks: 1, process, thread, busy: false, path });
        pthread_setspecific(key, ring.cast());
        if thread != process {
            put(Kind::Thread, (now(), 0), (0, 0), [0; 4], [&[], &[]]);
        }
        ring
    }
}

type Names<'a> = [&'a [u8]; 2];

/// Writes a record of this thread.
fn put(
    kind: Kind,
    (start, end): (u64, u64),
    (result, errno): (i64, c_int),
    [a, b, c, d]: [i64; 4],
    names: Names<'_>,
) {
    let ring = ring();
    if ring.is_null() {
        return;
    }
    // SAFETY: the ring belongs to this thread; `busy` keeps a signal handler out.
    unsafe {
        if (*ring).busy {
            return;
        }
        (*ring).busy = true;
        let [one, two] = names.map(|name| name.len().min(LONGEST_NAME));
        let whole = (size_of::<Head>() + one + two).next_multiple_of(8);
        if (*ring).used + whole > CHUNK {
            let before = self::errno();
            let next = chunk((*ring).path.as_ptr(), (*ring).chunks);
            set_errno(before);
            if next.is_null() {
                // The disk is full: the rest of this thread is not recorded, and `busy` stays set.
                return;
            }
            // The first chunk holds the ring itself.
            if (*ring).chunks > 1 {
                syscall(number::MUNMAP, (*ring).chunk, CHUNK);
            }
            ((*ring).chunk, (*ring).used, (*ring).chunks) = (next, 0, (*ring).chunks + 1);
        }
        let place = (*ring).chunk.add((*ring).used);
        let head: *mut Head = place.cast();
        copy(names[0].as_ptr(), place.add(size_of::<Head>()), one);
        copy(names[1].as_ptr(), place.add(size_of::<Head>() + one), two);
        let numbers = (errno as u16, one as u16, two as u16);
        head.write(Head {
            kind: 0,
            errno: numbers.0,
            one: numbers.1,
            two: numbers.2,
            start,
            end,
            result,
            a,
            b,
            c,
            d,
        });
        // The kind makes the record valid: it comes last.
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::Release);
        (*head).kind = kind as u16;
        (*ring).used += whole;
        (*ring).busy = false;
    }
}

/// Writes the record of a call that ended now.
fn done(kind: Kind, start: u64, result: i64, numbers: [i64; 4], names: Names<'_>) {
    let end = now();
    let error = errno();
    put(kind, (start, end), (result, if result < 0 { error } else { 0 }), numbers, names);
    set_errno(error);
}

unsafe fn text<'a>(name: *const c_char) -> &'a [u8] {
    if name.is_null() {
        return &[];
    }
    // SAFETY: the application gives a string that ends in NUL.
    unsafe { core::slice::from_raw_parts(name.cast(), length(name.cast(), LONGEST_NAME)) }
}

/// `st_mode` and `st_size` of a `struct stat`.
unsafe fn attributes(stat: *const c_void) -> (i64, i64) {
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

/// Records what a name refers to before a call changes it.
unsafe fn sight(directory: c_int, name: *const c_char) {
    if ring().is_null() || name.is_null() {
        return;
    }
    let mut found = [0_u64; STAT_BYTES / 8];
    let before = errno();
    // SAFETY: `found` has the size of a `struct stat`.
    unsafe {
        let flags = AT_SYMLINK_NOFOLLOW as c_long;
        let gone = syscall(number::NEWFSTATAT, directory as c_long, name, found.as_mut_ptr(), flags) != 0;
        let (mode, size) = if gone { (0, 0) } else { attributes(found.as_ptr().cast()) };
        set_errno(before);
        put(Kind::Sight, (now(), 0), (0, 0), [i64::from(directory), mode, size, 0], [text(name), &[]]);
    }
}
