//! The places that a program may touch.

mod held;
mod links;
mod refuse;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use confine::{Held, Rules};

use super::entry::{is_there_and_no_link, look};
use super::object::Object;
use super::owned::Ownership;
use super::place::{ParentFacts, Place, Reached, device_of, has_birth_times, of_place};
use super::real_path::real_path;
use super::refusal::{Reason, Refusal};
use super::results::Results;
use super::steady::is_steady;
use crate::recent::RecentDirectories;

use super::written::{READ, directory_of, goes_up, here, is_hidden, is_null, is_option, makes};

/// The directories below which a program may read and write.
#[derive(Clone, Debug)]
pub struct Confinement {
    places: Vec<Place>,
    /// `--root`: its directory is the only place.
    rooted: bool,
    /// `--room`: no option would allow more.
    in_room: bool,
    /// Everything is allowed: the user owns the program.
    free: bool,
    /// May programs be started and files be made executable?
    spawns: bool,
    /// May one write fill the file system?
    fills: bool,
    /// May links lead anywhere?
    links: bool,
    /// Hold what is checked by descriptor until it is used: the kernel does not confine this rank.
    by_descriptor: bool,
    known: HashMap<Box<[u8]>, Result<ParentFacts, PathBuf>>,
    /// Those of `known` that were looked up last.
    recent: RecentDirectories<ParentFacts>,
    /// The name that [`Confinement::may_read_unfollowed`] allowed last; empty for none.
    last_read: Vec<u8>,
    /// What the run made.
    own: Ownership,
    /// What lastrank itself will write.
    results: Results,
    /// Others of the run change names at the same time: its other ranks, workers, operations under way.
    concurrent: bool,
}

impl Confinement {
    /// Allowed are the working directory, the places that the user gave as parameters (`named`), and those that
    /// the user opened for the program (`trusted`).
    pub fn new(named: &[PathBuf], trusted: &[PathBuf]) -> Self {
        let named = std::iter::once(Path::new(".")).chain(named.iter().map(PathBuf::as_path));
        let named = named.filter_map(|path| Place::of(path, false));
        let places = named.chain(trusted.iter().filter_map(|path| Place::of(path, true))).collect();
        Self {
            places,
            rooted: false,
            in_room: false,
            free: false,
            spawns: false,
            fills: false,
            links: false,
            by_descriptor: false,
            known: HashMap::new(),
            recent: RecentDirectories::default(),
            last_read: Vec::new(),
            own: Ownership::default(),
            results: Results::default(),
            concurrent: false,
        }
    }

    /// What the run made is known there.
    #[must_use]
    pub fn owning(self, own: Ownership) -> Self {
        Self { own, ..self }
    }

    /// lastrank itself will write to these files and directories.
    #[must_use]
    pub fn beside(self, results: &[PathBuf]) -> Self {
        Self { results: Results::of(results), ..self }
    }

    /// From here on others of the run change names at the same time.
    pub fn set_concurrent(&mut self) {
        if !std::mem::replace(&mut self.concurrent, true) {
            self.forget();
        }
    }

    /// What the user named by this name, a file, as it was when the run began: what it holds is the program's to change.
    pub fn named(&self, path: &CStr) -> Option<Object> {
        let mut files = self.places.iter().filter(|place| place.file).peekable();
        files.peek()?;
        let real = real_path(Path::new(OsStr::from_bytes(path.to_bytes())))?;
        files.find(|place| place.path == real).and_then(|place| place.object)
    }

    /// Did the user name exactly this, a pipe or a device? To write to it, with `--allow`.
    pub fn is_place(&self, what: &'static str, path: &CStr) -> bool {
        let real = real_path(Path::new(OsStr::from_bytes(path.to_bytes())));
        let named = |real: &Path| {
            self.places.iter().any(|place| place.path == real && (place.trusted || what == READ))
        };
        is_null(path.to_bytes(), what) || real.is_some_and(|real| self.trusts(&real) || named(&real))
    }

    /// Did the user open a place in which this lies, no link on the way?
    pub fn trusts(&self, real: &Path) -> bool {
        self.free || self.allowing(real).is_some_and(|place| place.trusted)
    }

    /// As [`Confinement::trusts`], of what is open, whatever led to it.
    pub fn trusts_open(&self, descriptor: i32) -> bool {
        let opened = || std::fs::read_link(format!("/proc/self/fd/{descriptor}"));
        self.free
            || self.places.iter().any(|place| place.trusted) && opened().is_ok_and(|real| self.trusts(&real))
    }

    /// Must the directory of a name be held while it is looked at and changed?
    pub fn must_hold(&self, around: ParentFacts) -> bool {
        !self.free && (self.by_descriptor || around.replaceable)
    }

    /// Allowed is what lies below `root`.
    pub fn rooted(root: &Path) -> Self {
        let places = Place::of(root, false).into_iter().collect();
        Self { places, rooted: true, ..Self::new(&[], &[]) }
    }

    /// Everything is allowed.
    pub fn free() -> Self {
        Self { free: true, spawns: true, ..Self::new(&[], &[]) }
    }

    /// With `yes`, refusals name no option that would allow it.
    #[must_use]
    pub fn in_room(self, yes: bool) -> Self {
        Self { in_room: yes, ..self }
    }

    /// Programs may be started, and files made executable.
    #[must_use]
    pub fn spawning(self, spawns: bool) -> Self {
        Self { spawns: self.spawns || spawns, ..self }
    }

    /// One write may fill the file system.
    #[must_use]
    pub fn filling(self, fills: bool) -> Self {
        Self { fills, ..self }
    }

    /// Links may lead anywhere; what lies behind one is judged when it is opened.
    #[must_use]
    pub fn linking(self, links: bool) -> Self {
        Self { links, ..self }
    }

    /// May one write fill the file system?
    pub fn fills(&self) -> bool {
        self.fills
    }

    /// The kernel confines the rank (`false`), or directories are to be held between check and use. They are as well
    /// where the kernel must allow more than was named, because what was named is not there yet, and where the user opened a
    /// directory: only of what is held it is certain that it lies there.
    #[must_use]
    pub fn by_descriptor(self, yes: bool) -> Self {
        let opened = |place: &Place| place.trusted && !place.file;
        let held = self.places.iter().any(|place| place.is_wider_than_named() || opened(place));
        // Before Linux 5.6, and in some containers, no call refuses links on the way.
        let follows = || Held::without_links(c"/").is_err();
        Self { by_descriptor: !self.free && (yes || held || follows()), ..self }
    }

    /// What the kernel is to allow.
    pub fn rules(&self) -> Rules {
        let held = |trusted: bool| {
            let places = self.places.iter().filter(move |place| place.trusted == trusted);
            places.map(Place::for_the_kernel).collect::<Vec<_>>()
        };
        Rules { write: held(false), trusted: held(true), execute: self.spawns, ..Rules::default() }
    }

    /// Is there any rule?
    pub fn is_free(&self) -> bool {
        self.free
    }

    /// May programs be started and files be made executable?
    pub fn spawns(&self) -> bool {
        self.spawns
    }

    /// Are questions that change nothing and open nothing (`stat`) confined as well?
    pub fn confines_questions(&self) -> bool {
        self.rooted && !self.free
    }

    /// Checks the directory in which `path` lies; a link at the very end of the path is not followed
    /// (open such files with `O_NOFOLLOW` and ask [`Confinement::check_followed`] if that fails).
    ///
    /// The answer for a directory is kept: a second path in it costs one look-up.
    pub fn check(&mut self, what: &'static str, path: &CStr) -> Result<ParentFacts, Refusal> {
        let bytes = path.to_bytes();
        if is_null(bytes, what) {
            return Ok(ParentFacts {
                birth_times: false,
                place: 0,
                device: 0,
                trusted: true,
                replaceable: false,
            });
        }
        self.check_in(what, path, directory_of(bytes))
    }

    /// As [`Confinement::check`], of a path in this directory.
    fn check_in(
        &mut self,
        what: &'static str,
        path: &CStr,
        directory: &[u8],
    ) -> Result<ParentFacts, Refusal> {
        let answer = match self.recent.get(directory) {
            Some(around) => Ok(around),
            None => self.look_up(directory),
        };
        let bytes = path.to_bytes();
        let name = &bytes[directory.len()..];
        match answer {
            Ok(around) if !around.trusted && what != READ && is_hidden(name) => {
                Err(self.refuse(what, path, Reason::Hidden, &self.real_of(bytes)))
            }
            Ok(around) if !around.trusted && makes(what) && is_option(bytes) => {
                Err(self.refuse(what, path, Reason::Dash, &self.real_of(bytes)))
            }
            Ok(around) if !around.trusted && self.results.forbid(what, bytes) => {
                Err(self.refuse(what, path, Reason::Result, &self.real_of(bytes)))
            }
            Ok(around) => Ok(around),
            // The user may have named this very file.
            Err(directory) => {
                let real = directory.join(OsStr::from_bytes(name));
                match self.allowing(&real) {
                    Some(place) => {
                        let trusted = place.trusted;
                        let birth_times = has_birth_times(&directory);
                        let (device, replaceable) = (device_of(&directory), self.concurrent);
                        Ok(ParentFacts { birth_times, place: 0, device, trusted, replaceable })
                    }
                    None => Err(self.refuse(what, path, self.reason_against(&real), &real)),
                }
            }
        }
    }

    #[inline(never)]
    fn look_up(&mut self, directory: &[u8]) -> Result<ParentFacts, PathBuf> {
        // Where `..` leads from a directory changes when another rank puts a link in its place.
        if goes_up(directory) {
            return self.examine(Path::new(OsStr::from_bytes(directory)));
        }
        let answer = match self.known.get(directory) {
            Some(answer) => answer.clone(),
            None => {
                let answer = self.examine(Path::new(OsStr::from_bytes(directory)));
                self.known.insert(directory.into(), answer.clone());
                answer
            }
        };
        if let Ok(around) = answer {
            self.recent.keep(directory, around);
        }
        answer
    }

    /// As [`Confinement::check`], with the path by which the call is to be made.
    ///
    /// # Errors
    /// Also where another rank has changed the path meanwhile.
    pub fn reach<'p>(&mut self, what: &'static str, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        let around = self.check(what, path)?;
        // While a directory is moved, `..` may lead up from where it is by then.
        let moves = around.replaceable && goes_up(directory_of(path.to_bytes()));
        if self.free || !(self.by_descriptor || moves) || is_null(path.to_bytes(), what) {
            return Ok(Reached::unchecked(path, around));
        }
        self.reach_held(what, path, around)
    }

    /// As [`Confinement::reach`], for a call that is made after a look at what the name is: both reach the same.
    ///
    /// # Errors
    /// As [`Confinement::reach`].
    pub fn reach_fixed<'p>(&mut self, what: &'static str, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        let around = self.check(what, path)?;
        match self.must_hold(around) {
            true => self.reach_held(what, path, around),
            false => Ok(Reached::unchecked(path, around)),
        }
    }

    /// As [`Confinement::reach`], for a call that opens a directory to list it, and follows a link at the end.
    ///
    /// # Errors
    /// As [`Confinement::reach`].
    pub fn reach_to_list<'p>(&mut self, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        if self.by_descriptor {
            return self.reach_to_read(path);
        }
        let around = self.check(READ, path)?;
        let is_free = self.free || is_null(path.to_bytes(), READ);
        if !(is_free || self.may_read_unfollowed(path)? && is_there_and_no_link(path)) {
            self.check_followed(READ, path)?;
        }
        Ok(Reached::unchecked(path, around))
    }

    /// As [`Confinement::reach`], for a call that opens to read: what a link at the end leads to is held.
    ///
    /// # Errors
    /// As [`Confinement::reach`].
    pub fn reach_to_read<'p>(&mut self, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        let around = self.check(READ, path)?;
        if self.free || is_null(path.to_bytes(), READ) {
            return Ok(Reached::unchecked(path, around));
        }
        Ok(match self.hold(READ, path)? {
            Some((held, mode, open)) => {
                Reached { path: Cow::Owned(held), around, held: Some(open), mode: Some(mode) }
            }
            None => Reached::unchecked(c"/proc/none/none", around),
        })
    }

    /// Must a name in this directory be opened so that no link is followed on the way? Another part of the run may put one
    /// there.
    pub fn opens_straight(&self, around: ParentFacts) -> bool {
        !self.free && !self.by_descriptor && around.replaceable
    }

    /// Do others of the run change names at the same time?
    pub fn is_concurrent(&self) -> bool {
        self.concurrent
    }

    /// May a call that fails where a link is at the end open this very name to read? What is no link lies in its
    /// directory, which is checked.
    ///
    /// # Errors
    /// Where the directory may not be read.
    pub fn may_read_unfollowed(&mut self, path: &CStr) -> Result<bool, Refusal> {
        let bytes = path.to_bytes();
        let directory = directory_of(bytes);
        let name = &bytes[directory.len()..];
        if self.free || self.by_descriptor || name.is_empty() || is_hidden(name) || is_null(bytes, READ) {
            return Ok(false);
        }
        if self.was_read_last(path) {
            return Ok(true);
        }
        let around = self.check_in(READ, path, directory)?;
        if around.replaceable && goes_up(directory) {
            return Ok(false);
        }
        // Only where the answer for its directory is kept.
        if self.recent.get(directory).is_some() {
            self.last_read.clear();
            self.last_read.extend_from_slice(bytes);
        }
        Ok(true)
    }

    /// Is it the name that [`Confinement::may_read_unfollowed`] allowed last? It still may then.
    #[inline(always)]
    pub fn was_read_last(&self, path: &CStr) -> bool {
        !self.last_read.is_empty() && self.last_read == path.to_bytes()
    }

    /// Must a directory be held between its check and its use?
    pub fn holds_names(&self) -> bool {
        self.by_descriptor
    }

    /// Checks where `path` leads when the link at its end is followed, and returns that place.
    pub fn check_followed(&self, what: &'static str, path: &CStr) -> Result<PathBuf, Refusal> {
        let written = Path::new(OsStr::from_bytes(path.to_bytes()));
        match real_path(written) {
            Some(real) if self.free || self.allowing(&real).is_some() => Ok(real),
            Some(real) => Err(self.refuse(what, path, self.reason_against(&real), &real)),
            None => Err(self.refuse(what, path, Reason::Outside, written)),
        }
    }

    /// Forgets what was found: a directory was renamed or a link was made.
    pub fn forget(&mut self) {
        self.known.clear();
        self.recent.clear();
        self.last_read.clear();
    }

    fn examine(&self, directory: &Path) -> Result<ParentFacts, PathBuf> {
        let directory = here(directory.as_os_str().as_bytes());
        let real = real_path(directory).ok_or_else(|| directory.to_owned())?;
        let trusted = match self.allowing(&real) {
            _ if self.free => true,
            Some(place) => place.trusted,
            None => return Err(real),
        };
        let names = real.components().filter(|part| matches!(part, Component::Normal(_)));
        let place = names.fold(0, |place, name| of_place(place, name.as_os_str().as_bytes()));
        let replaceable = self.concurrent && self.is_replaceable(directory) || !is_steady(&real);
        let (birth_times, device) = (has_birth_times(&real), device_of(&real));
        Ok(ParentFacts { birth_times, place, device, trusted, replaceable })
    }

    /// Is there a directory on the way that the run may move away, or a link, or nothing yet? What the run does not own
    /// stays where it is.
    fn is_replaceable(&self, directory: &Path) -> bool {
        let Ok(whole) = std::path::absolute(directory) else { return true };
        // With a slash behind it the name of a link is that of the directory to which it leads.
        let whole = whole.components().as_path();
        whole.ancestors().filter(|part| part.parent().is_some()).any(|part| {
            let found = CString::new(part.as_os_str().as_bytes()).ok().and_then(|part| look(&part));
            found.is_none_or(|found| found.is_link() || self.own.is_ours(found.object()))
        })
    }

    /// The place by which `real` is allowed: a trusted one where there is one.
    fn allowing(&self, real: &Path) -> Option<&Place> {
        let around = |place: &&Place| {
            let Ok(below) = real.strip_prefix(&place.path) else { return false };
            // A name that does not exist may still have `..` in it.
            below.components().all(|part| match part {
                Component::Normal(name) => place.trusted || !is_hidden(name.as_bytes()),
                Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => false,
            })
        };
        self.places.iter().filter(around).max_by_key(|place| place.trusted)
    }
}
