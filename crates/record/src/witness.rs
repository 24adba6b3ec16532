//! Tells a folder of samples that was made on this machine from one that came with other files, in an archive perhaps.
//!
//! Whoever packs an archive can write into a folder of samples that a run created `/home/you/thesis.txt`, and `lastrank
//! recover` removes what a run created. So a folder outside of shared memory has a witness there, which no archive brings and
//! no other user can make.

use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, stat};
use rustix::process::geteuid;

use crate::private::{own, private};

/// Longest path of a folder that is read.
const LONGEST: u64 = 1 << 16;

/// The witness of a folder that is in use.
#[derive(Debug)]
pub(crate) struct Witness(PathBuf);

impl Witness {
    /// Leaves a witness of the folder `live` in `memory`, a folder whose content no archive can bring.
    pub(crate) fn leave(memory: &Path, live: &Path) -> io::Result<Self> {
        let path = memory.join(name(live)?);
        let mut file = private(CWD, &path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        let witness = Self(path);
        match file.write_all(live.canonicalize()?.as_os_str().as_bytes()) {
            Ok(()) => Ok(witness),
            Err(error) => {
                witness.remove();
                Err(error)
            }
        }
    }

    /// The witness of `live` in `memory`, where there is one of this user.
    pub(crate) fn of(memory: &Path, live: &Path) -> Option<Self> {
        let path = memory.join(name(live).ok()?);
        let mut said = Vec::new();
        own(CWD, &path, OFlags::RDONLY).ok()?.take(LONGEST).read_to_end(&mut said).ok()?;
        // The number of a folder that is gone is given to another one.
        (said == live.canonicalize().ok()?.as_os_str().as_bytes()).then_some(Self(path))
    }

    pub(crate) fn remove(self) {
        let _ = std::fs::remove_file(self.0);
    }
}

fn name(live: &Path) -> io::Result<String> {
    let found = stat(live)?;
    Ok(format!("lastrank-made-{}-{:x}-{:x}", geteuid().as_raw(), found.st_dev, found.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_came_with_other_files_has_no_witness() {
        let (home, memory) =
            (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let (path, moved) = (home.path().join("live"), home.path().join("moved"));
        std::fs::create_dir(&path).expect("mkdir");
        Witness::leave(memory.path(), &path).expect("room");
        assert!(Witness::leave(memory.path(), &path).is_err(), "one is enough");
        assert!(Witness::of(memory.path(), &path).is_some());
        // The same files under another name are another folder, whatever they say; so is another one of that name.
        std::fs::rename(&path, &moved).expect("a rename");
        assert!(Witness::of(memory.path(), &moved).is_none());
        std::fs::create_dir(&path).expect("mkdir");
        assert!(Witness::of(memory.path(), &path).is_none());
        std::fs::remove_dir(&path).expect("rmdir");
        std::fs::rename(&moved, &path).expect("a rename");
        Witness::of(memory.path(), &path).expect("it is back").remove();
        assert_eq!(std::fs::read_dir(memory.path()).expect("there").count(), 0);
    }
}
