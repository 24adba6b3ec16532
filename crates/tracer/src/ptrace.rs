//! The requests of ptrace that the recorder makes.

use std::io;

use crate::child::{ARCHITECTURE, X32};

/// The point at which a thread stopped.
pub enum Stopped {
    /// At the beginning of a listed call: number and arguments.
    Entry(u64, [u64; 6]),
    /// At the beginning of a call of another architecture, whose numbers mean other things.
    OtherArchitecture,
    /// At its end: what it returned.
    Exit(i64),
    /// Elsewhere.
    Other,
}

/// `struct ptrace_syscall_info` of Linux.
#[repr(C)]
#[derive(Clone, Copy)]
struct Info {
    op: u8,
    pad: [u8; 3],
    architecture: u32,
    instruction: u64,
    stack: u64,
    /// Entry: number, arguments, data of the filter. Exit: value, whether it is an error.
    rest: [u64; 8],
}

const GET_SYSCALL_INFO: libc::c_uint = 0x420e;

/// Reads the point at which the thread stopped.
pub fn stopped_at(thread: libc::pid_t) -> Stopped {
    let mut info = Info { op: 0, pad: [0; 3], architecture: 0, instruction: 0, stack: 0, rest: [0; 8] };
    // SAFETY: Linux writes at most the size that is given into `info`.
    let got = unsafe { libc::ptrace(GET_SYSCALL_INFO as _, thread, size_of::<Info>(), &raw mut info) };
    if got <= 0 {
        return Stopped::Other;
    }
    let arguments = || std::array::from_fn(|at| info.rest[at + 1]);
    let is_other = info.architecture != ARCHITECTURE || info.rest[0] & u64::from(X32) != 0;
    match info.op {
        1 | 3 if is_other => Stopped::OtherArchitecture,
        // PTRACE_SYSCALL_INFO_ENTRY, PTRACE_SYSCALL_INFO_SECCOMP
        1 | 3 => Stopped::Entry(info.rest[0], arguments()),
        2 => Stopped::Exit(info.rest[0].cast_signed()),
        _ => Stopped::Other,
    }
}

/// Requests the stops that the recorder needs; if the recorder ends, the kernel kills the application.
pub fn set_options(thread: libc::pid_t) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACEEXIT
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: no pointers.
    let done = unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, thread, 0_usize, options as usize) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Resumes a thread, until the end of its call if `to_exit`, and delivers a signal if there is one. A thread that has
/// ended is no error: `wait` reports its end.
pub fn resume(thread: libc::pid_t, to_exit: bool, signal: i32) {
    let request = if to_exit { libc::PTRACE_SYSCALL } else { libc::PTRACE_CONT };
    // SAFETY: no pointers.
    unsafe {
        libc::ptrace(request, thread, 0_usize, signal as usize);
    }
}

/// The message of an event: the number of the new thread, of the one before `execve`, or the status at the end.
pub fn message(thread: libc::pid_t) -> u64 {
    let mut message: libc::c_ulong = 0;
    // SAFETY: Linux writes one word.
    unsafe {
        libc::ptrace(libc::PTRACE_GETEVENTMSG, thread, 0_usize, &raw mut message);
    }
    message
}

/// Waits until a thread that reported its stop has left its processor, as every request of ptrace does.
pub fn settle(thread: libc::pid_t) {
    let _ = message(thread);
}

/// A change of a traced thread.
pub enum Change {
    /// It ended, with the status of wait.
    Ended(i32),
    /// It stopped with a signal; the upper part is the event, 0 where there is none.
    Stop(i32, i32),
}

/// Waits for the next change; `None` if no traced thread is left.
pub fn next() -> io::Result<Option<(libc::pid_t, Change)>> {
    loop {
        let mut status = 0;
        // SAFETY: Linux writes one integer.
        let thread = unsafe { libc::waitpid(-1, &mut status, libc::__WALL) };
        if thread < 0 {
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => continue,
                Some(libc::ECHILD) => return Ok(None),
                _ => return Err(error),
            }
        }
        let change = if libc::WIFSTOPPED(status) {
            Change::Stop(libc::WSTOPSIG(status), status >> 16)
        } else {
            Change::Ended(status)
        };
        return Ok(Some((thread, change)));
    }
}
