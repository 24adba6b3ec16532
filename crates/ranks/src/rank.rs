//! What happens inside a freshly forked rank?

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::shared::Region;
use crate::{Comm, CommError, Processes, State};

use crate::signals;

/// Exit statuses by which a rank tells its parent how it ended.
pub const FINISHED: i32 = 0;
/// It left because of another rank or because the run was stopped.
pub const LEFT: i32 = 40;
/// It gave up.
pub const FAILED: i32 = 41;
/// It panicked.
pub const PANICKED: i32 = 42;
/// No world could be made at all.
pub const UNUSABLE: i32 = 43;

/// Runs `body` as rank `me` in a process that was just forked, and never returns.
pub fn run(
    region: &'static Region,
    me: u32,
    parent: libc::pid_t,
    mask: &libc::sigset_t,
    body: &mut dyn FnMut(Processes) -> Result<(), String>,
) -> ! {
    // SAFETY: PR_SET_PDEATHSIG takes a signal number; getppid has no arguments. A parent that died
    // before the first call is noticed by the second.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
        if libc::getppid() != parent {
            libc::_exit(LEFT);
        }
    }
    signals::in_a_rank();
    signals::restore_in_a_rank(mask);
    keep_panics();
    let world = Processes::world(region, me);
    world.standing().set_state(State::Running);
    let result = catch_unwind(AssertUnwindSafe(|| body(world)));
    let status = match result {
        Ok(Ok(())) => FINISHED,
        Ok(Err(why)) => {
            // Who fails after the run was stopped or another rank was lost did so because of it.
            let own = region.job().map_or(me, |(_, rank, _)| rank);
            let left = match region.stopped() {
                Some(CommError::RankLost { rank, .. }) => rank != own,
                Some(_) => true,
                None => false,
            };
            region.set_message(me, &why);
            if left { LEFT } else { FAILED }
        }
        Err(_) => {
            region.set_message(me, &PANIC.take().unwrap_or_else(|| "a panic without a message".into()));
            PANICKED
        }
    };
    // SAFETY: _exit ends the process without running what the parent registered for its own end.
    unsafe { libc::_exit(status) }
}

thread_local! {
    static PANIC: Cell<Option<String>> = const { Cell::new(None) };
}

/// Panics are told by the parent, in one place, instead of by every rank on standard error.
fn keep_panics() {
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

/// Writes whole lines to standard output in one call each, so that lines of ranks never mix.
///
/// # Errors
/// As `write(2)`; a closed pipe is success, as for any filter.
pub fn print(lines: &[u8]) -> std::io::Result<()> {
    let mut left = lines;
    while !left.is_empty() {
        // SAFETY: the pointer and length are those of a live slice.
        let wrote = unsafe { libc::write(libc::STDOUT_FILENO, left.as_ptr().cast(), left.len()) };
        if wrote >= 0 {
            left = &left[wrote as usize..];
            continue;
        }
        let error = std::io::Error::last_os_error();
        match error.kind() {
            std::io::ErrorKind::Interrupted => {}
            std::io::ErrorKind::BrokenPipe => return Ok(()),
            _ => return Err(error),
        }
    }
    Ok(())
}
