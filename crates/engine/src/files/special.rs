//! Pipes, sockets and devices: to open one is to act on it.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;

use super::entry::{FoundFile, look_at};

/// What a look at a name says.
pub(crate) enum Looked {
    /// Nothing is there, or the kernel's memory does not have it.
    Nothing,
    /// An ordinary file, a directory or a link: to open it does nothing else.
    Ordinary,
    Special(FoundFile),
}

/// What lies at `path`. With `follow` what a link at its end leads to is meant.
///
/// Opened with O_PATH it is looked at and nothing else: who waits at a pipe is not woken. With `cached` nothing is read for that
/// from a disk or asked of a server either, which would make the open that follows faster than it is. So of a name that is
/// not in the kernel's memory nothing is said then: a pipe whose name is not there is open nowhere on this machine.
pub(crate) fn special(path: &CStr, follow: bool, cached: bool) -> Looked {
    let found = match look(path, follow, cached) {
        // Another process may have been changing a name on the way.
        Err(Errno::AGAIN) => match look(path, false, cached) {
            // The kernel says nothing of what a link leads to without a look at the disk.
            Ok(held) if follow && is_link(&held) => look(path, true, false),
            held => held,
        },
        held => held,
    };
    let Ok(held) = found else { return Looked::Nothing };
    match fstat(&held) {
        Ok(found) if is_ordinary(found.st_mode) => Looked::Ordinary,
        _ => look_at(held.as_raw_fd()).map_or(Looked::Nothing, Looked::Special),
    }
}

/// Opens an ordinary file to read, and nothing else. What was looked at is opened, not its name again. A link at the end is
/// none.
pub(crate) fn open_ordinary(path: &CStr) -> Option<OwnedFd> {
    let held =
        rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    let kind = FileType::from_raw_mode(fstat(&held).ok()?.st_mode);
    if kind != FileType::RegularFile {
        return None;
    }
    let held = format!("/proc/self/fd/{}", held.as_raw_fd());
    rustix::fs::open(held, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Is it an ordinary file, a directory or a link?
pub(crate) fn is_ordinary(mode: u32) -> bool {
    let kind = FileType::from_raw_mode(mode);
    matches!(kind, FileType::RegularFile | FileType::Directory | FileType::Symlink)
}

fn look(path: &CStr, follow: bool, cached: bool) -> Result<OwnedFd, Errno> {
    let link = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    let how = OFlags::PATH | OFlags::CLOEXEC | link;
    let resolve = if cached { ResolveFlags::CACHED } else { ResolveFlags::empty() };
    match openat2(CWD, path, how, Mode::empty(), resolve) {
        // Before Linux 5.12 nobody can ask what is in memory.
        Err(Errno::INVAL | Errno::NOSYS | Errno::PERM) => rustix::fs::open(path, how, Mode::empty()),
        held => held,
    }
}

fn is_link(held: &OwnedFd) -> bool {
    fstat(held).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs::File;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{OpenOptionsExt, symlink};
    use std::path::Path;

    use super::*;

    fn named(path: &Path) -> CString {
        CString::new(path.as_os_str().as_bytes()).expect("no NUL")
    }

    #[test]
    fn pipes_sockets_and_devices_are_told_and_nobody_at_a_pipe_is_woken() -> io::Result<()> {
        let home = tempfile::tempdir()?;
        let path = |name: &str| home.path().join(name);
        std::fs::write(path("file"), "")?;
        std::fs::create_dir(path("directory"))?;
        rustix::fs::mkfifoat(CWD, path("pipe"), Mode::RWXU)?;
        let _socket = std::os::unix::net::UnixListener::bind(path("socket"))?;
        for name in ["file", "directory", "pipe"] {
            symlink(name, path(&format!("to-{name}")))?;
        }
        let told =
            |name: &str, follow| matches!(special(&named(&path(name)), follow, true), Looked::Special(_));
        for (name, follow, is_special) in [
            ("file", true, false),
            ("directory", true, false),
            ("none", true, false),
            ("pipe", true, true),
            ("pipe", false, true),
            ("socket", false, true),
            ("to-pipe", false, false),
            ("to-pipe", true, true),
            ("to-file", true, false),
            ("file/none", true, false),
        ] {
            assert_eq!(told(name, follow), is_special, "{name} {follow}");
        }
        assert!(matches!(special(c"/dev/null", false, false), Looked::Special(_)));
        // As a reader it would be there, for who opens to write.
        let write = File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path("pipe"));
        assert_eq!(write.map_err(|error| error.raw_os_error()).err(), Some(Some(libc::ENXIO)));
        Ok(())
    }
}
