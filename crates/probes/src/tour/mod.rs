//! Runs the tour: measures every level of this machine, from L1 to the disk, in under a minute.

mod rung;
mod steps;
mod walk;

use std::path::Path;
use std::time::{Duration, Instant};

use samples::{MachineFacts, RungFacts, RungGroup, Sample, Site, SiteKind, TourFacts};

use super::noise::noise;
use clock::Clock;
use machine::affinity;
use perf::Watch;
use steps::steps;
use walk::TourWalk;

pub use rung::RungObservations;

/// A tour: its facts and the observations of each rung.
#[derive(Clone, Debug)]
pub struct Tour {
    /// All results except the observations.
    pub facts: TourFacts,
    /// One for each of `facts.rungs`.
    pub observed: Vec<RungObservations>,
}

/// Progress of a running tour.
#[derive(Debug)]
pub enum TourProgress<'a> {
    /// A step starts: its name, its number from 1 and the number of steps.
    Step(&'a str, usize, usize),
    /// A rung is done.
    Rung(&'a RungFacts),
}

/// Measures every level from L1 to `directory` within `limit` (50 s is enough; less shortens every step) and
/// reports progress to `tell`. Steps for which no time is left are listed in [`TourFacts::skipped`]. A failed
/// rung does not end the tour.
pub fn tour(
    machine: &MachineFacts,
    directory: &Path,
    limit: Duration,
    tell: &mut dyn FnMut(TourProgress),
) -> Tour {
    let begin = Instant::now();
    let (clock, facts) = Clock::choose();
    let mut walk = TourWalk {
        begin,
        limit,
        clock,
        watch: Watch::of_this_thread(),
        scratch: None,
        rungs: Vec::new(),
        processors: affinity::allowed(),
        machine,
        directory,
        tour: TourFacts {
            schema: "lastrank.tour/1".into(),
            caches: machine.processor.caches.clone(),
            clock: facts,
            ..TourFacts::default()
        },
    };
    walk.tour.coverage = walk.watch.coverage().clone();
    let steps = steps(machine, directory);
    let total = steps.len();
    // The cost of a fork grows with the memory of the process, and every rung keeps its observations. So the
    // process rungs are measured first and shown in their usual position.
    let mut order: Vec<usize> = (0..total).collect();
    order.sort_by_key(|index| !steps[*index].is_of_processes());
    let mut shown = 0;
    let mut pinned = None;
    for (number, index) in order.iter().copied().enumerate() {
        // From the first single-threaded rung on, this thread stays on the quietest processor.
        if pinned.is_none() && !steps[index].is_of_processes() {
            walk.tour.noise = noise(clock, limit.mul_f64(0.01).min(Duration::from_millis(400)));
            pinned = walk.tour.noise.first().and_then(|noise| affinity::pin(noise.cpu).ok());
        }
        let left: f64 = order[number..].iter().map(|index| steps[*index].weight).sum();
        let remaining = limit.saturating_sub(begin.elapsed());
        let budget = remaining.mul_f64((steps[index].weight / left.max(1e-9)).min(1.0));
        tell(TourProgress::Step(steps[index].name, number + 1, total));
        walk.step(index, &steps[index], budget);
        // A rung is shown once all rungs above it are shown.
        let done = |step: usize| order[..=number].contains(&step);
        while shown < total && done(shown) {
            if let Some((_, rung, _)) = walk.rungs.iter().find(|(step, ..)| *step == shown) {
                tell(TourProgress::Rung(rung));
            }
            shown += 1;
        }
    }
    drop(pinned);
    drop(walk.scratch);
    walk.rungs.sort_by_key(|(step, ..)| *step);
    let mut facts = walk.tour;
    let observed;
    (facts.rungs, observed) = walk.rungs.into_iter().map(|(_, rung, observed)| (rung, observed)).unzip();
    clock.close(&mut facts.clock);
    facts.elapsed_s = begin.elapsed().as_secs_f64();
    Tour { facts, observed }
}

impl Tour {
    /// The observations as sites and samples of a run, to be stored and reported like any other. The caller
    /// adds the facts.
    ///
    /// A rung has up to three sites, whose operation is its code: labelled with its name, the observations
    /// (`batch` operations each); with its name and `single`, single operations beside them; with its name
    /// and `block`, the blocks of about 1 ms whose median is the headline.
    pub fn samples(&self) -> (Vec<Site>, Vec<Sample>) {
        let (mut sites, mut all) = (Vec::new(), Vec::new());
        let mut add = |rung: &RungFacts, further: Option<&str>, samples: &dyn Fn(u32) -> Vec<Sample>| {
            let labels = std::iter::once(rung.name.as_str()).chain(further).map(str::to_owned).collect();
            let operation = rung.code.clone();
            all.extend(samples(sites.len() as u32));
            sites.push(Site { labels, operation, kind: SiteKind::Operation, ..Site::default() });
        };
        for (rung, observed) in self.facts.rungs.iter().zip(&self.observed) {
            add(rung, None, &|site| {
                rung::samples_of(&observed.observations, rung.batch, site, observed.overhead_ps)
            });
            if !observed.singles.is_empty() {
                add(rung, Some("single"), &|site| {
                    rung::samples_of(&observed.singles, 1, site, observed.overhead_ps)
                });
            }
            let batch = rung.block;
            let block = |site| {
                move |ps: &u64| Sample { duration_ps: *ps, batch, site, cpu: u16::MAX, ..Sample::default() }
            };
            if rung.group != RungGroup::Clock {
                add(rung, Some("block"), &|site| observed.blocks.iter().map(block(site)).collect());
            }
        }
        (sites, all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_tour_reaches_the_disk_in_time_and_lists_what_it_skipped() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut machine = machine::describe(&[folder.path()]);
        // With little memory, working sets are small and built quickly.
        machine.memory.available = Some(64 << 20);
        let mut told = 0;
        let found = tour(&machine, folder.path(), Duration::from_secs(6), &mut |_| told += 1);
        let codes: Vec<&str> = found.facts.rungs.iter().map(|rung| rung.code.as_str()).collect();
        // Steps for which a busy machine leaves no time are listed.
        let told_of = |name: &str| found.facts.skipped.iter().any(|skipped| skipped.starts_with(name));
        assert!(codes.contains(&"l1"), "{codes:?} {:?}", found.facts.skipped);
        assert!(codes.contains(&"getpid") || told_of("getpid"), "{codes:?} {:?}", found.facts.skipped);
        assert!(told > found.facts.rungs.len());
        let (sites, samples) = found.samples();
        assert!(sites.len() >= found.facts.rungs.len());
        assert!(samples.iter().all(|sample| (sample.site as usize) < sites.len()));
        // A load from L1 is shorter than a clock step, so single operations are recorded in addition to
        // batches; on a machine that is busy throughout it can look longer than many steps.
        let at = codes.iter().position(|code| *code == "l1").expect("a rung");
        let l1 = &found.facts.rungs[at];
        assert!(l1.batch > 1 || l1.headline_ps > 50_000.0, "{l1:?}");
        assert_eq!(l1.n, found.observed[at].observations.len());
        // A busy machine may leave no time for them.
        let has_single = sites.iter().any(|site| site.labels == ["L1 cache", "single"]);
        assert_eq!(has_single, l1.single.is_some(), "{sites:?}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("readable").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
