//! Compares several runs a side: the run is the unit, so that what differs from run to run is in the interval.

use serde::{Deserialize, Serialize};

use super::answer::TOO_SMALL_TO_MATTER;
use super::{ComparisonCode, Estimate};
use crate::special::{beta_quantile, student_two_sided};
use crate::{Error, Interval, argument, lagged};

/// How many times as long the new runs take, from one number of each run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SeveralRuns {
    /// Runs of the baseline and of the new side.
    pub runs: [usize; 2],
    /// Geometric means of both.
    pub means: [f64; 2],
    /// Ratio of the geometric means, with the interval of Welch (1947) on logarithms.
    pub ratio: Estimate,
    /// Two-sided p-value of equal means.
    pub p: f64,
    /// Standard deviation of the logarithms from run to run, of both sides: 0.02 is 2%.
    pub between_runs: [f64; 2],
    /// What it comes to: no difference, slower or faster.
    pub code: ComparisonCode,
}

impl SeveralRuns {
    /// Whether the whole interval is too close to 1 to matter.
    pub fn is_negligible(&self) -> bool {
        let Interval { lower, upper, .. } = self.ratio.interval;
        lower >= 1.0 / (1.0 + TOO_SMALL_TO_MATTER) && upper <= 1.0 + TOO_SMALL_TO_MATTER
    }
}

/// Compares one positive number of each baseline run with one of each new run.
///
/// # Errors
/// [`Error::TooFew`] below two runs a side, [`Error::Support`] of a number that is not positive, [`Error::Parameter`].
pub fn several(baseline: &[f64], new: &[f64], level: f64) -> Result<SeveralRuns, Error> {
    argument::confidence_level(level)?;
    let sides = [baseline, new];
    for side in sides {
        if side.len() < 2 {
            return Err(Error::TooFew { found: side.len(), needed: 2 });
        }
        if side.iter().any(|value| !(*value > 0.0 && value.is_finite())) {
            return Err(Error::Support { model: "a ratio", needs: "positive durations" });
        }
    }
    let logs = sides.map(|side| side.iter().map(|value| value.ln()).collect::<Vec<f64>>());
    let means = logs.each_ref().map(|logs| lagged::mean(logs));
    let variances = [0, 1].map(|at| {
        let squares: f64 = logs[at].iter().map(|log| (log - means[at]).powi(2)).sum();
        squares / (logs[at].len() - 1) as f64
    });
    let of = [0, 1].map(|at| variances[at] / logs[at].len() as f64);
    let all = of[0] + of[1];
    let smaller = [0, 1].map(|at| of[at] * of[at] / (logs[at].len() - 1) as f64);
    let freedom = if all > 0.0 { all * all / (smaller[0] + smaller[1]) } else { 1.0 };
    let difference = means[1] - means[0];
    let p = match (all > 0.0, difference == 0.0) {
        (true, _) => student_two_sided(difference / all.sqrt(), freedom),
        (false, true) => 1.0,
        (false, false) => 0.0,
    };
    let half = student_quantile(level, freedom) * all.sqrt();
    let code = match (p < 1.0 - level, difference > 0.0) {
        (false, _) => ComparisonCode::NoDifference,
        (true, true) => ComparisonCode::Slower,
        (true, false) => ComparisonCode::Faster,
    };
    let interval = Interval::new((difference - half).exp(), (difference + half).exp(), level);
    Ok(SeveralRuns {
        runs: sides.map(<[f64]>::len),
        means: means.map(f64::exp),
        ratio: Estimate { value: difference.exp(), interval },
        p,
        between_runs: variances.map(f64::sqrt),
        code,
    })
}

/// The quantile of Student's t that leaves `1 - level` on both sides.
fn student_quantile(level: f64, freedom: f64) -> f64 {
    // t² = freedom (1 - x) / x with x of a beta distribution.
    let x = beta_quantile(0.5 * freedom, 0.5, 1.0 - level);
    (freedom * (1.0 - x) / x).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    #[test]
    fn the_quantile_is_that_of_tables() {
        for (freedom, wanted) in [(4.0, 2.776_445), (1.0, 12.706_205), (30.0, 2.042_272)] {
            assert!((student_quantile(0.95, freedom) - wanted).abs() < 1e-5, "{freedom}");
        }
    }

    #[test]
    fn what_differs_from_run_to_run_is_in_the_interval() {
        let mut random = Xoshiro::new(5);
        let (pairs, mut found) = (400, 0);
        for _ in 0..pairs {
            let mut side =
                |n: usize| -> Vec<f64> { (0..n).map(|_| (0.05 * random.normal()).exp()).collect() };
            let (baseline, new) = (side(5), side(4));
            found +=
                usize::from(several(&baseline, &new, 0.95).unwrap().code != ComparisonCode::NoDifference);
        }
        // 20 expected of 400, a standard deviation of 4.4; Welch's test is a little below its level.
        assert!((6..=33).contains(&found), "{found} of {pairs}");
        let slower = several(&[1.0, 1.01, 0.99], &[1.2, 1.22, 1.19], 0.95).unwrap();
        assert_eq!(slower.code, ComparisonCode::Slower);
        assert!(slower.ratio.interval.contains(1.2) && slower.ratio.interval.lower > 1.1, "{slower:?}");
        assert!(
            several(&[1.0], &[1.0, 2.0], 0.95).is_err() && several(&[1.0, 0.0], &[1.0, 2.0], 0.95).is_err()
        );
    }
}
