//! Converts paths, opens files and reads errno for the kernels.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::error::Error;

/// The errno of the last failed call of this thread.
#[inline]
pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// A NUL-terminated path for system calls.
pub(crate) fn c_path(path: &Path) -> Result<CString, Error> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::Path { path: path.display().to_string() })
}

/// Opens a file, with mode 0600 if it is created.
pub(crate) fn open(path: &CStr, flags: OFlags) -> Result<OwnedFd, Error> {
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)
        .map_err(|error| Error::Open { path: path.to_string_lossy().into_owned(), source: error.into() })
}

/// As [`open`], of a `name` in the directory `held`, or in the working directory; errors say `path`.
pub(crate) fn open_in(
    held: Option<&OwnedFd>,
    (name, path): (&CStr, &Path),
    flags: OFlags,
) -> Result<OwnedFd, Error> {
    let directory = held.map_or(rustix::fs::CWD, AsFd::as_fd);
    rustix::fs::openat(directory, name, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)
        .map_err(|error| Error::Open { path: path.display().to_string(), source: error.into() })
}

/// A failed system call.
pub(crate) fn failed(call: &'static str, error: rustix::io::Errno) -> Error {
    Error::System { call, source: error.into() }
}
