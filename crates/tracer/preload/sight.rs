//! What names referred to before calls change it.

use core::ffi::{c_int, c_long};

use crate::functions::{AT_SYMLINK_NOFOLLOW, Path, STAT_BYTES, attributes};
use crate::{Head, Kind, O_CREAT, Ring, errno, now, number, put, ring, set_errno, syscall, text};

/// `O_CREAT|O_EXCL`
const NEW: c_int = O_CREAT | 0o200;
const EEXIST: c_int = 17;

/// As [`sight`], before a file is opened. What a call makes that makes only new files was not there.
pub unsafe fn sight_of_open(directory: c_int, name: Path, flags: c_int) {
    if flags & NEW != NEW {
        // SAFETY: as `sight`.
        unsafe { sight(directory, name) }
    }
}

/// What is recorded of a file that was opened, or was not since one of its name was there: then that is looked at now.
pub unsafe fn opened(result: i64, numbers: [i64; 4], name: Path) -> [i64; 4] {
    let [directory, flags, ..] = numbers;
    if result < 0 && errno() == EEXIST && flags as c_int & NEW == NEW {
        // SAFETY: as `sight`.
        unsafe { sight(directory as c_int, name) }
    }
    numbers
}

/// Records what a name refers to before a call changes it, unless the record before is of a call that told it.
pub unsafe fn sight(directory: c_int, name: Path) {
    let ring = ring();
    // SAFETY: the ring is this thread's, and the name the caller's.
    unsafe {
        if !ring.is_null() && !name.is_null() && !was_told(ring, directory, name) {
            look(directory, name);
        }
    }
}

/// Records what a name refers to.
pub unsafe fn look(directory: c_int, name: Path) {
    if ring().is_null() || name.is_null() {
        return;
    }
    let mut found = [0_u64; STAT_BYTES / 8];
    let (before, began) = (errno(), now());
    // SAFETY: `found` has the size of a `struct stat`.
    unsafe {
        let flags = AT_SYMLINK_NOFOLLOW as c_long;
        let gone = syscall(number::NEWFSTATAT, directory as c_long, name, found.as_mut_ptr(), flags) != 0;
        let (mode, size) = if gone { (0, 0) } else { attributes(found.as_ptr().cast()) };
        set_errno(before);
        let ended = now();
        let took = ended.wrapping_sub(began) as i64;
        put(Kind::Sight, (ended, 0), (0, 0), [i64::from(directory), mode, size, took], [text(name), &[]]);
    }
}

/// Whether the last record is of a `stat` of this name: what there is was told by it.
///
/// # Safety
/// The ring belongs to this thread, and the name ends in NUL.
unsafe fn was_told(ring: *mut Ring, directory: c_int, name: Path) -> bool {
    // SAFETY: the last record lies whole in the chunk, its name behind its head.
    unsafe {
        if (*ring).last == 0 {
            return false;
        }
        let place = (*ring).chunk.add((*ring).last);
        let head: *const Head = place.cast();
        (*head).kind == Kind::Stat as u16
            && (*head).a == i64::from(directory)
            && core::slice::from_raw_parts(place.add(size_of::<Head>()), (*head).one.into()) == text(name)
    }
}
