//! Samples in files with names, which survive the death of every process of a run: a folder of them, and its manifest.
//!
//! ```text
//! FOLDER/manifest.json   what was run; locked as long as a process of the run lives
//! FOLDER/rank-N.live     the region of rank N
//! FOLDER/objects.live    which objects the run made
//! FOLDER/rank-N.spill    its samples that do not fit into memory (a link where they lie elsewhere)
//! ```
//!
//! It is made under another name (`.lastrank-begins-…`) and gets its own when the manifest is written and locked: whoever
//! finds it without a lock finds a run that is over. The folder belongs to one user, who alone may enter it. A reader
//! believes nothing that lies in it: the folder is held open, files are opened without following links, and must be
//! ordinary ones of the reader's own.

use std::ffi::{CStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, OFlags, RenameFlags, fstat, readlinkat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use crate::private::{own, own_folder, private};
use crate::region::SampleRegion;
use crate::witness::Witness;

const MANIFEST: &str = "manifest.json";
const OBJECTS: &str = "objects.live";
/// Names of folders that are being made; number and start of the process follow.
const BEGINS: &str = ".lastrank-begins-";
/// A manifest holds the program, which may be long.
const LONGEST_MANIFEST: u64 = 512 << 20;

/// A folder with the samples of a run that is under way.
#[derive(Debug)]
pub struct LiveFolder {
    path: PathBuf,
    spill: PathBuf,
    /// Its lock is inherited by all ranks.
    manifest: File,
    witness: Option<Witness>,
}

/// A folder that a run left.
#[derive(Debug)]
pub struct LeftFolder {
    path: PathBuf,
    folder: OwnedFd,
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
    /// Its run ended, or another process recovered it, while it was looked at.
    Gone,
}

/// When a process started, in ticks since the boot; `None` where there is none of this number.
fn start_of(process: &str) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in brackets, may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Removes what processes of this user began to make in `home` and did not live to finish.
pub fn sweep(home: &Path) {
    for entry in std::fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(BEGINS)) else { continue };
        let mut parts = rest.split('-');
        let (Some(process), Some(start)) = (parts.next(), parts.next()) else { continue };
        let lives = process.parse::<u32>().is_err()
            || start_of(process).is_some_and(|found| start.parse().is_ok_and(|start: u64| start == found));
        if !lives {
            let _ = remove(&entry.path());
        }
    }
}

impl LiveFolder {
    /// Makes the folder `path`, which must not be there, with `manifest` in it. Samples that do not fit into memory go
    /// to files below `spill`.
    ///
    /// # Errors
    /// As mkdir(2) and write(2).
    pub fn make(path: &Path, spill: &Path, manifest: &[u8]) -> io::Result<Self> {
        let (hidden, manifest) = Self::make_hidden(path, manifest)?;
        match publish(&hidden, path) {
            Ok(()) => Ok(Self { path: path.into(), spill: spill.into(), manifest, witness: None }),
            Err(error) => {
                let _ = remove(&hidden);
                Err(error)
            }
        }
    }

    /// The folder under the name that nobody looks for, with its manifest, locked.
    fn make_hidden(path: &Path, manifest: &[u8]) -> io::Result<(PathBuf, File)> {
        let home = path.parent().ok_or(io::ErrorKind::InvalidFilename)?;
        let begun = start_of("self").unwrap_or(0);
        let hidden = tempfile::Builder::new()
            .prefix(&format!("{BEGINS}{}-{begun}-", std::process::id()))
            .rand_bytes(16)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(home)?
            .keep();
        let write = || {
            let new = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
            let mut file = private(CWD, &hidden.join(MANIFEST), new)?;
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            file.write_all(manifest)?;
            file.sync_all()?;
            Ok(file)
        };
        match write() {
            Ok(file) => Ok((hidden, file)),
            Err(error) => {
                let _ = remove(&hidden);
                Err(error)
            }
        }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves a sign in `memory`, which no archive can write to, that this folder was made here; see
    /// [`LeftFolder::is_witnessed`].
    ///
    /// # Errors
    /// As open(2) and write(2).
    pub fn leave_witness(&mut self, memory: &Path) -> io::Result<()> {
        self.witness = Some(Witness::leave(memory, &self.path)?);
        Ok(())
    }

    /// The region of a rank in it.
    ///
    /// # Errors
    /// As open(2) and mmap(2).
    pub fn region(&self, rank: u32, sample_limit: usize) -> io::Result<SampleRegion> {
        let new = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let memory = private(CWD, &self.path.join(format!("rank-{rank}.live")), new)?;
        let link = format!("rank-{rank}.spill");
        let elsewhere = self.spill.join(spill_name(&self.path, &link));
        let spill = private(CWD, &elsewhere, new)?;
        rustix::fs::symlinkat(&elsewhere, CWD, self.path.join(link))?;
        SampleRegion::in_files(rank, sample_limit, memory, spill)
    }

    /// An empty file in it for what the run made.
    ///
    /// # Errors
    /// As open(2).
    pub fn objects(&self) -> io::Result<File> {
        private(CWD, &self.path.join(OBJECTS), OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    /// Removes it: the samples are elsewhere.
    pub fn remove(self) {
        let Self { path, manifest, witness, .. } = self;
        if let Some(witness) = witness {
            witness.remove();
        }
        if remove(&path).is_err() {
            // The lock's descriptor may have been the last one.
            drop(manifest);
            let _ = remove(&path);
        }
    }
}

impl LeftFolder {
    /// The manifest of the folder `path`, which is not locked for that: who looks for other runs takes this one from
    /// nobody.
    ///
    /// # Errors
    /// As [`LeftFolder::look`].
    pub fn peek(path: &Path) -> io::Result<Vec<u8>> {
        manifest_in(&own(own_folder(path)?, Path::new(MANIFEST), OFlags::RDONLY)?)
    }

    /// The folder `path`, whether its run is over or not, which is not locked: only to look at it.
    ///
    /// # Errors
    /// As [`LeftFolder::look`].
    pub fn look_unlocked(path: &Path) -> io::Result<Self> {
        let folder = own_folder(path)?;
        let file = own(&folder, Path::new(MANIFEST), OFlags::RDONLY)?;
        Ok(Self { path: path.into(), folder, manifest: manifest_in(&file)?, _lock: file })
    }

    /// Looks whether the folder `path` is one of a run of this user, and whether that is over.
    ///
    /// # Errors
    /// Where it is no such folder, or another user's, or others may write to it.
    pub fn look(path: &Path) -> io::Result<Found> {
        let folder = match own_folder(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Gone),
            result => result?,
        };
        let file = match own(&folder, Path::new(MANIFEST), OFlags::RDWR) {
            // It is removed last.
            Err(error) if error.kind() == io::ErrorKind::NotFound && remove_empty(path) => {
                return Ok(Found::Gone);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let what = "it has no manifest; no run that is under way needs it";
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            result => result?,
        };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(Found::UnderWay),
            result => result?,
        }
        if fstat(&file)?.st_nlink == 0 {
            return Ok(Found::Gone);
        }
        let manifest = manifest_in(&file)?;
        Ok(Found::Left(Self { path: path.into(), folder, manifest, _lock: file }))
    }

    /// Removes the folder `path`, of this user and in memory that no archive can write to, where all that is in it are files
    /// of a run without their manifest: who removed it did not live to finish. Is it gone?
    pub fn remove_rest(path: &Path) -> bool {
        let Ok(mut listed) = own_folder(path).and_then(|folder| Ok(Dir::new(folder)?)) else { return false };
        // The manifest is there before anything else, and removed last.
        let is_rest = names_in(&mut listed).iter().all(|name| is_of_a_run(name));
        is_rest && remove(path).is_ok() && !path.exists()
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
        let memory = own(&self.folder, Path::new(&format!("rank-{rank}.live")), OFlags::RDWR)?;
        let spill = spill_of(&self.folder, &self.path, &format!("rank-{rank}.spill"))
            .and_then(|elsewhere| own(CWD, &elsewhere, OFlags::RDONLY))
            .or_else(|_| crate::unnamed_file(&self.path))?;
        SampleRegion::found(memory, spill)
    }

    /// What tells which objects the run made.
    ///
    /// # Errors
    /// Where there is none, or no file of this user.
    pub fn objects(&self) -> io::Result<File> {
        own(&self.folder, Path::new(OBJECTS), OFlags::RDWR)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Is there a sign in `memory` that this user's own run made the folder, and nobody brought it with other files?
    pub fn is_witnessed(&self, memory: &Path) -> bool {
        Witness::of(memory, &self.path).is_some()
    }

    /// Removes it, and the signs in `memory` of it: the samples are elsewhere.
    pub fn remove(self, memory: &[PathBuf]) {
        memory.iter().filter_map(|memory| Witness::of(memory, &self.path)).for_each(Witness::remove);
        let _ = remove(&self.path);
    }
}

fn manifest_in(file: &File) -> io::Result<Vec<u8>> {
    let mut manifest = Vec::new();
    file.take(LONGEST_MANIFEST).read_to_end(&mut manifest)?;
    Ok(manifest)
}

/// Gives a folder its name, under which nothing may be.
fn publish(hidden: &Path, path: &Path) -> io::Result<()> {
    match renameat_with(CWD, hidden, CWD, path, RenameFlags::NOREPLACE) {
        // A file system that cannot; the name has a time in it, and a folder that is not empty is not replaced.
        Err(Errno::INVAL | Errno::NOSYS) => std::fs::rename(hidden, path),
        result => Ok(result?),
    }
}

/// Where a rank's further samples lie: the link `name` in the folder `path` leads there. A file of another name than
/// [`LiveFolder::region`] gives it is none of a run's.
fn spill_of(folder: impl AsFd, path: &Path, name: &str) -> io::Result<PathBuf> {
    let target = readlinkat(folder, name, Vec::new())?;
    let elsewhere = PathBuf::from(OsString::from_vec(target.into_bytes()));
    if elsewhere.file_name() != Some(&spill_name(path, name)) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it leads to another file than a run's"));
    }
    Ok(elsewhere)
}

/// What the file is called to which the link `name` in the folder `path` leads.
fn spill_name(path: &Path, name: &str) -> OsString {
    let mut all = path.file_name().unwrap_or_default().to_owned();
    all.push("-");
    all.push(name);
    all
}

/// The names in a folder, without `.` and `..`.
fn names_in(folder: &mut Dir) -> Vec<String> {
    let named =
        |name: &CStr| name.to_str().ok().filter(|name| !matches!(*name, "." | "..")).map(str::to_owned);
    folder.flatten().filter_map(|entry| named(entry.file_name())).collect()
}

/// Is it the name of a file that a run makes in its folder, but for the manifest? Others may be of who unpacked it.
fn is_of_a_run(name: &str) -> bool {
    let of_a_rank = name
        .strip_prefix("rank-")
        .and_then(|rest| rest.strip_suffix(".live").or_else(|| rest.strip_suffix(".spill")))
        .is_some_and(|rank| rank.parse::<u32>().is_ok());
    of_a_rank || name == OBJECTS
}

/// Removes the folder `path` where nothing is in it: a run that removed the files of its own died before it was through.
fn remove_empty(path: &Path) -> bool {
    unlinkat(CWD, path, AtFlags::REMOVEDIR).is_ok()
}

/// Removes the files of a folder by their names, links of spill files with what they lead to, the manifest last, and the
/// folder where nothing else is in it. Takes one descriptor; without one nothing is removed.
fn remove(path: &Path) -> io::Result<()> {
    let mut listed = Dir::new(own_folder(path)?)?;
    let names = names_in(&mut listed);
    let folder = listed.fd()?;
    for name in names {
        if name.ends_with(".spill")
            && is_of_a_run(&name)
            && let Ok(elsewhere) = spill_of(folder, path, &name)
            && own(CWD, &elsewhere, OFlags::RDONLY).is_ok()
        {
            let _ = unlinkat(CWD, &elsewhere, AtFlags::empty());
        }
        if is_of_a_run(&name) {
            let _ = unlinkat(folder, &name, AtFlags::empty());
        }
    }
    let _ = unlinkat(folder, MANIFEST, AtFlags::empty());
    remove_empty(path);
    Ok(())
}

#[cfg(test)]
mod tests;
