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
