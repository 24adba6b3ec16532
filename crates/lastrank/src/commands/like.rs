//! `--like ior`, `--like mdtest`: the results of a run once more, in the lines of these tools.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use engine::mpi::{Surroundings, surroundings};
use samples::{Sample, Site, SiteKind};
use workloads::like::{PhaseOnce, PhaseRuns};

use crate::asked::explained;
use crate::cli::RunOptions;
use crate::commands::run;
use crate::output;

/// Where the run is kept whose results are told, and whether this process tells them.
pub struct LinesOf {
    kept: PathBuf,
    speaks: bool,
}

impl LinesOf {
    /// Gives the run a name where it has none.
    ///
    /// # Errors
    /// Ranks of a launcher need one name; a document is no place for lines.
    pub fn of(name: &str, options: &mut RunOptions) -> anyhow::Result<Self> {
        if options.json {
            bail!("--like prints lines, and --json a document: leave one of them out");
        }
        let job = match surroundings(&run::choice(options.mpi.as_deref()))? {
            Surroundings::Alone => None,
            Surroundings::Job(job) => Some(job),
        };
        if job.is_some() && options.output.is_none() {
            bail!(
                "--like reads the run when it is over, and ranks of a launcher need one name for it: give --output FILE"
            );
        }
        let own = || PathBuf::from(format!("{name}-{}.parquet", std::process::id()));
        let kept = options.output.get_or_insert_with(own).clone();
        Ok(Self { kept, speaks: job.is_none_or(|job| job.rank() == 0) })
    }

    /// Prints what `lines` makes of the phases.
    ///
    /// # Errors
    /// A run that cannot be read.
    pub fn print(&self, lines: impl FnOnce(&[PhaseRuns], u64) -> String) -> anyhow::Result<()> {
        if !self.speaks || !self.kept.exists() {
            return Ok(());
        }
        let within = || format!("--like: {}", self.kept.display());
        let (phases, ranks) = phases(&self.kept).with_context(within)?;
        let Some(phases) = phases else {
            // A script that reads the lines would take them for the rates of what was asked.
            eprintln!("note: --like prints no lines of a run that did not go well: {}", self.kept.display());
            return Ok(());
        };
        output::print_whole(&lines(&phases, ranks)).map_err(Into::into)
    }
}

/// What one rank did of one operation in one execution of a phase.
#[derive(Clone, Copy, Debug, Default)]
struct OperationSum {
    count: u64,
    bytes: u64,
    picoseconds: u64,
    first_ns: u64,
    last_ns: u64,
}

impl OperationSum {
    fn add(&mut self, sample: &Sample) {
        if self.count == 0 {
            self.first_ns = sample.start_ns;
        }
        self.count += u64::from(sample.batch);
        self.bytes += sample.bytes;
        self.picoseconds += sample.duration_ps;
        self.first_ns = self.first_ns.min(sample.start_ns);
        self.last_ns = self.last_ns.max(sample.start_ns + sample.duration_ps / 1000);
    }

    fn seconds(&self) -> f64 {
        self.last_ns.saturating_sub(self.first_ns) as f64 / 1e9
    }
}

/// Executions of a phase on a rank, as begin and end on its own clock.
type Spans = Vec<(u64, u64)>;

/// The phases of a run, each with its executions, and its ranks; no phases of a run that did not go well.
fn phases(kept: &Path) -> anyhow::Result<(Option<Vec<PhaseRuns>>, u64)> {
    let scan = |each: &mut dyn FnMut(&[Sample])| {
        store::scan(kept, each).map_err(|error| anyhow!(explained(error, kept)))
    };
    let run = scan(&mut |_| {})?;
    let (sites, ranks) = (run.sites, u64::from(run.facts.ranks));
    let is_well = run.facts.judgements.as_ref().is_none_or(|found| found.status() != 3);
    if !run.facts.complete || !is_well {
        return Ok((None, ranks));
    }
    let is_phase = |site: &Site| site.kind == SiteKind::Phase && site.labels.len() == 1;
    let mut names: Vec<&str> = Vec::new();
    for site in sites.iter().filter(|site| is_phase(site)) {
        if !names.contains(&&*site.labels[0]) {
            names.push(&site.labels[0]);
        }
    }
    let phase_of: Vec<Option<usize>> = sites
        .iter()
        .map(|site| site.labels.first().and_then(|label| names.iter().position(|name| name == label)))
        .collect();
    let mut spans: HashMap<(usize, u32), Spans> = HashMap::new();
    scan(&mut |samples| {
        for sample in samples.iter().filter(|sample| is_phase(&sites[sample.site as usize])) {
            let Some(phase) = phase_of[sample.site as usize] else { continue };
            let end = sample.start_ns + sample.duration_ps / 1000;
            spans.entry((phase, sample.rank)).or_default().push((sample.start_ns, end));
        }
    })?;
    spans.values_mut().for_each(|of_rank| of_rank.sort_unstable());
    // By phase, execution, operation and rank.
    let mut sums: BTreeMap<(usize, usize, &str, u32), OperationSum> = BTreeMap::new();
    scan(&mut |samples| {
        for sample in samples {
            let site = &sites[sample.site as usize];
            let (Some(phase), true) = (phase_of[sample.site as usize], site.kind == SiteKind::Operation)
            else {
                continue;
            };
            let Some(of_rank) = spans.get(&(phase, sample.rank)) else { continue };
            let time = of_rank.partition_point(|(begin, _)| *begin <= sample.start_ns);
            if time > 0 && sample.errno == 0 {
                sums.entry((phase, time - 1, &site.operation, sample.rank)).or_default().add(sample);
            }
        }
    })?;
    let one = |phase: usize, time: usize| {
        let of_time: Vec<_> =
            sums.iter().filter(|((at, when, ..), _)| (*at, *when) == (phase, time)).collect();
        let lasted = spans.iter().filter(|((at, _), _)| *at == phase);
        let lasted = lasted.filter_map(|(_, of_rank)| of_rank.get(time).map(|(begin, end)| end - begin));
        once(&of_time.iter().map(|((_, _, name, _), sum)| (*name, **sum)).collect::<Vec<_>>(), lasted.max())
    };
    let times = |phase: usize| {
        let of_phase = spans.iter().filter(|((at, _), _)| *at == phase);
        of_phase.map(|(_, of_rank)| of_rank.len()).max().unwrap_or(0)
    };
    let all = names.iter().enumerate().map(|(phase, name)| PhaseRuns {
        name: (*name).to_owned(),
        times: (0..times(phase)).map(|time| one(phase, time)).collect(),
    });
    // What moved nothing has no rate.
    let did = |phase: &PhaseRuns| phase.times.iter().any(|one| one.operations > 0);
    Ok((Some(all.filter(did).collect()), ranks))
}

/// One execution of a phase, of what each rank did of each operation.
fn once(sums: &[(&str, OperationSum)], longest_ns: Option<u64>) -> PhaseOnce {
    let moves = |name: &str| matches!(name, "fwrite" | "fread" | "pfwrite" | "pfread");
    let slowest = |wanted: &[&str]| {
        let found = sums.iter().filter(|(name, _)| wanted.contains(name));
        found.map(|(_, sum)| sum.seconds()).fold(0.0, f64::max)
    };
    let moved: Vec<&OperationSum> = sums.iter().filter(|(name, _)| moves(name)).map(|(_, sum)| sum).collect();
    let transfers: u64 = moved.iter().map(|sum| sum.count).sum();
    let lasted: u64 = moved.iter().map(|sum| sum.picoseconds).sum();
    // Each item has one of the operation that comes most often.
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, sum) in sums {
        *by_name.entry(name).or_default() += sum.count;
    }
    let items = by_name.into_values().max().unwrap_or(0);
    PhaseOnce {
        bytes: moved.iter().map(|sum| sum.bytes).sum(),
        operations: if transfers > 0 { transfers } else { items },
        seconds: longest_ns.unwrap_or(0) as f64 / 1e9,
        open: slowest(&["fopen", "pfopen"]),
        transfers: moved.iter().map(|sum| sum.seconds()).fold(0.0, f64::max),
        close: slowest(&["fclose", "pfclose"]),
        latency: lasted as f64 / 1e12 / transfers.max(1) as f64,
    }
}
