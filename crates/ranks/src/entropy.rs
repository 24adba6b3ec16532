//! Asks whether the system gives random numbers, which hash tables need: without, they end the process.

use std::io;

/// Looks whether there are random numbers, without waiting for them.
///
/// # Errors
/// As getrandom(2): a kernel before 3.17, or a filter that forbids the call.
pub fn random_numbers() -> io::Result<()> {
    let mut byte = 0_u8;
    // SAFETY: one byte, which can be written.
    let got = unsafe { libc::getrandom((&raw mut byte).cast(), 1, libc::GRND_NONBLOCK) };
    let error = io::Error::last_os_error();
    if got == 1 || error.kind() == io::ErrorKind::WouldBlock { Ok(()) } else { Err(error) }
}
