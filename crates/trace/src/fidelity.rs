//! Compares an application with replays of its program: the same operations and bytes, how long they took.

mod excess;
mod side;

use std::collections::BTreeMap;

pub use excess::{Elsewhere, Excess};
pub use side::{Done, OverTime, Side, Tally};

/// A ratio of replay to application, with an interval that holds it in 95 of 100 cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// Its interval; `None` where there are too few values for one.
    pub interval: Option<(f64, f64)>,
}

/// One kind of operation on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The language's command.
    pub command: String,
    /// Operations of the application, and of each replay.
    pub calls: (u64, Vec<u64>),
    /// Bytes of the application, and of each replay.
    pub bytes: (u64, Vec<u64>),
    /// Median durations in nanoseconds: of the application, of the first replay.
    pub medians: Option<(u64, u64)>,
    /// Ratio of the medians; `None` where recording cost as much as the calls took.
    pub median: Option<Ratio>,
    /// Ratio of the 99th percentiles, likewise.
    pub p99: Option<Ratio>,
    /// Whether the durations of the application are shorter than four times what recording costs, or those of either side than the
    /// step of its clock, so that they say nothing.
    pub unusable: bool,
}

/// What a comparison found.
#[derive(Clone, Debug, PartialEq)]
pub struct Fidelity {
    /// By operation.
    pub rows: Vec<Compared>,
    /// Whether every replay did as many operations of each kind.
    pub same_calls: bool,
    /// Whether every replay moved as many bytes by each.
    pub same_bytes: bool,
    /// Operations of replays that failed, with an errno with which as many of the application did not.
    pub failures: u64,
    /// Operations of replays that did not fail, with an errno with which as many of the application did.
    pub successes: u64,
    /// Operations of the first replay that failed as those of the application did.
    pub failed_as_recorded: u64,
    /// Whether each rank of every replay did its operations in the application's order; `None` where operations of all
    /// ranks overlap.
    pub same_order: Option<bool>,
    /// Elapsed time of replay by that of the application, of each replay.
    pub elapsed: Vec<f64>,
    /// Where each replay takes longer than the application.
    pub excess: Vec<Excess>,
    /// Of the time that the application's operations took together, the share of those that are `unusable`.
    pub unusable_share: f64,
    /// The interval of deviance: between which ratios of the time in operations a further replay lies, from three replays
    /// on, where that time is known.
    pub deviance: Option<(f64, f64)>,
}

/// Two-sided 95% quantiles of Student's t for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// What is known of the application beside its operations.
#[derive(Clone, Copy, Default)]
pub struct Known<'a> {
    /// What recording one call cost, in nanoseconds.
    pub cost_ns: u64,
    /// For how long operations of further runs of the application were in flight, in nanoseconds.
    pub further: &'a [u64],
    /// Ranks whose operations overlap.
    pub overlapping: &'a [u32],
}

/// Compares an application with its replays.
pub fn compare(application: &mut Side, replays: &mut [Side], known: Known<'_>) -> Fidelity {
    let cost_ns = known.cost_ns;
    let overlaps = |rank: u32| known.overlapping.contains(&rank);
    let sequences = application.sequences(&overlaps);
    let as_here = |replay: &mut Side| replay.sequences(&overlaps) == sequences;
    let same_order = (!sequences.is_empty()).then(|| replays.iter_mut().all(as_here));
    let mut names: Vec<String> = application.operations.keys().cloned().collect();
    for replay in replays.iter() {
        names.extend(
            replay.operations.keys().filter(|name| !application.operations.contains_key(*name)).cloned(),
        );
    }
    names.sort_unstable();
    names.dedup();
    for side in std::iter::once(&mut *application).chain(replays.iter_mut()) {
        for tally in side.operations.values_mut() {
            tally.durations.sort_unstable();
            tally.at_end.sort_unstable();
        }
    }
    let none = Tally::default();
    let mut found = Fidelity {
        rows: Vec::new(),
        same_calls: true,
        same_bytes: true,
        failures: 0,
        successes: 0,
        failed_as_recorded: 0,
        same_order,
        elapsed: replays.iter().map(|one| one.elapsed as f64 / application.elapsed.max(1) as f64).collect(),
        excess: Vec::new(),
        unusable_share: 0.0,
        deviance: None,
    };
    for name in names {
        let own = application.operations.get(&name).unwrap_or(&none);
        let theirs: Vec<&Tally> =
            replays.iter().map(|one| one.operations.get(&name).unwrap_or(&none)).collect();
        found.same_calls &= theirs.iter().all(|one| one.calls == own.calls);
        found.same_bytes &= theirs.iter().all(|one| one.bytes == own.bytes);
        for one in &theirs {
            found.failures += excess(&one.failed, &own.failed);
            found.successes += excess(&own.failed, &one.failed);
        }
        if let Some(one) = theirs.first() {
            found.failed_as_recorded += one.failed.values().sum::<u64>() - excess(&one.failed, &own.failed);
        }
        let first = theirs.first().map_or(&[][..], |one| one.typical());
        let medians = quantile(own.typical(), 0.5).zip(quantile(first, 0.5));
        let unusable = medians.is_some_and(|(own, theirs)| own < HIDES * cost_ns || own.min(theirs) == 0);
        found.rows.push(Compared {
            calls: (own.calls, theirs.iter().map(|one| one.calls).collect()),
            bytes: (own.bytes, theirs.iter().map(|one| one.bytes).collect()),
            medians,
            median: if unusable { None } else { ratio(own.typical(), first, 0.5) },
            p99: if unusable { None } else { ratio(own.typical(), first, 0.99) },
            unusable,
            command: name,
        });
    }
    let total = |name: &String| -> f64 {
        let tally = application.operations.get(name);
        tally.map_or(0.0, |tally| tally.total() as f64)
    };
    let all: f64 = found.rows.iter().map(|row| total(&row.command)).sum();
    let unusable: f64 = found.rows.iter().filter(|row| row.unusable).map(|row| total(&row.command)).sum();
    found.unusable_share = if all > 0.0 { unusable / all } else { 1.0 };
    let is_known = found.unusable_share <= LEAST_HIDDEN;
    let excess = |one: &Side| Excess::of(application, one, known.overlapping, is_known);
    found.excess = replays.iter().map(excess).collect();
    let own: Vec<f64> =
        std::iter::once(&application.busy()).chain(known.further).map(|busy| *busy as f64).collect();
    let theirs: Vec<f64> = replays.iter().map(|one| one.busy() as f64).collect();
    found.deviance = deviance(&own, &theirs).filter(|_| is_known);
    found
}

/// So many times what recording a call costs an operation must take to be told: one, such as a copy, may be several calls, and
/// what is taken off for them is an estimate.
pub const HIDES: u64 = 4;

/// Where recording hides more of the time in operations, that time is not known to 5%.
const LEAST_HIDDEN: f64 = 0.05;

/// How many failures of `one` are more than those of `other` with the same errno.
fn excess(one: &BTreeMap<i32, u64>, other: &BTreeMap<i32, u64>) -> u64 {
    one.iter().map(|(errno, count)| count.saturating_sub(other.get(errno).copied().unwrap_or(0))).sum()
}

/// The prediction interval of one more ratio, on the logarithms, by Student's t: of one more replay to the mean of the
/// application, or with several runs of the application of one more replay to one more run (Welch 1947).
fn deviance(application: &[f64], replays: &[f64]) -> Option<(f64, f64)> {
    if replays.len() < 3 || application.iter().chain(replays).any(|elapsed| *elapsed <= 0.0) {
        return None;
    }
    let (own, own_error) = log_mean(application);
    let (theirs, their_error) = log_mean(replays);
    let freedom = |error: f64, count: usize| error.powi(2) / (count.max(2) - 1) as f64;
    let by = freedom(own_error, application.len()) + freedom(their_error, replays.len());
    let degrees =
        if by > 0.0 { ((own_error + their_error).powi(2) / by) as usize } else { replays.len() - 1 };
    let student = STUDENT.get(degrees.max(1) - 1).copied().unwrap_or(1.96);
    let half = student * (own_error + their_error).sqrt();
    Some(((theirs - own - half).exp(), (theirs - own + half).exp()))
}

/// The mean of logarithms, and the variance of one more about it; 0 for a single value.
fn log_mean(values: &[f64]) -> (f64, f64) {
    let count = values.len();
    let mean = values.iter().map(|value| value.ln()).sum::<f64>() / count.max(1) as f64;
    if count < 2 {
        return (mean, 0.0);
    }
    let squares = values.iter().map(|value| (value.ln() - mean).powi(2)).sum::<f64>();
    (mean, squares / (count - 1) as f64 * (1.0 + 1.0 / count as f64))
}

/// The value with the share `at` of sorted values below it.
fn quantile(sorted: &[u64], at: f64) -> Option<u64> {
    let rank = (at * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// The values between which a quantile lies in 95 of 100 samples: by order statistics (Conover 1999, 3.2), whatever
/// the distribution.
fn bounds(sorted: &[u64], at: f64) -> Option<(u64, u64)> {
    let count = sorted.len() as f64;
    let half = 1.96 * (count * at * (1.0 - at)).sqrt();
    let low = (count * at - half).floor() - 1.0;
    let high = (count * at + half).ceil();
    if low < 0.0 || high >= count {
        return None;
    }
    Some((sorted[low as usize], sorted[high as usize]))
}

/// The ratio of a quantile of the replay to that of the application; the interval is that of both quantiles' bounds.
fn ratio(application: &[u64], replay: &[u64], at: f64) -> Option<Ratio> {
    let (own, theirs) = (quantile(application, at)?, quantile(replay, at)?);
    let by = |up: u64, down: u64| up as f64 / down.max(1) as f64;
    let interval = bounds(application, at).zip(bounds(replay, at));
    let interval = interval.map(|((low, high), (from, to))| (by(from, high), by(to, low)));
    Some(Ratio { value: by(theirs, own), interval })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(count: u64, duration: u64) -> Side {
        let mut side = Side::default();
        for at in 0..count {
            let duration = Some(duration + at % 7);
            side.add(&Done { command: "fread", start: at * 1000, duration, bytes: 10, errno: 0, rank: 0 });
        }
        side
    }

    #[test]
    fn equal_sides_have_ratios_of_one() {
        let found =
            compare(&mut side(400, 500), &mut [side(400, 500)], Known { cost_ns: 100, ..Known::default() });
        assert!(
            found.same_calls && found.same_bytes && found.failures == 0 && found.same_order == Some(true)
        );
        let median = found.rows[0].median.unwrap();
        let (low, high) = median.interval.unwrap();
        assert!(median.value == 1.0 && low <= 1.0 && high >= 1.0 && low > 0.9 && high < 1.1);
        assert_eq!(found.deviance, None);
    }

    #[test]
    fn reads_at_the_end_of_a_file_do_not_set_the_median() {
        // Each file is read once, and once more to find its end, which is ten times as quick; the replay finds it slowly.
        let of = |at_end: u64| {
            let mut side = side(100, 5_000);
            for at in 0..100 {
                let duration = Some(at_end);
                let start = 1_000_000 + at * 10_000;
                side.add(&Done { command: "fread", start, duration, bytes: 0, errno: 0, rank: 0 });
            }
            side
        };
        let found = compare(&mut of(500), &mut [of(9_000)], Known { cost_ns: 100, ..Known::default() });
        assert_eq!(found.rows[0].calls, (200, vec![200]));
        assert_eq!(found.rows[0].median.map(|ratio| ratio.value), Some(1.0));
        // Their time is in the sum all the same.
        assert!(found.excess[0].by_operation[0].1 >= 100 * 8_000, "{:?}", found.excess[0].by_operation);
    }

    #[test]
    fn what_recording_drowns_is_not_compared() {
        let found =
            compare(&mut side(400, 500), &mut [side(399, 900)], Known { cost_ns: 9000, ..Known::default() });
        assert!(!found.same_calls && found.rows[0].unusable && found.rows[0].median.is_none());
        assert_eq!((found.unusable_share, found.excess[0].within), (1.0, None));
    }

    #[test]
    fn durations_below_the_step_of_a_clock_are_not_compared() {
        let zero = |count| {
            let mut side = Side::default();
            for at in 0..count {
                side.add(&Done {
                    command: "stat",
                    start: at,
                    duration: Some(0),
                    bytes: 0,
                    errno: 0,
                    rank: 0,
                });
            }
            side
        };
        let found = compare(&mut zero(400), &mut [side(400, 900)], Known::default());
        assert!(found.rows.iter().any(|row| row.command == "stat") && found.excess[0].within.is_none());
        let found = compare(&mut zero(400), &mut [zero(400)], Known::default());
        assert!(found.rows[0].unusable && found.rows[0].median.is_none());
    }

    #[test]
    fn three_replays_give_an_interval_of_deviance() {
        let (low, high) = deviance(&[1.0], &[1.0, 1.1, 0.9]).unwrap();
        assert!(low < 0.9 && high > 1.1);
        let (low, high) = deviance(&[1.0], &[2.0, 2.0, 2.0]).unwrap();
        assert!((low - 2.0).abs() < 1e-12 && (high - 2.0).abs() < 1e-12);
        // Runs of the application that differ make it wider.
        let (wide, wider) = deviance(&[1.0, 1.2, 0.85], &[1.0, 1.1, 0.9]).unwrap();
        let (narrow, narrower) = deviance(&[1.0], &[1.0, 1.1, 0.9]).unwrap();
        assert!(wider / wide > narrower / narrow);
        assert_eq!(deviance(&[1.0], &[1.0, 1.1]), None);
    }

    #[test]
    fn failures_are_the_same_where_their_errnos_are() {
        let side = |errnos: [i32; 3]| {
            let mut side = Side::default();
            for (at, errno) in (0..).zip(errnos) {
                side.add(&Done { command: "stat", start: at, duration: Some(1), bytes: 0, errno, rank: 0 });
            }
            side
        };
        let found = |replay: [i32; 3]| {
            let found = compare(&mut side([2, 2, 0]), &mut [side(replay)], Known::default());
            (found.failed_as_recorded, found.failures, found.successes)
        };
        assert_eq!(found([2, 2, 0]), (2, 0, 0));
        assert_eq!(found([2, 0, 0]), (1, 0, 1));
        assert_eq!(found([2, 13, 2]), (2, 1, 0));
        assert_eq!(found([2, 13, 0]), (1, 1, 1));
    }

    #[test]
    fn another_order_of_the_same_operations_is_found() {
        let side = |commands: [&str; 2]| {
            let mut side = Side::default();
            for (at, command) in commands.into_iter().enumerate() {
                let start = at as u64 * 10;
                side.add(&Done { command, start, duration: Some(5), bytes: 0, errno: 0, rank: 3 });
            }
            side
        };
        let order = |overlapping: &[u32]| {
            let known = Known { overlapping, ..Known::default() };
            compare(&mut side(["fsync", "fclose"]), &mut [side(["fclose", "fsync"])], known).same_order
        };
        assert_eq!((order(&[]), order(&[3])), (Some(false), None));
    }

    #[test]
    fn a_side_over_time_has_each_operation_in_its_bins() {
        let mut all = Side::default();
        for (start, duration, bytes) in [(100, 50, 8), (110, 190, 4), (390, 10, 2)] {
            let done = Done { command: "fread", start, duration: Some(duration), bytes, errno: 0, rank: 0 };
            all.add(&done);
        }
        let found = all.over_time(100);
        assert_eq!((found.operations, found.bytes), (vec![2, 0, 1, 0], vec![12, 0, 2, 0]));
        assert_eq!(found.in_flight, [1.4, 1.0, 0.1, 0.0]);
        assert!((all.in_flight() - 250.0 / 300.0).abs() < 1e-12);
        assert_eq!(all.busy(), 210);
    }
}
