//! Opens files and folders that are this user's own, and nothing that somebody else may have put in their place.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Opens or makes a file that is this user's alone, without following a link.
pub(crate) fn private(folder: impl AsFd, name: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?))
}

/// An ordinary file of this user; nothing else is opened.
pub(crate) fn own(folder: impl AsFd, name: &Path, flags: OFlags) -> io::Result<File> {
    let file = private(folder, name, flags | OFlags::NONBLOCK)?;
    let found = fstat(&file)?;
    let ordinary = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    if !ordinary || found.st_uid != geteuid().as_raw() {
        let what = format!("{} is not an ordinary file of this user", name.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(file)
}

/// A folder of this user that nobody else may write to, held open.
pub(crate) fn own_folder(path: &Path) -> io::Result<OwnedFd> {
    let refused =
        |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{} is not {what}", path.display()));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match open(path, flags, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Err(refused("a folder of this user")),
        result => result?,
    };
    let found = fstat(&folder)?;
    if found.st_uid != geteuid().as_raw() {
        return Err(refused("a folder of this user"));
    }
    if Mode::from_raw_mode(found.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
        return Err(refused("this user's alone: others may write to it"));
    }
    Ok(folder)
}
