//! What `fit` says of a file that counted its values in bins: bounds of percentiles, and the distribution that the counts tell.

use anyhow::bail;
use intake::{Error, Histogram};
use report::{AnswerSign, answer_line, confidence, fixed, percent, probability, sentence};
use serde_json::{Value, json};
use tail::Interval;

use super::PERIODS;
use super::binned::BinnedDistribution;
use crate::cli::{FitArgs, Model};
use crate::exit::Status;
use crate::output;
use crate::values::unit_of;

/// The form of `--json`.
const SCHEMA: &str = "lastrank.histogram/1";

/// Percentiles that are shown where at least one value lies above them.
const SHARES: [(f64, &str); 5] =
    [(0.5, "median"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (0.9999, "p99.99")];

/// The bins that an error of reading values has; any other error stays.
pub fn of(error: anyhow::Error) -> anyhow::Result<(String, Histogram)> {
    match error.downcast::<Error>()? {
        Error::Binned { name, histogram } => Ok((name, *histogram)),
        other => Err(other.into()),
    }
}

/// Tells what the bins say.
pub fn tell(args: &FitArgs, name: &str, found: &Histogram) -> anyhow::Result<Status> {
    check(args, name, found)?;
    let seconds = unit_of(found.unit, name, &args.choice)?;
    let bounds = Bounds::of(found, seconds);
    let periods = match args.period.is_empty() {
        // Nobody asked for what none of the values reached.
        true => PERIODS.into_iter().filter(|period| *period <= found.count as f64).collect(),
        false => args.period.clone(),
    };
    let distribution = BinnedDistribution::of(found, seconds.unwrap_or(1.0), &periods, args.level);
    if args.json {
        output::json(&object(args, name, found, (&bounds, &distribution)))?;
    } else if args.one_line {
        let rows = bounds.rows.iter().map(|row| format!("{} {}", row.name, bounds.range(row.bounds)));
        let what = found.told.split(": ").nth(1).unwrap_or_default();
        output::print_whole(&format!("{what}: {}\n", rows.collect::<Vec<_>>().join(", ")))?;
    } else {
        output::print_screen(&screen(args, found, &bounds, &distribution))?;
    }
    Ok(Status::Ok)
}

/// Options that ask more of bins than they hold.
fn check(args: &FitArgs, name: &str, found: &Histogram) -> anyhow::Result<()> {
    let asked = [
        ("--model", args.model != Model::Gev),
        ("--block", args.block.is_some()),
        ("--values", args.values.is_some()),
        ("--threshold", args.threshold.is_some()),
        ("--covariate", !args.covariate.is_empty()),
        ("--by", args.by.is_some()),
        ("--output", args.output.is_some()),
        ("--figures", args.figures),
        ("--missing", args.choice.missing.is_some()),
        ("--decimal", args.choice.decimal.is_some()),
        ("--no-header", args.choice.no_header),
        ("--failed", args.choice.failed),
    ];
    if let Some((option, _)) = asked.iter().find(|(_, is_asked)| *is_asked) {
        bail!(
            "{option} is for single values; {name} is {}, which counts the values of bins: {}",
            found.format,
            found.out
        );
    }
    Ok(())
}

/// A line of the answer.
struct BoundsRow {
    name: &'static str,
    share: f64,
    bounds: [f64; 2],
}

/// The bounds of the percentiles, in seconds where the unit is known.
struct Bounds {
    rows: Vec<BoundsRow>,
    /// Seconds of a unit of the file.
    seconds: Option<f64>,
}

impl Bounds {
    fn of(found: &Histogram, seconds: Option<f64>) -> Bounds {
        let last = if seconds.is_some() { "slowest" } else { "largest" };
        let above = |share: f64| found.count as f64 * (1.0 - share) >= 1.0;
        let shares = SHARES.into_iter().filter(|(share, _)| *share == 0.5 || above(*share));
        let rows = shares.chain([(1.0, last)]).filter_map(|(share, name)| {
            let bounds = found.quantile(share)?.map(|bound| bound * seconds.unwrap_or(1.0));
            Some(BoundsRow { name, share, bounds })
        });
        Bounds { rows: rows.collect(), seconds }
    }

    fn shown(&self, value: f64) -> String {
        if self.seconds.is_some() { samples::units::duration(value) } else { format!("{value}") }
    }

    /// An estimate, with as many digits as it deserves.
    fn rounded(&self, value: f64) -> String {
        if self.seconds.is_some() { self.shown(value) } else { report::significant(value, 3) }
    }

    fn range(&self, [low, high]: [f64; 2]) -> String {
        match (low.is_finite(), high.is_finite()) {
            (true, true) => {
                let (low, high) = (self.shown(low), self.shown(high));
                if low == high { low } else { format!("{low} to {high}") }
            }
            (true, false) => format!("at least {}", self.shown(low)),
            (false, true) => format!("at most {}", self.shown(high)),
            (false, false) => "not known".into(),
        }
    }
}

fn screen(
    args: &FitArgs,
    found: &Histogram,
    bounds: &Bounds,
    distribution: &Result<BinnedDistribution, String>,
) -> String {
    let mut text = sentence("", &found.told) + "\n";
    for row in &bounds.rows {
        text += &format!("  {:<9}{}\n", row.name, bounds.range(row.bounds));
    }
    if bounds.seconds.is_none() {
        text += &sentence("", "The file does not say the unit: --unit ns, us, ms or s does.");
    }
    text += "\n";
    let way_out = format!("What keeps the values: {}", found.out);
    let (sign, why) = match distribution {
        Err(why) => (
            AnswerSign::Caution,
            format!(
                "No distribution is fitted: {why}. The bounds above hold for any distribution. {way_out}"
            ),
        ),
        Ok(distribution) if distribution.is_rejected() => (
            AnswerSign::Caution,
            format!(
                "No distribution is given: the best GEV is off by {} of the values at a bound of the bins (p {}). The bounds above \
                 hold for any distribution. {way_out}",
                percent(distribution.test.distance),
                probability(distribution.test.p)
            ),
        ),
        Ok(distribution) => {
            text += &levels(args, bounds, distribution);
            (AnswerSign::Caution, hidden(bounds, distribution) + &way_out)
        }
    };
    samples::visible(&text).into_owned() + &answer_line(sign, &why, output::screen_options())
}

/// The distribution, and the levels that it gives.
fn levels(args: &FitArgs, bounds: &Bounds, distribution: &BinnedDistribution) -> String {
    let between = |Interval { lower, upper, .. }: &Interval, shown: &dyn Fn(f64) -> String| {
        let end = |end: f64| if end.is_finite() { shown(end) } else { "open".into() };
        format!("({} to {})", end(*lower), end(*upper))
    };
    let value = |value: f64| bounds.rounded(value);
    let [location, scale, shape] = &distribution.intervals;
    let said = format!(
        "A GEV distribution fits the bins (p {}; {} CI): location {} {}, scale {} {}, shape {} {}.",
        probability(distribution.test.p),
        confidence(args.level),
        value(distribution.fit.location),
        between(location, &value),
        value(distribution.fit.scale),
        between(scale, &value),
        fixed(distribution.fit.shape, 3),
        between(shape, &|end| fixed(end, 3)),
    );
    let mut text = sentence("", &said);
    for one in &distribution.levels {
        let period = samples::units::count(one.period.round() as u64);
        text += &format!("  1 in {period:<8}{} {}\n", value(one.level), between(&one.interval, &value));
    }
    text + "\n"
}

/// What the bins hide of their values.
fn hidden(bounds: &Bounds, distribution: &BinnedDistribution) -> String {
    let mut text = "Bins hide the order of the values: the intervals take them as independent.".to_owned();
    if let Some(widest) = distribution.widest {
        text += &format!(
            " They hide where a value lies in its bin: above the median bins are up to {} wide.",
            bounds.rounded(widest)
        );
    }
    if distribution.beyond > 0 {
        let values = if distribution.beyond == 1 {
            "value".into()
        } else {
            format!("{} values", samples::units::count(distribution.beyond))
        };
        text += &format!(" They hide how far the last {values} reach.");
    }
    text + " "
}

fn object(
    args: &FitArgs,
    name: &str,
    found: &Histogram,
    (bounds, distribution): (&Bounds, &Result<BinnedDistribution, String>),
) -> Value {
    let scale = bounds.seconds.unwrap_or(1.0);
    let end = |bound: f64| bound.is_finite().then_some(bound);
    json!({
        "schema": SCHEMA,
        "source": {
            "name": name,
            "format": found.format,
            "series": found.series,
            "unit": bounds.seconds.map(|_| "s"),
            "values": found.count,
            "took": found.told,
            "column": args.choice.column(),
        },
        "quantiles": bounds.rows.iter().map(|row| json!({
            "share": row.share,
            "low": end(row.bounds[0]),
            "high": end(row.bounds[1]),
        })).collect::<Vec<_>>(),
        "bins": found.bins.iter().map(|bin| json!({
            "low": end(bin.low * scale),
            "high": end(bin.high * scale),
            "count": bin.count,
        })).collect::<Vec<_>>(),
        "law": distribution.as_ref().ok().map(BinnedDistribution::object),
        "no_law": distribution.as_ref().err(),
        "keeps_values": found.out,
    })
}
