//! The signals of a run: which its parent takes, how ranks react, what they are called.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::Duration;

/// Signals that the parent takes one at a time instead of being interrupted by them.
const SUPERVISED: [i32; 6] =
    [libc::SIGCHLD, libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// Those that are none where they are ignored: by `nohup`, or since they have done what they were for.
const OPTIONAL: [i32; 3] = [libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// A set of signals.
#[derive(Clone, Copy)]
pub struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// These signals; numbers that are none are left out.
    pub(crate) fn of(signals: &[i32]) -> Self {
        // SAFETY: sigemptyset makes any sigset_t valid; sigaddset takes a valid set and refuses bad numbers.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in signals {
                libc::sigaddset(&raw mut set, *signal);
            }
            Self(set)
        }
    }

    /// The signals that the parent takes. A blocked signal is kept even where it is ignored, so one that is, by
    /// `nohup` for instance, is left out.
    pub fn supervised() -> Self {
        OPTIONAL
            .iter()
            .filter(|signal| is_ignored(**signal))
            .fold(Self::of(&SUPERVISED), |set, signal| set.without(*signal))
    }

    fn without(mut self, signal: i32) -> Self {
        // SAFETY: a valid set and a valid signal.
        unsafe { libc::sigdelset(&raw mut self.0, signal) };
        self
    }

    /// Blocks these signals in this thread too; the answer is what was blocked before.
    pub fn block(&self) -> Self {
        let mut before = Self::of(&[]);
        // SAFETY: both sets are valid and live through the call.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const self.0, &raw mut before.0) };
        before
    }

    /// Makes exactly these signals blocked in this thread.
    pub fn restore(&self) {
        // SAFETY: the set is valid and lives through the call.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }

    /// As [`SignalSet::restore`], in a rank: what its parent takes or holds back reaches it.
    pub(crate) fn restore_in_rank(&self) {
        SUPERVISED.iter().fold(*self, |set, signal| set.without(*signal)).restore();
    }

    /// Waits for one of these signals, which are blocked, at most for `limit`; `None` when none came.
    pub fn take(&self, limit: Duration) -> Option<i32> {
        let limit = libc::timespec { tv_sec: limit.as_secs() as _, tv_nsec: limit.subsec_nanos() as _ };
        // SAFETY: set and time are valid; no information about the sender is asked for.
        let signal = unsafe { libc::sigtimedwait(&raw const self.0, std::ptr::null_mut(), &raw const limit) };
        (signal > 0).then_some(signal)
    }

    /// A descriptor that is readable when one of these signals, which are blocked, has come.
    ///
    /// # Errors
    /// As signalfd(2).
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        // SAFETY: a valid set; the result is checked.
        let made = unsafe { libc::signalfd(-1, &raw const self.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        Ok(unsafe { OwnedFd::from_raw_fd(made) })
    }
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
pub struct HeldSignals {
    before: SignalSet,
    // A mask belongs to a thread.
    _here: std::marker::PhantomData<*const ()>,
}

/// Lets Ctrl-C, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 wait until the answer is dropped: between the end of the ranks and the
/// moment at which their samples are in a file, one of them would cost the whole run. [`crate::processes`]
/// takes them nevertheless, as long as ranks live.
#[must_use]
pub fn hold_signals() -> HeldSignals {
    HeldSignals::until_dropped(SignalSet::supervised().without(libc::SIGCHLD))
}

impl HeldSignals {
    /// These signals wait from now on.
    pub(crate) fn until_dropped(set: SignalSet) -> Self {
        Self { before: set.block(), _here: std::marker::PhantomData }
    }
}

/// A signal of `held`, which was taken, comes once more, and this thread no longer blocks any of them.
pub(crate) fn let_it_act(signal: i32, held: SignalSet) {
    // SAFETY: sends a valid signal to this process; the set is valid and lives through the call.
    unsafe {
        libc::kill(libc::getpid(), signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const held.0, std::ptr::null_mut());
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        self.before.restore();
    }
}

/// Waits for SIGUSR1. `ready` is called when it may come: one that comes earlier ends the process, as
/// ever. Ctrl-C ends the wait and the process. Further ones are ignored from then on.
///
/// # Errors
/// Where the system cannot wait.
pub fn await_user_signal(ready: impl FnOnce()) -> io::Result<()> {
    let set = SignalSet::of(&[libc::SIGUSR1]);
    let before = set.block();
    ready();
    let mut got = 0;
    // SAFETY: a valid set, blocked above, and a place for the answer.
    let errno = unsafe { libc::sigwait(&raw const set.0, &raw mut got) };
    if errno == 0 {
        // SAFETY: sets a disposition that runs no code.
        unsafe { libc::signal(libc::SIGUSR1, libc::SIG_IGN) };
    }
    before.restore();
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}

/// From now on a write beyond the limit of file sizes (`ulimit -f`) fails with EFBIG and does not end the
/// process.
pub fn ignore_file_size_signal() {
    // SAFETY: sets a disposition that runs no code.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

extern "C" fn do_nothing(_signal: libc::c_int) {}

/// What a rank does with signals: Ctrl-C reaches the parent, which decides; SIGTERM from the
/// parent only interrupts the call the rank is in (EINTR), since it should look whether to stop.
pub(crate) fn set_rank_handlers() {
    // SAFETY: the handler does nothing, which is safe at any moment; the structure is zeroed, then
    // filled as sigaction wants it. Without SA_RESTART a blocked call returns EINTR.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = libc::SIG_IGN;
        libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut());
        libc::sigaction(libc::SIGHUP, &raw const action, std::ptr::null_mut());
        // Batch systems send these to every process of a job; the parent decides about them as well.
        libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut());
        libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut());
        action.sa_sigaction = do_nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
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

/// How a reader calls the signal that stopped a run: `Ctrl-C`, `SIGTERM`.
pub(crate) fn reader_name(signal: i32) -> String {
    if signal == libc::SIGINT { "Ctrl-C".into() } else { name(signal) }
}
