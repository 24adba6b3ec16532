//! POSIX system calls, with what came back.
//!
//! Thin and inlined: these functions stand between two clock reads. They make the call, complete short transfers,
//! repeat what a signal interrupted, and say so in the outcome's causes. The frequent ones allocate nothing.

use std::ffi::CStr;

use samples::{Cause, Causes, Outcome};

/// The errno of the call that failed last on this thread.
#[inline(always)]
pub fn errno() -> i32 {
    // SAFETY: the location is valid for the life of the thread.
    unsafe { *libc::__errno_location() }
}

/// Makes a call again as long as a signal interrupts it. `call` returns -1 on failure.
#[inline(always)]
pub fn retry(mut call: impl FnMut() -> i64) -> Outcome {
    let mut causes = Causes::default();
    loop {
        let result = call();
        if result >= 0 {
            return Outcome { value: result as u64, errno: 0, causes };
        }
        let errno = errno();
        if errno != libc::EINTR {
            return Outcome { value: 0, errno, causes };
        }
        causes = causes.with(Cause::Interrupted);
    }
}

/// The outcome of a transfer whose first call returned `first`. Where that was not all, repeats `call(done)`, which moves
/// bytes from position `done` on, until `length` bytes are moved, it fails, or it moves nothing.
///
/// `call` owns what it needs: were that borrowed, it would be written to memory before the first call.
#[inline(always)]
fn complete(length: usize, first: isize, mut call: impl FnMut(usize) -> isize) -> Outcome {
    if first == length as isize {
        return Outcome::value(length as u64);
    }
    complete_slowly(length, first, &mut call)
}

#[cold]
#[inline(never)]
fn complete_slowly(length: usize, mut moved: isize, call: &mut dyn FnMut(usize) -> isize) -> Outcome {
    let mut done = 0usize;
    let mut causes = Causes::default();
    loop {
        match moved {
            0 => return Outcome { value: done as u64, errno: 0, causes },
            n if n > 0 => {
                done += n as usize;
                if done >= length {
                    return Outcome { value: done as u64, errno: 0, causes };
                }
                causes = causes.with(Cause::ShortTransfer);
            }
            _ => match errno() {
                libc::EINTR => causes = causes.with(Cause::Interrupted),
                errno => return Outcome { value: done as u64, errno, causes },
            },
        }
        moved = call(done);
    }
}

/// Writes `length` bytes at the file's position.
///
/// # Safety
/// `from` is readable for `length` bytes.
#[inline(always)]
pub unsafe fn write(fd: i32, from: *const u8, length: usize) -> Outcome {
    // SAFETY: within the caller's range, since `complete` asks for `done <= length` only.
    let call = move |done| unsafe { libc::write(fd, from.add(done).cast(), length - done) };
    complete(length, call(0), call)
}

/// Writes `length` bytes at `offset`.
///
/// # Safety
/// `from` is readable for `length` bytes.
#[inline(always)]
pub unsafe fn pwrite(fd: i32, from: *const u8, length: usize, offset: u64) -> Outcome {
    // SAFETY: as in `write`.
    let call = move |done| unsafe {
        libc::pwrite(fd, from.add(done).cast(), length - done, (offset + done as u64) as libc::off_t)
    };
    complete(length, call(0), call)
}

/// Copies up to `length` bytes from one file to another by one call; each at its offset, or its position.
#[inline(always)]
pub fn copy(from: i32, to: i32, length: usize, offsets: (Option<u64>, Option<u64>)) -> Outcome {
    retry(|| {
        let (mut one, mut other) = offsets;
        let place = |offset: &mut Option<u64>| match offset {
            Some(offset) => std::ptr::from_mut(offset).cast::<libc::off64_t>(),
            None => std::ptr::null_mut(),
        };
        // SAFETY: each offset is null, or a number of 64 bits on this stack.
        unsafe { libc::copy_file_range(from, place(&mut one), to, place(&mut other), length, 0) as i64 }
    })
}

/// Reads `length` bytes from the file's position; fewer at the end of the file.
///
/// # Safety
/// `into` is writable for `length` bytes.
#[inline(always)]
pub unsafe fn read(fd: i32, into: *mut u8, length: usize) -> Outcome {
    // SAFETY: as in `write`.
    let call = move |done| unsafe { libc::read(fd, into.add(done).cast(), length - done) };
    complete(length, call(0), call)
}

/// Reads `length` bytes from `offset`; fewer at the end of the file.
///
/// # Safety
/// `into` is writable for `length` bytes.
#[inline(always)]
pub unsafe fn pread(fd: i32, into: *mut u8, length: usize, offset: u64) -> Outcome {
    // SAFETY: as in `write`.
    let call = move |done| unsafe {
        libc::pread(fd, into.add(done).cast(), length - done, (offset + done as u64) as libc::off_t)
    };
    complete(length, call(0), call)
}

/// Opens a file; the value is the descriptor.
#[inline(always)]
pub fn open(path: &CStr, flags: i32, mode: u32) -> Outcome {
    // SAFETY: the path is NUL-terminated.
    retry(|| i64::from(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, mode) }))
}

/// As [`open`]; ELOOP where a link is on the way or at the end.
#[inline(always)]
pub fn open_straight(path: &CStr, flags: i32, mode: u32) -> Outcome {
    let makes = flags & libc::O_CREAT != 0 || flags & libc::O_TMPFILE == libc::O_TMPFILE;
    // SAFETY: all-zero bytes are a valid `open_how`.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = u64::from((flags | libc::O_CLOEXEC).cast_unsigned());
    // It refuses a mode that nothing needs.
    how.mode = if makes { u64::from(mode & 0o7777) } else { 0 };
    how.resolve = libc::RESOLVE_NO_SYMLINKS;
    // SAFETY: the path is NUL-terminated, and `how` has the size that is said.
    retry(|| unsafe {
        libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path.as_ptr(), &raw const how, size_of_val(&how))
    })
}

/// Closes a descriptor. Its errno counts: this is where a delayed write's failure is told. EINTR is not
/// repeated: on Linux the descriptor is gone all the same.
#[inline(always)]
pub fn close(fd: i32) -> Outcome {
    // SAFETY: the descriptor is the caller's own.
    if unsafe { libc::close(fd) } == 0 { Outcome::default() } else { Outcome::error(errno()) }
}

/// Waits until data and metadata are on the device.
#[inline(always)]
pub fn fsync(fd: i32) -> Outcome {
    // SAFETY: a plain call.
    retry(|| i64::from(unsafe { libc::fsync(fd) }))
}

/// As [`fsync`], without metadata that is not needed to read the data.
#[inline(always)]
pub fn fdatasync(fd: i32) -> Outcome {
    // SAFETY: a plain call.
    retry(|| i64::from(unsafe { libc::fdatasync(fd) }))
}

/// Sets the file's position; the value is the new one.
#[inline(always)]
pub fn seek(fd: i32, offset: i64, whence: i32) -> Outcome {
    // SAFETY: a plain call.
    retry(|| unsafe { libc::lseek(fd, offset, whence) })
}

/// Is there anything of that name? (`access(F_OK)`)
#[inline(always)]
pub fn lookup(path: &CStr) -> Outcome {
    // SAFETY: the path is NUL-terminated.
    retry(|| i64::from(unsafe { libc::access(path.as_ptr(), libc::F_OK) }))
}

/// Asks for a file's metadata; the value is its size.
#[inline(always)]
pub fn stat(path: &CStr) -> Outcome {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path is NUL-terminated, `found` has the room.
    let mut outcome = retry(|| i64::from(unsafe { libc::stat(path.as_ptr(), found.as_mut_ptr()) }));
    if outcome.ok() {
        // SAFETY: the successful call filled it.
        outcome.value = unsafe { found.assume_init_ref() }.st_size as u64;
    }
    outcome
}

/// The size of an open file.
#[inline(always)]
pub fn size(fd: i32) -> Outcome {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `found` has the room.
    let mut outcome = retry(|| i64::from(unsafe { libc::fstat(fd, found.as_mut_ptr()) }));
    if outcome.ok() {
        // SAFETY: the successful call filled it.
        outcome.value = unsafe { found.assume_init_ref() }.st_size as u64;
    }
    outcome
}

/// Removes a file, never a directory.
#[inline(always)]
pub fn unlink(path: &CStr) -> Outcome {
    // SAFETY: the path is NUL-terminated.
    retry(|| i64::from(unsafe { libc::unlink(path.as_ptr()) }))
}

/// Removes an empty directory.
#[inline(always)]
pub fn rmdir(path: &CStr) -> Outcome {
    // SAFETY: the path is NUL-terminated.
    retry(|| i64::from(unsafe { libc::rmdir(path.as_ptr()) }))
}

/// Makes a directory.
#[inline(always)]
pub fn mkdir(path: &CStr, mode: u32) -> Outcome {
    // SAFETY: the path is NUL-terminated.
    retry(|| i64::from(unsafe { libc::mkdir(path.as_ptr(), mode) }))
}

/// Renames, replacing what has the new name.
#[inline(always)]
pub fn rename(from: &CStr, to: &CStr) -> Outcome {
    // SAFETY: both paths are NUL-terminated.
    retry(|| i64::from(unsafe { libc::rename(from.as_ptr(), to.as_ptr()) }))
}

/// Renames where nothing has the new name.
#[inline(always)]
pub fn rename_to_free(from: &CStr, to: &CStr) -> Outcome {
    let (here, how) = (libc::AT_FDCWD, libc::RENAME_NOREPLACE);
    // SAFETY: both paths are NUL-terminated.
    let call = || unsafe { libc::syscall(libc::SYS_renameat2, here, from.as_ptr(), here, to.as_ptr(), how) };
    #[allow(clippy::useless_conversion)] // the width of the result differs between architectures
    match retry(|| i64::from(call())) {
        // Before Linux 3.15, or in a container.
        outcome if outcome.errno == libc::ENOSYS => Outcome::error(libc::EINVAL),
        outcome => outcome,
    }
}

/// A second name for a file.
#[inline(always)]
pub fn link(from: &CStr, to: &CStr) -> Outcome {
    // SAFETY: both paths are NUL-terminated.
    retry(|| i64::from(unsafe { libc::link(from.as_ptr(), to.as_ptr()) }))
}

/// A symbolic link `path` that leads to `target`.
#[inline(always)]
pub fn symlink(target: &CStr, path: &CStr) -> Outcome {
    // SAFETY: both paths are NUL-terminated.
    retry(|| i64::from(unsafe { libc::symlink(target.as_ptr(), path.as_ptr()) }))
}

/// Sets the length of an open file.
#[inline(always)]
pub fn ftruncate(fd: i32, length: u64) -> Outcome {
    // SAFETY: a plain call.
    retry(|| i64::from(unsafe { libc::ftruncate(fd, length as libc::off_t) }))
}

/// Reserves room for an open file. `mode` 0 also extends it.
#[inline(always)]
pub fn fallocate(fd: i32, mode: i32, offset: u64, length: u64) -> Outcome {
    // SAFETY: a plain call.
    retry(|| i64::from(unsafe { libc::fallocate(fd, mode, offset as libc::off_t, length as libc::off_t) }))
}

/// Advice about future reads (`POSIX_FADV_*`). The call returns its errno.
#[inline(always)]
pub fn fadvise(fd: i32, offset: u64, length: u64, advice: i32) -> Outcome {
    // SAFETY: a plain call.
    Outcome::error(unsafe { libc::posix_fadvise(fd, offset as libc::off_t, length as libc::off_t, advice) })
}

/// Bytes of an open file that the page cache holds: `cachestat(2)` of Linux 6.5, `mincore(2)` before.
pub fn cached(fd: i32) -> Outcome {
    /// The number of the call, the same on all architectures.
    const CACHESTAT: libc::c_long = 451;
    // SAFETY: asks for a number.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let all = size(fd);
    if !all.ok() || all.value == 0 {
        return all;
    }
    // From the beginning to the end, in bytes; five counts: cached, dirty, being written, evicted twice.
    let (range, mut counts) = ([0u64, 0], [0u64; 5]);
    // SAFETY: `range` can be read and `counts` has room for the answer.
    if unsafe { libc::syscall(CACHESTAT, fd, range.as_ptr(), counts.as_mut_ptr(), 0) } == 0 {
        return Outcome::value((counts[0] * page).min(all.value));
    }
    let Ok(length) = usize::try_from(all.value) else { return Outcome::error(libc::EFBIG) };
    resident(fd, length, page)
}

/// As [`cached`], before Linux 6.5.
#[cold]
fn resident(fd: i32, length: usize, page: u64) -> Outcome {
    // SAFETY: a new mapping of an open file at a place the kernel chooses; nothing in it is touched.
    let mapped =
        unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, fd, 0) };
    if mapped == libc::MAP_FAILED {
        return Outcome::error(errno());
    }
    // So many pages at a time, that no memory has to be asked for.
    let (mut there, mut pages, mut failed) = ([0u8; 4096], 0, 0);
    let piece = there.len() * page as usize;
    for begin in (0..length).step_by(piece) {
        let bytes = piece.min(length - begin);
        // SAFETY: within the mapping, with a byte of room for each of its pages.
        if unsafe { libc::mincore(mapped.byte_add(begin), bytes, there.as_mut_ptr()) } != 0 {
            failed = errno();
            break;
        }
        let looked_at = &there[..bytes.div_ceil(page as usize)];
        pages += looked_at.iter().filter(|byte| **byte & 1 != 0).count() as u64;
    }
    // SAFETY: the mapping made above, not used after.
    unsafe { libc::munmap(mapped, length) };
    if failed == 0 { Outcome::value((pages * page).min(length as u64)) } else { Outcome::error(failed) }
}

/// What `O_DIRECT` asks sizes and offsets to be multiples of, in bytes, and 0 where it is not possible:
/// `statx(2)` of Linux 6.1 knows, before that the file is opened once more to see.
pub fn direct_alignment(fd: i32) -> Outcome {
    const DIRECT_ALIGN: u32 = 0x2000;
    // SAFETY: all-zero bytes are a valid `statx`.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: the empty path ends in zero, `found` is a valid place to write to.
    let asked = unsafe { libc::statx(fd, c"".as_ptr(), libc::AT_EMPTY_PATH, DIRECT_ALIGN, &mut found) };
    if asked == 0 && found.stx_mask & DIRECT_ALIGN != 0 {
        return Outcome::value(found.stx_dio_offset_align.into());
    }
    let name = descriptor_name(fd);
    // SAFETY: `name` ends in zero; the descriptor is closed right after.
    let again =
        unsafe { libc::open(name.as_ptr().cast(), libc::O_RDONLY | libc::O_DIRECT | libc::O_CLOEXEC) };
    match again {
        0.. => {
            // SAFETY: the descriptor was opened here and is used no more.
            unsafe { libc::close(again) };
            Outcome::value(4096)
        }
        _ if errno() == libc::EINVAL => Outcome::value(0),
        // A file that may be written but not read is fine here.
        _ => Outcome::value(4096),
    }
}

/// `/proc/self/fd/N` with a NUL behind it, without asking for memory.
fn descriptor_name(fd: i32) -> [u8; 32] {
    let mut name = [0; 32];
    let before = b"/proc/self/fd/";
    name[..before.len()].copy_from_slice(before);
    let digits = fd.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1;
    let mut rest = fd.unsigned_abs();
    for place in (before.len()..before.len() + digits).rev() {
        name[place] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    name
}

/// Maps a file, touches one byte of each page, unmaps it; the value is the number of bytes.
pub fn map(fd: i32, length: usize, offset: u64) -> Outcome {
    if length == 0 {
        return Outcome::default();
    }
    // SAFETY: a new read-only mapping touches no other memory; the result is checked.
    let base = unsafe {
        let null = std::ptr::null_mut();
        libc::mmap(null, length, libc::PROT_READ, libc::MAP_SHARED, fd, offset as libc::off_t)
    };
    if base == libc::MAP_FAILED {
        return Outcome::error(errno());
    }
    for at in (0..length).step_by(4096) {
        // SAFETY: inside the mapping; the caller made sure that the file reaches as far.
        std::hint::black_box(unsafe { base.cast::<u8>().add(at).read_volatile() });
    }
    // SAFETY: the mapping just made, not used after.
    unsafe { libc::munmap(base, length) };
    Outcome::value(length as u64)
}

/// A second descriptor of the same open file.
pub fn duplicate(fd: i32) -> Outcome {
    // SAFETY: a plain call on a descriptor.
    retry(|| i64::from(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) }))
}

/// Writes the data of all file systems back.
pub fn sync_all() -> Outcome {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::sync() };
    Outcome::default()
}

/// Empties the page cache, the directory cache and the inode cache of the machine.
pub fn drop_caches() -> Outcome {
    let opened = open(c"/proc/sys/vm/drop_caches", libc::O_WRONLY, 0);
    if !opened.ok() {
        return opened;
    }
    let fd = opened.value as i32;
    // SAFETY: one byte of a literal.
    let wrote = unsafe { write(fd, b"3".as_ptr(), 1) };
    close(fd);
    Outcome { value: 0, ..wrote }
}

/// Reads a whole directory; the value is the number of names in it, `.` and `..` left out.
pub fn readdir(path: &CStr) -> Outcome {
    // SAFETY: the path is NUL-terminated.
    let directory = unsafe { libc::opendir(path.as_ptr()) };
    if directory.is_null() {
        return Outcome::error(errno());
    }
    let mut names = 0u64;
    let errno = loop {
        // SAFETY: errno's location is valid; the stream is open and used by this thread only.
        let entry = unsafe {
            *libc::__errno_location() = 0;
            libc::readdir(directory)
        };
        if entry.is_null() {
            break errno();
        }
        names += 1;
    };
    // SAFETY: open and not used after.
    unsafe { libc::closedir(directory) };
    Outcome { value: names.saturating_sub(2), errno, ..Outcome::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_has_its_name() {
        for (fd, name) in
            [(0, "/proc/self/fd/0"), (10, "/proc/self/fd/10"), (i32::MAX, "/proc/self/fd/2147483647")]
        {
            let made = descriptor_name(fd);
            assert_eq!(CStr::from_bytes_until_nul(&made).map(CStr::to_bytes), Ok(name.as_bytes()));
        }
    }

    #[test]
    fn pages_in_memory_are_counted_by_both_ways() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), vec![1; 3 * 4096 + 5]).expect("room");
        let fd = std::os::fd::AsRawFd::as_raw_fd(file.as_file());
        assert_eq!(resident(fd, 3 * 4096 + 5, 4096).value, 3 * 4096 + 5);
        assert_eq!(cached(fd).value, 3 * 4096 + 5);
    }
}
