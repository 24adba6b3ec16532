//! Run directories: writes the part of one rank, and reads all parts as one run.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use samples::{
    Counted, Facts, Judgement, JudgementExample, JudgementKind, NodeFacts, Run, Sample, Site, histogram,
};

use crate::read::{Sink, facts_of_file, read_file_into};
use crate::write::write;
use crate::{Error, HeldFolder, PrivateFolder};

/// Writes one part of a run (the samples of one rank, say), making the directory where it is missing.
///
/// # Errors
/// As [`PartsFolder::make`] and [`PartsFolder::write`].
pub fn write_part(run_directory: &Path, index: u32, run: &Run) -> Result<(), Error> {
    PartsFolder::make(run_directory)?.write(index, run)
}

/// As [`PartsFolder::remove_others`], of the parts in `run_directory`.
///
/// # Errors
/// As there, and where there is no such directory.
pub fn remove_other_parts(run_directory: &Path, job: &str) -> Result<usize, Error> {
    PartsFolder::open(run_directory)?.map_or(Ok(0), |parts| parts.remove_others(job))
}

/// A directory in which parts of a run are replaced, held open.
///
/// Only what [`crate::facts`] recognises as a run is replaced or removed, under the names `part-NNNNN.parquet`, and empty
/// files of these names, which a machine that lost power leaves.
#[derive(Clone, Debug)]
pub struct PartsFolder(HeldFolder);

impl PartsFolder {
    /// The directory `path`; `None` where nothing has this name.
    ///
    /// # Errors
    /// [`Error::Parts`] where it is a link or no directory; [`Error::Io`].
    pub fn open(path: &Path) -> Result<Option<Self>, Error> {
        match HeldFolder::open(path) {
            Ok(held) => Ok(Some(Self(held))),
            Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
            Err(_) if path.symlink_metadata().is_ok_and(|found| !found.is_dir()) => {
                Err(Error::Parts { path: path.into(), what: "it is a link, or no directory".into() })
            }
            Err(cause) => Err(Error::io("open", path, cause)),
        }
    }

    /// The directory `path`, made where it is missing.
    ///
    /// # Errors
    /// As [`PartsFolder::open`] and mkdir(2).
    pub fn make(path: &Path) -> Result<Self, Error> {
        let io = |cause| Error::io("create", path, cause);
        match std::fs::create_dir(path) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => std::fs::create_dir_all(path).map_err(io)?,
            Err(cause) if cause.kind() != ErrorKind::AlreadyExists => return Err(io(cause)),
            _ => {}
        }
        Self::open(path)?.ok_or_else(|| io(ErrorKind::NotFound.into()))
    }

    /// Is everything in it of runs?
    ///
    /// # Errors
    /// [`Error::Parts`] names what is not.
    pub fn check(&self) -> Result<(), Error> {
        let names = self.0.names().map_err(|cause| Error::io("read", self.0.path(), cause))?;
        names.iter().try_for_each(|name| match name.to_str() {
            Some(name) if is_part_name(name) => self.check_part(name),
            Some(name) if is_unfinished(name) => Ok(()),
            _ => Err(self.foreign(&name.to_string_lossy())),
        })
    }

    /// Does its name still lead to it?
    pub fn has_its_name(&self) -> bool {
        self.0.has_its_name()
    }

    /// Writes the part `index` in it.
    ///
    /// # Errors
    /// As [`crate::write`]; [`Error::Parts`] where something else has the name.
    pub fn write(&self, index: u32, run: &Run) -> Result<(), Error> {
        let name = part_name(index);
        self.check_part(&name)?;
        write(&self.0.inside(name), run)
    }

    /// Removes the parts that are not of the job `job` ([`samples::Facts::job`]): those of an earlier run of the same name.
    /// Returns how many. The directory stays: another rank may be about to write into it.
    ///
    /// # Errors
    /// The directory cannot be listed, or a part not removed.
    pub fn remove_others(&self, job: &str) -> Result<usize, Error> {
        let mut removed = 0;
        for name in self.0.names().map_err(|cause| Error::io("read", self.0.path(), cause))? {
            let Some(name) = name.to_str().filter(|name| is_part_name(name)) else { continue };
            let is_other = self.check_part(name).is_ok() && !is_of(&self.0.inside(name), job);
            removed += usize::from(is_other && self.remove_part(name, job)?);
        }
        Ok(removed)
    }

    /// Removes the directory where nothing is in it; returns whether it is gone.
    pub fn remove_empty(&self) -> bool {
        self.0.remove_empty()
    }

    /// Is this a part of a run, or nothing?
    fn check_part(&self, name: &str) -> Result<(), Error> {
        let path = self.0.inside(name);
        match path.symlink_metadata() {
            Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(()),
            Err(cause) => Err(Error::io("read", &self.0.path().join(name), cause)),
            Ok(found) if found.is_file() && (found.len() == 0 || facts_of_file(&path).is_ok()) => Ok(()),
            // The rank whose part it is may have replaced it, or rank 0 removed it.
            Ok(found) if found.is_file() && !path.exists() => Ok(()),
            Ok(_) => Err(self.foreign(name)),
        }
    }

    fn foreign(&self, name: &str) -> Error {
        Error::Parts { path: self.0.path().into(), what: format!("{name} in it is no part of a run") }
    }

    /// Removes a part that is not of the job; returns whether it did. The rank whose part it is may replace it at any
    /// moment: it is looked at once more in a place that nobody else uses, and put back if it is of the job by now, or of
    /// no run.
    fn remove_part(&self, name: &str, job: &str) -> Result<bool, Error> {
        let io = |cause| Error::io("remove", &self.0.path().join(name), cause);
        let place = PrivateFolder::make(&self.0.inside("."), BESIDE).map_err(io)?;
        let (path, aside) = (self.0.inside(name), place.inside(name));
        match std::fs::rename(&path, &aside) {
            Ok(()) => {}
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(false),
            Err(cause) => return Err(io(cause)),
        }
        let found = aside.symlink_metadata().map_err(io)?;
        let is_empty = found.is_file() && found.len() == 0;
        let is_other = || facts_of_file(&aside).is_ok_and(|facts| facts.job != job);
        if is_empty || (found.is_file() && is_other()) {
            return Ok(true);
        }
        std::fs::rename(&aside, &path).map_err(io)?;
        Ok(false)
    }
}

/// Begins the name of the place where a part is looked at before it is removed.
const BESIDE: &str = ".other-";

/// The name of part `index`: `part-00007.parquet`.
fn part_name(index: u32) -> String {
    format!("part-{index:05}.parquet")
}

fn is_part_name(name: &str) -> bool {
    let index = name.strip_prefix("part-").and_then(|rest| rest.strip_suffix(".parquet"));
    index.and_then(|index| index.parse().ok()).is_some_and(|index| part_name(index) == name)
}

/// What a rank that is killed leaves of the part that it writes or removes, and NFS of a file that is removed while it is open.
fn is_unfinished(name: &str) -> bool {
    let is_partial = |rest: &str| rest.starts_with(".part-") && rest.ends_with(".partial");
    is_partial(name) || name.starts_with(BESIDE) || name.starts_with(".nfs")
}

fn is_of(path: &Path, job: &str) -> bool {
    facts_of_file(path).is_ok_and(|facts| facts.job == job)
}

/// The parts of a directory in the order of their names.
pub(crate) fn part_files(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let io = |cause| Error::io("read", directory, cause);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("part-") && name.ends_with(".parquet") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The ranks of a job ([`Facts::job`], [`Facts::ranks`]) whose parts the directory does not hold, each written in full.
pub fn missing_parts(run_directory: &Path, of: &Facts) -> Vec<u32> {
    let paths = part_files(run_directory).unwrap_or_default();
    let is_there = |path: &&PathBuf| facts_of_file(path).is_ok_and(|facts| facts.job == of.job);
    let there: HashSet<u32> = paths.iter().filter(is_there).filter_map(|path| part_index(path)).collect();
    (0..of.ranks).filter(|rank| !there.contains(rank)).collect()
}

fn part_index(path: &Path) -> Option<u32> {
    path.file_stem()?.to_str()?.strip_prefix("part-")?.parse().ok()
}

/// Whether the directory holds parts of a run.
pub fn has_parts(directory: &Path) -> bool {
    part_files(directory).is_ok_and(|parts| !parts.is_empty())
}

/// Takes samples a piece at a time.
type EachPiece<'a> = &'a mut dyn FnMut(&[Sample]);

/// Reads all parts in the order of their names as one run.
///
/// Facts are those of the first part; `complete` holds only if it does in every part and none is missing,
/// failures and warnings are gathered, and the same site in several parts becomes one.
///
/// With `each` the samples go there, a piece at a time, and the run is left without.
pub(crate) fn read(directory: &Path, each: Option<EachPiece<'_>>) -> Result<Run, Error> {
    read_by(directory, each, &|path, sink| read_file_into(path, sink))
}

/// Reads one part.
pub(crate) type ReadPart<'a> = &'a dyn Fn(&Path, Option<Sink<'_>>) -> Result<Run, Error>;

/// The same where `one` reads each part.
pub(crate) fn read_by(
    directory: &Path,
    mut each: Option<EachPiece<'_>>,
    one: ReadPart<'_>,
) -> Result<Run, Error> {
    let wrong = |what: String| Error::Parts { path: directory.into(), what };
    let paths = part_files(directory)?;
    let Some((first, rest)) = paths.split_first() else {
        return Err(wrong("the directory holds no `part-*.parquet`".into()));
    };
    let mut run = match &mut each {
        Some(each) => one(first, Some(&mut |_, samples| each(samples)))?,
        None => one(first, None)?,
    };
    let mut known: HashMap<Site, u32> =
        (0u32..).zip(&run.sites).map(|(index, site)| (site.clone(), index)).collect();
    let mut ranks: HashSet<u32> = run.facts.spans.iter().map(|span| span.rank).collect();
    for path in rest {
        let mut mapping = None;
        let mut in_common = |sites: &[Site], samples: &mut [Sample]| {
            let mapping = mapping.get_or_insert_with(|| mapped(sites, &mut known, &mut run.sites));
            samples.iter_mut().for_each(|sample| sample.site = mapping[sample.site as usize]);
        };
        let mut part = match &mut each {
            Some(each) => {
                let mut sink = |sites: &[Site], samples: &mut [Sample]| {
                    in_common(sites, samples);
                    each(samples);
                };
                one(path, Some(&mut sink))?
            }
            None => one(path, None)?,
        };
        in_common(&part.sites, &mut part.samples);
        let mapping = mapping.unwrap_or_default();
        let same = part.facts.program == run.facts.program
            && part.facts.parameters == run.facts.parameters
            && part.facts.seed == run.facts.seed
            && part.facts.ranks == run.facts.ranks
            && part.facts.job == run.facts.job;
        if !same {
            return Err(wrong(format!(
                "{} and {} are parts of different runs (program, parameters, seed, ranks or job differ); move \
                 those of the earlier one away",
                first.display(),
                path.display()
            )));
        }
        if let Some(rank) = part.facts.spans.iter().map(|span| span.rank).find(|rank| !ranks.insert(*rank)) {
            let path = path.display();
            return Err(wrong(format!(
                "{path} holds rank {rank}, as a part before it does: move the copy away"
            )));
        }
        run.samples.append(&mut part.samples);
        let in_common = |counted: Counted| {
            let site = *mapping.get(counted.site as usize)?;
            Some(Counted { site, ..counted })
        };
        let counted = part.facts.counted.into_iter().filter_map(in_common).collect();
        histogram::join(&mut run.facts.counted, counted);
        if let (Some(all), Some(own)) = (&mut run.facts.judgements, part.facts.judgements) {
            all.add_part(own, &|site| mapping.get(site as usize).copied());
        }
        if let Some(own) = part.facts.verified {
            run.facts.verified.get_or_insert_default().add(own);
        }
        run.facts.complete &= part.facts.complete;
        run.facts.spans.extend(part.facts.spans);
        run.facts.elapsed_s = run.facts.elapsed_s.max(part.facts.elapsed_s);
        for failure in part.facts.failures {
            if !run.facts.failures.contains(&failure) {
                run.facts.failures.push(failure);
            }
        }
        for warning in part.facts.warnings {
            if !run.facts.warnings.contains(&warning) {
                run.facts.warnings.push(warning);
            }
        }
    }
    // Of one failure, keep the words of the rank that it happened to: they extend those of the other ranks.
    let told = std::mem::take(&mut run.facts.failures);
    let says_more = |less: &String| told.iter().any(|more| more != less && more.starts_with(less.as_str()));
    run.facts.failures = told.iter().filter(|failure| !says_more(failure)).cloned().collect();
    histogram::keep_slowest(&mut run.samples, &run.facts.counted);
    if let Some((missing, count)) = missing(&paths, run.facts.ranks, &run.facts.nodes) {
        run.facts.complete = false;
        let example = JudgementExample { text: missing.clone(), ..JudgementExample::default() };
        // Parts of an earlier version are judged by their samples.
        if let Some(found) = &mut run.facts.judgements {
            // How many operations the missing ranks were to do is not known.
            found.progress = found.progress.filter(|found| found.unit == samples::ProgressUnit::Steps);
            let (kind, examples) = (JudgementKind::RankLost, vec![example]);
            found.add_first(Judgement { kind, count, examples, ..Judgement::default() });
        }
        run.facts.failures.insert(0, missing);
    }
    Ok(run)
}

/// The number in `all` of each of the sites of a part; new ones are added to it.
fn mapped(sites: &[Site], known: &mut HashMap<Site, u32>, all: &mut Vec<Site>) -> Vec<u32> {
    let one = |site: &Site| {
        *known.entry(site.clone()).or_insert_with(|| {
            all.push(site.clone());
            all.len() as u32 - 1
        })
    };
    sites.iter().map(one).collect()
}

/// Whether these are nodes of so many ranks, whatever a file says.
fn are_of(nodes: &[NodeFacts], ranks: u32) -> bool {
    const MOST: u32 = 1 << 24;
    let mut left = if ranks <= MOST { ranks } else { 0 };
    let ranges = nodes.iter().flat_map(|node| &node.ranks);
    nodes.len() > 1
        && ranges.into_iter().all(|[first, last]| match last.checked_sub(*first) {
            Some(more) if *last < ranks && more < left => {
                left -= more + 1;
                true
            }
            _ => false,
        })
}

/// Names the ranks whose parts are missing; the slowest rank of a step may be one of them.
fn missing(paths: &[PathBuf], ranks: u32, nodes: &[NodeFacts]) -> Option<(String, u64)> {
    let there: HashSet<u32> =
        paths.iter().filter_map(|path| part_index(path)).filter(|rank| *rank < ranks).collect();
    // As many ranks as a file says: no list of them.
    let missing = ranks as usize - there.len();
    let silent = || (0..ranks).filter(|rank| !there.contains(rank));
    let shown: Vec<String> = silent().take(5).map(|rank| rank.to_string()).collect();
    let more = if missing > shown.len() { " and others" } else { "" };
    let told = format!("{missing} of {ranks} parts are missing: of rank {}{more}", shown.join(", "));
    let of_nodes = if missing > 0 && are_of(nodes, ranks) {
        samples::who_answered(nodes, &silent().collect::<Vec<_>>())
    } else {
        None
    };
    let told = of_nodes.map_or(told.clone(), |nodes| format!("{nodes} ({told})"));
    (missing > 0).then_some((told, missing as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_however_many_ranks_the_first_that_are_missing_are_named() {
        let paths = [0, 2, 7].map(|rank| Path::new("r.parts").join(part_name(rank)));
        let said = "4294967293 of 4294967295 parts are missing: of rank 1, 3, 4, 5, 6 and others";
        let told = |paths: &[PathBuf], ranks: u32| missing(paths, ranks, &[]).map(|(told, _)| told);
        assert_eq!(told(&paths[..2], u32::MAX).as_deref(), Some(said));
        assert_eq!(told(&paths, 3).as_deref(), Some("1 of 3 parts are missing: of rank 1"));
        assert_eq!(told(&paths[..1], 1), None);
    }

    #[test]
    fn a_part_that_its_rank_replaces_before_it_is_removed_stays() {
        let folder = tempfile::tempdir().expect("a directory");
        let mut run = samples::example::parallel_write(2, 3, 1);
        for job in ["earlier", "this"] {
            run.facts.job = job.into();
            write_part(folder.path(), 1, &run).expect("written");
        }
        let parts = PartsFolder::open(folder.path()).expect("there").expect("a directory");
        let part = "part-00001.parquet";
        // What `remove_others` does when it saw the earlier one there.
        assert!(!parts.remove_part(part, "this").expect("a look"));
        assert!(is_of(&folder.path().join(part), "this"));
        assert!(parts.remove_part(part, "another").expect("a look"));
        assert!(!parts.remove_part(part, "another").expect("nothing there"));
        assert_eq!(std::fs::read_dir(folder.path()).expect("a directory").count(), 0);
    }

    /// What a user may have in a directory of the name that a run would take for its parts.
    const OF_A_USER: [&str; 4] =
        ["part-00001-abc.snappy.parquet", "part-1.parquet", "part-00002.parquet", "notes.txt"];

    #[test]
    fn what_is_no_part_of_a_run_is_told_and_never_replaced_or_removed() {
        let run = samples::example::parallel_write(2, 3, 1);
        for name in OF_A_USER {
            let folder = tempfile::tempdir().expect("a directory");
            write_part(folder.path(), 1, &run).expect("written");
            let parts = PartsFolder::open(folder.path()).expect("there").expect("a directory");
            parts.check().expect("parts of a run");
            let of_user = folder.path().join(name);
            std::fs::write(&of_user, "PAR1 of another tool PAR1").expect("a file");
            let said = parts.check().expect_err(name).to_string();
            assert!(said.contains(name), "{said}");
            assert_eq!(parts.remove_others("another").expect("a look"), 1);
            assert!(parts.write(2, &run).is_err() == (name == "part-00002.parquet"), "{name}");
            assert_eq!(std::fs::read(&of_user).expect("there"), b"PAR1 of another tool PAR1");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_no_parts() {
        use std::os::unix::fs::symlink;
        let run = samples::example::parallel_write(2, 3, 1);
        let home = tempfile::tempdir().expect("a directory");
        let (results, link) = (home.path().join("results.parts"), home.path().join("r.parts"));
        write_part(&results, 0, &run).expect("written");
        symlink(&results, &link).expect("a link");
        assert!(PartsFolder::open(&link).is_err() && write_part(&link, 0, &run).is_err());
        assert!(remove_other_parts(&link, "another").is_err() && results.join("part-00000.parquet").exists());
        let own = home.path().join("own.parts");
        std::fs::create_dir(&own).expect("mkdir");
        symlink(results.join("part-00000.parquet"), own.join("part-00000.parquet")).expect("a link");
        let parts = PartsFolder::open(&own).expect("there").expect("a directory");
        assert!(parts.check().is_err() && parts.write(0, &run).is_err());
        assert_eq!(parts.remove_others("another").expect("a look"), 0);
    }

    #[test]
    fn what_a_killed_rank_leaves_is_no_hindrance() {
        let folder = tempfile::tempdir().expect("a directory");
        for name in [".part-00000.parquet.a1b2c3.partial", ".nfs0000001", "part-00000.parquet"] {
            std::fs::write(folder.path().join(name), "").expect("a file");
        }
        let parts = PartsFolder::make(folder.path()).expect("there");
        parts.check().expect("of runs");
        assert_eq!(parts.remove_others("this").expect("a look"), 1);
    }
}
