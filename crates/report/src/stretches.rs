//! The stretches of a series whose level changes: each is looked at by itself.

use results::{QuantileInterval, Quantiles};
use serde::Serialize;
use tail::assess::{AssessOptions, Assessment, assess_clean};
use tail::independence::{Independence, Question};
use tail::verdict::VerdictCode;
use tail::{Gev, Series};

use crate::processors::each;

/// Fewest values of a stretch that gets a distribution.
const FEWEST: usize = 50;

/// Most values of a stretch that gets a distribution: of more no distribution is exact, and refits take minutes.
const MOST: usize = 100_000;

/// Stretches that get a distribution: the newest.
const FITTED: usize = 4;

/// Level of the tests of a stretch without a distribution.
const SIGNIFICANCE: f64 = 0.05;

/// Refits behind the verdict of a stretch.
const REFITS: usize = 199;

/// Consecutive values between two changes of the level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stretch {
    /// The first value of it, from 1.
    pub from: usize,
    /// Values in it.
    pub n: usize,
    /// Its quantiles, in the unit of the values.
    pub quantiles: Option<Quantiles>,
    /// Their intervals, which need no distribution.
    pub intervals: Vec<QuantileInterval>,
    /// Its distribution of maxima; none of fewer than 50 or more than 100,000 values, and of the newest four stretches only.
    #[serde(rename = "law")]
    pub distribution: Option<Gev>,
    /// What the distribution is worth.
    pub verdict: Option<VerdictCode>,
    /// Whether it is long enough to see that its level neither jumps nor creeps, and does not.
    pub level_holds: bool,
}

impl Stretch {
    /// The stretches between the changes of the level that `found` names, the newest first; empty where it names none. With
    /// the values goes who took each; nobody where one did.
    pub fn all(
        found: &Assessment,
        (values, takers): (&[f64], &[u32]),
        options: &AssessOptions,
    ) -> Vec<Stretch> {
        let segments = found.diagnostics.independence.segments.iter();
        let mut ends: Vec<usize> =
            segments.map(|segment| segment.start).filter(|at| (1..values.len()).contains(at)).collect();
        if ends.is_empty() {
            return Vec::new();
        }
        ends.extend([0, values.len()]);
        ends.sort_unstable();
        ends.dedup();
        let options = AssessOptions { bootstrap: REFITS.min(options.bootstrap), ..options.clone() };
        let newest = ends.len() - 1;
        each(newest, |age| {
            let distribution = (age < FITTED).then_some(&options);
            let part = ends[newest - 1 - age]..ends[newest - age];
            let own = takers.get(part.clone()).unwrap_or_default();
            Stretch::of(part.start, (&values[part], own), distribution)
        })
    }

    /// The stretch of values from the index `begin` on, with a distribution where there are options for one.
    fn of(begin: usize, (values, takers): (&[f64], &[u32]), distribution: Option<&AssessOptions>) -> Stretch {
        let (quantiles, intervals) = results::of_values_taken_by(values, takers);
        let series = Series::taken_by(values, takers);
        let distribution = distribution.filter(|_| (FEWEST..=MOST).contains(&values.len()));
        let found = distribution.and_then(|options| assess_clean(&series, values, options).ok());
        let own = (found.is_none() && values.len() >= FEWEST)
            .then(|| tail::independence::check_series(&series, SIGNIFICANCE).ok())
            .flatten();
        let tests = found.as_ref().map(|found| &found.diagnostics.independence).or(own.as_ref());
        let changes = |tests: &Independence| {
            tests.rejected().any(|test| matches!(test.question, Question::Jump | Question::Trend))
        };
        Stretch {
            from: begin + 1,
            n: values.len(),
            quantiles,
            intervals,
            distribution: found.as_ref().map(Assessment::distribution),
            level_holds: tests.is_some_and(|tests| !changes(tests)),
            verdict: found.map(|found| found.verdict.code),
        }
    }
}

#[cfg(test)]
mod tests {
    use tail::assess::assess;

    use super::*;

    #[test]
    fn each_side_of_a_jump_is_fitted_and_the_newest_comes_first() {
        let distribution = Gev::new(10e-3, 0.3e-3, 0.05).unwrap();
        let mut random = tail::Xoshiro::new(5);
        let values: Vec<f64> =
            (0..400).map(|n| if n < 150 { 1.0 } else { 1.6 } * distribution.sample(&mut random)).collect();
        let options = AssessOptions { bootstrap: 99, ..AssessOptions::default() };
        let found = Stretch::all(&assess(&values, &options).unwrap(), (&values, &[]), &options);
        let shown: Vec<(usize, usize)> = found.iter().map(|one| (one.from, one.n)).collect();
        assert_eq!(found.len(), 2, "{shown:?}");
        assert!(shown[0].0.abs_diff(151) <= 3 && shown[1].0 == 1, "{shown:?}");
        let locations: Vec<f64> = found.iter().map(|one| one.distribution.unwrap().location).collect();
        assert!((locations[0] / locations[1] - 1.6).abs() < 0.03, "{locations:?}");
        let steady: Vec<f64> = (0..400).map(|_| distribution.sample(&mut random)).collect();
        assert!(Stretch::all(&assess(&steady, &options).unwrap(), (&steady, &[]), &options).is_empty());
    }
}
