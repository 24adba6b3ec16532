//! Compares an application with replays of its program: the same operations and bytes, how long they took.

use std::collections::BTreeMap;

use crate::model::{IMPLIED, Op, Trace};

/// Operations of one kind of one side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many operations.
    pub calls: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// How long each took, in nanoseconds; sorted when it is compared.
    pub durations: Vec<u64>,
}

/// The operations of one side: the application or a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// By the language's command.
    pub operations: BTreeMap<String, Tally>,
    /// From the beginning of the first operation to the end of the last, in nanoseconds.
    pub elapsed: u64,
    first: Option<u64>,
    last: u64,
}

/// One operation of a side; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Done<'a> {
    /// The language's command.
    pub command: &'a str,
    /// When it began.
    pub start: u64,
    /// How long it took; `None` where that is not known.
    pub duration: Option<u64>,
    /// Bytes that it moved.
    pub bytes: u64,
    /// Whether it failed.
    pub failed: bool,
}

impl Side {
    /// Adds an operation.
    pub fn add(&mut self, done: &Done<'_>) {
        if !self.operations.contains_key(done.command) {
            self.operations.insert(done.command.to_owned(), Tally::default());
        }
        let Some(tally) = self.operations.get_mut(done.command) else { return };
        tally.calls += 1;
        tally.failed += u64::from(done.failed);
        tally.bytes += done.bytes;
        tally.durations.extend(done.duration);
        let end = done.start.saturating_add(done.duration.unwrap_or(0));
        let first = self.first.map_or(done.start, |first| first.min(done.start));
        self.first = Some(first);
        self.last = self.last.max(end);
        self.elapsed = self.last.saturating_sub(first);
    }

    /// What the calls `done` of an application were, by their indices.
    pub fn of_trace(trace: &Trace, done: &[u32]) -> Self {
        let mut side = Self::default();
        for at in done {
            let call = trace.calls.get(*at as usize);
            let implied = call.op == Op::Close && call.flags & IMPLIED != 0;
            side.add(&Done {
                command: call.op.command().unwrap_or(call.op.word()),
                start: call.start,
                duration: (!implied).then_some(call.duration),
                bytes: if matches!(call.op, Op::Read | Op::Write) { call.bytes } else { 0 },
                failed: call.errno != 0,
            });
        }
        side
    }
}

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
    /// Whether the durations of the application are shorter than what recording costs, so that they say nothing.
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
    /// Operations of replays that failed although those of the application did not.
    pub failures: u64,
    /// Elapsed time of replay by that of the application, of each replay.
    pub elapsed: Vec<f64>,
    /// The interval of deviance: between which ratios of elapsed time a further replay lies, from three replays on.
    pub deviance: Option<(f64, f64)>,
}

/// Two-sided 95 % quantiles of Student's t for 2 to 30 degrees of freedom.
const STUDENT: [f64; 29] = [
    4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// Compares an application with its replays. Recording one call cost `cost_ns`.
pub fn compare(application: &mut Side, replays: &mut [Side], cost_ns: u64) -> Fidelity {
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
        }
    }
    let none = Tally::default();
    let mut found = Fidelity {
        rows: Vec::new(),
        same_calls: true,
        same_bytes: true,
        failures: 0,
        elapsed: replays.iter().map(|one| one.elapsed as f64 / application.elapsed.max(1) as f64).collect(),
        deviance: None,
    };
    for name in names {
        let own = application.operations.get(&name).unwrap_or(&none);
        let theirs: Vec<&Tally> =
            replays.iter().map(|one| one.operations.get(&name).unwrap_or(&none)).collect();
        found.same_calls &= theirs.iter().all(|one| one.calls == own.calls);
        found.same_bytes &= theirs.iter().all(|one| one.bytes == own.bytes);
        found.failures += theirs.iter().map(|one| one.failed.saturating_sub(own.failed)).sum::<u64>();
        let first = theirs.first().map_or(&[][..], |one| one.durations.as_slice());
        let medians = quantile(&own.durations, 0.5).zip(quantile(first, 0.5));
        let unusable = medians.is_some_and(|(median, _)| median < cost_ns);
        found.rows.push(Compared {
            calls: (own.calls, theirs.iter().map(|one| one.calls).collect()),
            bytes: (own.bytes, theirs.iter().map(|one| one.bytes).collect()),
            medians,
            median: if unusable { None } else { ratio(&own.durations, first, 0.5) },
            p99: if unusable { None } else { ratio(&own.durations, first, 0.99) },
            unusable,
            command: name,
        });
    }
    found.deviance = deviance(&found.elapsed);
    found
}

/// The prediction interval of one more ratio, on the logarithms, by Student's t.
fn deviance(ratios: &[f64]) -> Option<(f64, f64)> {
    let count = ratios.len();
    if count < 3 || ratios.iter().any(|ratio| *ratio <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let mean = logs.iter().sum::<f64>() / count as f64;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
    let student = STUDENT.get(count - 3).copied().unwrap_or(1.96);
    let half = student * (variance * (1.0 + 1.0 / count as f64)).sqrt();
    Some(((mean - half).exp(), (mean + half).exp()))
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
            side.add(&Done { command: "fread", start: at * 1000, duration, bytes: 10, failed: false });
        }
        side
    }

    #[test]
    fn equal_sides_have_ratios_of_one() {
        let found = compare(&mut side(400, 500), &mut [side(400, 500)], 100);
        assert!(found.same_calls && found.same_bytes && found.failures == 0);
        let median = found.rows[0].median.unwrap();
        let (low, high) = median.interval.unwrap();
        assert!(median.value == 1.0 && low <= 1.0 && high >= 1.0 && low > 0.9 && high < 1.1);
        assert_eq!(found.deviance, None);
    }

    #[test]
    fn what_recording_drowns_is_not_compared() {
        let found = compare(&mut side(400, 500), &mut [side(399, 900)], 9000);
        assert!(!found.same_calls && found.rows[0].unusable && found.rows[0].median.is_none());
    }

    #[test]
    fn three_replays_give_an_interval_of_deviance() {
        let (low, high) = deviance(&[1.0, 1.1, 0.9]).unwrap();
        assert!(low < 0.9 && high > 1.1);
        let (low, high) = deviance(&[2.0, 2.0, 2.0]).unwrap();
        assert!((low - 2.0).abs() < 1e-12 && (high - 2.0).abs() < 1e-12);
    }
}
