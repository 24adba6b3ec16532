//! `--fail-if`: how much slower the new run may be, what its own answer may say, or how that may change.

use anyhow::{anyhow, bail};
use ppl::condition::{AskedAnswer, Bound, Compared, Condition, Estimate, Relation, Scope};
use results::QuantileInterval;
use samples::units::duration;

use crate::cli::CompareArgs;
use crate::conditions;
use crate::exit::Status;
use crate::output;
use crate::values::Values;

/// What is judged.
const WHAT: &str = "`compare` judges how much slower the new run is, `--fail-if 'factor > 1.05'`, or the answer of the new run, \
                    `p99 > 5ms`, `iops < 1000`, if need be `p99 of LABEL/OPERATION > 5ms`, or how it changed, `p99 > +20%`, `iops < -10%`";

/// A condition of `--fail-if`.
pub(super) enum FailIf {
    /// The new system takes more than this many times as long.
    Factor(f64),
    /// The answer of the new run, or how it changed.
    OfNew(Condition),
}

impl FailIf {
    /// As the command line says.
    pub fn of(text: &str) -> anyhow::Result<FailIf> {
        let found = Condition::parse(text).map_err(|why| anyhow!("--fail-if {text}: {why}\n{WHAT}"))?;
        let Condition { quantity, relation, bound, .. } = &found;
        let Compared::Value(estimate) = quantity else {
            bail!("--fail-if {text}: how well a run knows its numbers is no reason to fail\n{WHAT}");
        };
        match (estimate, relation, bound, &found.of) {
            (Estimate::Factor, Relation::Above, Bound::Number(limit), None) => Ok(FailIf::Factor(*limit)),
            (Estimate::Factor | Estimate::Location | Estimate::Scale | Estimate::Shape, ..)
            | (Estimate::ReturnLevel(_), ..)
            | (_, Relation::Equal, ..) => bail!("--fail-if {text}: {WHAT}"),
            (estimate, _, Bound::Share(share), _) => {
                let percent = (1e10 * share).round() / 1e8;
                bail!(
                    "--fail-if {text}: a change has a sign: `{estimate} > +{percent}%`, or `{estimate} < -{percent}%`\n{WHAT}"
                )
            }
            (estimate, _, Bound::Number(_), _) if estimate.is_time() => {
                bail!(
                    "--fail-if {text}: `{estimate}` is a time, and a time needs a unit, as in `{estimate} > 5ms`"
                )
            }
            (estimate, _, Bound::Seconds(_), _) if !estimate.is_time() => {
                bail!("--fail-if {text}: `{estimate}` is a number, as in `{estimate} < 1000`")
            }
            _ => Ok(FailIf::OfNew(found)),
        }
    }

    /// Whether it is judged against the old run.
    pub fn is_relative(&self) -> bool {
        match self {
            FailIf::Factor(_) => true,
            FailIf::OfNew(condition) => matches!(condition.bound, Bound::Change(_)),
        }
    }

    /// The factor, if that is what is judged.
    pub fn factor(&self) -> Option<f64> {
        match self {
            FailIf::Factor(limit) => Some(*limit),
            FailIf::OfNew(_) => None,
        }
    }
}

/// Judges the answer of the new run, or how it changed: of a quantile, its whole interval must be beyond the bound. What was
/// found is told either way.
pub(super) fn of_new(
    condition: &Condition,
    args: &CompareArgs,
    [old, new]: [&Values; 2],
) -> anyhow::Result<Status> {
    let text = &condition.text;
    let name = condition.of.clone().or_else(|| args.choice.label.clone());
    let scope = if name.is_some() { Scope::Named } else { Scope::Run };
    let asked =
        AskedAnswer { quantity: condition.quantity, share: false, scope, name: name.unwrap_or_default() };
    let measured_in = match condition.bound {
        Bound::Change(_) => vec![old, new],
        _ => vec![new],
    };
    for of in measured_in {
        if let Some(why) = too_few(&asked, of, text)? {
            eprintln!("error: {text} is not judged: {}: {why}", of.name);
            return Ok(Status::Incomplete);
        }
    }
    let found = measured(&asked, new, text)?;
    let new_file = args.new.display();
    let judged = match condition.bound {
        Bound::Change(share) => {
            let before = measured(&asked, old, text)?;
            if before.value <= 0.0 {
                bail!("--fail-if {text}: {} has a `{}` of 0, which has no change", old.name, asked.quantity);
            }
            let intervals = before.interval.as_ref().zip(found.interval.as_ref());
            let ratio = intervals.and_then(|(before, after)| results::compare_intervals(before, after));
            let shown = |value| shown(condition.quantity.estimate(), value);
            FoundNumber {
                value: found.value / before.value,
                is_interval: intervals.is_some(),
                ends: ratio.map_or([None; 2], |ratio| [ratio.lower, ratio.upper]),
                bound: 1.0 + share,
                words: |value| format!("{:+.1}%", 100.0 * (value - 1.0)),
                of_what: format!(
                    "{}: {} in {}, {} in {new_file}",
                    found.part.trim_start(),
                    shown(before.value),
                    args.quiet.display(),
                    shown(found.value)
                ),
            }
            .judge(condition)
        }
        bound => FoundNumber {
            value: found.value,
            is_interval: found.interval.is_some(),
            ends: found.interval.map_or([None; 2], |one| [one.lower_seconds, one.upper_seconds]),
            bound: bound.value(),
            words: |value| shown(condition.quantity.estimate(), value),
            of_what: format!("{} in {new_file}", found.part.trim_start()),
        }
        .judge(condition),
    };
    output::say(format_args!("{}", judged.told));
    Ok(if judged.holds { Status::No } else { Status::Ok })
}

/// What a run says of a quantity.
struct MeasuredNumber {
    value: f64,
    /// ` of read`; empty where nothing has a name.
    part: String,
    interval: Option<QuantileInterval>,
    /// How many values it is of.
    values: u64,
}

/// Why a quantile of a run cannot be judged: with fewer values than it needs, its place is that of the longest.
fn too_few(asked: &AskedAnswer, of: &Values, text: &str) -> anyhow::Result<Option<String>> {
    let Compared::Value(Estimate::Quantile(probability)) = asked.quantity else { return Ok(None) };
    let (needed, values) = (results::values_for(probability), measured(asked, of, text)?.values);
    let were = if values == 1 { "was" } else { "were" };
    Ok((values < needed).then(|| {
        let [needed, values] = [needed, values].map(samples::units::count);
        format!("{} needs {needed} values; {values} {were} measured", asked.quantity)
    }))
}

fn measured(asked: &AskedAnswer, of: &Values, text: &str) -> anyhow::Result<MeasuredNumber> {
    let (Some(rows), Some(facts)) = (&of.rows, &of.facts) else {
        bail!("--fail-if {text}: it is of the answer of a run, and {} is plain numbers\n{WHAT}", of.name);
    };
    let found = conditions::answered(rows, facts, asked)
        .map_err(|why| anyhow!("--fail-if {text}: {}: {why}", of.name))?;
    let part = if found.part.is_empty() { String::new() } else { format!(" of {}", found.part) };
    let interval = conditions::interval(rows, facts, asked);
    Ok(MeasuredNumber { value: found.value, part, interval, values: found.values })
}

fn shown(estimate: Estimate, value: f64) -> String {
    match estimate {
        Estimate::Bandwidth => format!("{}/s", samples::units::bytes(value.round() as u64)),
        Estimate::Iops => format!("{}/s", report::significant(value, 3)),
        estimate if estimate.is_time() => duration(value),
        _ => report::significant(value, 3),
    }
}

/// A number beside its bound.
struct FoundNumber<W> {
    value: f64,
    /// Whether an interval decides, whose ends may be open.
    is_interval: bool,
    ends: [Option<f64>; 2],
    bound: f64,
    words: W,
    of_what: String,
}

/// Whether a condition holds, and the line that says so.
struct JudgedCondition {
    holds: bool,
    told: String,
}

impl<W: Fn(f64) -> String> FoundNumber<W> {
    fn judge(self, condition: &Condition) -> JudgedCondition {
        let [lower, upper] = if self.is_interval { self.ends } else { [Some(self.value); 2] };
        let is_above = matches!(condition.relation, Relation::Above);
        let beyond = |end: Option<f64>| {
            end.is_some_and(|end| if is_above { end > self.bound } else { end < self.bound })
        };
        let [near, far] = if is_above { [lower, upper] } else { [upper, lower] };
        let holds = beyond(near);
        let word = match (holds, far.is_some() && !beyond(far)) {
            (true, _) => "yes",
            (false, true) => "no",
            // Some of its interval is beyond the bound.
            (false, false) => "not certain",
        };
        let words = &self.words;
        let end = |end: Option<f64>| end.map_or("open".to_owned(), words);
        let interval = if self.is_interval {
            format!(" (95% CI {} to {})", end(self.ends[0]), end(self.ends[1]))
        } else {
            " (without an interval: of these runs alone)".to_owned()
        };
        let how = match word {
            "not certain" => {
                "not certain is no failure (status 0): the interval reaches across the bound. Longer runs of both make it \
                 narrower (`--time`), and `lastrank ab` measures until it is certain\n"
            }
            _ => "",
        };
        let told = format!(
            "{}: {word}; it is {}{interval} {}\n{how}",
            condition.text,
            words(self.value),
            self.of_what.trim()
        );
        JudgedCondition { holds, told }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_judged_is_read_and_all_else_told() {
        for text in [
            "p99 > 5ms",
            "iops < 1000",
            "p99 of read > 5ms",
            "bw < 1GiB/s",
            "count < 10",
            "lat > 1s",
            "p99 > +20%",
            "iops of read < -10%",
        ] {
            assert!(matches!(FailIf::of(text), Ok(FailIf::OfNew(_))), "{text}");
        }
        assert_eq!(FailIf::of("factor > 1.05").unwrap().factor(), Some(1.05));
        assert_eq!(FailIf::of("k>1.05").unwrap().factor(), Some(1.05));
        for text in [
            "factor < 1",
            "p99 > 5",
            "iops < 5ms",
            "p99 = 5ms",
            "p99 > 5%",
            "shape > 1",
            "width(p99) > 5%",
            "factor > +5%",
        ] {
            let why = FailIf::of(text).err().unwrap_or_else(|| panic!("{text}")).to_string();
            assert!(why.contains(text) && why.contains(" `"), "{why}");
        }
    }

    #[test]
    fn what_was_found_is_told_whether_it_holds_or_not() {
        let told = |text: &str, value: f64, ends: [Option<f64>; 2]| {
            let condition = Condition::parse(text).unwrap();
            let bound = condition.bound.value();
            let words = |value: f64| format!("{value}");
            let of_what = "of read in new.parquet".to_owned();
            let judged =
                FoundNumber { value, is_interval: true, ends, bound, words, of_what }.judge(&condition);
            (judged.holds, judged.told)
        };
        let ends = |lower: f64, upper: f64| [Some(lower), Some(upper)];
        assert_eq!(
            told("p99 > 5s", 7.0, ends(6.0, 8.0)),
            (true, "p99 > 5s: yes; it is 7 (95% CI 6 to 8) of read in new.parquet\n".into())
        );
        let (holds, line) = told("p99 > 5s", 4.0, ends(3.0, 4.5));
        assert!(!holds && line.starts_with("p99 > 5s: no; it is 4 "), "{line}");
        for (value, ends) in [(5.5, ends(4.0, 8.0)), (4.0, [Some(3.0), None])] {
            let (holds, line) = told("p99 > 5s", value, ends);
            assert!(!holds && line.contains(": not certain; "), "{line}");
            assert!(
                line.contains("not certain is no failure (status 0)") && line.contains("`lastrank ab`"),
                "{line}"
            );
        }
        assert!(told("p99 < 5s", 4.0, ends(3.0, 4.5)).0);
        assert!(told("p99 < 5s", 7.0, ends(6.0, 8.0)).1.contains(": no; "));
        assert!(told("p99 < 5s", 7.0, [None, Some(8.0)]).1.contains(": not certain; "));
    }
}
