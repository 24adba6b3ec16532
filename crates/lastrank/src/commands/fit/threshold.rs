//! Chooses the threshold above which the tail is fitted: a value, a share of the values, or automatic.

use anyhow::{Context, anyhow, bail};
use serde::Serialize;
use tail::Series;
use tail::latency::Latency;

use crate::cli::FitArgs;
use crate::values::Values;

/// A threshold and where it came from.
#[derive(Clone, Copy, Serialize)]
pub struct Threshold {
    /// In the unit of the data.
    pub value: f64,
    /// How it was chosen.
    pub chosen: Chosen,
    /// The share of values that do not exceed it.
    pub share: f64,
}

/// How a threshold was chosen.
#[derive(Clone, Copy, Serialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Chosen {
    Auto,
    Share,
    Value,
}

/// The threshold that `--threshold` asks for, or the one that suits the data.
pub fn of(args: &FitArgs, values: &Values, far: Option<&Latency>) -> anyhow::Result<Threshold> {
    let series = Series::clean(&values.numbers);
    series.require(tail::assess::FEWEST, 2).with_context(|| format!("cannot fit {}", values.name))?;
    let text = match &args.threshold {
        Some(text) => text.trim(),
        None if far.is_some_and(|far| far.chosen.is_some()) => "auto",
        None if far.is_some() => return auto(far, values),
        None => "90%",
    };
    let (value, chosen) = match request(text, values)? {
        ThresholdRequest::Auto => return auto(far, values),
        ThresholdRequest::Value(value) => (value, Chosen::Value),
        ThresholdRequest::Share(share) => (between(series.sorted(), share), Chosen::Share),
    };
    let sorted = series.sorted();
    let above = sorted.len() - sorted.partition_point(|x| *x <= value);
    if above < 10 {
        let unit = values.unit(value);
        let largest = sorted.last().copied().unwrap_or(f64::NAN);
        bail!(
            "--threshold {text}: {above} of {} values of {} are above it (the largest is {}); at least 10 are needed",
            sorted.len(),
            values.name,
            unit.show(largest)
        );
    }
    Ok(Threshold { value, chosen, share: 1.0 - above as f64 / sorted.len() as f64 })
}

fn auto(far: Option<&Latency>, values: &Values) -> anyhow::Result<Threshold> {
    let Some(far) = far else {
        bail!(
            "--threshold auto needs at least 1000 single values, {} has {}: give one, for example 90%",
            values.name,
            values.numbers.len()
        );
    };
    let Some(candidate) = far.chosen.and_then(|at| far.candidates.get(at)) else {
        bail!(
            "no threshold gives {} a tail that a Pareto distribution fits (steps of interrupts or timers, for instance); \
             --threshold VALUE forces one",
            values.name
        );
    };
    let share = 1.0 - candidate.exceedances as f64 / far.n as f64;
    Ok(Threshold { value: candidate.threshold, chosen: Chosen::Auto, share })
}

/// What `--threshold` says.
enum ThresholdRequest {
    Auto,
    Value(f64),
    Share(f64),
}

fn request(text: &str, values: &Values) -> anyhow::Result<ThresholdRequest> {
    let wrong = || {
        anyhow!(
            "--threshold {text}: a value, with its unit where the values have one (12ms), a share of the values (99%), \
             or auto"
        )
    };
    if text == "auto" {
        return Ok(ThresholdRequest::Auto);
    }
    let share = |share: f64| {
        if share > 0.0 && share < 1.0 { Ok(ThresholdRequest::Share(share)) } else { Err(wrong()) }
    };
    if let Some(percent) = text.strip_suffix('%') {
        return share(percent.trim().parse::<f64>().map_err(|_| wrong())? / 100.0);
    }
    if let Ok(number) = text.parse::<f64>() {
        if !number.is_finite() {
            return Err(wrong());
        }
        // A bare number of seconds and a bare share cannot be told apart: each is written with its sign.
        if values.seconds {
            let share = if number > 0.0 && number < 1.0 {
                format!("; a share of the values is written {}%", 100.0 * number)
            } else {
                String::new()
            };
            bail!("--threshold {text}: a duration needs its unit, for example {text}s or {text}ms{share}");
        }
        return Ok(ThresholdRequest::Value(number));
    }
    let seconds = time(text).ok_or_else(wrong)?;
    if !values.seconds {
        bail!("--threshold {text}: the unit of the values of {} is not known; --unit says it", values.name);
    }
    Ok(ThresholdRequest::Value(seconds))
}

/// A duration such as `10s`, `12.5 ms`, in seconds.
pub fn time(text: &str) -> Option<f64> {
    let units = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (digits, factor) =
        units.iter().find_map(|(name, factor)| Some((text.trim().strip_suffix(name)?, factor)))?;
    digits.trim().parse::<f64>().ok().map(|number| number * factor).filter(|seconds| seconds.is_finite())
}

/// Midway between the value at this share and the next larger one, so that no value is on the threshold.
fn between(sorted: &[f64], share: f64) -> f64 {
    let at = ((share * sorted.len() as f64) as usize).clamp(1, sorted.len()) - 1;
    let here = sorted[at];
    let next = sorted[sorted.partition_point(|x| *x <= here).min(sorted.len() - 1)];
    0.5 * (here + next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_unit() {
        let read: Vec<_> = ["10s", "12.5 ms", "3us", "3µs", "7ns", "5", "ms", "5min"].map(time).into();
        let expected = [Some(10.0), Some(0.0125), Some(3e-6), Some(3e-6), Some(7e-9), None, None, None];
        for (read, expected) in read.iter().zip(expected) {
            assert!(match (read, expected) {
                (Some(a), Some(b)) => (a / b - 1.0).abs() < 1e-12,
                (a, b) => *a == b,
            });
        }
    }

    #[test]
    fn a_share_lies_between_two_values() {
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(between(&sorted, 0.9), 90.5);
        assert_eq!(between(&[1.0, 2.0, 2.0, 2.0, 5.0], 0.5), 3.5);
    }
}
