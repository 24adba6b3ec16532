//! What do the calls cost in a loop that does nothing else?

use std::ffi::CString;
use std::io::{Read, Seek};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use engine::ops::buffers::PERIOD;

use super::{BLOCK, FILE, Kind};

pub fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("no NUL")
}

/// Nanoseconds an operation.
pub fn ns(kind: Kind, path: &Path, operations: u64) -> f64 {
    let name = c_path(path);
    // SAFETY: the name is NUL-terminated.
    let fd = unsafe { libc::open(name.as_ptr(), libc::O_RDWR) };
    let mut buffer = vec![0x5Au8; BLOCK as usize];
    let content = vec![0x5Au8; PERIOD];
    // SAFETY: all-zero bytes are a valid `stat`.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    let mut turn = |n: u64| {
        let offset = (n * BLOCK % FILE) as libc::off_t;
        // SAFETY: the buffer holds a block, so does the content from each multiple of one on, `found` holds
        // a stat, the name is NUL-terminated.
        let result = unsafe {
            match kind {
                Kind::Write => {
                    let from = content.as_ptr().add(offset as usize % PERIOD);
                    libc::pwrite(fd, from.cast(), BLOCK as usize, offset)
                }
                Kind::Read => libc::pread(fd, buffer.as_mut_ptr().cast(), BLOCK as usize, offset),
                Kind::Stat => libc::stat(name.as_ptr(), &mut found) as isize,
            }
        };
        assert!(result >= 0, "the raw call failed");
    };
    (0..1000).for_each(&mut turn);
    let begin = processor_ns();
    (0..operations).for_each(&mut turn);
    let ns = (processor_ns() - begin) as f64 / operations as f64;
    // SAFETY: our own descriptor.
    unsafe { libc::close(fd) };
    ns
}

/// Processor time of this thread so far, in ns.
pub fn processor_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What `work` (and its children) write to standard output.
pub fn stdout_of(work: impl FnOnce()) -> String {
    let mut file = tempfile::tempfile().expect("a temporary file");
    // SAFETY: plain descriptor calls; standard output is put back below.
    let saved = unsafe {
        let saved = libc::dup(1);
        libc::dup2(file.as_raw_fd(), 1);
        saved
    };
    work();
    // SAFETY: `saved` is the descriptor made above.
    unsafe {
        libc::dup2(saved, 1);
        libc::close(saved);
    }
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).expect("what was written");
    text
}
