//! From L1 to the disk in under a minute: which rungs does this machine have, and how long is each?

mod rung;
mod steps;
mod walk;

use std::path::Path;
use std::time::{Duration, Instant};

use samples::{Sample, Site, SiteKind};
use serde::{Deserialize, Serialize};

use super::measure::{Check, Observation};
use clock::{Clock, Description};
use machine::affinity::{self, Noise};
use machine::{Cache, Machine};
use perf::{Sight, Watch};
use steps::steps;
use walk::Walk;

/// What a rung belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The clock itself.
    Clock,
    /// Caches and memory.
    Memory,
    /// System calls.
    System,
    /// Processes and threads.
    Process,
    /// Files and the disk.
    Disk,
}

/// Quantiles of the time of one operation, in ps, less the clock's cost. A quantile is given where at
/// least ten observations lie beyond it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Median.
    pub median_ps: f64,
    /// 99 of 100 are at most this.
    pub p99_ps: Option<f64>,
    /// 999 of 1000 are at most this.
    pub p999_ps: Option<f64>,
    /// The longest.
    pub max_ps: f64,
}

/// One rung of the ladder: an operation and how long it takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rung {
    /// A short stable name: `l1`, `getpid`, `fsync` …
    pub code: String,
    /// Its name for a reader.
    pub name: String,
    /// What one operation is.
    pub what: String,
    /// What it belongs to.
    pub group: Group,
    /// Operations in one observation; where it is more than 1, the quantiles are of means of so many.
    pub batch: u32,
    /// Observations.
    pub n: usize,
    /// Median of blocks of about 1 ms, in ps an operation: the number to quote.
    pub headline_ps: f64,
    /// As it was.
    pub raw: Quantiles,
    /// Less the wait on the run queue, where some of that was seen and most operations block: what
    /// computes was interrupted, and that is not undone by taking the wait off.
    pub corrected: Option<Quantiles>,
    /// Of single operations, where `batch` is more than 1. The clock moves in steps
    /// ([`Description::quantum_ps`]), so near it these are multiples of a step.
    pub single: Option<Quantiles>,
    /// Of the time by which the slowest hundredth exceeds the median: the share of each cause, the
    /// greatest first (see [`samples::attribute`]); `unattributed` is one of them.
    pub causes: Vec<(String, f64)>,
    /// `[duration in ps, share of observations that are longer]`, some dozens of points for a small
    /// picture; less the clock's cost, an operation.
    pub survival: Vec<[f64; 2]>,
    /// Single timings against the amortised time.
    pub check: Option<Check>,
    /// Was it steady before it was measured?
    pub steady: bool,
    /// Operations in one of the blocks of about 1 ms whose median is the headline.
    pub block: u32,
    /// Every observation, in time order.
    #[serde(skip)]
    pub observations: Vec<Observation>,
    /// Single operations beside them, where `batch` is more than 1.
    #[serde(skip)]
    pub singles: Vec<Observation>,
    /// The blocks, in ps.
    #[serde(skip)]
    pub blocks: Vec<u64>,
}

/// A point of the curve of latency against working set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Working set in bytes.
    pub bytes: u64,
    /// On huge pages?
    pub huge: bool,
    /// One dependent load, in ps.
    pub ps: f64,
}

/// A bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// `L1`, `L2`, `L3`, `memory`.
    pub level: String,
    /// `read`, `write`, `copy`.
    pub kind: String,
    /// Threads at once, each with a buffer of its own on a processor of its own.
    pub threads: u32,
    /// Size of each thread's buffer in bytes.
    pub bytes: u64,
    /// Bytes read and written in a second.
    pub bytes_per_second: f64,
}

/// All that a tour found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tour {
    /// `lastrank.tour/1`.
    pub schema: String,
    /// The rungs, from the quickest group to the slowest.
    pub rungs: Vec<Rung>,
    /// Latency against working set.
    pub curve: Vec<Point>,
    /// Bandwidths.
    pub bandwidths: Vec<Bandwidth>,
    /// Caches, to be marked on the curve.
    pub caches: Vec<Cache>,
    /// The clock, closed.
    pub clock: Description,
    /// What could be seen of causes.
    pub sight: Sight,
    /// What each allowed processor took away from a thread that only reads the clock, the quietest
    /// first; the rungs but for processes and threads were measured on that one.
    pub noise: Vec<Noise>,
    /// What was left out, and why.
    pub skipped: Vec<String>,
    /// All time it took, in s.
    pub elapsed_s: f64,
}

/// What a tour tells while it is on its way.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A step begins: its name, its number from 1 and the number of steps.
    Step(&'a str, usize, usize),
    /// A rung is done.
    Rung(&'a Rung),
}

/// Climbs from L1 to `directory` within `limit` (50 s are comfortable, less makes all of it shorter),
/// telling `tell` of every step. What there is no time for is said in [`Tour::skipped`]. No rung stops
/// the others.
pub fn tour(machine: &Machine, directory: &Path, limit: Duration, tell: &mut dyn FnMut(Progress)) -> Tour {
    let begin = Instant::now();
    let (clock, facts) = Clock::choose();
    let mut walk = Walk {
        begin,
        limit,
        clock,
        watch: Watch::of_this_thread(),
        scratch: None,
        rungs: Vec::new(),
        processors: affinity::allowed(),
        tour: Tour {
            schema: "lastrank.tour/1".into(),
            rungs: Vec::new(),
            curve: Vec::new(),
            bandwidths: Vec::new(),
            caches: machine.processor.caches.clone(),
            clock: facts,
            sight: Sight { tier: perf::Tier::Accounting, sees: Vec::new(), blind: Vec::new() },
            noise: Vec::new(),
            skipped: Vec::new(),
            elapsed_s: 0.0,
        },
    };
    walk.tour.sight = walk.watch.sight().clone();
    let steps = steps(machine, directory);
    let total = steps.len();
    // What a fork costs grows with the memory of the process, and every rung keeps its observations: so
    // processes come first, and their rungs are shown in their place.
    let mut order: Vec<usize> = (0..total).collect();
    order.sort_by_key(|index| !steps[*index].is_of_processes());
    let mut shown = 0;
    let mut pinned = None;
    for (number, index) in order.iter().copied().enumerate() {
        // From the first rung on that is this thread's alone, it stays where it is quietest.
        if pinned.is_none() && !steps[index].is_of_processes() {
            walk.tour.noise = affinity::noise(clock, limit.mul_f64(0.01).min(Duration::from_millis(400)));
            pinned = walk.tour.noise.first().and_then(|noise| affinity::pin(noise.cpu).ok());
        }
        let left: f64 = order[number..].iter().map(|index| steps[*index].weight).sum();
        let remaining = limit.saturating_sub(begin.elapsed());
        let budget = remaining.mul_f64((steps[index].weight / left.max(1e-9)).min(1.0));
        tell(Progress::Step(steps[index].name, number + 1, total));
        walk.step(index, &steps[index], budget, machine, directory);
        // A rung is shown when all above it are.
        let done = |step: usize| order[..=number].contains(&step);
        while shown < total && done(shown) {
            if let Some((_, rung)) = walk.rungs.iter().find(|(step, _)| *step == shown) {
                tell(Progress::Rung(rung));
            }
            shown += 1;
        }
    }
    drop(pinned);
    drop(walk.scratch);
    walk.rungs.sort_by_key(|(step, _)| *step);
    walk.tour.rungs = walk.rungs.into_iter().map(|(_, rung)| rung).collect();
    clock.close(&mut walk.tour.clock);
    walk.tour.elapsed_s = begin.elapsed().as_secs_f64();
    walk.tour
}

impl Tour {
    /// The observations as a run's sites and samples, to be stored and reported like any other; facts are
    /// the caller's.
    ///
    /// A rung has up to three sites, whose operation is its code: labelled with its name, the observations
    /// (`batch` operations each); with its name and `single`, single operations beside them; with its name
    /// and `block`, the blocks of about 1 ms whose median is the headline.
    pub fn samples(&self) -> (Vec<Site>, Vec<Sample>) {
        let (mut sites, mut all) = (Vec::new(), Vec::new());
        let mut add = |rung: &Rung, further: Option<&str>, samples: &dyn Fn(u32) -> Vec<Sample>| {
            let labels = std::iter::once(rung.name.as_str()).chain(further).map(str::to_owned).collect();
            let operation = rung.code.clone();
            all.extend(samples(sites.len() as u32));
            sites.push(Site { labels, operation, kind: SiteKind::Operation, ..Site::default() });
        };
        for rung in &self.rungs {
            add(rung, None, &|site| rung::samples_of(&rung.observations, rung.batch, site));
            if !rung.singles.is_empty() {
                add(rung, Some("single"), &|site| rung::samples_of(&rung.singles, 1, site));
            }
            let batch = rung.block;
            let block = |site| {
                move |ps: &u64| Sample { duration_ps: *ps, batch, site, cpu: u16::MAX, ..Sample::default() }
            };
            if rung.group != Group::Clock {
                add(rung, Some("block"), &|site| rung.blocks.iter().map(block(site)).collect());
            }
        }
        (sites, all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_tour_reaches_the_disk_in_its_time_and_says_what_it_left_out() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut machine = machine::describe(&[folder.path()]);
        // A small machine makes for small working sets, which are quickly built.
        machine.memory.available = Some(64 << 20);
        let mut told = 0;
        let found = tour(&machine, folder.path(), Duration::from_secs(6), &mut |_| told += 1);
        let codes: Vec<&str> = found.rungs.iter().map(|rung| rung.code.as_str()).collect();
        // What a busy machine leaves no time for is said.
        let told_of = |name: &str| found.skipped.iter().any(|skipped| skipped.starts_with(name));
        assert!(codes.contains(&"l1"), "{codes:?} {:?}", found.skipped);
        assert!(codes.contains(&"getpid") || told_of("getpid"), "{codes:?} {:?}", found.skipped);
        assert!(told > found.rungs.len());
        let (sites, samples) = found.samples();
        assert!(sites.len() >= found.rungs.len());
        assert!(samples.iter().all(|sample| (sample.site as usize) < sites.len()));
        // A load from L1 is shorter than a step of the clock: single ones stand beside the batches.
        let l1 = &found.rungs[codes.iter().position(|code| *code == "l1").expect("a rung")];
        assert!(l1.batch > 1 && l1.single.is_some() && l1.n == l1.observations.len());
        assert!(sites.iter().any(|site| site.labels == ["L1 cache", "single"]), "{sites:?}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("readable").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
