//! A directory for the records of one recording, in a place that all users share.

use std::ffi::{CString, OsStr};
use std::fs::{DirEntry, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where there is memory with names.
pub const MEMORY: &str = "/dev/shm";

/// How the names of these directories begin.
pub const PREFIX: &str = "lastrank-record-";

/// No manifest is longer.
const LONGEST_MANIFEST: u64 = 64 << 20;

/// A younger one may be about to be locked.
const YOUNG: Duration = Duration::from_secs(60);

/// What tells of a recording for whom its recorder is gone.
const MANIFEST: &str = "manifest.json";

/// The file of the complete recorder, and what it is called where it lacks the last calls.
pub const CALLS: &str = "calls";
pub const CUT: &str = "calls.cut";
/// The library that is preloaded.
pub const LIBRARY: &str = "lastrank.so";

/// What nobody can guess.
pub fn random() -> io::Result<[u8; 16]> {
    let mut random = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random)
}

/// A directory that goes when this does. Where this process is killed it stays if it has a manifest, for [`left`]; otherwise the
/// next recording of the same user removes it.
pub struct SpoolFolder {
    /// The directory around it, and the lock that tells that this process lives.
    around: PathBuf,
    _lock: File,
    /// Where the records are.
    pub path: PathBuf,
}

impl SpoolFolder {
    /// Makes one whose name nobody can guess.
    pub fn new(place: &Path, random: &[u8; 16]) -> io::Result<Self> {
        remove_left(place);
        let (shown, hidden) = random.split_at(4);
        let name = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let around = place.join(format!("{PREFIX}{}", name(shown)));
        let path = around.join(name(hidden));
        std::fs::DirBuilder::new().mode(0o700).create(&around)?;
        let lock = File::open(&around)?;
        lock.lock()?;
        let made = Self { around, _lock: lock, path };
        std::fs::DirBuilder::new().mode(0o700).create(&made.path)?;
        // What root starts may become another user (setpriv, su), who loads the library and makes files of its own beside it.
        // Others find the directory only by its name, which no list shows, and nobody replaces what others made in it.
        // SAFETY: a plain call.
        if unsafe { libc::geteuid() } == 0 {
            std::fs::set_permissions(&made.path, Permissions::from_mode(0o1733))?;
            std::fs::set_permissions(&made.around, Permissions::from_mode(0o711))?;
        }
        Ok(made)
    }

    /// From now on it is kept where this process is killed.
    pub fn keep(&self, manifest: &[u8]) -> io::Result<()> {
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600);
        options.open(self.around.join(MANIFEST))?.write_all(manifest)
    }
}

impl Drop for SpoolFolder {
    fn drop(&mut self) {
        remove_own(&self.around, &self._lock);
    }
}

/// A directory itself.
fn held(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_DIRECTORY | libc::O_NONBLOCK).open(path)
}

fn is_hexadecimal(name: &str, length: usize) -> bool {
    name.len() == length && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether it is the name of a directory of records.
fn is_inner(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| is_hexadecimal(name, 24))
}

/// Whether a recorder, or its library, makes a file of this name in it.
fn is_record(name: &OsStr) -> bool {
    let is_of_thread = |name: &str| {
        name.split('.').count() == 3 && name.split('.').all(|number| number.parse::<u64>().is_ok())
    };
    name.to_str().is_some_and(|name| matches!(name, LIBRARY | CALLS | CUT) || is_of_thread(name))
}

/// Removes what recorders make in such a directory, which is held open, and the directory where nothing else is in it; whether it is
/// gone. Who unpacks an archive may have files of his own there.
fn remove_own(around: &Path, folder: &File) -> bool {
    let listed = |folder: &File| std::fs::read_dir(whatever_its_name(folder)).into_iter().flatten().flatten();
    let is_file = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    for inner in listed(folder).filter(|entry| is_inner(&entry.file_name())) {
        let Ok(records) = held(&inner.path()) else { continue };
        for file in listed(&records).filter(|entry| is_record(&entry.file_name()) && is_file(entry)) {
            let _ = std::fs::remove_file(file.path());
        }
        let _ = std::fs::remove_dir(inner.path());
    }
    for manifest in listed(folder).filter(|entry| entry.file_name() == MANIFEST && is_file(entry)) {
        let _ = std::fs::remove_file(manifest.path());
    }
    std::fs::remove_dir(around).is_ok()
}

/// Removes what killed recorders of this user left in `place` before they had recorded anything.
fn remove_left(place: &Path) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let is_old = |made: std::time::SystemTime| made.elapsed().is_ok_and(|age| age >= YOUNG);
        let Some(found) = opened(&entry) else { continue };
        if found.metadata().and_then(|about| about.modified()).is_ok_and(is_old)
            && found.try_lock().is_ok()
            && manifest_in(&found).is_none()
        {
            remove_own(&entry.path(), &found);
        }
    }
}

/// Such a directory, where it is this user's, and others cannot write to it.
fn opened(entry: &DirEntry) -> Option<File> {
    let name = entry.file_name();
    let rest = name.to_str()?.strip_prefix(PREFIX)?;
    if !is_hexadecimal(rest, 8) {
        return None;
    }
    let folder = held(&entry.path()).ok()?;
    // SAFETY: a plain call.
    let own = unsafe { libc::geteuid() };
    let found = folder.metadata().ok()?;
    (found.uid() == own && found.mode() & 0o022 == 0).then_some(folder)
}

/// What an open directory is called whatever becomes of its name.
fn whatever_its_name(folder: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// A manifest that was written, as far as it goes.
fn manifest_in(folder: &File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(whatever_its_name(folder).join(MANIFEST)).ok()?;
    file.take(LONGEST_MANIFEST).read_to_end(&mut bytes).ok()?;
    (!bytes.is_empty()).then_some(bytes)
}

/// A directory of a recording.
pub struct LeftFolder {
    /// Its name, which the directory on a disk and the one in memory share.
    pub around: PathBuf,
    /// What its recorder wrote there.
    pub manifest: Vec<u8>,
    folder: File,
}

impl LeftFolder {
    /// Whether its recorder lives, or the application still writes to it. Where not, nobody else takes it from now on.
    pub fn is_under_way(&self) -> bool {
        self.folder.try_lock().is_err() || self.is_mapped()
    }

    /// Whether the application still writes to it.
    pub fn is_mapped(&self) -> bool {
        is_mapped(&self.around)
    }

    /// Where the records are.
    pub fn inner(&self) -> io::Result<PathBuf> {
        for entry in std::fs::read_dir(whatever_its_name(&self.folder))? {
            let entry = entry?;
            if is_inner(&entry.file_name()) && entry.file_type()?.is_dir() {
                return Ok(entry.path());
            }
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "it has no directory of records"))
    }

    /// Removes it; where there is more in it than recorders make, that stays, and the directory, which is returned.
    pub fn remove(self) -> Option<PathBuf> {
        (!remove_own(&self.around, &self.folder)).then_some(self.around)
    }
}

/// The directories of recordings of this user in `place`, of which none is locked by that.
pub fn left(place: &Path) -> Vec<LeftFolder> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let look = |entry: DirEntry| {
        let folder = opened(&entry)?;
        let manifest = manifest_in(&folder)?;
        Some(LeftFolder { around: entry.path(), manifest, folder })
    };
    entries.filter_map(look).collect()
}

/// Whether a process has a file of the directory in its memory: the library, or its records.
fn is_mapped(around: &Path) -> bool {
    let name = around.canonicalize().unwrap_or_else(|_| around.into());
    let name = [name.as_os_str().as_bytes(), b"/"].concat();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let maps = processes.filter_map(|process| std::fs::read(process.path().join("maps")).ok());
    maps.into_iter().any(|maps| maps.windows(name.len()).any(|part| part == name))
}

/// Whether a directory lies in a file system in memory.
pub fn lies_in_memory(directory: &Path) -> bool {
    kind_of_file_system(directory) == Some(libc::TMPFS_MAGIC)
}

/// What the file system of a directory is, by its number in `statfs`.
pub fn kind_of_file_system(directory: &Path) -> Option<libc::__fsword_t> {
    let name = CString::new(directory.as_os_str().as_bytes()).ok()?;
    // SAFETY: all bits zero are a value of this structure.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the name ends in NUL, and the structure is ours.
    unsafe { libc::statfs(name.as_ptr(), &raw mut found) == 0 }.then_some(found.f_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_recorder_left_goes_with_the_next_recording_and_what_another_holds_stays() {
        let place = tempfile::tempdir().unwrap();
        let long_ago = std::time::SystemTime::now() - 2 * YOUNG;
        let age = |name: &str| File::open(place.path().join(name)).unwrap().set_modified(long_ago).unwrap();
        for name in ["lastrank-record-0badcafe", "lastrank-record-0badcaff", "lastrank-record-notes", "other"]
        {
            std::fs::create_dir_all(place.path().join(name).join("0".repeat(24))).unwrap();
            age(name);
        }
        // It came in an archive, and somebody works in it.
        let mine = place.path().join("lastrank-record-0badcafe/mine");
        std::fs::create_dir(&mine).unwrap();
        std::fs::write(mine.join("thesis"), "the user's").unwrap();
        age("lastrank-record-0badcafe");
        std::os::unix::fs::symlink("other", place.path().join("lastrank-record-00000000")).unwrap();
        let held = SpoolFolder::new(place.path(), &[1; 16]).unwrap();
        age("lastrank-record-01010101");
        let young = SpoolFolder::new(place.path(), &[2; 16]).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let stays = [
            "lastrank-record-00000000",
            "lastrank-record-01010101",
            "lastrank-record-02020202",
            "lastrank-record-0badcafe",
            "lastrank-record-notes",
            "other",
        ];
        assert_eq!(left, stays);
        drop((held, young));
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 4);
        assert_eq!(std::fs::read_to_string(mine.join("thesis")).unwrap(), "the user's");
    }

    #[test]
    fn what_has_a_manifest_stays_until_it_is_taken_and_is_under_way_while_it_is_locked_or_mapped() {
        let place = tempfile::tempdir().unwrap();
        let held = SpoolFolder::new(place.path(), &[1; 16]).unwrap();
        held.keep(b"told").unwrap();
        assert!(left(place.path())[0].is_under_way());
        let SpoolFolder { around, path, .. } = &held;
        let (around, path) = (around.clone(), path.clone());
        // As a kill does, which runs no destructor.
        let lock = std::mem::ManuallyDrop::new(held)._lock.as_raw_fd();
        // SAFETY: the descriptor is used no more.
        unsafe { libc::close(lock) };
        let long_ago = std::time::SystemTime::now() - 2 * YOUNG;
        File::open(&around).unwrap().set_modified(long_ago).unwrap();
        drop(SpoolFolder::new(place.path(), &[2; 16]).unwrap());
        let file = File::options().read(true).write(true).create_new(true).open(path.join("1.1.1")).unwrap();
        file.set_len(4096).unwrap();
        // SAFETY: a mapping of a file of our own that nobody reads.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), 4096, 1, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert_ne!(at, libc::MAP_FAILED);
        assert!(left(place.path())[0].is_under_way());
        // SAFETY: as above.
        unsafe { libc::munmap(at, 4096) };
        let found = left(place.path()).pop().unwrap();
        assert!(!found.is_under_way());
        assert_eq!(
            (&found.manifest[..], found.inner().unwrap().file_name()),
            (&b"told"[..], path.file_name())
        );
        // Links and files of other names are no recorder's.
        std::fs::write(around.join("thesis"), "the user's").unwrap();
        std::os::unix::fs::symlink(around.join("thesis"), path.join("2.2.2")).unwrap();
        assert_eq!(found.remove().as_ref(), Some(&around));
        assert!(
            left(place.path()).is_empty() && around.join("thesis").exists() && !path.join("1.1.1").exists()
        );
        assert!(path.join("2.2.2").symlink_metadata().is_ok());
    }
}
