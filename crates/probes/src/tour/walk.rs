//! Runs each step of the tour within its time budget.

use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use clock::Clock;
use machine::affinity;
use perf::Watch;
use samples::{Bandwidth, CurvePoint, MachineFacts, RungFacts, RungGroup, TourFacts};

use super::rung::{RungObservations, summarise};
use super::steps::{RungLabel, StepWork, TourStep, levels};
use crate::disk::{FileAccess, ScratchFile};
use crate::kernel::Kernel;
use crate::measure::{Instruments, MeasureSettings, Measured, measure};
use crate::memory::Pass;
use crate::request::{Request, build};

/// Makes the request of a kernel for a number of bytes.
type OfSize = fn(u64) -> Request;

/// A tour in progress.
pub(super) struct TourWalk<'a> {
    pub(super) begin: Instant,
    pub(super) limit: Duration,
    pub(super) clock: Clock,
    pub(super) watch: Watch,
    pub(super) scratch: Option<ScratchFile>,
    /// The finished rungs, with the number of their step.
    pub(super) rungs: Vec<(usize, RungFacts, RungObservations)>,
    pub(super) tour: TourFacts,
    /// The processors that may be used.
    pub(super) processors: Vec<u16>,
    pub(super) machine: &'a MachineFacts,
    /// The directory for files.
    pub(super) directory: &'a Path,
}

impl TourWalk<'_> {
    fn measure(&mut self, kernel: &mut dyn Kernel, settings: &MeasureSettings) -> Measured {
        let (clock, facts) = (self.clock, &self.tour.clock);
        measure(kernel, &mut Instruments { clock, facts, watch: &mut self.watch }, settings)
    }

    pub(super) fn step(&mut self, index: usize, step: &TourStep, budget: Duration) {
        if budget < Duration::from_millis(5) {
            self.tour.skipped.push(format!("{}: no time was left", step.name));
            return;
        }
        match &step.work {
            StepWork::Skip(why) => self.tour.skipped.push(format!("{}: {why}", step.name)),
            StepWork::Curve => self.curve(budget),
            StepWork::Bandwidth => self.bandwidth(budget),
            StepWork::Prepare => self.prepare(budget),
            StepWork::Kernel { code, what, group, request, warm } => match build(request) {
                Ok(mut kernel) => {
                    let settings = MeasureSettings { budget, warm: *warm, ..MeasureSettings::default() };
                    let label = RungLabel { code, name: step.name, what, group: *group };
                    self.rung(index, label, kernel.as_mut(), &settings);
                }
                Err(error) => self.tour.skipped.push(format!("{}: {error}", step.name)),
            },
            StepWork::File { code, what, access, size } => {
                let Some(scratch) = &self.scratch else {
                    self.tour.skipped.push(format!("{}: there is no file to work on", step.name));
                    return;
                };
                match FileAccess::new(*access, scratch, *size, 1) {
                    Ok(mut probe) => {
                        let settings =
                            MeasureSettings { budget, warm: false, blocks: 50, ..MeasureSettings::default() };
                        let label = RungLabel { code, name: step.name, what, group: RungGroup::Disk };
                        self.rung(index, label, &mut probe, &settings);
                    }
                    Err(error) => self.tour.skipped.push(format!("{}: {error}", step.name)),
                }
            }
        }
    }

    fn rung(
        &mut self,
        index: usize,
        label: RungLabel<'_>,
        kernel: &mut dyn Kernel,
        settings: &MeasureSettings,
    ) {
        let measured = self.measure(kernel, settings);
        if measured.observations.is_empty() {
            let error = std::io::Error::from_raw_os_error(measured.errno);
            self.tour.skipped.push(format!("{}: {error}", label.name));
            return;
        }
        let overhead =
            if label.group == RungGroup::Clock { 0.0 } else { self.tour.clock.overhead.mean_ps as f64 };
        let (facts, observed) = summarise(&label, measured, overhead);
        self.rungs.push((index, facts, observed));
    }

    /// Two working sets an octave from 4 KiB, and one an octave on huge pages from 2 MiB.
    fn curve(&mut self, budget: Duration) {
        let begin = Instant::now();
        let largest = levels(self.machine).last().map_or(64 << 20, |level| level.2);
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
                    let settings =
                        MeasureSettings { budget: share, observations: 0, ..MeasureSettings::default() };
                    let found = self.measure(kernel.as_mut(), &settings);
                    self.tour.curve.push(CurvePoint { bytes, huge, ps: found.headline_ps });
                }
                Err(error) => self.tour.skipped.push(format!("Latency against working set: {error}")),
            }
        }
    }

    fn bandwidth(&mut self, budget: Duration) {
        let begin = Instant::now();
        let cpus = self.processors.clone();
        let counts: &[usize] = if cpus.len() > 1 { &[1, 0] } else { &[1] };
        let levels = levels(self.machine);
        let mut left = (3 * levels.len() * counts.len()) as u32;
        for (code, _, bytes) in levels {
            let kinds: [(&str, OfSize); 3] = [
                ("read", |bytes| Request::Stream { pass: Pass::Read, bytes, huge: false }),
                ("write", |bytes| Request::Stream { pass: Pass::Write, bytes, huge: false }),
                ("copy", |bytes| Request::Stream { pass: Pass::Copy, bytes, huge: false }),
            ];
            for (kind, of) in kinds {
                for count in counts {
                    let share = budget.saturating_sub(begin.elapsed()) / left;
                    left -= 1;
                    let share = share.min(Duration::from_millis(150));
                    let threads = if *count == 1 { 1 } else { cpus.len() as u64 };
                    // All buffers together take no more than a quarter of the memory.
                    let available = self.machine.memory.available.unwrap_or(u64::MAX);
                    let bytes = bytes.min((available / 4 / threads).max(4096));
                    let request = of(bytes);
                    let found = match count {
                        1 => self.bandwidth_alone(&request, share),
                        _ => bandwidth_together(&request, &cpus, share),
                    };
                    if let Some(bytes_per_second) = found.filter(|rate| *rate > 0.0) {
                        self.tour.bandwidths.push(Bandwidth {
                            level: code.into(),
                            kind: kind.into(),
                            threads: threads as u32,
                            bytes,
                            bytes_per_second,
                        });
                    }
                }
            }
        }
    }

    fn bandwidth_alone(&mut self, request: &Request, budget: Duration) -> Option<f64> {
        let mut kernel = build(request).ok()?;
        let settings = MeasureSettings { budget, observations: 0, ..MeasureSettings::default() };
        let found = self.measure(kernel.as_mut(), &settings);
        (found.headline_ps > 0.0).then(|| found.bytes_each as f64 / (found.headline_ps * 1e-12))
    }

    /// Creates a file of 512 MiB, or less if a tenth of the free space or the time limit allows less.
    fn prepare(&mut self, budget: Duration) {
        let (machine, directory) = (self.machine, self.directory);
        let begin = Instant::now();
        let free = machine.paths.first().and_then(|path| path.free).unwrap_or(u64::MAX);
        let bytes = (512 << 20).min(free / 10);
        if bytes < 4 << 20 {
            self.tour.skipped.push(format!("Disk: {} has too little free space", directory.display()));
            return;
        }
        let limit = self.limit.saturating_sub(self.begin.elapsed()).min(budget);
        match ScratchFile::new(directory, bytes, || begin.elapsed() < limit.mul_f64(0.7)) {
            Ok(scratch) if scratch.bytes() >= 4 << 20 => self.scratch = Some(scratch),
            Ok(_) => self.tour.skipped.push("Disk: too little could be written in the time".into()),
            Err(error) => self.tour.skipped.push(format!("Disk: {error}")),
        }
    }
}

/// Total bytes a second of one thread on each of `cpus`, counted while all of them were running. `None` if a
/// buffer cannot be allocated.
fn bandwidth_together(request: &Request, cpus: &[u16], budget: Duration) -> Option<f64> {
    let ready = Barrier::new(cpus.len());
    let rates: Vec<Option<f64>> = std::thread::scope(|scope| {
        let work = |cpu: u16| {
            let (request, ready) = (request.clone(), &ready);
            move || {
                // A thread inherits the affinity of its parent.
                let _pinned = affinity::pin(cpu);
                let kernel = build(&request);
                ready.wait();
                let mut kernel = kernel.ok()?;
                let (begin, mut passes) = (Instant::now(), 0u64);
                while begin.elapsed() < budget {
                    kernel.run(1);
                    passes += 1;
                }
                Some(kernel.bytes_each() as f64 * passes as f64 / begin.elapsed().as_secs_f64())
            }
        };
        let threads: Vec<_> = cpus.iter().map(|cpu| scope.spawn(work(*cpu))).collect();
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect()
    });
    rates.into_iter().sum()
}
