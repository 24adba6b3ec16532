//! What files are called: the file that a path leads to now, whatever was renamed, linked and removed before.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::known::{FileName, Known};
use crate::names::last_slash;
use crate::recent::RecentDirectories;

/// One file, by the number of the path under which it was made and which of the files of that path it is.
type FileKey = (u64, u32);

impl FileName {
    fn key(&self) -> FileKey {
        (self.id, self.life)
    }
}

/// What a path leads to that was renamed, linked or removed.
#[derive(Clone, Copy)]
enum Called {
    /// A file or directory that was made under this path or another one.
    Is(FileName),
    /// What is made here next: the file that was here before was removed or has another name.
    Anew(FileName),
    /// A symbolic link to this path.
    LeadsTo(FileName),
}

/// The files that a rank has to do with.
#[derive(Clone, Default)]
pub struct Catalogue {
    /// Directories by how the program writes them,
    directories: HashMap<Box<[u8]>, FileName>,
    /// and those of them that were looked up last.
    recent: RecentDirectories<FileName>,
    /// The file that was opened last: many programs open one again and again.
    opened: Option<(Arc<CStr>, FileName)>,
    /// What paths lead to, where that is not what was first made there.
    entries: HashMap<FileKey, Called>,
    /// Of how many paths another file was first, which numbers the next one.
    lives: u32,
    known: HashMap<FileKey, Known>,
    /// Bytes that this rank appended to files without knowing where.
    appended: HashMap<FileKey, u64>,
    /// Files of which something is known lost a name so often since [`Catalogue::forget_all_but`].
    lost: usize,
    /// Reads are compared with what is known.
    pub verifying: bool,
}

impl Catalogue {
    /// The number and name of the file `path`; `local`: links in it are resolved on this machine. A directory is looked
    /// up once.
    pub fn file(&mut self, path: &CStr, local: bool) -> FileName {
        let file = self.called(path, local);
        self.now(file)
    }

    /// As [`Catalogue::file`], of a file that is opened, with its path to keep.
    #[inline]
    pub fn opened(&mut self, path: &CStr, local: bool) -> (Arc<CStr>, FileName) {
        match &self.opened {
            Some((last, name)) if **last == *path => (Arc::clone(last), *name),
            _ => self.opened_first(path, local),
        }
    }

    #[inline(never)]
    fn opened_first(&mut self, path: &CStr, local: bool) -> (Arc<CStr>, FileName) {
        let opened = (Arc::from(path), self.file(path, local));
        self.opened.insert(opened).clone()
    }

    /// As [`Catalogue::file`], whatever was renamed to it.
    fn called(&mut self, path: &CStr, local: bool) -> FileName {
        let path = path.to_bytes();
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let slash = last_slash(path).map_or(0, |slash| slash + 1);
        let (directory, name) = path.split_at(slash);
        match self.recent.get(directory) {
            Some(around) => around.inside(name),
            None => self.look_up(directory, local).inside(name),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, directory: &[u8], local: bool) -> FileName {
        let around = match self.directories.get(directory) {
            Some(around) => *around,
            None => {
                let around = self.directory(directory, local);
                self.directories.insert(directory.into(), around);
                around
            }
        };
        self.recent.keep(directory, around);
        around
    }

    /// The file that `place` leads to.
    fn now(&self, place: FileName) -> FileName {
        /// As many links as Linux follows.
        const LINKS: usize = 40;
        let mut place = place;
        for _ in 0..LINKS {
            match self.entries.get(&place.key()) {
                None => return place,
                Some(Called::Is(file) | Called::Anew(file)) => return *file,
                Some(Called::LeadsTo(other)) => place = *other,
            }
        }
        place
    }

    fn directory(&self, path: &[u8], local: bool) -> FileName {
        let written = Path::new(OsStr::from_bytes(if path.is_empty() { b"." } else { path }));
        let real = if local { written.canonicalize().ok() } else { None };
        let real: PathBuf = real.unwrap_or_else(|| written.to_owned());
        let names = real.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.as_bytes()),
            _ => None,
        });
        names.fold(FileName::default(), |around, name| self.now(around.inside(name)))
    }

    /// What lies at `place` itself.
    fn entry(&self, place: FileName) -> Called {
        match self.entries.get(&place.key()) {
            None => Called::Is(place),
            Some(Called::Anew(file)) => Called::Is(*file),
            Some(entry) => *entry,
        }
    }

    fn is_known(&self, entry: Called) -> bool {
        let of =
            |file: &FileName| self.known.contains_key(&file.key()) || self.appended.contains_key(&file.key());
        matches!(entry, Called::Is(file) if of(&file))
    }

    /// Nothing lies at `place` any more; what did may have other names, or be open.
    fn vacate(&mut self, place: FileName, gone: Called) {
        self.opened = None;
        if !self.verifying && self.appended.is_empty() {
            self.entries.remove(&place.key());
            self.forget_directories();
            return;
        }
        self.lives = self.lives.wrapping_add(1);
        let next = FileName { life: self.lives, ..place };
        let is_file = self.is_known(gone);
        self.lost += usize::from(is_file);
        self.entries.insert(place.key(), if is_file { Called::Anew(next) } else { Called::Is(next) });
        if !is_file {
            self.forget_directories();
        }
    }

    fn forget_directories(&mut self) {
        self.directories.clear();
        self.recent.clear();
        self.opened = None;
    }

    /// What was called `from` is called `to`. It keeps the name under which it was written, and what is known of it.
    pub fn renamed(&mut self, from: &CStr, to: &CStr, local: bool) {
        let (from, to) = (self.called(from, local), self.called(to, local));
        let (moved, replaced) = (self.entry(from), self.entry(to));
        // Two names of one file: both stay.
        if matches!((moved, replaced), (Called::Is(moved), Called::Is(replaced)) if moved.key() == replaced.key())
        {
            return;
        }
        self.vacate(from, moved);
        self.lost += usize::from(self.is_known(replaced));
        self.entries.insert(to.key(), moved);
    }

    /// What is called `from` is called `to` as well.
    pub fn linked(&mut self, from: &CStr, to: &CStr, local: bool) {
        let (from, to) = (self.called(from, local), self.called(to, local));
        self.entries.insert(to.key(), self.entry(from));
        self.opened = None;
    }

    /// `path` is a symbolic link that leads to `target`.
    pub fn leads(&mut self, path: &CStr, target: &CStr, local: bool) {
        let (path, target) = (self.called(path, local), self.called(target, local));
        self.entries.insert(path.key(), Called::LeadsTo(target));
        self.forget_directories();
    }

    /// Nothing is called `path` any more. What was may have other names, or be open: it stays known.
    pub fn removed(&mut self, path: &CStr, local: bool) {
        if self.known.is_empty() && self.entries.is_empty() && self.appended.is_empty() {
            return;
        }
        let place = self.called(path, local);
        let gone = self.entry(place);
        if self.is_known(gone) || self.entries.contains_key(&place.key()) {
            self.vacate(place, gone);
        }
    }

    /// Is much known of files that may be gone?
    pub fn is_crowded(&self) -> bool {
        /// So few are no burden.
        const FEW: usize = 4096;
        self.lost > FEW.max(self.known.len() / 2)
    }

    /// Forgets files that have no name and are not `open`.
    pub fn forget_all_but(&mut self, open: impl Iterator<Item = FileName>) {
        self.lost = 0;
        let open: HashSet<FileKey> = open.map(|file| file.key()).collect();
        let named: HashSet<FileKey> = self
            .entries
            .values()
            .filter_map(|entry| match entry {
                Called::Is(file) | Called::Anew(file) => Some(file.key()),
                Called::LeadsTo(_) => None,
            })
            .collect();
        let entries = &self.entries;
        let stays = |key: &FileKey| open.contains(key) || named.contains(key) || !entries.contains_key(key);
        self.known.retain(|key, _| stays(key));
        self.appended.retain(|key, _| stays(key));
        let (known, appended) = (&self.known, &self.appended);
        let is_known = |key: &FileKey| known.contains_key(key) || appended.contains_key(key);
        // A path of which nothing is left may begin afresh.
        self.entries.retain(|place, entry| match entry {
            Called::Anew(file) => is_known(&file.key()) || is_known(place) || open.contains(place),
            _ => true,
        });
    }

    /// A file without a name, made in the directory `path`.
    pub fn nameless(&mut self, path: &CStr, local: bool) -> FileName {
        self.lives = self.lives.wrapping_add(1);
        FileName { life: self.lives, ..self.file(path, local) }
    }

    /// Is anything known of this file?
    pub fn knows(&self, file: FileName) -> bool {
        self.known.contains_key(&file.key())
    }

    /// How long this file is at least, if nobody else cut it.
    pub fn least(&self, file: FileName) -> u64 {
        self.known.get(&file.key()).filter(|known| !known.unsteady).map_or(0, |known| known.least)
    }

    /// Counts `length` bytes that are appended to a file without knowing where; how many were before.
    pub fn append(&mut self, file: FileName, length: u64) -> u64 {
        let so_far = self.appended.entry(file.key()).or_default();
        std::mem::replace(so_far, so_far.saturating_add(length))
    }

    /// What is known of a file.
    pub fn of(&mut self, file: FileName) -> &mut Known {
        self.known.entry(file.key()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_file_goes_where_the_file_goes() {
        let mut catalogue = Catalogue { verifying: true, ..Catalogue::default() };
        let known = |catalogue: &mut Catalogue, path: &CStr| {
            let file = catalogue.file(path, false);
            catalogue.of(file).own.within(0, 100)
        };
        let write = |catalogue: &mut Catalogue, path: &CStr, begin: u64| {
            let file = catalogue.file(path, false);
            *catalogue.of(file) = Known::of_empty();
            catalogue.of(file).wrote(begin, begin + 1);
        };
        write(&mut catalogue, c"f", 1);
        catalogue.renamed(c"f", c"g", false);
        write(&mut catalogue, c"f", 2);
        assert_eq!(known(&mut catalogue, c"f"), [(2, 3)]);
        assert_eq!(known(&mut catalogue, c"g"), [(1, 2)]);
        // A second name outlives the first, and a rename of one onto the other changes nothing.
        catalogue.linked(c"g", c"h", false);
        catalogue.renamed(c"g", c"h", false);
        catalogue.removed(c"g", false);
        assert_eq!(known(&mut catalogue, c"h"), [(1, 2)]);
        assert_eq!(known(&mut catalogue, c"g"), []);
        // A link leads to whatever has that name now.
        catalogue.leads(c"l", c"h", false);
        assert_eq!(known(&mut catalogue, c"l"), [(1, 2)]);
        catalogue.renamed(c"f", c"h", false);
        assert_eq!(known(&mut catalogue, c"l"), [(2, 3)]);
        catalogue.removed(c"l", false);
        assert_eq!(known(&mut catalogue, c"h"), [(2, 3)]);
        // A directory takes what is in it along, and another one of its name has its own.
        write(&mut catalogue, c"d/f", 4);
        catalogue.renamed(c"d", c"e", false);
        write(&mut catalogue, c"d/f", 5);
        assert_eq!(known(&mut catalogue, c"e/f"), [(4, 5)]);
        assert_eq!(known(&mut catalogue, c"d/f"), [(5, 6)]);
    }

    #[test]
    fn what_is_gone_is_forgotten_and_what_is_open_or_named_is_not() {
        let mut catalogue = Catalogue { verifying: true, ..Catalogue::default() };
        let name = |number: u32| std::ffi::CString::new(format!("f{number}")).expect("no NUL");
        let mut open = None;
        for number in 0..20_000 {
            let path = name(number);
            let file = catalogue.file(&path, false);
            catalogue.of(file).wrote(0, 1);
            open.get_or_insert(file);
            match number % 4 {
                0 => catalogue.renamed(&path, c"kept", false),
                _ => catalogue.removed(&path, false),
            }
            if catalogue.is_crowded() {
                catalogue.forget_all_but(open.into_iter());
            }
        }
        assert!(catalogue.known.len() < 10_000, "{}", catalogue.known.len());
        assert!(catalogue.entries.len() < 10_000, "{}", catalogue.entries.len());
        let kept = catalogue.file(c"kept", false);
        assert!(catalogue.knows(kept) && open.is_some_and(|open| catalogue.knows(open)));
    }

    #[test]
    fn a_file_that_is_opened_again_has_the_name_that_it_has_now() {
        let mut catalogue = Catalogue::default();
        let (path, other) = (c"a/f", c"a/g");
        let written = catalogue.file(path, false);
        assert_eq!(catalogue.opened(path, false), (Arc::from(path), written));
        // Opened again, and another one.
        assert_eq!(catalogue.opened(path, false).1, written);
        let theirs = catalogue.opened(other, false).1;
        assert_ne!(theirs, written);
        // What is called so now was written under another name, until it is removed.
        catalogue.renamed(path, other, false);
        assert_eq!(catalogue.opened(other, false).1, written);
        catalogue.removed(other, false);
        assert_eq!(catalogue.opened(other, false).1, theirs);
    }
}
