//! Forks the process that keeps a rank's samples when the launcher kills the process that it started.
//!
//! The launched process only waits. It forks the *keeper*, which has its own session, so that
//! a launcher that kills process groups (`MPI_Abort` under Hydra, a rank that is lost, a second Ctrl-C)
//! reaches only the process it knows. The keeper notices that, ends its rank, saves the samples, and exits.
//! Should the keeper itself be killed, the launched process still shares the memory and saves instead.

use std::time::Duration;

use ranks::job::{Forked, SignalSet, fork};
use ranks::{ControlBlock, LaunchError};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_parent_process_death_signal, setsid, waitpid,
};

/// The role of a process after [`fork_keeper`].
pub(crate) enum Role {
    /// The keeper; the launched process waits for it.
    Keeper(Launched),
    /// The launched process, whose keeper was killed by a signal.
    WithoutKeeper(i32),
}

/// The process that the launcher started.
#[derive(Clone, Copy)]
pub(crate) struct Launched(Pid);

impl Launched {
    /// Whether it was killed, so that no process waits for this one.
    pub(crate) fn is_gone(self) -> bool {
        getppid() != Some(self.0)
    }
}

/// Forks the keeper. The launched process forwards signals and exits with its keeper's status; it returns
/// only if the keeper is killed. The caller has blocked `supervised`.
///
/// # Errors
/// As [`fork`].
pub(crate) fn fork_keeper(supervised: &SignalSet, block: &ControlBlock) -> Result<Role, LaunchError> {
    let launched = getpid();
    match fork().map_err(|error| LaunchError::of_fork(error, 0, 1))? {
        Forked::Child => {
            let _ = setsid();
            // If the launched process is killed before this call, `is_gone` detects it.
            let _ = set_parent_process_death_signal(Some(Signal::TERM));
            Ok(Role::Keeper(Launched(launched)))
        }
        Forked::Parent(keeper) => Ok(Role::WithoutKeeper(wait_for(keeper, supervised, block))),
    }
}

/// Forwards signals to `keeper` and exits with its status; returns only if a signal killed the keeper before
/// it saved, with that signal.
fn wait_for(keeper: Pid, supervised: &SignalSet, block: &ControlBlock) -> i32 {
    loop {
        if let Some(signal) = supervised.take(Duration::from_secs(3600))
            && signal != libc::SIGCHLD
            && let Some(signal) = Signal::from_named_raw(signal)
        {
            // Not waited for yet, so the process number is not reused.
            let _ = kill_process(keeper, signal);
        }
        let Ok(Some((_, status))) = waitpid(Some(keeper), WaitOptions::NOHANG) else { continue };
        let ended = match status.terminating_signal() {
            Some(signal) if !block.saved() => return signal,
            // The status that a shell reports.
            Some(signal) => 128 + signal,
            None => status.exit_status().unwrap_or_default(),
        };
        // SAFETY: the keeper has done all work; exit handlers and buffers must not run here again.
        unsafe { libc::_exit(ended) }
    }
}
