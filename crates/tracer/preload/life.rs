//! What is recorded when a process or thread begins and ends.

use core::ffi::{CStr, c_int, c_long, c_uint, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::clock::keep_counter;
use crate::files::{SPOOL, SPOOL_IN_MEMORY};
use crate::inherited::{DESCENT, inherited};
use crate::{
    __register_atfork, AT_FDCWD, KEY, Kind, LONGEST_NAME, O_CLOEXEC, dl_iterate_phdr, done, getenv, now,
    number, pthread_key_create, pthread_setspecific, put, put_own, ring, set_errno, stdio, syscall,
    take_back,
};

/// Calls that read and write, as [`transfers`], and how many nanoseconds it took to ask for them.
pub fn counted() -> (i64, i64) {
    let began = now();
    let count = transfers();
    (count, now().wrapping_sub(began) as i64)
}

/// Whether the process has not read or written since `fork` made it: Linux need not be asked for its counts then.
static FRESH: AtomicBool = AtomicBool::new(false);

/// It reads or writes.
pub fn transfers_now() {
    FRESH.store(false, Relaxed);
}

pub fn has_transferred() -> bool {
    !FRESH.load(Relaxed)
}

/// Reads `/proc/self/io`: calls that read and write.
fn transfers() -> i64 {
    let mut bytes = [0_u8; 256];
    // SAFETY: a descriptor and a buffer of our own.
    let count = unsafe {
        let path = c"/proc/thread-self/io";
        let file =
            syscall(number::OPENAT, AT_FDCWD as c_long, path.as_ptr(), O_CLOEXEC as c_long, 0 as c_long);
        if file < 0 {
            return -1;
        }
        let count = syscall(number::READ, file, bytes.as_mut_ptr(), bytes.len());
        syscall(number::CLOSE, file);
        count
    };
    let mut sum = 0;
    let text = bytes.get(..usize::try_from(count).unwrap_or(0)).unwrap_or(&[]);
    for line in text.split(|byte| *byte == b'\n') {
        let Some(rest) = line.strip_prefix(b"syscr: ").or(line.strip_prefix(b"syscw: ")) else { continue };
        sum += rest.iter().fold(0_i64, |all, digit| all * 10 + i64::from(digit - b'0'));
    }
    sum
}

pub fn link<'a>(directory: c_int, path: &CStr, out: &'a mut [u8]) -> &'a [u8] {
    // SAFETY: a buffer of our own.
    let count = unsafe {
        syscall(number::READLINKAT, directory as c_long, path.as_ptr(), out.as_mut_ptr(), out.len())
    };
    out.get(..usize::try_from(count).unwrap_or(0)).unwrap_or(&[])
}

/// The working directory.
fn working_directory(out: &mut [u8; LONGEST_NAME]) -> &[u8] {
    // SAFETY: a buffer of our own.
    let count = unsafe { syscall(number::GETCWD, out.as_mut_ptr(), out.len()) };
    match usize::try_from(count) {
        // With its NUL. That of a directory outside of the process's root has another beginning.
        Ok(count) if count > 1 && out[0] == b'/' => &out[..count - 1],
        Ok(_) | Err(_) => link(AT_FDCWD, c"/proc/self/cwd", out),
    }
}

/// What a record with its two looks at the clock costs, in nanoseconds: the least of four means. The least of all processes counts.
fn cost() -> i64 {
    const ROUNDS: u64 = 16;
    let mut least = i64::MAX;
    let ring = ring();
    for _ in 0..4 {
        let begin = now();
        for _ in 0..ROUNDS {
            done(Kind::Calibration, now(), 0, [0; 4], [&[], &[]]);
        }
        least = least.min((now().wrapping_sub(begin) / ROUNDS) as i64);
    }
    if !ring.is_null() {
        // SAFETY: the ring is this thread's, and holds no other records yet.
        unsafe { take_back(ring) }
    }
    least
}

unsafe extern "C" fn begin() {
    // SAFETY: runs once, before the application; the environment is that of the process.
    unsafe {
        keep_counter(getenv(c"LASTRANK_COUNTER".as_ptr()));
        let began = now();
        if !SPOOL.keep(getenv(c"LASTRANK_SPOOL".as_ptr())) {
            return;
        }
        SPOOL_IN_MEMORY.keep(getenv(c"LASTRANK_SPOOL_MEMORY".as_ptr()));
        let mut key = 0;
        if pthread_key_create(&mut key, Some(thread_ends)) != 0 {
            return;
        }
        KEY.store(key, Relaxed);
        // Of no library: this one is never unloaded.
        __register_atfork(None, None, Some(forked), null());
        let (mut name, mut here) = ([0_u8; LONGEST_NAME], [0_u8; LONGEST_NAME]);
        let name = link(AT_FDCWD, c"/proc/self/exe", &mut name);
        let here = working_directory(&mut here);
        let parent = syscall(number::GETPPID);
        let descends = DESCENT.is_told(getenv(c"LASTRANK_PROCESS".as_ptr()), parent);
        let cost = cost();
        put(Kind::Begin, (now(), 0), (0, 0), [parent, transfers(), cost, 0], [name, here]);
        if !descends {
            inherited();
        }
        LOADED_BEFORE.store(loaded(), Relaxed);
        stdio::stand_before();
        put_own(began);
        set_errno(0);
    }
}

/// How many libraries the dynamic linker had loaded when the process began; `u64::MAX` in a child of `fork`.
static LOADED_BEFORE: AtomicU64 = AtomicU64::new(u64::MAX);
/// How many it has loaded since, each with a read that nothing here sees. Known at the end.
static LOADED: AtomicU64 = AtomicU64::new(0);

/// How many libraries the dynamic linker has loaded in this process. Only where it runs constructors and destructors: it takes its
/// lock, which another thread may hold elsewhere.
fn loaded() -> u64 {
    /// Where the count of loads lies in what `dl_iterate_phdr` gives.
    const LOADS: usize = 32;
    unsafe extern "C" fn first(object: *mut c_void, _: usize, count: *mut c_void) -> c_int {
        // SAFETY: the C library's structure, and the number below.
        unsafe { *count.cast::<u64>() = *object.byte_add(LOADS).cast::<u64>() };
        1
    }
    let mut count = 0_u64;
    // SAFETY: the number lives until the call is over.
    unsafe { dl_iterate_phdr(first, (&raw mut count).cast()) };
    count
}

unsafe extern "C" fn end() {
    let before = LOADED_BEFORE.load(Relaxed);
    if before != u64::MAX {
        LOADED.store(loaded().saturating_sub(before), Relaxed);
    }
    stdio::ENDED.store(true, Relaxed);
    ended();
}

/// Records that the process ends. Where it is recorded more than once, the last time counts.
pub fn ended() {
    crate::submissions::ending();
    let (count, took) = counted();
    put(Kind::End, (now(), 0), (0, 0), [count, took, LOADED.load(Relaxed) as i64, 0], [&[], &[]]);
}

unsafe extern "C" fn thread_ends(ring: *mut c_void) {
    // SAFETY: the value of the key is null while its destructor runs; it is set once more to write the last record.
    unsafe {
        let key = KEY.load(Relaxed);
        pthread_setspecific(key, ring);
        let (count, took) = counted();
        put(Kind::ThreadEnd, (now(), 0), (0, 0), [count, took, 0, 0], [&[], &[]]);
        pthread_setspecific(key, null_mut());
    }
}

unsafe extern "C" fn forked() {
    let key = KEY.load(Relaxed);
    // SAFETY: in the child, which has this thread alone; its parent's ring is left alone.
    unsafe {
        let began = now();
        LOADED_BEFORE.store(u64::MAX, Relaxed);
        FRESH.store(true, Relaxed);
        crate::submissions::forget();
        pthread_setspecific(key, null_mut());
        let parent = syscall(number::GETPPID);
        put(Kind::Forked, (began, 0), (0, 0), [parent, 0, 0, 0], [&[], &[]]);
        DESCENT.tell();
        put_own(began);
    }
}

/// What `waitid` says of a child: where its number lies in `siginfo_t`.
const CHILD: usize = 16;

#[unsafe(export_name = "waitid")]
pub unsafe extern "C" fn wait_id(kind: c_int, which: c_uint, found: *mut c_void, options: c_int) -> c_int {
    type WaitId = unsafe extern "C" fn(c_int, c_uint, *mut c_void, c_int) -> c_int;
    let real = real!("waitid" as WaitId);
    let start = now();
    // SAFETY: the arguments are the caller's; where a child was found, Linux has filled in the structure, if there is one.
    unsafe {
        let result = real(kind, which, found, options);
        let child =
            if result == 0 && !found.is_null() { *found.byte_add(CHILD).cast::<c_int>() } else { result };
        done(Kind::Wait, start, i64::from(child), [0; 4], [&[], &[]]);
        result
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: unsafe extern "C" fn() = begin;
#[used]
#[unsafe(link_section = ".fini_array")]
static END: unsafe extern "C" fn() = end;
