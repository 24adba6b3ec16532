//! What earlier runs of this user left in a directory, removed where nothing else is in it.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, statx, unlinkat};

use super::earlier_runs::EarlierRuns;
use super::entry::{FoundFile, WANTED};

/// What was in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// So many files and directories of earlier runs, which are removed.
    Removed(usize),
    /// This one, which no run made that is remembered; nothing is removed.
    Foreign(PathBuf),
}

/// Removes all that is in `directory` if earlier runs of this user made each of it. The directory itself stays.
///
/// # Errors
/// As the calls that read directories and remove names; some may be removed then. ENOTDIR where it is a link.
pub fn remove_leftovers(directory: &Path) -> io::Result<Leftovers> {
    let earlier = EarlierRuns::read();
    let opened = openat(CWD, directory, INSIDE, Mode::empty())?;
    let mut walk = Walk { earlier: &earlier, removes: false, count: 0 };
    if let Some(foreign) = walk.through(opened.as_fd(), directory)? {
        return Ok(Leftovers::Foreign(foreign));
    }
    walk = Walk { earlier: &earlier, removes: true, count: 0 };
    Ok(match walk.through(opened.as_fd(), directory)? {
        Some(foreign) => Leftovers::Foreign(foreign),
        None => Leftovers::Removed(walk.count),
    })
}

const INSIDE: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

struct Walk<'a> {
    earlier: &'a EarlierRuns,
    removes: bool,
    count: usize,
}

impl Walk<'_> {
    /// Through all that is in a directory, which is held by its descriptor: no link is followed. Ends at the first name that is
    /// of no earlier run.
    fn through(&mut self, directory: BorrowedFd<'_>, path: &Path) -> io::Result<Option<PathBuf>> {
        for name in names(directory)? {
            let below = path.join(std::ffi::OsString::from_vec(name.to_bytes().to_vec()));
            let found = FoundFile::of(&statx(directory, &name, AtFlags::SYMLINK_NOFOLLOW, WANTED)?);
            if !self.earlier.know(found.object()) {
                return Ok(Some(below));
            }
            if found.is_directory() {
                let inside: OwnedFd = openat(directory, &name, INSIDE, Mode::empty())?;
                if let Some(foreign) = self.through(inside.as_fd(), &below)? {
                    return Ok(Some(foreign));
                }
            }
            self.count += 1;
            if self.removes {
                let how = if found.is_directory() { AtFlags::REMOVEDIR } else { AtFlags::empty() };
                unlinkat(directory, &name, how)?;
            }
        }
        Ok(None)
    }
}

fn names(directory: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name: &CStr = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}
