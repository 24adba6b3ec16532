//! Run directories: writes the part of one rank, and reads all parts as one run.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use samples::{Counted, Judgement, JudgementExample, JudgementKind, Run, Sample, Site, histogram};

use crate::Error;
use crate::read::{facts_of_file, read_file_into};
use crate::write::write;

/// The name of part `index` in the run directory `run`: `run/part-00007.parquet`.
fn part_path(run: &Path, index: u32) -> PathBuf {
    run.join(format!("part-{index:05}.parquet"))
}

/// Writes one part of a run (the samples of one rank, say), making the directory where it is missing.
///
/// # Errors
/// As [`crate::write`].
pub fn write_part(run_directory: &Path, index: u32, run: &Run) -> Result<(), Error> {
    std::fs::create_dir_all(run_directory).map_err(|cause| Error::io("create", run_directory, cause))?;
    write(&part_path(run_directory, index), run)
}

/// Removes the parts in `run_directory` that are not of the job `job` ([`samples::Facts::job`]), or cannot be
/// read: those of an earlier run of the same name. Returns how many. The directory stays: another rank may be
/// about to write into it.
///
/// # Errors
/// The directory cannot be listed, or a part not removed.
pub fn remove_other_parts(run_directory: &Path, job: &str) -> Result<usize, Error> {
    let mut removed = 0;
    for path in part_files(run_directory)? {
        removed += usize::from(!is_of(&path, job) && remove_part(&path, job)?);
    }
    Ok(removed)
}

fn is_of(path: &Path, job: &str) -> bool {
    facts_of_file(path).is_ok_and(|facts| facts.job == job)
}

/// Removes a part that is not of the job; returns whether it did. The rank whose part it is may replace it at any
/// moment: it is looked at once more under a name that nobody else uses, and put back if it is of the job by now.
fn remove_part(path: &Path, job: &str) -> Result<bool, Error> {
    let io = |cause| Error::io("remove", path, cause);
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".other-{}", std::process::id()));
    let aside = PathBuf::from(aside);
    match std::fs::rename(path, &aside) {
        Ok(()) => {}
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(cause) => return Err(io(cause)),
    }
    if is_of(&aside, job) {
        std::fs::rename(&aside, path).map_err(io)?;
        return Ok(false);
    }
    std::fs::remove_file(&aside).map_err(io)?;
    Ok(true)
}

/// The parts of a directory in the order of their names.
fn part_files(directory: &Path) -> Result<Vec<PathBuf>, Error> {
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

/// How many parts of the job `job` ([`samples::Facts::job`]) the directory holds, each written in full.
pub fn parts_of(run_directory: &Path, job: &str) -> usize {
    let paths = part_files(run_directory).unwrap_or_default();
    paths.iter().filter(|path| facts_of_file(path).is_ok_and(|facts| facts.job == job)).count()
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
pub(crate) fn read(directory: &Path, mut each: Option<EachPiece<'_>>) -> Result<Run, Error> {
    let wrong = |what: String| Error::Parts { path: directory.into(), what };
    let paths = part_files(directory)?;
    let Some((first, rest)) = paths.split_first() else {
        return Err(wrong("the directory holds no `part-*.parquet`".into()));
    };
    let mut run = match &mut each {
        Some(each) => read_file_into(first, Some(&mut |_, samples| each(samples)))?,
        None => read_file_into(first, None)?,
    };
    let mut known: HashMap<Site, u32> =
        (0u32..).zip(&run.sites).map(|(index, site)| (site.clone(), index)).collect();
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
                read_file_into(path, Some(&mut sink))?
            }
            None => read_file_into(path, None)?,
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
        run.samples.append(&mut part.samples);
        for counted in part.facts.counted {
            let Some(site) = mapping.get(counted.site as usize).copied() else { continue };
            histogram::join(&mut run.facts.counted, Counted { site, ..counted });
        }
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
    if let Some(missing) = missing(&paths, run.facts.ranks) {
        run.facts.complete = false;
        let example = JudgementExample { text: missing.clone(), ..JudgementExample::default() };
        // Parts of an earlier version are judged by their samples.
        if let Some(found) = &mut run.facts.judgements {
            // How many operations the missing ranks were to do is not known.
            found.progress = found.progress.filter(|found| found.unit == samples::ProgressUnit::Steps);
            let (kind, examples) = (JudgementKind::RankLost, vec![example]);
            found.add(Judgement { kind, count: 1, examples, ..Judgement::default() });
        }
        run.facts.failures.push(missing);
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

/// Names the ranks whose parts are missing; the slowest rank of a step may be one of them.
fn missing(paths: &[PathBuf], ranks: u32) -> Option<String> {
    let index = |path: &PathBuf| path.file_stem()?.to_str()?.strip_prefix("part-")?.parse::<u32>().ok();
    let there: HashSet<u32> = paths.iter().filter_map(index).filter(|rank| *rank < ranks).collect();
    // As many ranks as a file says: no list of them.
    let missing = ranks as usize - there.len();
    let shown: Vec<String> =
        (0..ranks).filter(|rank| !there.contains(rank)).take(5).map(|rank| rank.to_string()).collect();
    let more = if missing > shown.len() { " and others" } else { "" };
    (missing > 0)
        .then(|| format!("{missing} of {ranks} parts are missing: of rank {}{more}", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_however_many_ranks_the_first_that_are_missing_are_named() {
        let paths = [0, 2, 7].map(|rank| part_path(Path::new("r.parts"), rank));
        let said = "4294967293 of 4294967295 parts are missing: of rank 1, 3, 4, 5, 6 and others";
        assert_eq!(missing(&paths[..2], u32::MAX).as_deref(), Some(said));
        assert_eq!(missing(&paths, 3).as_deref(), Some("1 of 3 parts are missing: of rank 1"));
        assert_eq!(missing(&paths[..1], 1), None);
    }

    #[test]
    fn a_part_that_its_rank_replaces_before_it_is_removed_stays() {
        let folder = tempfile::tempdir().expect("a directory");
        let mut run = samples::example::parallel_write(2, 3, 1);
        for job in ["earlier", "this"] {
            run.facts.job = job.into();
            write_part(folder.path(), 1, &run).expect("written");
        }
        let part = part_path(folder.path(), 1);
        // What `remove_other_parts` does when it saw the earlier one there.
        assert!(!remove_part(&part, "this").expect("a look"));
        assert!(is_of(&part, "this"));
        assert!(remove_part(&part, "another").expect("a look"));
        assert!(!remove_part(&part, "another").expect("nothing there"));
        assert_eq!(std::fs::read_dir(folder.path()).expect("a directory").count(), 0);
    }
}
