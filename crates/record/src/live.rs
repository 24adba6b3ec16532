//! Samples in files with names, which survive the death of every process of a run: a folder of them, and its manifest.
//!
//! ```text
//! FOLDER/manifest.json   what was run; locked as long as a process of the run lives
//! FOLDER/rank-N.live     the region of rank N
//! FOLDER/rank-N.spill    its samples that do not fit into memory (a link where they lie elsewhere)
//! ```
//!
//! The folder belongs to one user, who alone may enter it. A reader believes nothing that lies in it: files are opened
//! without following links, and must be ordinary ones of the reader's own.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, fstat, mkdirat, open, statat, unlinkat,
};
use rustix::process::geteuid;

use crate::region::SampleRegion;

const MANIFEST: &str = "manifest.json";
/// A manifest holds the program, which may be long.
const LONGEST_MANIFEST: u64 = 512 << 20;

/// A folder with the samples of a run that is under way.
#[derive(Debug)]
pub struct LiveFolder {
    path: PathBuf,
    spill: PathBuf,
    /// Its lock is inherited by all ranks.
    manifest: File,
}

/// A folder that a run left.
#[derive(Debug)]
pub struct LeftFolder {
    path: PathBuf,
    manifest: Vec<u8>,
    _lock: File,
}

/// What becomes of a folder that may be one of a run.
#[derive(Debug)]
pub enum Found {
    /// Its run is over.
    Left(LeftFolder),
    /// Its run is still under way.
    UnderWay,
}

fn private(name: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(File::from(open(name, flags, Mode::RUSR | Mode::WUSR)?))
}

/// An ordinary file of this user; nothing else is opened.
fn own(name: &Path, flags: OFlags) -> io::Result<File> {
    let file = private(name, flags | OFlags::NONBLOCK)?;
    let found = fstat(&file)?;
    let ordinary = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    if !ordinary || found.st_uid != geteuid().as_raw() {
        let what = format!("{} is not an ordinary file of this user", name.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(file)
}

impl LiveFolder {
    /// Makes the folder `path`, which must not be there, with `manifest` in it. Samples that do not fit into memory go
    /// to files below `spill`.
    ///
    /// # Errors
    /// As mkdir(2) and write(2).
    pub fn make(path: &Path, spill: &Path, manifest: &[u8]) -> io::Result<Self> {
        mkdirat(CWD, path, Mode::RWXU)?;
        let write = || {
            let mut file = private(&path.join(MANIFEST), OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?;
            file.write_all(manifest)?;
            file.sync_all()?;
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            Ok(file)
        };
        match write() {
            Ok(manifest) => Ok(Self { path: path.into(), spill: spill.into(), manifest }),
            Err(error) => {
                drop(std::fs::remove_dir_all(path));
                Err(error)
            }
        }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The region of a rank in it.
    ///
    /// # Errors
    /// As open(2) and mmap(2).
    pub fn region(&self, rank: u32, sample_limit: usize) -> io::Result<SampleRegion> {
        let new = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let memory = private(&self.path.join(format!("rank-{rank}.live")), new)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let elsewhere = self.spill.join(format!("{name}-rank-{rank}.spill"));
        let spill = private(&elsewhere, new)?;
        rustix::fs::symlinkat(&elsewhere, CWD, self.path.join(format!("rank-{rank}.spill")))?;
        SampleRegion::in_files(rank, sample_limit, memory, spill)
    }

    /// Removes it: the samples are elsewhere.
    pub fn remove(self) {
        remove(&self.path);
        drop(self.manifest);
    }
}

impl LeftFolder {
    /// Looks whether the folder `path` is one of a run of this user, and whether that is over.
    ///
    /// # Errors
    /// Where it is no such folder, or another user's.
    pub fn look(path: &Path) -> io::Result<Found> {
        let found = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
        let directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        if !directory || found.st_uid != geteuid().as_raw() {
            let what = format!("{} is not a folder of this user", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let file = own(&path.join(MANIFEST), OFlags::RDWR)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(Found::UnderWay),
            result => result?,
        }
        let mut manifest = Vec::new();
        (&file).take(LONGEST_MANIFEST).read_to_end(&mut manifest)?;
        Ok(Found::Left(Self { path: path.into(), manifest, _lock: file }))
    }

    /// What was written when the run began.
    pub fn manifest(&self) -> &[u8] {
        &self.manifest
    }

    /// The region of a rank; its spill file may be gone.
    ///
    /// # Errors
    /// Where it is damaged, or no file of this user.
    pub fn region(&self, rank: u32) -> io::Result<SampleRegion> {
        let memory = own(&self.path.join(format!("rank-{rank}.live")), OFlags::RDWR)?;
        let spill = std::fs::read_link(self.path.join(format!("rank-{rank}.spill")))
            .and_then(|elsewhere| own(&elsewhere, OFlags::RDONLY))
            .or_else(|_| crate::unnamed_file(&self.path))?;
        SampleRegion::found(memory, spill)
    }

    /// Removes it: the samples are elsewhere.
    pub fn remove(self) {
        remove(&self.path);
    }
}

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
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let lock = path.with_file_name(format!(".{}.running", name.to_string_lossy()));
        loop {
            let file = private(&lock, OFlags::RDWR | OFlags::CREATE)?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
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

/// Removes the files of a folder by their names, links of spill files with what they lead to, and the folder where
/// nothing else is in it.
fn remove(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let path = entry.path();
        if name.ends_with(".spill")
            && let Ok(elsewhere) = std::fs::read_link(&path)
            && elsewhere.extension().is_some_and(|kind| kind == "spill")
            && own(&elsewhere, OFlags::RDONLY).is_ok()
        {
            let _ = unlinkat(CWD, &elsewhere, AtFlags::empty());
        }
        if name == MANIFEST || name.ends_with(".spill") || name.ends_with(".live") {
            let _ = unlinkat(CWD, &path, AtFlags::empty());
        }
    }
    let _ = unlinkat(CWD, folder, AtFlags::REMOVEDIR);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use samples::Sample;

    use super::*;
    use crate::{Recorder, read};

    fn folder_with_samples(home: &Path) -> LiveFolder {
        let live = LiveFolder::make(&home.join("live"), home, b"{}").expect("a folder");
        let region = Arc::new(live.region(0, 1000).expect("a region"));
        let mut recorder = Recorder::new(region).expect("memory");
        let site = recorder.site(&samples::Site::default()).expect("room");
        for n in 0..100 {
            recorder.push(Sample { start_ns: n, site, batch: 1, ..Sample::default() }).expect("room");
        }
        live
    }

    #[test]
    fn samples_are_read_back_when_every_process_is_gone() {
        let home = tempfile::tempdir().expect("a directory");
        let live = folder_with_samples(home.path());
        let path = live.path().to_owned();
        assert!(matches!(LeftFolder::look(&path), Ok(Found::UnderWay)));
        drop(live);
        let Ok(Found::Left(left)) = LeftFolder::look(&path) else { panic!("nobody holds it") };
        let record = read(&left.region(0).expect("whole")).expect("whole");
        assert_eq!(record.samples.len(), 100);
        left.remove();
        assert_eq!(std::fs::read_dir(home.path()).expect("there").count(), 0);
    }

    #[test]
    fn a_file_that_is_changed_anywhere_in_its_header_is_read_within_its_length_or_refused() {
        let home = tempfile::tempdir().expect("a directory");
        let live = folder_with_samples(home.path());
        let path = live.path().join("rank-0.live");
        let (length, folder) = (path.metadata().expect("there").len(), live.path().to_owned());
        drop(live);
        for at in (0..512).step_by(4) {
            for value in [0xff_u8, 0x7f, 1] {
                let file = File::options().write(true).read(true).open(&path).expect("there");
                let mut before = [0; 4];
                use std::os::unix::fs::FileExt;
                file.read_exact_at(&mut before, at).expect("in it");
                file.write_all_at(&[value; 4], at).expect("in it");
                let Ok(Found::Left(left)) = LeftFolder::look(&folder) else { panic!("nobody holds it") };
                if let Ok(region) = left.region(0) {
                    // Whatever it says: a result, no crash.
                    let _ = read(&region);
                }
                file.write_all_at(&before, at).expect("in it");
            }
        }
        for cut in [0, 100, 4096, length - 1] {
            File::options().write(true).open(&path).and_then(|file| file.set_len(cut)).expect("cut");
            let Ok(Found::Left(left)) = LeftFolder::look(&folder) else { panic!("nobody holds it") };
            assert!(left.region(0).is_err(), "{cut}");
        }
    }

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
    fn a_link_in_the_place_of_a_file_is_refused() {
        let home = tempfile::tempdir().expect("a directory");
        let live = folder_with_samples(home.path());
        let (path, folder) = (live.path().join("rank-0.live"), live.path().to_owned());
        drop(live);
        std::fs::rename(&path, home.path().join("moved")).expect("rename");
        std::os::unix::fs::symlink(home.path().join("moved"), &path).expect("symlink");
        let Ok(Found::Left(left)) = LeftFolder::look(&folder) else { panic!("nobody holds it") };
        assert!(left.region(0).is_err());
        std::os::unix::fs::symlink(&folder, home.path().join("link")).expect("symlink");
        assert!(LeftFolder::look(&home.path().join("link")).is_err());
    }
}
