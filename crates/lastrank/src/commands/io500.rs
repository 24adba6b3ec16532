//! `lastrank io500`: the twelve phases of IO500 by its configuration, with its scores.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail};
use engine::mpi::{Surroundings, surroundings};
use results::{Columns, ResultRow};
use samples::{Facts, JudgementKind, Sample, Site, SiteKind, units};
use workloads::io500::{Config, Found, Measured, Outcome, Phase};

use crate::asked::explained;
use crate::cli::Io500Args;
use crate::commands::run;
use crate::exit::Status;
use crate::experiments;
use crate::output;

/// The longest configuration.
const MOST_BYTES: u64 = 1 << 20;

/// Where a run works and where its results go.
struct Places {
    data: PathBuf,
    results: PathBuf,
    /// Directories for the data that this run makes, the innermost first.
    made: Vec<PathBuf>,
}

/// Runs the phases, then writes and prints what came of them.
pub fn run(mut args: Io500Args) -> anyhow::Result<Status> {
    let (path, text) = text_of(&args)?;
    let config = Config::read(&text).with_context(|| format!("{} cannot be carried out", path.display()))?;
    if let Some(set) = args.run.set.first() {
        bail!(
            "--set {set}: the configuration sets the parameters; write it there, or run the program alone (`lastrank run io500`)"
        );
    }
    let program = experiments::text("io500").context("the program `io500` is missing in this build")?;
    let job = match surroundings(&run::choice(args.run.mpi.as_deref()))? {
        Surroundings::Alone => None,
        Surroundings::Job(job) => Some(job),
    };
    let speaks = job.as_ref().is_none_or(|job| job.rank() == 0);
    let places = match places(&config, args.timestamp.as_deref(), job.is_some()) {
        Ok(places) => places,
        Err(_) if !speaks => return Ok(Status::Usage),
        Err(why) => return Err(why),
    };
    let only_told = args.run.dry_run;
    if !only_told {
        make(&places)?;
    }
    let of_node = job.as_ref().and_then(|_| ranks::launcher::local_ranks()).unwrap_or(0);
    let data = places.data.to_str().with_context(|| format!("{} is no UTF-8 name", places.data.display()))?;
    args.run.set.splice(..0, config.parameters(if only_told { "." } else { data }, of_node.into()));
    args.run.allow.push(places.data.clone());
    args.run.clean = true;
    // One rank may wear out for long while others wait for it.
    args.run.timeout = args.run.timeout.max(config.stonewall_seconds.saturating_mul(20));
    let kept = args.run.output.get_or_insert_with(|| places.results.join("io500.parquet")).clone();
    let prints = !args.run.json;
    let ended = run::run_made("io500", program.to_owned(), args.run);
    if only_told || !speaks {
        return ended;
    }
    for directory in &places.made {
        // What still holds something stays.
        _ = fs::remove_dir(directory);
    }
    let status = ended?;
    if matches!(status, Status::Usage) {
        return Ok(status);
    }
    deliver((&config, &text), &places.results, &kept, prints)?;
    Ok(status)
}

fn text_of(args: &Io500Args) -> anyhow::Result<(&Path, String)> {
    let path = match (&args.config, &args.file) {
        (Some(path), None) | (None, Some(path)) => path,
        (Some(_), Some(_)) => bail!("both --config and {:?} name a configuration: leave one out", args.file),
        (None, None) => bail!("name a configuration of IO500: `lastrank io500 --config config.ini`"),
    };
    let length = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
    if length > MOST_BYTES {
        bail!("{} is longer than {}; is this a configuration?", path.display(), units::bytes(MOST_BYTES));
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok((path, text))
}

/// The directories of a run. Under a launcher each rank is a process of its own, and all have to choose the same names.
fn places(config: &Config, timestamp: Option<&str>, in_job: bool) -> anyhow::Result<Places> {
    if let Some(stamp) = timestamp
        && (stamp.is_empty() || stamp.contains('/') || stamp.starts_with('.'))
    {
        bail!("--timestamp {stamp:?} is no name of a directory");
    }
    if in_job && timestamp.is_none() && (config.stamps_data || config.stamps_results) {
        bail!(
            "timestamp-datadir and timestamp-resultdir are TRUE, and each rank of the launcher would take a time of its own: give \
             them one name, --timestamp $(date +%Y.%m.%d-%H.%M.%S), or write FALSE in [global]"
        );
    }
    let stamp = timestamp.map_or_else(now, str::to_owned);
    let below = |directory: &str, stamped: bool| {
        if stamped { Path::new(directory).join(&stamp) } else { PathBuf::from(directory) }
    };
    let data = below(&config.data_directory, config.stamps_data);
    // Under a launcher any rank may have been the first: only the directory with the time is known to be of this run.
    let of_this_run = usize::from(config.stamps_data);
    let made = data.ancestors().take_while(|one| !one.as_os_str().is_empty() && (in_job || !one.exists()));
    let made = made.take(if in_job { of_this_run } else { usize::MAX }).map(Path::to_path_buf).collect();
    Ok(Places { data, results: below(&config.result_directory, config.stamps_results), made })
}

/// The time as IO500 names directories, in UTC: `2026.11.26-16.30.00`.
fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let utc = units::utc(seconds);
    utc.trim_end_matches('Z').replace(['-', ':'], ".").replace('T', "-")
}

fn make(places: &Places) -> anyhow::Result<()> {
    for (key, directory) in [("datadir", &places.data), ("resultdir", &places.results)] {
        let told = || format!("[global] {key}: cannot make {}", directory.display());
        fs::create_dir_all(directory).with_context(told)?;
    }
    Ok(())
}

/// What is read of a run, a piece at a time.
#[derive(Default)]
struct Read {
    columns: Columns,
    /// Begin and end of the samples of each rank and site, as its own clock has them. Of phases there is one, and their barriers
    /// are few; of sites with more there is none.
    few: HashMap<(u32, u32), Vec<(u64, u64)>>,
}

/// A run without its samples.
struct RunRead {
    rows: Vec<ResultRow>,
    facts: Facts,
    /// The labels of phases with how long each of them lasted, in seconds.
    phases: Vec<(String, f64)>,
}

impl Read {
    /// More samples of a site than a phase and its barriers have.
    const MANY: usize = 4;

    fn take(&mut self, samples: &[Sample]) {
        self.columns.push(samples);
        for sample in samples {
            let of_site = self.few.entry((sample.site, sample.rank)).or_default();
            if of_site.len() < Self::MANY {
                of_site.push((sample.start_ns, sample.start_ns + sample.duration_ps / 1000));
            }
        }
    }

    /// How long a phase lasted: the longest time of a rank from its begin to when it had met the others behind it. No clock is
    /// compared with another one.
    fn seconds(&self, phase: usize, sites: &[Site]) -> Option<f64> {
        let of_kind = |kind: SiteKind| (0..sites.len()).filter(move |at| sites[*at].kind == kind);
        let spans = |site: usize, rank: u32| self.few.get(&(site as u32, rank)).into_iter().flatten();
        let ranks = self.few.keys().filter(|(site, _)| *site as usize == phase).map(|(_, rank)| *rank);
        let lasted = ranks.map(|rank| {
            let (begin, end) = *spans(phase, rank).next()?;
            let waits = of_kind(SiteKind::Barrier).flat_map(|site| spans(site, rank));
            let behind = waits.filter(|wait| wait.0 >= end).min()?;
            Some(behind.1.saturating_sub(begin))
        });
        let longest = lasted.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
        Some(longest as f64 / 1e9)
    }
}

/// Reads a run.
fn read(kept: &Path) -> anyhow::Result<RunRead> {
    let mut read = Read::default();
    let run = store::scan(kept, &mut |samples| read.take(samples))
        .map_err(|error| anyhow!(explained(error, kept)))?;
    let phases = run.sites.iter().enumerate().filter(|(_, site)| site.kind == SiteKind::Phase);
    let phases =
        phases.filter_map(|(at, site)| Some((site.labels.last()?.clone(), read.seconds(at, &run.sites)?)));
    let phases = phases.collect();
    Ok(RunRead { rows: results::of_columns(read.columns, &run.facts, &run.sites), facts: run.facts, phases })
}

/// Writes what came of a run beside its samples, and prints the scores.
fn deliver(
    (config, text): (&Config, &str),
    directory: &Path,
    kept: &Path,
    prints: bool,
) -> anyhow::Result<()> {
    // A large run, or one that broke off, is in parts.
    let parts = kept.with_extension("parts");
    let newest = |path: &PathBuf| fs::metadata(path).and_then(|found| found.modified()).ok();
    let found = [kept.to_path_buf(), parts].into_iter().filter(|path| path.exists()).max_by_key(newest);
    let kept = found.with_context(|| format!("the run left no samples in {}", kept.display()))?;
    let run = read(&kept)?;
    let outcome = outcome(config, &run);
    let version = env!("CARGO_PKG_VERSION");
    let head = [
        ("version", format!("lastrank {version}")),
        ("procs", run.facts.ranks.to_string()),
        ("started", run.facts.started.clone()),
        ("result-dir", directory.display().to_string()),
        ("samples", kept.display().to_string()),
        ("mode", "standard".to_owned()),
    ];
    let summary = outcome.summary(version);
    let sections = outcome.sections(&head);
    for (name, text) in
        [("result_summary.txt", &*summary), ("result.txt", &*sections), ("config-orig.ini", text)]
    {
        let path = directory.join(name);
        store::replace(&path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if prints {
        // Lines that scripts read stay whole.
        let (lines, words) = summary.split_once("\n\n").unwrap_or((&summary, ""));
        output::print_whole(&format!("\n{lines}\n\n"))?;
        output::print(&format!("{words}\nResults: {}\n", directory.display()))?;
    }
    Ok(())
}

/// What the phases did: times, bytes and files of a run.
fn outcome<'a>(config: &'a Config, RunRead { rows, facts, phases }: &RunRead) -> Outcome<'a> {
    let done = |phase: Phase| {
        let of_phase = |row: &&ResultRow| {
            let label = row.labels.first().map(String::as_str);
            row.kind == SiteKind::Operation
                && label == Some(phase.name())
                && row.operation == phase.operation()
        };
        let rows = rows.iter().filter(of_phase);
        rows.fold((0, 0), |(operations, bytes), row| {
            (operations + row.operations.unwrap_or(0), bytes + row.bytes)
        })
    };
    let seconds =
        |phase: Phase| phases.iter().find(|(label, _)| label == phase.name()).map(|(_, seconds)| *seconds);
    // The search goes over all files: those of mdtest, and those of IOR, of which the easy one may be one a rank.
    let ior_files = |phase: Phase, own: bool| match done(phase).0 {
        0 => 0,
        _ if own => u64::from(facts.ranks),
        _ => 1,
    };
    let all_files = done(Phase::MdtestEasyWrite).0
        + done(Phase::MdtestHardWrite).0
        + ior_files(Phase::IorEasyWrite, config.easy_own)
        + ior_files(Phase::IorHardWrite, false);
    let amount = |phase: Phase| match phase {
        Phase::IorEasyWrite | Phase::IorHardWrite | Phase::IorEasyRead | Phase::IorHardRead => done(phase).1,
        Phase::Find => all_files,
        _ => done(phase).0,
    };
    let measured = Phase::ALL
        .into_iter()
        .filter_map(|phase| Some(Measured { phase, amount: amount(phase), seconds: seconds(phase)? }));
    let found_by = rows.iter().filter(|row| row.labels == [Phase::Find.name()] && row.operation == "stat");
    let files = found_by.map(|row| row.operations.unwrap_or(0)).sum();
    let is_error = |kind: JudgementKind| kind.is_of_operations() || kind == JudgementKind::AssertionFailed;
    let errors = facts.judgements.iter().flat_map(|all| &all.found).filter(|one| is_error(one.kind));
    let errors = errors.map(|one| one.count).sum();
    Outcome { config, measured: measured.collect(), found: Found { complete: facts.complete, errors, files } }
}
