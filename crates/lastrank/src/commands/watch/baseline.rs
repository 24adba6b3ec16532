//! Reads and calibrates the baseline, and words its stated rates of false alarms.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use report::words::unsound::headline;
use tail::alarm::{AlarmOptions, Baseline, BaselineError, CountedThresholds};

use super::per_run;
use crate::cli::WatchArgs;
use crate::statistic::Statistic;
use crate::values::{self, Values};

/// The values of the quiet runs and the options of the monitor.
pub struct QuietRuns {
    pub values: Values,
    pub options: AlarmOptions,
    /// A hash of the values: a state file of other values is refused.
    pub fingerprint: String,
}

/// Rate of false spike alarms where none is asked for and the baseline is long enough.
const DEFAULT_RATE: f64 = 1e-3;

/// Reads the baseline, and checks that it has enough values for the options.
pub fn read(args: &WatchArgs) -> anyhow::Result<QuietRuns> {
    let factor = factor(&args.shift)?;
    let choice = &args.choice;
    let statistic = per_run::statistic(args)?;
    let is_folder = args.baseline.is_dir() && !store::has_parts(&args.baseline);
    let values = if let (Some(statistic), true) = (statistic, is_folder) {
        of_folder(&args.baseline, statistic, choice, None)?
    } else if statistic.is_some() && values::is_run(&args.baseline) {
        bail!(
            "--statistic makes one value of {}; name a directory of at least 50 quiet runs",
            args.baseline.display()
        )
    } else if args.stream.is_dir() || values::is_run(&args.stream) || values::is_run(&args.baseline) {
        // A run and plain numbers take different options.
        let own = match values::is_run(&args.baseline) {
            true => choice.of_run(),
            false => crate::cli::Choice { label: None, gate: false, ..choice.clone() },
        };
        values::read(&args.baseline, &own)?
    } else {
        // A baseline without columns need not have the stream's column.
        let own = crate::cli::Choice { column: None, ..choice.clone() };
        match values::read(&args.baseline, choice) {
            Err(error) => values::read(&args.baseline, &own).map_err(|_| error)?,
            found => found?,
        }
    };
    if let Some(why) = headline(&values.unsound) {
        bail!("{} cannot be a baseline: {why}", args.baseline.display());
    }
    let n = values.numbers.len();
    let least = 0.1 / n as f64;
    let rate = match args.false_alarm_rate {
        None => DEFAULT_RATE.max(least),
        Some(rate) if !(rate > 0.0 && rate < 0.5) => {
            bail!("--false-alarm-rate {rate}: a share of the runs between 0 and 0.5, for example 0.001")
        }
        Some(rate) if rate < least => bail!(
            "--false-alarm-rate {rate}: {n} quiet runs carry no rate below {}; measure at least {:.0}, or ask \
             for more",
            report::significant(least, 2),
            (0.1 / rate).ceil()
        ),
        Some(rate) => rate,
    };
    if !(args.run_length > 1.0 && args.run_length.is_finite()) {
        bail!("--run-length {}: a number of runs above 1, for example 1000", args.run_length);
    }
    let options = AlarmOptions {
        false_alarms: rate,
        run_length: args.run_length,
        factor,
        rebaseline: args.rebaseline.unwrap_or(0),
        seed: args.seed,
        relax: args.false_alarm_rate.is_none(),
        ..AlarmOptions::default()
    };
    Ok(QuietRuns { fingerprint: fingerprint(&values.numbers), values, options })
}

/// One value of each run of a directory, the earliest run first; all runs are of what `like`, or the first, is about.
pub fn of_folder(
    folder: &Path,
    statistic: Statistic,
    choice: &crate::cli::Choice,
    like: Option<&Values>,
) -> anyhow::Result<Values> {
    let own = choice.of_run();
    let mut found: Vec<(String, Values)> = Vec::new();
    let mut files = per_run::runs_of(folder)?;
    files.sort();
    for file in files {
        let run = values::open(&file)?;
        let started = run.facts.started.clone();
        let one = match like.or(found.first().map(|(_, first)| first)) {
            None => values::of_run(run, &file, &own)?,
            Some(first) => values::of_run_like(run, &file, &own, first)?.0,
        };
        found.push((started, one));
    }
    let Some((_, first)) = found.first() else { bail!("{} holds no run files", folder.display()) };
    let what = first.subject.as_ref().map_or(String::new(), |subject| subject.describe());
    let name = format!("{}, {} of {what} in each run", folder.display(), statistic.name());
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let numbers = found.iter().filter_map(|(_, one)| statistic.of_values(one.numbers.clone())).collect();
    let unsound = values::unsound(found.iter().map(|(_, one)| one));
    let (_, first) = found.swap_remove(0);
    Ok(Values { numbers, takers: Vec::new(), name, rows: None, unsound, ..first })
}

/// `1.05`, or `5%` for the same.
fn factor(text: &str) -> anyhow::Result<f64> {
    let (digits, percent) = text.trim().strip_suffix('%').map_or((text, false), |digits| (digits, true));
    digits
        .trim()
        .parse()
        .ok()
        .map(|number: f64| if percent { 1.0 + number / 100.0 } else { number })
        .filter(|factor| *factor > 1.0 && *factor <= 100.0)
        .ok_or_else(|| anyhow!("--shift {text}: a factor above 1 or a percentage, for example 1.05 or 5%"))
}

/// FNV-1a over the bits of all values.
fn fingerprint(numbers: &[f64]) -> String {
    let hash = numbers
        .iter()
        .flat_map(|number| number.to_bits().to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{hash:016x}")
}

impl QuietRuns {
    /// Fit and calibrate: the part that takes a moment.
    pub fn calibrate(&self, guaranteed: bool) -> anyhow::Result<Baseline> {
        if self.values.numbers.len() < 50 {
            bail!(
                "{} holds {} quiet runs; a baseline needs at least 50, and 400 are better: measure more",
                self.values.name,
                self.values.numbers.len()
            );
        }
        let name = &self.values.name;
        let mut baseline = match Baseline::of_series(&self.values.series(), &self.options) {
            Err(BaselineError::Refused(why)) => {
                bail!("{name} cannot be a baseline: {}", report::words::alarm::refusal(&why))
            }
            found => found.with_context(|| format!("{name} cannot be a baseline"))?,
        };
        if guaranteed && !baseline.guarantee() {
            let needed = (0.1f64.ln() / (-baseline.spike.false_alarms).ln_1p()).ceil();
            bail!(
                "--guaranteed: no law describes {name}, and its {} runs are too few to keep a rate of {} in 90% of \
                 baselines by counting; measure at least {needed:.0}, or ask for a higher rate",
                baseline.n,
                report::significant(baseline.spike.false_alarms, 2)
            );
        }
        Ok(baseline)
    }
}

/// What the monitor promises, for a reader.
pub fn words(quiet: &QuietRuns, baseline: &Baseline, unit: report::Unit, asked: bool) -> String {
    let mut text = format!(
        "Baseline {}: {} quiet runs, median {}.\n",
        quiet.values.name,
        baseline.n,
        unit.plain(baseline.median())
    );
    text += &match &baseline.counted {
        Some(counted) => by_counting(baseline, counted, unit),
        None => by_law(baseline, unit, asked),
    };
    for warning in quiet.values.warnings().into_iter().chain(report::words::alarm::warnings(baseline)) {
        text += &report::sentence("warning:   ", &warning);
    }
    text
}

/// The promise that rests on the fitted law.
fn by_law(baseline: &Baseline, unit: report::Unit, asked: bool) -> String {
    let spike = &baseline.spike;
    let options = &baseline.options;
    let once = samples::units::count((1.0 / spike.false_alarms).round() as u64);
    let guaranteed = baseline.guaranteed;
    let rest = match guaranteed {
        true => format!(
            "kept in 90% of baselines; on average over them {} would do",
            unit.plain(average(baseline))
        ),
        false => {
            format!("on average over baselines; kept in 90% of them above {}", unit.plain(spike.guaranteed))
        }
    };
    let mut text = report::sentence(
        "  Spike:   ",
        &format!(
            "a run above {}. A quiet system gives one in {once} runs ({rest}).",
            unit.plain(spike.value)
        ),
    );
    text += &report::sentence(
        "  Level:   ",
        &format!(
            "slower or faster for good, tuned to {}. A quiet system gives a false one in {} runs{}.",
            report::confidence(options.factor - 1.0),
            samples::units::count(options.run_length.round() as u64),
            if guaranteed { " or more, in 90% of baselines" } else { ", on average over baselines" }
        ),
    );
    if guaranteed && !asked {
        text += &report::sentence(
            "  Careful: ",
            &format!(
                "{} quiet runs are few, so both thresholds are those of --guaranteed; from 200 on they keep the \
                 rates on average.",
                baseline.n
            ),
        );
    }
    text += &report::sentence(
        "  Carries: ",
        &format!(
            "false-alarm rates down to {}, a tenth of one in {} runs.",
            report::significant(0.1 / baseline.n as f64, 2),
            baseline.n
        ),
    );
    if let (Some(rank), Some(rate)) = (spike.rank, spike.rank_rate) {
        text += &report::sentence(
            "  Counted: ",
            &format!(
                "without any law, one quiet run in {} is above {}.",
                samples::units::count((1.0 / rate).round() as u64),
                unit.plain(rank)
            ),
        );
    }
    text
}

/// The promise of thresholds that are counted.
fn by_counting(baseline: &Baseline, counted: &CountedThresholds, unit: report::Unit) -> String {
    let spike = &baseline.spike;
    let kept = if baseline.guaranteed { "in 90% of baselines" } else { "on average over baselines" };
    let once = |rate: f64| samples::units::count((1.0 / rate).floor() as u64);
    let mut text = report::sentence("  Counted: ", &report::words::alarm::counted(counted));
    text += &report::sentence(
        "  Spike:   ",
        &format!(
            "a run above {}. A quiet system gives at most one in {} runs ({kept}, whatever their law).",
            unit.plain(spike.value),
            once(spike.false_alarms)
        ),
    );
    text += &report::sentence(
        "  Level:   ",
        &format!(
            "slower where {} of {block} runs in a row are above {}, faster where {} are below {}; not tuned to a size. \
             A quiet system gives at most one false one in {} runs ({kept}, whatever their law).",
            counted.slow.count,
            unit.plain(counted.slow.value),
            counted.fast.count,
            unit.plain(counted.fast.value),
            once(counted.slow.rate + counted.fast.rate),
            block = counted.block
        ),
    );
    text += &report::sentence(
        "  Carries: ",
        &format!(
            "false-alarm rates down to {}, one in {} runs.",
            report::significant(1.0 / (baseline.n as f64 + 1.0), 2),
            baseline.n + 1
        ),
    );
    text
}

/// The threshold whose rate is the stated one on average.
fn average(baseline: &Baseline) -> f64 {
    baseline.law.upper_quantile(baseline.spike.nominal)
}
