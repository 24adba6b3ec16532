//! Which signals does a run react to, and what are they called?

use std::time::Duration;

/// Signals that the parent takes one at a time instead of being interrupted by them.
const TAKEN: [i32; 4] = [libc::SIGCHLD, libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The signals that the parent takes. A blocked signal is kept even where it is ignored, so that one that
/// `nohup` ignores must be left out.
pub fn taken() -> libc::sigset_t {
    let mut set = set_of(&TAKEN);
    if is_ignored(libc::SIGHUP) {
        // SAFETY: a valid set and a valid signal.
        unsafe { libc::sigdelset(&raw mut set, libc::SIGHUP) };
    }
    set
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: only asks; the structure is zeroed and filled by the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// While it lives, signals that would end this process wait.
pub struct Held {
    before: libc::sigset_t,
    // A mask belongs to a thread.
    _here: std::marker::PhantomData<*const ()>,
}

/// Lets Ctrl-C, SIGTERM and SIGHUP wait until the answer is dropped: between the end of the ranks and the
/// moment at which their samples are in a file, one of them would cost the whole run. [`crate::launch::processes`]
/// takes them nevertheless, as long as ranks live.
#[must_use]
pub fn hold_signals() -> Held {
    let mut set = taken();
    // SAFETY: a valid set and a valid signal.
    unsafe { libc::sigdelset(&raw mut set, libc::SIGCHLD) };
    Held { before: block(&set), _here: std::marker::PhantomData }
}

impl Drop for Held {
    fn drop(&mut self) {
        restore(&self.before);
    }
}

/// Waits for SIGUSR1. `ready` is called when it may come: one that comes earlier ends the process, as
/// ever. Ctrl-C ends the wait and the process.
///
/// # Errors
/// Where the system cannot wait.
pub fn await_user_signal(ready: impl FnOnce()) -> std::io::Result<()> {
    let set = set_of(&[libc::SIGUSR1]);
    let before = block(&set);
    ready();
    let mut got = 0;
    // SAFETY: a valid set, blocked above, and a place for the answer.
    let errno = unsafe { libc::sigwait(&raw const set, &raw mut got) };
    restore(&before);
    if errno == 0 { Ok(()) } else { Err(std::io::Error::from_raw_os_error(errno)) }
}

/// A write beyond the limit of file sizes (`ulimit -f`) is from now on an error like any other, EFBIG, and
/// not the end of the process.
pub fn endure_file_size_limit() {
    // SAFETY: sets a disposition that runs no code.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// A set of signals for the calls below.
pub fn set_of(signals: &[i32]) -> libc::sigset_t {
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
pub fn block(set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = set_of(&[]);
    // SAFETY: both sets are valid and live through the call.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set, &raw mut before) };
    before
}

/// Makes exactly `set` blocked in this thread.
pub fn restore(set: &libc::sigset_t) {
    // SAFETY: the set is valid and lives through the call.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set, std::ptr::null_mut()) };
}

/// Waits for one of `set`, at most for `limit`; `None` when none came.
pub fn take(set: &libc::sigset_t, limit: Duration) -> Option<i32> {
    let limit = libc::timespec { tv_sec: limit.as_secs() as _, tv_nsec: limit.subsec_nanos() as _ };
    // SAFETY: set and time are valid; no information about the sender is asked for.
    let signal = unsafe { libc::sigtimedwait(set, std::ptr::null_mut(), &raw const limit) };
    (signal > 0).then_some(signal)
}

/// A descriptor that is readable when one of `set`, which is blocked, has come.
pub fn descriptor(set: &libc::sigset_t) -> std::io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: a valid set; the result is checked.
    let made = unsafe { libc::signalfd(-1, set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if made < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { std::os::fd::OwnedFd::from_raw_fd(made) })
}

/// As [`restore`], in a rank: what its parent takes or holds back reaches it.
pub fn restore_in_a_rank(set: &libc::sigset_t) {
    let mut open = *set;
    for signal in TAKEN {
        // SAFETY: a valid set and a valid signal.
        unsafe { libc::sigdelset(&raw mut open, signal) };
    }
    restore(&open);
}

extern "C" fn nothing(_signal: libc::c_int) {}

/// What a rank does with signals: Ctrl-C reaches the parent, which decides; SIGTERM from the
/// parent only interrupts the call the rank is in (EINTR), since it should look whether to stop.
pub fn in_a_rank() {
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
pub fn name(signal: i32) -> String {
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
pub fn words(signal: i32) -> String {
    if signal == libc::SIGINT { "Ctrl-C".into() } else { name(signal) }
}
