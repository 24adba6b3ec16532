//! Reads and calibrates the baseline, and words its stated rates of false alarms.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use report::words::unsound::headline;
use tail::alarm::{AlarmOptions, Baseline, BaselineError, CountedThresholds};

use super::per_run;
use crate::circumstances::some_disturbed;
use crate::cli::WatchArgs;
use crate::commands::fit::part;
use crate::statistic::Statistic;
use crate::values::{self, Values};

/// The values of the baseline and the options of the monitor.
pub struct Healthy {
    pub values: Values,
    /// What one value is called: `step`, `sample`, `run` or `value`.
    pub noun: &'static str,
    pub options: AlarmOptions,
    /// A hash of the values: a state file of other values is refused.
    pub fingerprint: String,
}

/// Rate of false spike alarms where none is asked for and the baseline is long enough.
const DEFAULT_RATE: f64 = 1e-3;

/// Reads the baseline, and checks that it has enough values for the options.
pub fn read(args: &WatchArgs) -> anyhow::Result<Healthy> {
    let factor = factor(&args.shift)?;
    let choice = &args.choice;
    let statistic = per_run::statistic(args)?;
    let is_folder = args.baseline.is_dir() && !store::has_parts(&args.baseline);
    let mut values = if let (Some(statistic), true) = (statistic, is_folder) {
        of_folder(&args.baseline, statistic, choice, None)?
    } else if statistic.is_some() && values::is_run(&args.baseline) {
        bail!(
            "--statistic makes one value of {}; name a directory of at least 50 runs of the healthy system",
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
        // A baseline without columns need not have the stream's column, and one that names its unit not that of the stream.
        let own = crate::cli::Choice { column: None, ..choice.clone() };
        let named = crate::cli::Choice { unit: None, ..choice.clone() };
        let read = |choice: &crate::cli::Choice| values::read(&args.baseline, choice);
        match read(choice) {
            Err(error) => {
                let has_unit = |found: &Values| found.plain_unit.is_some();
                read(&own).ok().or_else(|| read(&named).ok().filter(has_unit)).ok_or(error)?
            }
            found => found?,
        }
    };
    if let Some(why) = headline(&values.unsound) {
        bail!("{} cannot be a baseline: {why}", args.baseline.display());
    }
    if let Some(part) = &args.values {
        part::cut(&mut values, part)?;
    }
    let n = values.numbers.len();
    let least = 0.1 / n as f64;
    let rate = match args.false_alarm_rate {
        None => DEFAULT_RATE.max(least),
        Some(rate) if !(rate > 0.0 && rate < 0.5) => {
            bail!("--false-alarm-rate {rate}: a share of the values between 0 and 0.5, for example 0.001")
        }
        Some(rate) if rate < least => bail!(
            "--false-alarm-rate {rate}: {n} values support no rate below {}; measure at least {:.0}, or ask for a \
             higher rate",
            report::significant(least, 2),
            (0.1 / rate).ceil()
        ),
        Some(rate) => rate,
    };
    if !(args.run_length > 1.0 && args.run_length.is_finite()) {
        bail!("--run-length {}: a number of values above 1, for example 1000", args.run_length);
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
    let noun = match &values.subject {
        _ if is_folder && statistic.is_some() => "run",
        Some(subject) => subject.value_name(),
        None => "value",
    };
    Ok(Healthy { fingerprint: fingerprint(&values.numbers), values, noun, options })
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
    let limits = [
        mixed(folder, found.iter().filter_map(|(_, one)| one.facts.as_ref()).collect()),
        copies(folder, found.iter().map(|(_, one)| one)),
        some_disturbed(folder, found.iter().filter_map(|(_, one)| one.facts.as_ref())),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let limit = (!limits.is_empty()).then(|| limits.join(". "));
    let (_, first) = found.swap_remove(0);
    Ok(Values { numbers, takers: Vec::new(), name, rows: None, unsound, limit, ..first })
}

/// Where runs have all the same values: copies of one run say nothing of how runs differ.
fn copies<'a>(folder: &Path, runs: impl Iterator<Item = &'a Values>) -> Option<String> {
    let all: Vec<String> = runs.map(|one| fingerprint(&one.numbers)).collect();
    let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
    let twice = all.len() - distinct.len();
    (twice > 0).then(|| {
        format!(
            "{twice} of the {} runs of {} equal{} another in each value: copies count as runs of their own here",
            all.len(),
            folder.display(),
            if twice == 1 { "s" } else { "" }
        )
    })
}

/// That the runs of a directory were not all set alike: what differs between them is no variation of one system.
fn mixed(folder: &Path, runs: Vec<&samples::Facts>) -> Option<String> {
    /// So many are named.
    const NAMED: usize = 3;
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for settings in results::differing_settings(&runs) {
        let words = if settings.is_empty() { "none of these".to_owned() } else { settings.join(", ") };
        *kinds.entry(words).or_default() += 1;
    }
    if kinds.len() < 2 {
        return None;
    }
    let mut named: Vec<String> =
        kinds.iter().take(NAMED).map(|(words, count)| format!("{count} with {words}")).collect();
    if kinds.len() > NAMED {
        named.push(format!("{} more kinds", kinds.len() - NAMED));
    }
    Some(format!(
        "The runs of {} were set unlike: {}. Their spread is not that of one system",
        folder.display(),
        named.join("; ")
    ))
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

impl Healthy {
    /// Fit and calibrate: the part that takes a moment.
    pub fn calibrate(&self, guaranteed: bool) -> anyhow::Result<Baseline> {
        if self.values.numbers.len() < 50 {
            bail!(
                "{} has {}; a baseline needs at least 50, and 400 are better: measure more",
                self.values.name,
                amount(self.values.numbers.len(), self.noun)
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
                "--guaranteed: no distribution describes {name}, and {} are too few to keep a rate of {} in 90% of \
                 baselines by counting; measure at least {needed:.0}, or ask for a higher rate",
                amount(baseline.n, self.noun),
                report::significant(baseline.spike.false_alarms, 2)
            );
        }
        Ok(baseline)
    }
}

/// What the monitor promises, for a reader.
pub fn words(healthy: &Healthy, baseline: &Baseline, unit: report::Unit, asked: bool) -> String {
    let mut text = report::sentence(
        "",
        &format!(
            "Baseline {}: {}, median {}.",
            healthy.values.name,
            amount(baseline.n, healthy.noun),
            unit.plain(baseline.median())
        ),
    );
    text += &match &baseline.counted {
        Some(counted) => by_counting(baseline, counted, unit, healthy.noun),
        None => by_distribution(baseline, unit, healthy.noun, asked),
    };
    for warning in
        healthy.values.warnings().into_iter().chain(report::words::alarm::warnings(baseline, healthy.noun))
    {
        text += &report::sentence("⚠ ", &warning);
    }
    text
}

/// `400 steps`, `1 run`.
fn amount(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", samples::units::count(n as u64), if n == 1 { "" } else { "s" })
}

/// The promise that relies on the fitted distribution.
fn by_distribution(baseline: &Baseline, unit: report::Unit, noun: &str, asked: bool) -> String {
    let spike = &baseline.spike;
    let options = &baseline.options;
    let once = samples::units::count((1.0 / spike.false_alarms).round() as u64);
    let guaranteed = baseline.guaranteed;
    let rest = match guaranteed {
        true => format!(
            "kept in 90% of baselines; on average over baselines {} is enough",
            unit.plain(average(baseline))
        ),
        false => {
            format!(
                "on average over baselines; a limit of {} keeps it in 90% of them",
                unit.plain(spike.guaranteed)
            )
        }
    };
    let mut text = report::sentence(
        "  Spike alarm: ",
        &format!(
            "a {noun} above {}. A healthy system has one in {once} {noun}s ({rest}).",
            unit.plain(spike.value)
        ),
    );
    text += &report::sentence(
        "  Level alarm: ",
        &format!(
            "{noun}s that stay about {} slower. A healthy system raises it falsely once in {} {noun}s{}.",
            report::confidence(options.factor - 1.0),
            samples::units::count(options.run_length.round() as u64),
            if guaranteed { " or more, in 90% of baselines" } else { ", on average over baselines" }
        ),
    );
    if guaranteed && !asked {
        text += &report::sentence(
            "⚠ ",
            &format!(
                "{} are few, so both limits are those of --guaranteed; 200 {noun}s or more keep the rates on average.",
                amount(baseline.n, noun)
            ),
        );
    }
    if let (Some(rank), Some(rate)) = (spike.rank, spike.rank_rate) {
        text += &report::sentence(
            "  Counted:     ",
            &format!(
                "without a distribution, one {noun} in {} of a healthy system is above {}.",
                samples::units::count((1.0 / rate).round() as u64),
                unit.plain(rank)
            ),
        );
    }
    text
}

/// The promise of thresholds that are counted.
fn by_counting(baseline: &Baseline, counted: &CountedThresholds, unit: report::Unit, noun: &str) -> String {
    let spike = &baseline.spike;
    let kept = if baseline.guaranteed { "in 90% of baselines" } else { "on average over baselines" };
    let once = |rate: f64| samples::units::count((1.0 / rate).floor() as u64);
    let mut text = report::sentence("  Counted:     ", &report::words::alarm::counted(counted));
    text += &report::sentence(
        "  Spike alarm: ",
        &format!(
            "a {noun} above {}. A healthy system has at most one in {} {noun}s ({kept}, whatever their distribution).",
            unit.plain(spike.value),
            once(spike.false_alarms)
        ),
    );
    text += &report::sentence(
        "  Level alarm: ",
        &format!(
            "slower where {} of {block} {noun}s in a row are above {}, faster where {} are below {}; not tuned to a \
             size. A healthy system raises it falsely at most once in {} {noun}s ({kept}, whatever their distribution).",
            counted.slow.count,
            unit.plain(counted.slow.value),
            counted.fast.count,
            unit.plain(counted.fast.value),
            once(counted.slow.rate + counted.fast.rate),
            block = counted.block
        ),
    );
    text
}

/// The threshold whose rate is the stated one on average.
fn average(baseline: &Baseline) -> f64 {
    baseline.distribution.upper_quantile(baseline.spike.nominal)
}
