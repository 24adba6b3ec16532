//! Claims the name of a run file for one run at a time.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FlockOperation, OFlags, fstat, statat, unlinkat};
use rustix::io::Errno;

use crate::private::own;

/// A name that one run at a time writes to. Released, and its file removed, when it is dropped or the process dies.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _lock: File,
}

impl Claim {
    /// Claims the name `path` for this process by a lock on `.NAME.running` beside it; `None` where another process
    /// has it.
    ///
    /// # Errors
    /// As open(2).
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        Self::opened(path, OFlags::CREATE)
    }

    /// Removes what a process that was killed left of its claim of `path`, where nobody claims it now.
    pub fn remove_left(path: &Path) {
        drop(Self::opened(path, OFlags::empty()));
    }

    /// As [`Claim::remove_left`], of all run files in a folder. A process that is killed after its run file is whole, while it
    /// analyses the run, leaves nothing else.
    pub fn remove_all_left(folder: &Path) {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let name = entry.file_name();
            let of = name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(".running"));
            let run = of.filter(|run| run.ends_with(".parquet")).map(|run| folder.join(run));
            if let Some(run) = run.filter(|run| run.is_file()) {
                Self::remove_left(&run);
            }
        }
    }

    fn opened(path: &Path, how: OFlags) -> io::Result<Option<Self>> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let lock = path.with_file_name(format!(".{}.running", name.to_string_lossy()));
        loop {
            let file = own(CWD, &lock, OFlags::RDWR | how)?;
            if fstat(&file)?.st_size != 0 {
                let what = format!("{} holds something: it is no claim of lastrank", lock.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => return Ok(None),
                // Some file systems have no locks (Lustre without `flock`): there nobody is refused.
                Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) => {}
                result => result?,
            }
            // Its last owner may have removed it meanwhile.
            let named = statat(CWD, &lock, AtFlags::SYMLINK_NOFOLLOW);
            if named.is_ok_and(|named| fstat(&file).is_ok_and(|held| held.st_ino == named.st_ino)) {
                return Ok(Some(Self { path: lock, _lock: file }));
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = unlinkat(CWD, &self.path, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_claimed_once_at_a_time() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("run.parquet");
        let first = Claim::of(&path).expect("a place");
        assert!(first.is_some() && Claim::of(&path).expect("a place").is_none());
        drop(first);
        assert!(Claim::of(&path).expect("a place").is_some());
        assert_eq!(std::fs::read_dir(home.path()).expect("there").count(), 0);
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let home = tempfile::tempdir().expect("a directory");
        let (path, lock) = (home.path().join("run.parquet"), home.path().join(".run.parquet.running"));
        Claim::remove_left(&path);
        assert!(!lock.exists());
        // As a process that is killed does.
        std::fs::File::create(&lock).expect("a file");
        let held = Claim::of(&path).expect("a place").expect("a claim");
        Claim::remove_left(&path);
        assert!(lock.exists(), "somebody claims it");
        drop(held);
        std::fs::write(&lock, "the user's").expect("a file");
        Claim::remove_left(&path);
        assert!(Claim::of(&path).is_err());
        assert_eq!(std::fs::read(&lock).expect("there"), b"the user's");
        std::fs::write(&lock, "").expect("a file");
        Claim::remove_left(&path);
        assert!(!lock.exists());
        std::fs::write(&lock, "").expect("a file");
        Claim::remove_all_left(home.path());
        assert!(lock.exists(), "there is no run file of that name");
        std::fs::write(&path, "whole").expect("a file");
        Claim::remove_all_left(home.path());
        assert!(!lock.exists() && path.exists());
    }
}
