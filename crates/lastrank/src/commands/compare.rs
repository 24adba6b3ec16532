//! `lastrank compare`: by what factor is the new system slower than the quiet one?

use anyhow::{Context, anyhow};
use tail::congestion::{Comparison, Options, compare};

use crate::cli::CompareArgs;
use crate::exit::Status;
use crate::output;
use crate::values::{Values, read};

/// Compare two runs; with `--fail-if`, the exit status says whether the new one is too slow.
pub fn run(args: &CompareArgs) -> anyhow::Result<Status> {
    let limit = args.fail_if.as_deref().map(limit).transpose()?;
    let (quiet, new) = (read(&args.quiet, &args.choice)?, read(&args.new, &args.choice)?);
    let options = Options { level: args.level, seed: args.seed, ..Options::default() };
    let found = compare(&quiet.numbers, &new.numbers, &options)
        .with_context(|| format!("cannot compare {} with {}", new.name, quiet.name))?;
    if args.json {
        output::json(&found)?;
    } else {
        output::print(&text(&quiet, &new, &found))?;
    }
    let too_slow = limit.is_some_and(|limit| found.factor.interval.lower > limit);
    if let (true, Some(condition)) = (too_slow, &args.fail_if) {
        let lower = found.factor.interval.lower;
        eprintln!("{condition}: yes, even the lower end of the interval, {lower:.4}, is above it");
    }
    Ok(if too_slow { Status::No } else { Status::Ok })
}

/// The number in `k>1.05`.
fn limit(condition: &str) -> anyhow::Result<f64> {
    let number = condition.trim().strip_prefix('k').and_then(|rest| rest.trim_start().strip_prefix('>'));
    number
        .and_then(|number| number.trim().parse().ok())
        .filter(|limit: &f64| limit.is_finite())
        .ok_or_else(|| anyhow!("--fail-if `{condition}`: write `k>NUMBER`, for example `--fail-if 'k>1.05'`"))
}

fn text(quiet: &Values, new: &Values, found: &Comparison) -> String {
    let unit = quiet.unit(found.quiet.median);
    let arm = |title: &str, values: &Values, arm: &tail::congestion::Arm| {
        format!("{title}: {}, {} values, median {}\n", values.name, arm.n, unit.show(arm.median))
    };
    let mut text = arm("quiet", quiet, &found.quiet) + &arm("new  ", new, &found.new);
    let interval = |value: f64, lower: f64, upper: f64| format!("{value:.4}  ({lower:.4} to {upper:.4})");
    let k = &found.factor;
    let percent = 100.0 * k.interval.level;
    text += &format!("\nCongestion factor k, new = k · quiet, with {percent:.0} % interval\n");
    text += &format!("  by the law of maxima    {}\n", interval(k.value, k.interval.lower, k.interval.upper));
    for (name, estimate) in [
        ("by the medians         ", &found.robust.median_ratio),
        ("by all pairs           ", &found.robust.hodges_lehmann),
    ] {
        text += &format!(
            "  {name} {}\n",
            interval(estimate.value, estimate.interval.lower, estimate.interval.upper)
        );
    }
    let p = report::probability;
    text += &format!(
        "  k = 1: p {};  one factor against two laws of their own: p {}\n",
        p(found.p_no_difference),
        p(k.p)
    );
    text += &format!("\nVerdict: {}\n", found.text);
    for advice in &found.advice {
        text += &format!("       → {advice}\n");
    }
    text
}
