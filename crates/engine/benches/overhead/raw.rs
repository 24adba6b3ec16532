//! What the calls cost in a loop that does nothing else.

use std::ffi::CString;
use std::io::{Read, Seek};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use engine::buffers::Buffer;
use engine::content::{Author, ContentKind, FileName};

use super::cost::Cost;
use super::{BLOCK, FILE, TimedCall};

pub fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("no NUL")
}

/// Bytes of content that the raw writes take turns with.
const PERIOD: usize = 1 << 20;

/// An operation in a loop that does nothing else.
pub fn cost(kind: TimedCall, path: &Path, operations: u64) -> Cost {
    let name = c_path(path);
    // SAFETY: the name is NUL-terminated.
    let fd = unsafe { libc::open(name.as_ptr(), libc::O_RDWR) };
    // On a page, as the engine's are: where in a page a buffer begins changes what the kernel's copy costs by
    // up to 100 ns for 4 KiB.
    let page = |length: usize| Buffer::take(length).expect("memory");
    let (buffer, mut content) = (page(BLOCK as usize), page(PERIOD));
    let stream = Author::default().stream(FileName::default(), ContentKind::Placed);
    stream.fill(0, 0, content.bytes_mut());
    // SAFETY: all-zero bytes are a valid `stat`.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    let mut turn = |n: u64| {
        let offset = (n * BLOCK % FILE) as libc::off_t;
        // SAFETY: the buffer holds a block, so does the content from each multiple of one on, `found` holds
        // a stat, the name is NUL-terminated.
        let result = unsafe {
            match kind {
                TimedCall::Write => {
                    let from = content.pointer().add(offset as usize % PERIOD);
                    libc::pwrite(fd, from.cast(), BLOCK as usize, offset)
                }
                TimedCall::WriteMemory => libc::pwrite(fd, buffer.pointer().cast(), BLOCK as usize, offset),
                TimedCall::Read => libc::pread(fd, buffer.pointer().cast(), BLOCK as usize, offset),
                TimedCall::Stat => libc::stat(name.as_ptr(), &mut found) as isize,
                TimedCall::Open => {
                    let file = libc::open(name.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
                    libc::close(file) as isize
                }
            }
        };
        assert!(result >= 0, "the raw call failed");
    };
    (0..1000).for_each(&mut turn);
    let cost = Cost::of_turns(operations, &mut turn);
    // SAFETY: our own descriptor.
    unsafe { libc::close(fd) };
    cost
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
