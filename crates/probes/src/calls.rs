//! Implements the kernels of system calls and of the allocator.

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::OFlags;

use crate::error::Error;
use crate::kernel::Probe;
use crate::own_file::OwnFile;
use crate::system::{c_path, errno, open, open_in};

/// Repeats a call that returns a negative number on failure; returns the errno of the first failure.
macro_rules! repeat_call {
    ($count:expr, $call:expr) => {{
        for _ in 0..$count {
            // SAFETY: stated where the macro is used: plain numbers, or pointers that live long enough.
            if unsafe { $call } < 0 {
                return errno();
            }
        }
        0
    }};
}

/// No operation: shows the cost of the clock itself.
#[derive(Debug)]
pub struct Empty;

impl Probe for Empty {
    #[inline(always)]
    fn run(&mut self, _: u32) -> i32 {
        0
    }

    /// Repeating nothing changes nothing.
    fn max_count(&self) -> u32 {
        1
    }
}

/// A chain of dependent register additions. It takes one cycle an addition and accesses no memory, so it
/// shows what a bracket adds to an operation.
///
/// An empty bracket shows half a nanosecond more, since the fences and arithmetic of the reads cannot overlap
/// with an operation; a load of 1 ns must not be charged with that.
#[derive(Debug)]
pub struct Additions<const COUNT: u32>;

impl<const COUNT: u32> Probe for Additions<COUNT> {
    #[inline(always)]
    fn run(&mut self, _: u32) -> i32 {
        let mut sum = 0u64;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: changes the named register and the flags.
        unsafe {
            std::arch::asm!(".rept {n}", "add {sum}, 1", ".endr", n = const COUNT, sum = inout(reg) sum, options(nomem, nostack));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: changes the named register.
        unsafe {
            std::arch::asm!(".rept {n}", "add {sum}, {sum}, #1", ".endr", n = const COUNT, sum = inout(reg) sum, options(nomem, nostack));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        for _ in 0..COUNT {
            sum = std::hint::black_box(sum + 1);
        }
        let _ = sum;
        0
    }

    fn max_count(&self) -> u32 {
        1
    }
}

/// Calls of a function, beside which a system call can be looked at.
#[derive(Debug)]
pub struct FunctionCall;

/// The function. Neither it nor its result is known to the compiler where it is called.
#[inline(never)]
extern "C" fn same(number: u64) -> u64 {
    std::hint::black_box(number)
}

impl Probe for FunctionCall {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        let mut number = 1;
        for _ in 0..count {
            number = same(number);
        }
        std::hint::black_box(number);
        0
    }
}

/// System calls without a path or a file.
#[derive(Clone, Copy, Debug)]
pub enum Identity {
    /// `getpid` as a raw system call.
    Getpid,
    /// `getpid` through the C library.
    LibraryGetpid,
    /// `getppid` as a raw system call: lmbench's "null".
    Getppid,
    /// `getppid` through the C library.
    LibraryGetppid,
}

impl Probe for Identity {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        // SAFETY of all of them: they take no argument and return a number.
        match self {
            Identity::Getpid => repeat_call!(count, libc::syscall(libc::SYS_getpid)),
            Identity::LibraryGetpid => repeat_call!(count, libc::getpid()),
            Identity::Getppid => repeat_call!(count, libc::syscall(libc::SYS_getppid)),
            Identity::LibraryGetppid => repeat_call!(count, libc::getppid()),
        }
    }
}

/// Reads one byte from `/dev/zero` or writes one to `/dev/null`.
#[derive(Debug)]
pub struct Null {
    file: OwnedFd,
    write: bool,
    raw: bool,
}

impl Null {
    /// A kernel that writes or reads; `raw` bypasses the C library.
    pub fn new(write: bool, raw: bool) -> Result<Self, Error> {
        let (path, flags) =
            if write { (c"/dev/null", OFlags::WRONLY) } else { (c"/dev/zero", OFlags::RDONLY) };
        Ok(Self { file: open(path, flags)?, write, raw })
    }
}

impl Probe for Null {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        let mut byte = [0u8; 1];
        let (file, place) = (self.file.as_raw_fd(), byte.as_mut_ptr().cast::<libc::c_void>());
        // SAFETY of all four: `byte` has room for one byte and lives through the call.
        match (self.write, self.raw) {
            (true, false) => repeat_call!(count, libc::write(file, place, 1)),
            (false, false) => repeat_call!(count, libc::read(file, place, 1)),
            (true, true) => repeat_call!(count, libc::syscall(libc::SYS_write, file, place, 1usize)),
            (false, true) => repeat_call!(count, libc::syscall(libc::SYS_read, file, place, 1usize)),
        }
    }

    fn bytes_each(&self) -> u64 {
        1
    }
}

/// Calls on one file, most of which look up its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// `stat`.
    Stat,
    /// `fstat` of an open file.
    Fstat,
    /// `fstat` as a raw system call; the C library may use another call for it.
    RawFstat,
    /// `open(O_RDWR | O_SYNC | O_CREAT)` of a file that exists, and `close`.
    OpenClose,
    /// `fopen(…, "w")` and `fclose`.
    FopenFclose,
    /// `open(O_CREAT | O_EXCL)`, with `O_SYNC` if `sync`, `close` and `unlink`.
    CreateDelete {
        /// With `O_SYNC`.
        sync: bool,
    },
}

/// One kind of [`Lookup`] on one file.
#[derive(Debug)]
pub struct CreateDeleteNames {
    what: Lookup,
    /// Its directory, where that is held.
    held: Option<OwnedFd>,
    /// From the held directory, or the working directory.
    name: CString,
    /// For calls that take no directory.
    path: CString,
    file: Option<OwnedFd>,
}

impl CreateDeleteNames {
    /// Uses this file, which nothing else may use and which is removed on drop.
    pub fn new(what: Lookup, OwnFile { path, held }: OwnFile) -> Result<Self, Error> {
        let (name, reached) = match &held {
            None => (path.clone(), path.clone()),
            Some(held) => {
                let name = Path::new(path.file_name().unwrap_or_default());
                (name.into(), Path::new("/proc/self/fd").join(held.as_raw_fd().to_string()).join(name))
            }
        };
        let (name, reached) = (c_path(&name)?, c_path(&reached)?);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let make = || open_in(held.as_ref(), (&name, &path), flags);
        let file = (!matches!(what, Lookup::CreateDelete { .. })).then(make).transpose()?;
        Ok(Self { what, held, name, path: reached, file })
    }

    fn directory(&self) -> i32 {
        self.held.as_ref().map_or(libc::AT_FDCWD, AsRawFd::as_raw_fd)
    }
}

impl Drop for CreateDeleteNames {
    fn drop(&mut self) {
        // No one else uses the file, and it may not exist any more.
        // SAFETY: the name is NUL-terminated; the directory is held, or the working directory.
        unsafe { libc::unlinkat(self.directory(), self.name.as_ptr(), 0) };
    }
}

impl Probe for CreateDeleteNames {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        let (directory, name) = (self.directory(), self.name.as_ptr());
        match self.what {
            Lookup::Stat => {
                let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
                // SAFETY: the path is NUL-terminated; `found` has room for the answer.
                repeat_call!(count, libc::fstatat(directory, name, found.as_mut_ptr(), 0))
            }
            Lookup::Fstat => {
                let file = self.file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
                let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
                // SAFETY: `found` has room for the answer.
                repeat_call!(count, libc::fstat(file, found.as_mut_ptr()))
            }
            Lookup::RawFstat => {
                let file = self.file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
                let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
                // SAFETY: `found` has room for the answer, whose layout is the OS kernel's on 64-bit
                // machines.
                repeat_call!(count, libc::syscall(libc::SYS_fstat, file, found.as_mut_ptr()))
            }
            Lookup::OpenClose => {
                let flags = libc::O_RDWR | libc::O_SYNC | libc::O_CREAT | libc::O_NOFOLLOW;
                // SAFETY: the path is NUL-terminated; what was opened is closed immediately.
                repeat_call!(
                    count,
                    match libc::openat(directory, name, flags, 0o600) {
                        file if file >= 0 => libc::close(file),
                        failed => failed,
                    }
                )
            }
            Lookup::FopenFclose => {
                let path = self.path.as_ptr();
                // SAFETY: both strings are NUL-terminated; what was opened is closed immediately.
                repeat_call!(count, {
                    let file = libc::fopen(path, c"w".as_ptr());
                    if file.is_null() { -1 } else { libc::fclose(file) }
                })
            }
            Lookup::CreateDelete { sync } => {
                let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | if sync { libc::O_SYNC } else { 0 };
                // SAFETY: the path is NUL-terminated; what was opened is closed immediately.
                repeat_call!(
                    count,
                    match libc::openat(directory, name, flags, 0o600) {
                        file if file >= 0 => libc::close(file) + libc::unlinkat(directory, name, 0),
                        failed => failed,
                    }
                )
            }
        }
    }
}

/// `malloc` and `free` of a small block.
#[derive(Debug)]
pub struct MallocFree {
    /// Bytes of the block.
    pub bytes: usize,
}

impl Probe for MallocFree {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        for _ in 0..count {
            // SAFETY: what `malloc` returned, or null, is freed immediately; `black_box` keeps the compiler
            // from removing the pair.
            unsafe {
                let block = std::hint::black_box(libc::malloc(self.bytes));
                if block.is_null() {
                    return libc::ENOMEM;
                }
                libc::free(block);
            }
        }
        0
    }
}

/// `mmap`, one write into the new page, `munmap`.
#[derive(Debug)]
pub struct MmapMunmap {
    /// Bytes of the mapping.
    pub bytes: usize,
}

impl Probe for MmapMunmap {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        for _ in 0..count {
            // SAFETY: a new mapping, whose first byte is written before it is unmapped.
            unsafe {
                let place = libc::mmap(std::ptr::null_mut(), self.bytes, writable, flags, -1, 0);
                if place == libc::MAP_FAILED {
                    return errno();
                }
                place.cast::<u8>().write_volatile(1);
                libc::munmap(place, self.bytes);
            }
        }
        0
    }

    fn faults(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_file::own_file;

    fn on(path: std::path::PathBuf) -> OwnFile {
        OwnFile { path, held: None }
    }

    #[test]
    fn every_call_succeeds_and_removes_its_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let all = [
            Lookup::Stat,
            Lookup::Fstat,
            Lookup::OpenClose,
            Lookup::FopenFclose,
            Lookup::CreateDelete { sync: true },
        ];
        for what in all {
            let mut names =
                CreateDeleteNames::new(what, on(own_file(folder.path(), "names"))).expect("a file in it");
            assert_eq!(names.run(3), 0, "{what:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).map(Iterator::count).ok(), Some(0));
        for mut probe in
            [Identity::Getpid, Identity::LibraryGetpid, Identity::Getppid, Identity::LibraryGetppid]
        {
            assert_eq!(probe.run(2), 0);
        }
        for (write, raw) in [(false, false), (true, false), (false, true), (true, true)] {
            assert_eq!(Null::new(write, raw).map(|mut null| null.run(2)).ok(), Some(0));
        }
        assert_eq!((MallocFree { bytes: 4 }.run(9), MmapMunmap { bytes: 4096 }.run(9)), (0, 0));
    }

    #[test]
    fn a_directory_that_is_not_there_is_named_in_the_error() {
        let error =
            CreateDeleteNames::new(Lookup::Stat, on("/not/there/file".into())).expect_err("no folder");
        assert!(error.to_string().contains("/not/there"), "{error}");
    }

    #[test]
    fn a_file_is_made_used_and_removed_in_the_directory_that_is_held() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (inside, outside) = (folder.path().join("a"), folder.path().join("outside"));
        let in_it = |directory: &Path| std::fs::read_dir(directory).map(Iterator::count).ok();
        for (number, what) in
            [Lookup::Stat, Lookup::OpenClose, Lookup::FopenFclose, Lookup::CreateDelete { sync: false }]
                .into_iter()
                .enumerate()
        {
            for directory in [&inside, &outside] {
                std::fs::create_dir_all(directory).expect("mkdir");
            }
            let held = std::fs::File::open(&inside).expect("there").into();
            let file = OwnFile { path: inside.join("f"), held: Some(held) };
            let moved = folder.path().join(format!("moved-{number}"));
            let swap = || {
                std::fs::rename(&inside, &moved).expect("rename");
                std::os::unix::fs::symlink("outside", &inside).expect("symlink");
            };
            if number % 2 == 1 {
                swap();
            }
            let mut names = CreateDeleteNames::new(what, file).expect("a file in it");
            if number % 2 == 0 {
                swap();
            }
            assert_eq!((names.run(3), in_it(&outside)), (0, Some(0)), "{what:?}");
            drop(names);
            assert_eq!((in_it(&outside), in_it(&moved)), (Some(0), Some(0)), "{what:?}");
            std::fs::remove_file(&inside).expect("the link");
        }
    }

    #[test]
    fn a_failing_call_yields_its_errno() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut names =
            CreateDeleteNames::new(Lookup::Stat, on(folder.path().join("f"))).expect("a file in it");
        folder.close().expect("removable");
        assert_eq!(names.run(1), libc::ENOENT);
    }
}
