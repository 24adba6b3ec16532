//! System calls that change attributes of files: of a name, of what a descriptor holds, of an open file.

use std::ffi::CStr;

use samples::Outcome;

use super::calls::retry;

/// Changes the permissions.
#[inline(always)]
pub fn chmod(path: &CStr, mode: u32) -> Outcome {
    // SAFETY: the path is NUL-terminated.
    retry(|| i64::from(unsafe { libc::chmod(path.as_ptr(), mode) }))
}

/// Changes the permissions of what is held by a descriptor, also by one that can neither read nor write.
#[inline(always)]
pub fn fchmodat2(fd: i32, mode: u32) -> Outcome {
    // SAFETY: the path is NUL-terminated, and empty: what is meant is the descriptor.
    retry(|| unsafe { libc::syscall(libc::SYS_fchmodat2, fd, c"".as_ptr(), mode, libc::AT_EMPTY_PATH) })
}

/// Changes the permissions of an open file.
#[inline(always)]
pub fn fchmod(fd: i32, mode: u32) -> Outcome {
    // SAFETY: a plain call.
    retry(|| i64::from(unsafe { libc::fchmod(fd, mode) }))
}

/// Gives a file to a user and a group.
#[inline(always)]
pub fn chown(path: &CStr, (user, group): (u32, u32)) -> Outcome {
    // SAFETY: the path is NUL-terminated.
    retry(|| i64::from(unsafe { libc::chown(path.as_ptr(), user, group) }))
}

/// As [`chown`], of what is held by a descriptor, also by one that can neither read nor write.
#[inline(always)]
pub fn chown_held(fd: i32, (user, group): (u32, u32)) -> Outcome {
    // SAFETY: the path is NUL-terminated, and empty: what is meant is the descriptor.
    retry(|| i64::from(unsafe { libc::fchownat(fd, c"".as_ptr(), user, group, libc::AT_EMPTY_PATH) }))
}

/// As [`chown`], of an open file.
#[inline(always)]
pub fn fchown(fd: i32, (user, group): (u32, u32)) -> Outcome {
    // SAFETY: a plain call.
    retry(|| i64::from(unsafe { libc::fchown(fd, user, group) }))
}

/// The times of access and of change: now, by the kernel's own clock, which is read nowhere else for it.
const NOW: [libc::timespec; 2] = [libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW }; 2];

/// Sets the times of access and of change to now.
#[inline(always)]
pub fn utimes(path: &CStr) -> Outcome {
    // SAFETY: the path is NUL-terminated, `NOW` are two times.
    retry(|| i64::from(unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), NOW.as_ptr(), 0) }))
}

/// As [`utimes`], of what is held by a descriptor, also by one that can neither read nor write.
#[inline(always)]
pub fn utimes_held(fd: i32) -> Outcome {
    // SAFETY: the path is NUL-terminated, and empty: what is meant is the descriptor; `NOW` are two times.
    retry(|| i64::from(unsafe { libc::utimensat(fd, c"".as_ptr(), NOW.as_ptr(), libc::AT_EMPTY_PATH) }))
}

/// As [`utimes`], of an open file.
#[inline(always)]
pub fn futimes(fd: i32) -> Outcome {
    // SAFETY: `NOW` are two times.
    retry(|| i64::from(unsafe { libc::futimens(fd, NOW.as_ptr()) }))
}

/// The largest value of an extended attribute.
const LARGEST: usize = 64 << 10;

/// What extended attributes hold.
static VALUE: [u8; LARGEST] = [b'x'; LARGEST];

/// Gives an extended attribute a value of so many bytes, or removes it where there is no size.
#[inline(always)]
pub fn set_extended(path: &CStr, key: &CStr, size: Option<u64>) -> Outcome {
    let (path, key) = (path.as_ptr(), key.as_ptr());
    match size.map(usize::try_from) {
        // SAFETY: both names are NUL-terminated.
        None => retry(|| i64::from(unsafe { libc::removexattr(path, key) })),
        Some(Ok(size)) if size <= LARGEST => {
            // SAFETY: as above, and the value has so many bytes.
            retry(|| i64::from(unsafe { libc::setxattr(path, key, VALUE.as_ptr().cast(), size, 0) }))
        }
        Some(_) => Outcome::error(libc::E2BIG),
    }
}

/// As [`set_extended`], of what is held by a descriptor, also by one that can neither read nor write: Linux takes such a one
/// by its name in `/proc` alone.
#[inline(always)]
pub fn set_extended_held(fd: i32, key: &CStr, size: Option<u64>) -> Outcome {
    const BEGIN: &[u8] = b"/proc/self/fd/";
    const DIGITS: usize = 10;
    let mut name = [0_u8; BEGIN.len() + DIGITS + 1];
    name[..BEGIN.len()].copy_from_slice(BEGIN);
    let mut power = 10_i32.pow(DIGITS as u32 - 1);
    for digit in name.iter_mut().skip(BEGIN.len()).take(DIGITS) {
        // Zeros before a number would be another name: these are slashes, of which several are one.
        *digit = if fd < power && power > 1 { b'/' } else { b'0' + (fd / power % 10) as u8 };
        power /= 10;
    }
    match CStr::from_bytes_until_nul(&name) {
        Ok(name) => set_extended(name, key, size),
        Err(_) => Outcome::error(libc::EBADF),
    }
}

/// As [`set_extended`], of an open file.
#[inline(always)]
pub fn set_extended_open(fd: i32, key: &CStr, size: Option<u64>) -> Outcome {
    let key = key.as_ptr();
    match size.map(usize::try_from) {
        // SAFETY: the name is NUL-terminated.
        None => retry(|| i64::from(unsafe { libc::fremovexattr(fd, key) })),
        Some(Ok(size)) if size <= LARGEST => {
            // SAFETY: as above, and the value has so many bytes.
            retry(|| i64::from(unsafe { libc::fsetxattr(fd, key, VALUE.as_ptr().cast(), size, 0) }))
        }
        Some(_) => Outcome::error(libc::E2BIG),
    }
}

/// Reads an extended attribute, into no memory: its size.
#[inline(always)]
pub fn extended(path: &CStr, key: &CStr) -> Outcome {
    // SAFETY: both names are NUL-terminated, and nothing is written.
    retry(|| unsafe { libc::getxattr(path.as_ptr(), key.as_ptr(), std::ptr::null_mut(), 0) } as i64)
}

/// As [`extended`], of an open file.
#[inline(always)]
pub fn extended_open(fd: i32, key: &CStr) -> Outcome {
    // SAFETY: the name is NUL-terminated, and nothing is written.
    retry(|| unsafe { libc::fgetxattr(fd, key.as_ptr(), std::ptr::null_mut(), 0) } as i64)
}
