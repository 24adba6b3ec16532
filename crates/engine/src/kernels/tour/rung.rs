//! What is said of one rung: its quantiles, the shape of its tail, and whose the tail is.

use samples::{Cause, Causes};
use serde::{Deserialize, Serialize};

use crate::kernels::measure::{Check, Measured, Observation};

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
    /// greatest first. `run_queue`, the causes of [`Cause`], `unattributed`.
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

impl Rung {
    pub(super) fn of(
        code: &str,
        name: &str,
        what: &str,
        group: Group,
        measured: Measured,
        overhead_ps: f64,
    ) -> Self {
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
            causes: attribute(&measured.observations, &raw),
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

/// Of the excess over the median of the slowest hundredth: which share is whose. The wait on the run
/// queue counts as such; the rest of an observation goes to the weightiest cause seen in it, so that
/// the shares never add up to more than the excess.
fn attribute(observations: &[Observation], sorted: &[u64]) -> Vec<(String, f64)> {
    const BY_WEIGHT: [(Cause, &str); 9] = [
        (Cause::Throttled, "throttled"),
        (Cause::Preempted, "preempted"),
        (Cause::MajorFault, "major_fault"),
        (Cause::Blocked, "blocked"),
        (Cause::DeviceInterrupt, "device_interrupt"),
        (Cause::SoftInterrupt, "soft_interrupt"),
        (Cause::Timer, "timer"),
        (Cause::MinorFault, "minor_fault"),
        (Cause::Migration, "migration"),
    ];
    let n = sorted.len();
    let (Some(median), Some(limit)) = (sorted.get(n / 2), sorted.get(n * 99 / 100)) else {
        return Vec::new();
    };
    let mut shares: Vec<(String, f64)> = Vec::new();
    let mut total = 0.0;
    let mut add = |name: &str, ps: f64| match shares.iter_mut().find(|(known, _)| known == name) {
        Some((_, sum)) => *sum += ps,
        None => shares.push((name.into(), ps)),
    };
    for observation in observations.iter().filter(|o| o.duration_ps >= *limit && o.duration_ps > *median) {
        let excess = (observation.duration_ps - median) as f64;
        let queue = (f64::from(observation.queue_ns) * 1000.0).min(excess);
        if queue > 0.0 {
            add("run_queue", queue);
        }
        let seen = Causes(observation.causes);
        let name =
            BY_WEIGHT.iter().find(|(cause, _)| seen.has(*cause)).map_or("unattributed", |(_, name)| name);
        add(name, excess - queue);
        total += excess;
    }
    shares.iter_mut().for_each(|(_, ps)| *ps /= total.max(1.0));
    shares.retain(|(_, share)| *share > 0.0);
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(duration_ps: u64, queue_ns: u32, cause: Option<Cause>) -> Observation {
        let causes = cause.map_or(0, |cause| cause as u16);
        Observation { duration_ps, queue_ns, causes, ..Observation::default() }
    }

    #[test]
    fn the_excess_of_outliers_is_shared_out_and_never_exceeded() {
        let mut all = vec![observation(1_000, 0, None); 298];
        all.push(observation(101_000, 60, Some(Cause::Preempted)));
        all.push(observation(101_000, 0, None));
        let mut sorted: Vec<u64> = all.iter().map(|o| o.duration_ps).collect();
        sorted.sort_unstable();
        let shares = attribute(&all, &sorted);
        assert_eq!(
            shares,
            [("unattributed".to_owned(), 0.5), ("run_queue".into(), 0.3), ("preempted".into(), 0.2)]
        );
    }

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
}
