//! A directory for the records of one recording, in a place that all users share.

use std::ffi::CString;
use std::fs::{DirEntry, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the names of these directories begin.
const PREFIX: &str = "lastrank-record-";

/// A younger one may be about to be locked.
const YOUNG: Duration = Duration::from_secs(60);

/// A directory that goes when this does. Where this process is killed, the next recording of the same user removes it.
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
        // In LD_PRELOAD these end a name: what is before them would be loaded, and others can write to /tmp.
        if path.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b' ' | b':')) {
            let what = format!(
                "{} has a space or a colon in its name, where the dynamic linker takes a name to end; set TMPDIR to \
                 another directory",
                place.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
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
}

impl Drop for SpoolFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.around);
    }
}

/// Removes what killed recorders of this user left in `place`.
fn remove_left(place: &Path) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if is_left(&entry) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether it is such a directory, of this user, and no recorder that lives holds it.
fn is_left(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let is_named_so = name
        .to_str()
        .and_then(|name| name.strip_prefix(PREFIX))
        .is_some_and(|rest| rest.len() == 8 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if !is_named_so {
        return false;
    }
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_DIRECTORY | libc::O_NONBLOCK);
    let Ok(folder) = options.open(entry.path()) else { return false };
    // SAFETY: a plain call.
    let own = unsafe { libc::geteuid() };
    let is_old = |made: std::time::SystemTime| made.elapsed().is_ok_and(|age| age >= YOUNG);
    folder.metadata().is_ok_and(|found| found.uid() == own && found.modified().is_ok_and(is_old))
        && folder.try_lock().is_ok()
}

/// Whether a directory lies in a file system in memory.
pub fn lies_in_memory(directory: &Path) -> bool {
    let Ok(name) = CString::new(directory.as_os_str().as_bytes()) else { return false };
    // SAFETY: all bits zero are a value of this structure.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the name ends in NUL, and the structure is ours.
    unsafe { libc::statfs(name.as_ptr(), &raw mut found) == 0 && found.f_type == libc::TMPFS_MAGIC }
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
            std::fs::create_dir_all(place.path().join(name).join("inner")).unwrap();
            age(name);
        }
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
            "lastrank-record-notes",
            "other",
        ];
        assert_eq!(left, stays);
        drop((held, young));
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 3);
    }
}
