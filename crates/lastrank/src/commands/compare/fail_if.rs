//! `--fail-if`: how much slower the new run may be, or what its own answer may say.

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
                    `p99 > 5ms`, `iops < 1000`, if need be `p99 of LABEL/OPERATION > 5ms`";

/// A condition of `--fail-if`.
pub(super) enum FailIf {
    /// The new system takes more than this many times as long.
    Factor(f64),
    /// The answer of the new run.
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
            | (_, Relation::Equal, ..)
            | (_, _, Bound::Share(_), _) => bail!("--fail-if {text}: {WHAT}"),
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

    /// The factor, if that is what is judged.
    pub fn factor(&self) -> Option<f64> {
        match self {
            FailIf::Factor(limit) => Some(*limit),
            FailIf::OfNew(_) => None,
        }
    }
}

/// Judges the answer of the new run: of a quantile, its whole interval must be beyond the bound.
pub(super) fn of_new(condition: &Condition, args: &CompareArgs, new: &Values) -> anyhow::Result<Status> {
    let text = &condition.text;
    let (Some(rows), Some(facts)) = (&new.rows, &new.facts) else {
        bail!("--fail-if {text}: it is of the answer of a run, and {} is plain numbers\n{WHAT}", new.name);
    };
    let name = condition.of.clone().or_else(|| args.choice.label.clone());
    let scope = if name.is_some() { Scope::Named } else { Scope::Run };
    let asked =
        AskedAnswer { quantity: condition.quantity, share: false, scope, name: name.unwrap_or_default() };
    let found = conditions::answered(rows, facts, &asked)
        .map_err(|why| anyhow!("--fail-if {text}: {}: {why}", new.name))?;
    let interval = conditions::interval(rows, facts, &asked);
    let bound = condition.bound.value();
    let fails = match (condition.relation, &interval) {
        (Relation::Above, Some(interval)) => interval.lower_seconds.is_some_and(|lower| lower > bound),
        (_, Some(interval)) => interval.upper_seconds.is_some_and(|upper| upper < bound),
        (Relation::Above, None) => found.value > bound,
        (_, None) => found.value < bound,
    };
    if !fails {
        return Ok(Status::Ok);
    }
    let value = match condition.quantity.estimate() {
        Estimate::Bandwidth => format!("{}/s", samples::units::bytes(found.value.round() as u64)),
        Estimate::Iops => format!("{}/s", report::significant(found.value, 3)),
        estimate if estimate.is_time() => duration(found.value),
        _ => report::significant(found.value, 3),
    };
    let ends = interval.and_then(ends).unwrap_or_default();
    let part = if found.part.is_empty() { String::new() } else { format!(" of {}", found.part) };
    output::say(format_args!("{text}: yes; it is {value}{ends}{part} in {}\n", args.new.display()));
    Ok(Status::No)
}

/// ` (5.8 ms to 6.4 ms)`
fn ends(interval: QuantileInterval) -> Option<String> {
    let (lower, upper) = (interval.lower_seconds?, interval.upper_seconds?);
    Some(format!(" ({} to {})", duration(lower), duration(upper)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_judged_is_read_and_all_else_told() {
        for text in ["p99 > 5ms", "iops < 1000", "p99 of read > 5ms", "bw < 1GiB/s", "count < 10", "lat > 1s"]
        {
            assert!(matches!(FailIf::of(text), Ok(FailIf::OfNew(_))), "{text}");
        }
        assert_eq!(FailIf::of("factor > 1.05").unwrap().factor(), Some(1.05));
        assert_eq!(FailIf::of("k>1.05").unwrap().factor(), Some(1.05));
        for text in
            ["factor < 1", "p99 > 5", "iops < 5ms", "p99 = 5ms", "p99 > 5%", "shape > 1", "width(p99) > 5%"]
        {
            let why = FailIf::of(text).err().unwrap_or_else(|| panic!("{text}")).to_string();
            assert!(why.contains(text) && why.contains(" `"), "{why}");
        }
    }
}
