//! Draws from which duration on the tail is a Pareto tail (GPD): the fit beyond, mean excess, and stability.

use serde::Serialize;
use serde_json::json;
use tail::latency::{Candidate, Latency};

use super::figure::{Figure, Input, Numbers};
use super::{draw, thin};
use crate::unit::{Unit, rounded, significant};

/// A quantity of the tail, estimated from the values above ever higher thresholds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Thresholds {
    /// Thresholds, ascending, in the unit of the data.
    pub threshold: Vec<f64>,
    /// Values above each.
    pub exceedances: Vec<usize>,
    /// The quantity.
    pub estimate: Vec<f64>,
    /// Half of its 95% interval (normal); none where the error is not known.
    pub half_width: Vec<Option<f64>>,
    /// Which of them was chosen; none where no Pareto tail fits.
    pub chosen: Option<usize>,
}

/// The far tail: measured, and the fitted distribution above the chosen threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BeyondThreshold {
    /// Ascending values, those beyond the lowest candidate threshold.
    pub seconds: Vec<f64>,
    /// Share of all values above each.
    pub share: Vec<f64>,
    /// The chosen threshold; none where no Pareto tail fits.
    pub threshold: Option<f64>,
    /// The fitted tail: durations.
    #[serde(rename = "law_seconds")]
    pub distribution_seconds: Vec<f64>,
    /// Share above, by the fit.
    #[serde(rename = "law_share")]
    pub distribution_share: Vec<f64>,
    /// Number of all values.
    pub of: usize,
}

impl Thresholds {
    fn of(
        far: &Latency,
        estimate: fn(&Candidate) -> f64,
        error: fn(&Candidate) -> Option<f64>,
    ) -> Thresholds {
        let all = &far.candidates;
        Thresholds {
            threshold: all.iter().map(|at| at.threshold).collect(),
            exceedances: all.iter().map(|at| at.exceedances).collect(),
            estimate: all.iter().map(estimate).collect(),
            half_width: all
                .iter()
                .map(|at| error(at).filter(|e| e.is_finite()).map(|error| 1.96 * error))
                .collect(),
            chosen: far.chosen,
        }
    }

    /// Estimates with error bars, the chosen one in red; `y` shows the quantity, `x` the threshold.
    fn traces(&self, x: Unit, y: Unit) -> Vec<serde_json::Value> {
        let at = x.scale_all(&self.threshold);
        let value = y.scale_all(&self.estimate);
        let half: Vec<f64> =
            self.half_width.iter().map(|half| half.map_or(0.0, |half| rounded(y.scale(half)))).collect();
        let hover = format!("above %{{x}} {} (%{{customdata}} values): %{{y:.4g}}<extra></extra>", x.name);
        let mut all = draw::points("estimate with 95%", at.clone(), value.clone(), (draw::DATA, 6.0), &hover);
        all["customdata"] = json!(self.exceedances);
        all["error_y"] =
            json!({"type": "data", "array": half, "color": draw::DATA, "thickness": 1.2, "width": 0});
        let mut traces = vec![all];
        if let Some(chosen) = self.chosen {
            let mut mark = draw::alarms("chosen threshold", vec![at[chosen]], vec![value[chosen]], &hover);
            mark["customdata"] = json!([self.exceedances[chosen]]);
            traces.push(mark);
        }
        traces
    }
}

/// What was chosen, as the end of every caption here.
fn choice(far: &Latency, unit: Unit) -> String {
    match far.chosen {
        Some(at) => {
            let chosen = &far.candidates[at];
            format!(
                "Chosen: {} (red), {} above.",
                unit.show(chosen.threshold),
                samples::units::count(chosen.exceedances as u64)
            )
        }
        None => "No threshold was chosen: no Pareto tail fits.".into(),
    }
}

/// Mean excess over the threshold, the stability of shape and scale, and the tail with its distribution. None
/// where fewer than three thresholds could be fitted.
pub(super) fn figures(input: &Input) -> Vec<Figure> {
    let Input { prefix, analysis, values, what } = *input;
    let Some(far) = analysis.far.as_ref().filter(|far| far.candidates.len() >= 3) else {
        return Vec::new();
    };
    let unit = input.unit();
    vec![
        beyond(prefix, values, far, unit, what),
        mean_excess(prefix, far, unit),
        stability(prefix, far, unit),
        modified_scale(prefix, far, unit),
    ]
}

fn mean_excess(prefix: &str, far: &Latency, unit: Unit) -> Figure {
    let numbers = Thresholds::of(far, |at| at.mean_excess, |at| Some(at.mean_excess_error));
    let title = "Mean residual life".to_string();
    let from = numbers.chosen.unwrap_or(0);
    let (first, last) = (numbers.estimate[from], numbers.estimate[numbers.estimate.len() - 1]);
    let error = numbers.half_width.iter().skip(from).flatten().fold(0.0f64, |most, half| most.max(*half));
    let course = if (last - first).abs() <= error {
        "level, as if exponential"
    } else if last > first {
        "rising, as if heavier"
    } else {
        "falling, as if it ends"
    };
    let scope = if numbers.chosen.is_some() { "Beyond the chosen one:" } else { "It is" };
    Figure {
        id: format!("{prefix}mean-excess"),
        caption: format!("Straight where a Pareto tail begins. {scope} {course}. {}", choice(far, unit)),
        alternative: format!("Mean excess over {} thresholds; it is {course}.", numbers.threshold.len()),
        wide: false,
        plot: draw::figure(
            &title,
            numbers.traces(unit, unit),
            draw::axis(&unit.axis("threshold")),
            draw::axis(&unit.axis("mean excess")),
        ),
        title,
        numbers: Numbers::new("thresholds", numbers),
    }
}

/// The end of a stability caption: how many estimates above the chosen threshold agree with the chosen one.
fn agreement(numbers: &Thresholds) -> String {
    let Some(chosen) = numbers.chosen else { return String::new() };
    let value = numbers.estimate[chosen];
    let above = numbers.estimate.iter().zip(&numbers.half_width).skip(chosen + 1);
    let known: Vec<bool> =
        above.filter_map(|(other, half)| half.map(|half| (other - value).abs() <= half)).collect();
    let agree = known.iter().filter(|agrees| **agrees).count();
    match known.len() {
        0 => String::new(),
        n => format!(" {agree} of {n} higher ones agree."),
    }
}

fn stability(prefix: &str, far: &Latency, unit: Unit) -> Figure {
    let numbers = Thresholds::of(far, |at| at.shape, |at| at.shape_error);
    let title = "Shape by threshold".to_string();
    let mut traces = numbers.traces(unit, Unit::NONE);
    let shape = numbers.chosen.map(|at| numbers.estimate[at]);
    if let (Some(shape), Some(first), Some(last)) =
        (shape, numbers.threshold.first(), numbers.threshold.last())
    {
        traces.push(draw::guide("chosen", unit.scale_all(&[*first, *last]), vec![rounded(shape); 2]));
    }
    let value = shape.map_or(String::new(), |shape| format!(" Shape {}.", significant(shape, 2)));
    Figure {
        id: format!("{prefix}shape-stability"),
        caption: format!(
            "Level: Pareto tail; above 0: heavy.{value}{} {}",
            agreement(&numbers),
            choice(far, unit)
        ),
        alternative: format!("Estimated shape above {} thresholds.{value}", numbers.threshold.len()),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis(&unit.axis("threshold")),
            draw::axis_with("shape", json!({"zeroline": true})),
        ),
        title,
        numbers: Numbers::new("thresholds", numbers),
    }
}

fn modified_scale(prefix: &str, far: &Latency, unit: Unit) -> Figure {
    // Its error needs the covariance of scale and shape, which the candidates do not carry.
    let numbers = Thresholds::of(far, |at| at.modified_scale, |_| None);
    let title = "Modified scale by threshold".to_string();
    Figure {
        id: format!("{prefix}scale-stability"),
        caption: format!(
            "Scale − shape × threshold: level from where the Pareto tail begins. {}",
            choice(far, unit)
        ),
        alternative: format!("Modified scale above {} thresholds.", numbers.threshold.len()),
        wide: false,
        plot: draw::figure(
            &title,
            numbers.traces(unit, unit),
            draw::axis(&unit.axis("threshold")),
            draw::axis(&unit.axis("scale − shape × threshold")),
        ),
        title,
        numbers: Numbers::new("thresholds", numbers),
    }
}

impl BeyondThreshold {
    fn of(values: &[f64], far: &Latency) -> BeyondThreshold {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        let lowest = far.candidates.first().map_or(f64::NEG_INFINITY, |at| at.threshold);
        let from = sorted.partition_point(|value| *value <= lowest);
        let (seconds, share) = thin::ascending(n - from)
            .into_iter()
            .map(|at| (sorted[from + at], (n as f64 - (from + at) as f64 - 0.5) / n as f64))
            .unzip();
        let (mut distribution_seconds, mut distribution_share) = (Vec::new(), Vec::new());
        if let Some(fit) = &far.fit {
            let rate = fit.exceedances as f64 / n as f64;
            // Ten times beyond the sample, evenly in the logarithm of the share.
            let steps = 80;
            let reach = (0.1 / fit.exceedances as f64).ln();
            for step in 0..=steps {
                let p = (reach * f64::from(step) / f64::from(steps)).exp();
                distribution_seconds.push(fit.distribution().upper_quantile(p));
                distribution_share.push(rate * p);
            }
        }
        let threshold = far.fit.as_ref().map(|fit| fit.threshold);
        BeyondThreshold { seconds, share, threshold, distribution_seconds, distribution_share, of: n }
    }
}

fn beyond(prefix: &str, values: &[f64], far: &Latency, unit: Unit, what: &str) -> Figure {
    let numbers = BeyondThreshold::of(values, far);
    let title = "The far tail".to_string();
    let hover = format!("%{{y:.3g}} take longer than %{{x}} {}<extra></extra>", unit.name);
    let rounded_all = |values: &[f64]| values.iter().map(|value| rounded(*value)).collect::<Vec<_>>();
    let mut traces = vec![draw::points(
        "measured",
        unit.scale_all(&numbers.seconds),
        rounded_all(&numbers.share),
        (draw::DATA, 5.0),
        &hover,
    )];
    if let Some(threshold) = numbers.threshold {
        let (x, y) =
            (unit.scale_all(&numbers.distribution_seconds), rounded_all(&numbers.distribution_share));
        traces.push(draw::line("GPD", x, y, (draw::DISTRIBUTION, "solid"), &hover));
        let low = 0.1 / numbers.of as f64;
        let high = numbers.share.first().copied().unwrap_or(1.0);
        traces.push(draw::guide(
            "threshold",
            unit.scale_all(&[threshold, threshold]),
            vec![rounded(low), rounded(high)],
        ));
    }
    let found = match &far.fit {
        Some(fit) => {
            let beyond = numbers.of as f64 * 10.0;
            let level = fit.distribution().upper_quantile(0.1 / fit.exceedances as f64);
            format!(
                "Line: Pareto tail of shape {} beyond {}; one in {} would take over {}.",
                significant(fit.shape, 2),
                unit.show(fit.threshold),
                samples::units::count(beyond as u64),
                unit.show(level)
            )
        }
        None => "No Pareto tail fits (steps of timers or interrupts, for instance).".into(),
    };
    let mut x = draw::axis(&unit.axis(what));
    if numbers.seconds.first().is_some_and(|first| *first > 0.0) {
        x["type"] = json!("log");
    }
    Figure {
        id: format!("{prefix}far-tail"),
        caption: format!("{found} Right of it: slower."),
        alternative: format!("Share of {} values above each duration in the tail. {found}", numbers.of),
        wide: false,
        plot: draw::figure(&title, traces, x, draw::axis_with("share that takes longer", draw::shares())),
        title,
        numbers: Numbers::new("beyond_threshold", numbers),
    }
}
