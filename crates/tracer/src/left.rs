//! What killed recorders left: the records of the preloaded library, which go on while the application does, and what the complete
//! recorder wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::folder::{self, LeftFolder, MEMORY};
use crate::look::look_after;
use crate::manifest::Manifest;
use crate::recorded::{Kept, Seen};
use crate::{Recorded, live, quiet, spool};

/// A recording whose recorder was killed.
pub struct LeftRecording {
    /// What its recorder said of it.
    pub manifest: Manifest,
    /// That on a disk first.
    folders: Vec<LeftFolder>,
}

/// What becomes of it.
pub enum Found {
    /// Its recorder and its application have ended.
    Left(LeftRecording),
    /// One of them has not.
    UnderWay(PathBuf, Manifest),
    /// One that was not asked for, and not locked for that; whether its application writes to it.
    Elsewhere(PathBuf, Manifest, bool),
    /// Nothing can be made of it, and why.
    Strange(PathBuf, String),
}

/// The recordings of this user with a directory in one of these places. The other one is looked for where the one in shared memory
/// says, where no archive brings anything; whoever else has its name is another recording. Those that `is_wanted` by their manifest and
/// the place of a directory are looked at closely.
pub fn recordings(places: &[&Path], is_wanted: &dyn Fn(&Manifest, &Path) -> bool) -> Vec<Found> {
    let places: BTreeSet<PathBuf> = places.iter().map(|place| absolute(place)).collect();
    let mut found: Vec<LeftFolder> = places.iter().flat_map(|place| folder::left(place)).collect();
    let known: BTreeSet<Identity> = found.iter().map(identity).collect();
    let mut others = BTreeSet::from([absolute(Path::new(MEMORY))]);
    others.extend(known.iter().filter_map(|(on_disk, _)| Some(on_disk.parent()?.to_owned())));
    let further = others.difference(&places).flat_map(|place| folder::left(place));
    found.extend(further.filter(|one| known.contains(&identity(one))));
    let mut by_identity = BTreeMap::<Identity, Vec<LeftFolder>>::new();
    for one in found {
        by_identity.entry(identity(&one)).or_default().push(one);
    }
    by_identity.into_values().filter_map(|folders| of_folders(folders, is_wanted)).collect()
}

/// What directories of one recording have in common: the path of the one on a disk, and what its recorder wrote into both.
type Identity = (PathBuf, Vec<u8>);

fn identity(folder: &LeftFolder) -> Identity {
    let name = folder.around.file_name().unwrap_or_default();
    let mut place = absolute(folder.around.parent().unwrap_or(Path::new(".")));
    if place == absolute(Path::new(MEMORY))
        && let Ok(manifest) = serde_json::from_slice::<Manifest>(&folder.manifest)
    {
        place = absolute(Path::new(OsStr::from_bytes(&manifest.place)));
    }
    (place.join(name), folder.manifest.clone())
}

fn absolute(place: &Path) -> PathBuf {
    place.canonicalize().unwrap_or_else(|_| place.into())
}

fn of_folders(mut folders: Vec<LeftFolder>, is_wanted: &dyn Fn(&Manifest, &Path) -> bool) -> Option<Found> {
    // Files begin in memory, and `spool::files` wants those last.
    folders.sort_by_key(|folder| folder.around.parent().is_some_and(folder::lies_in_memory));
    let first = folders.first()?;
    let around = first.around.clone();
    let manifest: Manifest = match serde_json::from_slice(&first.manifest) {
        Ok(manifest) => manifest,
        Err(error) => return Some(Found::Strange(around, error.to_string())),
    };
    let mut places = folders.iter().filter_map(|folder| folder.around.parent());
    if !places.any(|place| is_wanted(&manifest, place)) {
        let goes_on = folders.iter().any(LeftFolder::is_mapped);
        return Some(Found::Elsewhere(around, manifest, goes_on));
    }
    if folders.iter().any(LeftFolder::is_under_way) {
        return Some(Found::UnderWay(around, manifest));
    }
    Some(Found::Left(LeftRecording { manifest, folders }))
}

impl LeftRecording {
    /// What was recorded until the application ended.
    ///
    /// # Errors
    /// As open(2) and read(2).
    pub fn read(&self) -> io::Result<Recorded> {
        let inner: Vec<PathBuf> = self.folders.iter().map(LeftFolder::inner).collect::<Result<_, _>>()?;
        let inner: Vec<&Path> = inner.iter().map(PathBuf::as_path).collect();
        if let Some(cost_ns) = self.manifest.complete {
            return completely(&inner, cost_ns);
        }
        let files = spool::files::read(&inner)?;
        Ok(quiet::made_of(&files, &self.manifest.directory, 0))
    }

    /// Where it lies.
    pub fn place(&self) -> &Path {
        self.folders.first().map_or(Path::new(""), |folder| &folder.around)
    }

    /// Removes it: the recording has a file. Directories in which there is more stay, with that, and are returned.
    pub fn remove(self) -> Vec<PathBuf> {
        self.folders.into_iter().filter_map(LeftFolder::remove).collect()
    }
}

/// What the complete recorder wrote until it was killed, and its application with it.
fn completely(folders: &[&Path], cost_ns: u64) -> io::Result<Recorded> {
    let (mut trace, is_cut) = live::read(folders)?;
    look_after(&mut trace);
    trace.cost_ns = Some(cost_ns);
    let elapsed_ns = trace.calls.iter().map(|call| call.end()).max().unwrap_or(0);
    // Linux's counts went with the threads.
    let seen = Seen { recorded: 0, counted: 0 };
    let cut = u64::from(is_cut);
    Ok(Recorded {
        trace,
        seen,
        unseen: 0,
        cut,
        cost_ns,
        elapsed_ns,
        status: libc::SIGKILL,
        tree: None,
        kept: Kept::default(),
    })
}
