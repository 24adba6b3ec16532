//! Removes what a run created, and only that.

use std::collections::HashSet;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::entry::{Created, look};
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
pub fn clean(created: &[Created], own: Option<&Ownership>) -> Cleaned {
    let mut wanted: Vec<&Created> = created.iter().collect();
    // What lies inside a directory goes before it.
    wanted.sort_by_key(|entry| std::cmp::Reverse(entry.path.components().count()));
    let mut cleaned = Cleaned::default();
    let (mut directories, mut files) = (Vec::new(), Vec::new());
    let mut in_time = HashSet::new();
    let (mut theirs, mut late) = (Vec::new(), Vec::new());
    for entry in wanted {
        let Ok(path) = CString::new(entry.path.as_os_str().as_bytes()) else { continue };
        let Some(found) = look(&path) else { continue };
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
        if found.directory { directories.push(entry) } else { files.push(entry) }
    }
    let file = |path: &PathBuf| std::fs::remove_file(path);
    let directory = |path: &PathBuf| std::fs::remove_dir(path);
    let mut tell = |entry: &Created, result: std::io::Result<()>| match result {
        Ok(()) => cleaned.removed += 1,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => cleaned.left.push((entry.path.clone(), error.to_string())),
    };
    files.iter().for_each(|entry| tell(entry, file(&entry.path)));
    directories.iter().for_each(|entry| tell(entry, directory(&entry.path)));
    cleaned
}
