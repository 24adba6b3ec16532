//! Calibrates thresholds so that the actual rate of false alarms is the stated one.

use serde::{Deserialize, Serialize};

use super::anchored::{self, Anchor, TailEstimate};
use super::baselines;
use super::counted::{self, CountedThresholds};
use super::grounds::{self, Grounds};
use super::options::{AlarmOptions, SpikeThreshold};
use super::refusal::BaselineError;
use super::run_length;
use super::simulated;
use super::whitened::Whitened;
use crate::gev::GevFit;
use crate::independence::{self, TestFinding};
use crate::series::sorted_quantile;
use crate::verdict::Levels;
use crate::{Error, Gev, Series, gev};

/// A quiet baseline, fitted and calibrated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Schema `lastrank.watch/1`.
    pub schema: String,
    /// Options it was made with.
    pub options: AlarmOptions,
    /// Number of quiet runs.
    pub n: usize,
    /// Median of the quiet runs, a value that was measured; `None` in states of earlier versions, whose median is that of
    /// the distribution.
    #[serde(default)]
    pub median: Option<f64>,
    /// The fitted distribution; unused if thresholds are `counted`.
    #[serde(rename = "law")]
    pub distribution: Gev,
    /// Counted thresholds, if no distribution describes the quiet runs.
    #[serde(default)]
    pub counted: Option<CountedThresholds>,
    /// Spike threshold.
    pub spike: SpikeThreshold,
    /// CUSUM threshold h of the slow side: on average over baselines its false-alarm rate is half of 1 /
    /// `run_length`. With counted thresholds, the number of runs in a block.
    pub cusum: f64,
    /// CUSUM threshold of the fast side, with the other half of the rate.
    pub cusum_fast: f64,
    /// Thresholds (slow, fast) with which 90% of baselines keep the stated run length; NaN (null in JSON) if
    /// counted thresholds have none.
    #[serde(with = "nullable_pair")]
    pub cusum_guaranteed: [f64; 2],
    /// Whether the guaranteed thresholds are in use; always below 200 quiet runs, see
    /// [`Baseline::guarantee`].
    #[serde(default)]
    pub guaranteed: bool,
    /// Largest step of the CUSUM, so that one spike is not a slow-down.
    pub cap: f64,
    /// First-order autocorrelation of the scores that is removed; 0 for independent runs.
    pub ar1: f64,
    /// Properties that weaken the nominal rates.
    pub warnings: Vec<BaselineWarning>,
}

/// Properties of a baseline that weaken its nominal rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BaselineWarning {
    /// The quiet runs are not independent draws of one distribution.
    NotIndependent {
        /// The evidence against it.
        finding: TestFinding,
    },
    /// The false-alarm rate is too small to be observed in the quiet runs, so it relies on the distribution.
    #[serde(rename = "rests_on_law")]
    RestsOnDistribution {
        /// The rate.
        false_alarms: f64,
        /// Number of quiet runs.
        runs: usize,
        /// Number of quiet runs that would support it without a distribution.
        needed: f64,
    },
    /// The level changes within the baseline, so that no rate holds. Only in states of earlier versions,
    /// which accepted such a baseline.
    LevelMoved,
    /// A sentence from a state that was stored before warnings had kinds.
    #[serde(untagged)]
    Sentence(String),
}

impl Baseline {
    /// Fits and calibrates. `quiet` is in time order, with at least 50 runs.
    ///
    /// If a GEV describes them, the spike threshold is the quantile at α' with E[1 - F(q)] = α over
    /// parametric bootstrap baselines, so that the rate is the stated one on average over baselines
    /// (Barndorff-Nielsen, Cox 1996). The same holds for the CUSUM, whose thresholds come from the same
    /// bootstrap baselines and the run length of each by a Markov chain (Brook, Evans 1972); slow and fast
    /// side have half of the rate each. Without a bootstrap h = ln(2 run length), a bound for a known distribution
    /// (Lorden 1971). Below 200 runs the guaranteed thresholds are used, see [`Baseline::guarantee`]. If
    /// successive runs are autocorrelated, an AR(1) of the scores is removed, and the bootstrap baselines
    /// follow it.
    ///
    /// If no GEV describes them, thresholds are counted, see [`CountedThresholds`].
    ///
    /// # Errors
    /// As [`gev::fit`]; [`Error::Parameter`] for options out of range: n runs support no false-alarm rate
    /// below 0.1 / n; [`BaselineError::Refused`] for runs that support no rate: their level changes, they
    /// depend on each other beyond an autoregression, or no distribution describes them and they are too few to count.
    pub fn new(quiet: &[f64], options: &AlarmOptions) -> Result<Baseline, BaselineError> {
        Baseline::of_series(&Series::clean(quiet), options)
    }

    /// [`Baseline::new`] of a series: of values that several ranks took in turns, dependence is looked for in the order of
    /// each rank, too.
    ///
    /// # Errors
    /// As [`Baseline::new`].
    pub fn of_series(series: &Series, options: &AlarmOptions) -> Result<Baseline, BaselineError> {
        series.require(50, 4)?;
        // A change of the level is a factor, which has no meaning on both sides of 0.
        if series.sorted()[0] < 0.0 {
            return Err(Error::Support { model: "a slow-down", needs: "durations, none below 0" }.into());
        }
        let n = series.len();
        let alpha = options.false_alarms;
        if !(alpha >= 0.1 / n as f64 && alpha < 0.5) {
            let must = "below 0.5 and at least 0.1 / n of the baseline: measure more baseline runs";
            return Err(Error::Parameter { what: "false-alarm rate", value: alpha, must }.into());
        }
        for (what, value) in [("run length", options.run_length), ("factor", options.factor)] {
            if !(value > 1.0 && value.is_finite()) {
                return Err(Error::Parameter { what, value, must: "above 1" }.into());
            }
        }
        let likelihood = gev::Likelihood::new(series)?;
        let fit = likelihood.fit();
        let checked = independence::check_share(series, Levels::default().whole, Levels::INDEPENDENCE)?;
        match grounds::decide(series, (&likelihood, &fit), &checked, options.seed)? {
            Grounds::Distribution { ar1 } => {
                let against = checked.rejected().map(|test| test.finding.clone());
                let mut warnings: Vec<BaselineWarning> =
                    against.map(|finding| BaselineWarning::NotIndependent { finding }).collect();
                if alpha < 1.0 / (n as f64 + 1.0) {
                    let needed = (1.0 / alpha).ceil();
                    warnings.push(BaselineWarning::RestsOnDistribution {
                        false_alarms: alpha,
                        runs: n,
                        needed,
                    });
                }
                Ok(Baseline { warnings, ..Baseline::by_distribution(series, &fit, ar1, options)? }.settled())
            }
            Grounds::Counts { why } => {
                let (spike, counted) = counted::thresholds(series, why, options)?;
                let limits = [counted.slow, counted.fast];
                let guaranteed = limits.map(|limit| limit.guaranteed.map_or(f64::NAN, |count| count as f64));
                Ok(Baseline {
                    spike,
                    cusum: limits[0].count as f64,
                    cusum_fast: limits[1].count as f64,
                    cusum_guaranteed: guaranteed,
                    counted: Some(counted),
                    ..Baseline::empty(&fit, series, spike, options)
                })
            }
        }
    }

    fn empty(fit: &GevFit, series: &Series, spike: SpikeThreshold, options: &AlarmOptions) -> Baseline {
        Baseline {
            schema: "lastrank.watch/1".to_string(),
            options: *options,
            n: series.len(),
            median: Some(series.measured(0.5)),
            distribution: fit.distribution(),
            counted: None,
            spike,
            cusum: 0.0,
            cusum_fast: 0.0,
            cusum_guaranteed: [0.0; 2],
            guaranteed: false,
            cap: CAP,
            ar1: 0.0,
            warnings: Vec::new(),
        }
    }

    fn by_distribution(
        series: &Series,
        fit: &GevFit,
        ar1: f64,
        options: &AlarmOptions,
    ) -> Result<Baseline, Error> {
        let distribution = fit.distribution();
        let excesses = anchored::excesses(series.len(), options.false_alarms);
        let refits = baselines::estimates(fit, ar1, excesses, (options.bootstrap, options.seed));
        let spike = spike(series, &distribution, excesses, (&refits, options))?;
        let truth = Whitened { distribution, ar1 };
        let of_cusum: Vec<Whitened> = refits.iter().take(MOST_FOR_CUSUM).map(|one| one.whitened).collect();
        let [(cusum, slow), (cusum_fast, fast)] = levels(&truth, &of_cusum, options);
        let empty = Baseline::empty(fit, series, spike, options);
        Ok(Baseline { ar1, cusum, cusum_fast, cusum_guaranteed: [slow, fast], ..empty })
    }

    /// Applies the guaranteed thresholds if runs are few.
    fn settled(mut self) -> Baseline {
        if self.n < FEWEST_FOR_AVERAGE {
            self.guarantee();
        }
        self
    }

    /// Median of the quiet runs.
    pub fn median(&self) -> f64 {
        let counted = self.counted.as_ref().map(|counted| counted.median);
        self.median.or(counted).unwrap_or_else(|| self.distribution.quantile(0.5))
    }

    /// Probability that a quiet run is this slow, by the tail of the spike threshold or counted: at the threshold that keeps the
    /// rate on average it is that rate, and beyond it falls as the distribution does.
    pub fn chance(&self, value: f64) -> f64 {
        let SpikeThreshold { false_alarms, nominal, .. } = self.spike;
        self.counted.as_ref().map_or_else(
            || match nominal > 0.0 {
                true => (false_alarms * (self.distribution.survival(value) / nominal)).min(1.0),
                false => self.distribution.survival(value),
            },
            |counted| {
                let beyond = counted.largest.len() - counted.largest.partition_point(|x| *x < value);
                (beyond + 1) as f64 / (self.n + 1) as f64
            },
        )
    }

    /// Uses the thresholds that keep the stated rates in 90% of baselines, not only on average. Below 200
    /// quiet runs they are always used: a distribution fitted to so few runs is too uncertain to calibrate its average
    /// rate, which was 1.6 times the stated one for 100 runs.
    ///
    /// Counted thresholds keep their rates on average for any number of runs. If there are too few runs for
    /// 90% of baselines, they are not changed and the result is `false`.
    pub fn guarantee(&mut self) -> bool {
        let [slow, fast] = self.cusum_guaranteed;
        if [self.spike.guaranteed, slow, fast].iter().any(|value| value.is_nan()) {
            return false;
        }
        self.spike.value = self.spike.guaranteed;
        [self.cusum, self.cusum_fast] = [slow, fast];
        if let Some(counted) = &mut self.counted {
            counted.slow.count = slow as usize;
            counted.fast.count = fast as usize;
        }
        self.guaranteed = true;
        true
    }
}

/// Largest step of the CUSUM.
const CAP: f64 = 3.0;

/// Number of quiet runs from which on thresholds that keep the rates on average are reliable.
const FEWEST_FOR_AVERAGE: usize = 200;

/// The largest excess that is tried, beyond the hazard of the rate.
const FARTHEST: f64 = 40.0;

/// Bootstrap baselines behind the thresholds of the CUSUM.
const MOST_FOR_CUSUM: usize = 100;

/// Thresholds of the CUSUM towards slow and towards fast: with which the rate is kept on average, and in 90% of baselines.
fn levels(truth: &Whitened, estimates: &[Whitened], options: &AlarmOptions) -> [(f64, f64); 2] {
    // Both sides share the rate.
    let rate = 0.5 / options.run_length;
    let factors = [options.factor, 1.0 / options.factor];
    if estimates.is_empty() {
        let bound = (1.0 / rate).ln();
        return [(bound, bound); 2];
    }
    let points = run_length::points(truth);
    let increments = factors.map(|k| -> Vec<Vec<f64>> {
        estimates.iter().map(|estimate| run_length::increments(&points, estimate, k, CAP)).collect()
    });
    let thresholds =
        |rates: [f64; 2]| [0, 1].map(|side| run_length::thresholds(&increments[side], rates[side], CAP));
    let mut found = thresholds([rate; 2]);
    if truth.ar1 != 0.0 {
        let sides = [0, 1].map(|side| (factors[side], found[side].0));
        let simulated = simulated::rates(truth, estimates, sides, CAP, options.seed);
        // What the chain makes too few or too many of.
        found = thresholds(simulated.map(|more| rate * (rate / more).clamp(0.2, 2.0)));
    }
    found
}

/// Calibrates by the parametric bootstrap: the fitted distribution is taken as the true one, refits as the estimates.
fn spike(
    series: &Series,
    distribution: &Gev,
    excesses: Option<usize>,
    (refits, options): (&[TailEstimate], &AlarmOptions),
) -> Result<SpikeThreshold, Error> {
    let (alpha, n) = (options.false_alarms, series.len());
    let anchor =
        excesses.map_or(Anchor::DISTRIBUTION, |k| Anchor::of(distribution, &mut series.values().to_vec(), k));
    let rates = |excess: f64| -> Vec<f64> {
        let of =
            |one: &TailEstimate| distribution.survival(one.anchor.value(&one.whitened.distribution, excess));
        let mut rates: Vec<f64> = refits.iter().map(of).collect();
        rates.sort_unstable_by(f64::total_cmp);
        rates
    };
    // The smallest excess whose statistic keeps to alpha.
    let solve = |statistic: &dyn Fn(&[f64]) -> f64| -> f64 {
        let (mut low, mut high) = (0.0, FARTHEST - alpha.ln());
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if statistic(&rates(middle)) > alpha { low = middle } else { high = middle }
        }
        high
    };
    let (average, guaranteed) = if refits.is_empty() {
        let plain = excesses.map_or(-alpha.ln(), |k| anchored::exact_excess(n, k, alpha));
        (plain, plain)
    } else {
        (
            solve(&|rates| rates.iter().sum::<f64>() / rates.len() as f64),
            solve(&|rates| sorted_quantile(rates, 0.9)),
        )
    };
    if average > FARTHEST - alpha.ln() - 1.0 {
        return Err(Error::Parameter {
            what: "false-alarm rate",
            value: alpha,
            must: "one that so few baseline runs support: no threshold keeps it, measure more",
        });
    }
    let value = anchor.value(distribution, average);
    let rank = ((alpha * (n as f64 + 1.0)).floor() as usize).min(n);
    Ok(SpikeThreshold {
        value,
        false_alarms: alpha,
        nominal: distribution.survival(value),
        rank: (rank >= 1).then(|| series.sorted()[n - rank]),
        rank_rate: (rank >= 1).then(|| rank as f64 / (n as f64 + 1.0)),
        guaranteed: anchor.value(distribution, guaranteed),
        plug_in: distribution.upper_quantile(alpha),
    })
}

/// Serialises two numbers that may not be finite as null.
mod nullable_pair {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(pair: &[f64; 2], to: S) -> Result<S::Ok, S::Error> {
        pair.map(|value| Some(value).filter(|value| value.is_finite())).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[f64; 2], D::Error> {
        Ok(<[Option<f64>; 2]>::deserialize(from)?.map(|value| value.unwrap_or(f64::NAN)))
    }
}
