//! Histograms that services expose: the text of Prometheus and OpenMetrics, the JSON of OTLP.

use std::collections::HashMap;

use serde_json::Value;

use crate::Unit;
use crate::bins::{BinLines, Collected};
use crate::error::shown;
use crate::histogram::Bin;

/// Samples of metrics on all lines, at least one with labels.
pub(crate) fn is_exposition(lines: &[&str], _file: &str) -> bool {
    lines.iter().any(|line| line.contains("=\"") && line.contains('{'))
        && lines.iter().all(|line| sample(line).is_some_and(|sample| is_name(sample.name)))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|sign: char| sign.is_ascii_alphabetic() || matches!(sign, '_' | ':'))
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':'))
}

/// The unit at the end of the name of a metric, as Prometheus advises.
fn unit_of(metric: &str) -> Option<Unit> {
    Unit::of_word(metric.rsplit('_').next()?)
}

/// A sample: name, labels without `le`, `le`, value.
struct Sample<'a> {
    name: &'a str,
    labels: String,
    le: Option<String>,
    value: f64,
}

/// `name{label="text",…} value [time]`, in quotes `\"` for a quote.
fn sample(line: &str) -> Option<Sample<'_>> {
    let end = line.find(['{', ' ', '\t'])?;
    let (name, mut rest) = line.split_at(end);
    let (mut labels, mut le) = (Vec::new(), None);
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            rest = rest.trim_start_matches([',', ' ']);
            if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            }
            let (label, after) = rest.split_once("=\"")?;
            let mut escaped = false;
            let close = after.char_indices().find(|(_, sign)| {
                let closes = *sign == '"' && !escaped;
                escaped = *sign == '\\' && !escaped;
                closes
            });
            let (text, after) = after.split_at(close?.0);
            match label {
                "le" => le = Some(text.to_owned()),
                _ => labels.push(format!("{label}=\"{text}\"")),
            }
            rest = &after[1..];
        }
    }
    let value = number(rest.split_ascii_whitespace().next()?)?;
    Some(Sample { name, labels: labels.join(","), le, value })
}

fn number(text: &str) -> Option<f64> {
    match text {
        "+Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        text => text.parse().ok(),
    }
}

/// The buckets of an exposition: each counts the values that are not above its bound.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    reached: HashMap<String, Reached>,
}

/// How far the buckets of a series were read.
#[derive(Debug)]
struct Reached {
    bound: f64,
    count: u64,
}

impl Exposition {
    fn bucket(&mut self, metric: &str, sample: &Sample, to: &mut Collected) -> Result<(), String> {
        let series = named(metric, &sample.labels);
        let le = sample.le.as_deref().and_then(number).filter(|le| !le.is_nan());
        let bound = le.ok_or("a bucket has no bound `le`")?;
        let count = whole(sample.value).ok_or("a bucket counts no whole number")?;
        let unit = unit_of(metric);
        // Times begin at 0, other values anywhere.
        let lowest = if unit.is_some() && bound >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        let before = self.reached.get(&series);
        let (low, below) = before.map_or((lowest, 0), |reached| (reached.bound, reached.count));
        if before.is_some() && bound <= low {
            return Err(format!("the buckets of `{}` are there twice, or in no order", shown(&series)));
        }
        let new = count.checked_sub(below);
        let count_of_bin =
            new.ok_or_else(|| format!("a bucket of `{}` counts less than the one below it", shown(&series)))?;
        to.add(&series, unit, Bin { low, high: bound, count: count_of_bin })?;
        self.reached.insert(series, Reached { bound, count });
        Ok(())
    }
}

fn named(metric: &str, labels: &str) -> String {
    if labels.is_empty() { metric.into() } else { format!("{metric}{{{labels}}}") }
}

fn whole(value: f64) -> Option<u64> {
    ((0.0..1e18).contains(&value) && value.fract() == 0.0).then_some(value as u64)
}

impl BinLines for Exposition {
    fn line(&mut self, line: &str, to: &mut Collected) -> Result<(), String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let sample = sample(line).ok_or_else(|| format!("`{}` is no sample of a metric", shown(line)))?;
        if let Some(metric) = sample.name.strip_suffix("_bucket") {
            return self.bucket(metric, &sample, to);
        }
        if let Some(metric) = sample.name.strip_suffix("_count") {
            let series = named(metric, &sample.labels);
            let Some(reached) = self.reached.get(&series) else { return Ok(()) };
            if whole(sample.value) != Some(reached.count) {
                return Err(format!(
                    "`{}` counts {}, its buckets {}: some are missing",
                    shown(&series),
                    sample.value,
                    reached.count
                ));
            }
        }
        Ok(())
    }

    fn end(&mut self, _to: &mut Collected) -> Result<(), String> {
        if self.reached.is_empty() {
            return Err("it holds no histogram: summaries, counters and gauges have no bins".into());
        }
        let open = self.reached.iter().filter(|(_, reached)| reached.bound != f64::INFINITY);
        match open.map(|(series, _)| series).min() {
            Some(series) => Err(format!("`{}` has no last bucket (+Inf): it is cut off", shown(series))),
            None => Ok(()),
        }
    }
}

/// Histograms of OTLP, with bounds or with a scale; points of a sum that goes on replace those before.
pub(crate) fn otlp(document: &Value, to: &mut Collected) -> Result<(), String> {
    for resource in items(document, &["resourceMetrics"]) {
        let origin = resource["resource"]["attributes"].to_string();
        for metric in items(resource, &["scopeMetrics", "metrics"]) {
            of_metric(metric, &origin, to)?;
        }
    }
    Ok(())
}

fn of_metric(metric: &Value, origin: &str, to: &mut Collected) -> Result<(), String> {
    let name = metric["name"].as_str().unwrap_or_default();
    let unit = metric["unit"].as_str().and_then(Unit::of_word);
    for (kind, is_scaled) in [("histogram", false), ("exponentialHistogram", true)] {
        let kind = &metric[kind];
        // Delta is 1, cumulative 2, by number or by name.
        let goes_on = match &kind["aggregationTemporality"] {
            Value::String(name) => !name.ends_with("_DELTA"),
            other => other.as_u64() != Some(1),
        };
        for point in items(kind, &["dataPoints"]) {
            let series = named(name, &attributes(point));
            to.of_origin(&series, origin)?;
            to.name(&series, unit)?;
            if goes_on {
                to.forget(&series);
            }
            let bins = if is_scaled { scaled(point) } else { bounded(point, unit) };
            let bins = bins.ok_or_else(|| format!("a point of `{}` is damaged", shown(&series)))?;
            let all = bins.iter().try_fold(0_u64, |all, bin| all.checked_add(bin.count));
            if all.is_none() || count_of(&point["count"]) != all {
                return Err(format!("a point of `{}` counts other than its bins", shown(&series)));
            }
            bins.into_iter().try_for_each(|bin| to.add(&series, unit, bin))?;
        }
    }
    Ok(())
}

fn items<'a>(document: &'a Value, path: &[&str]) -> Vec<&'a Value> {
    let mut found = vec![document];
    for key in path {
        found = found.into_iter().filter_map(|one| one[*key].as_array()).flatten().collect();
    }
    found
}

/// Whole numbers of 64 bits are texts in the JSON of protocol buffers.
fn count_of(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn attributes(point: &Value) -> String {
    let all = point["attributes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown = all.iter().map(|one| {
        let value = one["value"].as_object().and_then(|kinds| kinds.values().next());
        let text = value.map_or(String::new(), |value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        format!("{}=\"{text}\"", one["key"].as_str().unwrap_or_default())
    });
    shown.collect::<Vec<_>>().join(",")
}

fn bounded(point: &Value, unit: Option<Unit>) -> Option<Vec<Bin>> {
    let none = Vec::new();
    let list = |key: &str| match &point[key] {
        Value::Null => Some(&none),
        other => other.as_array(),
    };
    let bounds: Vec<f64> = list("explicitBounds")?.iter().map(Value::as_f64).collect::<Option<_>>()?;
    let counts: Vec<u64> = list("bucketCounts")?.iter().map(count_of).collect::<Option<_>>()?;
    let is_whole = counts.is_empty() || counts.len() == bounds.len() + 1;
    if !is_whole || !bounds.is_sorted() {
        return None;
    }
    let ends = |key: &str| point[key].as_f64();
    let lowest = if unit.is_some() && bounds.first().is_none_or(|first| *first >= 0.0) {
        0.0
    } else {
        f64::NEG_INFINITY
    };
    // The least and the largest value narrow the bins that have no bound.
    let (least, largest) = (ends("min").unwrap_or(lowest), ends("max").unwrap_or(f64::INFINITY));
    let mut bins = Vec::new();
    for (at, count) in counts.iter().enumerate() {
        let low = if at == 0 { lowest } else { bounds[at - 1] };
        let high = bounds.get(at).copied().unwrap_or(f64::INFINITY);
        if *count > 0 {
            bins.push(Bin { low: low.max(least), high: high.min(largest), count: *count });
        }
    }
    bins.iter().all(|bin| bin.low <= bin.high).then_some(bins)
}

fn scaled(point: &Value) -> Option<Vec<Bin>> {
    let scale =
        i32::try_from(point["scale"].as_i64().unwrap_or(0)).ok().filter(|s| (-20..=20).contains(s))?;
    let step = 2_f64.powi(-scale);
    let mut bins = Vec::new();
    let zero = count_of(&point["zeroCount"]).unwrap_or(0);
    let around = point["zeroThreshold"].as_f64().unwrap_or(0.0);
    if zero > 0 {
        bins.push(Bin { low: -around, high: around, count: zero });
    }
    for (side, sign) in [("positive", 1.0), ("negative", -1.0)] {
        let buckets = &point[side];
        let offset = buckets["offset"].as_i64().unwrap_or(0) as f64;
        let counts = buckets["bucketCounts"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (at, count) in counts.iter().enumerate() {
            let count = count_of(count)?;
            let bound = |at: usize| sign * ((offset + at as f64) * step).exp2();
            let (one, other) = (bound(at), bound(at + 1));
            if count > 0 {
                bins.push(Bin { low: one.min(other), high: one.max(other), count });
            }
        }
    }
    bins.iter().all(|bin| bin.low.is_finite()).then_some(bins)
}
