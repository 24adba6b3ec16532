//! Finds what existed before the first call of a program: directories, files with their sizes, links.

use std::collections::BTreeMap;

use crate::flags::{O_CREAT, O_DIRECTORY, O_EXCL, O_TRUNC};
use crate::maps::{HashMap, HashSet};
use crate::model::column::{BYTES, ERRNO, FILE, FLAGS, OFFSET, OP, OTHER, PATH};
use crate::model::{BY_FILE, Call, CallReader, NONE, Op, Sighting, Trace, UNKNOWN, Was};
use crate::names::{parent, resolve};

const TYPE: u64 = 0o170_000;
const DIRECTORY: u64 = 0o040_000;
const LINK: u64 = 0o120_000;

/// What existed, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Outer directories come before inner ones.
    pub directories: BTreeMap<Vec<u8>, Option<u32>>,
    /// Files with size and permissions.
    pub files: BTreeMap<Vec<u8>, (u64, Option<u32>)>,
    /// Symbolic links with their text.
    pub links: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// What is known of a name while the calls are walked.
struct FirstUses<'a> {
    trace: &'a Trace,
    /// Names whose state is known by now: made, removed, or found to have existed.
    seen: HashSet<Vec<u8>>,
    /// Those of them that existed before, and of which no call has told yet whether they are files or directories.
    guessed: HashSet<Vec<u8>>,
    /// Directories that the program makes itself, or that got their name by a rename.
    made: HashSet<Vec<u8>>,
    /// New name → old name of directories that were renamed, the latest last.
    moved: Vec<(Vec<u8>, Vec<u8>)>,
    /// Name before the first call of each open file, of those that existed before.
    open: HashMap<u32, Vec<u8>>,
    /// Files that the program has written to: their size tells nothing about before.
    written: HashSet<Vec<u8>>,
    before: Before,
    /// Names that have others below them.
    holders: HashSet<&'a [u8]>,
    /// Text of symbolic links, as `readlink` gave it.
    targets: HashMap<u32, u32>,
}

/// What existed before the calls `kept`, which are in the order in which they took effect.
pub fn before(trace: &Trace, kept: impl Iterator<Item = u32>) -> Before {
    let targets = trace
        .calls
        .having(|op| op == Op::Readlink)
        .filter(|(_, call)| call.errno == 0 && call.other != NONE)
        .map(|(_, call)| (call.path, call.other))
        .collect();
    let mut walk = FirstUses {
        trace,
        seen: HashSet::default(),
        guessed: HashSet::default(),
        made: HashSet::default(),
        moved: Vec::new(),
        open: HashMap::default(),
        written: HashSet::default(),
        before: Before::default(),
        holders: trace.names.iter().map(parent).collect(),
        targets,
    };
    let mut reader = CallReader::of(&[OP, ERRNO, FLAGS, FILE, PATH, OTHER, BYTES, OFFSET]);
    for at in kept {
        walk.call(&reader.get(&trace.calls, at));
    }
    walk.finish()
}

impl FirstUses<'_> {
    fn name(&self, number: u32) -> Vec<u8> {
        self.trace.names.get(number).to_vec()
    }

    fn call(&mut self, call: &Call) {
        let name = self.name(call.path);
        let exists = match call.errno {
            // EEXIST, EISDIR, ENOTEMPTY
            0 | 17 | 21 | 39 => true,
            _ => false,
        };
        match call.op {
            Op::Open if exists => self.open(call, name),
            Op::Read => self.grow(call.file, call.offset, call.bytes),
            Op::Write | Op::Truncate | Op::Allocate => {
                if let Some(name) = self.open.get(&call.file) {
                    self.written.insert(name.clone());
                }
            }
            Op::Stat if exists => {
                let was = match call.offset {
                    UNKNOWN => None,
                    mode => Some(mode & TYPE),
                };
                let size = if was == Some(DIRECTORY) || call.bytes == UNKNOWN { 0 } else { call.bytes };
                let permissions = was.map(|_| (call.offset & 0o7777) as u32);
                match was {
                    Some(DIRECTORY) => {
                        self.existed(call.path, name.clone(), Was::Directory, permissions);
                        self.led_somewhere(&name, true);
                    }
                    Some(LINK) => {
                        let target = self.targets.get(&call.path).copied();
                        let was = target.map_or(Was::File(0), Was::Link);
                        self.existed(call.path, name, was, None);
                    }
                    _ => {
                        self.existed(call.path, name.clone(), Was::File(size), permissions);
                        if was.is_some() {
                            self.led_somewhere(&name, false);
                        }
                        self.sized(call, &name, size);
                    }
                }
            }
            Op::Lookup
            | Op::Chmod
            | Op::Chown
            | Op::Utimes
            | Op::SetAttribute
            | Op::RemoveAttribute
            | Op::Unlink
                if exists =>
            {
                self.existed(call.path, name.clone(), Was::File(0), None);
                if call.op == Op::Lookup {
                    self.led_somewhere(&name, false);
                }
                if call.op == Op::Unlink {
                    self.gone(name);
                }
            }
            Op::Readdir if exists => self.existed(call.path, name, Was::Directory, None),
            Op::Rmdir if exists => {
                self.existed(call.path, name.clone(), Was::Directory, None);
                if call.errno == 0 {
                    self.gone(name);
                }
            }
            Op::Create if call.errno == 0 => self.made_now(name),
            Op::Mkdir if call.errno == 17 => self.existed(call.path, name, Was::Directory, None),
            Op::Mkdir if exists => {
                self.made_now(name.clone());
                self.made.insert(name);
            }
            Op::Rename if exists => self.rename(call, name),
            Op::Link if exists => {
                self.existed(call.path, name, Was::File(0), None);
                let other = self.name(call.other);
                if call.errno == 0 {
                    self.made_now(other)
                } else {
                    self.existed(call.other, other, Was::File(0), None)
                }
            }
            Op::Symlink if call.errno == 0 => self.made_now(name),
            Op::Symlink if exists => self.existed(call.path, name, Was::File(0), None),
            // A failed lookup: the name must not exist, and its directory may.
            _ => {
                if call.file == NONE && call.errno == 2 {
                    self.missing(&name);
                }
            }
        }
    }

    /// The name does not exist now, so it did not before unless it was removed since.
    fn missing(&mut self, name: &[u8]) {
        self.seen.insert(name.to_vec());
    }

    fn made_now(&mut self, name: Vec<u8>) {
        self.directory_of(&name);
        self.guessed.remove(&name);
        self.seen.insert(name);
    }

    fn gone(&mut self, name: Vec<u8>) {
        self.made.remove(&name);
        self.guessed.remove(&name);
        self.seen.insert(name);
    }

    /// The name under which something lies before the first call that has `name` now; `None`: the program made what is
    /// around it.
    fn origin(&self, name: &[u8]) -> Option<Vec<u8>> {
        let mut name = name.to_vec();
        for (new, old) in self.moved.iter().rev() {
            if let Some(rest) = name.strip_prefix(new.as_slice()).filter(|rest| rest.first() == Some(&b'/')) {
                name = [old.as_slice(), rest].concat();
            }
        }
        let mut above = parent(&name);
        while !above.is_empty() {
            if self.made.contains(above) {
                return None;
            }
            above = parent(above);
        }
        Some(name)
    }

    /// The directory around a name that a call used with success.
    fn directory_of(&mut self, name: &[u8]) {
        let above = parent(name).to_vec();
        self.is_a_directory(&above, None);
        if above.is_empty() || self.made.contains(&above) || self.seen.contains(&above) {
            return;
        }
        if let Some(origin) = self.origin(&above) {
            self.before.directories.entry(origin).or_default();
        }
        self.seen.insert(above);
    }

    /// What a name led to before the first call.
    fn through_links(&self, mut name: Vec<u8>) -> Vec<u8> {
        const MOST: usize = 40;
        for _ in 0..MOST {
            let Some(target) = self.before.links.get(&name) else { break };
            name = resolve(parent(&name), target);
        }
        name
    }

    /// A call followed a symbolic link that existed before: so did what it leads to.
    fn led_somewhere(&mut self, name: &[u8], is_directory: bool) {
        let Some(origin) = self.origin(name).filter(|origin| self.before.links.contains_key(origin)) else {
            return;
        };
        let target = self.through_links(origin);
        self.directory_of(&target);
        if self.before.links.contains_key(&target) || !self.seen.insert(target.clone()) {
            return;
        }
        match is_directory {
            true => drop(self.before.directories.entry(target).or_default()),
            false => drop(self.before.files.entry(target).or_default()),
        }
    }

    /// A call shows that a name which existed before is a directory.
    fn is_a_directory(&mut self, name: &[u8], permissions: Option<u32>) {
        if self.guessed.remove(name)
            && let Some(origin) = self.origin(name)
        {
            self.before.files.remove(&origin);
            self.before.directories.entry(origin).or_insert(permissions);
        }
    }

    /// A call shows that `name` exists; if nothing was known of it, it existed before.
    fn existed(&mut self, number: u32, name: Vec<u8>, was: Was, permissions: Option<u32>) {
        self.directory_of(&name);
        if !self.seen.insert(name.clone()) {
            if was == Was::Directory {
                self.is_a_directory(&name, permissions);
            }
            return;
        }
        let Some(origin) = self.origin(&name) else { return };
        let sighted = self.trace.sightings.get(&number).copied();
        let sighted = sighted.filter(|sighting| sighting.was != Was::Nothing);
        if sighted.is_none() && was == Was::File(0) && permissions.is_none() {
            self.guessed.insert(name);
        }
        let Sighting { was, permissions } = sighted.unwrap_or(Sighting { was, permissions });
        match was {
            Was::File(size) => drop(self.before.files.insert(origin, (size, permissions))),
            Was::Directory => drop(self.before.directories.insert(origin, permissions)),
            Was::Link(target) => {
                let target = self.name(target);
                self.before.links.insert(origin, target);
            }
            Was::Nothing => {}
        }
    }

    fn open(&mut self, call: &Call, name: Vec<u8>) {
        let sighted = self.trace.sightings.get(&call.path).map(|sighting| sighting.was);
        let creates = call.flags & O_CREAT != 0 && call.errno == 0;
        let exclusive = call.flags & O_EXCL != 0;
        let is_new = !self.seen.contains(&name);
        // Without O_CREAT the file must have been there; with it only a recorder's look tells.
        let made = creates && (exclusive || !matches!(sighted, Some(Was::File(_) | Was::Link(_))));
        if made && is_new {
            self.made_now(name);
            return;
        }
        let is_directory = call.errno == 21 || call.errno == 0 && call.flags & O_DIRECTORY != 0;
        let was = if is_directory { Was::Directory } else { Was::File(0) };
        self.existed(call.path, name.clone(), was, None);
        // EEXIST tells of the link alone.
        if call.errno != 17 {
            self.led_somewhere(&name, is_directory);
        }
        let origin = self.origin(&name).map(|origin| self.through_links(origin));
        if call.errno == 0
            && let Some(origin) = origin.filter(|origin| self.before.files.contains_key(origin))
        {
            if call.flags & O_TRUNC != 0 {
                self.written.insert(origin.clone());
            }
            self.open.insert(call.file, origin);
        }
    }

    /// A read shows that the file was as long, unless the program wrote to it before.
    fn grow(&mut self, file: u32, offset: u64, bytes: u64) {
        let Some(name) = self.open.get(&file) else { return };
        if bytes == 0 || offset == UNKNOWN || self.written.contains(name) {
            return;
        }
        if let Some((size, _)) = self.before.files.get_mut(name) {
            *size = (*size).max(offset.saturating_add(bytes));
        }
    }

    /// A size that a `stat` told.
    fn sized(&mut self, call: &Call, name: &[u8], size: u64) {
        let origin = match call.flags & BY_FILE {
            0 => self.origin(name),
            _ => self.open.get(&call.file).cloned().or_else(|| self.origin(name)),
        };
        let origin = origin.map(|origin| self.through_links(origin));
        let Some(origin) = origin.filter(|origin| !self.written.contains(origin)) else { return };
        if let Some((known, permissions)) = self.before.files.get_mut(&origin) {
            *known = (*known).max(size);
            if call.offset != UNKNOWN {
                *permissions = Some((call.offset & 0o7777) as u32);
            }
        }
    }

    fn rename(&mut self, call: &Call, name: Vec<u8>) {
        let to = self.name(call.other);
        if call.errno != 0 {
            return self.existed(call.path, name, Was::File(0), None);
        }
        self.existed(call.path, name.clone(), Was::File(0), None);
        self.directory_of(&to);
        let is_directory = self.made.contains(&name) || self.holds_names(&name);
        if self.made.remove(&name) {
            self.made.insert(to.clone());
        } else if is_directory {
            self.moved.push((to.clone(), name.clone()));
        }
        self.guessed.remove(&to);
        self.seen.insert(to);
        self.gone(name);
    }

    /// Whether any name of the trace lies below.
    fn holds_names(&self, name: &[u8]) -> bool {
        self.before.directories.contains_key(name) || self.holders.contains(name)
    }

    /// What has something in it is a directory.
    fn finish(self) -> Before {
        let mut before = self.before;
        let mut holders: HashSet<Vec<u8>> = HashSet::default();
        let inner = before.files.keys().chain(before.directories.keys()).chain(before.links.keys());
        for name in inner {
            let mut above = parent(name);
            while !above.is_empty() && holders.insert(above.to_vec()) {
                above = parent(above);
            }
        }
        let renamed: HashSet<&Vec<u8>> = self.moved.iter().map(|(_, old)| old).collect();
        let directories: Vec<Vec<u8>> = before
            .files
            .keys()
            .filter(|name| {
                holders.contains(*name) || before.directories.contains_key(*name) || renamed.contains(name)
            })
            .cloned()
            .collect();
        for name in directories {
            before.files.remove(&name);
            before.directories.entry(name).or_default();
        }
        for holder in holders {
            before.directories.entry(holder).or_default();
        }
        before
    }
}
