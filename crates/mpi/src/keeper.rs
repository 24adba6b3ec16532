//! The process that keeps a rank's samples when the launcher kills the process that it started.
//!
//! The launched process does nothing but wait. It forks the *keeper*, which has a session of its own, so that
//! a launcher that kills process groups (`MPI_Abort` under Hydra, a rank that is lost, a second Ctrl-C)
//! reaches only the process it knows. The keeper notices that, ends its rank, saves the samples, and exits.
//! Should the keeper itself be killed, the launched process still shares the memory and saves instead.

use std::time::Duration;

use ranks::job::{Forked, SignalSet, fork};
use ranks::{ControlBlock, LaunchError};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_parent_process_death_signal, setsid, waitpid,
};

/// What became of this process.
pub(crate) enum Role {
    /// It is the keeper, and the launched process waits for it.
    Keeper(Launched),
    /// It is the launched process, and a signal ended its keeper.
    WithoutKeeper(i32),
}

/// The process that the launcher started.
#[derive(Clone, Copy)]
pub(crate) struct Launched(Pid);

impl Launched {
    /// It was killed: no process waits for this one any more.
    pub(crate) fn is_gone(self) -> bool {
        getppid() != Some(self.0)
    }
}

/// Forks the keeper. The launched process passes signals on and ends as its keeper does; it returns only
/// when the keeper is killed. The caller has blocked `supervised`.
///
/// # Errors
/// As [`fork`].
pub(crate) fn fork_keeper(supervised: &SignalSet, block: &ControlBlock) -> Result<Role, LaunchError> {
    let launched = getpid();
    match fork().map_err(|error| LaunchError::of_fork(error, 0, 1))? {
        Forked::Child => {
            let _ = setsid();
            // If the launched process is killed before this call, `is_gone` notices.
            let _ = set_parent_process_death_signal(Some(Signal::TERM));
            Ok(Role::Keeper(Launched(launched)))
        }
        Forked::Parent(keeper) => Ok(Role::WithoutKeeper(wait_for(keeper, supervised, block))),
    }
}

/// Passes signals on to `keeper` and ends with its status; returns the signal that killed it before it had
/// saved anything.
fn wait_for(keeper: Pid, supervised: &SignalSet, block: &ControlBlock) -> i32 {
    loop {
        if let Some(signal) = supervised.take(Duration::from_secs(3600))
            && signal != libc::SIGCHLD
            && let Some(signal) = Signal::from_named_raw(signal)
        {
            // Not yet waited for, so the number is still its own.
            let _ = kill_process(keeper, signal);
        }
        let Ok(Some((_, status))) = waitpid(Some(keeper), WaitOptions::NOHANG) else { continue };
        let ended = match status.terminating_signal() {
            Some(signal) if !block.saved() => return signal,
            // As a shell reports it.
            Some(signal) => 128 + signal,
            None => status.exit_status().unwrap_or_default(),
        };
        // SAFETY: the keeper did and said everything; nothing here is to be written or freed twice.
        unsafe { libc::_exit(ended) }
    }
}
