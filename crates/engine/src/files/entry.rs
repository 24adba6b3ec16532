//! One entry of the registry in shared memory, and how the parent reads all of them.

use std::ffi::{CStr, OsString};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use record::SampleRegion;

use super::moment::Moment;

/// Something that a rank created and that it did not delete again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// As the program wrote it: relative to the working directory.
    pub path: PathBuf,
    /// Between when it was born; `None` where the file system cannot tell.
    pub(super) born: Option<(Moment, Moment)>,
}

pub(super) const FREE: u32 = 0;
/// The call that may create it is under way.
pub(super) const INTENDED: u32 = 1;
pub(super) const CREATED: u32 = 2;

/// The head of an entry; the path follows it. Entries stand one after another, 64 bytes or a multiple.
#[repr(C)]
pub(super) struct Entry {
    pub(super) state: AtomicU32,
    /// Bytes from this head to the next.
    pub(super) span: AtomicU32,
    /// Bytes of the path.
    length: AtomicU32,
    /// 1: birth times tell whether it is ours.
    by_birth: AtomicU32,
    born_after: AtomicU64,
    born_before: AtomicU64,
}

pub(super) const HEAD: usize = size_of::<Entry>();

impl Entry {
    /// A free entry of `span` bytes.
    pub(super) fn make_free(&self, span: usize) {
        self.state.store(FREE, Ordering::Relaxed);
        self.length.store(0, Ordering::Relaxed);
        self.span.store(span as u32, Ordering::Release);
    }

    pub(super) fn set(&self, length: usize, by_birth: bool, born: (Moment, Moment)) {
        self.length.store(length as u32, Ordering::Relaxed);
        self.by_birth.store(by_birth.into(), Ordering::Relaxed);
        self.born_after.store(born.0.ns as u64, Ordering::Relaxed);
        self.set_born_before(born.1);
    }

    pub(super) fn set_born_before(&self, moment: Moment) {
        self.born_before.store(moment.ns as u64, Ordering::Relaxed);
    }

    /// Do birth times tell, and between when it was born.
    pub(super) fn evidence(&self) -> (bool, (Moment, Moment)) {
        let moment = |field: &AtomicU64| Moment { ns: field.load(Ordering::Relaxed) as i64 };
        let by_birth = self.by_birth.load(Ordering::Relaxed) == 1;
        (by_birth, (moment(&self.born_after), moment(&self.born_before)))
    }
}

/// What the rank of `region` created and did not delete, calls that it died in included. Whether it is there, and is
/// what the rank made, is seen when it is removed.
pub fn created(region: &SampleRegion) -> Vec<Created> {
    let (base, used) = region.registry();
    let used = (used.load(Ordering::Acquire) as usize).min(region.registry_limit());
    let (mut found, mut offset) = (Vec::new(), 0);
    while offset + HEAD <= used {
        // SAFETY: inside the mapping and aligned: entries stand at multiples of 64.
        let entry = unsafe { base.add(offset).cast::<Entry>().as_ref() };
        let span = entry.span.load(Ordering::Acquire) as usize;
        let length = entry.length.load(Ordering::Relaxed) as usize;
        if span < 64 || !span.is_multiple_of(64) || HEAD + length > span || offset + span > used {
            break;
        }
        if entry.state.load(Ordering::Acquire) != FREE {
            // SAFETY: the path was written before the state was released and lies inside the entry.
            let bytes = unsafe { std::slice::from_raw_parts(base.add(offset + HEAD).as_ptr(), length) };
            let (by_birth, born) = entry.evidence();
            let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            found.push(Created { path, born: by_birth.then_some(born) });
        }
        offset += span;
    }
    found
}

/// What lies at a path.
pub struct FoundFile {
    pub(super) directory: bool,
    pub(super) born: Option<Moment>,
    mode: u32,
    /// Device and inode.
    place: (u32, u32, u64),
}

impl FoundFile {
    fn of(found: &rustix::fs::Statx) -> Self {
        let born = (found.stx_mask & rustix::fs::StatxFlags::BTIME.bits() != 0)
            .then(|| Moment::of(found.stx_btime.tv_sec, found.stx_btime.tv_nsec.into()));
        let mode = u32::from(found.stx_mode);
        let place = (found.stx_dev_major, found.stx_dev_minor, found.stx_ino);
        Self { directory: mode & libc::S_IFMT == libc::S_IFDIR, born, mode, place }
    }

    /// Was it made since `begun`? Not where the file system does not tell.
    pub fn is_born_since(&self, begun: Moment) -> bool {
        self.born.is_some_and(|born| born.is_within((begun, Moment::MAX)))
    }

    /// Is it the same file?
    pub fn is(&self, other: &Self) -> bool {
        self.place == other.place
    }

    /// Is it a file that somebody may execute?
    pub fn can_be_executed(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFREG && self.mode & 0o111 != 0
    }
}

/// What lies at `path` itself (a link is not followed), if anything does.
pub fn look(path: &CStr) -> Option<FoundFile> {
    use rustix::fs::{AtFlags, CWD, statx};
    statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, WANTED).ok().map(|found| FoundFile::of(&found))
}

/// Is there something called `path` that is no link? By readlink(2), the quickest that tells.
pub fn is_there_and_no_link(path: &CStr) -> bool {
    let mut target = [0; 1];
    // SAFETY: the path is NUL-terminated, `target` has room for the one byte.
    let read = unsafe { libc::readlink(path.as_ptr(), target.as_mut_ptr(), target.len()) };
    read < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL)
}

/// What this descriptor of an open file is.
pub fn look_at(descriptor: i32) -> Option<FoundFile> {
    use rustix::fs::{AtFlags, statx};
    // SAFETY: the descriptor is of a file that the caller holds open.
    let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
    statx(file, c"", AtFlags::EMPTY_PATH, WANTED).ok().map(|found| FoundFile::of(&found))
}

const WANTED: rustix::fs::StatxFlags =
    rustix::fs::StatxFlags::BASIC_STATS.union(rustix::fs::StatxFlags::BTIME);
