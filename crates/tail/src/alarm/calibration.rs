//! Calibrates thresholds so that the stated rate of false alarms is the true one.

use serde::{Deserialize, Serialize};

use super::run_length;
use crate::independence::{self, TestFinding};
use crate::series::sorted_quantile;
use crate::{Error, Gev, Series, Status, bootstrap, gev};

/// Options of a monitor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AlarmOptions {
    /// Share of quiet runs that may give a spike alarm.
    pub false_alarms: f64,
    /// Mean number of quiet runs between false CUSUM alarms, both sides together.
    pub run_length: f64,
    /// Slow-down (> 1) that the CUSUM is tuned to.
    pub factor: f64,
    /// Bootstrap samples behind the calibration.
    pub bootstrap: usize,
    /// Seed of it.
    pub seed: u64,
    /// Runs after a confirmed new level that become the new baseline; 0 never.
    pub rebaseline: usize,
}

impl Default for AlarmOptions {
    fn default() -> Self {
        AlarmOptions {
            false_alarms: 1e-3,
            run_length: 1000.0,
            factor: 1.05,
            bootstrap: 499,
            seed: 1,
            rebaseline: 0,
        }
    }
}

/// A spike threshold and its false-alarm rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpikeThreshold {
    /// Alarm above this duration.
    pub value: f64,
    /// The nominal false-alarm rate.
    pub false_alarms: f64,
    /// Exceedance probability under the fitted law at which the threshold lies: smaller than the nominal rate,
    /// because the law is an estimate.
    pub nominal: f64,
    /// The distribution-free check: the largest-but-so-many of the quiet runs. A run beyond it comes with the
    /// chance `rank_rate`, whatever the law. None where n runs cannot show so small a rate, 1 / (n + 1).
    #[serde(default)]
    pub rank: Option<f64>,
    /// Exact rate of `rank` under exchangeability: at most the nominal one.
    #[serde(default)]
    pub rank_rate: Option<f64>,
    /// SpikeThreshold whose true rate stays at or below the nominal one in 90 % of baselines (Gandy, Kvaløy 2013).
    pub guaranteed: f64,
    /// The plain quantile of the fitted law, which alarms too often.
    pub plug_in: f64,
}

/// A quiet baseline, fitted and calibrated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Schema `lastrank.watch/1`.
    pub schema: String,
    /// Options it was made with.
    pub options: AlarmOptions,
    /// Number of quiet runs.
    pub n: usize,
    /// The fitted law.
    pub law: Gev,
    /// Spike threshold.
    pub spike: SpikeThreshold,
    /// CUSUM threshold h of the slow side: on average over baselines its false alarms come at half of
    /// 1 / `run_length`.
    pub cusum: f64,
    /// CUSUM threshold of the fast side, which has the other half.
    pub cusum_fast: f64,
    /// Thresholds (slow, fast) at which nine of ten baselines keep the stated run length.
    pub cusum_guaranteed: [f64; 2],
    /// Whether the thresholds in use are the guaranteed ones: always so below 200 quiet runs, see
    /// [`Baseline::guarantee`].
    #[serde(default)]
    pub guaranteed: bool,
    /// Largest step of the CUSUM, so that one spike is not a slow-down.
    pub cap: f64,
    /// First-order autocorrelation of the Gumbel scores that is taken out; 0 for independent runs.
    pub ar1: f64,
    /// What weakens the promise.
    pub warnings: Vec<BaselineWarning>,
}

/// What weakens the promise of a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BaselineWarning {
    /// The quiet runs are not independent draws of one law.
    NotIndependent {
        /// What speaks against it.
        finding: TestFinding,
    },
    /// So rare a false alarm was not seen in the quiet runs: its rate rests on the law.
    RestsOnLaw {
        /// The rate.
        false_alarms: f64,
        /// Quiet runs there are.
        runs: usize,
        /// Quiet runs that would show it without a law.
        needed: f64,
    },
    /// The level moves within the baseline, so that no rate can be promised.
    LevelMoved,
    /// A sentence from a state that was stored before warnings had kinds.
    #[serde(untagged)]
    Sentence(String),
}

impl Baseline {
    /// Fit and calibrate. `quiet` in time order, at least 50 runs.
    ///
    /// The spike threshold is the quantile at α' with E[1 - F(q)] = α over parametric bootstrap baselines: on
    /// average over baselines the rate is the stated one (Barndorff-Nielsen, Cox 1996). So is that of the
    /// CUSUM, whose thresholds come from the same bootstrap baselines and the run length of each by a Markov
    /// chain (Brook, Evans 1972); slow and fast side have half of the rate each. Without a bootstrap
    /// h = ln(2 run length), a bound for a known law (Lorden 1971). Below 200 runs the guaranteed thresholds
    /// are used, see [`Baseline::guarantee`]. Where neighbouring runs resemble each
    /// other, an AR(1) of the scores is taken out, and the bootstrap baselines have the effective size.
    ///
    /// # Errors
    /// As [`gev::fit`]; [`Error::Parameter`] for options out of range: false alarms below 0.1 / n cannot be
    /// promised from n runs.
    pub fn new(quiet: &[f64], options: &AlarmOptions) -> Result<Baseline, Error> {
        let series = Series::clean(quiet);
        series.require(50, 4)?;
        let n = series.len();
        let alpha = options.false_alarms;
        if !(alpha >= 0.1 / n as f64 && alpha < 0.5) {
            return Err(Error::Parameter {
                what: "false-alarm rate",
                value: alpha,
                must: "below 0.5 and at least 0.1 / n of the baseline: measure more quiet runs",
            });
        }
        for (what, value) in [("run length", options.run_length), ("factor", options.factor)] {
            if !(value > 1.0 && value.is_finite()) {
                return Err(Error::Parameter { what, value, must: "above 1" });
            }
        }
        let fit = gev::Likelihood::new(&series)?.fit();
        if fit.status == Status::Boundary {
            return Err(Error::NotConverged { model: "baseline" });
        }
        let law = fit.law();
        let checked = independence::check_series(&series, 0.05)?;
        let mut warnings: Vec<BaselineWarning> = checked
            .rejected()
            .map(|test| BaselineWarning::NotIndependent { finding: test.finding.clone() })
            .collect();
        let dependent =
            checked.test(independence::Question::Autocorrelation).is_some_and(|test| test.rejected);
        let ar1 = if dependent { checked.ar1.clamp(0.0, 0.95) } else { 0.0 };
        if alpha < 1.0 / (n as f64 + 1.0) {
            let needed = (1.0 / alpha).ceil();
            warnings.push(BaselineWarning::RestsOnLaw { false_alarms: alpha, runs: n, needed });
        }
        // A level that moves looks like a very long memory, which no effective size describes.
        let moving = [independence::Question::Trend, independence::Question::Jump]
            .into_iter()
            .any(|question| checked.test(question).is_some_and(|test| test.rejected));
        if moving {
            warnings.push(BaselineWarning::LevelMoved);
        }
        let worth = (checked.effective_size.round() as usize).clamp((n / 4).max(25), n);
        let size = if dependent && !moving { worth } else { n };
        let refits = bootstrap::parametric_sized(&fit, size, options.bootstrap, options.seed);
        let spike = spike(&series, &law, &refits.laws, options)?;
        const CAP: f64 = 3.0;
        // Both sides share the rate.
        let rate = 0.5 / options.run_length;
        let points = run_length::points(&law);
        let [(cusum, slow), (cusum_fast, fast)] = [options.factor, 1.0 / options.factor].map(|k| {
            let baselines: Vec<Vec<f64>> = refits
                .laws
                .iter()
                .take(MOST_FOR_CUSUM)
                .map(|estimate| run_length::increments(&points, estimate, k, CAP))
                .collect();
            if baselines.is_empty() {
                let bound = (1.0 / rate).ln();
                (bound, bound)
            } else {
                run_length::thresholds(&baselines, rate, CAP)
            }
        });
        let mut baseline = Baseline {
            schema: "lastrank.watch/1".to_string(),
            options: *options,
            n,
            law,
            spike,
            cusum,
            cusum_fast,
            cusum_guaranteed: [slow, fast],
            guaranteed: false,
            cap: CAP,
            ar1,
            warnings,
        };
        if n < FEWEST_FOR_AVERAGE {
            baseline.guarantee();
        }
        Ok(baseline)
    }

    /// Use the thresholds that keep the stated rates in nine of ten baselines, not only on average over them.
    /// Below 200 quiet runs they are used from the beginning: a law of so few runs is too uncertain to
    /// calibrate its own average rate, which came out at 1.6 times the stated one for 100 runs.
    pub fn guarantee(&mut self) {
        self.spike.value = self.spike.guaranteed;
        [self.cusum, self.cusum_fast] = self.cusum_guaranteed;
        self.guaranteed = true;
    }
}

/// Quiet runs from which thresholds that keep the rates on average over baselines can be trusted.
const FEWEST_FOR_AVERAGE: usize = 200;

/// Bootstrap baselines behind the thresholds of the CUSUM.
const MOST_FOR_CUSUM: usize = 100;

/// Calibrate by the parametric bootstrap: the fitted law is the truth, refits are what would be estimated.
fn spike(
    series: &Series,
    law: &Gev,
    refits: &[Gev],
    options: &AlarmOptions,
) -> Result<SpikeThreshold, Error> {
    let alpha = options.false_alarms;
    let rates = |nominal: f64| -> Vec<f64> {
        let mut rates: Vec<f64> =
            refits.iter().map(|estimate| law.survival(estimate.upper_quantile(nominal))).collect();
        rates.sort_unstable_by(f64::total_cmp);
        rates
    };
    // The largest nominal probability (in logarithms) whose statistic keeps to alpha.
    let solve = |statistic: &dyn Fn(&[f64]) -> f64| -> f64 {
        let (mut low, mut high) = (alpha.ln() - 40.0, alpha.ln());
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if statistic(&rates(middle.exp())) > alpha { high = middle } else { low = middle }
        }
        low.exp()
    };
    let (nominal, guaranteed) = if refits.is_empty() {
        (alpha, alpha)
    } else {
        (
            solve(&|rates| rates.iter().sum::<f64>() / rates.len() as f64),
            solve(&|rates| sorted_quantile(rates, 0.9)),
        )
    };
    if nominal < alpha * 1e-12 {
        return Err(Error::Parameter {
            what: "false-alarm rate",
            value: alpha,
            must: "one that so few quiet runs can promise: no threshold keeps it, measure more",
        });
    }
    let n = series.len();
    let rank = ((alpha * (n as f64 + 1.0)).floor() as usize).min(n);
    Ok(SpikeThreshold {
        value: law.upper_quantile(nominal),
        false_alarms: alpha,
        nominal,
        rank: (rank >= 1).then(|| series.sorted()[n - rank]),
        rank_rate: (rank >= 1).then(|| rank as f64 / (n as f64 + 1.0)),
        guaranteed: law.upper_quantile(guaranteed),
        plug_in: law.upper_quantile(alpha),
    })
}
