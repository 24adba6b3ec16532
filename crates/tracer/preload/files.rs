//! The files of records: their names, and where they are mapped.

use core::ffi::{c_char, c_int, c_long};
use core::ptr::null_mut;

use crate::{
    AT_FDCWD, CHUNK, FIRST_STEP, O_CLOEXEC, O_CREAT, PAGE, STEP, copy, digits, errno, length, number,
    set_errno, syscall,
};

/// So many chunks of a thread lie in memory: there a process begins in a third of the time that it takes on ext4, which makes
/// files and pages of them slowly and journals them with the application's.
const IN_MEMORY: usize = 16;
/// They do while so many bytes of that file system are free, and half of it: others need it, too.
const LEFT_IN_MEMORY: u64 = 1 << 30;

/// Most bytes of the name of a thread's file, its NUL included.
pub const LONGEST_PATH: usize = 480;

/// Most bytes of a directory's name, its NUL included.
const LONGEST_SPOOL: usize = 401;

/// A directory's name. A copy: programs write over their environment (setproctitle).
pub struct SpoolName(core::cell::UnsafeCell<[u8; LONGEST_SPOOL]>);

// SAFETY: it is written once, before the program has a second thread.
unsafe impl Sync for SpoolName {}

impl SpoolName {
    const fn new() -> Self {
        Self(core::cell::UnsafeCell::new([0; LONGEST_SPOOL]))
    }

    /// Keeps a name; false where it is too long, or none.
    ///
    /// # Safety
    /// It ends in NUL where it is not null, and no other thread runs.
    pub unsafe fn keep(&self, name: *const c_char) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let count = length(name.cast(), LONGEST_SPOOL);
            let fits = count > 0 && count < LONGEST_SPOOL;
            if fits {
                copy(name.cast(), self.0.get().cast(), count);
            }
            fits
        }
    }

    /// The name of a thread's file in it, which began at `began`.
    ///
    /// # Safety
    /// Nobody keeps a name meanwhile.
    pub unsafe fn file(&self, process: u32, thread: u32, began: u64) -> [u8; LONGEST_PATH] {
        let mut path = [0_u8; LONGEST_PATH];
        // SAFETY: the caller's promise; the name ends in NUL.
        let mut at = unsafe {
            let own = self.0.get().cast::<u8>();
            let count = length(own, LONGEST_SPOOL - 1);
            copy(own, path.as_mut_ptr(), count);
            count
        };
        path[at] = b'/';
        at = digits(&mut path, at + 1, u64::from(process));
        path[at] = b'.';
        at = digits(&mut path, at + 1, u64::from(thread));
        path[at] = b'.';
        digits(&mut path, at + 1, began);
        path
    }

    /// Whether there is such a directory.
    pub fn is_known(&self) -> bool {
        // SAFETY: it was written before.
        unsafe { *self.0.get().cast::<u8>() != 0 }
    }
}

/// The directory on a disk.
pub static SPOOL: SpoolName = SpoolName::new();
/// The directory in memory.
pub static SPOOL_IN_MEMORY: SpoolName = SpoolName::new();

/// What `fstatfs` fills in.
#[repr(C)]
struct FileSystem {
    kind: i64,
    block: i64,
    blocks: u64,
    free: u64,
    available: u64,
    more: [u64; 10],
}

/// Whether there is room for a chunk in the file system in memory of an open file.
unsafe fn has_room(file: c_long) -> bool {
    let mut found = FileSystem { kind: 0, block: 0, blocks: 0, free: 0, available: 0, more: [0; 10] };
    // SAFETY: the structure has room for what Linux writes.
    let known = unsafe { syscall(number::FSTATFS, file, &raw mut found) } == 0;
    let left = found.available.saturating_mul(found.block as u64);
    known && left >= LEFT_IN_MEMORY && found.available >= found.blocks / 2
}

/// Makes pages that may be written; false where the file system is full. To write to one of a full file system would end the
/// application (SIGBUS).
///
/// # Safety
/// `at` is the beginning of a page, and `bytes` behind it are mapped, whole pages, and hold nothing.
pub unsafe fn reserve(at: *mut u8, bytes: usize) -> bool {
    const POPULATE_WRITE: c_long = 23;
    const EINVAL: c_int = 22;
    let before = errno();
    // SAFETY: the caller's promise.
    unsafe {
        if syscall(number::MADVISE, at, bytes, POPULATE_WRITE) == 0 {
            return true;
        }
        let older_than_linux_5_14 = errno() == EINVAL;
        set_errno(before);
        if older_than_linux_5_14 {
            for page in (0..bytes).step_by(PAGE) {
                at.add(page).write_volatile(0);
            }
        }
        older_than_linux_5_14
    }
}

/// Maps chunk `number` of the file at `path` and reserves a first step of it; null where that fails, or where memory is wanted for
/// other things.
pub unsafe fn chunk(path: *const u8, number: usize, in_memory: bool) -> *mut u8 {
    if in_memory && number >= IN_MEMORY {
        return null_mut();
    }
    // SAFETY: plain system calls on a descriptor of our own.
    unsafe {
        let flags: c_int = 2 | O_CREAT | O_CLOEXEC;
        let file = syscall(number::OPENAT, AT_FDCWD as c_long, path, flags as c_long, 0o600 as c_long);
        if file < 0 {
            return null_mut();
        }
        let end = (number + 1) * CHUNK;
        let mut map = -1;
        if (!in_memory || has_room(file)) && syscall(number::FTRUNCATE, file, end) == 0 {
            map = syscall(number::MMAP, 0_usize, CHUNK, 3 as c_long, 1 as c_long, file, number * CHUNK);
        }
        syscall(number::CLOSE, file);
        if map == -1 {
            return null_mut();
        }
        if !reserve(map as *mut u8, if number == 0 { FIRST_STEP } else { STEP }) {
            syscall(number::MUNMAP, map, CHUNK);
            return null_mut();
        }
        map as *mut u8
    }
}
