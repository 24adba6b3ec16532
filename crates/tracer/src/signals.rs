//! Signals while an application is recorded: it gets them all, and what it did until then is kept.

use std::sync::atomic::{AtomicI32, Ordering::SeqCst};

/// Those of the keyboard reach the application by themselves.
const KEYBOARD: [libc::c_int; 2] = [libc::SIGINT, libc::SIGQUIT];
/// Those that somebody sends to the recorder, such as `timeout` or a batch system.
const SENT: [libc::c_int; 2] = [libc::SIGTERM, libc::SIGHUP];

/// The first process of the application, or one of these.
static APPLICATION: AtomicI32 = AtomicI32::new(STARTS);
const STARTS: i32 = 0;
const ENDED: i32 = -1;
/// A signal that came before the application had started; 0: none.
static EARLY: AtomicI32 = AtomicI32::new(0);

extern "C" fn pass_on(signal: libc::c_int) {
    // SAFETY: plain calls, which may be made in a handler.
    unsafe {
        match APPLICATION.load(SeqCst) {
            STARTS => EARLY.store(signal, SeqCst),
            // Only what it left behind runs, which may be for ever.
            ENDED => {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
            application => {
                libc::kill(application, signal);
            }
        }
    }
}

/// How a process handled these signals.
#[derive(Clone, Copy)]
pub struct Handled([(libc::c_int, libc::sigaction); 4]);

impl Handled {
    /// Has this process handle them so. Makes system calls alone.
    pub fn restore(&self) {
        for (signal, action) in &self.0 {
            // SAFETY: what it was.
            unsafe { libc::sigaction(*signal, action, std::ptr::null_mut()) };
        }
    }
}

/// As long as it lives, this process survives these signals.
pub struct SignalsPassedOn {
    /// How they were handled before; the application handles them so.
    pub before: Handled,
}

impl SignalsPassedOn {
    /// From now on the recorder ignores the keyboard, and passes on what is sent to it.
    pub fn begin() -> Self {
        EARLY.store(0, SeqCst);
        APPLICATION.store(STARTS, SeqCst);
        let [interrupt, quit] = KEYBOARD.map(|signal| (signal, handle(signal, libc::SIG_IGN)));
        let [term, hang_up] = SENT.map(|signal| {
            let before = handle(signal, pass_on as *const () as libc::sighandler_t);
            if before.sa_sigaction == libc::SIG_IGN {
                // As `nohup` wants it.
                handle(signal, libc::SIG_IGN);
            }
            (signal, before)
        });
        Self { before: Handled([interrupt, quit, term, hang_up]) }
    }

    /// Names the process that gets what is sent.
    pub fn pass_to(&self, application: libc::pid_t) {
        APPLICATION.store(application, SeqCst);
        let early = EARLY.swap(0, SeqCst);
        if early != 0 {
            pass_on(early);
        }
    }

    /// That process has ended: a further signal ends this one.
    pub fn application_ended(&self) {
        APPLICATION.store(ENDED, SeqCst);
    }
}

impl Drop for SignalsPassedOn {
    fn drop(&mut self) {
        self.before.restore();
    }
}

/// Sets how a signal is handled; returns how it was.
fn handle(signal: libc::c_int, handler: libc::sighandler_t) -> libc::sigaction {
    // SAFETY: all bits zero are a value of this structure.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let mut before = action;
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the handler may run at any time, and both structures are ours.
    unsafe { libc::sigaction(signal, &raw const action, &raw mut before) };
    before
}
