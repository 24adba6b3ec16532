//! Which names lay in a directory before a rank made anything there, where no birth time can tell.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::place::{ParentFacts, of_place};
use super::written::split;

/// Directories with more names are not remembered: what is made there counts as not ours.
const MOST: usize = 1 << 20;

/// The names that lay in each directory when a rank was about to make something there for the first time.
///
/// The directory is read once, before the first call. A look at each name before the call that makes it would tell the
/// same, and would tell the client of a remote file system that the name is free, which the call then need not ask.
#[derive(Clone, Default)]
pub struct EarlierNames {
    /// By place; `None`: too many, or unreadable.
    known: HashMap<u64, Option<HashSet<u64>>>,
    /// Directories that this rank made.
    made: HashSet<u64>,
}

impl EarlierNames {
    /// Was there certainly nothing called `path` when the first thing was made in its directory?
    pub fn was_free(&mut self, path: &CStr, around: ParentFacts) -> bool {
        if self.made.contains(&around.place) {
            return true;
        }
        let (directory, name) = split(path.to_bytes());
        let read = || {
            let place = if directory.is_empty() { b"." } else { directory };
            let mut names = HashSet::new();
            for entry in std::fs::read_dir(Path::new(OsStr::from_bytes(place))).ok()? {
                names.insert(of_place(0, entry.ok()?.file_name().as_bytes()));
                if names.len() > MOST {
                    return None;
                }
            }
            Some(names)
        };
        let names = self.known.entry(around.place).or_insert_with(read);
        names.as_ref().is_some_and(|names| !names.contains(&of_place(0, name)))
    }

    /// This rank made the directory `path`.
    pub fn made_directory(&mut self, path: &CStr, around: ParentFacts) {
        let path = path.to_bytes();
        let (_, name) = split(path.strip_suffix(b"/").unwrap_or(path));
        self.made.insert(of_place(around.place, name));
    }

    /// Directories have other names now.
    pub fn forget(&mut self) {
        self.made.clear();
    }
}
