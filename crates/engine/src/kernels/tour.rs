//! From L1 to the disk in under a minute: which rungs does this machine have, and how long is each?

use std::path::Path;
use std::time::{Duration, Instant};

use samples::{Sample, Site, SiteKind};
use serde::{Deserialize, Serialize};

use super::measure::{Check, Measured, Observation, Settings, measure};
use super::{Access, FileAccess, Kernel, Request, Scratch, build};
use crate::causes::{Sight, Watch};
use crate::clock::{Clock, Description};
use crate::machine::{Cache, Machine};

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
    /// Less the wait on the run queue, where some of that was seen.
    pub corrected: Option<Quantiles>,
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
    /// Every observation, in time order.
    #[serde(skip)]
    pub observations: Vec<Observation>,
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
    /// Size of the buffer in bytes.
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

/// A step of the tour: how much of the time it may have (its weight), and what it does.
struct Step<'a> {
    name: &'static str,
    weight: f64,
    work: Work<'a>,
}

enum Work<'a> {
    Kernel { code: &'static str, what: String, group: Group, request: Request, warm: bool },
    Curve,
    Bandwidth,
    Prepare,
    File { code: &'static str, what: &'static str, access: Access, size: u64 },
    Skip(&'a str),
}

impl Step<'_> {
    fn is_of_processes(&self) -> bool {
        matches!(self.work, Work::Kernel { group: Group::Process, .. })
    }
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
        tour: Tour {
            schema: "lastrank.tour/1".into(),
            rungs: Vec::new(),
            curve: Vec::new(),
            bandwidths: Vec::new(),
            caches: machine.processor.caches.clone(),
            clock: facts,
            sight: Sight { tier: crate::causes::Tier::Accounting, sees: Vec::new(), blind: Vec::new() },
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
    for (number, index) in order.iter().copied().enumerate() {
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
    drop(walk.scratch);
    walk.rungs.sort_by_key(|(step, _)| *step);
    walk.tour.rungs = walk.rungs.into_iter().map(|(_, rung)| rung).collect();
    clock.close(&mut walk.tour.clock);
    walk.tour.elapsed_s = begin.elapsed().as_secs_f64();
    walk.tour
}

/// Bytes that stay within each level, and what to call it: innermost first, memory last.
fn levels(machine: &Machine) -> Vec<(&'static str, &'static str, u64)> {
    let size = |level: u32| {
        let caches = machine.processor.caches.iter();
        caches
            .filter(|cache| cache.level == level && cache.kind != "Instruction")
            .map(|cache| cache.bytes)
            .max()
    };
    let l1 = size(1).unwrap_or(32 << 10);
    let l2 = size(2);
    let mut found = vec![("l1", "L1 cache", l1 / 2)];
    found.extend(l2.map(|bytes| ("l2", "L2 cache", (bytes / 2).max(l1 * 2))));
    let l3 = size(3).filter(|l3| *l3 > 2 * l2.unwrap_or(l1));
    // An outer cache is shared with work that cannot be seen: an eighth of it can be hoped for.
    found.extend(l3.map(|bytes| ("l3", "L3 cache", (bytes / 8).max(l2.unwrap_or(l1) * 2).min(bytes / 2))));
    let outermost = l3.or(l2).unwrap_or(l1);
    let quarter = machine.memory.available.unwrap_or(1 << 30) / 4;
    let memory = (outermost * 8).clamp(64 << 20, 256 << 20).min(quarter.max(outermost * 2));
    found.push(("memory", "Memory", memory));
    found
}

fn steps<'a>(machine: &Machine, directory: &Path) -> Vec<Step<'a>> {
    let kernel = |name, code, weight, group, what: &str, request| Step {
        name,
        weight,
        work: Work::Kernel { code, what: what.into(), group, request, warm: true },
    };
    let slow = |name, code, weight, what: &str, request| Step {
        name,
        weight,
        work: Work::Kernel { code, what: what.into(), group: Group::Process, request, warm: false },
    };
    let file = |name, code, weight, what, access, size| Step {
        name,
        weight,
        work: Work::File { code, what, access, size },
    };
    let here = || directory.to_path_buf();
    let mut steps = vec![kernel(
        "Clock",
        "clock",
        0.3,
        Group::Clock,
        "an empty timing: what the clock itself shows",
        Request::Empty,
    )];
    for (code, name, bytes) in levels(machine) {
        let what = format!("one dependent load within {}", samples::units::bytes(bytes));
        let weight = if code == "memory" { 2.5 } else { 1.0 };
        let request = Request::Chase { bytes, huge: false, seed: 1 };
        steps.push(kernel(name, code, weight, Group::Memory, &what, request));
    }
    steps.push(Step { name: "Latency against working set", weight: 9.0, work: Work::Curve });
    steps.push(Step { name: "Bandwidth", weight: 2.0, work: Work::Bandwidth });
    use Group::{Memory, System};
    steps.extend([
        kernel(
            "Page fault",
            "page_fault",
            1.0,
            Memory,
            "first touch of a 4 KiB page",
            Request::Touch { bytes: 64 << 20, huge: false },
        ),
        kernel(
            "malloc + free",
            "malloc_free",
            0.5,
            Memory,
            "malloc(4) and free",
            Request::MallocFree { bytes: 4 },
        ),
        kernel("getpid", "getpid", 0.7, System, "the raw system call", Request::Getpid),
        kernel("read 1 byte", "read_null", 0.7, System, "read of one byte of /dev/zero", Request::ReadNull),
        kernel(
            "write 1 byte",
            "write_null",
            0.7,
            System,
            "write of one byte to /dev/null",
            Request::WriteNull,
        ),
        kernel("stat", "stat", 0.7, System, "stat of a file", Request::Stat { directory: here() }),
        kernel(
            "open + close",
            "open_close",
            0.7,
            System,
            "of a file that exists",
            Request::OpenClose { directory: here() },
        ),
        kernel(
            "create + delete",
            "create_delete",
            1.5,
            System,
            "of an empty file",
            Request::CreateDelete { directory: here() },
        ),
        slow(
            "Context switch",
            "context_switch",
            1.0,
            "between two processes on one processor",
            Request::ContextSwitch,
        ),
        slow("Pipe", "pipe_pingpong", 1.0, "a byte to another process and back", Request::PipePingpong),
        slow("Thread", "thread", 1.0, "create and join", Request::Thread),
        slow("fork", "fork", 1.0, "fork, exit, wait", Request::Fork { resident: 0 }),
        slow(
            "Program start",
            "spawn",
            1.0,
            "posix_spawn of `true`, wait",
            Request::Spawn { program: "true".into() },
        ),
    ]);
    let disk = machine.places.first().is_none_or(|place| place.writable != Some(false));
    if !disk {
        steps.push(Step { name: "Disk", weight: 0.1, work: Work::Skip("the directory is not writable") });
        return steps;
    }
    use Access::{CachedRead, DirectRead, DirectWrite, SyncWrite, WriteFsync};
    steps.push(Step { name: "Preparing a file", weight: 4.0, work: Work::Prepare });
    steps.extend([
        file("Page cache", "page_cache", 0.7, "4 KiB read that the page cache answers", CachedRead, 4096),
        file("Disk read", "disk_read", 3.0, "4 KiB at random, O_DIRECT", DirectRead, 4096),
        file("Disk write", "disk_write", 2.0, "4 KiB at random, O_DIRECT", DirectWrite, 4096),
        file("Safe write", "sync_write", 2.5, "4 KiB at random, O_DIRECT and O_DSYNC", SyncWrite, 4096),
        file("write + fsync", "fsync", 2.5, "4 KiB at random, buffered, then fsync", WriteFsync, 4096),
        file("Large read", "large_read", 1.0, "1 MiB at random, O_DIRECT", DirectRead, 1 << 20),
        file("Large write", "large_write", 1.0, "1 MiB at random, O_DIRECT and O_DSYNC", SyncWrite, 1 << 20),
    ]);
    steps
}

struct Walk {
    begin: Instant,
    limit: Duration,
    clock: Clock,
    watch: Watch,
    scratch: Option<Scratch>,
    /// The rungs so far, with the number of their step.
    rungs: Vec<(usize, Rung)>,
    tour: Tour,
}

impl Walk {
    fn step(&mut self, index: usize, step: &Step, budget: Duration, machine: &Machine, directory: &Path) {
        if budget < Duration::from_millis(5) {
            self.tour.skipped.push(format!("{}: no time was left", step.name));
            return;
        }
        match &step.work {
            Work::Skip(why) => self.tour.skipped.push(format!("{}: {why}", step.name)),
            Work::Curve => self.curve(machine, budget),
            Work::Bandwidth => self.bandwidth(machine, budget),
            Work::Prepare => self.prepare(directory, machine, budget),
            Work::Kernel { code, what, group, request, warm } => match build(request) {
                Ok(mut kernel) => {
                    let settings = Settings { budget, warm: *warm, ..Settings::default() };
                    self.rung(index, (code, step.name, what, *group), kernel.as_mut(), &settings);
                }
                Err(error) => self.tour.skipped.push(format!("{}: {error}", step.name)),
            },
            Work::File { code, what, access, size } => {
                let Some(scratch) = &self.scratch else {
                    self.tour.skipped.push(format!("{}: there is no file to work on", step.name));
                    return;
                };
                match FileAccess::new(*access, scratch, *size, 1) {
                    Ok(mut probe) => {
                        let settings = Settings { budget, warm: false, blocks: 50, ..Settings::default() };
                        self.rung(index, (code, step.name, what, Group::Disk), &mut probe, &settings);
                    }
                    Err(error) => self.tour.skipped.push(format!("{}: {error}", step.name)),
                }
            }
        }
    }

    fn rung(
        &mut self,
        index: usize,
        (code, name, what, group): (&str, &str, &str, Group),
        kernel: &mut dyn Kernel,
        settings: &Settings,
    ) {
        let measured = measure(kernel, self.clock, &self.tour.clock, &mut self.watch, settings);
        if measured.observations.is_empty() {
            let error = std::io::Error::from_raw_os_error(measured.errno);
            self.tour.skipped.push(format!("{name}: {error}"));
            return;
        }
        let overhead = if group == Group::Clock { 0.0 } else { self.tour.clock.overhead.mean_ps as f64 };
        let rung = Rung::of(code, name, what, group, measured, overhead);
        self.rungs.push((index, rung));
    }

    /// Two working sets an octave from 4 KiB, and one an octave on huge pages from 2 MiB.
    fn curve(&mut self, machine: &Machine, budget: Duration) {
        let begin = Instant::now();
        let largest = levels(machine).last().map_or(64 << 20, |level| level.2);
        let mut sizes = Vec::new();
        let mut bytes = 4096u64;
        while bytes <= largest {
            sizes.push((bytes, false));
            if bytes >= 2 << 20 {
                sizes.push((bytes, true));
            }
            if bytes * 3 / 2 <= largest {
                sizes.push((bytes * 3 / 2, false));
            }
            bytes *= 2;
        }
        let count = sizes.len() as u32;
        for (index, (bytes, huge)) in sizes.into_iter().enumerate() {
            let remaining = budget.saturating_sub(begin.elapsed());
            if remaining.is_zero() {
                let shown = samples::units::bytes(bytes);
                self.tour
                    .skipped
                    .push(format!("Latency against working set: from {shown} on, for lack of time"));
                return;
            }
            let share = (remaining / (count - index as u32)).min(Duration::from_millis(80));
            match build(&Request::Chase { bytes, huge, seed: 1 }) {
                Ok(mut kernel) => {
                    let settings = Settings { budget: share, observations: 0, ..Settings::default() };
                    let found =
                        measure(kernel.as_mut(), self.clock, &self.tour.clock, &mut self.watch, &settings);
                    self.tour.curve.push(Point { bytes, huge, ps: found.headline_ps });
                }
                Err(error) => self.tour.skipped.push(format!("Latency against working set: {error}")),
            }
        }
    }

    fn bandwidth(&mut self, machine: &Machine, budget: Duration) {
        let begin = Instant::now();
        let levels = levels(machine);
        let mut left = 3 * levels.len() as u32;
        for (code, _, bytes) in levels {
            for (kind, request) in [
                ("read", Request::StreamRead { bytes, huge: false }),
                ("write", Request::StreamWrite { bytes, huge: false }),
                ("copy", Request::StreamCopy { bytes, huge: false }),
            ] {
                let share = budget.saturating_sub(begin.elapsed()) / left;
                left -= 1;
                let Ok(mut kernel) = build(&request) else { continue };
                let settings = Settings {
                    budget: share.min(Duration::from_millis(150)),
                    observations: 0,
                    ..Settings::default()
                };
                let found =
                    measure(kernel.as_mut(), self.clock, &self.tour.clock, &mut self.watch, &settings);
                if found.headline_ps > 0.0 {
                    self.tour.bandwidths.push(Bandwidth {
                        level: code.into(),
                        kind: kind.into(),
                        bytes,
                        bytes_per_second: found.bytes_each as f64 / (found.headline_ps * 1e-12),
                    });
                }
            }
        }
    }

    /// A file of 512 MiB, or of a tenth of the space, or of what can be written in the time.
    fn prepare(&mut self, directory: &Path, machine: &Machine, budget: Duration) {
        let begin = Instant::now();
        let free = machine.places.first().and_then(|place| place.free).unwrap_or(u64::MAX);
        let bytes = (512 << 20).min(free / 10);
        if bytes < 4 << 20 {
            self.tour.skipped.push(format!("Disk: {} has too little free space", directory.display()));
            return;
        }
        let limit = self.limit.saturating_sub(self.begin.elapsed()).min(budget);
        match Scratch::new(directory, bytes, || begin.elapsed() < limit.mul_f64(0.7)) {
            Ok(scratch) if scratch.bytes() >= 4 << 20 => self.scratch = Some(scratch),
            Ok(_) => self.tour.skipped.push("Disk: too little could be written in the time".into()),
            Err(error) => self.tour.skipped.push(format!("Disk: {error}")),
        }
    }
}

impl Rung {
    fn of(code: &str, name: &str, what: &str, group: Group, measured: Measured, overhead_ps: f64) -> Self {
        let batch = f64::from(measured.batch.max(1));
        let each = |ps: u64| ((ps as f64 - overhead_ps) / batch).max(0.0);
        let sorted = |of: fn(&Observation) -> u64| {
            let mut all: Vec<u64> = measured.observations.iter().map(of).collect();
            all.sort_unstable();
            all
        };
        let raw = sorted(|observation| observation.duration_ps);
        let waited = measured.observations.iter().any(|observation| observation.queue_ns > 0);
        let corrected = waited.then(|| quantiles(&sorted(Observation::corrected_ps), each));
        Self {
            code: code.into(),
            name: name.into(),
            what: what.into(),
            group,
            batch: measured.batch,
            n: raw.len(),
            headline_ps: if group == Group::Clock { each(raw[raw.len() / 2]) } else { measured.headline_ps },
            raw: quantiles(&raw, each),
            corrected,
            causes: causes(&samples_of(&measured.observations, measured.batch, 0)),
            survival: survival(&raw, each),
            check: measured.check.filter(|_| group != Group::Clock),
            steady: measured.steady,
            observations: measured.observations,
        }
    }
}

/// Quantiles of sorted durations; one that fewer than ten observations support is left out.
fn quantiles(sorted: &[u64], each: impl Fn(u64) -> f64) -> Quantiles {
    let n = sorted.len();
    let at = |q: f64| {
        let beyond = n as f64 * (1.0 - q);
        let index = ((n as f64 * q).ceil() as usize).clamp(1, n.max(1)) - 1;
        (beyond >= 10.0 - 1e-9).then(|| each(sorted[index]))
    };
    Quantiles {
        median_ps: sorted.get(n.saturating_sub(1) / 2).map_or(0.0, |ps| each(*ps)),
        p99_ps: at(0.99),
        p999_ps: at(0.999),
        max_ps: sorted.last().map_or(0.0, |ps| each(*ps)),
    }
}

/// Some dozens of points of the share that is longer, evenly spaced in its logarithm.
fn survival(sorted: &[u64], each: impl Fn(u64) -> f64) -> Vec<[f64; 2]> {
    let n = sorted.len();
    let steps = 60.min(n);
    let mut points: Vec<[f64; 2]> = Vec::with_capacity(steps);
    for step in 0..steps {
        let share = (1.0 / n as f64).powf(step as f64 / (steps.max(2) - 1) as f64);
        let index = n - ((n as f64 * share).round() as usize).clamp(1, n);
        points.push([each(sorted[index]), (n - index) as f64 / n as f64]);
    }
    points.dedup();
    points
}

/// Of the excess over the median of the slowest hundredth: which share is whose.
fn causes(samples: &[Sample]) -> Vec<(String, f64)> {
    let parts = samples::attribute(samples).map(|found| found.parts()).unwrap_or_default();
    parts.into_iter().map(|(cause, share)| (cause.to_owned(), share)).collect()
}

fn samples_of(observations: &[Observation], batch: u32, site: u32) -> Vec<Sample> {
    let sample = |observation: &Observation| Sample {
        start_ns: observation.start_ns,
        duration_ps: observation.duration_ps,
        queue_ns: u64::from(observation.queue_ns),
        blocked_ns: observation.blocked_ns,
        causes: observation.causes,
        cpu: observation.cpu,
        batch,
        site,
        ..Sample::default()
    };
    observations.iter().map(sample).collect()
}

impl Tour {
    /// The observations as a run's sites and samples, a site a rung, to be stored and reported like any
    /// other. Facts are the caller's.
    pub fn samples(&self) -> (Vec<Site>, Vec<Sample>) {
        let site = |rung: &Rung| Site {
            labels: vec![rung.name.clone()],
            operation: rung.code.clone(),
            kind: SiteKind::Operation,
            ..Site::default()
        };
        let mut all = Vec::new();
        for (index, rung) in self.rungs.iter().enumerate() {
            all.extend(samples_of(&rung.observations, rung.batch, index as u32));
        }
        (self.rungs.iter().map(site).collect(), all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_without_ten_observations_beyond_it_is_not_given() {
        let sorted: Vec<u64> = (1..=1000).collect();
        let found = quantiles(&sorted, |ps| ps as f64);
        assert_eq!(
            (found.median_ps, found.p99_ps, found.p999_ps, found.max_ps),
            (500.0, Some(990.0), None, 1000.0)
        );
    }

    #[test]
    fn survival_falls_from_one_to_a_single_observation() {
        let sorted: Vec<u64> = (1..=10_000).collect();
        let points = survival(&sorted, |ps| ps as f64);
        assert_eq!((points[0], points[points.len() - 1]), ([1.0, 1.0], [10_000.0, 1e-4]));
        assert!(points.windows(2).all(|pair| pair[0][1] >= pair[1][1] && pair[0][0] <= pair[1][0]));
    }

    #[test]
    fn working_sets_lie_within_their_levels() {
        let cache = |level, bytes| Cache { level, kind: "Unified".into(), bytes, ..Cache::default() };
        let mut machine = Machine::default();
        machine.processor.caches = vec![cache(1, 48 << 10), cache(2, 1 << 20), cache(3, 32 << 20)];
        machine.memory.available = Some(20 << 30);
        let sizes: Vec<u64> = levels(&machine).iter().map(|level| level.2).collect();
        assert_eq!(sizes, [24 << 10, 512 << 10, 4 << 20, 256 << 20]);
    }

    #[test]
    fn a_short_tour_reaches_the_disk_in_its_time_and_says_what_it_left_out() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut machine = crate::machine::describe(&[folder.path()]);
        // A small machine makes for small working sets, which are quickly built.
        machine.memory.available = Some(64 << 20);
        let mut told = 0;
        let found = tour(&machine, folder.path(), Duration::from_secs(6), &mut |_| told += 1);
        let codes: Vec<&str> = found.rungs.iter().map(|rung| rung.code.as_str()).collect();
        assert!(codes.contains(&"l1") && codes.contains(&"getpid"), "{codes:?} {:?}", found.skipped);
        assert!(told > found.rungs.len());
        let (sites, samples) = found.samples();
        assert_eq!(sites.len(), found.rungs.len());
        assert_eq!(samples.len(), found.rungs.iter().map(|rung| rung.n).sum::<usize>());
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("readable").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
