//! Judges whether a rate settled, and how much of the beginning to leave out.

use serde::Serialize;

use crate::series::Series;

/// Fewest whole bins of a series that is judged.
const FEWEST: usize = 24;

/// Shares of the series that are cut off its beginning in turn, until what is left is steady.
const CUTS: [f64; 6] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5];

/// Critical value of the KPSS statistic at 5 % (Kwiatkowski, Phillips, Schmidt, Shin 1992, table 1, level).
const CRITICAL: f64 = 0.463;

/// Halves whose rates differ by less are alike, whatever the test says of a long series.
const ALIKE: f64 = 0.01;

/// Halves whose rates differ by more are no steady rate, whatever the test says: of bursts it hardly refuses any.
const APART: f64 = 0.2;

/// Whether the operations a second of a row settled, by the KPSS test of its series with 0 to a half cut off its
/// beginning, and by the halves of what is left. It judges what is measured; nothing is left out of the samples. A rate that swings about a level is
/// steady: look at the series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Steadiness {
    /// Whether it settled, if need be after a beginning.
    pub steady: bool,
    /// How long that beginning is, in seconds; 0 where it was steady from the first bin on, or never.
    pub cut_seconds: f64,
    /// Mean operations a second of all bins, without the last.
    pub all_per_second: f64,
    /// The same after the cut.
    pub kept_per_second: f64,
    /// The same of the first and of the second half.
    pub halves_per_second: [f64; 2],
    /// Of a rate that changes: when, by the largest sum of deviations; seconds after the first operation.
    pub change_seconds: Option<f64>,
}

impl Steadiness {
    /// Of a series; `None` of one with too few bins.
    pub(crate) fn of(series: &Series) -> Option<Steadiness> {
        let rates = series.rates();
        if rates.len() < FEWEST {
            return None;
        }
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
        let (first, second) = rates.split_at(rates.len() / 2);
        let halves = [mean(first), mean(second)];
        let within = |[a, b]: [f64; 2], share: f64| (b - a).abs() <= share * a.abs().max(b.abs());
        let alike = within(halves, ALIKE);
        let is_near = |rates: &[f64]| {
            let (first, second) = rates.split_at(rates.len() / 2);
            within([mean(first), mean(second)], APART)
        };
        let cut = CUTS
            .iter()
            .map(|share| (share * rates.len() as f64) as usize)
            .find(|cut| statistic(&rates[*cut..]) <= CRITICAL && is_near(&rates[*cut..]))
            .or(alike.then_some(0));
        let kept = cut.unwrap_or(0);
        Some(Steadiness {
            steady: cut.is_some(),
            cut_seconds: kept as f64 * series.bin_seconds,
            all_per_second: mean(&rates),
            kept_per_second: mean(&rates[kept..]),
            halves_per_second: halves,
            change_seconds: cut.is_none().then(|| change(&rates) as f64 * series.bin_seconds),
        })
    }
}

/// The KPSS statistic of a level, with Bartlett weights up to lag 8 · (n / 100)^¼; 0 of a constant.
fn statistic(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviations: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let lags = ((8.0 * (n / 100.0).powf(0.25)) as usize).min(values.len() - 1);
    let covariance =
        |lag: usize| deviations.iter().zip(&deviations[lag..]).map(|(a, b)| a * b).sum::<f64>() / n;
    let weighted: f64 =
        (1..=lags).map(|lag| (1.0 - lag as f64 / (lags as f64 + 1.0)) * covariance(lag)).sum();
    let variance = covariance(0) + 2.0 * weighted;
    if variance <= 0.0 {
        return 0.0;
    }
    let sums = deviations.iter().scan(0.0, |sum, deviation| {
        *sum += deviation;
        Some(*sum)
    });
    sums.map(|sum| sum * sum).sum::<f64>() / (n * n * variance)
}

/// After how many values the sum of deviations from the mean is largest.
fn change(values: &[f64]) -> usize {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let (mut sum, mut largest, mut at) = (0.0_f64, 0.0, 0);
    for (index, value) in values.iter().enumerate() {
        sum += value - mean;
        if sum.abs() > largest {
            (largest, at) = (sum.abs(), index + 1);
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(rate: impl Fn(usize, f64) -> f64, seed: u64) -> Steadiness {
        let mut random = tail::Xoshiro::new(seed);
        let mut operations: Vec<f64> = (0..101).map(|at| rate(at, random.normal())).collect();
        operations.push(1.0);
        let found = Steadiness::of(&Series { bin_seconds: 1.0, operations, ..Series::default() });
        found.expect("enough bins")
    }

    fn share(rate: impl Fn(usize, f64) -> f64 + Copy) -> usize {
        (0..100).filter(|seed| judged(rate, *seed).steady).count()
    }

    #[test]
    fn noise_is_steady_and_a_drift_or_a_jump_is_not() {
        assert!(share(|_, noise| 100.0 + 5.0 * noise) >= 97);
        assert!(share(|at, noise| 100.0 - 0.2 * at as f64 + 3.0 * noise) <= 5);
        assert!(share(|at, noise| if at < 66 { 250.0 } else { 100.0 } + 5.0 * noise) == 0);
        let jump = judged(|at, noise| if at < 66 { 250.0 } else { 100.0 } + 5.0 * noise, 1);
        assert_eq!(jump.change_seconds, Some(66.0));
    }

    #[test]
    fn bursts_whose_halves_differ_are_not_called_steady() {
        let few = |at: usize, _: f64| if [20, 60, 75, 90].contains(&(at % 101)) { 1000.0 } else { 10.0 };
        let found = judged(few, 1);
        assert!(!found.steady && found.halves_per_second[1] > 2.0 * found.halves_per_second[0], "{found:?}");
    }

    #[test]
    fn a_beginning_is_cut_off() {
        let found = judged(|at, noise| 100.0 + 80.0 * (-(at as f64) / 4.0).exp() + 2.0 * noise, 4);
        assert!(found.steady && found.cut_seconds >= 10.0, "{found:?}");
        assert!((found.kept_per_second - 100.0).abs() < 1.5 && found.all_per_second > 102.0, "{found:?}");
    }

    #[test]
    fn a_constant_is_steady_and_a_short_series_is_not_judged() {
        assert!(judged(|_, _| 7.0, 1).steady);
        let short = Series { bin_seconds: 1.0, operations: vec![1.0; 20], ..Series::default() };
        assert_eq!(Steadiness::of(&short), None);
    }
}
