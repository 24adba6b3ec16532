//! One entry of the registry in shared memory, and how the parent reads all of them.

use std::ffi::{CStr, OsString};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use record::SampleRegion;

use super::moment::Moment;
use super::object::Object;

/// Something that a rank created and that it did not delete again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// As the program wrote it: relative to the working directory.
    pub path: PathBuf,
    /// Between when it was born; `None` where the file system cannot tell.
    pub(super) born: Option<(Moment, Moment)>,
    /// The call was done when the rank ended: the run knows the object.
    pub(super) done: bool,
    /// The file of a kernel, whose name lastrank drew.
    pub(super) of_a_kernel: bool,
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
        self.set_born(born);
    }

    pub(super) fn set_born(&self, (from, to): (Moment, Moment)) {
        self.born_after.store(from.ns as u64, Ordering::Relaxed);
        self.set_born_before(to);
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
        let state = entry.state.load(Ordering::Acquire);
        if state != FREE {
            // SAFETY: the path was written before the state was released and lies inside the entry.
            let bytes = unsafe { std::slice::from_raw_parts(base.add(offset + HEAD).as_ptr(), length) };
            let (by_birth, born) = entry.evidence();
            let of_a_kernel = is_of_a_kernel(bytes);
            let born = if state == INTENDED && !of_a_kernel { soon(born) } else { born };
            let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            found.push(Created { path, born: by_birth.then_some(born), done: state == CREATED, of_a_kernel });
        }
        offset += span;
    }
    found
}

/// When it was born that a call made in which the rank died: at latest a second after the call began. What is born later may be
/// the user's; where the call took longer, what it made stays.
fn soon((from, to): (Moment, Moment)) -> (Moment, Moment) {
    const SOON_NS: i64 = 1_000_000_000;
    (from, to.min(Moment { ns: from.ns.saturating_add(SOON_NS) }))
}

/// Is it a name that lastrank drew for the file of a kernel, which makes it over and over?
fn is_of_a_kernel(path: &[u8]) -> bool {
    path.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(b".lastrank-names-"))
}

/// What lies at a path.
pub struct FoundFile {
    directory: bool,
    link: bool,
    pub(super) born: Option<Moment>,
    object: Object,
    /// Bytes of its content.
    pub size: u64,
    /// Names that it has.
    names: u32,
}

impl FoundFile {
    pub(super) fn of(found: &rustix::fs::Statx) -> Self {
        let has_birth = found.stx_mask & rustix::fs::StatxFlags::BTIME.bits() != 0;
        let moment = |time: &rustix::fs::StatxTimestamp| Moment::of(time.tv_sec, time.tv_nsec.into());
        let born = has_birth.then(|| moment(&found.stx_btime));
        let object = Object {
            device: (found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            born_ns: born.map_or(0, |born| born.ns),
            changed_ns: moment(&found.stx_ctime).ns,
        };
        let kind = u32::from(found.stx_mode) & libc::S_IFMT;
        let (directory, link) = (kind == libc::S_IFDIR, kind == libc::S_IFLNK);
        Self { directory, link, born, object, size: found.stx_size, names: found.stx_nlink }
    }

    /// What it is, whatever it is called.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Was it made since `begun`? Not where the file system does not tell.
    pub fn is_born_since(&self, begun: Moment) -> bool {
        self.born.is_some_and(|born| born >= begun)
    }

    /// Does its file system say when it was made?
    pub fn tells_birth(&self) -> bool {
        self.born.is_some()
    }

    /// What tells it from any other object.
    pub(super) fn identity(&self) -> ((u32, u32), u64, i64) {
        (self.object.device, self.object.inode, self.object.born_ns)
    }

    /// Is it the same object?
    pub fn is(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    /// Is it a directory?
    pub fn is_directory(&self) -> bool {
        self.directory
    }

    /// Is it a symbolic link?
    pub fn is_link(&self) -> bool {
        self.link
    }

    /// Does no name lead to it?
    pub fn has_no_name(&self) -> bool {
        self.names == 0
    }

    /// Is it gone when this name of it is?
    pub fn has_one_name(&self) -> bool {
        self.directory || self.names <= 1
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

/// As [`look`], where no link is on the way.
pub fn look_without_links(path: &CStr) -> Option<FoundFile> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    let how = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    // `made/` is the directory `made`.
    let end = path.to_bytes().iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let path = &path.to_bytes()[..end];
    let parts = path.iter().rposition(|byte| *byte == b'/').map(|slash| path.split_at(slash + 1));
    let (around, name) = parts.unwrap_or((b"./", path));
    let around = openat2(CWD, around, how, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    rustix::fs::statx(&around, name, flags, WANTED).ok().map(|found| FoundFile::of(&found))
}

/// What this descriptor of an open file is. The file system is not asked anew.
pub fn look_at(descriptor: i32) -> Option<FoundFile> {
    use rustix::fs::{AtFlags, statx};
    // SAFETY: the descriptor is of a file that the caller holds open.
    let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let how = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    statx(file, c"", how, WANTED).ok().map(|found| FoundFile::of(&found))
}

pub(super) const WANTED: rustix::fs::StatxFlags =
    rustix::fs::StatxFlags::BASIC_STATS.union(rustix::fs::StatxFlags::BTIME);
