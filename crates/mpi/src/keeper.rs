//! Who keeps a rank's samples when the launcher kills the process that it started?
//!
//! That process does nothing but wait. It forks the *keeper*, which has a session of its own, so that a
//! launcher that kills process groups (`MPI_Abort` under Hydra, a rank that is lost, a second Ctrl-C)
//! reaches only the process it knows. The keeper sees that, ends its rank, saves the samples, and leaves.
//! Should the keeper itself be killed, the first process still shares the memory and saves instead.

use std::time::Duration;

use ranks::launch::LaunchError;
use ranks::shared::Region;
use ranks::signals;

/// What became of this process.
pub(crate) enum Role {
    /// It is the keeper, and the launcher's process waits for it.
    Keeper(Launched),
    /// It is the launcher's process, and a signal ended its keeper.
    Bereaved(i32),
}

/// The process that the launcher started.
#[derive(Clone, Copy)]
pub(crate) struct Launched(libc::pid_t);

impl Launched {
    /// It was killed: nobody waits for us any more.
    pub(crate) fn is_gone(self) -> bool {
        // SAFETY: getppid has no arguments and no effects.
        unsafe { libc::getppid() != self.0 }
    }
}

/// Parts in two. The launcher's process passes signals on and ends as its keeper does; it returns only
/// when the keeper is killed. The caller has blocked `taken` and has one thread only.
///
/// # Errors
/// As fork(2).
pub(crate) fn part(taken: &libc::sigset_t, region: &Region) -> Result<Role, LaunchError> {
    // SAFETY: getpid has no arguments and no effects.
    let launched = unsafe { libc::getpid() };
    // SAFETY: the caller has one thread, so that both processes own a consistent copy of everything.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: plain system calls. Whoever is killed before the second is noticed by `is_gone`.
            unsafe {
                libc::setsid();
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong);
            }
            Ok(Role::Keeper(Launched(launched)))
        }
        keeper if keeper > 0 => Ok(Role::Bereaved(stand_for(keeper, taken, region))),
        _ => {
            let error = std::io::Error::last_os_error();
            Err(LaunchError::Fork { rank: 0, ranks: 1, error })
        }
    }
}

/// Passes signals on to `keeper` and ends with its status; returns the signal that killed it before it had
/// saved anything.
fn stand_for(keeper: libc::pid_t, taken: &libc::sigset_t, region: &Region) -> i32 {
    loop {
        match signals::take(taken, Duration::from_secs(3600)) {
            // SAFETY: the keeper is our child and not yet waited for, so the number is still its own.
            Some(signal) if signal != libc::SIGCHLD => unsafe {
                libc::kill(keeper, signal);
            },
            _ => {}
        }
        let mut status = 0;
        // SAFETY: status is a live integer; the process is our child.
        if unsafe { libc::waitpid(keeper, &raw mut status, libc::WNOHANG) } != keeper {
            continue;
        }
        let ended = match libc::WIFSIGNALED(status) {
            true if !region.saved() => return libc::WTERMSIG(status),
            // As a shell says it.
            true => 128 + libc::WTERMSIG(status),
            false => libc::WEXITSTATUS(status),
        };
        // SAFETY: the keeper did and said everything; nothing here is to be written or freed twice.
        unsafe { libc::_exit(ended) }
    }
}
