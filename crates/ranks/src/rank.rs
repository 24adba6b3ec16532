//! Runs the body of a freshly forked rank, and ends its process.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::ends::ExitStatus;
use crate::signals::{self, SignalSet};
use crate::{Activity, Comm, CommError, ControlBlock, Processes};

/// Runs `body` as rank `me` in a process that was just forked, and never returns.
pub(crate) fn run(
    block: &'static ControlBlock,
    me: u32,
    parent: Pid,
    mask: &SignalSet,
    body: &mut dyn FnMut(Processes) -> Result<(), String>,
) -> ! {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // The parent died before that call.
    if getppid() != Some(parent) {
        exit(ExitStatus::Left);
    }
    signals::set_rank_handlers();
    mask.restore_in_rank();
    keep_panic_messages();
    let world = Processes::world(block, me);
    world.status().set_activity(Activity::Running);
    let result = catch_unwind(AssertUnwindSafe(|| body(world)));
    exit(match result {
        Ok(Ok(())) => ExitStatus::Finished,
        Ok(Err(why)) => {
            // A failure after the run was stopped, or another rank lost, is a consequence of that.
            let own = block.job().map_or(me, |job| job.rank);
            let status = match block.stopped() {
                None => ExitStatus::Failed,
                Some(CommError::RankLost { rank, .. }) if rank == own => ExitStatus::Failed,
                Some(CommError::Signalled { .. }) => ExitStatus::Stopped,
                Some(_) => ExitStatus::Left,
            };
            block.set_message(me, &why);
            status
        }
        Err(_) => {
            block.set_message(me, &PANIC.take().unwrap_or_else(|| "a panic without a message".into()));
            ExitStatus::Panicked
        }
    })
}

fn exit(status: ExitStatus) -> ! {
    // SAFETY: _exit ends the process without running what the parent registered for its own end.
    unsafe { libc::_exit(status as i32) }
}

thread_local! {
    static PANIC: Cell<Option<String>> = const { Cell::new(None) };
}

/// Keeps the message of a panic for the parent, which tells it once; ranks write nothing to standard error.
fn keep_panic_messages() {
    std::panic::set_hook(Box::new(|info| {
        let what = info
            .payload()
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| info.payload().downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic".into());
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
        PANIC.set(Some(what + &place.unwrap_or_default()));
    }));
}

/// Sends what this process, its ranks and their children write to standard output to standard error from now on, and
/// gives the standard output itself, which no program that they start inherits.
///
/// # Errors
/// Where no file descriptor is left.
pub fn divert_output() -> std::io::Result<std::fs::File> {
    let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(output.into())
}

/// Writes whole lines to standard output in one call each, so that lines of ranks never mix.
///
/// # Errors
/// As `write(2)`; a closed pipe is success, as for any filter.
pub fn print(lines: &[u8]) -> std::io::Result<()> {
    let mut rest = lines;
    while !rest.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), rest) {
            Ok(wrote) => rest = &rest[wrote..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::PIPE) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
