//! Removes what a run created, and only that.

use std::collections::HashSet;
use std::ffi::{CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statx, unlinkat};

use super::entry::{Created, FoundFile, WANTED, look};
use super::owned::Ownership;

/// What [`clean`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Files and directories removed.
    pub removed: usize,
    /// What could not be removed, and why.
    pub left: Vec<(PathBuf, String)>,
}

/// As [`clean`], of ranks whose working directory was `directory`.
pub fn clean_in(directory: &Path, created: &[Created]) -> Cleaned {
    let absolute = |entry: &Created| Created { path: directory.join(&entry.path), ..entry.clone() };
    clean(&created.iter().map(absolute).collect::<Vec<_>>(), None)
}

/// What the ranks made and left belongs to the user's next runs as well.
pub fn remember(created: &[Created], own: &Ownership) {
    let left =
        created.iter().filter_map(|entry| look(&CString::new(entry.path.as_os_str().as_bytes()).ok()?));
    super::earlier_runs::remember(left.map(|found| *found.object()).filter(|object| own.is_made(object)));
}

/// Removes what the ranks created. What is gone already is no error; what was born before the call that would have made
/// it, or after it, is something else and is left alone; a directory that holds anything else is left and reported. Where
/// the run itself can say what it made (`own`), only that is removed.
///
/// Other ranks may be at work, and put a link in the place of a directory at any time: what is removed is looked at in the
/// directory that it is removed from.
pub fn clean(created: &[Created], own: Option<&Ownership>) -> Cleaned {
    let mut wanted: Vec<&Created> = created.iter().collect();
    // What lies inside a directory goes before it.
    wanted.sort_by_key(|entry| std::cmp::Reverse(entry.path.components().count()));
    let mut cleaned = Cleaned::default();
    let (mut directories, mut files) = (Vec::new(), Vec::new());
    let mut in_time = HashSet::new();
    let (mut theirs, mut late) = (Vec::new(), Vec::new());
    for entry in wanted {
        let Some(found) = held(&entry.path).and_then(|(around, name)| look_in(&around, name)) else {
            continue;
        };
        let is_late = |born| !found.born.is_some_and(|moment| moment.is_within(born));
        if entry.born.is_some_and(is_late) {
            late.push((entry, found));
        } else {
            in_time.insert(found.identity());
            theirs.push((entry, found));
        }
    }
    // A second name of what the run made, by a link whose call was cut short, was born before that call.
    theirs.extend(late.into_iter().filter(|(_, found)| in_time.contains(&found.identity())));
    for (entry, found) in theirs {
        if entry.done && own.is_some_and(|own| !own.is_made(found.object())) {
            continue;
        }
        if found.directory { directories.push((entry, found)) } else { files.push((entry, found)) }
    }
    for (entry, found) in files.iter().chain(&directories) {
        match remove(&entry.path, found) {
            Ok(true) => cleaned.removed += 1,
            Ok(false) => {}
            Err(error) => cleaned.left.push((entry.path.clone(), error.to_string())),
        }
    }
    cleaned
}

/// The directory of `path`, which stays the same whatever is renamed, and the name in it.
fn held(path: &Path) -> Option<(OwnedFd, &OsStr)> {
    let around = path.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Some((openat(CWD, around, how, Mode::empty()).ok()?, path.file_name()?))
}

fn look_in(around: &OwnedFd, name: &OsStr) -> Option<FoundFile> {
    statx(around, name, AtFlags::SYMLINK_NOFOLLOW, WANTED).ok().map(|found| FoundFile::of(&found))
}

/// Removes `path` if it is this object, and whether it did.
fn remove(path: &Path, wanted: &FoundFile) -> std::io::Result<bool> {
    let Some((around, name)) = held(path) else { return Ok(false) };
    if !look_in(&around, name).is_some_and(|found| found.is(wanted)) {
        return Ok(false);
    }
    match unlinkat(&around, name, if wanted.directory { AtFlags::REMOVEDIR } else { AtFlags::empty() }) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
