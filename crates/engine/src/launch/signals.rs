//! Which signals does a run react to, and what are they called?

use std::time::Duration;

/// Signals that the parent takes one at a time instead of being interrupted by them.
pub(super) const TAKEN: [i32; 4] = [libc::SIGCHLD, libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// A set of signals for the calls below.
pub(super) fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: sigemptyset makes any sigset_t valid; sigaddset takes a valid set and refuses bad numbers.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// Blocks `set` in this thread and returns what was blocked before.
pub(super) fn block(set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = set_of(&[]);
    // SAFETY: both sets are valid and live through the call.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set, &raw mut before) };
    before
}

/// Makes exactly `set` blocked in this thread.
pub(super) fn restore(set: &libc::sigset_t) {
    // SAFETY: the set is valid and lives through the call.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set, std::ptr::null_mut()) };
}

/// Waits for one of `set`, at most for `limit`; `None` when none came.
pub(super) fn take(set: &libc::sigset_t, limit: Duration) -> Option<i32> {
    let limit = libc::timespec { tv_sec: limit.as_secs() as _, tv_nsec: limit.subsec_nanos() as _ };
    // SAFETY: set and time are valid; no information about the sender is asked for.
    let signal = unsafe { libc::sigtimedwait(set, std::ptr::null_mut(), &raw const limit) };
    (signal > 0).then_some(signal)
}

extern "C" fn nothing(_signal: libc::c_int) {}

/// What a rank does with signals: Ctrl-C reaches the parent, which decides; SIGTERM from the
/// parent only interrupts the call the rank is in (EINTR), since it should look whether to stop.
pub(super) fn in_a_rank() {
    // SAFETY: the handler does nothing, which is safe at any moment; the structure is zeroed, then
    // filled as sigaction wants it. Without SA_RESTART a blocked call returns EINTR.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = libc::SIG_IGN;
        libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut());
        libc::sigaction(libc::SIGHUP, &raw const action, std::ptr::null_mut());
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigaction(libc::SIGTERM, &raw const action, std::ptr::null_mut());
    }
}

/// `SIGKILL`, `signal 40`.
pub(crate) fn name(signal: i32) -> String {
    let name = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        other => return format!("signal {other}"),
    };
    name.into()
}

/// How a reader calls the signal that stopped a run.
pub(crate) fn words(signal: i32) -> String {
    if signal == libc::SIGINT { "Ctrl-C".into() } else { name(signal) }
}
