//! Keeps the samples of a run where they survive the death of all its processes, and makes a run of what was left.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use record::live::{Found, LeftFolder, LiveFolder, sweep};
use record::{RecordState, SampleRegion};
use samples::{Facts, Judgement, JudgementExample, JudgementKind};
use serde::{Deserialize, Serialize};

use super::{Confine, Options, RunOutcome, collect};
use crate::files;
use ranks::{RankEnd, RankEnds};

/// The schema of [`Manifest`].
const SCHEMA: &str = "lastrank.live/1";
/// Folders of live samples begin so, and the user's number follows.
const PREFIX: &str = "lastrank-live";
/// Ranks of a run that was left, at most.
const MOST_RANKS: u32 = 1 << 16;

/// What was run, written before the first rank begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// `lastrank.live/1`.
    pub schema: String,
    /// Where the samples were to go.
    pub run_file: PathBuf,
    /// To which the names in the registry are relative.
    pub working_directory: PathBuf,
    /// Are files those of this machine, and to be removed?
    pub local_files: bool,
    /// The boot of the machine: after another one, what was not written back is gone.
    pub boot: String,
    /// The process that supervised the ranks.
    pub process: u32,
    /// What is known before the run.
    pub facts: Facts,
    /// Does the run know the objects that it makes (it is confined)? `None`: another version wrote it, which knows too little
    /// of them for us.
    pub knows_objects: Option<bool>,
}

impl Manifest {
    /// Was it started in this folder, or was its run file to lie there?
    fn is_of(&self, folder: &Path) -> bool {
        let lies_there = |parent: &Path| parent.canonicalize().is_ok_and(|real| real == folder);
        self.working_directory == folder || self.run_file.parent().is_some_and(lies_there)
    }
}

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Folders in memory that have names, and so survive every process: of the machine, of the user.
fn memory_folders() -> Vec<PathBuf> {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    std::iter::once(PathBuf::from("/dev/shm")).chain(own).filter(|folder| folder.is_dir()).collect()
}

/// The user's folders of live samples begin with this.
fn prefix() -> String {
    format!("{PREFIX}-{}-", rustix::process::geteuid().as_raw())
}

/// Does `path` lie in one of these folders itself?
fn is_in(folders: &[PathBuf], path: &Path) -> bool {
    folders.iter().any(|folder| path.parent() == Some(folder))
}

fn device(place: &Path) -> Option<u64> {
    let existing = place.ancestors().find(|place| place.exists())?;
    let existing = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
    rustix::fs::stat(existing).ok().map(|found| found.st_dev)
}

fn has_room(folder: &Path, bytes: u64) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= bytes)
}

/// Makes a folder for the samples of a run: in memory that has a name; else beside the run file, if that is not on a
/// device that the run measures. `None` where there is no such place with room for them: the samples then live as long
/// as a process of the run.
pub fn begin(options: &Options, run_file: &Path, facts: Facts) -> Option<Arc<LiveFolder>> {
    if options.backend.capabilities().virtual_time {
        return None;
    }
    let ranks = u64::from(options.launch.ranks.max(1));
    let each = options.samples_per_rank(options.launch.ranks) * size_of::<samples::Sample>() + (16 << 20);
    let needed = ranks * each as u64;
    let beside = run_file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let beside = std::path::absolute(beside.unwrap_or(Path::new("."))).ok()?;
    let measured: Vec<_> = std::iter::once(Path::new("."))
        .chain(options.named.iter().map(PathBuf::as_path))
        .map(device)
        .collect();
    let is_measured = |folder: &Path| measured.contains(&device(folder));
    let stem = run_file.file_stem().unwrap_or_default().to_string_lossy();
    let (process, now) = (std::process::id(), SystemTime::now().duration_since(UNIX_EPOCH).ok()?);
    let unique = format!("{process}-{:x}", now.as_nanos());
    let in_memory = memory_folders().into_iter().map(|folder| folder.join(prefix() + &unique));
    let places = in_memory.chain([beside.join(format!(".{stem}.{PREFIX}-{unique}"))]);
    let manifest = Manifest {
        schema: SCHEMA.into(),
        run_file: std::path::absolute(run_file).ok()?,
        working_directory: std::env::current_dir().ok()?,
        local_files: options.backend.capabilities().local_files,
        boot: boot(),
        process,
        facts,
        knows_objects: Some(options.confine != Confine::Nobody && options.backend.capabilities().local_files),
    };
    let manifest = serde_json::to_vec(&manifest).ok()?;
    places
        .filter(|place| place.parent().is_some_and(|folder| !is_measured(folder) && has_room(folder, needed)))
        .find_map(|place| LiveFolder::make(&place, &options.spill_directory, &manifest).ok())
        .map(|mut live| {
            let memory = memory_folders();
            // Without a witness the samples are recovered all the same, and files are left.
            if !is_in(&memory, live.path()) {
                memory.iter().any(|folder| live.leave_witness(folder).is_ok());
            }
            Arc::new(live)
        })
}

/// A run that was left.
#[derive(Debug)]
pub struct LeftRun {
    folder: LeftFolder,
    /// What was run.
    pub manifest: Manifest,
}

/// What was found where a run may have left samples.
#[derive(Debug)]
pub enum LeftRuns {
    /// A run that is over.
    Left(Box<LeftRun>),
    /// One that is under way; its folder.
    UnderWay(PathBuf, Box<Manifest>),
    /// One of another folder, which was not locked for that: over or not.
    Elsewhere(PathBuf, Box<Manifest>),
    /// A folder that cannot be read: which, and why.
    Strange(PathBuf, String),
}

/// The runs that were left in memory folders, and in `folder`: those that were started in this, or whose run files were to
/// lie there, or whose samples do; `all`: of every folder.
///
/// # Errors
/// Where `folder` cannot be listed.
pub fn left(folder: &Path, all: bool) -> std::io::Result<Vec<LeftRuns>> {
    let own = prefix();
    let mut found = Vec::new();
    let wanted = folder.canonicalize()?;
    let is_wanted = |manifest: &Manifest| all || manifest.is_of(&wanted);
    for place in memory_folders() {
        sweep(&place);
        let listed = std::fs::read_dir(place).into_iter().flatten().flatten();
        let named = listed.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own));
        found.extend(named.filter_map(|entry| seen(entry.path(), &is_wanted)));
    }
    let beside = format!(".{PREFIX}-");
    sweep(folder);
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.contains(&beside) {
            // Whatever it says: it may have been moved.
            found.extend(seen(entry.path(), &|_| true));
        }
    }
    Ok(found)
}

/// The runs of `folder` whose processes are gone and whose samples are there still. They are looked at and not locked: what
/// becomes of them is for [`left`].
pub fn killed_in(folder: &Path) -> Vec<Manifest> {
    let Ok(wanted) = folder.canonicalize() else { return Vec::new() };
    let (own, beside) = (prefix(), format!(".{PREFIX}-"));
    let listed = |place: &Path| std::fs::read_dir(place).into_iter().flatten().flatten();
    let named = |entry: &std::fs::DirEntry, word: &str, is_first: bool| {
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_first { name.starts_with(word) } else { name.starts_with('.') && name.contains(word) }
    };
    let in_memory = memory_folders().into_iter().flat_map(|place| listed(&place).collect::<Vec<_>>());
    let in_memory = in_memory.filter(|entry| named(entry, &own, true));
    let places = in_memory.chain(listed(&wanted).filter(|entry| named(entry, &beside, false)));
    let killed = |entry: std::fs::DirEntry| {
        let manifest = LeftFolder::peek(&entry.path()).ok()?;
        let manifest: Manifest = serde_json::from_slice(&manifest).ok()?;
        let is_over = manifest.schema == SCHEMA && !holds(manifest.process, &entry.path());
        (is_over && manifest.is_of(&wanted)).then_some(manifest)
    };
    places.filter_map(killed).collect()
}

fn seen(path: PathBuf, is_wanted: &dyn Fn(&Manifest) -> bool) -> Option<LeftRuns> {
    let peeked = LeftFolder::peek(&path).ok();
    let peeked = peeked.and_then(|manifest| serde_json::from_slice::<Manifest>(&manifest).ok());
    let peeked = peeked.filter(|manifest| manifest.schema == SCHEMA);
    let peeked = match peeked {
        Some(manifest) if !is_wanted(&manifest) => {
            return Some(LeftRuns::Elsewhere(path, Box::new(manifest)));
        }
        other => Box::new(other.unwrap_or_default()),
    };
    let folder = match LeftFolder::look(&path) {
        Ok(Found::Left(folder)) => folder,
        Ok(Found::UnderWay) => return Some(LeftRuns::UnderWay(path, peeked)),
        Ok(Found::Gone) => return None,
        Err(_) if is_in(&memory_folders(), &path) && LeftFolder::remove_rest(&path) => return None,
        Err(error) => return Some(LeftRuns::Strange(path, error.to_string())),
    };
    match serde_json::from_slice::<Manifest>(folder.manifest()) {
        Ok(manifest) if manifest.schema == SCHEMA => {
            is_wanted(&manifest).then(|| LeftRuns::Left(Box::new(LeftRun { folder, manifest })))
        }
        Ok(_) => Some(LeftRuns::Strange(path, "another version of lastrank wrote it".into())),
        Err(error) => Some(LeftRuns::Strange(path, error.to_string())),
    }
}

/// So many other runs are looked at for the words of a message.
const MOST_OTHERS: usize = 32;

/// Other runs of this user on this machine: who made what is in the way of a program. None of them is locked for that.
pub(super) fn others() -> Vec<files::OtherRun> {
    let own = prefix();
    let folders =
        memory_folders().into_iter().flat_map(|place| std::fs::read_dir(place).into_iter().flatten());
    let folders = folders.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&own));
    let other = |folder: std::fs::DirEntry| {
        let folder = LeftFolder::look_unlocked(&folder.path()).ok()?;
        let manifest: Manifest = serde_json::from_slice(folder.manifest()).ok()?;
        if manifest.schema != SCHEMA || manifest.process == std::process::id() {
            return None;
        }
        let what = format!("{}, started {}", manifest.facts.name, manifest.facts.started);
        let directory = manifest.working_directory;
        if holds(manifest.process, folder.path()) {
            return Some(files::OtherRun::under_way(what, directory));
        }
        match manifest.knows_objects {
            Some(true) => return files::OtherRun::killed_with(what, directory, folder.objects().ok()?),
            Some(false) => {}
            // `recover` leaves what it made alone.
            None => return None,
        }
        let ranks = 0..manifest.facts.ranks.min(MOST_RANKS);
        let regions = ranks.map_while(|rank| folder.region(rank).ok());
        let created: Vec<_> = regions.flat_map(|region| files::created(&region)).collect();
        Some(files::OtherRun::killed(what, directory, &created))
    };
    folders.filter_map(other).take(MOST_OTHERS).collect()
}

/// Has this process, which may be another one since, something in the folder open?
fn holds(process: u32, folder: &Path) -> bool {
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    open.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|file| file.starts_with(folder))
}

impl LeftRun {
    /// Did a run of this user on this machine make what was found? A folder in shared memory no archive brings; others
    /// have their witness there.
    pub fn is_ours(&self) -> bool {
        let memory = memory_folders();
        is_in(&memory, self.folder.path()) || memory.iter().any(|folder| self.folder.is_witnessed(folder))
    }

    /// Where its samples lie.
    pub fn place(&self) -> &Path {
        self.folder.path()
    }

    /// Makes a run of what the ranks published.
    pub fn outcome(&self) -> RunOutcome {
        let known = Facts { ranks: self.manifest.facts.ranks.min(MOST_RANKS), ..self.manifest.facts.clone() };
        let ranks = known.ranks;
        let regions: Vec<SampleRegion> = (0..ranks).map_while(|rank| self.folder.region(rank).ok()).collect();
        let ends = regions.iter().map(|region| end_of(region.state())).collect();
        let ended = RankEnds { ends, ..RankEnds::default() };
        let left = collect::Left::in_regions(&regions);
        let options = Options { seed: self.manifest.facts.seed, ..Options::new(ranks) };
        let mut outcome = collect::collect_left(&options, left, ended, known);
        let facts = &mut outcome.run.facts;
        facts.complete = false;
        let mut why = vec!["lastrank itself was killed; the samples were recovered".to_owned()];
        if self.manifest.boot != boot() {
            why.push(
                "the machine was started anew since: samples that were not on the disk are missing".into(),
            );
        }
        if regions.len() < ranks as usize {
            why.push(format!("only {} of {ranks} ranks left samples that can be read", regions.len()));
        }
        let example = |text: &String| JudgementExample { text: text.clone(), ..JudgementExample::default() };
        facts.judgements.get_or_insert_default().add(Judgement {
            kind: JudgementKind::CutShort,
            what: "whoever killed lastrank itself".into(),
            count: 1,
            examples: why.iter().map(example).collect(),
            ..Judgement::default()
        });
        facts.failures.splice(0..0, why);
        outcome
    }

    /// Removes the files that the ranks had created; not on the word of a folder that may have come with other files. Their
    /// samples are to have a file by then. `None`: they made none.
    pub fn clean(&self) -> Option<files::Cleaned> {
        let ranks = 0..self.manifest.facts.ranks.min(MOST_RANKS);
        let regions = ranks.map_while(|rank| self.folder.region(rank).ok());
        let created: Vec<_> = regions.flat_map(|region| files::created(&region)).collect();
        let from = &self.manifest.working_directory;
        (self.manifest.local_files && !created.is_empty()).then(|| {
            let own = self.folder.objects().ok().and_then(files::Ownership::left);
            match (self.is_ours(), self.manifest.knows_objects, &own) {
                (false, ..) => left_alone(from, &created, FROM_ELSEWHERE),
                (true, Some(false), _) => files::clean_in(from, &created, None),
                (true, Some(true), Some(own)) => files::clean_in(from, &created, Some(own)),
                (true, ..) => left_alone(from, &created, UNKNOWN),
            }
        })
    }

    /// Removes what was left: the samples are in their file.
    pub fn remove(self) {
        // Paths of a folder that may have come from elsewhere are not believed.
        if self.is_ours() {
            record::claim::Claim::remove_left(&self.manifest.run_file);
        }
        self.folder.remove(&memory_folders());
    }
}

const FROM_ELSEWHERE: &str =
    "what says that the run made it may have come from elsewhere; remove it yourself";
const UNKNOWN: &str = "whether it is still what the run made is not known; remove it yourself";

/// What is said of files that are not removed: of so many by name.
fn left_alone(directory: &Path, created: &[files::Created], why: &str) -> files::Cleaned {
    const NAMED: usize = 10;
    let left = created.iter().take(NAMED).map(|one| (directory.join(&one.path), why.to_owned()));
    files::Cleaned { left: left.collect(), ..files::Cleaned::default() }
}

fn end_of(state: RecordState) -> RankEnd {
    match state {
        RecordState::Finished => RankEnd::Finished,
        RecordState::Stopped => RankEnd::Left("it stopped".into()),
        RecordState::New | RecordState::Running => RankEnd::Killed(libc::SIGKILL),
    }
}
