//! Forks a process that has one thread, and refuses to fork one that has more.
//!
//! A fork copies the calling thread only. A lock that another thread holds at that moment stays locked in
//! the child for ever, so what runs there must not be ordinary code unless the process has one thread.

use std::io;
use std::time::Duration;

use rustix::process::Pid;

/// What this process is after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The new process.
    Child,
    /// The calling process, and the number of the new one.
    Parent(Pid),
}

/// Why there is no new process.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// Other threads run.
    #[error(
        "this process has {count} threads, and ranks can be forked from one that has a single thread: start \
         threads afterwards, or fork from a program of its own"
    )]
    Threads {
        /// How many there are.
        count: usize,
    },
    /// The threads cannot be counted.
    #[error("cannot count the threads of this process in /proc/self/task: {0}; mount /proc")]
    Uncounted(io::Error),
    /// `fork` failed.
    #[error("{0}")]
    System(io::Error),
}

/// As fork(2), for a process with one thread.
///
/// # Errors
/// [`ForkError::Threads`] where the process has more; else as fork(2).
pub fn fork() -> Result<Forked, ForkError> {
    let count = threads().map_err(ForkError::Uncounted)?;
    if count != 1 {
        return Err(ForkError::Threads { count });
    }
    // SAFETY: the process has one thread, so the child owns a consistent copy of everything.
    match unsafe { libc::fork() } {
        0 => Ok(Forked::Child),
        // A number below zero is no process, and rustix takes none.
        child => Some(child)
            .filter(|child| *child > 0)
            .and_then(Pid::from_raw)
            .map(Forked::Parent)
            .ok_or_else(|| ForkError::System(io::Error::last_os_error())),
    }
}

/// The threads of this process. One that was joined is counted for a moment longer: where there are several, they are
/// counted again.
fn threads() -> io::Result<usize> {
    let count = || std::fs::read_dir("/proc/self/task").map(Iterator::count);
    for _ in 0..20 {
        if count()? == 1 {
            return Ok(1);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    count()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_is_not_forked_and_the_error_counts_them() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        let refused = fork().expect_err("the test and another thread run");
        assert!(matches!(refused, ForkError::Threads { count } if count >= 2), "{refused}");
        assert!(refused.to_string().contains("threads, and ranks can be forked"), "{refused}");
        drop(go);
        let _ = other.join();
    }

    #[test]
    fn a_process_with_one_thread_is_forked() {
        // SAFETY: the child calls `fork`, which reads a directory, and leaves with `_exit`; the allocator of
        // the C library may be used after a fork.
        let alone = unsafe { libc::fork() };
        if alone == 0 {
            let status = match fork() {
                Ok(Forked::Child) => 0,
                Ok(Forked::Parent(child)) => {
                    let ended = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
                    ended.ok().flatten().and_then(|(_, status)| status.exit_status()).unwrap_or(8) + 3
                }
                Err(_) => 9,
            };
            // SAFETY: ends the process without running what the test harness registered.
            unsafe { libc::_exit(status) }
        }
        let mut status = 0;
        // SAFETY: our own child and a live integer.
        unsafe { libc::waitpid(alone, &raw mut status, 0) };
        assert_eq!(libc::WEXITSTATUS(status), 3);
    }
}
