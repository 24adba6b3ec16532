//! Removes what a run created, and only that.

use std::collections::HashSet;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, open, unlinkat};

use super::around::{Closed, Directories};
use super::entry::{Created, FoundFile, look};
use super::moment::Moment;
use super::owned::Ownership;

/// What [`clean`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Files and links removed, and anything else that is no directory.
    pub files: usize,
    /// Directories removed.
    pub directories: usize,
    /// What could not be removed, and why.
    pub left: Vec<(PathBuf, String)>,
    /// Why the next run does not know what this one left.
    pub forgotten: Option<String>,
}

impl Cleaned {
    /// Everything removed.
    pub fn removed(&self) -> usize {
        self.files + self.directories
    }
}

/// What the ranks made and left belongs to the user's next runs as well; why not, where they will not know it.
pub fn remember(created: &[Created], own: &Ownership) -> Option<String> {
    let left =
        created.iter().filter_map(|entry| look(&CString::new(entry.path.as_os_str().as_bytes()).ok()?));
    super::earlier_runs::remember(left.map(|found| *found.object()).filter(|object| own.is_made(object)))
}

/// As [`clean`], of ranks whose working directory was `directory`, which are all gone.
pub fn clean_in(directory: &Path, created: &[Created], own: Option<&Ownership>) -> Cleaned {
    let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Where the directory is gone so is what was in it.
    let Ok(base) = open(directory, how, Mode::empty()) else { return Cleaned::default() };
    let mut cleaned = Cleaning { created, own, base: base.as_fd() }.cleaned();
    cleaned.left.iter_mut().for_each(|(path, _)| *path = directory.join(&*path));
    cleaned
}

/// Removes what the ranks created. What is gone already is no error; a directory that holds anything else is left and
/// reported.
///
/// Where the run knows the objects that it made (`own`), these are removed, and nothing that has taken their names. Where it
/// does not, what was born between the beginning and the end of the call that made it is taken for that. What a call was to make that
/// was cut short may be the user's, who made it under this name in the same moment: it stays and is named.
///
/// Other ranks may be at work, and put a link in the place of a directory at any time: what is removed is looked at in the
/// directory that it is removed from.
pub fn clean(created: &[Created], own: Option<&Ownership>) -> Cleaned {
    Cleaning { created, own, base: CWD }.cleaned()
}

/// Whose something is.
enum Whose {
    Run,
    /// What it says of it.
    Nobody(&'static str),
    /// Not of the run, or another name of what is.
    Others,
}

const CUT_SHORT: &str = "a call that was to make it was cut short: it may be yours; remove it yourself";
const YOUNGER: &str =
    "it is younger than the call that made something of this name: it may be yours; remove it yourself";
const FORGOTTEN: &str = "the run made too many files to know each: it may be yours; remove it yourself";
const ELSEWHERE: &str = "a link of the program leads to this directory, which the program did not make";

struct Cleaning<'a> {
    created: &'a [Created],
    own: Option<&'a Ownership>,
    base: BorrowedFd<'a>,
}

impl Cleaning<'_> {
    fn cleaned(&self) -> Cleaned {
        let mut wanted: Vec<&Created> = self.created.iter().collect();
        // What lies inside a directory goes before it, and what lies in the same one together.
        wanted.sort_by_key(|entry| (std::cmp::Reverse(entry.path.components().count()), &entry.path));
        let begun = self.begun();
        let made = |found: &FoundFile| match self.own {
            Some(own) => own.is_made(found.object()),
            None => found.born.is_none_or(|born| born >= begun),
        };
        let mut around = Directories::new(self.base, &made);
        let mut cleaned = Cleaned::default();
        let (mut ours, mut late, mut known) = (Vec::new(), Vec::new(), HashSet::new());
        let mut said = None;
        for entry in wanted {
            let Some(name) = entry.path.file_name() else { continue };
            let found = match around.of(&entry.path) {
                Ok(around) => around.look(name),
                Err(Closed::Elsewhere) if said != entry.path.parent() => {
                    said = entry.path.parent();
                    cleaned.left.extend(said.map(|directory| (directory.to_owned(), ELSEWHERE.into())));
                    continue;
                }
                Err(_) => continue,
            };
            let Some(found) = found else { continue };
            match self.whose(entry, &found, begun) {
                Whose::Run => {
                    known.insert(found.identity());
                    ours.push((entry, found));
                }
                Whose::Nobody(why) => late.push((entry, found, Some(why))),
                Whose::Others => late.push((entry, found, None)),
            }
        }
        for (entry, found, why) in late {
            // A second name of what the run made, by a link whose call was cut short, was born before that call.
            if known.contains(&found.identity()) && self.own.is_none() {
                ours.push((entry, found));
            } else if let Some(why) = why {
                cleaned.left.push((entry.path.clone(), why.into()));
            }
        }
        let (directories, files): (Vec<_>, Vec<_>) =
            ours.into_iter().partition(|(_, found)| found.is_directory());
        for (entry, found) in files.iter().chain(&directories) {
            match remove(&mut around, &entry.path, found) {
                Ok(true) if found.is_directory() => cleaned.directories += 1,
                Ok(true) => cleaned.files += 1,
                Ok(false) => {}
                Err(error) => cleaned.left.push((entry.path.clone(), error.to_string())),
            }
        }
        cleaned
    }

    /// Nothing that was born before is of the run.
    fn begun(&self) -> Moment {
        let calls = || self.created.iter().filter_map(|entry| entry.born).map(|(from, _)| from);
        self.own.and_then(Ownership::since).unwrap_or_else(|| calls().min().unwrap_or_default())
    }

    fn whose(&self, entry: &Created, found: &FoundFile, begun: Moment) -> Whose {
        let is_young = entry.born.is_none() || found.born.is_some_and(|born| born >= begun);
        let in_time = entry.born.is_none_or(|window| found.born.is_some_and(|born| born.is_within(window)));
        match (self.own, entry.done) {
            // Not what an earlier run left, and this one emptied.
            (Some(own), _) if own.is_made(found.object()) => {
                if is_young {
                    Whose::Run
                } else {
                    Whose::Others
                }
            }
            (Some(own), true) if in_time && own.forgets() => Whose::Nobody(FORGOTTEN),
            (Some(_), true) => Whose::Others,
            (None, true) if in_time => Whose::Run,
            (None, true) if is_young => Whose::Nobody(YOUNGER),
            (None, true) => Whose::Others,
            (_, false) if !in_time => Whose::Others,
            (_, false) if entry.of_a_kernel => Whose::Run,
            (_, false) => Whose::Nobody(CUT_SHORT),
        }
    }
}

/// Removes `path` if it is this object, and whether it did.
fn remove(around: &mut Directories<'_>, path: &Path, wanted: &FoundFile) -> std::io::Result<bool> {
    let (Ok(around), Some(name)) = (around.of(path), path.file_name()) else { return Ok(false) };
    if !around.look(name).is_some_and(|found| found.is(wanted)) {
        return Ok(false);
    }
    let how = if wanted.is_directory() { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    match unlinkat(&around.directory, name, how) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
