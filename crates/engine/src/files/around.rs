//! The directories of names, each held by its descriptor, and reached through no link that leads where a run did not make it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, openat, openat2, readlinkat, statx};

use super::entry::{FoundFile, WANTED};

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const ITSELF: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Links on the way, as Linux has it.
const MOST_LINKS: u32 = 40;

/// A directory that was reached.
pub(super) struct Around {
    pub(super) directory: OwnedFd,
}

impl Around {
    /// What lies there under this name itself.
    pub(super) fn look(&self, name: &OsStr) -> Option<FoundFile> {
        statx(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW, WANTED)
            .ok()
            .map(|found| FoundFile::of(&found))
    }
}

/// Why a directory is not entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// It is gone, or may not be entered.
    Gone,
    /// A link that the run made leads to what the run did not make.
    Elsewhere,
}

/// Opens directories, and keeps the last one: names come in order.
pub(super) struct Directories<'a> {
    base: BorrowedFd<'a>,
    /// Did the run make it?
    made: &'a dyn Fn(&FoundFile) -> bool,
    last: Option<(PathBuf, Result<Around, Closed>)>,
}

impl<'a> Directories<'a> {
    /// Relative ones are of `base`.
    pub(super) fn new(base: BorrowedFd<'a>, made: &'a dyn Fn(&FoundFile) -> bool) -> Self {
        Self { base, made, last: None }
    }

    /// The directory of `path`, which stays the same whatever is renamed.
    pub(super) fn of(&mut self, path: &Path) -> Result<&Around, Closed> {
        let around = path.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if self.last.as_ref().is_none_or(|(last, _)| last != around) {
            self.last = Some((around.to_owned(), self.open(around)));
        }
        match &self.last {
            Some((_, found)) => found.as_ref().map_err(|closed| *closed),
            None => Err(Closed::Gone),
        }
    }

    fn open(&self, directory: &Path) -> Result<Around, Closed> {
        match openat2(self.base, directory, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(directory) => Ok(Around { directory }),
            // It has a link in it, or Linux is older than 5.6.
            Err(_) => self.walk(directory),
        }
    }

    /// Part by part: a link of the user is followed; one of the run only leads to a directory of the run.
    fn walk(&self, directory: &Path) -> Result<Around, Closed> {
        let (mut at, mut links, mut straight) = (self.enter(self.base, Path::new("."))?, 0, true);
        let mut left: Vec<OsString> = Vec::new();
        push(&mut left, directory);
        while let Some(part) = left.pop() {
            if part == "/" || part == ".." {
                at = self.enter(at.as_fd(), Path::new(&part))?;
                continue;
            }
            let next = openat(&at, &part, ITSELF, Mode::empty()).map_err(|_| Closed::Gone)?;
            let found = statx(&next, "", AtFlags::EMPTY_PATH, WANTED).map_err(|_| Closed::Gone)?;
            let found = FoundFile::of(&found);
            if found.is_link() {
                links += 1;
                straight &= !(self.made)(&found);
                let target = readlinkat(&next, "", Vec::new()).map_err(|_| Closed::Gone)?;
                if links > MOST_LINKS {
                    return Err(Closed::Gone);
                }
                push(&mut left, Path::new(&OsString::from_vec(target.into_bytes())));
            } else if found.is_directory() {
                at = next;
            } else {
                return Err(Closed::Gone);
            }
        }
        let found = statx(&at, "", AtFlags::EMPTY_PATH, WANTED).map_err(|_| Closed::Gone)?;
        match straight || (self.made)(&FoundFile::of(&found)) {
            true => Ok(Around { directory: at }),
            false => Err(Closed::Elsewhere),
        }
    }

    fn enter(&self, from: BorrowedFd<'_>, directory: &Path) -> Result<OwnedFd, Closed> {
        openat(from, directory, DIRECTORY, Mode::empty()).map_err(|_| Closed::Gone)
    }
}

/// What is still to be walked, the next part last.
fn push(left: &mut Vec<OsString>, path: &Path) {
    let parts = path.components().rev().filter(|part| !matches!(part, Component::CurDir));
    left.extend(parts.map(|part| part.as_os_str().to_owned()));
}
