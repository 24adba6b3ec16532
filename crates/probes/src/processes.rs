//! Implements the kernels of processes, threads and context switches.

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};

use machine::affinity::{self, Pinned};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::buffer::KernelMemory;
use crate::error::Error;
use crate::kernel::Probe;
use crate::system::{errno, failed};

/// `fork`, `_exit` in the child, `waitpid`.
#[derive(Debug)]
pub struct Fork {
    _resident: Option<KernelMemory>,
}

impl Fork {
    /// With `resident` extra bytes of touched memory, whose page tables every `fork` has to copy.
    pub fn new(resident: u64) -> Result<Self, Error> {
        let buffer = (resident > 0).then(|| KernelMemory::touched(resident, false)).transpose()?;
        Ok(Self { _resident: buffer })
    }
}

impl Probe for Fork {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        for _ in 0..count {
            // SAFETY: the child only exits.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: exits without running the parent's exit handlers.
                unsafe { libc::_exit(0) };
            }
            if child < 0 {
                return errno();
            }
            if let Err(failed) = wait(child) {
                return failed;
            }
        }
        0
    }

    /// Writes to pages shared with the child fault after every `fork`.
    fn faults(&self) -> bool {
        true
    }
}

fn wait(child: libc::pid_t) -> Result<i32, i32> {
    let mut status = 0;
    loop {
        // SAFETY: waits for a child of this process; `status` is valid for writes.
        if unsafe { libc::waitpid(child, &mut status, 0) } == child {
            return Ok(status);
        }
        match errno() {
            libc::EINTR => {}
            failed => return Err(failed),
        }
    }
}

/// `posix_spawnp` of a program and `waitpid`.
#[derive(Debug)]
pub struct Spawn {
    words: Vec<CString>,
    status: i32,
}

impl Spawn {
    /// A program, searched in `PATH`, and its arguments, separated by blanks.
    pub fn new(program: &str) -> Result<Self, Error> {
        let words: Result<Vec<_>, _> = program.split_whitespace().map(CString::new).collect();
        match words {
            Ok(words) if !words.is_empty() => Ok(Self { words, status: 0 }),
            _ => Err(Error::Path { path: program.into() }),
        }
    }
}

/// How a program is started: with no signal held back or ignored, whatever a rank does with its own, so that Ctrl-C ends it.
struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> Result<Self, i32> {
        let mut attributes = std::mem::MaybeUninit::uninit();
        // SAFETY: `attributes` is valid for writes, and is initialised when the first call succeeds.
        let mut this = unsafe {
            match libc::posix_spawnattr_init(attributes.as_mut_ptr()) {
                0 => Self(attributes.assume_init()),
                failed => return Err(failed),
            }
        };
        let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
        let mut signals = std::mem::MaybeUninit::uninit();
        // SAFETY: the set is initialised by the first call, and all pointers are valid meanwhile.
        let failed = unsafe {
            libc::sigemptyset(signals.as_mut_ptr());
            let mask = libc::posix_spawnattr_setsigmask(&mut this.0, signals.as_ptr());
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
                libc::sigaddset(signals.as_mut_ptr(), signal);
            }
            let default = libc::posix_spawnattr_setsigdefault(&mut this.0, signals.as_ptr());
            let set = libc::posix_spawnattr_setflags(&mut this.0, flags as libc::c_short);
            mask.max(default).max(set)
        };
        if failed == 0 { Ok(this) } else { Err(failed) }
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: they were initialised, and are not used after this.
        unsafe { libc::posix_spawnattr_destroy(&mut self.0) };
    }
}

unsafe extern "C" {
    /// The environment of this process, as the C library keeps it.
    static environ: *const *mut libc::c_char;
}

impl Probe for Spawn {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        const MOST: usize = 32;
        let mut arguments = [std::ptr::null_mut(); MOST + 1];
        if self.words.len() > MOST {
            return libc::E2BIG;
        }
        for (argument, word) in arguments.iter_mut().zip(&self.words) {
            *argument = word.as_ptr().cast_mut();
        }
        let attributes = match Attributes::new() {
            Ok(attributes) => attributes,
            Err(failed) => return failed,
        };
        for _ in 0..count {
            let mut child = 0;
            // SAFETY: all strings are NUL-terminated and both lists end with null; the attributes were initialised.
            // Nothing changes the environment meanwhile, since only one thread of a rank could.
            let failed = unsafe {
                libc::posix_spawnp(
                    &mut child,
                    arguments[0],
                    std::ptr::null(),
                    &attributes.0,
                    arguments.as_ptr(),
                    environ,
                )
            };
            if failed != 0 {
                return failed;
            }
            match wait(child) {
                Ok(status) => self.status = status,
                Err(failed) => return failed,
            }
        }
        0
    }

    /// The exit status, or 128 plus the signal's number.
    fn value(&self) -> u64 {
        let status = self.status;
        let code =
            if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) };
        code as u64
    }
}

/// `pthread_create` and `pthread_join`.
#[derive(Debug)]
pub struct Thread;

extern "C" fn nothing(_: *mut libc::c_void) -> *mut libc::c_void {
    std::ptr::null_mut()
}

impl Probe for Thread {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        for _ in 0..count {
            let mut thread = std::mem::MaybeUninit::uninit();
            // SAFETY: `nothing` takes and returns null; the thread is joined when it could be made.
            let failed = unsafe {
                match libc::pthread_create(
                    thread.as_mut_ptr(),
                    std::ptr::null(),
                    nothing,
                    std::ptr::null_mut(),
                ) {
                    0 => libc::pthread_join(thread.assume_init(), std::ptr::null_mut()),
                    failed => failed,
                }
            };
            if failed != 0 {
                return failed;
            }
        }
        0
    }
}

/// Repeats a call while a signal interrupts it.
#[inline(always)]
fn retry(mut call: impl FnMut() -> isize) -> isize {
    loop {
        let moved = call();
        if moved >= 0 || errno() != libc::EINTR {
            return moved;
        }
    }
}

/// Sends a byte to another process through a pipe and receives one through a second pipe.
#[derive(Debug)]
pub struct PingPong {
    to: OwnedFd,
    from: OwnedFd,
    child: libc::pid_t,
    /// Operations in a round trip: 1, or 2 where a single switch is one.
    each: u32,
    /// Keeps this thread on its processor while the partner exists.
    _pinned: Option<Pinned>,
}

impl PingPong {
    /// Starts the partner. With `same_processor`, both are pinned to the current processor of this thread; a
    /// round trip is then two context switches, and an operation is one of them.
    pub fn new(same_processor: bool) -> Result<Self, Error> {
        let (there, back) = (pipe()?, pipe()?);
        let pinned = if same_processor { Some(pin_here()?) } else { None };
        // SAFETY: the child uses only two descriptors and exits with `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let (from, to) = (there.0.as_raw_fd(), back.1.as_raw_fd());
            let (unused, other) = (there.1.as_raw_fd(), back.0.as_raw_fd());
            // SAFETY: both descriptors are open; `byte` has room for one byte. The child exits at end of
            // file, when the parent is gone.
            unsafe {
                libc::close(unused);
                libc::close(other);
                let mut byte = [0u8; 1];
                while retry(|| libc::read(from, byte.as_mut_ptr().cast(), 1)) == 1 {
                    if retry(|| libc::write(to, byte.as_ptr().cast(), 1)) != 1 {
                        break;
                    }
                }
                libc::_exit(0);
            }
        }
        if child < 0 {
            return Err(Error::System { call: "fork", source: std::io::Error::last_os_error() });
        }
        Ok(Self {
            to: there.1,
            from: back.0,
            child,
            each: if same_processor { 2 } else { 1 },
            _pinned: pinned,
        })
    }
}

/// A pipe: the end to read from and the end to write to.
fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed("pipe2", error))
}

/// Pins this thread to the processor it is on.
fn pin_here() -> Result<Pinned, Error> {
    let here = u16::try_from(rustix::thread::sched_getcpu()).unwrap_or(0);
    affinity::pin(here).map_err(|source| Error::System { call: "sched_setaffinity", source })
}

impl Drop for PingPong {
    fn drop(&mut self) {
        // SAFETY: a child of this process, which may be waiting for a byte and holds no state.
        unsafe { libc::kill(self.child, libc::SIGKILL) };
        let _ = wait(self.child);
    }
}

impl Probe for PingPong {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        let (to, from) = (self.to.as_raw_fd(), self.from.as_raw_fd());
        let mut byte = [1u8; 1];
        for _ in 0..count.div_ceil(self.each) {
            // SAFETY: `byte` has room for one byte and lives through both calls.
            let moved = unsafe {
                retry(|| libc::write(to, byte.as_ptr().cast(), 1)) == 1
                    && retry(|| libc::read(from, byte.as_mut_ptr().cast(), 1)) == 1
            };
            if !moved {
                return errno();
            }
        }
        0
    }

    fn min_count(&self) -> u32 {
        self.each
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_threads_start_and_end() {
        assert_eq!(Fork::new(0).map(|mut fork| fork.run(2)).ok(), Some(0));
        assert_eq!(Fork::new(1 << 20).map(|mut fork| fork.run(1)).ok(), Some(0));
        assert_eq!(Thread.run(3), 0);
        let mut three = Spawn::new("sh -c exit${IFS}3").expect("three words");
        assert_eq!((three.run(2), three.value()), (0, 3));
        // What a rank ignores or holds back, a program that it starts does not: Ctrl-C ends it.
        // SAFETY: the signal is ignored in this process, where nothing else of the tests sends or awaits it.
        unsafe { libc::signal(libc::SIGQUIT, libc::SIG_IGN) };
        let mut ended = Spawn::new("sh -c kill${IFS}-QUIT${IFS}$$").expect("three words");
        assert_eq!((ended.run(1), ended.value()), (0, 128 + libc::SIGQUIT as u64));
        // SAFETY: as above.
        unsafe { libc::signal(libc::SIGQUIT, libc::SIG_DFL) };
        assert_eq!(Spawn::new("no-such-program-here").map(|mut none| none.run(1)).ok(), Some(libc::ENOENT));
        for same in [false, true] {
            let mut pair = PingPong::new(same).expect("a pipe and a child");
            assert_eq!(pair.run(10), 0);
        }
    }

    #[test]
    fn a_switch_on_one_processor_is_seen_by_the_kernel() {
        let accounting = perf::Accounting::of_this_thread();
        let mut pair = PingPong::new(true).expect("a pipe and a child");
        let before = accounting.read();
        assert_eq!(pair.run(200), 0);
        let after = accounting.read();
        // In each of a hundred round trips this thread leaves the shared processor for the partner.
        let switches = after.voluntary + after.involuntary - before.voluntary - before.involuntary;
        assert!(switches >= 100, "{switches}");
    }
}
