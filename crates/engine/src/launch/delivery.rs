//! How does a rank hand its parent more than samples, after the program?

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::FromRawFd;

/// Bytes from a rank to its parent: memory that both have open. Made before the fork.
#[derive(Debug)]
pub struct Delivery(File);

impl Delivery {
    /// An empty one.
    ///
    /// # Errors
    /// As `memfd_create`.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the name is NUL-terminated; the result is checked.
        let descriptor = unsafe { libc::memfd_create(c"lastrank-delivery".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        Ok(Self(unsafe { File::from_raw_fd(descriptor) }))
    }

    /// Adds bytes; for the rank.
    ///
    /// # Errors
    /// As `write(2)`: no memory.
    pub fn put(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    /// All bytes; for the parent, after the rank has ended.
    ///
    /// # Errors
    /// As `read(2)`.
    pub fn take(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&self.0).rewind()?;
        (&self.0).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
