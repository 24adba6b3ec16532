//! What a rank created, in memory that its parent shares.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use record::SampleRegion;

/// A moment of the file system's clock, to be compared with birth times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    seconds: i64,
    nanoseconds: u32,
}

impl Moment {
    /// Now, by the coarse clock from which the kernel takes the times of files.
    pub fn now() -> Self {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid to write to.
        unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &mut time) };
        Self { seconds: time.tv_sec, nanoseconds: time.tv_nsec as u32 }
    }
}

/// Something that a rank created and that it did not delete again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// As the program wrote it: relative to the working directory.
    pub path: PathBuf,
    /// Device and inode number; `None` where the rank died before it could look.
    pub identity: Option<(u64, u64)>,
}

const FREE: u32 = 0;
const INTENDED: u32 = 1;
const CREATED: u32 = 2;

/// The head of an entry; the path follows it. Entries stand one after another, 64 bytes or a multiple.
#[repr(C)]
struct Entry {
    state: AtomicU32,
    /// Bytes from this head to the next.
    span: AtomicU32,
    /// Bytes of the path.
    length: AtomicU32,
    _unused: u32,
    device: AtomicU64,
    inode: AtomicU64,
}

const HEAD: usize = size_of::<Entry>();
const STEP: usize = 1 << 20;

/// The list of what one rank created, in its region.
///
/// A path is entered *before* the call that may create it, so that a rank killed inside the call
/// leaves a trace, and confirmed or taken back after it. The space of deleted files is used again.
pub struct Registry {
    region: Arc<SampleRegion>,
    base: NonNull<u8>,
    used: usize,
    ready: usize,
    free: HashMap<usize, Vec<usize>>,
    known: HashMap<Box<[u8]>, usize>,
    begun: Moment,
}

// SAFETY: the pointer is into the region that the registry keeps alive; changes need it exclusively.
unsafe impl Send for Registry {}

/// The registry of a rank and its workers.
#[derive(Clone)]
pub struct SharedRegistry(Arc<Mutex<Registry>>);

impl SharedRegistry {
    /// One that workers can share.
    pub fn new(registry: Registry) -> Self {
        Self(Arc::new(Mutex::new(registry)))
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        // A worker that panicked ends the rank; entries are whole one by one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Registry::intend`].
    pub fn intend(&self, path: &CStr, birth_times: bool) {
        self.lock().intend(path, birth_times);
    }

    /// As [`Registry::settle`].
    pub fn settle(&self, path: &CStr, birth_times: bool) {
        self.lock().settle(path, birth_times);
    }

    /// As [`Registry::moved`].
    pub fn moved(&self, from: &CStr, to: &CStr) {
        self.lock().moved(from, to);
    }

    /// As [`Registry::forget`].
    pub fn forget(&self, path: &CStr) {
        self.lock().forget(path);
    }
}

impl Registry {
    /// An empty registry; what was born before `begun` is not ours.
    pub fn new(region: &Arc<SampleRegion>, begun: Moment) -> Self {
        let (base, _) = region.registry();
        Self {
            region: Arc::clone(region),
            base,
            used: 0,
            ready: 0,
            free: HashMap::new(),
            known: HashMap::new(),
            begun,
        }
    }

    /// Is `path` one that this rank created?
    pub fn knows(&self, path: &CStr) -> bool {
        self.known.contains_key(path.to_bytes())
    }

    /// Enters a path that the next call may create. `birth_times` says whether the file system can
    /// tell afterwards; where it cannot, the path is looked up here, before the call.
    ///
    /// Does nothing for a path that is known already, and for one that certainly exists.
    pub fn intend(&mut self, path: &CStr, birth_times: bool) {
        if self.knows(path) || (!birth_times && look(path).is_some()) {
            return;
        }
        let bytes = path.to_bytes();
        let span = (HEAD + bytes.len()).next_multiple_of(64);
        let offset = match self.free.get_mut(&span).and_then(Vec::pop) {
            Some(offset) => offset,
            None => {
                // A full registry drops entries: those files then stay, which is harmless.
                if self.used + span > self.region.registry_limit() || !self.prepare(self.used + span) {
                    return;
                }
                let offset = self.used;
                self.used += span;
                offset
            }
        };
        let entry = self.entry(offset);
        entry.length.store(bytes.len() as u32, Ordering::Relaxed);
        entry.span.store(span as u32, Ordering::Relaxed);
        entry.device.store(0, Ordering::Relaxed);
        entry.inode.store(u64::from(birth_times), Ordering::Relaxed);
        // SAFETY: the entry spans the head and the path, inside the registry's part of the mapping.
        unsafe {
            self.base.add(offset + HEAD).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
        entry.state.store(INTENDED, Ordering::Release);
        self.region.registry().1.store(self.used as u64, Ordering::Release);
        self.known.insert(bytes.into(), offset);
    }

    /// After the call: keeps the path if it is there and was born in this run, forgets it otherwise.
    pub fn settle(&mut self, path: &CStr, birth_times: bool) {
        let Some(&offset) = self.known.get(path.to_bytes()) else { return };
        if self.entry(offset).state.load(Ordering::Relaxed) == CREATED {
            return;
        }
        match look(path).filter(|found| !birth_times || found.born.is_some_and(|born| born >= self.begun)) {
            Some(found) => {
                let entry = self.entry(offset);
                entry.device.store(found.identity.0, Ordering::Relaxed);
                entry.inode.store(found.identity.1, Ordering::Relaxed);
                entry.state.store(CREATED, Ordering::Release);
            }
            None => self.forget(path),
        }
    }

    /// A directory has another name: what was created in it is known by its new names. A file that only
    /// another rank knows keeps its old one there.
    pub fn moved(&mut self, from: &CStr, to: &CStr) {
        if self.known.is_empty() || !look(to).is_some_and(|found| found.directory) {
            return;
        }
        let prefix = |path: &CStr| {
            let path = path.to_bytes();
            [path.strip_suffix(b"/").unwrap_or(path), b"/"].concat()
        };
        let (old, new) = (prefix(from), prefix(to));
        let inside: Vec<Box<[u8]>> =
            self.known.keys().filter(|path| path.starts_with(&old)).cloned().collect();
        for path in inside {
            let Ok(before) = CString::new(&*path) else { continue };
            let Ok(after) = CString::new([&new[..], &path[old.len()..]].concat()) else { continue };
            self.forget(&before);
            // It was created in this run, whatever the file system reports: this process recorded it.
            self.intend(&after, true);
            if let (Some(&offset), Some(found)) = (self.known.get(after.to_bytes()), look(&after)) {
                let entry = self.entry(offset);
                entry.device.store(found.identity.0, Ordering::Relaxed);
                entry.inode.store(found.identity.1, Ordering::Relaxed);
                entry.state.store(CREATED, Ordering::Release);
            }
        }
    }

    /// The path is gone, or was never created.
    pub fn forget(&mut self, path: &CStr) {
        if let Some(offset) = self.known.remove(path.to_bytes()) {
            let entry = self.entry(offset);
            entry.state.store(FREE, Ordering::Release);
            let span = entry.span.load(Ordering::Relaxed) as usize;
            self.free.entry(span).or_default().push(offset);
        }
    }

    fn entry(&self, offset: usize) -> &Entry {
        // SAFETY: offsets are those of entries made by `intend`: aligned to 64, inside the mapping,
        // and all fields are valid for every bit pattern.
        unsafe { self.base.add(offset).cast::<Entry>().as_ref() }
    }

    /// Memory behind the first `bytes`.
    fn prepare(&mut self, bytes: usize) -> bool {
        while self.ready < bytes {
            // SAFETY: within the registry's part of the mapping: `ready` is a multiple of STEP, and
            // so is the limit.
            let start = unsafe { self.base.add(self.ready) };
            if self.region.populate(start, STEP).is_err() {
                return false;
            }
            self.ready += STEP;
        }
        true
    }
}

/// What the rank of `region` created and did not delete, as far as it is ours to remove: entries of a
/// rank that died inside a call are looked up now and dropped unless born since `begun`.
pub fn created(region: &SampleRegion, begun: Moment) -> Vec<Created> {
    let (base, used) = region.registry();
    let used = (used.load(Ordering::Acquire) as usize).min(region.registry_limit());
    let (mut found, mut offset) = (Vec::new(), 0);
    while offset + HEAD <= used {
        // SAFETY: inside the mapping and aligned: entries stand at multiples of 64.
        let entry = unsafe { base.add(offset).cast::<Entry>().as_ref() };
        let span = entry.span.load(Ordering::Relaxed) as usize;
        let length = entry.length.load(Ordering::Relaxed) as usize;
        if span < 64 || !span.is_multiple_of(64) || HEAD + length > span || offset + span > used {
            break;
        }
        let state = entry.state.load(Ordering::Acquire);
        if state != FREE {
            // SAFETY: the path was written before the state was released and lies inside the entry.
            let bytes = unsafe { std::slice::from_raw_parts(base.add(offset + HEAD).as_ptr(), length) };
            let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            if state == CREATED {
                let identity = (entry.device.load(Ordering::Relaxed), entry.inode.load(Ordering::Relaxed));
                found.push(Created { path, identity: Some(identity) });
            } else if may_be_ours(bytes, entry.inode.load(Ordering::Relaxed) == 1, begun) {
                found.push(Created { path, identity: None });
            }
        }
        offset += span;
    }
    found
}

/// Is the path of an unfinished call there now, and was it made by that call?
fn may_be_ours(path: &[u8], birth_times: bool, begun: Moment) -> bool {
    let mut path = path.to_vec();
    path.push(0);
    let Ok(path) = CStr::from_bytes_with_nul(&path) else { return false };
    // Without birth times it was looked up before the call and was not there.
    look(path).is_some_and(|found| !birth_times || found.born.is_some_and(|born| born >= begun))
}

pub(super) struct Found {
    pub(super) identity: (u64, u64),
    pub(super) directory: bool,
    born: Option<Moment>,
}

/// What lies at `path` itself (a link is not followed), if anything does.
pub(super) fn look(path: &CStr) -> Option<Found> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let found =
        statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS | StatxFlags::BTIME).ok()?;
    let born = (found.stx_mask & StatxFlags::BTIME.bits() != 0)
        .then_some(Moment { seconds: found.stx_btime.tv_sec, nanoseconds: found.stx_btime.tv_nsec });
    Some(Found {
        identity: (u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor), found.stx_ino),
        directory: u32::from(found.stx_mode) & libc::S_IFMT == libc::S_IFDIR,
        born,
    })
}
