//! The course of a row over time: bins of equal length that share work out by overlap, so that sums are exact.

use serde::Serialize;

use crate::timeline::Interval;

/// Most bins of a series; too few operations make fewer and longer ones.
const MOST_BINS: i64 = 120;

/// Operations that a bin holds on average at least.
const FEWEST_IN_A_BIN: i64 = 20;

/// A row over time, in bins of equal length; all lists have one entry a bin. A bin without operations is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// Length of a bin: 1, 2 or 5 times a power of ten seconds.
    pub bin_seconds: f64,
    /// When the first bin begins, since the run's epoch on the common clock.
    pub begin_seconds: f64,
    /// Successful operations, each shared out over the bins in which it was under way.
    pub operations: Vec<f64>,
    /// Bytes of successful operations, shared out likewise; they add up to those of the row.
    pub bytes: Vec<u64>,
    /// Successful operations that ended in the bin. 0 with a depth above 0 is a stall.
    pub completed: Vec<u64>,
    /// Operations that failed in the bin.
    pub errors: Vec<u64>,
    /// The longest that ended in the bin; 0 of none.
    pub longest_seconds: Vec<f64>,
    /// Operations under way on average.
    pub depth: Vec<f64>,
    /// How much of the last bin lies in the row.
    #[serde(skip)]
    pub last_seconds: f64,
}

/// One operation as a series takes it.
pub(crate) struct Work {
    pub at: Interval,
    pub operations: u64,
    pub bytes: u64,
    pub failed: bool,
}

impl Series {
    /// An empty series for `n` operations with bins as long as suits them; none of so few that there would be no three.
    pub(crate) fn for_work(n: u64, around: Interval, uncertainty_ps: i64) -> Option<Filling> {
        let bin = bin_length(around.length(), i64::try_from(n).unwrap_or(i64::MAX), uncertainty_ps);
        (bin > 0 && around.length() / bin >= 2).then(|| Filling::new(around, bin))
    }

    /// Operations a second in each bin; the last, which is not whole, left out where there are others.
    pub fn rates(&self) -> Vec<f64> {
        let whole = self.operations.len().saturating_sub(1).max(1);
        self.operations[..whole.min(self.operations.len())].iter().map(|n| n / self.bin_seconds).collect()
    }

    /// The same with all operations: the last bin by its own time, or together with the one before where it is short.
    pub fn rates_to_the_end(&self) -> Vec<f64> {
        let mut rates = self.rates();
        let (Some(last), Some(before)) = (self.operations.last(), rates.last_mut()) else { return rates };
        if self.operations.len() < 2 || self.last_seconds <= 0.0 {
            return rates;
        }
        if 2.0 * self.last_seconds >= self.bin_seconds {
            rates.push(last / self.last_seconds);
        } else {
            let both = self.bin_seconds + self.last_seconds;
            *before = (*before * self.bin_seconds + last) / both;
        }
        rates
    }
}

/// A series that is being filled.
pub(crate) struct Filling {
    series: Series,
    begin: i64,
    bin: i64,
    /// The bin in which the operation before began, and the moments around it.
    before: (usize, std::ops::Range<i64>),
}

impl Filling {
    /// With bins of `bin` picoseconds, the first of which begins with the first operation.
    fn new(around: Interval, bin: i64) -> Filling {
        let count = (around.length().max(1) as u64).div_ceil(bin as u64) as usize;
        let series = Series {
            bin_seconds: bin as f64 * 1e-12,
            begin_seconds: around.begin() as f64 * 1e-12,
            operations: vec![0.0; count],
            bytes: vec![0; count],
            completed: vec![0; count],
            errors: vec![0; count],
            longest_seconds: vec![0.0; count],
            depth: vec![0.0; count],
            last_seconds: (around.length() - (count as i64 - 1) * bin) as f64 * 1e-12,
        };
        Filling { series, begin: around.begin(), bin, before: (0, 0..0) }
    }

    /// The series, when all operations are in it.
    pub fn finish(mut self) -> Series {
        self.series.depth.iter_mut().for_each(|time| *time /= self.bin as f64);
        self.series
    }

    /// Adds an operation.
    pub fn add(&mut self, one: &Work) {
        let (begin, bin) = (self.begin, self.bin);
        let found = &mut self.series;
        let last = found.completed.len() - 1;
        let bin_of = |moment: i64| (((moment - begin) / bin) as usize).min(last);
        // Mostly it begins and ends in the bin in which the one before began, which takes no division.
        if !self.before.1.contains(&one.at.begin()) {
            let from = bin_of(one.at.begin());
            let start = begin + from as i64 * bin;
            self.before = (from, start..if from == last { i64::MAX } else { start + bin });
        }
        let from = self.before.0;
        let to = if self.before.1.contains(&one.at.end()) { from } else { bin_of(one.at.end()) };
        if one.failed {
            found.errors[to] += 1;
        } else {
            found.completed[to] += one.operations;
            found.longest_seconds[to] = found.longest_seconds[to].max(one.at.length() as f64 * 1e-12);
        }
        let length = one.at.length().max(1);
        let (mut done, mut given) = (0, 0);
        for at in from..=to {
            let end = if at == to { one.at.end() } else { begin + (at as i64 + 1) * bin };
            let inside = end - one.at.begin() - done;
            done += inside;
            let share = if at == to { 1.0 } else { done as f64 / length as f64 };
            found.depth[at] += inside as f64;
            if !one.failed {
                // By the floor of the cumulative share, so that the parts add up to the whole.
                let until = if at == to { one.bytes } else { (one.bytes as f64 * share) as u64 };
                found.bytes[at] += until.saturating_sub(given);
                given = given.max(until);
                let part = if from == to { 1.0 } else { inside as f64 / length as f64 };
                found.operations[at] += one.operations as f64 * part;
            }
        }
    }
}

/// The length of a bin in picoseconds: 1, 2 or 5 times a power of ten; 0 where there is nothing to divide.
fn bin_length(length: i64, n: i64, uncertainty_ps: i64) -> i64 {
    let least = (length / MOST_BINS).max(uncertainty_ps.saturating_mul(4)).max(if n > 0 {
        (length / n).saturating_mul(FEWEST_IN_A_BIN)
    } else {
        length
    });
    if least <= 0 {
        return 0;
    }
    let mut power = 1_i64;
    loop {
        for step in [1, 2, 5] {
            match power.checked_mul(step) {
                Some(bin) if bin >= least => return bin,
                Some(_) => {}
                None => return 0,
            }
        }
        match power.checked_mul(10) {
            Some(next) => power = next,
            None => return 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: i64 = 1_000_000_000;

    fn work(start_ms: i64, ms: i64, bytes: u64) -> Work {
        let at = Interval::new(start_ms * MS, (start_ms + ms) * MS, 0);
        Work { at, operations: 1, bytes, failed: false }
    }

    fn around(all: &[Work]) -> Interval {
        all.iter().map(|one| one.at).reduce(Interval::joined).unwrap()
    }

    fn with_bins(all: &[Work], whole: Interval, bin: i64) -> Series {
        let mut found = Filling::new(whole, bin);
        all.iter().for_each(|one| found.add(one));
        found.finish()
    }

    #[test]
    fn sixteen_in_flight_share_the_bins_and_the_last_is_closed() {
        let all: Vec<Work> = (0..160).map(|n| work(n / 16 * 10, 10, 4096)).collect();
        let whole = around(&all);
        let found = with_bins(&all, whole, 50 * MS);
        assert_eq!(found.operations, [80.0, 80.0]);
        assert_eq!(found.completed, [64, 96]);
        assert_eq!(found.bytes.iter().sum::<u64>(), 160 * 4096);
        assert_eq!(found.depth, [16.0, 16.0]);
    }

    #[test]
    fn rates_to_the_end_leave_no_operation_out() {
        // Bins of 50 ms: two whole ones of 5 operations, and one of 30 ms, or of 10, with 30.
        for (ms, wanted) in [(1, vec![100.0, 100.0, 1_000.0]), (0, vec![100.0, 35.0 / 0.06])] {
            let slow = (0..10).map(|n| work(10 * n, 10, 0));
            let fast = (0..30).map(|n| work(100 + if ms > 0 { n } else { n / 3 }, 1, 0));
            let all: Vec<Work> = slow.chain(fast).collect();
            let found = with_bins(&all, around(&all), 50 * MS);
            let rates = found.rates_to_the_end();
            assert_eq!(found.rates().len(), 2);
            assert_eq!(rates.len(), wanted.len());
            assert!(rates.iter().zip(&wanted).all(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{rates:?}");
        }
    }

    #[test]
    fn a_stall_is_a_bin_of_nothing_completed_with_work_under_way() {
        let all = [work(0, 5, 8), work(5, 95, 8), work(100, 5, 8)];
        let whole = around(&all);
        let found = with_bins(&all, whole, 20 * MS);
        assert_eq!(found.completed, [1, 0, 0, 0, 0, 2]);
        assert!(found.depth[1..5].iter().all(|depth| (*depth - 1.0).abs() < 1e-9));
        assert_eq!(found.longest_seconds[5], 0.095);
    }

    #[test]
    fn bins_have_a_round_length_and_hold_twenty_operations() {
        assert_eq!(bin_length(100_000 * MS, 1_000_000, 0), 1_000 * MS);
        assert_eq!(bin_length(100_000 * MS, 400, 0), 5_000 * MS);
        assert_eq!(bin_length(100 * MS, 1_000_000, 3 * MS), 20 * MS);
        assert_eq!(bin_length(0, 5, 0), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn sums_are_exact(
            list in proptest::collection::vec(
                (0i64..500, 1i64..90, 0u64..1 << 40, proptest::bool::weighted(0.2)), 1..80
            ),
            bin in 1i64..70
        ) {
            let of = |(start, length, bytes, failed): &(i64, i64, u64, bool)| {
                Work { failed: *failed, ..work(*start, *length, *bytes) }
            };
            let all: Vec<Work> = list.iter().map(of).collect();
            let whole = around(&all);
            let good = || all.iter().filter(|one| !one.failed);
            let time: i64 = all.iter().map(|one| one.at.length()).sum();
            let n = good().count();
            let found = with_bins(&all, whole, bin * MS);
            prop_assert_eq!(found.bytes.iter().sum::<u64>(), good().map(|one| one.bytes).sum::<u64>());
            prop_assert_eq!(found.errors.iter().sum::<u64>(), (all.len() - n) as u64);
            prop_assert_eq!(found.completed.iter().sum::<u64>(), n as u64);
            prop_assert!((found.operations.iter().sum::<f64>() - n as f64).abs() <= 1e-9 * n as f64);
            let depth: f64 = found.depth.iter().sum::<f64>() * found.bin_seconds * 1e12;
            prop_assert!((depth - time as f64).abs() < 1e-6 * time as f64);
        }
    }
}
