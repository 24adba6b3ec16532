//! Summarises one rung: quantiles, survival curve, causes of its slow operations.

use samples::{Cause, Causes, RungFacts, RungGroup, RungQuantiles, Sample};

use super::steps::RungLabel;
use crate::measure::{AMORTISED_BELOW_PS, Measured, Observation};

/// The observations of one rung.
#[derive(Clone, Debug, Default)]
pub struct RungObservations {
    /// Every observation, in time order.
    pub observations: Vec<Observation>,
    /// Additional single operations, if the rung's `batch` is more than 1.
    pub singles: Vec<Observation>,
    /// The blocks of about 1 ms, in ps.
    pub blocks: Vec<u64>,
    /// What an empty timing shows, in ps, which is no part of an operation.
    pub overhead_ps: f64,
}

/// Summarises what was `measured` of a rung; an empty timing shows `overhead_ps`.
pub(super) fn summarise(
    of: &RungLabel<'_>,
    measured: Measured,
    overhead_ps: f64,
) -> (RungFacts, RungObservations) {
    let batch = f64::from(measured.batch.max(1));
    let each = |ps: u64| ((ps as f64 - overhead_ps) / batch).max(0.0);
    let sorted = |of: fn(&Observation) -> u64| {
        let mut all: Vec<u64> = measured.observations.iter().map(of).collect();
        all.sort_unstable();
        all
    };
    let raw = sorted(|observation| observation.duration_ps);
    let single = (!measured.singles.is_empty()).then(|| {
        let mut all: Vec<u64> = measured.singles.iter().map(|one| one.duration_ps).collect();
        all.sort_unstable();
        quantiles(&all, |ps| (ps as f64 - overhead_ps).max(0.0))
    });
    let waited = measured.observations.iter().any(|observation| observation.queue_ns > 0);
    // A blocking call waits for a processor each time, so the wait can be subtracted. A computing operation
    // was interrupted, and subtracting the wait would not undo the effect on its caches.
    let blocked = |observation: &&Observation| Causes(observation.causes).has(Cause::Blocked);
    let blocks = 2 * measured.observations.iter().filter(blocked).count() > raw.len();
    let corrected = (waited && blocks).then(|| quantiles(&sorted(Observation::corrected_ps), each));
    let raw_quantiles = quantiles(&raw, each);
    // A block of a longer operation holds so few that its time per operation is the same quantity as their median, of fewer.
    let is_amortised =
        of.group != RungGroup::Clock && (measured.headline_ps < AMORTISED_BELOW_PS || raw.is_empty());
    let facts = RungFacts {
        code: of.code.into(),
        name: of.name.into(),
        what: of.what.into(),
        group: of.group,
        batch: measured.batch,
        n: raw.len(),
        headline_ps: if is_amortised { measured.headline_ps } else { raw_quantiles.median_ps },
        raw: raw_quantiles,
        corrected,
        single,
        causes: causes(&samples_of(&measured.observations, measured.batch, 0, 0.0)),
        survival: survival(&raw, each),
        check: measured.check.filter(|_| of.group != RungGroup::Clock),
        steady: measured.steady,
        block: measured.block,
        ..RungFacts::default()
    };
    let blocks = measured.blocks.iter().map(|ps| (ps * f64::from(measured.block)).round() as u64).collect();
    let (observations, singles) = (measured.observations, measured.singles);
    (facts, RungObservations { observations, singles, blocks, overhead_ps })
}

/// Quantiles of sorted durations; one that fewer than ten observations support is left out.
fn quantiles(sorted: &[u64], each: impl Fn(u64) -> f64) -> RungQuantiles {
    let n = sorted.len();
    let at = |q: f64| {
        let beyond = n as f64 * (1.0 - q);
        let index = ((n as f64 * q).ceil() as usize).clamp(1, n.max(1)) - 1;
        (beyond >= 10.0 - 1e-9).then(|| each(sorted[index]))
    };
    RungQuantiles {
        median_ps: sorted.get(n.saturating_sub(1) / 2).map_or(0.0, |ps| each(*ps)),
        p99_ps: at(0.99),
        p999_ps: at(0.999),
        max_ps: sorted.last().map_or(0.0, |ps| each(*ps)),
    }
}

/// A few dozen points of the survival function, evenly spaced in its logarithm.
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

/// The share of each cause in the excess of the slowest 1% over the median.
fn causes(samples: &[Sample]) -> Vec<(String, f64)> {
    let parts = samples::attribute(samples).map(|found| found.parts()).unwrap_or_default();
    parts.into_iter().map(|(part, share)| (part.name().to_owned(), share)).collect()
}

/// The observations as samples, each less what an empty timing shows: as the table has them.
pub(super) fn samples_of(
    observations: &[Observation],
    batch: u32,
    site: u32,
    overhead_ps: f64,
) -> Vec<Sample> {
    let sample = |observation: &Observation| Sample {
        start_ns: observation.start_ns,
        duration_ps: observation.duration_ps.saturating_sub(overhead_ps.max(0.0).round() as u64),
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
    fn samples_are_as_long_as_the_table_says() {
        let observations = vec![Observation { duration_ps: 150_000, ..Observation::default() }; 21];
        let measured = Measured { batch: 1, observations, ..Measured::default() };
        let label = RungLabel { code: "l3", name: "L3", what: "", group: RungGroup::Memory };
        let (facts, observed) = summarise(&label, measured, 12_000.0);
        let samples = samples_of(&observed.observations, 1, 0, observed.overhead_ps);
        assert!(samples.iter().all(|sample| sample.duration_ps == 138_000), "{samples:?}");
        assert_eq!(facts.raw.median_ps, 138_000.0);
        assert_eq!(samples_of(&observed.observations, 1, 0, 1e9)[0].duration_ps, 0);
    }

    #[test]
    fn a_long_operation_has_one_typical_time_and_a_short_one_its_amortised_time() {
        let observed = |ps: u64| vec![Observation { duration_ps: ps, ..Observation::default() }; 21];
        let of = |block_ps: f64, single_ps: u64| {
            let measured = Measured {
                batch: 1,
                headline_ps: block_ps,
                observations: observed(single_ps),
                ..Measured::default()
            };
            let label = RungLabel { code: "fsync", name: "write + fsync", what: "", group: RungGroup::Disk };
            summarise(&label, measured, 0.0).0
        };
        // Three blocks on a busy disk, and many single operations when it was idle.
        let long = of(3.98e9, 114_000_000);
        assert_eq!((long.headline_ps, long.raw.median_ps), (114e6, 114e6));
        let short = of(1_080.0, 20_000);
        assert_eq!((short.headline_ps, short.raw.median_ps), (1_080.0, 20_000.0));
    }

    #[test]
    fn survival_falls_from_one_to_a_single_observation() {
        let sorted: Vec<u64> = (1..=10_000).collect();
        let points = survival(&sorted, |ps| ps as f64);
        assert_eq!((points[0], points[points.len() - 1]), ([1.0, 1.0], [10_000.0, 1e-4]));
        assert!(points.windows(2).all(|pair| pair[0][1] >= pair[1][1] && pair[0][0] <= pair[1][0]));
    }
}
