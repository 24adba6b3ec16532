//! The library of the quiet recorder: it stands before the C library's functions for file calls, and writes a record for
//! each call into a file of the thread in the directory `LASTRANK_SPOOL_MEMORY`, which lies in memory, and from some number
//! of records on into one of the same name in `LASTRANK_SPOOL`, on a disk. The file is mapped, so that what a killed process
//! wrote stays. No allocation, no lock, no descriptor that stays open.
//!
//! `functions.rs`, `attributes.rs`, `clone.rs`, `reserve.rs` and `temporary.rs` hold the functions, `stdio.rs` those of streams, `files.rs` maps the files,
//! `life.rs` says what happens when processes and threads begin and end, `inherited.rs` what is open by then, `sight.rs` what names referred to before calls, `clock.rs` what time it is; here are rings and records.
//! A record is a `Head`, the bytes of two names, and zeros up to a multiple of 8. `crates/tracer/src/spool.rs` reads it.
#![no_std]
#![allow(clippy::missing_safety_doc, reason = "these are functions of the C library, called by C programs")]

use core::ffi::{c_char, c_int, c_long, c_uint, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

mod files;
#[macro_use]
mod functions;
mod attributes;
mod clock;
mod clone;
mod inherited;
mod life;
mod number;
mod others;
mod older;
mod reserve;
mod sight;
mod stdio;
mod submissions;
mod temporary;

use clock::{Timespec, now};
use files::{LONGEST_PATH, SPOOL, SPOOL_IN_MEMORY, chunk, reserve};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the process; nothing here panics by intention.
    unsafe { abort() }
}

/// The precompiled core names it; nothing unwinds here.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

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
    fn dl_iterate_phdr(
        each: unsafe extern "C" fn(*mut c_void, usize, *mut c_void) -> c_int,
        given: *mut c_void,
    ) -> c_int;
    fn dirfd(stream: *mut c_void) -> c_int;
    fn fileno(stream: *mut c_void) -> c_int;
}

const AT_FDCWD: c_int = -100;
const O_CREAT: c_int = 0o100;
const O_CLOEXEC: c_int = 0o2_000_000;
#[cfg(target_arch = "x86_64")]
const O_DIRECTORY: c_int = 0o200_000;
#[cfg(target_arch = "aarch64")]
const O_DIRECTORY: c_int = 0o40_000;
const CHUNK: usize = 1 << 20;
const PAGE: usize = 4096;
/// Pages are reserved so many bytes at a time: more than the longest record.
const STEP: usize = 8 * PAGE;
const _: () = assert!(STEP >= size_of::<Head>() + 2 * LONGEST_NAME && CHUNK % PAGE == 0);
/// At first fewer are, since many processes make few calls.
const FIRST_STEP: usize = 2 * PAGE;
const LONGEST_NAME: usize = 4096;

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
    SocketPair,
    Bind,
    /// So many nanoseconds were the recorder's until then.
    Own,
    Chown,
    ChownOpen,
    Utimes,
    UtimesOpen,
    /// Its result is how many bytes were cloned.
    Clone,
    TruncateName,
    /// So many transfers were submitted that complete later.
    Submitted,
    /// A system call by its number (`others.rs`).
    Entry,
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
    /// Whether there was no room for further records. `spool.rs` looks here.
    is_cut: u64,
    /// The chunk that is written: its address, how much of it is used, and how much may be.
    chunk: *mut u8,
    used: usize,
    reserved: usize,
    chunks: usize,
    process: u32,
    thread: u32,
    /// When it was made, which is part of the names of its files.
    began: u64,
    /// Nanoseconds of the recorder that no record tells yet.
    own: u64,
    /// Where in the chunk the last record lies.
    last: usize,
    /// The directory that was read last, and where its entry lies.
    listed: (usize, usize),
    /// Whether a record is being written: a signal handler's calls are not recorded then.
    busy: bool,
    /// Whether `path` is that of the file in memory.
    in_memory: bool,
    path: [u8; LONGEST_PATH],
}

/// `spool.rs` knows where the first record lies.
const RING: usize = 576;
const _: () = assert!(size_of::<Ring>().next_multiple_of(64) == RING);

static KEY: AtomicU32 = AtomicU32::new(u32::MAX);
static PROCESS: AtomicU32 = AtomicU32::new(0);

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
    let (before, began) = (errno(), now());
    // SAFETY: the file is our own, and the ring lies in its first chunk, which stays mapped as long as the thread lives.
    unsafe {
        let (process, thread) = (syscall(number::GETPID) as u32, syscall(number::GETTID) as u32);
        PROCESS.store(process, Relaxed);
        let (mut path, mut base) = ([0; LONGEST_PATH], null_mut());
        if SPOOL_IN_MEMORY.is_known() {
            path = SPOOL_IN_MEMORY.file(process, thread, began);
            base = chunk(path.as_ptr(), 0, true);
        }
        let in_memory = !base.is_null();
        if !in_memory {
            path = SPOOL.file(process, thread, began);
            base = chunk(path.as_ptr(), 0, false);
        }
        set_errno(before);
        if base.is_null() {
            return null_mut();
        }
        let ring: *mut Ring = base.cast();
        ring.write(Ring {
            is_cut: 0,
            chunk: base,
            used: RING,
            reserved: FIRST_STEP,
            chunks: 1,
            process,
            thread,
            began,
            own: 0,
            last: 0,
            listed: (0, 0),
            busy: false,
            in_memory,
            path,
        });
        pthread_setspecific(key, ring.cast());
        if thread != process {
            put(Kind::Thread, (began, 0), (0, 0), [0; 4], [&[], &[]]);
            put_own(began);
        }
        ring
    }
}

type Names<'a> = [&'a [u8]; 2];

/// Writes a record of this thread.
fn put(kind: Kind, times: (u64, u64), result: (i64, c_int), numbers: [i64; 4], names: Names<'_>) {
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
        if !append(ring, kind, times, result, numbers, names) {
            // The disk is full: the rest of this thread is not recorded, and `busy` stays set.
            (*ring).is_cut = 1;
            return;
        }
        let own = (*ring).own;
        if own > 0 {
            (*ring).own = 0;
            if !append(ring, Kind::Own, (now(), 0), (0, 0), [own as i64, 0, 0, 0], [&[], &[]]) {
                (*ring).is_cut = 1;
                return;
            }
        }
        (*ring).busy = false;
    }
}

/// Tells that the time since `began` was the recorder's.
fn put_own(began: u64) {
    let own = now().wrapping_sub(began);
    let ring = ring();
    if !ring.is_null() {
        // SAFETY: the ring belongs to this thread. What is told here holds what was not told yet.
        unsafe { (*ring).own = 0 }
    }
    put(Kind::Own, (now(), 0), (0, 0), [own as i64, 0, 0, 0], [&[], &[]]);
}

/// Writes a record behind the last one, in a new chunk where this one is full; false where there is no room for one. What new
/// memory costs is counted in `own`.
///
/// # Safety
/// The ring belongs to this thread, which writes no other record meanwhile.
unsafe fn append(
    ring: *mut Ring,
    kind: Kind,
    (start, end): (u64, u64),
    (result, errno): (i64, c_int),
    [a, b, c, d]: [i64; 4],
    names: Names<'_>,
) -> bool {
    // SAFETY: the caller's promise; the chunk is mapped, and the record fits into what is reserved of it.
    unsafe {
        let [one, two] = names.map(|name| name.len().min(LONGEST_NAME));
        let whole = (size_of::<Head>() + one + two).next_multiple_of(8);
        if (*ring).used + whole > (*ring).reserved {
            let began = now();
            if !more_room(ring, whole) {
                return false;
            }
            (*ring).own += now().wrapping_sub(began);
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
        (*ring).last = (*ring).used;
        (*ring).used += whole;
    }
    true
}

/// Makes room for a record of `whole` bytes, in the next chunk where this one is full or cannot grow; false where none can.
///
/// # Safety
/// As [`append`].
unsafe fn more_room(ring: *mut Ring, whole: usize) -> bool {
    // SAFETY: the caller's promise; what is not reserved yet holds nothing.
    unsafe {
        let reserved = (*ring).reserved;
        let step = STEP.min(CHUNK - reserved);
        if (*ring).used + whole <= reserved + step && reserve((*ring).chunk.add(reserved), step) {
            (*ring).reserved = reserved + step;
            return true;
        }
        next_chunk(ring)
    }
}

/// Takes all records of a ring back; none was written beyond its first pages.
///
/// # Safety
/// As [`append`].
unsafe fn take_back(ring: *mut Ring) {
    // SAFETY: the caller's promise; so much of the chunk may be written.
    unsafe {
        (*ring).chunk.add(RING).write_bytes(0, (*ring).used.min((*ring).reserved).saturating_sub(RING));
        ((*ring).used, (*ring).last) = (RING, 0);
    }
}

/// Maps the chunk behind the last one; false where that fails.
///
/// # Safety
/// As [`append`].
unsafe fn next_chunk(ring: *mut Ring) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let before = errno();
        let mut next = chunk((*ring).path.as_ptr(), (*ring).chunks, (*ring).in_memory);
        if next.is_null() && (*ring).in_memory {
            // What lies in memory stays there; the file on the disk is empty up to this chunk.
            (*ring).in_memory = false;
            (*ring).path = SPOOL.file((*ring).process, (*ring).thread, (*ring).began);
            next = chunk((*ring).path.as_ptr(), (*ring).chunks, false);
        }
        set_errno(before);
        if next.is_null() {
            return false;
        }
        // The first chunk holds the ring itself.
        if (*ring).chunks > 1 {
            syscall(number::MUNMAP, (*ring).chunk, CHUNK);
        }
        ((*ring).chunk, (*ring).used, (*ring).reserved, (*ring).chunks) = (next, 0, STEP, (*ring).chunks + 1);
        (*ring).last = 0;
    }
    true
}

/// Writes the record of a call that ended now.
fn done(kind: Kind, start: u64, result: i64, numbers: [i64; 4], names: Names<'_>) {
    let end = now();
    let error = errno();
    if matches!(kind, Kind::Read | Kind::Write | Kind::Copy) {
        life::transfers_now();
    }
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
