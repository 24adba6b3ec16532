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

/// Now, as times of access and of change: explicit, as those are that programs give which copy or unpack files.
#[inline(always)]
fn now_twice() -> [libc::timespec; 2] {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &mut now) };
    [now; 2]
}

/// Sets the times of access and of change to now.
#[inline(always)]
pub fn utimes(path: &CStr) -> Outcome {
    let times = now_twice();
    // SAFETY: the path is NUL-terminated, `times` are two times.
    retry(|| i64::from(unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), times.as_ptr(), 0) }))
}

/// As [`utimes`], of what is held by a descriptor, also by one that can neither read nor write.
#[inline(always)]
pub fn utimes_held(fd: i32) -> Outcome {
    let times = now_twice();
    // SAFETY: the path is NUL-terminated, and empty: what is meant is the descriptor; `times` are two times.
    retry(|| i64::from(unsafe { libc::utimensat(fd, c"".as_ptr(), times.as_ptr(), libc::AT_EMPTY_PATH) }))
}

/// As [`utimes`], of an open file.
#[inline(always)]
pub fn futimes(fd: i32) -> Outcome {
    let times = now_twice();
    // SAFETY: `times` are two times.
    retry(|| i64::from(unsafe { libc::futimens(fd, times.as_ptr()) }))
}
