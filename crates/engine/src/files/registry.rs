//! What a rank created, in memory that its parent shares.

use std::collections::HashMap;
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use record::SampleRegion;

use super::entry::{CREATED, Entry, FREE, HEAD, INTENDED};
use super::moment::Moment;

/// Bytes that a registry takes for itself at first, and at most, at a time.
const CHUNK: (usize, usize) = (64 << 10, 1 << 20);

/// How it is known that something was not there before this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// By its birth time, which is looked at after the run.
    Birth,
    /// By the call, or by the names that lay in the directory before.
    Certain,
}

/// Where the entry of each path is. Names are of the program's own making: those that collide slow nobody else.
type KnownPaths = HashMap<Box<[u8]>, usize, ahash::RandomState>;

/// Spans of memory for entries.
#[derive(Default)]
struct Room {
    /// Of deleted files, by their length.
    free: HashMap<usize, Vec<usize>>,
    /// Not used yet: from, to.
    fresh: (usize, usize),
}

/// What a worker hands back when it is over.
struct Leftover {
    room: Room,
    known: KnownPaths,
}

/// What all registries of a rank have in common.
#[derive(Default)]
struct Common {
    /// Bytes that are taken. Locked once for many files.
    used: Mutex<usize>,
    leftovers: Mutex<Vec<Leftover>>,
}

/// The list of what a rank, or one of its workers, created, in the rank's region.
///
/// A path is entered *before* the call that may create it, so that a rank killed inside the call leaves a trace, and
/// confirmed or taken back after it. Nobody looks at the file: the file system sees the program's calls only. The
/// space of deleted files is used again.
pub struct Registry {
    region: Arc<SampleRegion>,
    base: NonNull<u8>,
    common: Arc<Common>,
    room: Room,
    /// Chunks that workers left.
    spare: Vec<(usize, usize)>,
    next_chunk: usize,
    known: KnownPaths,
    begun: Moment,
    worker: bool,
}

// SAFETY: the pointer is into the region that the registry keeps alive; entries are changed by the registry that made
// them, and each lies in a part of the region that only one registry has at a time.
unsafe impl Send for Registry {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A worker that panicked ends the rank; what is locked is whole at any time.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Errnos with which calls say that they made nothing. After others (no space, an I/O error of a later call) it may be
/// there, and is looked for after the run.
fn made_nothing(errno: i32) -> bool {
    matches!(
        errno,
        libc::EEXIST
            | libc::ENOENT
            | libc::ENOTDIR
            | libc::EISDIR
            | libc::EACCES
            | libc::EPERM
            | libc::EROFS
            | libc::ELOOP
            | libc::ENAMETOOLONG
            | libc::EXDEV
            | libc::EMFILE
            | libc::ENFILE
            | libc::EINVAL
            | libc::EOPNOTSUPP
            | libc::ENOSYS
            | libc::EBUSY
            | libc::ETXTBSY
            | libc::ENXIO
            | libc::ENODEV
    )
}

impl Registry {
    /// An empty registry; what was born before `begun` is not ours.
    pub fn new(region: &Arc<SampleRegion>, begun: Moment) -> Self {
        let (base, _) = region.registry();
        Self {
            region: Arc::clone(region),
            base,
            common: Arc::default(),
            room: Room::default(),
            spare: Vec::new(),
            next_chunk: CHUNK.0,
            known: KnownPaths::default(),
            begun,
            worker: false,
        }
    }

    /// One for a worker, which shares nothing with others while it works; see [`Registry::joined`].
    #[must_use]
    pub fn of_worker(&mut self) -> Self {
        let half = |free: &mut Vec<usize>| free.split_off(free.len() / 2);
        let free = self.room.free.iter_mut().map(|(span, free)| (*span, half(free))).collect();
        Self {
            region: Arc::clone(&self.region),
            base: self.base,
            common: Arc::clone(&self.common),
            room: Room { free, fresh: self.spare.pop().unwrap_or_default() },
            spare: Vec::new(),
            next_chunk: CHUNK.0,
            known: KnownPaths::default(),
            begun: self.begun,
            worker: true,
        }
    }

    /// What was born before is not of this run.
    pub fn begun(&self) -> Moment {
        self.begun
    }

    /// All workers are gone: what they made is known here.
    pub fn joined(&mut self) {
        for leftover in std::mem::take(&mut *lock(&self.common.leftovers)) {
            self.known.extend(leftover.known);
            for (span, mut free) in leftover.room.free {
                self.room.free.entry(span).or_default().append(&mut free);
            }
            if leftover.room.fresh.0 < leftover.room.fresh.1 {
                self.spare.push(leftover.room.fresh);
            }
        }
    }

    /// Is `path` one that was entered?
    pub fn knows(&self, path: &CStr) -> bool {
        self.known.contains_key(path.to_bytes())
    }

    /// Enters a path that the next call may create. Does nothing for one that is known already.
    pub fn intend(&mut self, path: &CStr, evidence: Evidence) {
        if !self.knows(path) {
            // What is certain needs no look at the clock.
            let from = if evidence == Evidence::Birth { Moment::now() } else { Moment::default() };
            self.enter(path.to_bytes(), evidence, (from, Moment::MAX));
        }
    }

    fn enter(&mut self, path: &[u8], evidence: Evidence, born: (Moment, Moment)) -> Option<usize> {
        let span = (HEAD + path.len()).next_multiple_of(64);
        // A full registry forgets: the file then stays, which harms nobody.
        let offset = self.take(span)?;
        let entry = self.entry(offset);
        entry.set(path.len(), evidence == Evidence::Birth, born);
        // SAFETY: the entry spans the head and the path, inside the registry's part of the mapping.
        unsafe {
            self.base.add(offset + HEAD).copy_from_nonoverlapping(NonNull::from(path).cast(), path.len());
        }
        entry.state.store(INTENDED, Ordering::Release);
        self.known.insert(path.into(), offset);
        Some(offset)
    }

    /// The call is over, with this errno: keeps the path, or takes it back where nothing was made.
    pub fn settle(&mut self, path: &CStr, errno: i32) {
        let Some(&offset) = self.known.get(path.to_bytes()) else { return };
        let entry = self.entry(offset);
        let is_ours = entry.state.load(Ordering::Relaxed) == CREATED;
        match made_nothing(errno) {
            true if is_ours => return,
            true => return self.forget(path),
            // Known already: another rank may have removed what was ours, but what lies there now may be anybody's as well. Which
            // objects are the run's, that knows.
            false if !is_ours && entry.evidence().0 => entry.set_born_before(Moment::now()),
            false => {}
        }
        entry.state.store(CREATED, Ordering::Release);
    }

    /// `path` is another name of what is called `from`, and was born when that was.
    pub fn linked(&self, from: &CStr, path: &CStr) {
        if let (Some(&from), Some(&offset)) =
            (self.known.get(from.to_bytes()), self.known.get(path.to_bytes()))
        {
            self.entry(offset).set_born(self.entry(from).evidence().1);
        }
    }

    /// The next call may give `from` the name `to`: what lies there is ours only where it was born when `from` was. Whether it was
    /// entered; where it was and the call fails, [`Registry::forget`] takes it back.
    pub fn intend_rename(&mut self, from: &CStr, to: &CStr) -> bool {
        let Some(&offset) = self.known.get(from.to_bytes()) else { return false };
        let (by_birth, born) = self.entry(offset).evidence();
        by_birth && !self.knows(to) && self.enter(to.to_bytes(), Evidence::Birth, born).is_some()
    }

    /// `from` is called `to` now: so is what was created in it. A thing that this rank did not make is ours only
    /// where birth times (`birth_times`) tell objects from each other, and the run knows its own.
    pub fn renamed(&mut self, from: &CStr, to: &CStr, birth_times: bool) {
        let (from, to) = (from.to_bytes(), to.to_bytes());
        self.forget_bytes(to);
        match self.known.get(from).copied() {
            Some(offset) => self.enter_as(offset, to),
            None if birth_times => {
                if let Some(offset) = self.enter(to, Evidence::Birth, (Moment::MAX, Moment::MAX)) {
                    self.entry(offset).state.store(CREATED, Ordering::Release);
                }
            }
            None => {}
        }
        self.forget_bytes(from);
        let within = |path: &[u8]| [path.strip_suffix(b"/").unwrap_or(path), b"/"].concat();
        let (old, new) = (within(from), within(to));
        let inside: Vec<(Box<[u8]>, usize)> = self
            .known
            .iter()
            .filter(|(path, _)| path.starts_with(&old))
            .map(|(path, offset)| (path.clone(), *offset))
            .collect();
        for (path, offset) in inside {
            self.enter_as(offset, &[&new[..], &path[old.len()..]].concat());
            self.forget_bytes(&path);
        }
    }

    /// Enters `path` with what is known of the entry at `offset`.
    fn enter_as(&mut self, offset: usize, path: &[u8]) {
        let (by_birth, born) = self.entry(offset).evidence();
        let evidence = if by_birth { Evidence::Birth } else { Evidence::Certain };
        if let Some(offset) = self.enter(path, evidence, born) {
            self.entry(offset).state.store(CREATED, Ordering::Release);
        }
    }

    /// The path is gone, or was never created.
    pub fn forget(&mut self, path: &CStr) {
        self.forget_bytes(path.to_bytes());
    }

    fn forget_bytes(&mut self, path: &[u8]) {
        if let Some(offset) = self.known.remove(path) {
            let entry = self.entry(offset);
            entry.state.store(FREE, Ordering::Release);
            let span = entry.span.load(Ordering::Relaxed) as usize;
            self.room.free.entry(span).or_default().push(offset);
        }
    }

    fn entry(&self, offset: usize) -> &Entry {
        // SAFETY: offsets are those of entries that were made here: aligned to 64, inside the mapping,
        // and all fields are valid for every bit pattern.
        unsafe { self.base.add(offset).cast::<Entry>().as_ref() }
    }

    /// Room for an entry of `span` bytes.
    fn take(&mut self, span: usize) -> Option<usize> {
        if let Some(offset) = self.room.free.get_mut(&span).and_then(Vec::pop) {
            return Some(offset);
        }
        let (begin, end) = self.room.fresh;
        if end - begin < span {
            self.room.fresh = self.chunk(span)?;
        }
        let (begin, end) = self.room.fresh;
        // What remains is an entry of its own before this one becomes shorter: a reader can always walk on.
        if begin + span < end {
            self.entry(begin + span).make_free(end - begin - span);
        }
        self.entry(begin).make_free(span);
        self.room.fresh.0 = begin + span;
        Some(begin)
    }

    /// A part of the region for this registry alone, with one free entry in it.
    fn chunk(&mut self, span: usize) -> Option<(usize, usize)> {
        let bytes = self.next_chunk.max(span.next_multiple_of(CHUNK.0));
        self.next_chunk = (bytes * 2).min(CHUNK.1);
        let begin = {
            let mut used = lock(&self.common.used);
            let begin = *used;
            if begin + bytes > self.region.registry_limit() {
                return None;
            }
            // SAFETY: within the registry's part of the mapping, at a multiple of a page.
            self.region.populate(unsafe { self.base.add(begin) }, bytes).ok()?;
            self.entry(begin).make_free(bytes);
            *used += bytes;
            self.region.registry().1.store(*used as u64, Ordering::Release);
            begin
        };
        Some((begin, begin + bytes))
    }
}

impl Drop for Registry {
    /// Of a worker: its rank goes on with what it knew.
    fn drop(&mut self) {
        if self.worker {
            let leftover =
                Leftover { room: std::mem::take(&mut self.room), known: std::mem::take(&mut self.known) };
            lock(&self.common.leftovers).push(leftover);
        }
    }
}
