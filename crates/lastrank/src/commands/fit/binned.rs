//! The distribution that counts of bins tell, or why they tell none.

use intake::Histogram;
use serde_json::{Value, json};
use tail::binned::{BinnedLikelihood, BinnedTest, CountedBin};
use tail::gev::{GevFit, GevTarget};
use tail::{Interval, Status};

/// Probability below which the bins are not those of the distribution.
const REJECTED: f64 = 0.05;

/// A distribution of the values in bins, in seconds where the unit is known.
pub struct BinnedDistribution {
    pub fit: GevFit,
    /// Of location, scale and shape.
    pub intervals: [Interval; 3],
    pub levels: Vec<BinnedLevel>,
    pub test: BinnedTest,
    /// Width of the widest bounded bin above the median.
    pub widest: Option<f64>,
    /// Values of bins without an upper bound.
    pub beyond: u64,
}

/// The level that one in so many values exceeds.
pub struct BinnedLevel {
    pub period: f64,
    pub level: f64,
    pub interval: Interval,
}

impl BinnedDistribution {
    /// Of the bins of a file, whose bounds are multiplied by `scale`; an error is why there is none.
    pub fn of(
        found: &Histogram,
        scale: f64,
        periods: &[f64],
        level: f64,
    ) -> Result<BinnedDistribution, String> {
        let bins = continuous(found, scale);
        let likelihood = BinnedLikelihood::new(&bins).map_err(|why| why.to_string())?;
        let fit = likelihood.fit();
        if fit.status != Status::Ok {
            return Err("the likelihood of the bins has no maximum inside of the parameters".into());
        }
        let test =
            likelihood.test(&fit.distribution()).ok_or("too few bins are left to test a distribution by")?;
        let interval = |target| {
            likelihood.profile(&fit, target, level).map_err(|why| format!("no interval is found: {why}"))
        };
        let intervals =
            [interval(GevTarget::Location)?, interval(GevTarget::Scale)?, interval(GevTarget::Shape)?];
        let mut levels = Vec::new();
        for &period in periods {
            let estimate = fit.return_level(period).map_err(|why| why.to_string())?;
            let interval = interval(GevTarget::ReturnLevel(period))?;
            levels.push(BinnedLevel { period, level: estimate.level, interval });
        }
        let median = fit.center;
        let upper = bins.iter().filter(|bin| bin.high.is_finite() && bin.low >= median);
        let widest = upper.map(|bin| bin.high - bin.low).max_by(f64::total_cmp);
        let beyond = found.bins.iter().filter(|bin| bin.high == f64::INFINITY).map(|bin| bin.count).sum();
        Ok(BinnedDistribution { fit, intervals, levels, test, widest, beyond })
    }

    /// Whether the bins are not those of the distribution.
    pub fn is_rejected(&self) -> bool {
        self.test.p < REJECTED
    }

    /// For `--json`.
    pub fn object(&self) -> Value {
        let estimate = |value: f64, interval: &Interval| json!({"value": value, "interval": interval});
        let [location, scale, shape] = &self.intervals;
        json!({
            "location": estimate(self.fit.location, location),
            "scale": estimate(self.fit.scale, scale),
            "shape": estimate(self.fit.shape, shape),
            "test": self.test,
            "rejected": self.is_rejected(),
            "levels": self.levels.iter().map(|one| json!({
                "period": one.period,
                "level": one.level,
                "interval": one.interval,
            })).collect::<Vec<_>>(),
        })
    }
}

/// The bins as those of a continuous distribution. Whole numbers are cut: 7 is from 7 to 8, and a bin that ends with 15 reaches to
/// the 16 where the next one begins.
fn continuous(found: &Histogram, scale: f64) -> Vec<CountedBin> {
    let is_whole = |bound: f64| bound.is_infinite() || bound.fract() == 0.0;
    let all_whole = found.bins.iter().all(|bin| is_whole(bin.low) && is_whole(bin.high));
    let mut bins: Vec<CountedBin> = Vec::with_capacity(found.bins.len());
    for (at, bin) in found.bins.iter().enumerate() {
        let next = found.bins.get(at + 1).map_or(f64::INFINITY, |next| next.low);
        let is_cut = all_whole && bin.high.is_finite() && (bin.low == bin.high || next == bin.high + 1.0);
        let high = if is_cut { (bin.high + 1.0).min(next.max(bin.high)) } else { bin.high };
        bins.push(CountedBin { low: bin.low * scale, high: high * scale, count: bin.count });
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use intake::Bin;

    #[test]
    fn whole_numbers_are_cut_ones() {
        let bin = |low: f64, high: f64| Bin { low, high, count: 1 };
        let of = |bins: Vec<Bin>| {
            let found = Histogram { bins, ..Histogram::default() };
            continuous(&found, 10.0).into_iter().map(|bin| [bin.low, bin.high]).collect::<Vec<_>>()
        };
        // bpftrace: [1], [2, 4), [4, 8).
        assert_eq!(
            of(vec![bin(1.0, 1.0), bin(2.0, 4.0), bin(4.0, 8.0)]),
            [[10.0, 20.0], [20.0, 40.0], [40.0, 80.0]]
        );
        // fio, HdrHistogram: 7, 8 to 9, 10 to 11, and a gap.
        assert_eq!(
            of(vec![bin(7.0, 7.0), bin(8.0, 9.0), bin(10.0, 11.0), bin(16.0, 19.0)]),
            [[70.0, 80.0], [80.0, 100.0], [100.0, 110.0], [160.0, 190.0]]
        );
        // Bounds of times stay.
        assert_eq!(of(vec![bin(0.5, 1.0), bin(1.0, 2.5)]), [[5.0, 10.0], [10.0, 25.0]]);
    }
}
