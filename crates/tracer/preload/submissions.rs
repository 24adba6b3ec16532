//! Transfers that are submitted and complete later: none is recorded, but how many there were is told.
//!
//! Functions of liburing and libaio say what they submitted. Of rings that a program drives itself Linux knows the count, as long
//! as they are open.

use core::ffi::{c_int, c_long, c_uint, c_void};
use core::sync::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};

use crate::functions::{Buffer, NO, n};
use crate::{AT_FDCWD, Kind, O_CLOEXEC, digits, done, errno, now, number, put, set_errno, syscall};

/// Where the queue of submissions is mapped from (linux/io_uring.h).
const ENTRIES: i64 = 0x1000_0000;
/// So many rings of a process are known at once.
const MOST: usize = 16;

/// A ring: its descriptor and one, and how many of its submissions were told.
struct Ring {
    file: AtomicU32,
    told: AtomicI64,
}

static RINGS: [Ring; MOST] = [const { Ring { file: AtomicU32::new(0), told: AtomicI64::new(0) } }; MOST];
/// What functions of liburing told.
static TOLD: AtomicI64 = AtomicI64::new(0);

/// The numbers of a record of `mmap`. One of the queue of a ring tells that there is one.
pub fn mapped(file: c_int, size: usize, is_shared_for_writing: bool, at: i64) -> [i64; 4] {
    if at == ENTRIES && file >= 0 {
        let free = |ring: &&Ring| ring.file.load(Relaxed) == 0;
        if !RINGS.iter().any(|ring| ring.file.load(Relaxed) == file as u32 + 1)
            && let Some(ring) = RINGS.iter().find(free)
        {
            ring.told.store(0, Relaxed);
            ring.file.store(file as u32 + 1, Relaxed);
        }
    }
    [n(file), size as i64, n(is_shared_for_writing), 0]
}

/// A descriptor is about to be closed.
pub fn closing(file: c_int) {
    for ring in RINGS.iter().filter(|ring| file >= 0 && ring.file.load(Relaxed) == file as u32 + 1) {
        tell(ring);
        ring.file.store(0, Relaxed);
    }
}

/// The process ends, or becomes another program.
pub fn ending() {
    RINGS.iter().filter(|ring| ring.file.load(Relaxed) != 0).for_each(tell);
}

/// The process was made by `fork`: what its parent submitted is the parent's.
pub fn forget() {
    RINGS.iter().for_each(|ring| ring.file.store(0, Relaxed));
}

fn tell(ring: &Ring) {
    let before = errno();
    let all = submissions(ring.file.load(Relaxed) - 1).saturating_sub(TOLD.load(Relaxed));
    let further = all.saturating_sub(ring.told.load(Relaxed));
    if further > 0 {
        ring.told.store(all, Relaxed);
        put(Kind::Submitted, (now(), 0), (further, 0), [further, 0, 0, 0], NO);
    }
    set_errno(before);
}

/// How many submissions of a ring Linux has taken: `SqHead` of its `fdinfo`; 0 where it does not say.
fn submissions(file: u32) -> i64 {
    const FOLDER: &[u8] = b"/proc/self/fdinfo/";
    let mut path = [0_u8; 40];
    path[..FOLDER.len()].copy_from_slice(FOLDER);
    digits(&mut path, FOLDER.len(), u64::from(file));
    let mut bytes = [0_u8; 512];
    // SAFETY: a name that ends in NUL, and a descriptor and a buffer of our own.
    let count = unsafe {
        let (from, how) = (AT_FDCWD as c_long, O_CLOEXEC as c_long);
        let file = syscall(number::OPENAT, from, path.as_ptr(), how, 0 as c_long);
        if file < 0 {
            return 0;
        }
        let count = syscall(number::READ, file, bytes.as_mut_ptr(), bytes.len());
        syscall(number::CLOSE, file);
        count
    };
    let text = bytes.get(..usize::try_from(count).unwrap_or(0)).unwrap_or(&[]);
    let head = text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"SqHead:"));
    let head = head.unwrap_or(&[]).iter().filter(|byte| byte.is_ascii_digit());
    head.fold(0_i64, |all, digit| all.saturating_mul(10).saturating_add(i64::from(digit - b'0')))
}

/// What a function of liburing submitted.
fn submitted(count: i64) -> [i64; 4] {
    TOLD.fetch_add(count.max(0), Relaxed);
    [count.max(0), 0, 0, 0]
}

stands_before! {
    "io_submit" io_submit(context: usize, count: c_long, blocks: Buffer) -> c_int;
        Kind::Submitted => |r: i64| [r.max(0), 1, 0, 0], |_| NO;
    "io_uring_submit" io_uring_submit(ring: Buffer) -> c_int; Kind::Submitted => submitted, |_| NO;
    "io_uring_submit_and_wait" io_uring_submit_and_wait(ring: Buffer, wait: c_uint) -> c_int;
        Kind::Submitted => submitted, |_| NO;
    "io_uring_submit_and_wait_timeout" io_uring_submit_and_wait_timeout(
        ring: Buffer, done: Buffer, wait: c_uint, time: Buffer, mask: *mut c_void) -> c_int;
        Kind::Submitted => submitted, |_| NO;
    "io_uring_submit_and_get_events" io_uring_submit_and_get_events(ring: Buffer) -> c_int;
        Kind::Submitted => submitted, |_| NO;
}
