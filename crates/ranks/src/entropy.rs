//! Asks whether the system gives random numbers, which hash tables need (without, they end the process), and draws one.

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

/// A number that nobody can foresee.
///
/// # Errors
/// As getrandom(2).
pub fn random_number() -> io::Result<u64> {
    let mut bytes = [0_u8; 8];
    loop {
        // SAFETY: eight bytes, which can be written. So few are given at once or not at all.
        let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        if got == bytes.len() as isize {
            return Ok(u64::from_ne_bytes(bytes));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
